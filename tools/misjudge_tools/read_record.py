"""`read_record`: one stored thing, whole, by its URI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from misjudge_storage import judging_records, queries
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.queries import BY_KIND, Fields
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RecordRequest
from misjudge_tools.results import MARK, SCHEME, RecordPage, record_uri
from misjudge_tools.runs.report import run_report

SHORT = 300
"""Bytes of JSON up to which a field is never cut."""


async def read_record(request: RecordRequest, deps: Deps) -> RecordPage:
    """The record at a URI; longer fields are cut to a page and go on at `next_cursor`.

    Raises InvalidInput for a URI of another form and NotFound for one that leads nowhere.
    """
    record = await asyncio.to_thread(_find, request.uri, deps.store)
    shown = record if request.fields is None else _only(record, request.fields)
    found = page(request.uri, shown, request.cursor, request.max_bytes)
    return found.model_copy(update={"marked": MARK}) if _made_up(record) else found


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


def _find(uri: str, store: Store) -> Fields:
    parts = [unquote(part) for part in uri.removeprefix(SCHEME).split("/")]
    with store.read() as connection:
        match parts if uri.startswith(SCHEME) else []:
            case ["audits"]:
                return {"audits": queries.list_audits(connection)}
            case ["runs", run_id]:
                return run_report(store, run_id).model_dump()
            case ["audits", name]:
                audit = judging_records.read_audit(connection, name)
                return queries.read_audit_facts(connection, audit.audit_id)
            case ["audits", name, kind, identity] if kind in BY_KIND:
                audit = judging_records.read_audit(connection, name)
                record = queries.read_one(connection, audit.audit_id, kind, identity)
                return _with_links(store, audit.audit_id, name, kind, record)
    raise InvalidInput(
        "No such address. Allowed are misjudge://audits, misjudge://audits/NAME, misjudge://runs/ID and "
        f"misjudge://audits/NAME/KIND/ID, KIND being one of {', '.join(BY_KIND)}."
    )


def _with_links(store: Store, audit_id: str, audit: str, kind: str, record: Fields) -> Fields:
    """The record with what belongs to it: a pair's outcome by judge and its verdicts, a trajectory's checks."""
    with store.read() as connection:
        if kind == "pairs":
            pair_id = record["pair_id"]
            verdicts = queries.read_verdict_ids(connection, audit_id, pair_id)
            sides = {side: record_uri(audit, "trajectories", record[side]) for side in ("trajectory_a", "trajectory_b")}
            return {
                **record,
                **sides,
                "task": record_uri(audit, "tasks", record["task_id"]),
                "outcome_by_judge": queries.read_pair_rows(connection, audit_id, pair_id),
                "verdicts": [record_uri(audit, "verdicts", verdict) for verdict in verdicts],
            }
        if kind == "trajectories":
            return {**record, "checks": queries.read_checks(connection, record["trajectory_id"])}
        if kind == "verdicts":
            log = {"log": record_uri(audit, "logs", record["log_id"])} if record["log_id"] else {}
            return {**record, **log, "simulated": queries.is_simulated(connection, audit_id, record["judge_id"])}
    return record


def _made_up(record: Fields) -> bool:
    """Whether the record, or one of the outcomes in it, comes from a simulated judge."""
    return bool(record.get("simulated")) or any(row["simulated"] for row in record.get("outcome_by_judge", ()))


def _only(record: Fields, wanted: Sequence[str]) -> Fields:
    unknown = sorted(set(wanted) - set(record))
    if unknown:
        raise InvalidInput(f"This record has no field {unknown[0]!r}. It has: {', '.join(record)}.")
    return {name: record[name] for name in wanted}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)
