"""The size rule, in one place: a result is at most 9 kB, its numbers are as long as they tell something, it is cut by
whole rows, and says what it left out.

Codex cuts longer results in the middle, where JSON breaks; Claude Code puts very long ones into a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from misjudge_server.asking_further import further

LIMIT = 9_000
ROW_MAPS = frozenset({"judges", "kappa", "preview", "pass_hat_k_by_agent", "intervals", "asked_at", "why"})
"""Objects whose members are rows: they may be cut like lists."""
DETAILS = (
    *("writers_by_domain", "gaps_by_domain", "accuracy_by_domain"),
    *("checks", "conflicts", "inversions"),
)
"""Rows of the section on rubrics that say more of its others, the first to be left out first."""


SECTIONS_FIRST_OUT = (
    *("provenance", "power", "corrected", "agreement", "slices", "three_way", "bias", "conflicts", "cost", "ranking"),
    *("tokens", "buckets", "kappa", "policies", "gaps", "checklist", "consistency"),
)
"""Sections of a summary that go whole before a row of the others does, the first one first; the verdict never does."""
SUMMARY = "summarize_audit"
RECORD = "read_record"
AS_STORED = frozenset({RECORD, "import_records"})
"""Tools that show what people gave, and not what was worked out: their numbers stay whole."""
ROOM = 700
"""Bytes for saying what was left out."""
DIGITS = 6


def rounded(value: Any) -> Any:
    """The value with six decimals in its numbers, of those below 1 with six significant digits."""
    if isinstance(value, float) and math.isfinite(value) and value:
        return round(value, DIGITS - min(math.floor(math.log10(abs(value))) + 1, 0))
    if isinstance(value, dict):
        return {name: rounded(member) for name, member in value.items()}
    return [rounded(member) for member in value] if isinstance(value, list) else value


def as_sent(tool: str, result: dict[str, Any], limit: int = LIMIT) -> dict[str, Any]:
    """The result of a tool as its caller gets it: rounded where it was worked out, and cut to `limit` bytes."""
    if tool == RECORD and is_summary(result):
        around = size_of({**result, "record": {}})
        return {**result, "record": as_sent(SUMMARY, result["record"], limit - around)}
    return fit(tool, result if tool in AS_STORED else rounded(result), limit)


def is_summary(page: dict[str, Any]) -> bool:
    """Whether a record is the summary of an audit, and no stored thing."""
    return str(page["uri"]).endswith("/summary") and {"schema", "audit"} <= page["record"].keys()


class _Rows(NamedTuple):
    path: tuple[str, ...]
    rows: list[Any] | dict[str, Any]
    size: int


def fit(tool: str, result: dict[str, Any], limit: int = LIMIT) -> dict[str, Any]:
    """The result in at most `limit` bytes of JSON, as far as its rows can be cut.

    The last rows go first, of the widest rows that stand side by side, and those that only say more of others before
    all. `left_out` counts the rows cut, by where they stood.
    """
    if size_of(result) <= limit:
        return result
    cut: dict[str, Any] = json.loads(json.dumps(result))
    left_out: dict[tuple[str, ...], int] = {}
    sections = _without_sections(cut, limit) if tool == SUMMARY else []
    while True:
        whole = {**cut, "left_out": _named(left_out), "left_out_next": further(tool, result, left_out)}
        if sections:
            whole["sections_left_out"] = sections
        excess = size_of(whole) - limit
        widest = max(_row_sets(cut), key=lambda rows: (_needless(rows), rows.size), default=None)
        if excess <= 0 or widest is None:
            return whole
        _cut(widest, excess, left_out)


def _without_sections(summary: dict[str, Any], limit: int) -> list[str]:
    """Take sections out of a summary, at the top and of each judge, until the rest is nearly short enough; their names.

    One section alone stays: it was asked for. What is missing of a section that is not there goes first.
    """
    parts = [part for part in (summary, *(summary.get("judges") or {}).values()) if isinstance(part, dict)]
    gone: list[str] = []
    for name in SECTIONS_FIRST_OUT:
        if size_of(summary) <= limit - ROOM or not _others(parts, name):
            continue
        if any(part.get(name) for part in parts):
            gone.append(name)
            for part in parts:
                part.pop(name, None)
                part["why"] = {what: why for what, why in part.get("why", {}).items() if not _is_of(what, name)}
    return gone


def _is_of(reason: str, section: str) -> bool:
    return reason.partition(".")[0] == section


def _others(parts: Iterable[dict[str, Any]], name: str) -> bool:
    """Whether anything but this section was asked for."""
    said = {"why", "judges", "warnings", "schema", "audit", "marked", "judge", "simulated", name}
    return any(value for part in parts for key, value in part.items() if key not in said)


def _needless(rows: _Rows) -> int:
    """How little is lost with these rows."""
    if rows.path[-1] == "why":
        return len(DETAILS) + 1
    if "headline" in rows.path:
        return -1
    section, name = (*rows.path, "")[:2]
    return len(DETAILS) - DETAILS.index(name) if section == "rubrics" and name in DETAILS else 0


def _named(left_out: dict[tuple[str, ...], int]) -> dict[str, int]:
    return {".".join(path): count for path, count in left_out.items()}


def size_of(value: Any) -> int:
    """Bytes of the value as JSON on the wire."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _cut(widest: _Rows, excess: int, left_out: dict[tuple[str, ...], int]) -> None:
    """Drop rows from the end until `excess` bytes are gone, but at most half of them: the next may be wider now."""
    rows, freed = widest.rows, 0
    fewest = len(rows) // 2
    while len(rows) > fewest and freed < excess:
        name, row = rows.popitem() if isinstance(rows, dict) else (str(len(rows) - 1), rows.pop())
        freed += size_of(row) + (size_of(name) + 2 if isinstance(rows, dict) else 1)
        left_out[widest.path] = left_out.get(widest.path, 0) + 1
        gone = (*widest.path, name)
        for path in [path for path in left_out if path[: len(gone)] == gone]:
            del left_out[path]  # what was cut inside a row that is gone itself


def _row_sets(node: Any, path: tuple[str, ...] = ()) -> Iterator[_Rows]:
    """Lists and row maps at any depth that hold rows; of a single row, its own rows if it has any."""
    inner = [rows for name, value in _members(node) for rows in _row_sets(value, (*path, name))]
    is_rows = isinstance(node, list) or (isinstance(node, dict) and bool(path) and path[-1] in ROW_MAPS)
    if is_rows and node and (len(node) > 1 or not inner):
        yield _Rows(path, node, size_of(node))
    else:
        yield from inner


def _members(node: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(node, dict):
        return node.items()
    return ((str(index), value) for index, value in enumerate(node)) if isinstance(node, list) else ()
