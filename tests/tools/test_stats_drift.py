"""What of a difference the judge made: against enumeration, and what must not matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from misjudge_tools.stats.drift import Drift, parts
from misjudge_tools.stats.paired import mcnemar
from misjudge_tools.stats.probes import Differences, PairedSums, paired_effect, paired_sums

TASKS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=0, max_size=8)
"""By task: pairs that are right only now, only before, and alike."""


def sums(tasks: list[tuple[int, int, int]]) -> PairedSums:
    return paired_sums(Differences(gained + lost + same, gained - lost, gained + lost) for gained, lost, same in tasks)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_that_of_statsmodels(gained: int, lost: int) -> None:
    expected = reference_mcnemar([[7, lost], [gained, 5]], exact=True).pvalue
    assert mcnemar(gained, lost) == pytest.approx(expected)


@given(TASKS, TASKS)
def test_the_parts_add_up_to_the_difference_over_all_pairs(
    anchors: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> None:
    found = parts(Drift(sums(anchors), sums(others)))
    if not any(map(sum, anchors)):
        assert found is None
        return
    assert found is not None and found.judge.value is not None and found.rest.value is not None
    whole = sums([*anchors, *others])
    assert found.judge.value + found.rest.value == pytest.approx(whole.d / whole.n)
    assert found.judge == paired_effect(sums(anchors))
    assert found.rest.n == whole.n
    if found.rest.low is not None and found.rest.high is not None:
        assert found.rest.low <= found.rest.value + 1e-12 and found.rest.value - 1e-12 <= found.rest.high


def test_where_everything_is_an_anchor_all_of_it_is_the_judge() -> None:
    anchors = sums([(2, 0, 3), (1, 1, 2), (0, 0, 4)])
    found = parts(Drift(anchors, sums([])))
    assert found is not None
    assert found.judge == paired_effect(anchors)
    assert (found.rest.value, found.rest.low, found.rest.high) == (0, 0, 0)


def test_the_interval_of_the_rest_joins_those_of_both() -> None:
    anchors = sums([(1, 0, 4), (0, 1, 3), (2, 0, 2), (0, 0, 5)])
    others = sums([(0, 3, 1), (1, 2, 2), (0, 2, 0)])
    found = parts(Drift(anchors, others))
    a, o = paired_effect(anchors), paired_effect(others)
    assert found is not None
    assert a.value is not None and a.low is not None and a.high is not None
    assert o.value is not None and o.low is not None and o.high is not None
    share = others.n / (anchors.n + others.n)
    low = o.value - a.value - ((o.value - o.low) ** 2 + (a.high - a.value) ** 2) ** 0.5
    high = o.value - a.value + ((o.high - o.value) ** 2 + (a.value - a.low) ** 2) ** 0.5
    assert found.rest.low == pytest.approx(share * low) and found.rest.high == pytest.approx(share * high)


def test_one_task_of_anchors_gives_no_interval_of_the_rest() -> None:
    found = parts(Drift(sums([(1, 0, 4)]), sums([(0, 3, 1), (1, 2, 2)])))
    assert found is not None and found.rest.value is not None
    assert (found.judge.low, found.rest.low, found.rest.high) == (None, None, None)


def test_a_judge_that_moved_is_told_from_agents_that_moved() -> None:
    steady, worse = [(0, 0, 5)] * 30 + [(1, 1, 3)] * 10, [(0, 2, 3)] * 40
    agents, judge = parts(Drift(sums(steady), sums(worse))), parts(Drift(sums(worse), sums(worse)))
    assert agents is not None and judge is not None
    assert agents.judge.low is not None and agents.judge.high is not None and agents.rest.high is not None
    assert agents.judge.low < 0 < agents.judge.high and agents.rest.high < 0
    assert judge.judge.high is not None and judge.rest.low is not None and judge.rest.high is not None
    assert judge.judge.high < 0 and judge.rest.low < 0 < judge.rest.high
