from __future__ import annotations

import io
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command import Misjudge
from misjudge_server.progress import facts, with_progress
from misjudge_server.terminal import json_text, plain
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest
from misjudge_tools.results import RunReport
from misjudge_tools.runs import report
from operations import PromptJudge, keyed, opened, pair_records, stored

CONTROLS = "".join(map(chr, [*range(32), *range(127, 160)]))


def test_plain_text_keeps_letters_lines_and_tabs_and_no_other_control() -> None:
    assert plain(f"a 中 😀\n\tb{CONTROLS}\x1b[31mc") == "a 中 😀\n\tb\t\n[31mc"


def test_json_for_people_escapes_every_control_and_says_the_same() -> None:
    value = {"中": [CONTROLS, "😀", 1.5, None]}
    shown = json_text(value)
    assert json.loads(shown) == value
    assert "😀" in shown
    assert {letter for letter in shown if letter in CONTROLS} == {"\n"}


def test_names_from_a_file_cannot_steer_the_terminal(misjudge: Misjudge, folder: Path) -> None:
    label = "\x1b]0;title\x07\x9b31mgpt[red] :smile:"
    log = folder / "log.jsonl"
    rows = [{"q": f"x{n}", "l": "yes", "r": "no", label: "A", "part": f"\x1b[2J{n}", "agent": label} for n in range(2)]
    log.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    audit = "mine"
    mapping = f"prompt=q,a=l,b=r,winner={label},subset=part,agent_a=agent"
    outcomes = [
        misjudge("import", "table", "log.jsonl", "--audit", audit, "--map", mapping, "--dry-run"),
        misjudge("import", "table", "log.jsonl", "--audit", audit, "--map", mapping),
        misjudge("summarize", audit),
        misjudge("summarize", audit, "--json"),
        misjudge("summarize", audit, "--judge", label),
        misjudge("summarize", audit, "--judge", "x"),
        misjudge("judge", audit, "--judge", "simulated"),
        misjudge("runs"),
        misjudge("read", "misjudge://audits"),
        misjudge("import", "table", "log.jsonl", "--audit", audit),
    ]
    assert [outcome.code for outcome in outcomes] == [0, 0, 0, 0, 0, 2, 0, 0, 0, 2]
    for outcome in outcomes:
        assert [letter for letter in outcome.out + outcome.err if letter in CONTROLS.replace("\n", "")] == []
    assert "gpt[red] :smile:" in outcomes[2].out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_a_terminal_shows_how_far_a_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(report, "POLL_SECONDS", 0.001)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=2) as deps:
        stored(deps.store, pair_records(60), "a")
        result = await with_progress(deps, partial(judge, JudgeRequest(audit="a")))
    assert result.run.state == "done"
    assert re.search(r"judge a .*\d+/120", terminal.getvalue())


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, ""),
        ({"eta_s": 61.4}, "about 61 s left"),
        ({"eta_s": 5.0, "spent": [{"cost": 0.25}, {"cost": 0.5}, {"cost": None}]}, "about 5 s left; 0.7500 USD"),
        ({"reason": "paused: why"}, "paused"),
    ],
)
def test_what_else_is_known_of_a_run_stands_beside_its_bar(known: dict[str, Any], said: str) -> None:
    use = {"role": "judge", "calls": 1, "input_tokens": 1, "output_tokens": 1}
    spent = [{**use, **cost} for cost in known.pop("spent", [])]
    run = {"run": "r", "audit": "a", "operation": "judge", "judge": "m", "state": "running", "done": 1, "total": 2}
    assert facts(RunReport.model_validate({**run, **known, "spent": spent})) == said


async def test_where_stderr_is_no_terminal_nothing_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(1))
        await with_progress(deps, partial(judge, JudgeRequest(audit="a")))
    assert capsys.readouterr() == ("", "")
