"""Numbers and names as the advice on rubrics writes them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from misjudge_tools.stats.rates import Rate

MADE_UP = " (SIMULATED)"


def named(label: str, simulated: Collection[str]) -> str:
    """The name of a writer, matcher or judge, marked where its part is made up."""
    return f"{label}{MADE_UP if label in simulated else ''}"


def share(rate: Rate) -> str:
    """`12.5 % (3 of 24, 95 % 4–31 %)`."""
    if rate.rate is None:
        return "none known"
    return f"{100 * rate.rate:.1f} % ({rate.k} of {rate.n}, 95 % {interval(rate)})"


def interval(rate: Rate) -> str:
    """`4–31 %`."""
    return f"{100 * (rate.low or 0):.0f}–{100 * (1 if rate.high is None else rate.high):.0f} %"


def counted(number: int, what: str) -> str:
    """`1 sample`, `2 samples`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def points(value: float, low: float | None, high: float | None) -> str:
    """`+31.0 points, 95 % +19.8 to +41.2`."""
    if low is None or high is None:
        return f"{100 * value:+.1f} points"
    return f"{100 * value:+.1f} points, 95 % {100 * low:+.1f} to {100 * high:+.1f}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
