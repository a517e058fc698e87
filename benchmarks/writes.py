"""What a stored verdict costs: the group-committing writer against its floor and its usual alternatives.

    python benchmarks/writes.py [results]

Each way stores the same rows into a new SQLite file and is told of each result only after its commit. The
table gives results per second and the ratio to the floor, raw sqlite3 in one transaction; machines are noisy,
so read the ratios of one run.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from sqlmodel import Session

from misjudge_storage import columns, tables
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import insert_new
from misjudge_storage.rows import log_row
from misjudge_storage.types import Log

IN_FLIGHT = 64
AUDIT = "aud_benchmark"


class Way(NamedTuple):
    """One way to store rows."""

    name: str
    store: Callable[[Store, Path, list[dict[str, Any]]], None]


def floor(_: Store, path: Path, rows: list[dict[str, Any]]) -> None:
    """Raw sqlite3, one transaction: nothing is told of single results."""
    names = [column for column in rows[0] if column != "created_at"]
    marks = ", ".join(["?"] * (len(names) + 1))
    with sqlite3.connect(path) as connection:
        connection.executemany(
            f"INSERT INTO judge_logs ({', '.join(names)}, created_at) VALUES ({marks})",
            [[*(row[name] for name in names), row["created_at"].isoformat(" ")] for row in rows],
        )


def group_commit(store: Store, _: Path, rows: list[dict[str, Any]]) -> None:
    """The writer, with as many results in flight as a run has."""
    for start in range(0, len(rows), IN_FLIGHT):
        works = [partial(insert_new, model=tables.JudgeLog, new=[row]) for row in rows[start : start + IN_FLIGHT]]
        for future in [store.writer.submit(work) for work in works]:
            future.result()


def commit_per_row(store: Store, _: Path, rows: list[dict[str, Any]]) -> None:
    """A Core insert and a commit for each result."""
    for row in rows:
        with store.write() as connection:
            insert_new(connection, tables.JudgeLog, [row])


def orm_per_row(store: Store, _: Path, rows: list[dict[str, Any]]) -> None:
    """An SQLModel session and a commit for each result."""
    with Session(store.engine) as session:
        for row in rows:
            session.add(tables.JudgeLog(**row))
            session.commit()


WAYS = (
    Way("raw sqlite3, one transaction (floor)", floor),
    Way("misjudge writer, 64 in flight", group_commit),
    Way("Core insert, commit per result", commit_per_row),
    Way("SQLModel session, commit per result", orm_per_row),
)


@contextmanager
def fresh_store() -> Iterator[tuple[Store, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        store = open_store(path)
        with store.write() as connection:
            audit = {"audit_id": AUDIT, "name": "benchmark", "seed": 0, "secret": "benchmark"}
            insert_new(connection, tables.Audit, [{**audit, "created_at": columns.utc_now()}])
        try:
            yield store, path
        finally:
            store.close()


def main(results: int) -> None:
    reply = '{"reasons": "' + "because " * 40 + '", "score_a": 4, "score_b": 2, "winner": "A"}'
    rows = [
        log_row(AUDIT, Log(model="m", raw_output=reply, input_tokens=400, output_tokens=60), n) for n in range(results)
    ]
    seconds = {}
    for way in WAYS:
        with fresh_store() as (store, path):
            start = perf_counter()
            way.store(store, path, rows)
            seconds[way.name] = perf_counter() - start
    fastest = seconds[WAYS[0].name]
    print(f"| {results} results | results/s | time against the floor |\n|---|---:|---:|")
    for name, taken in seconds.items():
        print(f"| {name} | {results / taken:,.0f} | {taken / fastest:.1f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
