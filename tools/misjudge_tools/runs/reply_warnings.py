"""What to know of a run that is done: judges, and who writes and matches rubrics, whose replies could not be read, or
whose context was too small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from misjudge_storage import judging_records, rubric_records, run_progress, run_records
from misjudge_storage.engine import Store
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.rubric_records import MatchesBy
from misjudge_storage.run_progress import JudgeCells, UnscoredBy
from misjudge_storage.types import NO_REPLY, AskedForm
from misjudge_tools.judging.choice import JudgingSpec, judge_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.session import UNREADABLE
from misjudge_tools.results import RunReport
from misjudge_tools.runs.spec import read_spec

OVERFLOW = "context_overflow"
CHECK = "check its prompt and reply_form"
CHECK_CRAFT = "check its prompt, or ask another model"
PROBING = "probe_judge"
"""The operation that cuts nothing: a change could be what is cut away."""
SHARE = 5
"""Said where more than one reply of so many cannot be read."""


class _Words(NamedTuple):
    """What people call that which is counted of a form: what is read, what that lacks, and what it is about."""

    replies: str
    wanted: str
    subject: str
    subjects: str


class _ByRule(NamedTuple):
    """What matchers left unscored, counted by rule, and the rules that each was asked about."""

    unscored: Sequence[UnscoredBy]
    rules: Mapping[str, JudgeCells]


_PAIRS = _Words("replies", "verdict", "pair", "pairs")
_TRAJECTORIES = _Words("replies", "verdict", "trajectory", "trajectories")
_MATCHES = _Words("answers", "match", "rubric", "rubrics")
_CRAFTS: Mapping[AskedForm, _Words] = {
    "rubric_generate": _Words("replies", "rules", "task", "tasks"),
    "rubric_match": _MATCHES,
    "rubric_match_batch": _MATCHES,
}


def reply_warnings(store: Store, run: RunReport) -> tuple[str, ...]:
    """Of each judge: how many replies hold no verdict, where it is more than a fifth, and what did not fit.

    Of who matches rubrics it is counted by rule.
    """
    if run.state != "done":
        return ()
    with store.read() as connection:
        row = run_records.read_run(connection, run.run)
        spec = read_spec(row.request_json, run.run)
        if not run.unscored and spec.rubrics is None:
            return ()
        unscored = run_progress.unscored_by_judge(connection, run.run)
        cells = run_progress.cells_by_judge(connection, run.run)
        matches = rubric_records.asked_matches(connection, run.run)
        judges = {judge_fingerprint(judge_of(asked)): asked for asked in spec.asked}
        labels = {one: judging_records.read_judge_label(connection, row.audit_id, one) or "" for one in judges}
    by_rule, rules = _by_rule(matches)
    unscored = [*(one for one in unscored if one.judge_id not in rules), *by_rule]
    return tuple(_warnings(judges, labels, unscored, {**cells, **rules}, probes=run.operation == PROBING))


def _by_rule(matches: Sequence[MatchesBy]) -> _ByRule:
    rules = Counter[str]()
    for one in matches:
        rules[one.matcher_id] += one.rules
    unscored = [UnscoredBy(one.matcher_id, one.reason, one.rules, one.matchings) for one in matches if one.reason]
    return _ByRule(unscored, {matcher_id: JudgeCells(number, number) for matcher_id, number in rules.items()})


def _warnings(
    judges: Mapping[str, JudgingSpec],
    labels: Mapping[str, str],
    unscored: Sequence[UnscoredBy],
    cells: Mapping[str, JudgeCells],
    *,
    probes: bool,
) -> Iterator[str]:
    for judge_id, spec in judges.items():
        mine = [one for one in unscored if one.judge_id == judge_id]
        way_on = "see which changes broke them, or check its prompt and reply_form" if probes else CHECK
        way_on = CHECK_CRAFT if spec.form in _CRAFTS else way_on
        stored = cells.get(judge_id, JudgeCells(0, 0)).stored
        yield from _unreadable(labels[judge_id], _words(spec), mine, stored, way_on)
        number = sum(one.subjects for one in mine if one.reason == OVERFLOW)
        yield from _too_long(labels[judge_id], spec, number, cuts=not probes)


def _words(spec: JudgingSpec) -> _Words:
    return _CRAFTS.get(spec.form, _PAIRS if FORMS[spec.form].compares else _TRAJECTORIES)


def _unreadable(label: str, words: _Words, unscored: Sequence[UnscoredBy], stored: int, way_on: str) -> Iterator[str]:
    replies = stored - sum(one.verdicts for one in unscored if one.reason in NO_REPLY)
    found = {one.reason: one.verdicts for one in unscored if one.reason in UNREADABLE}
    number = sum(found.values())
    if number * SHARE > replies:
        hold = "holds" if number == 1 else "hold"
        what = f"{number} of {replies} {words.replies} of {label} {hold} no readable {words.wanted}"
        yield f"{what} ({', '.join(found)}): {way_on}."


def _too_long(label: str, spec: JudgingSpec, number: int, *, cuts: bool) -> Iterator[str]:
    if not number:
        return
    words = _words(spec)
    them = f"1 {words.subject} does" if number == 1 else f"{number} {words.subjects} do"
    size = "" if spec.context_tokens is None else f" ({spec.context_tokens:,} tokens)"
    way_on = _way_on(spec) if cuts else ": ask a judge that takes more."
    yield f"{them} not fit the context of {label}{size}{way_on}"


def _way_on(spec: JudgingSpec) -> str:
    if spec.form in _CRAFTS:
        return ": ask a model that takes more."
    if spec.truncate is not None:
        return ", even cut: ask a judge that takes more."
    if spec.context_tokens is None:
        return ": state context_tokens in its profile, then judge with truncate=middle (--truncate middle)."
    return ": judge with truncate=middle (--truncate middle)."
