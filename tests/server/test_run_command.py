"""`misjudge run`: options and their file, the plan before the first call, and what is said at the end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from command import Misjudge, Outcome, command, environment, run
from loopback import LoopbackServer
from operations import KEY, PromptJudge
from suite_folders import CANARY, write

STORE = Path(".misjudge", "misjudge.db")
TASKS: list[dict[str, Any]] = [
    {
        "task_id": "subject", "category": "writing", "opening": "Write me a subject line about Oslo.",
        "goal": "One line that names Oslo.", "success_criteria": "A single line that names Oslo.",
        "checks": [{"kind": "format", "value": "one_line"}, {"kind": "contains", "value": "Oslo"}],
    },
    {
        "task_id": "sum", "category": "numbers", "opening": "What do 12 crates of 8 bottles hold?",
        "goal": "The number of bottles.", "success_criteria": "Says 96.", "checks": [{"kind": "says", "facts": [96]}],
    },
]  # fmt: skip
SOLUTIONS: list[dict[str, Any]] = [
    {"task_id": "subject", "steps": [{"say": "Storm closes the harbour of Oslo"}]},
    {"task_id": "sum", "steps": [{"say": "They hold 96 bottles."}]},
]
SPEC = """
suite = "letters"
agents = ["diligent", "refuser"]
judge = "simulated"
audit = "mine"
"""
PRICED = f"""
[roles]
judge = "strong"
[profiles.strong]
model = "judge-m"
price_in = 1000
price_out = 1000
[agents.shop]
kind = "chat"
profile = "small"
[profiles.small]
model = "agent-m"
price_in = 10
price_out = 20
key_env = "SMALL_KEY"
[prices.judge-m]
in = 1
out = 2
# {CANARY}
"""
STYLE = re.compile(r"\x1b\[[0-9;]*m")
CONTROLS = {*map(chr, [*range(10), *range(11, 32), *range(127, 160)]), "\u202e"}


@pytest.fixture
def letters(folder: Path) -> Path:
    """A working directory with the suite `letters`: two tasks of text only."""
    write(folder / "letters", tasks=TASKS, solutions=SOLUTIONS)
    return folder


def spec(folder: Path, text: str = SPEC, name: str = "run.toml") -> str:
    folder.joinpath(name).write_text(text, encoding="utf-8")
    return name


def whole(outcome: Outcome) -> dict[str, Any]:
    """The JSON of a command that went well."""
    assert outcome.code == 0, outcome.err
    result: dict[str, Any] = json.loads(outcome.out)
    assert next(iter(result)) == "schema"
    return result


def dump(folder: Path) -> str:
    """Everything in the store, as SQL."""
    with closing(sqlite3.connect(folder / STORE)) as connection:
        return "\n".join(connection.iterdump())


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / STORE)) as connection:
        return connection.execute(query).fetchall()


def words(text: str) -> str:
    """The text in one line."""
    return " ".join(text.split())


# ---- a process of its own


def test_agents_named_by_flags_are_run_judged_and_told_of(letters: Path) -> None:
    flags = ("--suite", "letters", "--agents", "diligent, refuser,", "--judge", "simulated", "--audit", "mine")
    done = run("run", *flags, cwd=letters)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SIMULATED: made up by a simulated judge")
    assert "SIMULATED: scripted or simulated agents" in words(done.stdout)
    for agent, said in (("diligent", r"2 of 2: 100\.0 % "), ("refuser", r"0 of 2: 0\.0 % ")):
        assert re.search(rf"│ {agent} +│ {said}\[\d+–\d+\] +│ \d of \d satisfied", done.stdout)
    assert "2 pairs, judge simulated: done, 12 of 12 cells done" in done.stdout
    assert "stages: rollout 4 of 4, pairwise 4 of 4, satisfaction 4 of 4" in done.stdout
    assert done.stdout.endswith("Next: misjudge summarize mine\n")
    assert done.stderr.splitlines()[0] == "misjudge: plan: 2 pairs, 12 cells to do, judge simulated"
    assert all(line.startswith("misjudge: ") for line in done.stderr.splitlines())


def test_a_file_holds_the_options_flags_override_it_and_its_suite_is_beside_it(letters: Path) -> None:
    spec(letters, SPEC + "trials = 3\nsignals = ['satisfaction', 'gate']\n", "own.toml")
    elsewhere = letters / "elsewhere"
    elsewhere.mkdir()
    flags = ("--trials", "1", "--signals", "none", "--tasks", "sum", "--agents", "diligent,refuser,padder", "--json")
    done = run("run", str(letters / "own.toml"), *flags, cwd=elsewhere)
    result = whole(Outcome(done.returncode, done.stdout, done.stderr))
    assert (result["run"]["audit"], result["run"]["judge"], result["run"]["state"]) == ("mine", "simulated", "done")
    assert result["pairs"] == 3
    assert [stage["stage"] for stage in result["run"]["stages"]] == ["rollout", "pairwise"]
    assert rows(elsewhere, "SELECT DISTINCT task_id, trial FROM trajectories") == [("sum", 0)]
    assert not (letters / ".misjudge").exists()


def test_a_bad_file_ends_a_process_with_one_sentence_and_no_trace(letters: Path) -> None:
    spec(letters, f'agents = ["{CANARY}"\njudge = "{CANARY}"')
    done = run("run", "run.toml", cwd=letters)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("misjudge: ") and done.stderr.count("\n") == 1
    assert "run.toml" in done.stderr and CANARY not in done.stderr and "Traceback" not in done.stderr
    assert not (letters / ".misjudge").exists()


async def test_the_plan_and_who_is_asked_where_are_said_before_the_first_call(letters: Path) -> None:
    async with PromptJudge() as server:
        server.gate.clear()
        env = environment(TAOTOKEN_BASE_URL=server.base_url, TAOTOKEN_API_KEY=KEY, TAOTOKEN_JUDGE_MODEL="judge-m")
        arguments = ("--suite", "letters", "--agents", "diligent,refuser", "--audit", "mine")
        process = await asyncio.create_subprocess_exec(
            *command("run", *arguments), cwd=letters, env=env, stdout=PIPE, stderr=PIPE
        )
        try:
            await server.received(1)
            assert process.stderr is not None
            async with asyncio.timeout(30):
                said = [(await process.stderr.readline()).decode().rstrip() for _ in range(8)]
            assert said[0] == "misjudge: plan: 2 pairs, 12 cells to do, judge judge-m"
            assert said[1] == "misjudge: agent diligent: scripted or of your own, no model asked"
            assert said[3] == "misjudge: user_sim: scripted or of your own, no model asked"
            where = f"judge-m, from TAOTOKEN_JUDGE_MODEL (environment), at {server.base_url}"
            assert said[4] == f"misjudge: judge: {where}, from TAOTOKEN_BASE_URL (environment)"
            assert {line.rpartition(":")[2] for line in said[5:7]} == {" 4 calls, cost not known"}
            assert said[7] == "misjudge: 12 cells, 8 calls in all, cost not known"
            server.gate.set()
            async with asyncio.timeout(60):
                out, err = await process.communicate()
            assert (process.returncode, err) == (0, b"")
            assert KEY not in out.decode()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals")
@pytest.mark.parametrize("width", [80, 120])
def test_what_a_terminal_shows_fits_it(letters: Path, width: int) -> None:
    agents = "diligent,refuser,smooth_talker,padder,flaky:0.512345"
    for shown in (agents, "diligent,refuser"):
        done = in_a_terminal(letters, width, "--suite", "letters", "--agents", shown, "--judge", "simulated")
        assert "SIMULATED" in done and "Next: misjudge summarize mine" in done
        lines = STYLE.sub("", done).splitlines()
        assert max(map(cell_len, lines)) <= width
        assert not set("".join(lines)) & CONTROLS


def in_a_terminal(folder: Path, width: int, *arguments: str) -> str:
    """What `misjudge run` writes to a pseudo terminal of this width."""
    import pty
    import subprocess

    ours, theirs = pty.openpty()
    env = environment(COLUMNS=str(width), LINES="40", TERM="xterm")
    with subprocess.Popen(
        command("run", *arguments, "--audit", "mine"),
        cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(theirs)
        said = b"".join(_pieces(ours))
        assert process.stderr is not None
        err = process.stderr.read().decode()
    assert process.returncode == 0, err
    return said.decode().replace("\r\n", "\n")


def _pieces(descriptor: int) -> Iterator[bytes]:
    try:
        while piece := os.read(descriptor, 65_536):
            yield piece
    except OSError:  # how Linux tells that the other end is closed
        pass
    finally:
        os.close(descriptor)


# ---- the command line in this process


def test_a_dry_run_says_calls_and_cost_by_role_and_asks_and_stores_nothing(
    misjudge: Misjudge, letters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters.joinpath("misjudge.toml").write_text(PRICED, encoding="utf-8")
    first = misjudge("run", spec(letters))
    assert first.code == 0, first.err
    before, files = dump(letters), sorted(letters.rglob("*"))
    monkeypatch.setenv("TAOTOKEN_BASE_URL", "http://127.0.0.1:9")  # nobody answers there
    arguments = (
        "--agents",
        "diligent,shop,gpt-x",
        "--user",
        "user-m",
        "--judge",
        "strong",
        "--dry-run",
        "--audit",
        "new",
    )
    planned = misjudge("run", "run.toml", *arguments)
    assert (planned.code, planned.err) == (0, "")
    lines = planned.out.splitlines()
    assert "plan: 6 pairs, 24 cells to do, judge strong" in lines
    *costs, whole_plan = [line for line in lines if " calls" in line]
    assert whole_plan == "24 cells, 282 calls at most in all, cost not known"
    assert [line.partition(":")[0] for line in costs] == [
        "agent small", "agent gpt-x", "user_sim user-m", "judge strong, pairwise", "judge strong, satisfaction",
    ]  # fmt: skip
    assert re.fullmatch(r"agent small: 60 calls at most, about 0\.\d{4} USD \(episodes of usual length\)", costs[0])
    assert costs[1] == "agent gpt-x: 60 calls at most, cost not known"
    assert re.fullmatch(
        r"judge strong, pairwise: 12 calls, about \d+\.\d{4} USD \(episodes of usual length\)", costs[3]
    )
    assert CANARY not in planned.out
    told = whole(misjudge("run", "run.toml", *arguments, "--json"))
    assert (told["run"]["state"], told["run"]["run"], told["pairs"]) == ("planned", "", 6)
    assert [(use["role"], use["calls"]) for use in told["run"]["plan"]] == [
        ("agent", 60), ("agent", 60), ("user_sim", 144), ("judge", 12), ("judge", 6),
    ]  # fmt: skip
    assert dump(letters) == before and sorted(letters.rglob("*")) == files


def test_a_dry_run_needs_no_key_and_a_run_does(misjudge: Misjudge, letters: Path) -> None:
    flags = ("run", "--suite", "letters", "--agents", "gpt-x,gpt-y", "--user", "user-m", "--judge", "j", "--audit", "a")
    planned = misjudge(*flags, "--dry-run")
    assert (planned.code, planned.err) == (0, "")
    refused = misjudge(*flags)
    assert (refused.code, refused.out) == (2, "")
    assert "TAOTOKEN_API_KEY" in refused.err
    assert rows(letters, "SELECT COUNT(*) FROM runs") == [(0,)]


def test_a_run_is_told_of_as_json(misjudge: Misjudge, letters: Path) -> None:
    result = whole(misjudge("run", spec(letters), "--json"))
    assert list(result)[:5] == ["schema", "simulated", "marked", "asked_at", "run"]
    assert result["simulated"] is True and result["marked"].count("SIMULATED") == 2
    assert (result["run"]["done"], result["run"]["total"]) == (12, 12)
    assert [(one["agent"], one["succeeded"], one["failed"], one["unknown"]) for one in result["agents"]] == [
        ("diligent", 2, 0, 0), ("refuser", 0, 2, 0),
    ]  # fmt: skip
    [spent] = result["run"]["spent"]
    assert (spent["role"], spent["calls"], spent["cost"]) == ("judge", 8, 0)
    [pair] = [whole(misjudge("run", "run.toml", "--tasks", "sum", "--json"))["pair"]]
    assert pair["row"]["gold_pref"] == "A"
    assert [(pair[side]["agent"], pair[side]["success"], pair[side]["end_reason"]) for side in "ab"] == [
        ("diligent", True, "finished"), ("refuser", False, "blocked"),
    ]  # fmt: skip
    assert {check["verifier"]: check["passed"] for check in pair["b"]["checks"]}["success"] is False


def test_a_single_pair_is_told_with_its_evidence(misjudge: Misjudge, letters: Path) -> None:
    done = misjudge("run", spec(letters), "--tasks", "sum", "--judge", "simulated:seed=1")  # without any fault
    assert done.code == 0, done.err
    assert "A diligent: did the task, ended finished" in done.out
    assert "B refuser: failed the task, ended blocked" in done.out
    assert "success: does not hold. 0 of 1 rules hold" in words(done.out)
    assert "gold A, judge A: not misselected" in done.out


def test_a_run_that_keeps_to_its_limit_has_done_what_it_should(misjudge: Misjudge, letters: Path) -> None:
    done = misjudge("run", spec(letters, SPEC + "max_calls = 500\n"), "--max-calls", "3")
    assert done.code == 0, done.err
    assert "limit reached: max_calls=3 is used up" in words(done.out)
    again = re.findall(r"Go on with: misjudge runs resume (run_\w+), and the higher limit", words(done.out))
    resumed = misjudge("runs", "resume", *again, "--max-calls", "100")
    assert resumed.code == 0, resumed.err
    assert "12 of 12" in resumed.out


async def test_a_run_that_fails_says_why_and_how_to_go_on(
    misjudge: Misjudge, letters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with LoopbackServer() as server:
        server.always({"error": {"message": f"bad key {CANARY}"}}, status=401)
        monkeypatch.setenv("TAOTOKEN_BASE_URL", server.base_url)
        monkeypatch.setenv("TAOTOKEN_API_KEY", KEY)
        failed = await asyncio.to_thread(misjudge, "run", spec(letters), "--judge", "judge-m")
    assert failed.code == 1
    last = failed.err.splitlines()[-1]
    assert re.fullmatch(r"misjudge: Run run_\w+: failed\. .+ Go on with: misjudge runs resume run_\w+", last)
    assert "Traceback" not in failed.err and CANARY not in failed.err + failed.out and KEY not in failed.err
    assert "4 of 12 cells done" in failed.out


def test_the_same_command_again_asks_nothing(misjudge: Misjudge, letters: Path) -> None:
    misjudge("run", spec(letters))
    before = rows(letters, "SELECT COUNT(*) FROM judge_logs")
    again = misjudge("run", "run.toml")
    assert again.code == 0, again.err
    assert again.err.startswith("misjudge: plan: 2 pairs, 0 cells to do")
    assert rows(letters, "SELECT COUNT(*) FROM judge_logs") == before


FAILURES: dict[str, tuple[list[str], str]] = {
    "no agents": (["--suite", "letters", "--audit", "a"], "Name two agents or more"),
    "one agent": (["--agents", "diligent", "--audit", "a"], "'agents'"),
    "no audit": (["--agents", "diligent,refuser"], "'audit' is missing"),
    "twice": (["--agents", "flaky:.5,flaky:0.50", "--audit", "a"], "'flaky:0.5' is named twice"),
    "near miss": (["--agents", "diligent,smoothtalker", "--audit", "a"], "Did you mean 'smooth_talker'?"),
    "share": (["--agents", "diligent,flaky:1.2", "--audit", "a"], "flaky needs the share"),
    "suite": (["--suite", "leters", "--agents", "diligent,refuser", "--audit", "a"], "no such suite"),
    "task": (["run.toml", "--tasks", "subjct"], "Did you mean 'subject'?"),
    "language": (["run.toml", "--language", "zh"], "zh"),
    "pairing": (["run.toml", "--pairings", "diligent-refuser"], "write agent|agent"),
    "foreign pairing": (["run.toml", "--pairings", "diligent|padder"], "agents of this run (diligent, refuser)"),
    "own pairing": (["run.toml", "--pairings", "diligent|diligent"], "with itself"),
    "trials": (["run.toml", "--trials", "0"], "'trials'"),
    "repeats": (["run.toml", "--repeats", "21"], "'repeats'"),
    "limit": (["run.toml", "--max-calls", "0"], "'max_calls'"),
    "faults": (["run.toml", "--judge", "simulated:noise=2"], "noise"),
    "no file": (["none.toml"], "none.toml"),
    "folder": (["letters"], "letters is not a file"),
    "user": (["run.toml", "--user", "gpt-x"], "TAOTOKEN_API_KEY"),
    "local task": (["run.toml", "--suite", "broken"], "tasks.jsonl, line 1: "),
}


@pytest.mark.parametrize("case", FAILURES)
def test_what_cannot_be_run_is_one_sentence(misjudge: Misjudge, letters: Path, case: str) -> None:
    arguments, said = FAILURES[case]
    spec(letters)
    write(letters / "broken", tasks=f'{{"task_id": "{CANARY}"}}\n')
    arguments = (
        arguments if arguments[0].startswith(("run", "none", "letters")) else ["--judge", "simulated", *arguments]
    )
    failed = misjudge("run", *arguments)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith("misjudge: ") and failed.err.count("\n") == 1
    assert said in failed.err and CANARY not in failed.err


BAD_SPECS: dict[str, tuple[str | bytes, str]] = {
    "misspelt": ('agnts = ["a", "b"]', "Unknown name agnts in run.toml. Did you mean 'agents'?"),
    "of a flag": ('max-calls = 3\naudit = "a"', "Did you mean 'max_calls'?"),
    "of recorded pairs": ('trajectory_a = "x"', "Unknown name trajectory_a in run.toml."),
    "table": ('[run]\naudit = "a"', "Unknown name run in run.toml."),
    "of a command": ("dry_run = true", "Unknown name dry_run in run.toml."),
    "secret": (f'{CANARY} = "x"', "Unknown name"),
    "not TOML": (f"judge = {CANARY}", "run.toml"),
    "text for a list": (f'agents = "{CANARY}"\naudit = "a"', "'agents' cannot be used"),
    "number for a text": ('suite = 3\naudit = "a"', "'suite' cannot be used"),
    "date": ('agents = [2026-01-01, "b"]\naudit = "a"', "'agents' cannot be used"),
    "not UTF-8": (b'audit = "\xe4"', "is not UTF-8 text"),
    "NaN": ('max_usd = nan\naudit = "a"', "NaN"),
    "bad audit": (f'audit = "a/{CANARY}"', "'audit' cannot be used"),
}


@pytest.mark.parametrize("case", BAD_SPECS)
def test_a_file_that_cannot_be_used_is_one_sentence_without_its_values(
    misjudge: Misjudge, letters: Path, case: str
) -> None:
    content, said = BAD_SPECS[case]
    letters.joinpath("run.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    failed = misjudge("run", "run.toml", "--judge", "simulated")
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith("misjudge: ") and failed.err.count("\n") == 1
    assert said in failed.err
    # A key that is pasted as a name is shown as far as a name is.
    assert CANARY not in failed.err or case == "secret"


def test_names_and_texts_of_a_suite_cannot_paint_the_terminal(misjudge: Misjudge, folder: Path) -> None:
    seen = "\u202egone[red] :smile:"
    paint = f"\x1b]0;title\x07\x9b31m{seen}"
    check = {"kind": "contains", "value": f"{paint}x", "name": paint}
    task = {**TASKS[1], "task_id": paint, "opening": f"{paint} 12 crates of 8?", "checks": [*TASKS[1]["checks"], check]}
    steps = [{"say": f"{paint}96"}]
    write(folder / "letters", tasks=[task], solutions=[{"task_id": paint, "steps": steps}])
    facts = {"prompt": task["goal"], "success_criteria": task["success_criteria"], "category": task["category"]}
    said = [{"role": "assistant", "content": paint}]
    trajectory = {"task_id": paint, "agent": "x", "language": "en", **facts, "messages": said, "end_reason": paint}
    folder.joinpath("log.jsonl").write_text(json.dumps(trajectory), encoding="utf-8")
    recorded = '[agents.old]\nkind = "recorded"\nfile = "log.jsonl"\n'
    folder.joinpath("misjudge.toml").write_text(recorded, encoding="utf-8")
    flags = ("run", "--suite", "letters", "--judge", "simulated", "--audit", "mine")
    outcomes = [
        misjudge(*flags, "--agents", "diligent,refuser"),
        misjudge(*flags, "--agents", "diligent,refuser", "--json"),
        misjudge(*flags, "--agents", "diligent,old,refuser"),
        misjudge(
            *flags, "--agents", f"{seen},refuser", "--dry-run", "--user", "u", "--judge", f"{seen}j", "--audit", "b"
        ),
        misjudge(*flags, "--agents", f"{paint},refuser", "--user", "u", "--audit", "b"),
        misjudge(*flags, "--agents", "diligent,refuser", "--tasks", f"{paint}y"),
        misjudge(*flags, "--agents", "diligent,refuser", "--pairings", paint),
        misjudge("runs"),
        misjudge("summarize", "mine"),
    ]
    assert [outcome.code for outcome in outcomes] == [0, 0, 0, 0, 2, 2, 2, 0, 0]
    for outcome in outcomes:
        assert not set(outcome.out + outcome.err) & CONTROLS
    assert "gone[red] :smile:" in words(outcomes[0].out)
