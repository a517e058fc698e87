"""The trend of a share over time, against statsmodels, scipy and enumeration."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.trends import PeriodTally, centre, trend


def periods(*counts: tuple[float, int, int]) -> list[PeriodTally]:
    return [PeriodTally(*one) for one in counts]


def by_rows(rows: Sequence[tuple[str, float, int]]) -> Effect | None:
    """The trend of (cluster, place, 0 or 1) rows."""
    places = sorted({x for _, x, _ in rows})
    tallies = [
        PeriodTally(x, sum(y for _, at, y in rows if at == x), sum(at == x for _, at, _ in rows)) for x in places
    ]
    middle = centre(tallies)
    clusters = {name for name, _, _ in rows}
    squares = sum(
        sum((x - middle.x) * (y - middle.rate) for name, x, y in rows if name == one) ** 2 for one in clusters
    )
    return trend(tallies, len(clusters), squares)


def test_independent_observations_give_the_cochran_armitage_test() -> None:
    counts = periods((0, 30, 400), (1, 45, 420), (2, 52, 390), (4, 70, 410))
    n = sum(one.n for one in counts)
    found = trend(counts, clusters=n, squares=0)
    table = sm.stats.Table(np.array([[one.n - one.k, one.k] for one in counts]))
    reference = table.test_ordinal_association(row_scores=np.array([one.x for one in counts]))
    assert found is not None and found.p is not None
    # Student's t with 1,619 degrees of freedom in place of the normal distribution, and n in place of n − 1.
    assert found.p == pytest.approx(reference.pvalue, rel=0.06)
    z = stats.norm.isf(reference.pvalue / 2) * (n / (n - 1)) ** 0.5
    assert found.p == pytest.approx(2 * stats.t.sf(z, n - 1), rel=1e-6)


def test_the_change_is_the_slope_of_the_least_squares_line() -> None:
    draw = random.Random(3)
    rows = [(str(n), float(n % 7), int(draw.random() < 0.1 + 0.05 * (n % 7))) for n in range(300)]
    found = by_rows(rows)
    reference = stats.linregress([x for _, x, _ in rows], [y for _, _, y in rows])
    assert found is not None
    assert found.value == pytest.approx(reference.slope)
    assert found.low is not None and found.high is not None and found.p is not None
    assert found.low < reference.slope < found.high
    assert (found.low > 0) == (found.p < 0.05)


def test_the_score_test_of_a_logistic_model_is_the_same_statistic() -> None:
    counts = periods((0, 4, 40), (1, 9, 35), (2, 12, 44))
    x = np.repeat([one.x for one in counts], [one.n for one in counts])
    y = np.concatenate([np.r_[np.ones(one.k), np.zeros(one.n - one.k)] for one in counts])
    null = sm.Logit(y, np.ones_like(x)).fit(disp=False)
    full = sm.Logit(y, sm.add_constant(x))
    start = np.array([null.params[0], 0.0])
    score, information = full.score(start), -full.hessian(start)
    square = score @ np.linalg.inv(information) @ score
    found = trend(counts, clusters=len(y), squares=0)
    assert found is not None
    assert found.p == pytest.approx(2 * stats.t.sf(square**0.5, len(y) - 1), rel=1e-9)


def test_a_cluster_that_repeats_itself_counts_as_one() -> None:
    draw = random.Random(5)
    once = [(f"c{n}", float(n % 4), int(draw.random() < 0.2 + 0.1 * (n % 4))) for n in range(60)]
    alone, repeated = by_rows(once), by_rows([row for row in once for _ in range(5)])
    assert alone is not None and repeated is not None
    assert alone.p is not None and repeated.p is not None
    assert repeated.value == pytest.approx(alone.value)
    assert repeated.p == pytest.approx(alone.p, rel=0.1)
    assert repeated.n == 5 * alone.n


def test_clusters_that_alternate_do_not_make_the_interval_narrower() -> None:
    rows = [(f"c{n}", float(x), y) for n in range(20) for x, y in product((0, 1), (0, 1))]
    found = by_rows(rows)
    counts = periods((0, 20, 40), (1, 20, 40))
    assert found == trend(counts, clusters=20, squares=0)


@pytest.mark.parametrize(
    ("counts", "clusters"),
    [
        (periods(), 0),
        (periods((0, 3, 9)), 9),
        (periods((0, 3, 9), (1, 0, 0)), 9),
        (periods((0, 3, 9), (1, 4, 9)), 1),
        (periods((0, 0, 9), (1, 0, 9)), 18),
        (periods((0, 9, 9), (1, 9, 9)), 18),
    ],
)
def test_nothing_is_said_of_one_period_one_cluster_or_what_never_differs(
    counts: list[PeriodTally], clusters: int
) -> None:
    assert trend(counts, clusters, squares=0) is None


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=6), st.integers(-50, 50))
def test_moving_the_time_axis_changes_nothing(counts: list[tuple[int, int]], by: int) -> None:
    tallies = [PeriodTally(float(x), k, k + rest) for x, (k, rest) in enumerate(counts)]
    n = sum(one.n for one in tallies)
    found, moved = (
        trend(given_, clusters=n, squares=0) for given_ in (tallies, [one._replace(x=one.x + by) for one in tallies])
    )
    assert (found is None) == (moved is None)
    if found is not None and moved is not None:
        assert moved.model_dump() == {name: pytest.approx(value) for name, value in found.model_dump().items()}
