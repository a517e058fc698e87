from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import Misjudge, Outcome, environment, run
from misjudge_server import VERSION
from misjudge_tools.requests import JudgeRequest, ProbeRequest, Request, RunPairRequest

TABLE = """\
question,first,second,gpt,llama,human
"取消订单 4417。","订单 4417 已取消。😀","非常抱歉！",1,2,1
"What is 12 x 12?","144","It is 124, of course!",1,2,1
"Is the shop open on Sunday?","Certainly! Always happy to help.","No, closed on Sundays.",2,1,2
"""
MAPPING = ("--map", "prompt=question,a=first,b=second,winner=gpt+llama,gold=human", "--values", "1=A,2=B")
COMMANDS = ("import", "judge", "summarize", "runs", "read", "demo", "serve")


def table(folder: Path, text: str = TABLE) -> str:
    folder.joinpath("log.csv").write_text(text, encoding="utf-8")
    return "log.csv"


def whole(outcome: Outcome) -> dict[str, Any]:
    """The JSON of a command that went well."""
    assert (outcome.code, outcome.err) == (0, "")
    result: dict[str, Any] = json.loads(outcome.out)
    assert next(iter(result)) == "schema"
    assert result["schema"] == 1
    return result


def test_a_table_is_imported_judged_and_summarised(misjudge: Misjudge, folder: Path) -> None:
    imported = misjudge("import", "table", table(folder), "--audit", "mine", *MAPPING)
    assert (imported.code, imported.err) == (0, "")
    assert "3 records" in imported.out
    judged = misjudge("judge", "mine", "--judge", "simulated")
    assert (judged.code, judged.err) == (0, "")
    assert "SIMULATED" in judged.out
    assert "6 of 6 calls" in judged.out
    summary = misjudge("summarize", "mine")
    assert summary.code == 0
    for shown in ("gpt", "llama", "simulated", "SIMULATED"):
        assert shown in summary.out


def test_every_result_is_json_for_machines(misjudge: Misjudge, folder: Path) -> None:
    log = table(folder)
    preview = whole(misjudge("import", "table", log, "--audit", "mine", *MAPPING, "--dry-run", "--json"))
    assert preview["preview"]["log.csv"]
    imported = whole(misjudge("import", "table", log, "--audit", "mine", *MAPPING, "--json"))
    assert imported["files"][0]["added"]["pairs"] == 3
    again = whole(misjudge("import", "table", log, "--audit", "mine", *MAPPING, "--json"))
    assert set(again["files"][0]["added"].values()) == {0}
    planned = whole(misjudge("judge", "mine", "--judge", "simulated", "--dry-run", "--json"))
    assert (planned["run"]["state"], planned["run"]["total"]) == ("planned", 6)
    judged = whole(misjudge("judge", "mine", "--judge", "simulated", "--json"))
    assert (judged["run"]["state"], judged["simulated"]) == ("done", True)
    summary = whole(misjudge("summarize", "mine", "--judge", "llama", "--json"))
    assert (summary["misselection"]["k"], summary["misselection"]["n"]) == (3, 3)
    listed = whole(misjudge("runs", "--json"))
    assert [one["run"] for one in listed["runs"]] == [judged["run"]["run"]]
    record = whole(misjudge("read", "misjudge://audits/mine"))
    assert record["record"]["name"] == "mine"


def test_options_choose_pairs_language_and_repeats(misjudge: Misjudge, folder: Path) -> None:
    misjudge("import", "table", table(folder), "--audit", "mine", *MAPPING)
    audit = whole(misjudge("judge", "mine", "--judge", "simulated", "--json"))
    pair = audit["verdicts"][0]["pair_id"]
    chosen = ("--judge", "simulated", "--language", "zh", "--repeats", "3", "--pair", pair, "--json")
    judged = whole(misjudge("judge", "mine", *chosen))
    assert (judged["run"]["total"], {one["pair_id"] for one in judged["verdicts"]}) == (6, {pair})
    satisfied = whole(misjudge("judge", "mine", "--judge", "simulated", "--form", "satisfaction", "--json"))
    assert (satisfied["form"], satisfied["run"]["total"]) == ("satisfaction", 6)
    sections = whole(misjudge("summarize", "mine", "--judge", "gpt", "--section", "misselection", "--json"))
    assert (sections["consistency"], sections["misselection"]["n"]) == (None, 3)


def test_a_long_record_is_read_whole(misjudge: Misjudge, folder: Path) -> None:
    long = "long 长 " * 20_000 + "."
    mapping = ("--map", "prompt=question,a=first,b=second")
    misjudge("import", "table", table(folder, f'question,first,second\n"{long}",yes,no\n'), "--audit", "a", *mapping)
    pair = whole(misjudge("judge", "a", "--judge", "simulated", "--json"))["verdicts"][0]["pair_id"]
    uri = whole(misjudge("read", f"misjudge://audits/a/pairs/{pair}"))["record"]["task"]
    read = whole(misjudge("read", uri, "--field", "prompt"))
    assert (read["record"], read["next_cursor"]) == ({"prompt": long}, None)


def test_runs_are_shown_and_what_is_done_is_not_resumed(misjudge: Misjudge, folder: Path) -> None:
    misjudge("import", "table", table(folder), "--audit", "mine", *MAPPING)
    assert misjudge("runs").out == "No runs yet.\n"
    run_id = whole(misjudge("judge", "mine", "--judge", "simulated", "--json"))["run"]["run"]
    assert run_id in misjudge("runs").out.replace("\n", "")
    assert whole(misjudge("runs", "wait", run_id, "--json"))["runs"][0]["state"] == "done"
    for action in ("resume", "cancel"):
        refused = misjudge("runs", action, run_id)
        assert (refused.code, refused.out) == (2, "")
        assert "is done" in refused.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("summarize", "nope"), "No audit is called 'nope'."),
        (("judge", "nope", "--judge", "simulated"), "No audit is called 'nope'."),
        (("judge", "nope"), "Set TAOTOKEN_API_KEY, or use judge=local"),
        (("judge", "x", "--repeats", "0"), "Argument 'repeats' cannot be used: Input should be greater than or equal"),
        (("judge", "a/b"), "Argument 'audit' cannot be used"),
        (
            ("runs", "stop"),
            "'action' cannot be used: Input should be 'list', 'status', 'wait', 'cancel', 'resume' or 'retry'",
        ),
        (("runs", "status"), "Action status needs the run's id."),
        (("runs", "status", "run_x"), "No run 'run_x' is stored."),
        (("read", "x"), "No such address. Allowed are misjudge://audits,"),
        (
            ("import", "tabel", "x", "--audit", "a"),
            "Argument 'format' cannot be used: Input should be 'table', 'pairs'",
        ),
        (("import", "table", "gone.csv", "--audit", "a"), "gone.csv does not exist."),
        (("import", "llmbar", "gone", "--audit", "a"), "gone"),
    ],
)
def test_an_error_is_one_sentence_on_stderr_and_nothing_on_stdout(
    misjudge: Misjudge, arguments: tuple[str, ...], said: str
) -> None:
    outcome = misjudge(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("misjudge: ")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("judge",),
        ("judge", "a", "--reps", "3"),
        ("judge", "a", "--repeats", "three"),
        ("import", "table", "x"),
        ("summarize", "a", "b"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_how(misjudge: Misjudge, arguments: tuple[str, ...]) -> None:
    outcome = misjudge(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Usage: misjudge")


def test_help_names_every_command_and_version_is_one_line(misjudge: Misjudge) -> None:
    assert misjudge("--version") == (0, f"misjudge {VERSION}\n", "")
    helped = misjudge("--help")
    assert helped.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in helped.out
        assert misjudge(name, "--help").out.startswith(f"Usage: misjudge {name}")


def test_an_unexpected_error_shows_its_place_and_not_its_text(
    misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a reply: CANARY")

    monkeypatch.setattr("misjudge_tools.summarize_audit.summarize_audit", fail)
    outcome = misjudge("summarize", "a")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Internal error (RuntimeError)" in outcome.err
    assert "a reply: CANARY" not in outcome.err.replace('raise RuntimeError("a reply: CANARY")', "")


def test_the_demo_runs_without_a_key(misjudge: Misjudge) -> None:
    shown = misjudge("demo", "--no-local")
    assert (shown.code, shown.err) == (0, "")
    for part in ("SIMULATED", "24 of 24 calls", "--no-local", "claude mcp add", "codex"):
        assert part in shown.out
    summary = whole(misjudge("summarize", "demo", "--json"))
    assert (summary["simulated"], summary["pairs"]["n"], summary["pairs"]["decidable"]) == (True, 12, 10)
    assert misjudge("demo", "--no-local").code == 0
    assert whole(misjudge("summarize", "demo", "--json")) == summary


def test_the_command_runs_as_a_process_of_its_own_from_any_folder(tmp_path: Path) -> None:
    table(tmp_path)
    imported = run("import", "table", "log.csv", "--audit", "日志", *MAPPING, cwd=tmp_path)
    assert (imported.returncode, imported.stderr) == (0, "")
    env = environment(PYTHONIOENCODING="cp932", COLUMNS="200")
    summary = run("summarize", "日志", "--judge", "gpt", "--json", cwd=tmp_path, env=env)
    assert json.loads(summary.stdout)["audit"] == "日志"
    failed = run("summarize", "ない 😀", cwd=tmp_path, env=env)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "misjudge: No audit is called 'ない 😀'. Stored are: 日志.\n"


@pytest.mark.parametrize(
    ("command", "request_model", "said"),
    [
        ("judge", JudgeRequest, {"margin": "Default: 1.", "orders": "both (default)", "repeats": "[default: 1]"}),
        (
            "run",
            RunPairRequest,
            {
                "margin": "Default: 1.",
                "orders": "both (default)",
                "repeats": "Default: 1.",
                "trials": "Default: 1.",
                "signals": "satisfaction (default)",
            },
        ),
        ("probe", ProbeRequest, {"items": "60 by default", "side": "random (default)"}),
    ],
)
def test_help_states_what_holds_where_nothing_is_given(
    misjudge: Misjudge, command: str, request_model: type[Request], said: dict[str, str]
) -> None:
    shown = " ".join(misjudge(command, "--help").out.split())
    assert "File with an own judge prompt (see docs/judging.md)." in shown
    for option, text in said.items():
        default = request_model.model_fields[option].default
        (stated,) = default if isinstance(default, list) else [default]
        assert text in shown.split(f"--{option} <")[1].split(" --")[0] and str(stated) in text
