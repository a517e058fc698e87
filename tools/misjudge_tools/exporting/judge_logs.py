"""judge_logs.jsonl: every call of the audit, as `import --format judge-logs` reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection

from misjudge_storage.export_rows import log_rows
from misjudge_storage.hashing import canonical
from misjudge_tools.exporting.json_lines import write_jsonl
from misjudge_tools.exporting.keys import Hide, hidden

OURS: Final = re.compile(rb'\{"log_id": "[^"]*", "audit_id": "')
"""How such a file begins."""
_JSON: Final = ("params", "parsed_json", "shown_json")


def write_judge_logs(path: Path, connection: Connection, audit_id: str, hide: Hide) -> int:
    """Write the logs, the first call first; how many they were. Raises OSError."""
    return write_jsonl(path, hidden(_rows(connection, audit_id), hide))


def _rows(connection: Connection, audit_id: str) -> Generator[dict[str, Any], None, None]:
    with closing(log_rows(connection, audit_id)) as rows:
        for row in rows:
            yield {**row, **{name: _value(row[name]) for name in _JSON}}


def _value(stored: str | None) -> Any:
    """Stored JSON as what it says, where that is stored again as the same text; any other text as it is."""
    if stored is None:
        return None
    try:
        value = json.loads(stored)
        return value if canonical(value) == stored else stored
    except (ValueError, RecursionError):
        return stored
