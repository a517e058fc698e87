"""The variance of a number that is made of sums over clusters, by Taylor linearisation."""

from __future__ import annotations

from collections.abc import Sequence


def between_clusters(clusters: int, slopes: Sequence[float], products: Sequence[float]) -> float:
    """G/(G − 1) · Σ_i (Σ_j f_j·x_ij)² over G ≥ 2 clusters i: how much a number f of the sums of counts x_j varies.

    `slopes` are its derivatives f_j by these sums, `products` are Σ_i x_ij·x_ik for j ≤ k, row by row. A number that
    does not change when all counts are multiplied is, near its value, Σ_j f_j·x_ij added up over clusters, which comes
    to 0, so no mean is to be taken off (Woodruff, JASA 66, 1971; of a ratio k/n, whose slopes are 1/n and −k/n²,
    Cochran, Sampling Techniques, 3rd ed. 1977, §6.3). Whole slopes and products are added without rounding, as large
    sums of squares cancel: for a ratio, give n and −k and divide by n⁴.
    """
    given = iter(products)
    total: float = 0
    for place, first in enumerate(slopes):
        total += first * first * next(given)
        for second in slopes[place + 1 :]:
            total += 2 * first * second * next(given)
    return max(0, total) * clusters / (clusters - 1)
