"""Where people read results, and how shares are written for them: with n and interval, never as a bare percentage."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from misjudge_server.terminal import plain
from misjudge_tools.stats.misselection import DecidedRate, Misselection
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate

WIDTH = 118
"""Columns where the output is not a terminal and `COLUMNS` states none."""


class _PlainConsole(Console):
    """Passes its own styles to the terminal, and no control character of what it shows."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


def _columns() -> int:
    """Columns that the environment states, 0 where it states none."""
    stated = os.environ.get("COLUMNS", "")
    return int(stated) if stated.isdecimal() else 0


console = _PlainConsole(highlight=False, markup=False, emoji=False)
if not console.is_terminal and not _columns():
    console.width = WIDTH


def percent(rate: float | None) -> str:
    """A share for people; an unknown one is a dash."""
    return "–" if rate is None else f"{100 * rate:.1f} %"


def estimate(rate: Rate | None, *, anytime: bool = False) -> str:
    """A share with counts and interval: `12.5 % (3 of 24, 95 % 4.3–31.0 %)`; of one that holds whenever a run stops
    `… (over 24, 95 % 2.1–40.3 %, interval: anytime)`. `anytime` says so of a rate that cannot say it itself.
    """
    if rate is None or rate.rate is None:
        return "–"
    # The mean of two orders is not k of n where the orders differ in number.
    counts = f"{rate.k} of {rate.n}" if abs(rate.rate - rate.k / rate.n) < 1e-9 else f"over {rate.n}"
    if rate.low is None or rate.high is None:
        return f"{percent(rate.rate)} ({counts})"
    said = ", interval: anytime" if anytime or is_anytime(rate) else ""
    return f"{percent(rate.rate)} ({counts}, 95 % {100 * rate.low:.1f}–{100 * rate.high:.1f} %{said})"


def is_anytime(rate: Rate | None) -> bool:
    """Whether the interval holds whenever a run stops."""
    return isinstance(rate, Misselection) and rate.interval == "anytime"


def short(rate: Rate | None) -> str:
    """A share for a table: `20.0 % [7–45] of 20`."""
    return "–" if rate is None or rate.rate is None else f"{shorter(rate)} of {rate.n}"


def of_decided(rate: DecidedRate) -> str:
    """As `short`, with the number of pairs that could have been decided: `20.0 % [7–45] of 20/28`."""
    return f"{short(rate)}/{rate.n / rate.coverage:.0f}" if rate.coverage else short(rate)


def shorter(rate: Rate) -> str:
    """A share for a table whose n stands beside it."""
    if rate.rate is None or rate.low is None or rate.high is None:
        return "–"
    return f"{percent(rate.rate)} [{100 * rate.low:.0f}–{100 * rate.high:.0f}]"


def signed(share: float, decimals: int = 1) -> str:
    """A difference of shares in points: `+12.5`; nothing has no sign."""
    points = round(100 * share, decimals)
    return f"{points:+.{decimals}f}" if points else f"{0:.{decimals}f}"


def points(effect: Effect) -> str:
    """A difference of shares: `+5.0 points (95 % -1.2 to +11.0)`."""
    if effect.value is None:
        return "–"
    known = effect.low is not None and effect.high is not None
    interval = f"95 % {signed(effect.low or 0)} to {signed(effect.high or 0)}" if known else "one task: no interval"
    return f"{signed(effect.value)} points ({interval})"


def p_value(p: float | None) -> str:
    """`0.0123`; next to none is `< 0.0001`."""
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def usd(cost: float | None) -> str:
    """Four places, or four digits of what is smaller."""
    return "–" if cost is None else f"{cost:.4f}" if cost == 0 or abs(cost) >= 0.01 else f"{cost:.4g}"
