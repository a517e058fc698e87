"""The size rule, in one place: a result is at most 9 kB, cut by whole rows, and says what it left out.

Codex cuts longer results in the middle, where JSON breaks; Claude Code puts very long ones into a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

LIMIT = 9_000
ROW_MAPS = frozenset({"judges", "kappa", "preview", "pass_hat_k_by_agent", "intervals"})
"""Objects whose members are rows: they may be cut like lists."""

ASK_FURTHER = {
    "summarize_audit": "summarize_audit with judge=LABEL or sections=[…] for what was left out",
    "judge": "summarize_audit for all verdicts together, read_record for one",
    "run_pair": "read_record for what was left out",
    "import_records": "read_record of misjudge://audits/NAME for every import",
    "read_record": "read_record with fields=[…] or cursor",
    "runs": "runs with run=ID for one of them",
}


class _Rows(NamedTuple):
    path: str
    rows: list[Any] | dict[str, Any]
    size: int


def fit(tool: str, result: dict[str, Any], limit: int = LIMIT) -> dict[str, Any]:
    """The result in at most `limit` bytes of JSON; `left_out` counts the rows cut by where they stood."""
    if size_of(result) <= limit:
        return result
    left_out: dict[str, int] = {}
    cut: dict[str, Any] = json.loads(json.dumps(result))
    cut["left_out"] = left_out
    cut["left_out_next"] = ASK_FURTHER.get(tool, "")
    while size_of(cut) > limit:
        candidates = [rows for rows in _row_sets(cut, "") if rows.rows]
        if not candidates:
            break
        largest = max(candidates, key=lambda rows: rows.size)
        _drop_last(largest.rows)
        left_out[largest.path] = left_out.get(largest.path, 0) + 1
    return cut


def size_of(value: Any) -> int:
    """Bytes of the value as JSON on the wire."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _drop_last(rows: list[Any] | dict[str, Any]) -> None:
    if isinstance(rows, list):
        rows.pop()
    else:
        rows.popitem()


def _row_sets(node: Any, path: str) -> Iterator[_Rows]:
    """Lists and row maps at any depth; `left_out` itself is not one."""
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    name = path.rpartition(".")[2]
    if isinstance(node, list) or (isinstance(node, dict) and name in ROW_MAPS):
        yield _Rows(path, node, size_of(node))
    for key, value in members:
        if key != "left_out":
            yield from _row_sets(value, f"{path}.{key}" if path else str(key))
