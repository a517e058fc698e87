"""`import_records`: files that people already have, into an audit. All of a call's files, or none."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
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
from misjudge_tools.interchange.replay import PICKED_ONLY, read_replay
from misjudge_tools.interchange.rubricbench import read_rubricbench
from misjudge_tools.interchange.sieve import Sieve
from misjudge_tools.interchange.simulatorarena import read_simulatorarena
from misjudge_tools.interchange.table import preview_table, read_table
from misjudge_tools.interchange.table_mapping import TableMapping, parse_mapping
from misjudge_tools.interchange.tau_bench import read_tau_bench
from misjudge_tools.interchange.trajectories import read_trajectories
from misjudge_tools.interchange.verdict_words import VerdictWords
from misjudge_tools.requests import Format, ImportRequest
from misjudge_tools.results import FileReport, ImportResult

Reader = Callable[[Path], Iterator[Record | BadRecord]]

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


def reader_of(request: ImportRequest, words: VerdictWords) -> Reader:
    """The reader of the request's format with its options; that of tables counts `words`. Raises InvalidInput for
    unusable options.
    """
    scales: dict[str, Any] = {"scale": request.scale, "score_range": request.score_range}
    given = {name: value for name, value in scales.items() if value is not None}
    match request.format:
        case "table":
            mapping = _mapping(request)
            return lambda path: read_table(path, mapping, words)
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
    """How the files would be read, all of them to their ends, and the sentences with which the import would refuse."""
    mapping = _mapping(request)
    previews = {str(path): preview_table(path, mapping).model_dump() for path in paths}
    files: list[FileReport] = []
    refused: list[str] = []
    for path in paths:
        sieve = _sieve(request, path)
        try:
            deque(sieve, maxlen=0)
            _refuse_unusable(request, path, sieve)
        except InvalidInput as error:
            refused.append(str(error))
        else:
            files.append(_report(request, path, sieve, {}))
    return ImportResult(
        audit=request.audit,
        format=request.format,
        files=tuple(files),
        preview=previews,
        refused="\n".join(refused) or None,
        next="dry_run again with other map=… or values=…"
        if refused
        else "import again without dry_run, with map=… where the guess is wrong",
    )


def _import(request: ImportRequest, paths: list[Path], deps: Deps) -> ImportResult:
    reader_of(request, VerdictWords())
    with deps.store.write() as connection:
        audit_id = ensure_audit(connection, request.audit)
        files = tuple(_import_file(connection, audit_id, request, path) for path in paths)
    return ImportResult(
        audit=request.audit, format=request.format, files=files, next=f"summarize_audit(audit='{request.audit}')"
    )


def _sieve(request: ImportRequest, path: Path) -> Sieve:
    words = VerdictWords()
    return Sieve(reader_of(request, words)(path), words, keep_going=request.skip_bad)


def _import_file(connection: Connection, audit_id: str, request: ImportRequest, path: Path) -> FileReport:
    sieve = _sieve(request, path)
    stored = ingest(connection, audit_id, path.stem, sieve)
    _refuse_unusable(request, path, sieve)
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
    return _report(request, path, sieve, stored.added)


def _refuse_unusable(request: ImportRequest, path: Path, sieve: Sieve) -> None:
    """Raises BadRecords or InvalidInput for a file, read to its end, of which nothing is imported."""
    if sieve.bad and not request.skip_bad:
        raise BadRecords(path.name, sieve.complaints(), sieve.bad, sieve.named)
    if unclear := sieve.words.refusal(path.name):
        raise InvalidInput(unclear)
    if request.format == "table" and 0 < sieve.verdicts == sieve.unscored:
        raise InvalidInput(
            f"None of the {sieve.verdicts} verdicts in {path.name} names a side or a tie, so nothing was imported. "
            "Map another column as winner, or the scores as score_a and score_b."
        )
    if sieve.good == 0:
        raise InvalidInput(f"{path.name} holds no record that can be read as {request.format}; nothing was imported.")


def _report(request: ImportRequest, path: Path, sieve: Sieve, added: dict[str, int]) -> FileReport:
    return FileReport(
        source=path.name,
        records=sieve.good,
        added=added,
        unscored=sieve.unscored,
        left_out=sieve.bad,
        problems=sieve.complaints(),
        warnings=tuple(_warnings(request, sieve)),
    )


def _warnings(request: ImportRequest, sieve: Sieve) -> Iterator[str]:
    """What must be known of the records that were read."""
    if unclear := sieve.words.not_understood():
        yield unclear
    if request.format == "replay" and sieve.of_episodes:
        yield PICKED_ONLY
    if request.format == "rubricbench" and sieve.without_rules:
        yield f"{sieve.without_rules} of {sieve.good} rows have no gold rules: there is nothing to match there"
    if request.format == "rubricbench" and sieve.citing:
        yield (
            f"{sieve.citing} of the gold rules cite response A or B: labels change places, so no judge is shown these"
        )


def _fingerprint(path: Path) -> str:
    """SHA-256 of a file; of names and sizes for a folder."""
    if path.is_dir():
        return digest("dir", [[p.relative_to(path).as_posix(), p.stat().st_size] for p in sorted(path.rglob("*.json"))])
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
