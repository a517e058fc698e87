"""The sections on near pairs, slices and power, from stored pairs to numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scipy.stats import false_discovery_control

from builders import JUDGE, episode, lone, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.engine import Store
from misjudge_storage.types import Judge, Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.gaps import difference, joint_sums, score_p
from misjudge_tools.stats.power import smallest_difference
from misjudge_tools.stats.rates import Rate, clustered_rate
from misjudge_tools.stats.task_permutation import task_permutation
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.gaps import CIRCULAR, DECLARED, MISSING, NAMES_SEEN, NO_GAP, ONE_TASK
from misjudge_tools.summary.deciding.gaps_values import GapsSection
from misjudge_tools.summary.deciding.power_values import PowerSection
from misjudge_tools.summary.deciding.slices import FEW_TASKS, NO_SLICES
from misjudge_tools.summary.deciding.slices_values import SlicesSection
from misjudge_tools.summary.values import AuditSummary
from operations import stored
from sliced_audits import near_and_far, sliced, slices

OTHER = Judge(label="other", form="pairwise", model="judge-n", origin="imported")


def summary(store: Store, *sections: str, judge: str | None = None) -> AuditSummary:
    return summarize(SummarizeRequest(audit="a", sections=list(sections), judge=judge), store)


def gaps_of(store: Store, judge: str | None = None) -> GapsSection:
    found = summary(store, "gaps", judge=judge).gaps
    assert found is not None
    return found


def slices_of(store: Store, judge: str | None = None) -> SlicesSection:
    found = summary(store, "slices", judge=judge).slices
    assert found is not None
    return found


def power_of(store: Store) -> PowerSection:
    found = summary(store, "power").power
    assert found is not None
    return found


def judged(
    task: int, bucket: str | None, said: Preference, judge: Judge = JUDGE, gold: bool = True, **facts: Any
) -> Record:
    """A pair of a task in which A did it, judged in both orders."""
    name = f"{task}{bucket}{facts}"
    sides = [episode(f"{side}{name}", passed(side == "a"), task=f"t{task}", said=messages("Hi")) for side in "ab"]
    if not gold:
        sides = [episode(f"{side}{name}", task=f"t{task}") for side in "ab"]
    said_so = [verdict(said, "AB", judge=judge), verdict(said, "BA", judge=judge)]
    record = pair(f"p{name}", sides[0], sides[1], *said_so, ability_bucket=bucket)
    assert record.task is not None
    return record.model_copy(update={"task": record.task.model_copy(update=facts)})


def planted(tasks: int, near_wrong: int, far_wrong: int, **facts: Any) -> Iterator[Record]:
    """Two pairs a task; of the first tasks so many are judged wrongly, near and far."""
    for task in range(tasks):
        yield judged(task, "near", "B" if task < near_wrong else "A", **facts)
        yield judged(task, "wide", "B" if task < far_wrong else "A", **facts)


@pytest.mark.parametrize("seed", range(4))
def test_near_and_farther_pairs_are_those_of_the_buckets(deps: Deps, seed: int) -> None:
    records = sliced(seed)
    stored(deps.store, records)
    whole = summary(deps.store, "gaps", "buckets", judge="judge")
    assert whole.gaps is not None and whole.buckets is not None
    expected = near_and_far(records)
    assert {row.gap for row in whole.gaps.rows} | whole.gaps.why.keys() == {"ability", "reward", "judge_score"}
    for row in whole.gaps.rows:
        sums = joint_sums(expected[row.gap])
        assert (row.near, row.far) == (clustered_rate(sums.first), clustered_rate(sums.second))
        near = next(one for one in whole.buckets if (one.gap, one.bucket) == (row.gap, "near"))
        assert row.near == Rate(**near.misselection.model_dump(include=set(Rate.model_fields)))
        assert (row.near_pairs, row.near_range) == (near.decidable, near.range)
        farther = [one.decidable for one in whole.buckets if one.gap == row.gap and one.bucket in row.far_buckets]
        assert row.far_pairs == sum(farther)
        tails = score_p(sums)
        p = None if tails is None else max(tails.more, task_permutation(expected[row.gap]).p)
        assert row.difference == difference(sums, p)
        assert (row.tasks, row.tasks_with_both) == (sums.clusters, sums.cross.both)
        assert row.smallest_seen == (None if row.near_is_worse else smallest_difference(sums, sides=1))


def test_a_judge_that_is_worse_on_near_pairs_is_shown_to_be(deps: Deps) -> None:
    stored(deps.store, planted(20, 12, 1))
    (row,) = gaps_of(deps.store).rows
    assert (row.near.k, row.near.n, row.far.k, row.far.n) == (24, 40, 2, 40)
    assert row.near_is_worse and row.smallest_seen is None and row.test == "permuted"
    assert row.difference.p is not None and row.difference.p < 0.01
    assert row.difference.low is not None and row.difference.low > 0
    assert row.notes == (DECLARED,)


def test_where_near_is_not_worse_it_is_said_what_to_check_and_what_would_have_shown(deps: Deps) -> None:
    stored(deps.store, planted(12, 2, 3))
    found = gaps_of(deps.store)
    (row,) = found.rows
    assert not row.near_is_worse and row.difference.value is not None and row.difference.value < 0
    assert row.smallest_seen is not None and row.smallest_seen > 0.2
    declared, easy, coarse, names = row.notes
    assert (declared, names) == (DECLARED, NAMES_SEEN)
    assert "10 of 48 calls are wrong, and in 0 of 24 pairs of known gold both sides did equally well" in easy
    assert "fewer than three values" in coarse
    assert found.why == {"reward": MISSING["reward"], "judge_score": MISSING["judge_score"]}


def test_with_very_many_tasks_the_score_test_stands_alone(deps: Deps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misjudge_tools.summary.deciding.gaps.MOST_MOVED", 5)
    stored(deps.store, planted(6, 3, 1))
    (row,) = gaps_of(deps.store).rows
    sums = joint_sums(near_and_far([*planted(6, 3, 1)])["ability"])
    tails = score_p(sums)
    assert tails is not None
    assert (row.test, row.difference.p) == ("score", tails.more)


def test_a_gap_of_the_judges_own_scores_is_circular(deps: Deps) -> None:
    stored(deps.store, sliced(2))
    circular = {row.gap: row for row in gaps_of(deps.store, "judge").rows}["judge_score"]
    assert circular.circular and circular.notes[0] == CIRCULAR
    assert circular.far_buckets == ("small", "medium", "wide")
    assert not any("rewards" in note for note in circular.notes)


def test_pairs_of_one_task_have_a_difference_and_no_test(deps: Deps) -> None:
    stored(deps.store, [judged(1, "near", "B"), judged(1, "wide", "A")])
    (row,) = gaps_of(deps.store).rows
    assert row.difference.value == 1 and row.difference.low is None and row.difference.p is None
    assert row.why == ONE_TASK and row.test is None and not row.near_is_worse and row.smallest_seen is None


def test_without_a_gap_it_is_said_what_to_collect(deps: Deps) -> None:
    stored(deps.store, [judged(n, None, "A") for n in range(3)] + [judged(9, "near", "B")])
    found = summary(deps.store, "gaps")
    assert found.gaps is None and found.why["gaps"] == NO_GAP.why


def test_each_judge_has_its_own_gaps(deps: Deps) -> None:
    records = [*planted(8, 6, 0)]
    mine = [one.model_copy(update={"verdicts": (*one.verdicts, verdict("A", "AB", judge=OTHER))}) for one in records]
    stored(deps.store, mine)
    (worse,), (right,) = gaps_of(deps.store, "judge").rows, gaps_of(deps.store, "other").rows
    assert (worse.near.k, worse.near.n) == (12, 16)
    assert (right.near.k, right.near.n, right.difference.value) == (0, 8, 0)


@pytest.mark.parametrize("seed", range(4))
def test_slices_are_counted_by_hand(deps: Deps, seed: int) -> None:
    records = sliced(seed, tasks=12, models=seed % 2 == 0)
    stored(deps.store, records)
    found = slices_of(deps.store, "judge")
    expected = slices(records)
    several = {dimension for dimension, _ in expected if sum(key[0] == dimension for key in expected) > 1}
    assert {(row.dimension, row.value) for row in found.rows} == {key for key in expected if key[0] in several}
    for row in found.rows:
        counted = expected[row.dimension, row.value]
        sums = joint_sums(counted.tasks)
        assert (row.n, row.decidable) == (counted.pairs, counted.decidable)
        assert row.misselection == clustered_rate(sums.first)
        tails = score_p(sums) if min(sums.first.clusters, sums.second.clusters) >= 5 else None
        assert row.difference.p == (None if tails is None else tails.unequal)
        assert (row.why is None) is (row.difference.p is not None)
        assert row.difference.model_copy(update={"p_adjusted": None}) == difference(sums, row.difference.p)
    tested = [row for row in found.rows if row.difference.p is not None]
    adjusted = false_discovery_control([row.difference.p for row in tested])
    assert found.tests == len(tested) >= 3
    assert [row.difference.p_adjusted for row in tested] == pytest.approx(list(adjusted))
    assert [row.stands_out for row in tested] == [bool(p <= 0.05) for p in adjusted]
    order = ["category", "turns", "models", "agents", "language", "subset"]
    assert [row.dimension for row in found.rows] == sorted((row.dimension for row in found.rows), key=order.index)
    bands = [row.value for row in found.rows if row.dimension == "turns"]
    assert bands == [band for band in ("up to 2", "3-5", "6-10", "above 10") if band in bands]


def test_a_category_in_which_the_judge_is_wrong_stands_out(deps: Deps) -> None:
    records = [judged(n, None, "B" if n % 3 == 0 else "A", category=f"c{n % 3}") for n in range(45)]
    stored(deps.store, records)
    found = slices_of(deps.store)
    assert {row.value: row.stands_out for row in found.rows if row.dimension == "category"} == {
        "c0": True,
        "c1": True,
        "c2": True,
    }
    worst = max(found.rows, key=lambda row: row.difference.value or 0)
    assert worst.value == "c0" and worst.misselection.rate == 1
    assert "language" in found.why and "subset" in found.why


def test_a_slice_of_few_tasks_has_an_interval_and_no_test(deps: Deps) -> None:
    records = [judged(n, None, "A" if n % 2 else "B", category="few" if n < 4 else "rest") for n in range(12)]
    stored(deps.store, records)
    for row in slices_of(deps.store).rows:
        if row.dimension == "category":
            assert row.difference.p is None and row.why == FEW_TASKS and not row.stands_out
            assert row.difference.low is not None


def test_only_the_largest_values_are_rows_and_the_others_are_counted(deps: Deps) -> None:
    stored(deps.store, [judged(n, None, "A", category=f"c{n // 2}") for n in range(30)])
    found = slices_of(deps.store)
    assert sum(row.dimension == "category" for row in found.rows) == 12
    assert found.left_out["category"].model_dump() == {"values": 3, "pairs": 6}


def test_where_nothing_tells_pairs_apart_there_are_no_slices(deps: Deps) -> None:
    sides = [episode(side, passed(side == "a"), task="t") for side in "ab"]
    stored(deps.store, [pair("p", sides[0], sides[1], verdict("A", "AB"))])
    found = summary(deps.store, "slices")
    assert found.slices is None and found.why["slices"] == NO_SLICES.why


def test_sections_of_a_judge_of_no_pairs_say_so(deps: Deps) -> None:
    stored(deps.store, [lone(episode("x", passed(True), satisfaction=[satisfied(0.9)]))])
    found = summary(deps.store, "gaps", "slices", "power")
    assert found.why.keys() == {"gaps", "slices", "power"}


def test_power_says_how_many_pairs_of_this_design_it_takes(deps: Deps) -> None:
    # Both orders of a pair, and both pairs of a task, are always right or wrong together: a task counts once.
    records = [judged(n, bucket, "B" if n < 10 else "A") for n in range(40) for bucket in ("near", "wide")]
    stored(deps.store, [*records, *(judged(n, None, "A", gold=False) for n in range(20))])
    found = power_of(deps.store)
    assert (found.misselection.k, found.misselection.n, found.tasks) == (40, 160, 40)
    assert (found.pairs, found.decidable) == (100, 80)
    assert found.effective == pytest.approx(39) and found.deff == pytest.approx(160 / 39)
    assert found.half_width == pytest.approx(((found.misselection.high or 0) - (found.misselection.low or 0)) / 2)
    widest, *_, finest = found.needed_for
    assert widest.needed is not None and finest.needed is not None
    # Wald: 1.96² · p(1 − p)/w² independent ones.
    assert finest.needed.tasks == pytest.approx(1.96**2 * 0.1875 / 0.025**2, rel=0.05)
    assert finest.needed.decidable == pytest.approx(2 * finest.needed.tasks, rel=0.05)
    assert finest.needed.more == finest.needed.pairs - 100
    assert found.smallest_passing == 73 and found.shown_under is None
    assert found.shown_over is not None and 0.1 < found.shown_over < 0.25
    assert found.to_show_over is not None and found.to_show_under is None and found.why.keys() == {"to_show_under"}
    (near_far,) = found.near_far
    assert near_far.gap == "ability" and near_far.far_rate == 0.25
    assert near_far.difference is not None


def test_an_audit_without_an_error_says_what_it_takes_to_pass(deps: Deps) -> None:
    stored(deps.store, planted(30, 0, 0))
    found = power_of(deps.store)
    assert found.effective == 30 and found.to_show_under is not None and found.to_show_over is None
    # Student's t makes it a few more than the 73 of Wilson's own bound.
    assert 73 <= found.to_show_under.tasks <= 78
    assert found.why.keys() == {"to_show_over"}


def test_power_of_one_task_or_of_no_gold_cannot_be_told(deps: Deps) -> None:
    stored(deps.store, [judged(1, "near", "B")])
    assert "one task" in summary(deps.store, "power").why["power"]
    stored(deps.store, [judged(1, "near", "B", gold=False)], audit="b")
    found = summarize(SummarizeRequest(audit="b", sections=["power"]), deps.store)
    assert found.power is None and "No scored call is on a decidable pair" in found.why["power"]


def test_a_rate_next_to_the_limit_takes_more_pairs_than_anyone_has(deps: Deps) -> None:
    stored(deps.store, planted(20, 2, 0))
    found = power_of(deps.store)
    assert found.misselection.rate == 0.05
    assert found.to_show_under is None and found.to_show_over is None
    assert found.why.keys() == {"to_show_under", "to_show_over"}


@pytest.mark.parametrize(("wrong", "side"), [(1, "to_show_under"), (3, "to_show_over")])
def test_where_more_pairs_would_be_needed_than_are_counted_it_is_said(
    deps: Deps, monkeypatch: pytest.MonkeyPatch, wrong: int, side: str
) -> None:
    monkeypatch.setattr("misjudge_tools.stats.power.MOST", 100)
    monkeypatch.setattr("misjudge_tools.stats.power._FEW", 3)
    stored(deps.store, planted(20, wrong, 0))
    found = power_of(deps.store)
    assert getattr(found, side) is None and found.why[side].startswith("It would take more than ten million pairs")


def test_graded_rewards_are_a_gap_of_their_own(deps: Deps) -> None:
    records = []
    for n in range(12):
        sides = [
            episode(side, rewarded(reward), task=f"t{n}") for side, reward in (("a", 0.5), ("b", 0.4 - n % 2 * 0.3))
        ]
        records.append(pair(f"p{n}", sides[0], sides[1], verdict("B" if n % 2 == 0 else "A", "AB"), line=n + 1))
    stored(deps.store, records)
    (row,) = gaps_of(deps.store).rows
    assert (row.gap, row.near.k, row.near.n, row.far.k, row.far.n) == ("reward", 6, 6, 0, 6)
    assert row.near_is_worse and row.near_range == "up to 0.2"
    assert row.test == "enumerated" and row.difference.p is not None
