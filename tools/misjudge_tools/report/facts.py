"""Everything that a report is made of, read over one connection, so that its numbers and its rows agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from misjudge_storage import report_rows as rows
from misjudge_storage.conflict_rows import PairConflict, conflict_pairs, satisfied_failures
from misjudge_storage.report_calls import Subject, other_calls, replies
from misjudge_storage.report_rows import ReportPair, ReportSession
from misjudge_storage.summary_values import JudgeFacts
from misjudge_tools.exporting.keys import Hide, without_keys
from misjudge_tools.report.document import Document
from misjudge_tools.report.drill_down import Behind, Detail, Kind, detail
from misjudge_tools.report.figures import Figure, figures
from misjudge_tools.report.page_parts import document
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.judged import SATISFACTION_FORMS, entries
from misjudge_tools.summary.values import AuditSummary

MOST_PAIRS: Final = 1_000
"""Rows of the table of pairs."""
MOST_SESSIONS: Final = 300
MOST_DETAILS: Final = 300
MOST_CHARACTERS: Final = 1_700_000
"""What all conflicts together may take on the page."""
MOST_OTHERS: Final = 6
"""Calls behind a conflict that no verdict names."""
MOST_CALLS: Final = 2_000
"""Rows of the guide's table of judged orders."""
KINDS: Final[tuple[PairConflict, ...]] = ("strict", "unsupported", "missed")


class Listed(NamedTuple):
    """Pairs that are shown, conflicts first, of the `total` of the audit."""

    rows: Sequence[ReportPair]
    total: int


class Scored(NamedTuple):
    """Sessions that are shown, failed ones first, of the `total` that were scored."""

    rows: Sequence[ReportSession]
    total: int


class Conflicts(NamedTuple):
    """The conflicts that are shown whole, the gravest kinds first, and how many more there are; one that two judges had
    counts twice among these.
    """

    rows: Sequence[Detail]
    left_out: int


class Called(NamedTuple):
    """Rows of `pairwise` that are shown, and whether there are more."""

    rows: Sequence[Mapping[str, Any]]
    more: bool


class ReportFacts(NamedTuple):
    """What a report says and shows. `figures` are all numbers by name, `document` is what is said of them."""

    summary: AuditSummary
    figures: Mapping[str, Figure]
    document: Document
    pairs: Listed
    sessions: Scored
    conflicts: Conflicts
    calls: Called


class _Conflict(NamedTuple):
    """A pair or (`pair` false) an episode by its id, and who did what there."""

    pair: bool
    identity: str
    kinds: tuple[Kind, ...]


def report_facts(counts: AuditCounts, summary: AuditSummary, language: Language, hide: Hide) -> ReportFacts:
    """Read what the report of this summary shows, over the connection that the summary was made with.

    `hide` takes keys out of it here, where texts are whole and as they are stored: cut or escaped, they would hide one.
    """
    label = _judge(counts, summary)
    found = _conflicts(counts, label)
    said = without_keys(summary, hide)
    numbers = figures(said)
    return ReportFacts(
        summary=said,
        figures=numbers,
        document=document(said, numbers, language),
        pairs=without_keys(_pairs(counts, label, [one.identity for one in found if one.pair]), hide),
        sessions=without_keys(_sessions(counts, label), hide),
        conflicts=_details(counts, label, found, hide),
        calls=without_keys(calls_of(counts, label), hide),
    )


def calls_of(counts: AuditCounts, judge: str | None) -> Called:
    """What the guides' reports need beside the summary: the first rows of `pairwise`, of one judge or of all."""
    found = rows.pairwise_rows(counts.connection, counts.audit_id, judge, MOST_CALLS + 1)
    return Called(found[:MOST_CALLS], len(found) > MOST_CALLS)


def _judge(counts: AuditCounts, summary: AuditSummary) -> str | None:
    """The label of the one judge that the summary is of, without the subset that may be named behind it."""
    return next((entry.judge for entry in entries(counts) if entry.label == summary.judge), None)


def _conflicts(counts: AuditCounts, label: str | None) -> list[_Conflict]:
    """Every conflict up to what a page can hold, once, with all judges that had it."""
    kinds: dict[tuple[bool, str], list[Kind]] = {}
    for is_pair, identity, kind in _each_conflict(counts, label):
        kinds.setdefault((is_pair, identity), []).append(kind)
    return [_Conflict(is_pair, identity, tuple(some)) for (is_pair, identity), some in kinds.items()]


def _each_conflict(counts: AuditCounts, label: str | None) -> Iterator[tuple[bool, str, Kind]]:
    judges = [judge for judge in counts.judges if label in {None, judge.label}]
    paired = [judge for judge in judges if judge.form == "pairwise"]
    for kind in KINDS:
        for judge in paired:
            number = counts.conflicts.get(judge.judge_id, {}).get(kind)
            if number is not None and number.k:
                for pair in conflict_pairs(counts.reduced, judge.judge_id, kind, MOST_PAIRS):
                    yield True, pair.pair_id, Kind(judge.label, kind)
    for judge in _satisfied_by(judges):
        for episode in satisfied_failures(counts.connection, counts.audit_id, judge.judge_id, MOST_DETAILS):
            yield False, episode.trajectory_id, Kind(judge.label, "satisfied_failed")


def _satisfied_by(judges: Sequence[JudgeFacts]) -> Iterator[JudgeFacts]:
    """Of each judge the form that says whether an episode satisfied."""
    for label in dict.fromkeys(judge.label for judge in judges):
        forms = {judge.form: judge for judge in judges if judge.label == label}
        chosen = next((forms[form] for form in SATISFACTION_FORMS if form in forms), None)
        if chosen is not None and chosen.threshold is not None:
            yield chosen


def _pairs(counts: AuditCounts, label: str | None, first: Sequence[str]) -> Listed:
    connection, audit_id = counts.connection, counts.audit_id
    others = rows.first_pair_ids(connection, audit_id, MOST_PAIRS)
    chosen = list(dict.fromkeys((*first, *others)))[:MOST_PAIRS]
    total = rows.count_pairs(connection, audit_id)
    return Listed(rows.report_pairs(connection, audit_id, chosen, label), total)


def _sessions(counts: AuditCounts, label: str | None) -> Scored:
    found = rows.report_sessions(counts.connection, counts.audit_id, label, MOST_SESSIONS)
    return Scored(found, rows.count_sessions(counts.connection, counts.audit_id, label))


def _details(counts: AuditCounts, label: str | None, found: Sequence[_Conflict], hide: Hide) -> Conflicts:
    shown: list[Detail] = []
    room = MOST_CHARACTERS
    for conflict in found[:MOST_DETAILS]:
        one = _detail(counts, label, conflict, hide)
        room -= one.size
        if room < 0:
            break
        shown.append(one)
    return Conflicts(shown, _all_conflicts(counts, label) - sum(len(one.kinds) for one in shown))


def _all_conflicts(counts: AuditCounts, label: str | None) -> int:
    judges = [judge for judge in counts.judges if label in {None, judge.label}]
    of_pairs = sum(number.k for judge in judges for number in counts.conflicts.get(judge.judge_id, {}).values())
    scoring = [judge.judge_id for judge in _satisfied_by(judges)]
    return of_pairs + sum(rows.count_satisfied_failures(counts.connection, counts.audit_id, one) for one in scoring)


def _detail(counts: AuditCounts, label: str | None, conflict: _Conflict, hide: Hide) -> Detail:
    connection, audit_id, identity = counts.connection, counts.audit_id, conflict.identity
    of: Subject = "pair_id" if conflict.pair else "trajectory_id"
    sides = rows.sides_of(connection, audit_id, identity) if conflict.pair else (identity,)
    episodes = [rows.read_episode(connection, side) for side in sides]
    behind = Behind(
        kinds=conflict.kinds,
        task_id=episodes[0].task_id,
        task=rows.read_task(connection, audit_id, episodes[0].task_id),
        episodes=episodes,
        replies=replies(connection, audit_id, of, identity, label),
        others=other_calls(connection, audit_id, of, identity, label, MOST_OTHERS),
        pair=rows.report_pairs(connection, audit_id, [identity], label)[0] if conflict.pair else None,
    )
    return detail(without_keys(behind, hide))
