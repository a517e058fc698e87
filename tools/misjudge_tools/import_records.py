"""`import_records`: files that people already have, into an audit. All of a call's files, or none."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from misjudge_storage.columns import utc_now
from misjudge_storage.errors import BadRecords, InvalidInput
from misjudge_storage.hashing import canonical, digest
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.tables import Import
from misjudge_storage.types import BadRecord, Record
from misjudge_tools.deps import Deps
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.interchange.gauge_runs import read_gauge_runs
from misjudge_tools.interchange.gauge_table import read_gauge_table
from misjudge_tools.interchange.judge_logs import read_judge_logs
from misjudge_tools.interchange.judgebench import read_judgebench
from misjudge_tools.interchange.llmbar import read_llmbar
from misjudge_tools.interchange.pairs import read_pairs
from misjudge_tools.interchange.replay import read_replay
from misjudge_tools.interchange.rubricbench import read_rubricbench
from misjudge_tools.interchange.simulatorarena import read_simulatorarena
from misjudge_tools.interchange.table import preview_table, read_table
from misjudge_tools.interchange.table_mapping import TableMapping, parse_mapping
from misjudge_tools.interchange.tau_bench import read_tau_bench
from misjudge_tools.interchange.trajectories import read_trajectories
from misjudge_tools.requests import Format, ImportRequest
from misjudge_tools.results import FileReport, ImportResult
from misjudge_tools.rubrics.rules import cites_response

Reader = Callable[[Path], Iterator[Record | BadRecord]]

NAMED = 10
"""Problems that an error or report spells out."""
RECORDED = 1_000
"""Problems that are kept with an import of the other records."""

OPTIONS: dict[Format, frozenset[str]] = {
    "table": frozenset({"map", "values", "per_response", "dry_run", "scale", "score_range"}),
    "pairs": frozenset({"gap_source", "scale", "score_range"}),
    "replay": frozenset({"scale"}),
    "gauge-runs": frozenset({"scale"}),
    "tau-bench": frozenset({"agent"}),
    "trajectories": frozenset({"agent"}),
    "gauge-table": frozenset({"reward_col", "order_col", "gate_col"}),
}
PLAIN: dict[Format, Reader] = {
    "judge-logs": read_judge_logs,
    "llmbar": read_llmbar,
    "simulatorarena": read_simulatorarena,
    "judgebench": read_judgebench,
    "rubricbench": read_rubricbench,
}
COMMON = frozenset({"audit", "format", "paths", "skip_bad"})


async def import_records(request: ImportRequest, deps: Deps) -> ImportResult:
    """Read files of one format into an audit; importing them again changes nothing.

    Raises BadRecords (naming the first ten) or Conflict, and then nothing of the call is stored.
    """
    _refuse_foreign_options(request)
    paths = [_allowed(path, deps.roots) for path in request.paths]
    if request.dry_run:
        return await asyncio.to_thread(_preview, request, paths)
    return await asyncio.to_thread(_import, request, paths, deps)


def reader_of(request: ImportRequest) -> Reader:
    """The reader of the request's format with its options. Raises InvalidInput for unusable ones."""
    scales: dict[str, Any] = {"scale": request.scale, "score_range": request.score_range}
    given = {name: value for name, value in scales.items() if value is not None}
    match request.format:
        case "table":
            mapping = _mapping(request)
            return lambda path: read_table(path, mapping)
        case "pairs":
            return partial(read_pairs, gap_source=request.gap_source, **given)
        case "replay":
            return partial(read_replay, **given)
        case "gauge-runs":
            return partial(read_gauge_runs, **given)
        case "tau-bench":
            return partial(read_tau_bench, agent=request.agent)
        case "trajectories":
            return partial(read_trajectories, agent=request.agent)
        case "gauge-table":
            return _gauge_table(request)
        case other:
            return PLAIN[other]


def _gauge_table(request: ImportRequest) -> Reader:
    reward_col, gate_cols = request.reward_col, request.gate_col
    if reward_col is None or not gate_cols:
        raise InvalidInput(
            "gauge-table needs --reward-col COLUMN and --gate-col COLUMN "
            "(COLUMN:rank where 1 is best); --order-col orders agents of equal reward."
        )
    return partial(read_gauge_table, reward_col=reward_col, gate_cols=gate_cols, order_col=request.order_col)


def _refuse_foreign_options(request: ImportRequest) -> None:
    """Raises InvalidInput for an option that this format does not have: silently ignored, it would mislead."""
    allowed = OPTIONS.get(request.format, frozenset()) | COMMON
    for name, field in ImportRequest.model_fields.items():
        if name not in allowed and getattr(request, name) != field.default:
            owners = [owner for owner, options in OPTIONS.items() if name in options]
            option = f"--{name.replace('_', '-')}"
            raise InvalidInput(f"{option} belongs to {' and '.join(owners)}, not to {request.format}. Leave it out.")


def _allowed(given: str, roots: tuple[Path, ...] | None) -> Path:
    """The path, if it lies under an allowed root. Raises InvalidInput."""
    path = Path(given)
    if roots is None:
        return path
    for each in (path, *_links_below(path)):
        refuse_outside(each, roots)
    return path


def _links_below(folder: Path) -> Iterator[Path]:
    """The symbolic links that reading a folder could follow to somewhere else, each before it is followed."""
    walked: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        yield from (link for name in (*folders, *files) if (link := Path(place, name)).is_symlink())
        whole = os.path.realpath(place)
        if whole in walked:
            folders.clear()
        walked.add(whole)


def _mapping(request: ImportRequest) -> TableMapping:
    return parse_mapping(request.map, request.values, request.per_response, request.scale, request.score_range)


def _preview(request: ImportRequest, paths: list[Path]) -> ImportResult:
    mapping = _mapping(request)
    previews = {str(path): preview_table(path, mapping).model_dump() for path in paths}
    return ImportResult(
        audit=request.audit,
        format=request.format,
        preview=previews,
        next="import again without dry_run, with map=… where the guess is wrong",
    )


def _import(request: ImportRequest, paths: list[Path], deps: Deps) -> ImportResult:
    read = reader_of(request)
    with deps.store.write() as connection:
        audit_id = ensure_audit(connection, request.audit)
        files = tuple(_import_file(connection, audit_id, request, path, read) for path in paths)
    return ImportResult(
        audit=request.audit, format=request.format, files=files, next=f"summarize_audit(audit='{request.audit}')"
    )


def _import_file(connection: Connection, audit_id: str, request: ImportRequest, path: Path, read: Reader) -> FileReport:
    sieve = _Sieve(read(path), keep_going=request.skip_bad)
    stored = ingest(connection, audit_id, path.stem, sieve)
    if sieve.bad and not request.skip_bad:
        raise BadRecords(path.name, sieve.problems[:NAMED], sieve.bad)
    if request.format == "table" and 0 < sieve.verdicts == sieve.unscored:
        raise InvalidInput(
            f"None of the {sieve.verdicts} verdicts in {path.name} means A, B or tie, so nothing was imported. Say "
            "what the cells mean with --values, such as --values 1=A,2=B,0=tie, or map another column as winner."
        )
    if sieve.good == 0:
        raise InvalidInput(f"{path.name} holds no record that can be read as {request.format}; nothing was imported.")
    options = request.model_dump(exclude={"audit", "paths"})
    row: dict[str, Any] = {
        "import_id": digest("imp", [audit_id, options, path.name, _fingerprint(path)]),
        "audit_id": audit_id,
        "format": request.format,
        "source": path.name,
        "records": sieve.good,
        "skipped": sieve.bad,
        "problems_json": canonical(sieve.problems),
        "created_at": utc_now(),
    }
    insert_new(connection, Import, [row])
    return FileReport(
        source=path.name,
        records=sieve.good,
        added=stored.added,
        unscored=sieve.unscored,
        left_out=sieve.bad,
        problems=tuple(sieve.problems[:NAMED]),
        warnings=_rubric_warnings(sieve) if request.format == "rubricbench" else (),
    )


def _rubric_warnings(sieve: _Sieve) -> tuple[str, ...]:
    """What must be known of the gold rules that were read."""
    told = (
        (sieve.without_rules, f"of {sieve.good} rows have no gold rules: there is nothing to match there"),
        (sieve.citing, "of the gold rules cite response A or B: labels change places, so no judge is shown these"),
    )
    return tuple(f"{number} {what}" for number, what in told if number)


class _Sieve:
    """Passes good records on and keeps count: of the bad ones, of verdicts that mean nothing, and of gold rules.

    Without `keep_going` the first bad record ends what is passed on, since nothing will be stored; the rest is
    still read, so that the error can name more than one.
    """

    def __init__(self, records: Iterable[Record | BadRecord], *, keep_going: bool) -> None:
        self.good = 0
        self.bad = 0
        self.verdicts = 0
        self.unscored = 0
        self.without_rules = 0
        self.citing = 0
        self.problems: list[str] = []
        self._records = records
        self._keep_going = keep_going

    def __iter__(self) -> Iterator[Record]:
        for record in self._records:
            if isinstance(record, BadRecord):
                self.bad += 1
                if len(self.problems) < RECORDED:
                    self.problems.append(f"line {record.line}: {record.problem}")
            elif self._keep_going or not self.bad:
                self.good += 1
                self.verdicts += len(record.verdicts)
                self.unscored += sum(verdict.status == "unscored" for verdict in record.verdicts)
                self.without_rules += not record.rubric
                self.citing += sum(cites_response(rule.text) for rule in record.rubric)
                yield record


def _fingerprint(path: Path) -> str:
    """SHA-256 of a file; of names and sizes for a folder."""
    if path.is_dir():
        return digest("dir", [[p.relative_to(path).as_posix(), p.stat().st_size] for p in sorted(path.rglob("*.json"))])
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
