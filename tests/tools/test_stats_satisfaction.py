from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Scale
from misjudge_tools.stats.rates import NoData, plain_rate
from misjudge_tools.stats.satisfaction import SatisfactionGap, ScoreOutcomes, satisfaction_gap

UNIT = Scale(low=0, high=1, threshold=0.8)
SEVEN = Scale(low=1, high=7, threshold=5)

ROWS = [
    ScoreOutcomes(2, failed=5, succeeded=1),
    ScoreOutcomes(4, failed=2, succeeded=2),
    ScoreOutcomes(5, failed=3, succeeded=4),
    ScoreOutcomes(7, failed=1, succeeded=6),
]

rows_of_outcomes = st.lists(
    st.builds(ScoreOutcomes, st.integers(1, 7), st.integers(0, 6), st.integers(0, 6)),
    min_size=1,
    max_size=7,
    unique_by=lambda row: row.score,
)


def gap(rows: list[ScoreOutcomes], scale: Scale, ceiling: float = 0.2) -> SatisfactionGap:
    result = satisfaction_gap(rows, scale, ceiling)
    assert isinstance(result, SatisfactionGap)
    return result


def expanded(rows: list[ScoreOutcomes]) -> tuple[list[float], list[int]]:
    scores = [row.score for row in rows for _ in range(row.failed + row.succeeded)]
    successes = [outcome for row in rows for outcome in [0] * row.failed + [1] * row.succeeded]
    return scores, successes


def test_the_two_by_two_table_and_what_follows() -> None:
    result = gap(ROWS, SEVEN)
    assert (result.satisfied, result.satisfied_failed, result.satisfied_succeeded) == (14, 4, 10)
    assert (result.unsatisfied_failed, result.unsatisfied_succeeded) == (7, 3)
    assert result.p_fail_given_satisfied == plain_rate(4, 14)
    assert result.base_fail == plain_rate(11, 24)
    assert result.satisfied_failed_share_of_all == pytest.approx(4 / 24)
    assert result.relative_risk == pytest.approx((4 / 14) / (11 / 24))
    assert result.risk_ratio_unsatisfied == pytest.approx((4 / 14) / (7 / 10))
    assert result.success_rate == pytest.approx(13 / 24)
    assert result.mean_satisfaction == pytest.approx(112 / 24)
    assert (result.n, result.threshold, result.ceiling) == (24, 5, 0.2)


def test_the_p_value_is_scipys_one_sided_binomial_test_against_the_ceiling() -> None:
    for ceiling in (0.05, 0.2, 0.5):
        expected = scipy.stats.binomtest(4, 14, ceiling, alternative="greater").pvalue
        assert gap(ROWS, SEVEN, ceiling).p_value == pytest.approx(expected, rel=1e-10)


def test_the_simulator_arena_counts_give_its_published_numbers() -> None:
    result = gap([ScoreOutcomes(1, 9, 10), ScoreOutcomes(9, 12, 19)], Scale(threshold=8))
    assert result.p_fail_given_satisfied is not None and result.p_fail_given_satisfied.rate is not None
    assert round(result.p_fail_given_satisfied.rate, 3) == 0.387
    assert result.base_fail.rate == 0.42
    assert result.relative_risk is not None and round(result.relative_risk, 2) == 0.92
    assert result.p_value is not None and round(result.p_value, 4) == 0.0127


@given(rows_of_outcomes)
def test_the_auc_is_scikit_learns(rows: list[ScoreOutcomes]) -> None:
    scores, successes = expanded(rows)
    if 0 < sum(successes) < len(successes):
        assert gap(rows, SEVEN).auc == pytest.approx(sklearn.metrics.roc_auc_score(successes, scores))


@given(rows_of_outcomes)
def test_spearman_is_scipys(rows: list[ScoreOutcomes]) -> None:
    scores, successes = expanded(rows)
    if len(set(scores)) > 1 and len(set(successes)) > 1:
        expected = scipy.stats.spearmanr(scores, successes).statistic
        assert gap(rows, SEVEN).spearman == pytest.approx(expected, abs=1e-12)


@given(rows_of_outcomes)
def test_a_scale_where_lower_is_better_is_the_mirror_image(rows: list[ScoreOutcomes]) -> None:
    mirrored = [row._replace(score=8 - row.score) for row in rows]
    one = satisfaction_gap(rows, SEVEN)
    other = satisfaction_gap(mirrored, Scale(low=1, high=7, threshold=3, better="lower"))
    if isinstance(one, NoData) or isinstance(other, NoData):
        assert one == other
        return
    reworded = {"threshold", "better", "mean_satisfaction"}
    assert other.model_dump(exclude=reworded) == one.model_dump(exclude=reworded)
    assert other.mean_satisfaction == pytest.approx(8 - one.mean_satisfaction)


@given(rows_of_outcomes, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[ScoreOutcomes], random: np.random.RandomState) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert satisfaction_gap(shuffled, UNIT) == satisfaction_gap(rows, UNIT)


@given(rows_of_outcomes, st.integers(1, 7))
def test_the_table_adds_up_at_any_threshold(rows: list[ScoreOutcomes], threshold: int) -> None:
    result = satisfaction_gap(rows, Scale(threshold=threshold))
    if isinstance(result, SatisfactionGap):
        cells = (
            result.satisfied_failed,
            result.satisfied_succeeded,
            result.unsatisfied_failed,
            result.unsatisfied_succeeded,
        )
        assert sum(cell or 0 for cell in cells) == result.n
        assert result.satisfied == (result.satisfied_failed or 0) + (result.satisfied_succeeded or 0)


def test_a_score_on_the_threshold_is_satisfied() -> None:
    assert gap([ScoreOutcomes(0.8, 1, 0), ScoreOutcomes(0.79, 0, 1)], UNIT).satisfied == 1


def test_without_a_threshold_only_what_needs_none_is_said() -> None:
    result = gap(ROWS, Scale())
    assert result.auc == gap(ROWS, SEVEN).auc
    assert (result.satisfied, result.p_value, result.p_fail_given_satisfied, result.ceiling) == (None,) * 4


def test_with_nobody_satisfied_there_is_no_risk_and_no_test() -> None:
    result = gap([ScoreOutcomes(0.1, 3, 4)], UNIT)
    assert result.satisfied == 0
    assert result.p_fail_given_satisfied == plain_rate(0, 0)
    assert result.satisfied_failed_share_of_all == 0
    assert (result.relative_risk, result.risk_ratio_unsatisfied, result.p_value) == (None, None, None)


def test_with_everybody_satisfied_there_is_no_risk_to_compare_with() -> None:
    result = gap([ScoreOutcomes(0.9, 3, 4)], UNIT)
    assert result.relative_risk == 1
    assert result.risk_ratio_unsatisfied is None


def test_without_failures_the_ratios_and_the_auc_are_none() -> None:
    result = gap([ScoreOutcomes(0.9, 0, 4), ScoreOutcomes(0.1, 0, 2)], UNIT)
    assert (result.relative_risk, result.auc, result.spearman) == (None, None, None)
    assert result.p_value == 1


def test_an_audit_without_outcomes_says_why_there_is_nothing() -> None:
    for rows in ([], [ScoreOutcomes(0.5, 0, 0)]):
        result = satisfaction_gap(rows, UNIT)
        assert isinstance(result, NoData)
        assert "outcome" in result.why


def test_a_ceiling_that_is_no_share_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        satisfaction_gap(ROWS, UNIT, ceiling=20)
