"""Many questions asked of the same data: some answers look real by chance alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given; taking those up to q as real keeps the false ones among them at q.

    Benjamini and Hochberg, JRSS B 57, 1995: of m values, the i-th smallest times m/i, and no more than any larger
    one's. Valid for independent tests and for those that share data in one direction, as probes share their baselines.
    """
    m = len(p_values)
    adjusted = [1.0] * m
    least = 1.0
    for rank, place in reversed(list(enumerate(sorted(range(m), key=p_values.__getitem__), start=1))):
        least = min(least, p_values[place] * m / rank)
        adjusted[place] = least
    return adjusted


def adjusted(p_values: Iterable[float | None]) -> Mapping[float, float]:
    """Each p-value → its adjusted one; those of None do not count.

    Equal p-values are adjusted to equal ones, so a value stands for itself.
    """
    known = [p for p in p_values if p is not None]
    return dict(zip(known, benjamini_hochberg(known), strict=True))
