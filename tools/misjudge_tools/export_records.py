"""`export_records`: an audit's records as files for people, spreadsheets, other tools and training."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.export_rows import (
    LOG_COLUMNS,
    PAIR_COLUMNS,
    SESSION_COLUMNS,
    judge_labels,
    log_rows,
    pair_rows,
    session_rows,
)
from misjudge_storage.judging_records import AuditRow, read_audit
from misjudge_tools.deps import Deps
from misjudge_tools.exporting.gauge_replay import Part, write_gauge_replay
from misjudge_tools.exporting.judge_logs import write_judge_logs
from misjudge_tools.exporting.parquet_files import write_parquet
from misjudge_tools.exporting.sarif import Totals, write_sarif
from misjudge_tools.exporting.spreadsheets import Written, write_csv
from misjudge_tools.exporting.training import Options, Trained, write_dpo, write_kto
from misjudge_tools.exporting.writing import new_file, new_folder, target
from misjudge_tools.file_requests import ExportFormat, ExportRequest
from misjudge_tools.report.facts import report_facts
from misjudge_tools.report.guide_reports import guide_reports
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import ExportedFile, ExportResult, JudgeOnly, KeptRows
from misjudge_tools.stats.rates import Rate, Tally
from misjudge_tools.summarize_audit import summarize, summary_of
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
TURNS: Final = (
    "A completion ends before the customer's next word: first_divergent_turn marks rows whose agents went on behind it."
)


class _Facts(NamedTuple):
    """What an export is made of: `summary` holds the numbers that it states."""

    request: ExportRequest
    audit: AuditRow
    summary: AuditSummary
    connection: Connection


class _Made(NamedTuple):
    """What was written."""

    parts: Sequence[Part]
    guarded: int = 0
    trained: Trained | None = None
    notes: tuple[str, ...] = ()


async def export_records(request: ExportRequest, deps: Deps) -> ExportResult:
    """Write a file or folder: whole, or nothing of it.

    Raises InvalidInput for a place that is taken or not allowed and for options that the format does not have, and
    NotFound for an audit or judge that there is not.
    """
    _refuse_foreign_options(request)
    path = target(request.out, SUFFIXES[request.format], deps.roots)
    families = stated_families(deps.models)
    return await asyncio.to_thread(_export, request, path, deps.store, families)


def _export(request: ExportRequest, path: Path, store: Store, families: Mapping[str, str]) -> ExportResult:
    asked = SummarizeRequest(audit=request.audit, sections=["misselection", "conflicts"])
    summary = summarize(asked, store, families)
    reports = _reports(request, store, families) if request.format == "gauge_replay" else {}
    with store.read() as connection:
        facts = _Facts(request, read_audit(connection, request.audit), summary, connection)
        _refuse_judge(facts)
        if SUFFIXES[request.format]:
            with new_file(path, force=request.force) as place:
                made = _file(facts, place)
        else:
            with new_folder(path, force=request.force) as place:
                made = _folder(facts, place, reports)
    return _result(facts, path, made)


def _file(facts: _Facts, place: Path) -> _Made:
    request, audit_id, connection = facts.request, facts.audit.audit_id, facts.connection
    match request.format:
        case "audit_pairs":
            return _table(write_csv(place, list(PAIR_COLUMNS), pair_rows(connection, audit_id)))
        case "gauge_runs":
            rows = session_rows(connection, audit_id, request.judge)
            return _table(write_csv(place, list(SESSION_COLUMNS), rows))
        case "judge_logs":
            return _Made([Part("", write_judge_logs(place, connection, audit_id))])
        case _:
            number = write_sarif(
                place,
                connection,
                request.audit,
                audit_id,
                judge=request.judge,
                totals=_totals(facts.summary),
                marked=facts.summary.marked,
            )
            return _Made([Part("", number)])


def _table(written: Written) -> _Made:
    return _Made([Part("", written.rows)], written.guarded, notes=(GUARDED,) if written.guarded else ())


def _folder(facts: _Facts, place: Path, reports: Mapping[str, str]) -> _Made:
    audit_id, connection = facts.audit.audit_id, facts.connection
    match facts.request.format:
        case "gauge_replay":
            return _Made(write_gauge_replay(place, connection, audit_id, reports))
        case "parquet":
            pairs = write_parquet(place / "audit_pairs.parquet", PAIR_COLUMNS, pair_rows(connection, audit_id))
            logs = write_parquet(place / "judge_logs.parquet", LOG_COLUMNS, log_rows(connection, audit_id))
            return _Made([Part("audit_pairs.parquet", pairs), Part("judge_logs.parquet", logs)])
        case "dpo":
            return _training(write_dpo(place, connection, audit_id, _options(facts.request)))
        case _:
            return _training(write_kto(place, connection, audit_id, _options(facts.request)))


def _reports(request: ExportRequest, store: Store, families: Mapping[str, str]) -> Mapping[str, str]:
    """The texts for `reports/` of the replay folder, by file name."""
    with store.read() as connection:
        counts = AuditCounts(connection, SummarizeRequest(audit=request.audit), families, None)
        facts = report_facts(counts, summary_of(counts), "en")
    return guide_reports(facts.summary, facts.figures, facts.calls, facts.document.language)


def _options(request: ExportRequest) -> Options:
    return Options(request.seed, request.test_share, request.allow_eval_tasks, request.judge, request.keep)


def _training(trained: Trained) -> _Made:
    if not sum(part.rows for part in trained.parts):
        why = ", ".join(f"{reason} {number}" for reason, number in sorted(trained.left_out.items()))
        raise InvalidInput(
            f"No row can be made of this audit, so nothing was written (left out: {why or 'nothing'}). Training data "
            "need transcripts and evidence: import both, or run agents with verifiers."
        )
    return _Made(trained.parts, trained=trained, notes=(TURNS,))


def _result(facts: _Facts, path: Path, made: _Made) -> ExportResult:
    request, trained = facts.request, made.trained
    return ExportResult(
        audit=request.audit,
        format=request.format,
        marked=facts.summary.marked,
        path=str(path),
        files=tuple(ExportedFile(name=part.name or path.name, rows=part.rows) for part in made.parts),
        guarded=made.guarded,
        left_out={} if trained is None else {name: trained.left_out[name] for name in sorted(trained.left_out)},
        kept=_kept(trained) if request.keep is not None and trained is not None else (),
        judge_only=tuple(_judge_only(facts.summary)) if request.format == "dpo" else (),
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
