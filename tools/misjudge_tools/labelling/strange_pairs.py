"""Sheets that hold pairs which the reviewer was not given: those of another person, of another audit, of none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from misjudge_storage import review_records
from misjudge_storage.engine import Store
from misjudge_storage.review_records import Holder
from misjudge_tools.labelling.giving import Session
from misjudge_tools.labelling.sheets import Filled, Problem, nothing_stored

_OF_ANOTHER_AUDIT: Final = "this pair is of another audit. Read the sheet into the audit that it was written of."
_OF_SOMEBODY_ELSE: Final = (
    "this pair was given to another reviewer. Name the one whose sheet it is, as reviewer (--reviewer)."
)
_TOKEN: Final = re.compile(r"[\w-]{1,40}")


def refuse_strange(store: Store, of: Session, path: Path, filled: Filled) -> None:
    """Refuse a sheet with answers to pairs that this reviewer was not given. Raises InvalidInput, with the lines."""
    with store.read() as connection:
        holders = review_records.holders_of(connection, [row.answer.pair for row in filled.rows])
    told = ((row.line, _strange(of, row.answer.pair, holders.get(row.answer.pair))) for row in filled.rows)
    problems = [Problem(line, what) for line, what in told if what is not None]
    if problems:
        raise nothing_stored(path, problems)


def _strange(of: Session, token: str, holder: Holder | None) -> str | None:
    if holder is None:
        said = f' "{token}"' if _TOKEN.fullmatch(token) else ""
        return f"no pair was given out under the token{said}. Keep what was written in the column pair."
    if holder.audit_id != of.audit.audit_id:
        return _OF_ANOTHER_AUDIT
    return None if holder.reviewer == of.reviewer else _OF_SOMEBODY_ELSE
