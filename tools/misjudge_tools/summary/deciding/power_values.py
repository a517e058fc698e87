"""What an audit of this size can show, and how many pairs a wished precision takes."""

from __future__ import annotations

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.stats.rates import Count, Rate, Share


class Needed(Value):
    """The size of an audit of this design: decidable pairs, all pairs, tasks; `more` are pairs beyond those here."""

    decidable: Count
    pairs: Count
    tasks: Count
    more: Count


class Precision(Value):
    """What it takes for an interval that reaches `half_width` to either side; None: beyond ten million."""

    half_width: float
    needed: Needed | None


class Detectable(Value):
    """The smallest difference near minus farther by a gap that 80 % of audits like this would show, `far_rate` being as
    it is, at 5 % two-sided; None where they would show none.
    """

    gap: str
    far_rate: Share
    difference: float | None


class PowerSection(Value):
    """What an audit of this size says of single-call misselection, its `rate` being what it is.

    Its `n` calls of `decidable` of the `pairs` say as much as `effective` independent ones would: `deff` is how many
    calls make one. `half_width` is that of the present interval. `needed_for` says what a wished one takes.
    Of audits like this, 80 % would show a judge to be under `limit` whose true rate is at most `shown_under`, and over
    it from `shown_over` on; None: none. `to_show_under` (of a rate below the limit) and `to_show_over` (of one above)
    are what it takes that 80 % do so of the present rate. `smallest_passing` independent calls, all right, are the
    fewest whose Wilson bound is within the limit. `near_far` says which difference between near and farther pairs would
    show.
    """

    misselection: Rate
    half_width: float
    tasks: Count
    pairs: Count
    decidable: Count
    effective: float
    deff: float
    needed_for: tuple[Precision, ...]
    limit: Share
    smallest_passing: Count
    shown_under: Share | None
    shown_over: Share | None
    to_show_under: Needed | None
    to_show_over: Needed | None
    near_far: tuple[Detectable, ...] = ()
    why: dict[str, str] = Field(default_factory=dict)
