"""Drift and the disagreements over time as people read them, at 80 and 118 columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from misjudge_server.console import console
from misjudge_server.drift_printing import MOST_CHANGES, MOST_PERIODS, print_drift, print_three_way
from misjudge_tools.stats.drift import Drift, parts
from misjudge_tools.stats.paired import PairedCounts, paired_difference
from misjudge_tools.stats.probes import Differences, Effect, PairedSums, paired_effect, paired_sums
from misjudge_tools.stats.rates import Rate, plain_rate
from misjudge_tools.summary.deciding.drift_values import Change, DriftSection, Matched, Moved, TaskDrift
from misjudge_tools.summary.deciding.three_way_values import Disagreements, Period, ThreeWaySection

CHANGES = (
    Change(side="judge", what="prompt_hash", before="0123456789abcdef", after="fedcba9876543210"),
    Change(side="judge", what="params.top_p", before=None, after="1"),
    Change(side="agents", what="setup.suite", before="s1", after="s2", who="left, right"),
)
MATCHED = Matched(
    shared=40, only_here=3, only_baseline=4, ambiguous_here=1, ambiguous_baseline=1, decidable=36, unscored_here=1,
    unscored_baseline=0, alike=20, anchors=18,
)  # fmt: skip
NO_TASKS = TaskDrift(shared=20, changed=0, only_here=0, only_baseline=0)
BARE = DriftSection(
    baseline="march", judge="gpt", baseline_judge="gpt", fingerprint="jdg_a", baseline_fingerprint="jdg_a", changed=(),
    tasks=NO_TASKS, pairs=MATCHED, moved=plain_rate(0, 40), moves=(Moved(before="A", now="A", pairs=40),),
    why={"right": "No gold.", "parts": "No gold."},
)  # fmt: skip


@pytest.fixture(params=[80, 118])
def width(request: pytest.FixtureRequest) -> Iterator[int]:
    before, console.width = console.width, request.param
    yield request.param
    console.width = before


def printed(capsys: pytest.CaptureFixture[str], width: int) -> str:
    out = capsys.readouterr().out
    assert max(cell_len(line) for line in out.splitlines()) <= width
    return out


def words(out: str) -> str:
    return " ".join("".join(" " if c in "│┃" else c for c in out).split())


def sums(gained: int, lost: int, same: int) -> PairedSums:
    each = [Differences(1, 1, 1)] * gained + [Differences(1, -1, 1)] * lost + [Differences(1, 0, 0)] * same
    return paired_sums(each)


def whole() -> DriftSection:
    anchors, others = sums(1, 5, 10), sums(2, 4, 13)
    return BARE.model_copy(
        update={
            "baseline_judge": "gpt@abc123",
            "baseline_fingerprint": "jdg_b",
            "changed": CHANGES,
            "tasks": TaskDrift(shared=20, changed=2, only_here=1, only_baseline=0),
            "right": plain_rate(20, 35),
            "baseline_right": plain_rate(26, 35),
            "difference": paired_difference(PairedCounts(3, 9, sums(3, 9, 23))),
            "single_call": paired_effect(sums(3, 9, 23)),
            "moved": plain_rate(12, 40),
            "moves": (Moved(before="A", now="A", pairs=28), Moved(before="A", now="B", pairs=12)),
            "anchors_moved": plain_rate(6, 20),
            "anchors": paired_difference(PairedCounts(1, 5, anchors)),
            "parts": parts(Drift(anchors, others)),
            "why": {},
        }
    )


def test_people_read_what_changed_and_what_of_it_the_judge_did(capsys: pytest.CaptureFixture[str], width: int) -> None:
    print_drift(whole())
    out = words(printed(capsys, width))
    assert "gpt since the baseline march (there gpt@abc123)" in out
    assert "pairs of both 40; 3 only here, 4 only there, 2 that could not be told apart" in out
    assert "right there 74.3 % (26 of 35, 95 %" in out and "right here 57.1 % (20 of 35, 95 %" in out
    assert "difference -17.1 points (95 % -" in out and "of 35: 3 only here, 9 only there, McNemar p 0.1460" in out
    assert "points on it would show" in out
    assert "moved A → B 12" in out and "A → A" not in out
    assert "of the difference: the judge -25.0 points (95 % -" in out
    assert "of the difference: the rest +7.9 points (95 % -" in out
    assert "tasks 20 of both, 2 of them changed; 1 only here, 0 only there" in out
    assert "judge prompt_hash 0123456789abcdef fedcba9876543210" in out
    assert "judge params.top_p – 1" in out and "setup.suite s1 s2" in out and "agents: left," in out


def test_a_judge_that_is_the_same_is_said_to_be(capsys: pytest.CaptureFixture[str], width: int) -> None:
    print_drift(BARE)
    out = words(printed(capsys, width))
    assert "The judge has the same fingerprint as before." in out
    assert out.count("No gold.") == 1 and "right, parts: No gold." in out


def test_long_lists_are_cut_and_one_task_has_no_interval(capsys: pytest.CaptureFixture[str], width: int) -> None:
    moves = tuple(Moved(before="A", now=f"n{n}", pairs=n) for n in range(1, 12))
    many = BARE.model_copy(
        update={
            "changed": CHANGES * 10,
            "moves": moves,
            "single_call": Effect(value=0.25, low=None, high=None, n=4),
        }
    )
    print_drift(many)
    out = words(printed(capsys, width))
    assert f"and {30 - MOST_CHANGES} more: --json has all" in out
    assert "and 3 other ways" in out and "+25.0 points (one task: no interval) of 4" in out
    print_drift(BARE.model_copy(update={"single_call": paired_effect(sums(0, 0, 0))}))
    assert "difference, per call –" in words(printed(capsys, width))


def disagreements(k: int, n: int) -> dict[str, int | Rate]:
    names = [name for name in Disagreements.model_fields if not name.endswith("known") and name != "sessions"]
    known = {name: n for name in Disagreements.model_fields if name.endswith("known")}
    return {"sessions": n, **known, **{name: plain_rate(k, n) for name in names}}


def over_time(periods: int, **values: object) -> ThreeWaySection:
    weekly = disagreements(3, 40)
    return ThreeWaySection.model_validate(
        {
            **{"judge": "gpt", "form": "satisfaction", "threshold": 4, "by": "week", "since": None},
            **{"time_from": "occurred_at", "undated": 0, "total": disagreements(30, 400), "periods_left_out": 0},
            "periods": [Period.model_validate({**weekly, "starts": f"2025-01-{n + 1:02}"}) for n in range(periods)],
            "trends": {"any_disagreement": Effect(value=0.012, low=0.002, high=0.022, n=400, p=1e-5, p_adjusted=2e-5)},
            **values,
        }
    )  # fmt: skip


def test_people_read_where_the_three_disagree(capsys: pytest.CaptureFixture[str], width: int) -> None:
    print_three_way(over_time(3, since="2025-01-01"))
    out = words(printed(capsys, width))
    assert "Satisfaction (gpt), success and people: 400 sessions" in out
    assert "known of satisfaction 400, success 400, people 400, all three 400" in out
    assert "time as their source says" in out and "since 2025-01-01" in out
    assert "satisfied, but failed 7.5 % (30 of 400, 95 %" in out
    assert "change a week: any two of them +1.2 points (95 % +0.2 to +2.2) of 400, p adj. < 0.0001" in out
    assert out.count("2025-01-0") >= 3 and "7.5 % [3–20] of 40" in out


def test_only_the_latest_periods_and_what_is_known_are_printed(capsys: pytest.CaptureFixture[str], width: int) -> None:
    nobody = {
        name: plain_rate(0, 0) for name in ("success_against_human", "satisfaction_against_human", "any_of_three")
    }
    found = over_time(20, total={**disagreements(30, 400), **nobody}, periods_left_out=2, why={"human": "No labels."})
    mixed = found.model_copy(update={"time_from": "mixed", "undated": 7, "judge": None})
    print_three_way(mixed)
    out = words(printed(capsys, width))
    assert f"and {2 + 20 - MOST_PERIODS} earlier ones; --json has the latest 20" in out
    assert "2025-01-05" not in out and "2025-01-06" in out
    assert "success against people" not in out and "success/people" not in out
    assert "7 of 400 when they were stored" in out and "human: No labels." in out
