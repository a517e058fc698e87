"""How often the intervals of a summary hold the truth, and how often its tests and gates err. Prints one table.

    python benchmarks/coverage.py [AUDITS]

Intervals of plain counts are enumerated exactly; clustered ones are drawn, AUDITS of each design (2,000 by default),
with a seed: the same number of audits always gives the same table. Tasks have shares from a beta distribution with the
correlation rho within a task.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from misjudge_tools.stats.anytime import TaskShares, leaves_out
from misjudge_tools.stats.correction import CheckedShare, LabelledCells, ppi, rogan_gladen
from misjudge_tools.stats.exact import effective, upper_bound
from misjudge_tools.stats.gaps import JointTally, difference, joint_sums, score_p
from misjudge_tools.stats.probes import Differences, Effect, paired_effect, paired_sums
from misjudge_tools.stats.rates import ClusterSums, Rate, Tally, cluster_sums, clustered_rate, plain_rate

AUDITS = 2_000
SEED = 7
SHARES = np.arange(0.01, 0.5001, 0.0025)
Drawn = NDArray[np.int64]


class Row(NamedTuple):
    """What was tried, on which audits, what came out, and what it should be."""

    what: str
    audits: str
    found: str
    aim: str


def exact_rows() -> Iterator[Row]:
    """Wilson's interval on plain counts, for every p from .01 to .5."""
    for n in (50, 100, 200):
        rates = [plain_rate(k, n) for k in range(n + 1)]
        covered = np.array([_covered(n, p, [(rate.low or 0.0, rate.high or 1.0) for rate in rates]) for p in SHARES])
        least = covered[SHARES >= 0.02].min()
        yield Row("share", f"{n} tasks, enumerated", f"mean {covered.mean():.3f}, least {least:.3f}", ".94–.97, ≥ .90")


def _covered(n: int, p: float, intervals: Sequence[tuple[float, float]]) -> float:
    held = (low <= p <= high for low, high in intervals)
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k, one in enumerate(held) if one)


def drawn(rng: np.random.Generator, share: float, rho: float, audits: int, sizes: Drawn) -> Drawn:
    """Counts by audit and task."""
    strength = (1 - rho) / rho
    shares = rng.beta(share * strength, (1 - share) * strength, (audits, len(sizes)))
    return rng.binomial(sizes, shares)


def clustered_rows(audits: int) -> Iterator[Row]:
    """The interval of a clustered share, and the exact bound at the limit."""
    for share, rho, tasks, size in ((0.1, 0.3, 48, 4), (0.35, 0.3, 24, 4), (0.5, 0.6, 150, 2)):
        sizes = np.full(tasks, size)
        rates = [_rate(row, sizes) for row in drawn(np.random.default_rng(SEED), share, rho, audits, sizes)]
        held = np.mean([(rate.low or 0) <= share <= (rate.high or 1) for rate in rates])
        yield Row("share", f"{tasks} tasks of {size}, p {share}, rho {rho}", f"{held:.3f}", "≥ .93")
    for tasks in (100, 300):
        sizes = np.full(tasks, 2)
        rows = drawn(np.random.default_rng(SEED), 0.05, 0.3, audits, sizes)
        passed = np.mean([upper_bound(*effective(_sums(row, sizes))) <= 0.05 for row in rows])
        yield Row("certified at the limit", f"{tasks} tasks of 2, p .05, rho .3", f"{passed:.3f}", "≤ .05")


def _sums(counts: Drawn, sizes: Drawn) -> ClusterSums:
    return cluster_sums(Tally(int(k), int(n)) for k, n in zip(counts, sizes, strict=True))


def _rate(counts: Drawn, sizes: Drawn) -> Rate:
    return clustered_rate(_sums(counts, sizes))


def difference_rows(audits: int) -> Iterator[Row]:
    """Near minus far over the same tasks, without a difference and with one; and a paired difference."""
    sizes = np.full(48, 3)
    for far in (0.1, 0.3):
        rng = np.random.default_rng(SEED)
        near_counts, far_counts = drawn(rng, 0.3, 0.3, audits, sizes), drawn(rng, far, 0.3, audits, sizes)
        joint = [
            joint_sums(JointTally(int(k1), 3, int(k2), 3) for k1, k2 in zip(one, two, strict=True))
            for one, two in zip(near_counts, far_counts, strict=True)
        ]
        found = [difference(sums) for sums in joint]
        held = np.mean([(one.low or -1) <= 0.3 - far <= (one.high or 1) for one in found])
        where = f"48 tasks of 3 and 3, p .3 and {far}, rho .3"
        yield Row("near − far", where, f"{held:.3f}", "≥ .93")
        if far == 0.3:
            alarms = np.mean([(tails := score_p(sums)) is not None and tails.more <= 0.05 for sums in joint])
            yield Row("near − far, false alarms", where, f"{alarms:.3f}", "≤ .065")
    effects = list(_paired(np.random.default_rng(SEED), audits))
    held = np.mean([(one.low or -1) <= 0.1 <= (one.high or 1) for one in effects])
    yield Row("paired difference", "48 tasks of 3, .1, rho .3", f"{held:.3f}", "≥ .93")


def _paired(rng: np.random.Generator, audits: int) -> Iterator[Effect]:
    """Two judges on 48 tasks of 3 pairs, wrong in .3 and in .2 of them, whose tasks are hard for both alike."""
    hard = rng.beta(0.3 * 7 / 3, 0.7 * 7 / 3, (audits, 48, 1))
    wrong = rng.random((audits, 48, 3)) < hard, rng.random((audits, 48, 3)) < hard * 2 / 3
    differences = wrong[0].astype(int) - wrong[1].astype(int)
    for audit in differences:
        yield paired_effect(paired_sums(Differences(3, float(task.sum()), float(abs(task).sum())) for task in audit))


def correction_rows(audits: int) -> Iterator[Row]:
    """A share by a judge with known errors, corrected by labels of a random sample."""
    rng, theta, q0, q1, n, labels = np.random.default_rng(SEED), 0.3, 0.8, 0.9, 1_000, 200
    held: dict[str, list[bool]] = {"Rogan–Gladen (Lee)": [], "PPI++": []}
    for _ in range(audits):
        m1 = int(rng.binomial(labels, theta))
        yes_yes, yes_no = int(rng.binomial(m1, q1)), int(rng.binomial(labels - m1, 1 - q0))
        yes = int(rng.binomial(n, theta * q1 + (1 - theta) * (1 - q0)))
        share = (yes + yes_yes + yes_no) / (n + labels)
        measured = CheckedShare(share, n + labels, 1 - yes_no / (labels - m1), labels - m1, yes_yes / m1, m1)
        low, high = rogan_gladen(measured)
        held["Rogan–Gladen (Lee)"].append(low <= theta <= high)
        tuned = ppi(LabelledCells(yes_yes, m1 - yes_yes, yes_no, labels - m1 - yes_no, yes, n - yes))
        held["PPI++"].append(abs(tuned.value - theta) <= 1.96 * tuned.variance**0.5)
    for name, found in held.items():
        yield Row(name, "1,000 and 200 labels, q .8 and .9", f"{np.mean(found):.3f}", "≥ .93")


def anytime_rows(audits: int) -> Iterator[Row]:
    """The confidence sequence, looked at after every task: how often it ever leaves the truth out."""
    pool = np.tile([0, 0, 0, 1, 2], 10)[:48]
    designs: dict[str, tuple[float, Callable[[np.random.Generator], Drawn]]] = {
        "200 tasks of 1, p .1": (0.1, lambda rng: drawn(rng, 0.1, 1e-9, 1, np.ones(200, dtype=int))[0]),
        "200 tasks of 3, p .2, rho .3": (0.2, lambda rng: drawn(rng, 0.2, 0.3, 1, np.full(200, 3))[0]),
        "48 tasks of 2, without replacement": (float(pool.mean() / 2), lambda rng: rng.permutation(pool)),
    }
    calls = {"200 tasks of 1, p .1": 1, "200 tasks of 3, p .2, rho .3": 3, "48 tasks of 2, without replacement": 2}
    for name, (truth, draw) in designs.items():
        rng = np.random.default_rng(SEED)
        wrong = np.mean([_ever_leaves_out(draw(rng), calls[name], truth) for _ in range(audits)])
        yield Row("anytime, ever wrong", name, f"{wrong:.3f}", "≤ .05")


def _ever_leaves_out(counts: Drawn, calls: int, truth: float) -> bool:
    seen: dict[int, int] = {}
    for k in counts.tolist():
        seen[k] = seen.get(k, 0) + 1
        if leaves_out([TaskShares(one, calls, times) for one, times in seen.items()], truth):
            return True
    return False


def rows(audits: int) -> Iterator[Row]:
    """The whole table."""
    yield from exact_rows()
    for make in (clustered_rows, difference_rows, correction_rows, anytime_rows):
        yield from make(audits)


def main() -> None:
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else AUDITS
    print(f"{audits:,} audits of each design\n\n| number | audits | held or erred | aim |\n|---|---|---|---|")
    for row in rows(audits):
        print(f"| {row.what} | {row.audits} | {row.found} | {row.aim} |", flush=True)


if __name__ == "__main__":
    main()
