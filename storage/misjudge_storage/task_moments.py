"""Sums and products over tasks of several counts: what the clustered variance of anything made of the counts needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Moments(NamedTuple):
    """Over tasks i with any observation, of counts x_i: their number, Σx_ij for each j, and Σx_ij·x_ik for j ≤ k, row
    by row.
    """

    clusters: int
    totals: Sequence[float]
    products: Sequence[float]


def moment_columns(names: Sequence[str], seen: str = "1 = 1") -> str:
    """The columns of `Moments` over rows that hold one task's counts by these names each; `seen`: of which rows."""
    sums = [f"SUM({name})" for name in names]
    products = [f"SUM({first} * {second})" for place, first in enumerate(names) for second in names[place:]]
    return ", ".join([f"SUM(CASE WHEN {seen} THEN 1 ELSE 0 END)", *sums, *products])


def cross_columns(first: str, second: str) -> str:
    """The columns of `CrossSums` over rows that hold one task's `k_NAME` of `n_NAME` for each of two names."""
    k1, n1, k2, n2 = f"k_{first}", f"n_{first}", f"k_{second}", f"n_{second}"
    both = f"SUM(CASE WHEN {n1} > 0 AND {n2} > 0 THEN 1 ELSE 0 END)"
    return f"{both}, SUM({k1} * {k2}), SUM({k1} * {n2}), SUM({n1} * {k2}), SUM({n1} * {n2})"


def width(number: int) -> int:
    """How many columns the moments of this number of counts take."""
    return 1 + number + number * (number + 1) // 2


def read_moments(columns: Sequence[Any], number: int) -> Moments:
    """The moments of this number of counts from their columns. Postgres adds whole numbers up to decimal ones."""
    values = [float(column) for column in columns[: width(number)]]
    return Moments(int(values[0]), tuple(values[1 : 1 + number]), tuple(values[1 + number :]))
