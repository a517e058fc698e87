"""What a person reads of a probing: the table of what a judge can be fooled by, at the width of the terminal."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from builders import label, verdict
from misjudge_server.console import console
from misjudge_server.probe_printing import IN_WORDS
from misjudge_server.run_printing import print_result
from misjudge_storage.types import Judge
from misjudge_tools.deps import Deps
from misjudge_tools.probing.variants import CONTROL, PROBES, Aim
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK, ProbeResult, RunReport
from misjudge_tools.stats.probes import ProbeCounts, TaskTally, preference_by_gold, probe_rows
from misjudge_tools.stats.rates import independent, plain_rate
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import ProbesSection
from operations import stored
from probed import ASKED, item, pair_of, store_probes

STEADY = TaskTally(items=3, gained=0, lost=1, flips=0, baseline_flips=1)
AIMS: tuple[Aim | None, ...] = (None, "failed")
FOOLED = TaskTally(items=3, gained=3, lost=0, flips=3, baseline_flips=0, shift=3, shift_squares=3)


def probing(*counts: ProbeCounts, state: str = "done", **values: object) -> ProbeResult:
    run = {
        "run": "run_1",
        "audit": "mine",
        "operation": "probe_judge",
        "judge": "j",
        "state": state,
        "done": 9,
        "total": 9,
    }
    section = ProbesSection(items=30, instability=plain_rate(3, 30), rows=probe_rows(counts, CONTROL))
    given = {"probes": section, **values}
    return ProbeResult.model_validate(
        {
            **{"simulated": False, "marked": None, "judge": "j", "asked_at": "here", "already_stored": 0, "items": 30},
            **{"run": RunReport.model_validate(run), **given},
        }
    )


def everything() -> ProbeResult:
    counts = [
        ProbeCounts(
            probe, [FOOLED if probe == "padding" else STEADY] * 20, 2 * (probe == "promise"), probe != "criteria_order"
        )
        for probe in PROBES
    ]
    return probing(*counts)


def printed(
    result: ProbeResult, capsys: pytest.CaptureFixture[str], width: int, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setattr(console, "width", width)
    capsys.readouterr()
    print_result(result)
    return capsys.readouterr().out


def cells(out: str, probe: str) -> list[str]:
    """The cells of one probe's row, each in one line."""
    lines = out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"│ {probe}"))
    found = [part.strip() for part in lines[start].split("│")[1:-1]]
    for line in lines[start + 1 :]:
        more = [part.strip() for part in line.split("│")[1:-1]]
        if not more or re.match(r"[a-z_]+:", more[0]):
            break
        found = [f"{one} {other}".strip() for one, other in zip(found, more, strict=True)]
    return found


@pytest.mark.parametrize("width", [80, 104, 118])
def test_every_probe_has_a_row_in_words_that_fits_the_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = printed(everything(), capsys, width, monkeypatch)
    assert max(map(cell_len, out.splitlines())) <= width
    assert "What j can be fooled by" in out
    assert cells(out, "padding") == [
        "padding: filler in one side", "60", "60 (0)", "+100 % [72, 100]", "+100 % [72, 100]", "<.001", "FOOLED",
    ]  # fmt: skip
    assert cells(out, "criteria_order")[1:] == ["60", "0 (20)", "-33 % [-46, -19]", "–", "1.000", "not seen (61 %)"]
    for probe in PROBES:
        assert cells(out, probe[:10])


def test_of_a_narrow_table_a_heading_is_broken_where_its_cells_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = printed(everything(), capsys, 80, monkeypatch)
    headings = [[cell.strip() for cell in line.split("┃")] for line in out.splitlines() if line.startswith("┃")]
    assert [" ".join(filter(None, parts)) for parts in zip(*headings, strict=True)][1:-1] == [
        "changed", "items", "flips (own)", "excess, 95 %", "shift, 95 %", "p", "fooled?",
    ]  # fmt: skip
    assert len(headings) == 2
    assert "not seen (N %): an excess below N % would probably be missed with so few items" in " ".join(out.split())


def test_every_probe_is_said_in_words() -> None:
    assert set(IN_WORDS) == set(PROBES)


def test_below_the_table_stands_what_it_rests_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = " ".join(printed(everything(), capsys, 118, monkeypatch).split())
    assert "Asked again unchanged, the judge changed its own verdict: 10.0 % (3 of 30, 95 % 3.5–25.6 %)" in out
    assert "Null control (whitespace): 0 flips against 20 own, of 60 items. No effect beyond chance" in out
    assert "Items left out because a call was unscored: promise 2" in out
    assert "Own family" not in out


def test_a_judge_that_reacts_to_whitespace_is_told_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = " ".join(printed(probing(ProbeCounts(CONTROL, [FOOLED] * 10)), capsys, 118, monkeypatch).split())
    assert (
        "30 flips against 0 own, of 30 items. The judge reacts to nothing at all: do not trust the other rows." in out
    )


def test_a_side_that_failed_has_a_row_of_its_own_by_that_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = [ProbeCounts(probe, [STEADY] * 20, 1, aim=aim) for probe in ("padding", CONTROL) for aim in AIMS]
    out = printed(probing(*counts), capsys, 118, monkeypatch)
    assert "padding: filler in one side" in out
    assert cells(out, "padding, failed side")[0] == "padding, failed side: filler in one side"
    words = " ".join(out.split())
    assert "Null control (whitespace): 0 flips" in words
    assert "Null control (whitespace, failed side): 0 flips" in words
    assert "unscored: padding 1, padding, failed side 1" in words


@pytest.mark.parametrize("width", [80, 118])
def test_replies_that_a_probe_makes_unreadable_are_marked_and_told(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = TaskTally(0, 0, 0, 0, 0, replied=1, unscored=1, newly_unscored=1)
    counts = [ProbeCounts(probe, [lost] * 40, left_out=40) for probe in ("injected_user", CONTROL)]
    out = printed(probing(*counts), capsys, width, monkeypatch)
    assert max(map(cell_len, out.splitlines())) <= width
    assert cells(out, "injected_user")[1:] == ["0", "0 (0)", "–", "–", "<.001", "UNREADABLE"]
    words = " ".join(out.split())
    assert "injected_user: 40 of 40 replies unreadable, 0 of 80 unchanged" in words
    assert "Null control (whitespace): 0 flips against 0 own, of 0 items. The judge reacts to nothing at all" in words


@pytest.mark.parametrize("number", [1, 3])
def test_a_control_of_a_few_items_is_not_called_in_order(
    number: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = TaskTally(items=1, gained=1, lost=0, flips=1, baseline_flips=0)
    out = " ".join(printed(probing(ProbeCounts(CONTROL, [one] * number)), capsys, 118, monkeypatch).split())
    said = {1: "1 flip against 0 own, of 1 item.", 3: "3 flips against 0 own, of 3 items."}[number]
    assert f"Null control (whitespace): {said} Too few items to say." in out
    assert "as it should be" not in out


def test_few_items_are_said_to_be_too_few_and_one_task_to_have_no_interval(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = printed(probing(ProbeCounts("padding", [FOOLED])), capsys, 118, monkeypatch)
    assert cells(out, "padding")[1:] == [
        "3",
        "3 (0)",
        "+100 % [one task]",
        "+100 % [one task]",
        "1.000",
        "too few items",
    ]
    out = printed(probing(ProbeCounts("padding", [], left_out=3)), capsys, 118, monkeypatch)
    assert cells(out, "padding")[1:] == ["0", "0 (0)", "–", "–", "–", "too few items"]
    assert "Null control" not in out


def test_a_liking_for_the_own_family_is_said_with_its_interval(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for failed, did, said in ((12, 2, "50 points more"), (2, 12, "50 points less")):
        found = preference_by_gold(independent(failed, 20), independent(did, 20))
        section = ProbesSection(items=9, instability=plain_rate(0, 9), rows=(), family="qwen", self_preference=found)
        out = " ".join(printed(probing(probes=section), capsys, 118, monkeypatch).split())
        assert f"Own family (qwen): wrong {said} often where its own side failed than where it did the job (95 %" in out
        assert "of 40 pairs; observed, not tested." in out
        assert "can be fooled by" not in out


def test_a_simulated_judge_is_marked_and_the_run_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = probing(
        ProbeCounts("padding", [STEADY] * 10),
        simulated=True, marked=MARK, already_stored=4, warnings=("Only 3 pairs.",), not_applicable={"injected_tool": 7},
    )  # fmt: skip
    out = printed(result, capsys, 118, monkeypatch)
    assert out.startswith(MARK)
    assert "Only 3 pairs." in out
    assert "j, probes of 30 pairs: done, 9 of 9 calls stored, 4 were stored before" in out
    assert "Pairs in which there was nothing to change: injected_tool 7" in out
    assert "What j (SIMULATED) can be fooled by" in out


def test_a_planned_probing_says_its_calls_and_a_stopped_one_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = printed(probing(state="planned", probes=None), capsys, 118, monkeypatch)
    assert out.strip() == "j, probes of 30 pairs: planned, 9 calls, cost not known"
    stopped = probing(probes=None)
    reason = "limit reached: max_calls=9"
    out = printed(
        stopped.model_copy(update={"run": stopped.run.model_copy(update={"reason": reason})}), capsys, 118, monkeypatch
    )
    assert f"{reason}\nGo on with: misjudge runs resume run_1" in out


def test_hostile_names_reach_no_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = printed(probing(ProbeCounts("padding", [STEADY] * 2), judge="\x1b]0;x\x07[red]j"), capsys, 118, monkeypatch)
    assert "What ]0;x[red]j can be fooled by" in out
    assert "\x1b" not in out


def test_a_summary_shows_the_probes_of_each_judge(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    records = [pair_of(n, f"t{n}") for n in range(9)]
    calls = [call for n in range(9) for call in item(f"p{n}", "AB", ("B", "B"), padding__A="A", whitespace__A="B")]
    store_probes(deps.store, records, calls)
    store_probes(deps.store, records, calls, ASKED.model_copy(update={"label": "made up", "simulated": True}))
    for judge, titles in ((None, ["asked", "made up (SIMULATED)"]), ("asked", ["asked"])):
        capsys.readouterr()
        print_result(summarize(SummarizeRequest(audit="a", judge=judge), deps.store))
        out = capsys.readouterr().out
        assert re.findall(r"What (.*) can be fooled by", out) == titles


def test_the_accuracy_of_a_constant_answer_never_stands_alone(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    first = Judge(label="first", form="pairwise", model="m")
    records = [
        pair_of(n, f"t{n}").model_copy(
            update={
                "verdicts": (verdict("A", "AB", judge=first), verdict("B", "BA", judge=first)),
                "gold": (label("B" if n % 2 else "A"),),
            }
        )
        for n in range(12)
    ]
    stored(deps.store, records)
    told = "Judge first named the side shown first in 24 of 24 answers: that is position bias"
    print_result(summarize(SummarizeRequest(audit="a"), deps.store))
    out = capsys.readouterr().out
    assert told in " ".join(out.split())
    assert re.search(r"accuracy, mean of the orders +│ 50\.0 % \(12 of 24, 95 % .*\), constant ", out)
    second = Judge(label="second", form="pairwise", model="n")
    once = (verdict("A", "AB", judge=second),)
    stored(deps.store, [pair_of(0, "t0").model_copy(update={"verdicts": once})])
    print_result(summarize(SummarizeRequest(audit="a"), deps.store))
    out = capsys.readouterr().out
    assert told in " ".join(out.split())
    assert re.search(r"\[\d+–\d+\] of 24 \*", out) and "* of a constant answer, not a skill" in out
