from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
import scipy.special
import scipy.stats

from misjudge_tools.stats.distributions import (
    binomial_upper_tail,
    incomplete_beta,
    normal_quantile,
    student_t_quantile,
)

PROBABILITIES = (0.001, 0.025, 0.3, 0.5, 0.6, 0.9, 0.95, 0.975, 0.995, 0.9999)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_the_normal_quantile_is_scipys(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(scipy.stats.norm.ppf(p), abs=1e-12)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_the_t_quantile_is_scipys_from_1_to_1000_degrees_of_freedom(p: float) -> None:
    degrees = range(1, 1001)
    expected = scipy.stats.t.ppf(p, degrees)
    assert [student_t_quantile(p, df) for df in degrees] == pytest.approx(list(expected), rel=1e-9, abs=1e-9)


def test_the_t_quantile_at_a_million_degrees_of_freedom_is_nearly_normal() -> None:
    assert student_t_quantile(0.975, 1_000_000) == pytest.approx(scipy.stats.t.ppf(0.975, 1_000_000), rel=1e-9)
    assert student_t_quantile(0.975, 1_000_000) == pytest.approx(normal_quantile(0.975), rel=1e-5)


@pytest.mark.parametrize("p", [1e-9, 1 - 1e-9])
def test_the_t_quantile_holds_far_out_in_the_heaviest_tail(p: float) -> None:
    assert student_t_quantile(p, 1) == pytest.approx(scipy.stats.t.ppf(p, 1), rel=1e-7)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1])
def test_a_quantile_outside_0_to_1_is_refused(p: float) -> None:
    with pytest.raises(ValueError):
        student_t_quantile(p, 5)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1.0, 3.0), (20.0, 0.5), (400.0, 300.0)])
def test_the_incomplete_beta_function_is_scipys(a: float, b: float) -> None:
    points = [0.0, 1e-6, 0.1, 0.45, 0.5, 0.57, 0.9, 0.999, 1.0]
    assert [incomplete_beta(x, a, b) for x in points] == pytest.approx(
        list(scipy.special.betainc(a, b, points)), rel=1e-11
    )


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_the_binomial_tail_is_the_sum_of_exact_fractions(n: int) -> None:
    p = Fraction(1, 5)
    for k in range(n + 1):
        exact = sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
        assert binomial_upper_tail(k, n, 0.2) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("k", "n", "p"),
    [
        (12, 31, 0.2),
        (300, 1000, 0.2),
        (2_050, 10_000, 0.2),
        (200_500, 1_000_000, 0.2),
        (199_000, 1_000_000, 0.2),
        (5, 1_000_000, 1e-6),
        (1_000_000, 1_000_000, 0.999_999),
    ],
)
def test_the_binomial_tail_is_scipys_up_to_a_million(k: int, n: int, p: float) -> None:
    assert binomial_upper_tail(k, n, p) == pytest.approx(scipy.stats.binom.sf(k - 1, n, p), rel=1e-8)


def test_the_binomial_tail_at_its_ends() -> None:
    assert binomial_upper_tail(0, 10, 0.2) == 1
    assert binomial_upper_tail(11, 10, 0.2) == 0
    assert binomial_upper_tail(3, 10, 0.0) == 0
    assert binomial_upper_tail(10, 10, 1.0) == 1


@pytest.mark.parametrize(("k", "n"), [(23, 40), (30, 63), (50, 84), (29, 57), (75, 126)])
def test_gauge_table_4_failures_among_the_satisfied_exceed_one_in_five(k: int, n: int) -> None:
    p_value = binomial_upper_tail(k, n, 0.2)
    assert p_value < 1e-6
    assert p_value == pytest.approx(scipy.stats.binomtest(k, n, 0.2, alternative="greater").pvalue, rel=1e-10)


def test_gauge_table_4_simulator_arena_has_p_013() -> None:
    assert round(binomial_upper_tail(12, 31, 0.2), 3) == 0.013
