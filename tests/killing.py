"""Audits that a `misjudge` process judges until a test kills it, and what the store then holds."""

from __future__ import annotations

import asyncio
import csv
import re
import shutil
import signal
import sqlite3
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from command import command, environment, run
from fault_server import Counts, FaultServer
from misjudge_storage.engine import open_store
from misjudge_storage.ingest import ensure_audit

AUDIT = "chaos"
CONCURRENCY = 8
LIMIT_S = 120.0
PATIENT_S = 60.0
AGENTS = ("north", "east", "south", "west")
COLUMNS = ("pair_id", "category", "prompt", "agent_a", "agent_b", "a", "b", "gold")
MAPPING = ",".join(f"{name}={name}" for name in COLUMNS)

Row = dict[str, Any]


class Stored(NamedTuple):
    """Every verdict by its id, without what differs from run to run, and every attempt."""

    verdicts: dict[str, Row]
    logs: list[Row]

    @property
    def replies(self) -> list[Row]:
        """The attempts that brought a reply."""
        return [log for log in self.logs if log["raw_output"] is not None]

    @property
    def answered(self) -> list[str]:
        """The prompt of every stored reply, as the fault server names it."""
        return sorted(log["rendered_hash"] for log in self.replies)


class Seen(NamedTuple):
    """What is stored, and what the server has seen, at one moment."""

    stored: Stored
    counts: Counts


def prepare(store: Path, pairs: int) -> None:
    """Import generated pairs; the fixed secret makes their prompts the same in every store."""
    opened = open_store(store)
    try:
        with opened.write() as connection:
            ensure_audit(connection, AUDIT, secret="chaos")
    finally:
        opened.close()
    source = store.with_name("pairs.csv")
    with source.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *_pairs(pairs)])
    said(store, "import", "table", str(source), "--audit", AUDIT, "--map", MAPPING)


def _pairs(number: int) -> Iterator[tuple[str, ...]]:
    for n in range(number):
        gold = ("A", "B", "A", "B", "tie", "")[n % 6]
        done, polite = f"Order {n} is cancelled.", f"I am sorry, and thank you! Order {n} will be looked into."
        a, b = (done, polite) if gold == "A" else (polite, done)
        agents = AGENTS[n % 4], AGENTS[(n + 1 + n % 3) % 4]
        yield f"p{n}", f"kind {n % 3}", f"Cancel order {n}.", *agents, a, b, gold


def plan(pairs: int) -> list[tuple[str, str, int]]:
    """Pair, order and repeat of every cell, sorted."""
    return sorted((f"p{n}", order, 0) for n, order in product(range(pairs), ("AB", "BA")))


def judged_by(store: Path, base_url: str, timeout_s: float = PATIENT_S) -> dict[str, str]:
    """An environment whose judge is the fault server; `timeout_s` bounds a call."""
    return environment(
        MISJUDGE_STORE=str(store),
        MISJUDGE_CONCURRENCY=str(CONCURRENCY),
        MISJUDGE_TIMEOUT_S=str(timeout_s),
        TAOTOKEN_API_KEY="sk-test-0123456789",
        TAOTOKEN_BASE_URL=base_url,
        JUDGE_MODEL="judge-m",
    )


def said(store: Path, *arguments: str) -> str:
    """The output of a command that asks no model and comes to a good end."""
    outcome = run(*arguments, cwd=store.parent, env=environment(MISJUDGE_STORE=str(store)))
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


class Judging:
    """A `misjudge` process at work. What it writes to stderr is kept line by line."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._changed = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            async with self._changed:
                self.lines.append(line.decode().rstrip())
                self._changed.notify_all()

    async def complained(self, pattern: str) -> None:
        """Wait until a line on stderr matches."""
        async with asyncio.timeout(LIMIT_S), self._changed:
            await self._changed.wait_for(lambda: any(re.search(pattern, line) for line in self.lines))

    async def ended(self) -> int:
        """The exit code, once the process has ended and everything it said was read."""
        async with asyncio.timeout(LIMIT_S):
            await asyncio.shield(self._reading)
            return await self.process.wait()

    async def kill(self) -> None:
        """Kill it with SIGKILL; it must have been at work until then."""
        self.process.kill()
        assert await self.ended() == -signal.SIGKILL, self.lines


@asynccontextmanager
async def judging(store: Path, base_url: str, *arguments: str, timeout_s: float = PATIENT_S) -> AsyncIterator[Judging]:
    """`misjudge ARGUMENTS` under way, killed at the end unless it has ended by then."""
    process = await asyncio.create_subprocess_exec(
        *command(*arguments),
        cwd=store.parent,
        env=judged_by(store, base_url, timeout_s),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    at_work = Judging(process)
    try:
        yield at_work
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await at_work.ended()


async def hold(server: FaultServer, after: int) -> None:
    """Let the server answer so many requests, and wait until it holds as many as can be in flight."""
    await server.received(after)
    server.gate.clear()
    await server.received(server.counts().requests + CONCURRENCY)


def stored(store: Path, scratch: Path) -> Stored:
    """What is stored, read from a copy: the store itself stays as the kill left it."""
    copy = scratch / "copy.db"
    for suffix in ("", "-wal"):
        source, target = Path(f"{store}{suffix}"), Path(f"{copy}{suffix}")
        target.unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, target)
    with closing(sqlite3.connect(copy)) as connection:
        connection.row_factory = sqlite3.Row
        verdicts = [dict(row) for row in connection.execute("SELECT * FROM verdicts")]
        logs = [dict(row) for row in connection.execute("SELECT * FROM judge_logs")]
    return Stored({row["verdict_id"]: _lasting(row) for row in verdicts}, logs)


def _lasting(verdict: Row) -> Row:
    return {name: value for name, value in verdict.items() if name not in {"log_id", "created_at"}}


def the_run(store: Path, scratch: Path) -> str:
    """The id of the store's only run."""
    stored(store, scratch)
    with closing(sqlite3.connect(scratch / "copy.db")) as connection:
        [(run_id,)] = connection.execute("SELECT run_id FROM runs")
    return str(run_id)


def empty_log(store: Path) -> None:
    """Move what a killed process left in SQLite's log into the store: a log with room in it still takes writes
    when the disk is full."""
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def look(store: Path, scratch: Path, server: FaultServer) -> Seen:
    """Store and server as they are now; no process may be at work."""
    kept = stored(store, scratch)
    return Seen(kept, server.counts())


def assert_nothing_lost(before: Seen, after: Seen) -> None:
    """That a process which worked in between left every row alone that it found, asked nothing again that was
    stored, paid for nothing twice, and had stored what it asked, up to the calls in flight when it ended."""
    found, kept = before.stored, after.stored
    asked, billed = (_grown(getattr(before.counts, of), getattr(after.counts, of)) for of in ("asked", "billed"))
    assert {key: kept.verdicts[key] for key in found.verdicts} == found.verdicts, "a stored row was changed"
    again = asked.keys() & found.answered
    assert not again, f"{len(again)} prompts were asked again although their replies were stored"
    # A reply that a busy machine reads too late is a time-out, and asked again.
    late = Counter(log["rendered_hash"] for log in kept.logs if log["error"] == "CallTimeout")
    twice = [prompt for prompt in billed.keys() & kept.answered if billed[prompt] > 1 + late[prompt]]
    assert not twice, f"{len(twice)} replies were paid for again by the process that had got them"
    new = len(kept.verdicts) - len(found.verdicts)
    assert new >= len(asked) - CONCURRENCY, f"of {len(asked)} cells asked only {new} were stored"
    replies = len(set(kept.answered)), len(kept.replies), len(kept.verdicts)
    assert len(set(replies)) == 1, f"cells with a reply, replies and verdicts differ: {replies}"


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> Counter[str]:
    return Counter(after) - Counter(before)
