"""Near and farther pairs, slices and power as people read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from rich.cells import cell_len

from builders import episode, messages, pair, passed, rewarded, verdict
from misjudge_server.console import console
from misjudge_server.gap_printing import print_gaps, print_power, print_slices
from misjudge_storage.types import Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.power_values import Detectable, PowerSection, Precision
from misjudge_tools.summary.deciding.slices_values import LeftOut, Slice, SlicesSection
from misjudge_tools.summary.values import AuditSummary
from operations import stored


def summary(deps: Deps, records: Iterator[Record]) -> AuditSummary:
    stored(deps.store, list(records))
    return summarize(SummarizeRequest(audit="a", sections=["gaps", "slices", "power"]), deps.store)


def pairs(tasks: int, near_wrong: int, far_wrong: int, categories: int = 2) -> Iterator[Record]:
    """A near and a wide pair of each task, so many of the first ones judged wrongly; the judge gives scores."""
    for task in range(tasks):
        for bucket, wrong in (("near", near_wrong), ("wide", far_wrong)):
            winner: Preference = "B" if task < wrong else "A"
            sides = [
                episode(f"{side}{bucket}", passed(side == "a"), rewarded(0.3), task=f"t{task}", said=messages("Hi"))
                for side in "ab"
            ]
            said = [verdict(winner, order, score_a=3, score_b=2 if bucket == "near" else 3) for order in ("AB", "BA")]
            record = pair(f"p{task}{bucket}", sides[0], sides[1], *said, line=task + 1, ability_bucket=bucket)
            assert record.task is not None
            facts = {"category": f"category number {task % categories}"}
            yield record.model_copy(update={"task": record.task.model_copy(update=facts)})


def printed(capsys: pytest.CaptureFixture[str], show: Callable[[], None]) -> str:
    capsys.readouterr()
    show()
    return capsys.readouterr().out


def joined(out: str) -> str:
    """The text without the places where it was folded."""
    return " ".join(out.split())


def test_a_gap_is_a_row_with_both_rates_their_difference_and_what_to_know(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(deps, pairs(20, 12, 2)).gaps
    assert found is not None
    out = printed(capsys, lambda: print_gaps(found))
    ability, circular = [line for line in out.splitlines() if line.startswith("│")]
    assert [cell.strip() for cell in ability.split("│")[1:4]] == [
        "ability",
        "60.0 % [37–79] of 40",
        "10.0 % [3–32] of 40",
    ]
    assert "+50.0 [+" in ability and "judge_score (circular)" in circular
    text = joined(out)
    assert (
        "ability: near is |ΔR| below 0.1, farther is wide; 20 and 20 decidable pairs of 20 tasks, 20 with both." in text
    )
    assert "Near and wide are as declared with the pairs." in text and "Circular: " in text
    assert "ability: near is not shown" not in text


def test_a_null_result_says_what_would_have_shown_and_each_check_once(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(deps, pairs(20, 5, 5)).gaps
    assert found is not None
    text = joined(printed(capsys, lambda: print_gaps(found)))
    seen = found.rows[0].smallest_seen
    assert seen is not None
    shown = f"an audit of this size can miss a difference of less than {100 * seen:.1f} points (one that large shows in"
    assert f"ability: near pairs are not shown to be worse. They may still be worse: {shown}" in text
    assert text.count("Check whether the judge saw names") == 1


def test_a_gap_of_one_task_says_why_there_is_no_test(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary(deps, pairs(1, 1, 0)).gaps
    assert found is not None
    text = joined(printed(capsys, lambda: print_gaps(found)))
    assert "│ +100.0 │ – │" in text and "no interval and no test" in text


def test_a_gap_that_no_difference_would_have_shown_says_so(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary(deps, pairs(3, 1, 3)).gaps
    assert found is not None and found.rows[0].smallest_seen is None
    text = joined(printed(capsys, lambda: print_gaps(found)))
    assert "an audit of this size can miss even the largest difference." in text


def test_slices_that_stand_out_are_marked(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    records = [one for one in pairs(40, 40, 40) if "number 0" in str(one.task)]
    records += [one for one in pairs(40, 0, 0) if "number 1" in str(one.task)]
    found = summary(deps, iter(records)).slices
    assert found is not None
    out = printed(capsys, lambda: print_slices(found))
    assert "category number 0 *" in out and "40/40" in out and "+100.0 [+" in out and "<.0001" in out
    assert f"* stands out: p adjusted for the {found.tests} slices (Benjamini-Hochberg) is at most .05." in joined(out)


def test_slices_say_what_is_left_out_and_what_is_not_tested(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary(deps, pairs(28, 4, 4, categories=14)).slices
    assert found is not None and found.left_out == {"category": LeftOut(values=2, pairs=8)}
    text = joined(printed(capsys, lambda: print_slices(found)))
    assert "and 2 more with 8 pairs" in text
    assert "p is –: Fewer than 5 tasks, here or in the rest: too few to test." in text
    assert "stands out (Benjamini-Hochberg, .05)" in text or found.tests == 0


@pytest.mark.parametrize("width", [60, 80, 118])
def test_everything_fits_the_terminal(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    found = summary(deps, pairs(20, 5, 5))
    gaps, slices, power = found.gaps, found.slices, found.power
    assert gaps is not None and slices is not None and power is not None
    monkeypatch.setattr(console, "width", width)
    shown = [lambda: print_gaps(gaps), lambda: print_slices(slices), lambda: print_power(power)]
    out = "".join(printed(capsys, show) for show in shown)
    assert max(map(cell_len, out.splitlines())) <= width


def test_a_narrow_terminal_gets_the_slices_in_one_line_each(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = summary(deps, pairs(20, 5, 5)).slices
    assert found is not None
    monkeypatch.setattr(console, "width", 80)
    out = printed(capsys, lambda: print_slices(found))
    (row,) = [line for line in out.splitlines() if "category number 0" in line]
    assert "of 40" in row and len(row.split("│")) == 6


def test_power_says_what_would_show_and_what_it_takes(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary(deps, pairs(40, 10, 10)).power
    assert found is not None
    text = joined(printed(capsys, lambda: print_power(found)))
    assert "25.0 % [14–41] of 160, ± 13.6 points" in text
    assert "39 independent calls, of 160: design effect 4.10" in text
    assert "smallest that can pass 5.0 % │ 73 independent calls, all right" in text
    assert "shown under 5.0 % │ none: the audit is too small" in text
    assert "shown over 5.0 % │ a true rate of at least" in text
    assert "to show it over 5.0 %" in text and "there already, for 80 % power at this rate" in text
    assert "points or more would show (80 % power, 5 % two-sided)" in text


def test_power_next_to_the_limit_and_beyond_counting_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = PowerSection(
        misselection=Rate(rate=0.05, k=5, n=100, low=0.02, high=0.1),
        half_width=0.04,
        tasks=50,
        pairs=60,
        decidable=50,
        effective=50,
        deff=2,
        needed_for=(Precision(half_width=0.00001, needed=None),),
        limit=0.05,
        smallest_passing=73,
        shown_under=None,
        shown_over=0.2,
        to_show_under=None,
        to_show_over=None,
        near_far=(Detectable(gap="reward", far_rate=0.9, difference=None),),
    )
    text = joined(printed(capsys, lambda: print_power(found)))
    assert "more than ten million pairs: the rate seen is next to the limit" in text
    assert "│ more than ten million pairs │" in text
    assert "near − farther, reward │ none would show" in text


def test_a_difference_that_is_not_known_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    rate = Rate(rate=0.5, k=1, n=2, low=0, high=1)
    effect = Effect(value=None, low=None, high=None, n=2)
    one = Slice(
        dimension="turns", value="3-5", n=2, decidable=1, misselection=rate, difference=effect, stands_out=False
    )
    out = printed(capsys, lambda: print_slices(SlicesSection(rows=(one,), tests=0)))
    assert "│ – " in out and "Benjamini" not in out
