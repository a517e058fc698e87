"""`misjudge gate` as a job of a pipeline sees it: its exit code, its log, its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Misjudge
from misjudge_server import gate_printing
from misjudge_server.console import console
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.rates import clustered_rate, independent
from misjudge_tools.summary.gate_values import GateResult

RATE = clustered_rate(independent(3, 100))
RESULT = GateResult(
    audit="nightly", judge="judge-m", outcome="inconclusive", exit_code=3, verdict="Inconclusive: it is so.",
    limit=0.05, counted="calls", misselection=RATE, interval="fixed", tasks=50, pairs=50, coverage=0.96,
    min_coverage=0.9, smallest_passing=73, pairs_needed=120,
)  # fmt: skip


def table(folder: Path, wrong: int, right: int, judges: str = "winner") -> None:
    """A file of pairs: in so many the judge picks the side that failed."""
    rows = [f"task {n},yes,no,1,0,{'B' if n < wrong else 'A'},A" for n in range(wrong + right)]
    (folder / "pairs.csv").write_text("\n".join([f"task,a,b,success_a,success_b,{judges}", *rows]), encoding="utf-8")


def imported(
    misjudge: Misjudge, folder: Path, wrong: int, right: int, *, audit: str = "a", judges: str = "one,two"
) -> None:
    table(folder, wrong, right, judges)
    done = misjudge("import", "table", "pairs.csv", "--audit", audit, "--map", f"winner={judges.replace(',', '+')}")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("wrong", "right", "options", "code"),
    [
        (0, 200, (), 0),
        (80, 120, (), 1),
        (1, 50, (), 3),
        (0, 200, ("--policy", "both_orders"), 3),
        (0, 200, ("--min-coverage", "1"), 0),
        (8, 192, ("--max-misselection", "0.1"), 0),
    ],
)
def test_the_exit_code_is_the_answer(
    misjudge: Misjudge, folder: Path, wrong: int, right: int, options: tuple[str, ...], code: int
) -> None:
    imported(misjudge, folder, wrong, right)
    done = misjudge("gate", "a", "--judge", "one", *options)
    assert done.code == code, done.out + done.err
    assert not done.err


def test_too_low_a_coverage_has_a_code_of_its_own(misjudge: Misjudge, folder: Path) -> None:
    rows = [f"task {n},yes,no,1,0,{'tie' if n % 2 else 'A'}" for n in range(100)]
    (folder / "pairs.csv").write_text("\n".join(["task,a,b,success_a,success_b,winner", *rows]), encoding="utf-8")
    assert misjudge("import", "table", "pairs.csv", "--audit", "a").code == 0
    done = misjudge("gate", "a")
    assert done.code == 4
    assert "Coverage too low" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gate", "nowhere"), "nowhere"),
        (("gate", "a", "--judge", "third"), "its judges of pairs are: one, two"),
        (("gate", "a"), "several judges"),
        (("gate", "a", "--judge", "one", "--policy", "luck"), "there is no policy 'luck'"),
        (("gate", "a", "--judge", "one", "--baseline", "nowhere"), "nowhere"),
        (("gate", "a", "--judge", "one", "--at", "far"), "'at'"),
        (("gate", "a", "--judge", "one", "--max-misselection", "5"), "max_misselection"),
        (("gate", "a", "--judge", "one", "--max-misselection", "many"), "--max-misselection"),
        (("gate", "a", "--no-such-option"), "no-such-option"),
        (("gate",), "audit"),
    ],
)
def test_whatever_keeps_it_from_answering_ends_with_2(
    misjudge: Misjudge, folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    imported(misjudge, folder, 0, 90)
    done = misjudge(*arguments)
    assert done.code == 2, done.out
    assert said in done.err.lower()
    assert not done.out


def test_a_failure_of_its_own_is_no_answer_either(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(misjudge, folder, 0, 90)

    quoted = "what a reply said"

    def breaks(result: GateResult) -> None:
        raise RuntimeError(quoted)

    monkeypatch.setattr(gate_printing, "print_gate", breaks)
    done = misjudge("gate", "a", "--judge", "one")
    assert done.code == 2
    assert "Internal error (RuntimeError)" in done.err and quoted not in done.err


def test_a_broken_store_is_no_answer_either(misjudge: Misjudge, folder: Path) -> None:
    (folder / ".misjudge").mkdir()
    (folder / ".misjudge" / "misjudge.db").write_bytes(b"no data base")
    assert misjudge("gate", "a").code == 2


def test_the_log_holds_the_numbers_and_ends_with_the_verdict(misjudge: Misjudge, folder: Path) -> None:
    imported(misjudge, folder, 1, 50)
    lines = misjudge("gate", "a", "--judge", "one").out.splitlines()
    whole = "\n".join(lines)
    assert "1 of 51" in whole and "5.0 % misselected" in whole and "3 (inconclusive)" in whole
    assert "decidable pairs more at this rate" in lines[-1] and lines[-1].startswith(
        "Inconclusive: judge one picked the side that failed"
    )


def test_json_holds_the_whole_answer(misjudge: Misjudge, folder: Path) -> None:
    imported(misjudge, folder, 0, 90)
    done = misjudge("gate", "a", "--judge", "two", "--json")
    found = json.loads(done.out)
    assert done.code == 0
    assert found["schema"] == 1 and found["outcome"] == "pass" and found["exit_code"] == 0
    assert found["misselection"]["n"] == 90 and found["smallest_passing"] == 73 and found["pairs_needed"] is None
    assert found["verdict"].startswith("Pass: ")


def test_a_made_up_judge_is_marked_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    gate_printing.print_gate(RESULT.model_copy(update={"marked": "SIMULATED: made up", "warnings": ("A sample.",)}))
    said = capsys.readouterr().out
    assert "SIMULATED: made up" in said and "A sample." in said


def test_a_baseline_has_a_line_with_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    found = PairedDifference(n=80, difference=-0.1, low=-0.18, high=-0.02, only_first=2, only_second=10, mcnemar_p=0.04)
    compared = {"baseline": "last week", "baseline_judge": "judge-k"}
    gate_printing.print_gate(RESULT.model_copy(update={**compared, "difference": found, "at": "near"}))
    said = capsys.readouterr().out
    assert (
        "right, against judge judge-k of audit last week" in said
        and "-10.0 points (over 80 pairs, 95 % -18.0 to -2.0)" in said
    )
    assert "near" in said
    gate_printing.print_gate(RESULT.model_copy(update={"baseline": "last week"}))
    assert "right, against audit last week" in capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 40])
def test_it_keeps_to_the_width_but_for_the_one_line_verdict(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "width", width)
    gate_printing.print_gate(
        RESULT.model_copy(update={"judge": "a judge with a long name " * 4, "policy": "both_orders"})
    )
    *lines, last = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert last == "Inconclusive: it is so."


def test_an_interval_that_holds_at_any_time_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    gate_printing.print_gate(RESULT.model_copy(update={"interval": "anytime"}))
    assert "holds at any time" in capsys.readouterr().out
