"""The section `three_way`: satisfaction, success and human labels over time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal

from sqlalchemy import Connection

from misjudge_storage.errors import InvalidInput
from misjudge_storage.summary_values import JudgeFacts
from misjudge_storage.three_way_counts import (
    KNOWN,
    MEASURES,
    SessionCounts,
    Step,
    has_human_outcomes,
    hold_sessions,
    period_counts,
    total_counts,
    trend_sums,
)
from misjudge_tools.stats.multiplicity import adjusted
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.stats.trends import PeriodTally, centre, trend
from misjudge_tools.summary.deciding.three_way_values import Disagreements, Period, ThreeWaySection
from misjudge_tools.summary.judged import SATISFACTION_FORMS, Judged

MOST_PERIODS = 60
TRENDS = (*("satisfaction_against_success", "success_against_human", "satisfaction_against_human", "any_disagreement"),)
NOT_SCORED = NoData(why="This judge scored no session. See the judges that did, or judge with form=satisfaction.")
NO_SESSION = "No session is stored. Import sessions, or run agents on a suite."
NOTHING_TO_COMPARE = (
    "Two of the three must be known of the same sessions: a satisfaction score with a threshold, success, and what a "
    "person says of it. Import a table with --per-response, a score with --scale, and columns success, human and time."
)
NO_THRESHOLD = (
    "Satisfaction is not known: no threshold of its scores is stated. Import them with --scale LOW-HIGH:THRESHOLD."
)
MISSING: Mapping[str, str] = {
    "satisfaction": "No session has a satisfaction score. Judge with form=satisfaction, or import scores.",
    "success": "Of no session do checks say whether it did its task. Import success, or run agents on a suite.",
    "human": "Of no session does a person say whether it did its task. Import labels of some (role human).",
}


def three_way_section(of: Judged) -> ThreeWaySection | NoData:
    """Where the three disagree, by period. Raises InvalidInput for a date that is none."""
    since = _day(of.counts.question.since)
    judge = _satisfaction_judge(of)
    if judge is None and of.beside:
        return NOT_SCORED
    connection, question = of.counts.connection, of.counts.question
    if judge is None and not has_human_outcomes(connection, of.counts.audit_id):
        return NoData(why=NOTHING_TO_COMPARE)
    hold_sessions(connection, of.counts.audit_id, judge and judge.judge_id, question.by, since)
    total = total_counts(connection)
    if not total.sessions:
        return NoData(why=f"No session took place from {since} on. Name an earlier date." if since else NO_SESSION)
    if not total.measures["any_disagreement"].n:
        return NoData(why=NO_THRESHOLD if _lacks_threshold(judge, total) else NOTHING_TO_COMPARE)
    return _section(connection, question.by, since, judge, total)


def _section(
    connection: Connection, by: Step, since: str | None, judge: JudgeFacts | None, total: SessionCounts
) -> ThreeWaySection:
    periods = period_counts(connection)
    missing = {name: sentence for name, sentence in MISSING.items() if not total.known[name]}
    if _lacks_threshold(judge, total):
        missing["satisfaction"] = NO_THRESHOLD
    return ThreeWaySection(
        judge=judge and judge.label,
        form=judge and judge.form,
        threshold=judge and judge.threshold,
        by=by,
        since=since,
        time_from=_time_from(total),
        undated=total.undated,
        total=_disagreements(total),
        periods=tuple(Period(starts=one.starts, **dict(_disagreements(one))) for one in periods[-MOST_PERIODS:]),
        periods_left_out=max(0, len(periods) - MOST_PERIODS),
        trends=_trends(connection, by, periods),
        why=missing,
    )


def _satisfaction_judge(of: Judged) -> JudgeFacts | None:
    """The form of the judge that is summarised; of an audit the first satisfaction judge that it has."""
    if of.satisfied_by is not None or of.beside:
        return of.satisfied_by
    by_form = [judge for form in SATISFACTION_FORMS for judge in of.counts.judged if judge.form == form]
    return by_form[0] if by_form and of.alone else None


def _lacks_threshold(judge: JudgeFacts | None, total: SessionCounts) -> bool:
    return judge is not None and judge.threshold is None and not total.known["satisfaction"]


def _day(written: str | None) -> str | None:
    if written is None:
        return None
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", written, re.ASCII):
            return date.fromisoformat(written).isoformat()
    except ValueError:
        pass
    raise InvalidInput("since must be a day such as 2025-01-31 (YYYY-MM-DD).")


def _time_from(total: SessionCounts) -> Literal["occurred_at", "created_at", "mixed"]:
    if not total.undated:
        return "occurred_at"
    return "created_at" if total.undated == total.sessions else "mixed"


def _disagreements(counts: SessionCounts) -> Disagreements:
    known: dict[str, Any] = {f"{name}_known": counts.known[name] for name in KNOWN}
    rates: dict[str, Any] = {name: clustered_rate(ClusterSums(*counts.measures[name])) for name in MEASURES}
    return Disagreements(sessions=counts.sessions, **known, **rates)


def _trends(connection: Connection, by: Step, periods: Sequence[SessionCounts]) -> dict[str, Effect]:
    found = dict(_each_trend(connection, places_of([one.starts for one in periods], by), periods))
    among_all = adjusted(effect.p for effect in found.values())
    return {
        name: effect.model_copy(update={"p_adjusted": among_all[effect.p]})
        for name, effect in found.items()
        if effect.p is not None
    }


def _each_trend(
    connection: Connection, places: Mapping[str, float], periods: Sequence[SessionCounts]
) -> Iterator[tuple[str, Effect]]:
    for name in TRENDS:
        tallies = [PeriodTally(places[one.starts], one.measures[name].k, one.measures[name].n) for one in periods]
        if not any(tally.n for tally in tallies):
            continue
        middle = centre(tallies)
        sums = trend_sums(connection, name, places, middle.x, middle.rate)
        effect = trend(tallies, sums.clusters, sums.uu)
        if effect is not None:
            yield name, effect


def places_of(starts: Sequence[str], by: Step) -> dict[str, float]:
    """Period by its first day → its number on the time axis, from the first one on; those between count too."""
    days = {one: date.fromisoformat(one) for one in starts}
    first = min(days.values(), default=date.min)
    if by == "month":
        return {one: float(12 * (day.year - first.year) + day.month - first.month) for one, day in days.items()}
    return {one: (day - first).days / (7 if by == "week" else 1) for one, day in days.items()}
