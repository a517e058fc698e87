"""Biases and conflicts as tables, at the width of the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from builders import episode, pair, passed, rewarded, satisfied, verdict
from misjudge_server.bias_printing import bias_tables, conflict_tables
from misjudge_server.console import console
from misjudge_storage.types import Judge, Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.bias_values import BiasSection
from misjudge_tools.summary.values import Sections
from operations import stored

HOSTILE = "task\x1b[31m [bold]x[/bold] " + "長" * 60
OWN = Judge(label="judge", form="pairwise", model="gpt-4o", origin="imported")
OTHER = Judge(label="other", form="pairwise", model="claude-3-opus", origin="imported")


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell is folded."""
    monkeypatch.setattr(console, "width", 400)


@pytest.fixture(params=[80, 118])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(console, "width", request.param)
    return int(request.param)


def shown(parts: Iterator[object], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    for part in parts:
        console.print(part)
    return capsys.readouterr().out


def as_text(out: str) -> str:
    """Without the lines of tables and where they fold."""
    return re.sub(r"\s+", " ", re.sub(r"[│┃─━┏┓┗┛┡┩├┤┬┴┼╇└┘┌┐]", " ", out))


def records(number: int) -> list[Record]:
    """The judge picks A, which is of its family, longer and has failed in half of the pairs; asked twice, once B."""
    found = []
    for n in range(number):
        task = f"{HOSTILE} {n}"
        right: Preference = "A" if n % 2 else "B"
        a = episode("x", passed(right == "A"), rewarded(n % 2 / 2), task=task, output_tokens=9, base_model="gpt-4o")
        b = episode(
            HOSTILE, passed(right == "B"), rewarded(0.25), task=task, output_tokens=3, base_model="claude-3-opus"
        )
        said = [
            verdict("A", "AB", judge=OWN, reasons="more detailed", score_a=1.0, score_b=2.0),
            verdict("A", "AB", 1, judge=OWN, reasons="polite"),
            verdict("A" if n % 5 else "tie", "BA", judge=OWN),
            verdict(right, "AB", judge=OTHER),
        ]
        found.append(pair(f"{HOSTILE} p{n}", a, b, *said, ability_bucket="near", line=n + 1))
    return found


def sections(deps: Deps, made: list[Record], judge: str = "judge") -> Sections:
    stored(deps.store, made)
    return summarize(SummarizeRequest(audit="a", judge=judge, sections=["bias", "conflicts"]), deps.store)


def test_biases_are_no_wider_than_the_terminal(deps: Deps, columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = sections(deps, records(24)).bias
    assert found is not None
    out = shown(bias_tables(found, "judge"), capsys)
    assert max(cell_len(line) for line in out.splitlines()) <= columns
    assert "\x1b" not in out


@pytest.mark.usefixtures("wide")
def test_every_bias_stands_with_its_counts_beside_what_no_bias_would_show(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sections(deps, records(24)).bias
    assert found is not None
    said = as_text(shown(bias_tables(found, "judge"), capsys))
    for part in ("24 of 24", "by output tokens", "50 % !", "more often than other on the same pairs", "+50.0 points"):
        assert part in said
    for part in ("picks of the lower reward", "… on near pairs", "most common verdict when asked again", "own scores"):
        assert part in said
    for group in ("length", "tone", "format", "confidence", "evidence"):
        assert group in said


@pytest.mark.usefixtures("wide")
def test_a_constant_answer_is_named_beside_its_accuracy(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    first = [verdict("A", "AB", judge=OWN), verdict("B", "BA", judge=OWN)]
    made = []
    for n in range(12):
        sides = [episode(side, passed((side == "x") == (n % 2 == 0)), task=f"t{n}") for side in "xy"]
        made.append(pair(f"p{n}", sides[0], sides[1], *first, line=n + 1))
    found = sections(deps, made).bias
    assert found is not None
    said = as_text(shown(bias_tables(found, "judge"), capsys))
    assert "accuracy 0.50 (12 of 24 calls), flip rate 1.00 (12 of 12 pairs): a constant answer" in said
    assert "bias.length: No episode states its output tokens" in said


@pytest.mark.usefixtures("wide")
def test_a_single_task_is_said_to_be_one(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    made = []
    for n in range(8):
        right, long = "AB"[n % 2], n % 4 < 2
        a = episode("x", passed(right == "A"), trial=n, output_tokens=9 if long else 1, base_model="gpt-4o")
        b = episode("y", passed(right == "B"), trial=n, output_tokens=1 if long else 9, base_model="claude-3-opus")
        pick: Preference = "A" if (right == "A") == (n < 4) else "B"
        calls = [verdict(pick, "AB", repeat, judge=OWN, reasons="longer" if n % 3 else "fine") for repeat in (0, 1)]
        made.append(pair(f"p{n}", a, b, *calls, verdict("A", "AB", judge=OTHER), line=n + 1))
    found = sections(deps, made).bias
    assert found is not None
    said = as_text(shown(bias_tables(found, "judge"), capsys))
    assert said.count("one task") >= 3


@pytest.mark.usefixtures("wide")
def test_a_part_of_a_large_audit_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = BiasSection(pairs=20_000, pairs_in_all=1_000_000)
    assert "20000 of 1000000 pairs" in as_text(shown(bias_tables(found, "judge"), capsys))


def test_conflicts_are_named_by_ids_that_do_the_terminal_no_harm(
    deps: Deps, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sections(deps, records(6)).conflicts
    assert found is not None
    out = shown(conflict_tables(found), capsys)
    assert max(cell_len(line) for line in out.splitlines()) <= columns
    assert "\x1b" not in out
    said = as_text(out)
    assert "3 of 6 picks on decidable pairs" in said and "strict: the first 3 of 3" in said
    assert "0 of 6 scored decidable pairs" in said and "misjudge read misjudge://audits/a/pairs" in said


@pytest.mark.usefixtures("wide")
def test_failed_episodes_that_satisfied_are_named(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    failed = episode("x", passed(False), satisfaction=[satisfied(0.9)])
    found = sections(deps, [pair("p", failed, episode("y"))], judge="gate").conflicts
    assert found is not None
    said = as_text(shown(conflict_tables(found), capsys))
    assert "1 of 1 satisfying episodes" in said and "satisfied_failed: the first 1 of 1" in said and " 0.9 " in said
