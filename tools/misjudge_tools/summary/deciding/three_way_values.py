"""Satisfaction, success and human labels over time: where they disagree."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Form, Value
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Count, Rate


class Disagreements(Value):
    """Sessions (trajectories), of how many each of the three is known, and where they say something else.

    Every rate is over the sessions of which both things are known, `any_disagreement` over those of which two or three
    are, `any_of_three` over those of which all three are. An interval counts the sessions of one task as one cluster.
    """

    sessions: Count
    satisfaction_known: Count
    success_known: Count
    human_known: Count
    all_three_known: Count
    satisfied_failed: Rate
    unsatisfied_succeeded: Rate
    satisfaction_against_success: Rate
    success_against_human: Rate
    satisfaction_against_human: Rate
    any_disagreement: Rate
    any_of_three: Rate


class Period(Disagreements):
    """The sessions of one day, week or month. `starts` is its first day (UTC, YYYY-MM-DD); weeks begin on Monday."""

    starts: str


class ThreeWaySection(Value):
    """What a judge's satisfaction, the success (as checks, not people, say) and people say of the same sessions.

    A session is in the period in which it took place: `time_from` is `occurred_at` where its source says when that was,
    else `created_at`, when it was stored; `mixed` where only some do. `undated` counts the sessions that are placed by
    the latter. `periods` are the latest ones with sessions, `periods_left_out` the number of earlier ones; `total` and
    `trends` are of all. A trend is the change of a share from one `by` to the next (see `stats.trends`); `p_adjusted`
    is after Benjamini-Hochberg over all of them. What is missing has its reason in `why`.
    """

    judge: str | None
    form: Form | None
    threshold: float | None
    by: Literal["day", "week", "month"]
    since: str | None
    time_from: Literal["occurred_at", "created_at", "mixed"]
    undated: Count
    total: Disagreements
    periods: tuple[Period, ...]
    periods_left_out: Count
    trends: dict[str, Effect] = Field(default_factory=dict)
    why: dict[str, str] = Field(default_factory=dict)
