"""`read_record`: one stored thing, whole, or a list of them, by its URI."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from sqlalchemy import Connection

from misjudge_storage import judging_records, queries, record_lists, rubric_details, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.judging_records import AuditRow
from misjudge_storage.queries import BY_KIND, Fields
from misjudge_storage.record_lists import JUDGE_ROLES, Listed
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RecordRequest, SummarizeRequest
from misjudge_tools.results import MARK, MARK_EPISODES, MARK_IN_PART, SCHEME, RecordPage, judged_mark, marks, record_uri
from misjudge_tools.rubrics.records import linked_draft, linked_matching, linked_ruling, rubric_record
from misjudge_tools.runs.report import run_report
from misjudge_tools.runs.spec import read_spec, run_marks

SHORT = 300
"""Bytes of JSON up to which a field is never cut."""
LEAST_ROW = 20
"""Bytes of JSON that any row of a list takes at least."""

_GOES_ON = re.compile(r"\?cursor=([0-9]{1,9})$")
"""The end of an address that names where to go on, for clients that can only name an address."""
_OF_RUBRICS = {"drafts": linked_draft, "matchings": linked_matching, "rulings": linked_ruling}


class _Found(NamedTuple):
    """A record, and what of it is made up."""

    record: Fields
    marked: str | None = None


class _Rows(NamedTuple):
    """The rows of a list from where its page starts, at least as many as fit, and how many there are in all."""

    name: str
    rows: Sequence[Listed]
    total: int


async def read_record(request: RecordRequest, deps: Deps) -> RecordPage:
    """The record at a URI; its longer fields, or the rows of a list, are cut to a page and go on at `next_cursor`.

    A summary has sections in place of pages: `fields` names those that are wanted. Raises InvalidInput for a URI of
    another form and NotFound for one that leads nowhere.
    """
    asked = _with_cursor(request)
    parts = [unquote(part) for part in asked.uri.removeprefix(SCHEME).split("/")]
    match parts if asked.uri.startswith(SCHEME) else []:
        case ["audits", name, "summary"]:
            return await _summary(name, asked, deps)
        case ["reports"]:
            return await asyncio.to_thread(_reports, asked, deps.roots)
        case ["reports", path]:
            return await asyncio.to_thread(_report, path, asked, deps.roots)
        case known:
            return await asyncio.to_thread(_read, known, asked, deps.store)


async def read_without_store(request: RecordRequest, roots: Sequence[Path] | None) -> RecordPage:
    """`read_record` where there is no store yet, and none is made: lists are empty, and reports can be read.

    Raises InvalidInput for a report that may not be read, NotFound for anything else.
    """
    asked = _with_cursor(request)
    parts = [unquote(part) for part in asked.uri.removeprefix(SCHEME).split("/")]
    match parts if asked.uri.startswith(SCHEME) else []:
        case ["reports"]:
            return await asyncio.to_thread(_reports, asked, roots)
        case ["reports", path]:
            return await asyncio.to_thread(_report, path, asked, roots)
        case ["audits" | "rubrics" as name]:
            return list_page(asked.uri, _Rows(name, [], 0), asked.cursor, asked.max_bytes)
    raise NotFound("Nothing is stored here yet, so there is no such thing. Import records or run a demo first.")


def _with_cursor(request: RecordRequest) -> RecordRequest:
    """The request with the cursor of its address as one of its own."""
    goes_on = _GOES_ON.search(request.uri)
    if goes_on is None:
        return request
    return request.model_copy(update={"uri": request.uri[: goes_on.start()], "cursor": int(goes_on[1])})


async def _summary(name: str, request: RecordRequest, deps: Deps) -> RecordPage:
    from misjudge_tools.summarize_audit import summarize_audit  # other records do without its numpy

    if request.cursor:
        raise InvalidInput("A summary has no pages: name the sections that are wanted in fields, without a cursor.")
    with deps.store.read() as connection:
        audit = judging_records.read_audit(connection, name).name
    found = await summarize_audit(SummarizeRequest(audit=audit, sections=request.fields), deps)
    return RecordPage(uri=request.uri, marked=found.marked, record=found.model_dump(mode="json", by_alias=True))


def _reports(request: RecordRequest, roots: Sequence[Path] | None) -> RecordPage:
    from misjudge_tools.report_files import report_files

    found = report_files(roots)
    listed = [Listed({**report._asdict(), "uri": report.uri}, 0, 1, False) for report in found.reports]
    rows = _Rows("reports", listed[request.cursor :], len(listed))
    shown = list_page(request.uri, rows, request.cursor, request.max_bytes)
    return shown.model_copy(update={"record": {**shown.record, "note": found.note}}) if found.note else shown


def _report(path: str, request: RecordRequest, roots: Sequence[Path] | None) -> RecordPage:
    from misjudge_tools.report_files import read_report

    found = read_report(path, roots)
    record = {**found.file._asdict(), "text": found.text}
    shown = page(request.uri, _only(record, request.fields), request.cursor, request.max_bytes)
    said = (mark for mark in (MARK, MARK_IN_PART, MARK_EPISODES) if mark in found.text)
    return shown.model_copy(update={"marked": marks(*said)})


def _read(parts: Sequence[str], request: RecordRequest, store: Store) -> RecordPage:
    with store.read() as connection:
        found = _find(parts, request, connection, store)
    if isinstance(found, _Rows):
        listed = list_page(request.uri, found, request.cursor, request.max_bytes)
        return listed.model_copy(update={"record": _only(listed.record, request.fields)})
    shown = page(request.uri, _only(found.record, request.fields), request.cursor, request.max_bytes)
    return shown.model_copy(update={"marked": found.marked})


def list_page(uri: str, found: _Rows, cursor: int, max_bytes: int) -> RecordPage:
    """The rows that `max_bytes` of JSON hold, at least one; `cursor` is how many came before."""
    room, rows = max_bytes - len(_json({found.name: [], "total": found.total})), list[Listed]()
    for row in found.rows:
        room -= len(_json(row.shown).encode()) + 2
        if rows and room < 0:
            break
        rows.append(row)
    end = cursor + len(rows)
    return RecordPage(
        uri=uri,
        marked=_marked(rows),
        record={found.name: [row.shown for row in rows], "total": found.total},
        next_cursor=end if rows and end < found.total else None,
    )


def _marked(rows: Sequence[Listed]) -> str | None:
    """What of these rows is made up."""
    judged = judged_mark(sum(row.judged for row in rows), sum(row.judges for row in rows))
    return marks(judged, MARK_EPISODES if any(row.made_up for row in rows) else None)


def page(uri: str, record: Fields, cursor: int, max_bytes: int) -> RecordPage:
    """The record in at most about `max_bytes` of JSON: its long fields share what the short ones leave.

    A cut field is text (JSON text where it was a list), from character `cursor` on.
    """
    sizes = {name: len(_json(value).encode()) for name, value in record.items()}
    if cursor == 0 and sum(sizes.values()) <= max_bytes:
        return RecordPage(uri=uri, record=record)
    long = [name for name, size in sizes.items() if size > SHORT]
    room = max(max_bytes - sum(size for name, size in sizes.items() if name not in long), 500) // max(len(long), 1)
    texts = {name: _text(record[name]) for name in long}
    widest = max((len(_json(text).encode()) / len(text) for text in texts.values()), default=1.0)
    step = max(int(room / widest), 1)
    cut = {name: text[cursor : cursor + step] for name, text in texts.items()}
    goes_on = any(len(text) > cursor + step for text in texts.values())
    return RecordPage(uri=uri, record={**record, **cut}, next_cursor=cursor + step if goes_on else None)


def _find(parts: Sequence[str], request: RecordRequest, connection: Connection, store: Store) -> _Found | _Rows:
    match parts:
        case ["audits"]:
            return _audits(connection, request.cursor)
        case ["runs", run_id]:
            spec = read_spec(run_records.read_run(connection, run_id).request_json, run_id)
            return _Found(run_report(store, run_id).model_dump(), run_marks(spec))
        case ["rubrics"]:
            listed = rubric_details.list_rubrics(connection, request.cursor, request.max_bytes // LEAST_ROW + 1)
            return _Rows("rubrics", listed, rubric_details.count_rubrics(connection))
        case ["rubrics", identity]:
            return _Found(*rubric_record(connection, identity))
        case ["audits", name]:
            return _audit(connection, judging_records.read_audit(connection, name).audit_id)
        case ["audits", name, kind] if kind in BY_KIND:
            audit = judging_records.read_audit(connection, name)
            most = request.max_bytes // LEAST_ROW + 1
            rows = record_lists.list_kind(connection, audit.audit_id, kind, request.cursor, most)
            return _Rows(kind, rows, queries.count_of(connection, BY_KIND[kind][0], audit.audit_id))
        case ["audits", name, kind, identity] if kind in BY_KIND:
            audit = judging_records.read_audit(connection, name)
            record = queries.read_one(connection, audit.audit_id, kind, identity)
            return _linked(connection, audit, kind, record)
    raise InvalidInput(
        "No such address. Allowed are misjudge://audits, misjudge://audits/NAME, misjudge://audits/NAME/summary, "
        "misjudge://runs/ID, misjudge://rubrics, misjudge://rubrics/ID, misjudge://reports, misjudge://reports/PATH, "
        f"misjudge://audits/NAME/KIND and misjudge://audits/NAME/KIND/ID, KIND being one of {', '.join(BY_KIND)}."
    )


def _audits(connection: Connection, cursor: int) -> _Rows:
    """Every audit from the cursor on, each with its mark."""
    found = record_lists.list_audits(connection)
    rows = [audit._replace(shown={**audit.shown, "marked": _marked([audit])}) for audit in found[cursor:]]
    return _Rows("audits", rows, len(found))


def _audit(connection: Connection, audit_id: str) -> _Found:
    """An audit, and what of it is made up."""
    (listed,) = record_lists.list_audits(connection, audit_id)
    facts = queries.read_audit_facts(connection, audit_id)
    return _Found({**facts, "simulated": listed.shown["simulated"]}, _marked([listed]))


def _linked(connection: Connection, audit: AuditRow, kind: str, record: Fields) -> _Found:
    """The record with what belongs to it, such as a trajectory's checks."""
    if kind == "pairs":
        return _pair(connection, audit, record)
    if kind in {"verdicts", "probes"}:
        return _verdict(connection, audit, record)
    if kind == "trajectories":
        checks = queries.read_checks(connection, record["trajectory_id"])
        return _Found({**record, "checks": checks}, MARK_EPISODES if record["simulated"] else None)
    if kind in _OF_RUBRICS:
        return _Found(*_OF_RUBRICS[kind](connection, audit, record))
    if kind == "logs" and record["simulated"]:
        return _Found(record, MARK if record["role"] in JUDGE_ROLES else MARK_EPISODES)
    return _Found(record)


def _pair(connection: Connection, audit: AuditRow, record: Fields) -> _Found:
    """A pair with its outcome by judge, and the addresses of its task, sides and verdicts."""
    pair_id = record["pair_id"]
    rows = queries.read_pair_rows(connection, audit.audit_id, pair_id)
    verdicts = queries.read_verdict_ids(connection, audit.audit_id, pair_id)
    sides = {side: record_uri(audit.name, "trajectories", record[side]) for side in ("trajectory_a", "trajectory_b")}
    linked = {
        **record,
        **sides,
        "task": record_uri(audit.name, "tasks", record["task_id"]),
        "outcome_by_judge": rows,
        "verdicts": [record_uri(audit.name, "verdicts", verdict) for verdict in verdicts],
    }
    judged = any(queries.is_simulated(connection, audit.audit_id, row["judge_fingerprint"]) for row in rows)
    made = queries.has_simulated_sides(connection, audit.audit_id, pair_id)
    return _Found(linked, marks(MARK if judged else None, MARK_EPISODES if made else None))


def _verdict(connection: Connection, audit: AuditRow, record: Fields) -> _Found:
    """A verdict with the addresses of its log and ruling; it is made up where its judge or what it is on is."""
    links = {"log": record_uri(audit.name, "logs", record["log_id"])} if record["log_id"] else {}
    verdict_id = record.get("verdict_id")
    if verdict_id is not None and rubric_details.applied_rules(connection, verdict_id):
        links["ruling"] = record_uri(audit.name, "rulings", verdict_id)
    judged = queries.is_simulated(connection, audit.audit_id, record["judge_id"])
    made = queries.is_made_up_under(connection, audit.audit_id, record)
    marked = marks(MARK if judged else None, MARK_EPISODES if made else None)
    return _Found({**record, **links, "simulated": judged or made}, marked)


def _only(record: Fields, wanted: Sequence[str] | None) -> Fields:
    if wanted is None:
        return record
    unknown = sorted(set(wanted) - set(record))
    if unknown:
        raise InvalidInput(f"This record has no field {unknown[0]!r}. It has: {', '.join(record)}.")
    return {name: record[name] for name in wanted}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)
