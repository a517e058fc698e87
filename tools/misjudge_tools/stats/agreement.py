"""How far two labellers agree beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from misjudge_storage.types import Value
from misjudge_tools.stats.rates import Count, Share


class Labels(NamedTuple):
    """What two labellers said of one item."""

    first: str
    second: str


class Kappa(Value):
    """Cohen's κ over `n` items, with the `observed` agreement and the one `expected` of independent labellers.

    κ is None without items, and where both labellers gave one and the same label throughout.
    """

    kappa: float | None
    n: Count
    observed: Share | None
    expected: Share | None


def cohen_kappa(table: Mapping[Labels, int]) -> Kappa:
    """Cohen's κ of a confusion table (Educational and Psychological Measurement 20, 1960)."""
    n = sum(table.values())
    if n == 0:
        return Kappa(kappa=None, n=0, observed=None, expected=None)
    first, second = Counter[str](), Counter[str]()
    for labels, number in table.items():
        first[labels.first] += number
        second[labels.second] += number
    agreed = sum(number for labels, number in table.items() if labels.first == labels.second)
    chance = sum(first[label] * second[label] for label in first)
    kappa = (n * agreed - chance) / (n * n - chance) if chance < n * n else None
    return Kappa(kappa=kappa, n=n, observed=agreed / n, expected=chance / (n * n))
