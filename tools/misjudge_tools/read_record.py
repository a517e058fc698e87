"""`read_record`: one stored thing, whole, by its URI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from sqlalchemy import Connection

from misjudge_storage import judging_records, queries, run_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.judging_records import AuditRow
from misjudge_storage.queries import BY_KIND, Fields
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RecordRequest
from misjudge_tools.results import MARK, MARK_EPISODES, SCHEME, RecordPage, marks, record_uri
from misjudge_tools.runs.report import run_report
from misjudge_tools.runs.spec import RunSpec, run_marks

SHORT = 300
"""Bytes of JSON up to which a field is never cut."""
JUDGE_ROLES = frozenset({"judge", "success_check"})
"""Roles of calls that are asked of the judge; the others make the episodes."""


class _Found(NamedTuple):
    """A record, and what of it is made up."""

    record: Fields
    marked: str | None = None


async def read_record(request: RecordRequest, deps: Deps) -> RecordPage:
    """The record at a URI; longer fields are cut to a page and go on at `next_cursor`.

    Raises InvalidInput for a URI of another form and NotFound for one that leads nowhere.
    """
    record, marked = await asyncio.to_thread(_find, request.uri, deps.store)
    shown = record if request.fields is None else _only(record, request.fields)
    found = page(request.uri, shown, request.cursor, request.max_bytes)
    return found.model_copy(update={"marked": marked})


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


def _find(uri: str, store: Store) -> _Found:
    parts = [unquote(part) for part in uri.removeprefix(SCHEME).split("/")]
    with store.read() as connection:
        match parts if uri.startswith(SCHEME) else []:
            case ["audits"]:
                return _Found({"audits": queries.list_audits(connection)})
            case ["runs", run_id]:
                spec = RunSpec.model_validate_json(run_records.read_run(connection, run_id).request_json)
                return _Found(run_report(store, run_id).model_dump(), run_marks(spec))
            case ["audits", name]:
                audit = judging_records.read_audit(connection, name)
                return _Found(queries.read_audit_facts(connection, audit.audit_id))
            case ["audits", name, kind, identity] if kind in BY_KIND:
                audit = judging_records.read_audit(connection, name)
                record = queries.read_one(connection, audit.audit_id, kind, identity)
                return _linked(connection, audit, kind, record)
    raise InvalidInput(
        "No such address. Allowed are misjudge://audits, misjudge://audits/NAME, misjudge://runs/ID and "
        f"misjudge://audits/NAME/KIND/ID, KIND being one of {', '.join(BY_KIND)}."
    )


def _linked(connection: Connection, audit: AuditRow, kind: str, record: Fields) -> _Found:
    """The record with what belongs to it, such as a trajectory's checks."""
    if kind == "pairs":
        return _pair(connection, audit, record)
    if kind == "verdicts":
        return _verdict(connection, audit, record)
    if kind == "trajectories":
        checks = queries.read_checks(connection, record["trajectory_id"])
        return _Found({**record, "checks": checks}, MARK_EPISODES if record["simulated"] else None)
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
    """A verdict with the address of its log; it is made up where its judge or what it is on is."""
    log = {"log": record_uri(audit.name, "logs", record["log_id"])} if record["log_id"] else {}
    judged = queries.is_simulated(connection, audit.audit_id, record["judge_id"])
    pair_id, trajectory_id = record["pair_id"], record["trajectory_id"]
    if pair_id is not None:
        made = queries.has_simulated_sides(connection, audit.audit_id, pair_id)
    else:
        made = queries.is_made_up(connection, trajectory_id)
    marked = marks(MARK if judged else None, MARK_EPISODES if made else None)
    return _Found({**record, **log, "simulated": judged or made}, marked)


def _only(record: Fields, wanted: Sequence[str]) -> Fields:
    unknown = sorted(set(wanted) - set(record))
    if unknown:
        raise InvalidInput(f"This record has no field {unknown[0]!r}. It has: {', '.join(record)}.")
    return {name: record[name] for name in wanted}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)
