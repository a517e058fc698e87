"""Does an audit recover what was planted in its judge, and does it stay silent where nothing was?

    python benchmarks/planted.py [audits]

Audits of counts (`planted_counts`) are drawn with known faults; their true effects are added up from the odds
(`planted_truth`). As many again are drawn of a judge without faults, but for noise. One table is printed; the same
number of audits always gives the same one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

import planted_truth
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.probing.variants import CONTROL, PROBES, ProbeName
from misjudge_tools.stats.distributions import normal_quantile
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate
from planted_counts import PAIRS_PER_TASK, TASKS, Seen, audit

AUDITS, SEED = 2_000, 5
NOISE = 0.1
PLANTED = SimulatedBias(
    position=0.2, obedience=0.5, length=0.3, politeness=0.25, self_preference=0.35, family="qwen", noise=NOISE
)
NULL = SimulatedBias(noise=NOISE)
ASKED: tuple[ProbeName, ...] = ("swapped_order", "padding", "politeness", "injected_user", "injected_tool", CONTROL)
"""The probes of a planted audit; that of a judge without faults is asked all."""


class Measure(NamedTuple):
    """What an audit says `of` a fault; `flags` is whether it holds the fault for real. `alone`: of the judge that has
    no other fault.
    """

    fault: str
    planted: float
    named: str
    truth: float
    of: Callable[[Seen], Effect | Rate | None]
    flags: Callable[[Seen], bool] | None = None
    alone: bool = False


class Recovered(NamedTuple):
    """How well a measure is recovered. `coverage`: the share of audits whose interval holds the truth.

    `spread` is the width that the interval would have, were the standard deviation of the estimates known. `found`:
    the share of planted audits that flag the fault; `false_alarms`: that of audits of a judge without faults.
    """

    measure: Measure
    mean: float
    coverage: float
    width: float
    spread: float
    found: float | None
    false_alarms: float | None


class Report(NamedTuple):
    """All measures, and the share of audits of a judge without faults that flag any probe at all."""

    audits: int
    rows: tuple[Recovered, ...]
    any_false_alarm: float


def measures() -> tuple[Measure, ...]:
    """What is measured of each fault, with its true value."""
    preference, wrong = planted_truth.self_preference(PLANTED), planted_truth.misselection(PLANTED)
    unsteady, by_noise = (planted_truth.instability(bias) for bias in (PLANTED, NULL))
    return (
        *_of_probe("position", PLANTED.position, "swapped_order"),
        *_of_probe("length", PLANTED.length, "padding"),
        *_of_probe("politeness", PLANTED.politeness, "politeness"),
        *_of_probe("obedience", PLANTED.obedience, "injected_user"),
        *_of_probe("obedience", PLANTED.obedience, "injected_tool"),
        Measure(
            "self_preference",
            PLANTED.self_preference,
            "self-preference",
            preference,
            lambda seen: seen.self_preference,
            lambda seen: _is_beyond_nothing(seen.self_preference),
        ),
        Measure("noise", NOISE, "instability, noise alone", by_noise, lambda seen: seen.instability, alone=True),
        Measure("all", 1.0, "instability", unsteady, lambda seen: seen.instability),
        Measure("all", 1.0, "misselection", wrong, lambda seen: seen.misselection),
        *_of_probe("none", 0.0, CONTROL),
    )


def _of_probe(fault: str, planted: float, probe: ProbeName) -> tuple[Measure, Measure]:
    true = planted_truth.moved(PLANTED, probe)

    def flags(seen: Seen) -> bool:
        return seen.rows[probe].fooled

    return (
        Measure(fault, planted, f"{probe}, shift", true.shift, lambda seen: seen.rows[probe].shift, flags),
        Measure(fault, planted, f"{probe}, excess flip", true.excess, lambda seen: seen.rows[probe].excess_flip, flags),
    )


def _is_beyond_nothing(effect: Effect | None) -> bool:
    return (
        effect is not None and effect.low is not None and effect.high is not None and not effect.low <= 0 <= effect.high
    )


def recover(audits: int = AUDITS, seed: int = SEED) -> Report:
    """Draw the audits and compare what they say with what was planted."""
    planted = [audit(PLANTED, ASKED, f"planted {seed} {number}") for number in range(audits)]
    null = [audit(NULL, PROBES, f"null {seed} {number}") for number in range(audits)]
    return Report(
        audits,
        tuple(_recovered(measure, planted, null) for measure in measures()),
        fmean(any(row.fooled for row in seen.rows.values()) for seen in null),
    )


def _recovered(measure: Measure, planted: Sequence[Seen], null: Sequence[Seen]) -> Recovered:
    said = [measure.of(seen) for seen in (null if measure.alone else planted)]
    values = [_value(one) for one in said if one is not None]
    bounds = [(one.low, one.high) for one in said if one is not None and one.low is not None and one.high is not None]
    flags = measure.flags
    return Recovered(
        measure,
        mean=fmean(values),
        coverage=sum(low <= measure.truth <= high for low, high in bounds) / len(said),
        width=fmean(high - low for low, high in bounds),
        spread=2 * normal_quantile(0.975) * pstdev(values),
        found=None if flags is None else fmean(map(flags, planted)),
        false_alarms=None if flags is None else fmean(map(flags, null)),
    )


def _value(said: Effect | Rate) -> float:
    value = said.value if isinstance(said, Effect) else said.rate
    return 0.0 if value is None else value


def table(report: Report) -> str:
    """The report in Markdown."""
    head = (
        "fault",
        "planted",
        "measured",
        "true",
        "mean",
        "coverage",
        "mean width",
        "over spread",
        "found",
        "false alarms",
    )
    lines = [head, ("---",) * len(head), *map(_cells, report.rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(row: Recovered) -> tuple[str, ...]:
    measure = row.measure
    shares = ("–" if share is None else f"{share:.1%}" for share in (row.found, row.false_alarms))
    numbers = (f"{value:.4f}" for value in (measure.truth, row.mean))
    widths = (f"{row.width:.3f}", f"{row.width / row.spread:.2f}")
    return (measure.fault, f"{measure.planted:g}", measure.named, *numbers, f"{row.coverage:.1%}", *widths, *shares)


def main() -> None:
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else AUDITS
    report = recover(audits)
    print(f"{audits} planted audits and {audits} of a judge with noise {NOISE:g} alone, seed {SEED}:")
    print(f"{TASKS} tasks with {PAIRS_PER_TASK} pairs each.\n")
    print(table(report))
    print(f"\nAudits of the judge without faults that flag any of {len(PROBES)} probes: {report.any_false_alarm:.1%}")


if __name__ == "__main__":
    main()
