"""The tools of a test's shop, whose world is `WORLD`: as a suite's own Python module."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

from misjudge_tools.episodes.world import ToolRefused

WORLD = """
CREATE TABLE stock (sku TEXT PRIMARY KEY, left_over INTEGER NOT NULL);
INSERT INTO stock VALUES ('tent', 5), ('lamp', 0);
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
"""
NOT_A_FUNCTION = "text"
started = threading.Event()
go_on = threading.Event()


def take(world: sqlite3.Connection, sku: str, count: int = 1) -> dict[str, Any]:
    world.execute("UPDATE stock SET left_over = left_over - ? WHERE sku = ?", (count, sku))
    (left,) = world.execute("SELECT left_over FROM stock WHERE sku = ?", (sku,)).fetchone()
    if left < 0:
        raise ToolRefused("There is not enough of it.")
    return {"sku": sku, "left": left}


def note(world: sqlite3.Connection, text: str) -> dict[str, Any]:
    world.execute("INSERT INTO notes (text) VALUES (?)", (text,))
    return {"noted": text}


def notes(world: sqlite3.Connection) -> list[str]:
    return [text for (text,) in world.execute("SELECT text FROM notes ORDER BY id")]


def commits_and_breaks(world: sqlite3.Connection) -> None:
    with world:
        world.execute("INSERT INTO notes (text) VALUES ('first')")
    world.commit()
    world.execute("COMMIT")
    world.execute("INSERT INTO notes (text) VALUES ('second')")
    raise KeyError("secret text")


def never_ends(world: sqlite3.Connection) -> None:
    world.execute("INSERT INTO notes (text) VALUES ('begun')")
    world.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO notes (text) SELECT 'x' FROM n "
        "WHERE i < 0"
    )


def says_too_much(world: sqlite3.Connection) -> str:
    world.execute("INSERT INTO notes (text) VALUES ('too much')")
    return "x" * 30_000


def says_what_json_cannot(world: sqlite3.Connection, what: str) -> object:
    return {"bytes": b"x", "nan": float("nan"), "set": {1}}[what]


def waits(world: sqlite3.Connection) -> str:
    started.set()
    go_on.wait(30)
    world.execute("INSERT INTO notes (text) VALUES ('waited')")
    return "done"


def without_world(world: None, word: str) -> list[object]:
    return [world, word]
