"""Bad input and troubles of the store: one clear sentence, a failure that programs see, and the store unchanged."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from command import Misjudge, environment, launcher
from misjudge_server.app import LazyDeps, build_app
from misjudge_storage import connections
from misjudge_storage.engine import open_store
from operations import pair_records, stored

GOOD = "pair_id,prompt,a,b,winner,gold\np1,q,yes,no,A,A\np2,q2,yes,no,B,A\n"
STORE = Path(".misjudge", "misjudge.db")
TRAJECTORY = json.dumps({"task_id": "t", "agent": "x", "messages": [{"role": "assistant", "content": "CANARY"}]})
PAIRS = "pair_id,task_id,agent_a,agent_b,judge_pref,judge_score_a,judge_score_b\np1,t,x,y,A,"


def write(folder: Path, name: str, content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    folder.joinpath(name).write_bytes(data)
    return name


def dump(folder: Path, where: Path = STORE) -> str:
    """Everything in the store, as SQL."""
    with closing(sqlite3.connect(folder / where)) as connection:
        return "\n".join(connection.iterdump())


@pytest.fixture
def filled(misjudge: Misjudge, folder: Path) -> Iterator[str]:
    """A store with an audit, of which nothing may change in the test."""
    imported = misjudge("import", "table", write(folder, "good.csv", GOOD), "--audit", "a")
    assert imported.code == 0, imported.err
    before = dump(folder)
    yield before
    assert dump(folder) == before


BAD_INPUT: dict[str, tuple[str, str | bytes, list[str], str]] = {
    "empty": ("table", b"", [], "bad.csv is empty."),
    "blank": ("table", b"\xef\xbb\xbf \n\n", [], "bad.csv is empty."),
    "header only": ("table", "prompt,a,b,winner\n", [], "it has a header row but no records"),
    "not UTF-8": ("table", "prompt,a,b,winner\nq,ja,n\xe4,A\n".encode("latin-1"), [], "line 2 (byte 24) is not UTF-8"),
    "UTF-16": ("table", "prompt,a,b\n".encode("utf-16"), [], "bad.csv is UTF-16 text, not UTF-8 text."),
    "workbook": ("table", b"PK\x03\x04aaaa", [], "bad.csv is an Excel workbook"),
    "judgebench of a table": ("judgebench", GOOD, [], "bad.csv"),
    "table of trajectories": ("table", TRAJECTORY, [], "No verdict, label, score"),
    "trajectories of a table": ("trajectories", GOOD, [], "bad.csv"),
    "NaN": ("pairs", PAIRS + "NaN,1\n", [], "line 2: judge_score_a"),
    "out of range": ("pairs", PAIRS + "3,17\n", [], "line 2: judge_score_b"),
    "two contents": ("table", GOOD + "p1,q,other,no,A,A\n", [], "p1"),
    "one trajectory on both sides": ("table", GOOD + "p3,q3,CANARY,CANARY,A,A\n", [], "line 4"),
    "foreign option": ("pairs", PAIRS + "3,2\n", ["per_response"], "--per-response belongs to table, not to pairs."),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_fails_the_command_and_changes_nothing(
    misjudge: Misjudge, folder: Path, filled: str, case: str
) -> None:
    kind, content, options, said = BAD_INPUT[case]
    file = write(folder, "bad.csv", content)
    flags = [f"--{option.replace('_', '-')}" for option in options]
    outcome = misjudge("import", kind, file, "--audit", "a", *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("misjudge: ")
    assert said in outcome.err
    assert "Traceback" not in outcome.err
    assert "CANARY" not in outcome.err


@pytest.mark.parametrize("case", BAD_INPUT)
async def test_bad_input_is_an_error_of_the_tool(folder: Path, case: str) -> None:
    kind, content, options, said = BAD_INPUT[case]
    file = write(folder, "bad.csv", content)
    deps = LazyDeps()
    async with Client(build_app(deps)) as session:
        arguments: dict[str, Any] = {"audit": "a", "format": kind, "paths": [file], **dict.fromkeys(options, True)}
        result = await session.call_tool("import_records", arguments)
    await deps.close()
    [told] = result.content
    assert isinstance(told, TextContent)
    assert (result.is_error, result.structured_content) == (True, None)
    assert said in told.text
    assert "CANARY" not in told.text
    assert 'INSERT INTO "audits"' not in dump(folder)


def test_a_file_with_bad_records_names_equal_ones_once_and_imports_the_rest_only_when_told(
    misjudge: Misjudge, folder: Path, filled: str
) -> None:
    rows = "".join(f"b{n},q,yes\n" for n in range(15))
    file = write(folder, "bad.csv", GOOD + rows)
    outcome = misjudge("import", "table", file, "--audit", "a")
    assert (outcome.code, outcome.out) == (2, "")
    lines = outcome.err.splitlines()
    assert lines[0].startswith("misjudge: bad.csv: 15 records cannot be read, so nothing was imported.")
    assert lines[1:] == ["  lines 4, 5, 6 and 12 more: has 3 cells where the header row has 6"]


def test_bad_records_are_left_out_when_that_is_wanted(misjudge: Misjudge, folder: Path) -> None:
    file = write(folder, "bad.csv", GOOD + "b1,q,yes\n")
    outcome = misjudge("import", "table", file, "--audit", "a", "--skip-bad")
    assert (outcome.code, outcome.err) == (0, "")
    assert "2 records" in outcome.out
    assert "1 left out" in outcome.out


def test_what_is_to_be_known_of_gold_rules_is_said_with_their_import(misjudge: Misjudge, folder: Path) -> None:
    row = {"case_id": "c1", "instruction": "Q", "response_a": "yes", "response_b": "no", "label": 0}
    rules = ("Is Response A shorter?", "")
    rows = [{**row, "case_id": f"c{n}", "rubrics": rubrics} for n, rubrics in enumerate(rules)]
    file = write(folder, "rules.jsonl", "".join(json.dumps(one) + "\n" for one in rows))
    outcome = misjudge("import", "rubricbench", file, "--audit", "a")
    assert (outcome.code, outcome.err) == (0, "")
    assert "  1 of 2 rows have no gold rules" in outcome.out
    assert "  1 of the gold rules cite response A or B" in outcome.out


WRITES = [
    ("import", "table", "good.csv", "--audit", "b"),
    ("judge", "a", "--judge", "simulated"),
    ("demo", "--no-local"),
]


@pytest.mark.parametrize("arguments", WRITES, ids=lambda arguments: arguments[0])
def test_a_read_only_store_is_read_and_not_written(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch, filled: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MISJUDGE_STORE", f"sqlite:///file:{(folder / STORE).as_posix()}?mode=ro&uri=true")
    assert misjudge("summarize", "a").code == 0
    outcome = misjudge(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "is read-only. Make it writable, or name another one in MISJUDGE_STORE." in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("arguments", WRITES, ids=lambda arguments: arguments[0])
def test_a_locked_store_is_waited_for_and_then_named(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch, filled: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_MS", 20)
    with closing(sqlite3.connect(folder / STORE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcome = misjudge(*arguments)
        assert misjudge("summarize", "a").code == 0
    assert (outcome.code, outcome.out) == (2, "")
    assert "is locked by another process. Wait until that one is done, then try again." in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_store_of_a_newer_version_names_the_version_to_install(misjudge: Misjudge, folder: Path) -> None:
    misjudge("import", "table", write(folder, "good.csv", GOOD), "--audit", "a")
    with closing(sqlite3.connect(folder / STORE)) as connection, connection:
        connection.execute("INSERT INTO schema_version VALUES (9999, '99.1.0', '2030-01-01')")
    before = dump(folder)
    for arguments in (*WRITES, ("summarize", "a"), ("runs",)):
        outcome = misjudge(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert "Install misjudge>=99.1.0" in outcome.err
    assert dump(folder) == before


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("folder", "is a folder. Name a file in MISJUDGE_STORE"),
        ("notes.txt", "is not a misjudge store"),
        ("other.db", "is a database of another program"),
        ("notes.txt/sub/store.db", "cannot be used"),
        ("oracle://user:CANARY@host/db", "MISJUDGE_STORE must be a path or an SQLAlchemy URL"),
        ("://", "MISJUDGE_STORE must be a path or an SQLAlchemy URL"),
        ("sqlite:///notes.txt/x.db", "cannot be "),
    ],
)
def test_a_place_that_is_no_store_is_named(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, said: str
) -> None:
    folder.joinpath("folder").mkdir()
    write(folder, "notes.txt", "These are notes. " * 100)
    with closing(sqlite3.connect(folder / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
    before = {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    monkeypatch.setenv("MISJUDGE_STORE", place)
    outcome = misjudge("runs")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "CANARY" not in outcome.err
    assert {file: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


no_limits = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot limit the size of files")
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
"""


@pytest.fixture
def full(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command on a store with pairs to judge, whose disk takes 40 kB more."""
    where = folder / "s.db"
    store = open_store(where)
    stored(store, pair_records(60))
    store.close()
    limit = FULL.format(size=where.stat().st_size + 40_000)
    env = environment(MISJUDGE_STORE=str(where))

    def run(*arguments: str, room: bool = False) -> subprocess.CompletedProcess[str]:
        program = [*launcher("" if room else limit), *arguments]
        return subprocess.run(program, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=60)

    return run


Full = Callable[..., subprocess.CompletedProcess[str]]


def the_sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    [sentence] = [line for line in done.stderr.splitlines() if line.startswith("misjudge: ")]
    return sentence


@no_limits
def test_an_import_that_fills_the_disk_stores_nothing(folder: Path, full: Full) -> None:
    long = "".join(f"q{n},{'long ' * 500}{n},no,A\n" for n in range(400))
    write(folder, "long.csv", "prompt,a,b,winner\n" + long)
    before = dump(folder, Path("s.db"))
    done = full("import", "table", "long.csv", "--audit", "b")
    assert "Check that it has free space" in the_sentence(done)
    assert (done.stdout, dump(folder, Path("s.db"))) == ("", before)


@no_limits
@pytest.mark.slow
async def test_a_run_that_fills_the_disk_waits_and_says_so_and_goes_on_where_it_was_when_there_is_room(
    folder: Path, full: Full
) -> None:
    # A shell that starts the tests in the background would let them, and what they start, ignore it.
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    limit = FULL.format(size=(folder / "s.db").stat().st_size + 40_000)
    program = [*launcher(heeded + limit), "judge", "a"]
    env = environment(MISJUDGE_STORE=str(folder / "s.db"))
    waiting = await asyncio.create_subprocess_exec(
        *program, "--judge", "simulated", cwd=folder, env=env, stdout=PIPE, stderr=PIPE
    )
    assert waiting.stderr is not None
    async with asyncio.timeout(60):
        while b"paused until the store takes results again: The disk" not in await waiting.stderr.readline():
            pass
        waiting.send_signal(signal.SIGINT)
        _, told = await waiting.communicate()
    assert waiting.returncode == 130
    resumed = full(*told.decode().partition("Go on with: misjudge ")[2].split(), "--json", room=True)
    assert resumed.returncode == 0, resumed.stderr
    run = json.loads(resumed.stdout)["runs"][0]
    assert (run["state"], run["done"]) == ("done", 120)
    assert 120 <= run["spent"][0]["calls"] < 240
