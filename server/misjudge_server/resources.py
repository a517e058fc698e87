"""MCP resources: what is stored and the reports, at the addresses that `read_record` takes, by the same code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)
from pydantic import ValidationError

from misjudge_server.complaints import complaint
from misjudge_server.fitting import LIMIT, RECORD, as_sent, is_summary, size_of
from misjudge_server.lazy_deps import LazyDeps
from misjudge_tools.deps import Deps
from misjudge_tools.requests import RecordRequest
from misjudge_tools.results import SCHEME, RecordPage

JSON: Final = "application/json"
AUDITS: Final = f"{SCHEME}audits"
REPORTS: Final = f"{SCHEME}reports"
TEMPLATES: Final[Mapping[str, str]] = {
    "audits/{audit}": "An audit: its judges, counts, imports and runs.",
    "audits/{audit}/summary": "Its numbers with intervals, as summarize_audit gives them.",
    "audits/{audit}/pairs/{pair}": "A pair: what each judge picked, and what the evidence says.",
    "audits/{audit}/logs/{log}": "A call of a model: its raw reply.",
    "audits/{audit}/{kind}": "The ids of one kind: pairs, trajectories, verdicts, probes, logs, tasks, imports, "
    "drafts, matchings or rulings.",
    "audits/{audit}/{kind}/{id}": "One stored thing of such a kind.",
    "rubrics/{rubric}": "A rubric by its name or id: its rules.",
    "runs/{run}": "A run: its state and cost.",
    "reports/{path}": "A report that misjudge wrote in this folder.",
}
"""Address behind the scheme → what is there."""
_SMALLER: Final = (5_000, 3_500, 2_400, 1_600, 1_000, 500)
"""Bytes of a page, where the usual one is too long: in quotes within quotes a text may be three times as long."""
_AROUND: Final = 2_000
"""Bytes beside the page."""
_ALL: Final = 10**9


def listed_templates() -> list[ResourceTemplate]:
    """The templates as `resources/templates/list` sends them."""
    return [
        ResourceTemplate(uri_template=SCHEME + place, name=place.replace("/{", " ").replace("}", ""), description=said)
        for place, said in TEMPLATES.items()
    ]


async def listed_resources(deps: LazyDeps, cursor: str | None) -> ListResourcesResult:
    """A page of the lists, the reports, and each audit with its summary, the latest first.

    A cursor is how many are left: new audits stand in front and move none of them.
    """
    found = await _all_resources(deps)
    left = _left(cursor, len(found))
    rows, room = list[Resource](), LIMIT - _AROUND
    for resource in found[len(found) - left :]:
        room -= size_of(resource.model_dump(by_alias=True, exclude_none=True)) + 1
        if rows and room < 0:
            break
        rows.append(resource)
    left -= len(rows)
    return ListResourcesResult(resources=rows, next_cursor=str(left) if left > 0 else None)


def _left(cursor: str | None, total: int) -> int:
    if cursor is None:
        return total
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise MCPError(INVALID_PARAMS, "The cursor is none that resources/list gave. List again without one.")
    return min(int(cursor), total)


async def _all_resources(deps: LazyDeps) -> list[Resource]:
    fixed = Resource(uri=AUDITS, name="audits", description="Every audit, the latest first.", mime_type=JSON)
    there = await deps.existing()
    if there is None:
        return [fixed]
    reports, audits = await _listed("reports", there), await _listed("audits", there)
    note = reports.get("note")
    more = [Resource(uri=REPORTS, name="reports", description=note, mime_type=JSON)] if note else []
    return [fixed, *more, *map(_report, reports["reports"]), *map(_audit, audits["audits"])]


async def _listed(name: str, deps: Deps) -> Mapping[str, Any]:
    """A list of `read_record`, whole."""
    whole = RecordRequest(uri=SCHEME + name).model_copy(update={"max_bytes": _ALL})
    return (await _page(whole, deps)).record


def _audit(row: Mapping[str, Any]) -> Resource:
    said = f"{row['pairs']} pairs." + (f" {row['marked']}" if row["marked"] else "")
    uri = f"{AUDITS}/{quote(row['name'], safe='')}/summary"
    return Resource(uri=uri, name=f"summary of {row['name']}", description=said, mime_type=JSON)


def _report(row: Mapping[str, Any]) -> Resource:
    return Resource(uri=row["uri"], name=row["path"], mime_type=row["mime_type"], size=row["size"])


async def read_resource(deps: LazyDeps, uri: str) -> ReadResourceResult:
    """What is at an address, in at most 9 kB; a longer thing names the address where it goes on.

    Raises MCPError for a URI that `read_record` does not take, MisjudgeError for what it refuses.
    """
    try:
        request = RecordRequest(uri=uri)
    except ValidationError as error:
        raise MCPError(INVALID_PARAMS, complaint(error, RecordRequest)) from None
    page = await _page(request, await deps.existing())
    shown = _contents(page, uri, LIMIT)
    for max_bytes in _SMALLER:
        if _size(shown) <= LIMIT:
            break
        if not is_summary(page.model_dump()):  # which is long to work out, and cut by its sections
            page = await _page(request.model_copy(update={"max_bytes": max_bytes}), await deps.existing())
        shown = _contents(page, uri, max_bytes + _AROUND)
    return shown


async def _page(request: RecordRequest, there: Deps | None) -> RecordPage:
    """What is stored, or in the folder where there is no store."""
    from misjudge_tools.read_record import read_record, read_without_store

    if there is not None:
        return await read_record(request, there)
    from misjudge_server.settings import load_settings

    return await read_without_store(request, (await asyncio.to_thread(load_settings)).roots)


def _size(result: ReadResourceResult) -> int:
    return size_of(result.model_dump(mode="json", by_alias=True, exclude_none=True))


def _contents(page: RecordPage, uri: str, limit: int) -> ReadResourceResult:
    """A report as the text that it is, anything else as JSON."""
    goes_on = None if page.next_cursor is None else f"{page.uri}?cursor={page.next_cursor}"
    if "mime_type" in page.record and "text" in page.record:
        said = [page.marked, goes_on and f"It goes on at {goes_on}"]
        notes = [TextResourceContents(uri=uri, mime_type="text/plain", text=note) for note in said if note]
        text = TextResourceContents(uri=uri, mime_type=page.record["mime_type"], text=page.record["text"])
        return ReadResourceResult(contents=[text, *notes])
    structured = as_sent(RECORD, page.model_dump(mode="json"), limit)
    told = json.dumps({**structured, "next": goes_on} if goes_on else structured, ensure_ascii=False)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=JSON, text=told)])
