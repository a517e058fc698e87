"""What changed since a baseline audit, and where satisfaction, success and people disagree over time, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, estimate, p_value, points, short
from misjudge_server.side_by_side import Row, side_by_side
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.probes import Effect
from misjudge_tools.summary.deciding.drift_values import Change, DriftSection
from misjudge_tools.summary.deciding.three_way_values import Disagreements, ThreeWaySection

MOST_CHANGES = 20
MOST_MOVES = 8
MOST_PERIODS = 15
DISAGREEMENTS: Mapping[str, str] = {
    "satisfied_failed": "satisfied, but failed",
    "unsatisfied_succeeded": "not satisfied, but did it",
    "satisfaction_against_success": "satisfaction against success",
    "success_against_human": "success against people",
    "satisfaction_against_human": "satisfaction against people",
    "any_disagreement": "any two of them",
    "any_of_three": "any two, where all three are known",
}
IN_TABLE: Mapping[str, str] = {
    "satisfaction_against_success": "satisfaction/success",
    "success_against_human": "success/people",
    "satisfaction_against_human": "satisfaction/people",
    "any_disagreement": "any two",
}
TIMES: Mapping[str, str] = {
    "occurred_at": "as their source says",
    "created_at": "when they were stored: no source says when they took place",
}


class _Line(NamedTuple):
    label: str
    value: str


def print_drift(found: DriftSection) -> None:
    """The judge then and now, what changed, and what of it the judge did."""
    here = "" if found.baseline_judge == found.judge else f" (there {found.baseline_judge})"
    console.print(_lines(f"{found.judge} since the baseline {found.baseline}{here}", _drift_lines(found)))
    if found.changed:
        console.print(_changes(found))
    elif found.fingerprint == found.baseline_fingerprint:
        console.print(Text("The judge has the same fingerprint as before.", "dim"))
    _print_reasons(found.why)


def print_three_way(found: ThreeWaySection) -> None:
    """The disagreements of all sessions, their trends, and the latest periods."""
    title = f"Satisfaction{f' ({found.judge})' if found.judge else ''}, success and people"
    console.print(_lines(f"{title}: {found.total.sessions} sessions", _three_way_lines(found)))
    shown = found.periods[-MOST_PERIODS:]
    named = {name: words for name, words in IN_TABLE.items() if getattr(found.total, name).n}
    rows = [Row(one.starts, [str(one.sessions), *(short(getattr(one, name)) for name in named)]) for one in shown]
    console.print(side_by_side(f"By {found.by}", ["sessions", *named.values()], rows, first=f"{found.by} of"))
    left_out = found.periods_left_out + len(found.periods) - len(shown)
    if left_out:
        console.print(Text(f"and {left_out} earlier ones; --json has the latest {len(found.periods)}", "dim"))
    _print_reasons(found.why)


def _lines(title: str, lines: Iterator[_Line]) -> Table:
    table = Table(title=Text(title), title_justify="left", show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def _print_reasons(why: Mapping[str, str]) -> None:
    """Each reason once, with the names of all that are missing for it."""
    for reason in dict.fromkeys(why.values()):
        names = ", ".join(name for name, one in why.items() if one == reason)
        console.print(Text(f"{names}: {reason}", "dim"))


def _drift_lines(found: DriftSection) -> Iterator[_Line]:
    pairs = found.pairs
    only = f"{pairs.only_here} only here, {pairs.only_baseline} only there"
    ambiguous = pairs.ambiguous_here + pairs.ambiguous_baseline
    left_out = f", {ambiguous} that could not be told apart" if ambiguous else ""
    yield _Line("pairs of both", f"{pairs.shared}; {only}{left_out}")
    if found.right is not None and found.baseline_right is not None:
        yield _Line("right there", estimate(found.baseline_right))
        yield _Line("right here", estimate(found.right))
    if found.difference is not None:
        yield _Line("difference", _difference(found.difference))
    if found.single_call is not None:
        yield _Line("difference, per call", _points(found.single_call))
    yield _Line("another verdict", estimate(found.moved))
    if found.anchors_moved is not None:
        yield _Line("on unchanged transcripts", estimate(found.anchors_moved))
    if moved := sorted((one for one in found.moves if one.before != one.now), key=lambda one: -one.pairs):
        more = f", and {len(moved) - MOST_MOVES} other ways" if len(moved) > MOST_MOVES else ""
        yield _Line("moved", f"{', '.join(f'{m.before} → {m.now} {m.pairs}' for m in moved[:MOST_MOVES])}{more}")
    if found.anchors is not None:
        yield _Line("difference on anchors", _difference(found.anchors))
    if found.parts is not None:
        yield _Line("of the difference: the judge", _points(found.parts.judge))
        yield _Line("of the difference: the rest", _points(found.parts.rest))
    tasks = found.tasks
    if tasks.changed or tasks.only_here or tasks.only_baseline:
        of_one = f"{tasks.only_here} only here, {tasks.only_baseline} only there"
        yield _Line("tasks", f"{tasks.shared} of both, {tasks.changed} of them changed; {of_one}")


def _difference(found: PairedDifference) -> str:
    effect = Effect(value=found.difference, low=found.low, high=found.high, n=found.n)
    test = "" if found.mcnemar_p is None else f", McNemar p {p_value(found.mcnemar_p)}"
    power = "" if found.smallest_seen is None else f"; from {100 * found.smallest_seen:.0f} points on it would show"
    return f"{_points(effect)}: {found.only_first} only here, {found.only_second} only there{test}{power}"


def _points(effect: Effect) -> str:
    return f"{points(effect)} of {effect.n}"


def _changes(found: DriftSection) -> Table:
    table = Table(title="What changed", title_justify="left")
    for heading in ("of", "what", "there", "here"):
        table.add_column(heading, overflow="fold")
    for one in found.changed[:MOST_CHANGES]:
        table.add_row(*map(Text, (_whose(one), one.what, one.before or "–", one.after or "–")))
    if len(found.changed) > MOST_CHANGES:
        table.caption = f"and {len(found.changed) - MOST_CHANGES} more: --json has all"
    return table


def _whose(change: Change) -> str:
    return change.side if change.who is None else f"{change.side}: {change.who}"


def _three_way_lines(found: ThreeWaySection) -> Iterator[_Line]:
    total = found.total
    yield _Line(
        "known of",
        f"satisfaction {total.satisfaction_known}, success {total.success_known}, people {total.human_known}, "
        f"all three {total.all_three_known}",
    )
    mixed = f"{found.undated} of {total.sessions} when they were stored, since no source says more"
    yield _Line("time", TIMES.get(found.time_from, mixed))
    if found.since is not None:
        yield _Line("since", found.since)
    for name, words in DISAGREEMENTS.items():
        if _rate_is_known(total, name):
            yield _Line(words, estimate(getattr(total, name)))
    for name, effect in found.trends.items():
        p = "" if effect.p_adjusted is None else f", p adj. {p_value(effect.p_adjusted)}"
        yield _Line(f"change a {found.by}: {DISAGREEMENTS[name]}", f"{_points(effect)}{p}")


def _rate_is_known(total: Disagreements, name: str) -> bool:
    return bool(getattr(total, name).n)
