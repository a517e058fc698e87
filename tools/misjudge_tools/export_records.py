"""`export_records`: an audit's records as files for people, spreadsheets, other tools and training."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.export_rows import (
    LOG_COLUMNS,
    PAIR_COLUMNS,
    SESSION_COLUMNS,
    judge_labels,
    log_rows,
    made_up,
    pair_rows,
    session_rows,
)
from misjudge_storage.judging_records import AuditRow, read_audit
from misjudge_tools.deps import Deps
from misjudge_tools.exporting.gauge_replay import write_gauge_replay
from misjudge_tools.exporting.judge_logs import OURS as LOGS
from misjudge_tools.exporting.judge_logs import write_judge_logs
from misjudge_tools.exporting.keys import Hide, hidden, key_hider, without_keys
from misjudge_tools.exporting.parquet_files import write_parquet
from misjudge_tools.exporting.sarif import OURS as SARIF
from misjudge_tools.exporting.sarif import Totals, write_sarif
from misjudge_tools.exporting.spreadsheets import Written, begins_with, write_csv
from misjudge_tools.exporting.training import Options, Trained, write_dpo, write_kto
from misjudge_tools.exporting.writing import Part, new_file, new_folder, target
from misjudge_tools.file_requests import ExportFormat, ExportRequest
from misjudge_tools.report.facts import calls_of
from misjudge_tools.report.figures import figures
from misjudge_tools.report.guide_reports import guide_reports
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import (
    MARK_EPISODES,
    ExportedFile,
    ExportResult,
    JudgeOnly,
    KeptRows,
    judged_mark,
    marks,
)
from misjudge_tools.stats.rates import Rate, Tally
from misjudge_tools.summarize_audit import summary_of
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.kinship import stated_families
from misjudge_tools.summary.values import AuditSummary, Sections

SUFFIXES: Final[Mapping[ExportFormat, tuple[str, ...]]] = {
    "audit_pairs": (".csv",),
    "judge_logs": (".jsonl",),
    "gauge_runs": (".csv",),
    "gauge_replay": (),
    "parquet": (),
    "sarif": (".sarif", ".sarif.json"),
    "dpo": (),
    "kto": (),
}
"""How the file of a format ends; none: it is a folder."""
OURS: Final[Mapping[str, re.Pattern[bytes]]] = {
    "audit_pairs": begins_with([*PAIR_COLUMNS]),
    "judge_logs": LOGS,
    "gauge_runs": begins_with([*SESSION_COLUMNS]),
    "sarif": SARIF,
}
"""How the file of a format begins."""
SUMMARIZED: Final[Mapping[ExportFormat, list[str] | None]] = {
    "gauge_replay": None,
    "sarif": ["conflicts"],
    "dpo": ["misselection"],
}
"""The formats that state numbers of a summary, and the sections that these are in; None: all."""
OPTIONS: Final[Mapping[str, frozenset[ExportFormat]]] = {
    "judge": frozenset({"gauge_runs", "sarif", "dpo"}),
    "keep": frozenset({"dpo"}),
    "test_share": frozenset({"dpo", "kto"}),
    "seed": frozenset({"dpo", "kto"}),
    "allow_eval_tasks": frozenset({"dpo", "kto"}),
}
GUARDED: Final = (
    "Text that a spreadsheet would calculate (it begins with = + - @ or a tab) has a quote in front of it; numbers are "
    "as they are. import_records takes the quotes off again."
)


class _Facts(NamedTuple):
    """What an export is made of, all of it over one connection, which shows one state of the store."""

    request: ExportRequest
    audit: AuditRow
    connection: Connection
    families: Mapping[str, str]
    hide: Hide
    marked: str | None


class _Made(NamedTuple):
    """What was written."""

    parts: Sequence[Part]
    guarded: int = 0
    trained: Trained | None = None
    judge_only: tuple[JudgeOnly, ...] = ()
    notes: tuple[str, ...] = ()


async def export_records(request: ExportRequest, deps: Deps) -> ExportResult:
    """Write a file or folder: whole, or nothing of it.

    Raises InvalidInput for a place that is taken or not allowed and for options that the format does not have, and
    NotFound for an audit or judge that there is not.
    """
    _refuse_foreign_options(request)
    suffixes = SUFFIXES[request.format]
    path = target(request.out, suffixes, deps.roots, folder=not suffixes)
    return await asyncio.to_thread(_export, request, path, deps)


def _export(request: ExportRequest, path: Path, deps: Deps) -> ExportResult:
    with deps.store.read() as connection:
        facts = _facts(request, connection, deps)
        _refuse_judge(facts)
        if SUFFIXES[request.format]:
            ours = OURS[request.format]
            with new_file(path, force=request.force, roots=deps.roots, ours=ours) as place:
                made = _file(facts, place)
        else:
            with new_folder(path, request.format, force=request.force, roots=deps.roots) as place:
                made = _folder(facts, place)
    return _result(facts, path, made)


def _facts(request: ExportRequest, connection: Connection, deps: Deps) -> _Facts:
    audit = read_audit(connection, request.audit)
    found = made_up(connection, audit.audit_id)
    marked = marks(judged_mark(found.simulated, found.judges), MARK_EPISODES if found.episodes else None)
    return _Facts(request, audit, connection, stated_families(deps.models), key_hider(deps.models), marked)


def _counts(facts: _Facts) -> AuditCounts:
    asked = SummarizeRequest(audit=facts.request.audit, sections=SUMMARIZED[facts.request.format])
    return AuditCounts(facts.connection, asked, facts.families)


def _file(facts: _Facts, place: Path) -> _Made:
    request, audit_id, connection = facts.request, facts.audit.audit_id, facts.connection
    match request.format:
        case "audit_pairs":
            return _table(write_csv(place, [*PAIR_COLUMNS], hidden(pair_rows(connection, audit_id), facts.hide)))
        case "gauge_runs":
            rows = hidden(session_rows(connection, audit_id, request.judge), facts.hide)
            return _table(write_csv(place, [*SESSION_COLUMNS], rows))
        case "judge_logs":
            return _Made([Part("", write_judge_logs(place, connection, audit_id, facts.hide))])
        case _:
            number = write_sarif(
                place,
                connection,
                request.audit,
                audit_id,
                judge=request.judge,
                totals=_totals(summary_of(_counts(facts))),
                marked=facts.marked,
                hide=facts.hide,
            )
            return _Made([Part("", number)])


def _table(written: Written) -> _Made:
    return _Made([Part("", written.rows)], written.guarded, notes=(GUARDED,) if written.guarded else ())


def _folder(facts: _Facts, place: Path) -> _Made:
    audit_id, connection, hide = facts.audit.audit_id, facts.connection, facts.hide
    match facts.request.format:
        case "gauge_replay":
            return _Made(write_gauge_replay(place, connection, audit_id, _reports(facts), hide))
        case "parquet":
            pair_table, log_table = (
                hidden(pair_rows(connection, audit_id), hide),
                hidden(log_rows(connection, audit_id), hide),
            )
            pairs = write_parquet(place / "audit_pairs.parquet", PAIR_COLUMNS, pair_table)
            logs = write_parquet(place / "judge_logs.parquet", LOG_COLUMNS, log_table)
            return _Made([Part("audit_pairs.parquet", pairs), Part("judge_logs.parquet", logs)])
        case "dpo":
            made = _training(write_dpo(place, connection, audit_id, _options(facts)))
            return made._replace(judge_only=tuple(_judge_only(summary_of(_counts(facts)))))
        case _:
            return _training(write_kto(place, connection, audit_id, _options(facts)))


def _reports(facts: _Facts) -> Mapping[str, str]:
    """The texts for `reports/` of the replay folder, by file name."""
    counts = _counts(facts)
    summary = without_keys(summary_of(counts), facts.hide)
    return guide_reports(summary, figures(summary), without_keys(calls_of(counts, None), facts.hide), "en")


def _options(facts: _Facts) -> Options:
    asked = facts.request
    return Options(asked.seed, asked.test_share, asked.allow_eval_tasks, facts.hide, asked.judge, asked.keep)


def _training(trained: Trained) -> _Made:
    if not sum(part.rows for part in trained.parts):
        why = ", ".join(f"{reason} {number}" for reason, number in sorted(trained.left_out.items()))
        raise InvalidInput(
            f"No row can be made of this audit, so nothing was written (left out: {why or 'nothing'}). Training data "
            "need transcripts and evidence: import both, or run agents with verifiers."
        )
    return _Made(trained.parts, trained=trained, notes=tuple(_turns(trained)))


def _turns(trained: Trained) -> Iterator[str]:
    """How much of what the agents did is in the rows; rows of `kto` are all of one kind."""
    number = sum(trained.completions.values())
    ended = trained.completions.get("first_divergent_turn", 0)
    if ended:
        yield (
            f"{ended:,} of {number:,} rows end before the customer's next word, though an agent went on behind it "
            "(metadata.completion is first_divergent_turn); the others hold all that both agents did (whole)."
        )
    elif number:
        yield f"All {number:,} rows hold all that both agents did (metadata.completion is whole)."


def _result(facts: _Facts, path: Path, made: _Made) -> ExportResult:
    request, trained = facts.request, made.trained
    return ExportResult(
        audit=request.audit,
        format=request.format,
        marked=facts.marked,
        path=str(path),
        files=tuple(ExportedFile(name=part.name or path.name, rows=part.rows) for part in made.parts),
        guarded=made.guarded,
        left_out={} if trained is None else {name: trained.left_out[name] for name in sorted(trained.left_out)},
        kept=_kept(trained) if request.keep is not None and trained is not None else (),
        judge_only=made.judge_only,
        notes=made.notes,
        next=_next(request, trained),
    )


def _kept(trained: Trained) -> tuple[KeptRows, ...]:
    return tuple(
        KeptRows(ability=ability, before=number, after=trained.after.get(ability, 0))
        for ability, number in sorted(trained.before.items())
    )


def _next(request: ExportRequest, trained: Trained | None) -> str | None:
    """Pairs that cannot be rows of `dpo` can be rows of `kto`."""
    if request.format != "dpo" or trained is None or not trained.left_out.get("others_diverge_first"):
        return None
    return f"export_records(audit={request.audit!r}, format='kto', out=…) for those that diverge before the agents do"


def _sections(summary: AuditSummary) -> Mapping[str, Sections]:
    """The sections of each judge by its label."""
    if summary.judges is not None:
        return summary.judges
    return {} if summary.judge is None else {summary.judge: summary}


def _judge_only(summary: AuditSummary) -> list[JudgeOnly]:
    found = []
    for label, sections in _sections(summary).items():
        decided = None if sections.misselection is None else sections.misselection.decided
        if decided is not None and decided.n:
            kept = {name: getattr(decided, name) for name in ("rate", "k", "n", "low", "high")}
            found.append(JudgeOnly(judge=label, mislabelled=Rate(**kept)))
    return found


def _totals(summary: AuditSummary) -> Mapping[str, Totals]:
    found: dict[str, Totals] = {}
    for label, sections in _sections(summary).items():
        conflicts = sections.conflicts
        if conflicts is not None:
            kinds: Mapping[str, Any] = {
                "misselected": conflicts.strict,
                "unsupported": conflicts.unsupported,
                "missed": conflicts.missed,
                "satisfied-failed": conflicts.satisfied_failed,
            }
            found[label] = Totals({rule: Tally(kind.k, kind.n) for rule, kind in kinds.items() if kind is not None})
    return found


def _refuse_foreign_options(request: ExportRequest) -> None:
    """Raises InvalidInput for an option that this format does not have: silently ignored, it would mislead."""
    for name, formats in OPTIONS.items():
        if getattr(request, name) != ExportRequest.model_fields[name].default and request.format not in formats:
            option = f"--{name.replace('_', '-')}"
            raise InvalidInput(f"{option} belongs to {' and '.join(sorted(formats))}, not to {request.format}.")
    if request.format == "dpo" and (request.keep is None) != (request.judge is None):
        raise InvalidInput("A filter needs both: keep (--keep) says which pairs, judge (--judge) by whose verdict.")


def _refuse_judge(facts: _Facts) -> None:
    wanted = facts.request.judge
    if wanted is None:
        return
    labels = judge_labels(facts.connection, facts.audit.audit_id)
    if wanted not in labels:
        known = f"Its labels are: {', '.join(labels)}." if labels else "It has no judge yet."
        raise NotFound(f"Audit {facts.request.audit!r} has no judge {wanted!r}. {known}")
