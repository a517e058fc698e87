"""What to know of a run that is done: judges whose replies could not be read, or whose context was too small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from misjudge_storage import judging_records, run_progress, run_records
from misjudge_storage.engine import Store
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.run_progress import JudgeCells, UnscoredBy
from misjudge_storage.types import NO_REPLY
from misjudge_tools.judging.choice import JudgingSpec, judge_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.session import UNREADABLE
from misjudge_tools.results import RunReport
from misjudge_tools.runs.spec import read_spec

OVERFLOW = "context_overflow"
CHECK = "check its prompt and reply_form"
PROBING = "probe_judge"
"""The operation that cuts nothing: a change could be what is cut away."""
SHARE = 5
"""Said where more than one reply of so many cannot be read."""


def reply_warnings(store: Store, run: RunReport) -> tuple[str, ...]:
    """Of each judge: how many replies hold no verdict, where it is more than a fifth, and what did not fit."""
    if run.state != "done" or not run.unscored:
        return ()
    with store.read() as connection:
        row = run_records.read_run(connection, run.run)
        unscored = run_progress.unscored_by_judge(connection, run.run)
        cells = run_progress.cells_by_judge(connection, run.run)
        judges = {judge_fingerprint(judge_of(spec)): spec for spec in read_spec(row.request_json, run.run).judges}
        labels = {one: judging_records.read_judge_label(connection, row.audit_id, one) or "" for one in judges}
    return tuple(_warnings(judges, labels, unscored, cells, probes=run.operation == PROBING))


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
        yield from _unreadable(labels[judge_id], mine, cells.get(judge_id, JudgeCells(0, 0)).stored, way_on)
        number = sum(one.subjects for one in mine if one.reason == OVERFLOW)
        yield from _too_long(labels[judge_id], spec, number, cuts=not probes)


def _unreadable(label: str, unscored: Sequence[UnscoredBy], stored: int, way_on: str) -> Iterator[str]:
    replies = stored - sum(one.verdicts for one in unscored if one.reason in NO_REPLY)
    found = {one.reason: one.verdicts for one in unscored if one.reason in UNREADABLE}
    number = sum(found.values())
    if number * SHARE > replies:
        hold = "holds" if number == 1 else "hold"
        yield f"{number} of {replies} replies of {label} {hold} no readable verdict ({', '.join(found)}): {way_on}."


def _too_long(label: str, spec: JudgingSpec, number: int, *, cuts: bool) -> Iterator[str]:
    if not number:
        return
    one, several = ("pair", "pairs") if FORMS[spec.form].compares else ("trajectory", "trajectories")
    them = f"1 {one} does" if number == 1 else f"{number} {several} do"
    size = "" if spec.context_tokens is None else f" ({spec.context_tokens:,} tokens)"
    yield f"{them} not fit the context of {label}{size}{_way_on(spec) if cuts else ': ask a judge that takes more.'}"


def _way_on(spec: JudgingSpec) -> str:
    if spec.truncate is not None:
        return ", even cut: ask a judge that takes more."
    if spec.context_tokens is None:
        return ": state context_tokens in its profile, then judge with truncate=middle (--truncate middle)."
    return ": judge with truncate=middle (--truncate middle)."
