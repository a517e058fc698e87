"""Tools of many rollouts at once, which count how many worlds are in use: as a suite's own Python module."""

from __future__ import annotations

import sqlite3
import threading

WORLD = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);\nCREATE TABLE kept (n INTEGER);\n"
_lock = threading.Lock()
_inside: set[int] = set()
most_inside = 0


def enter(world: sqlite3.Connection, text: str) -> str:
    """Note it; from now on the world is in use."""
    global most_inside
    with _lock:
        _inside.add(id(world))
        most_inside = max(most_inside, len(_inside))
    world.execute("INSERT INTO notes (text) VALUES (?)", (text,))
    return "entered"


def look(world: sqlite3.Connection) -> list[str]:
    """All notes of this world."""
    return [text for (text,) in world.execute("SELECT text FROM notes ORDER BY id")]


def leave(world: sqlite3.Connection, text: str) -> list[str]:
    """Note it; the world is in use no more."""
    world.execute("INSERT INTO notes (text) VALUES (?)", (text,))
    with _lock:
        _inside.discard(id(world))
    return look(world)
