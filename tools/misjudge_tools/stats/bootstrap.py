"""Resampling of whole clusters, by how often each is drawn: no row and no agent is copied.

What is resampled are rates over pairs of members (agents). A pair of two members counts as often as the product of how
often their clusters were drawn; copies of one member never form a pair. All resamples are counted at once, each in a
field of its own of one long integer. Seeded: the same members always give the same resamples.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from math import floor, sqrt
from random import Random
from typing import NamedTuple

from misjudge_tools.stats.rates import LEVEL, Interval

RESAMPLES = 2000
FEWEST_RESAMPLES = 200
SEED = 20240229
_AFFORDABLE = 400_000
_FIELD_BYTES = 4

PairRows = Sequence[int]
"""Pairs of members 0, 1, … as bits: bit j of row i, j > i, says that the pair of i and j is among them."""


class Resamples(NamedTuple):
    """How often each member is in each resample: `weights` by member, then by resample.

    `fields` holds the same by member, one resample a field; bit j of a weight as a whole field of ones in `masks[j]`.
    """

    weights: Sequence[Sequence[int]]
    fields: Sequence[int]
    masks: Sequence[Sequence[int]]

    def of(self, resample: int) -> list[int]:
        """The weights of all members in one resample."""
        return [weights[resample] for weights in self.weights]

    def pairs(self, rows: PairRows) -> Sequence[int]:
        """By resample: the number of these pairs in it, the sum of the products of their weights."""
        total = 0
        for row, masks in zip(rows, self.masks, strict=True):
            partners = sum(self.fields[member] for member in _members(row))
            for j, mask in enumerate(masks):
                total += (partners & mask) << j
        return _unpacked(total, len(self.weights[0]))


def affordable(members: int) -> int:
    """How many resamples to take: `RESAMPLES` up to 200 members, fewer of more, so that the work stays bounded."""
    return max(FEWEST_RESAMPLES, min(RESAMPLES, _AFFORDABLE // members))


def resamples(cluster_of: Sequence[int], times: int, seed: int = SEED) -> Resamples:
    """As many clusters as there are, drawn with replacement, `times` times. Members have clusters 0, 1, …, G − 1."""
    draw = Random(seed)
    clusters = range(max(cluster_of) + 1)
    drawn = [[0] * times for _ in clusters]
    for resample in range(times):
        for cluster in draw.choices(clusters, k=len(clusters)):
            drawn[cluster][resample] += 1
    return _packed([drawn[cluster] for cluster in cluster_of])


def as_observed(members: int) -> Resamples:
    """The members themselves, each once, as the only resample."""
    return _packed([[1]] * members)


def _packed(weights: Sequence[Sequence[int]]) -> Resamples:
    ones = (1 << 8 * _FIELD_BYTES) - 1
    fields, masks = [], []
    for numbers in weights:
        packed = _one_integer(numbers)
        fields.append(packed)
        lowest = _one_integer([1] * len(numbers))
        masks.append([(packed >> j & lowest) * ones for j in range(max(numbers).bit_length())])
    return Resamples(weights, fields, masks)


def _one_integer(numbers: Sequence[int]) -> int:
    return int.from_bytes(struct.pack(f"<{len(numbers)}I", *numbers), "little")


def _unpacked(packed: int, fields: int) -> Sequence[int]:
    return struct.unpack(f"<{fields}I", packed.to_bytes(fields * _FIELD_BYTES, "little"))


def _members(row: int) -> Iterator[int]:
    while row:
        yield (row & -row).bit_length() - 1
        row &= row - 1


def sample_variance(values: Sequence[float]) -> float:
    """The unbiased variance; 0 of fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = sum(values) / len(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)


def standard_error_of_mean(n: int, total: float, squares: float) -> float:
    """That of the mean of n ≥ 2 values, from their sum and the sum of their squares."""
    return sqrt(max(0.0, squares - total * total / n) / (n - 1) / n)


def percentile_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """The middle of resampled values, of which there is at least one (Efron, Annals of Statistics 7, 1979)."""
    ordered = sorted(values)
    return Interval(_quantile(ordered, (1 - level) / 2), _quantile(ordered, (1 + level) / 2))


def _quantile(ordered: Sequence[float], p: float) -> float:
    place = p * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
