"""Numbered migrations, applied at open. A released file never changes; a change is a new number.

Each is a file `NNNN_name.sql` of statements that SQLite and Postgres both take, separated by a semicolon
at the end of a line. `schema_version` holds the numbers that were applied.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple


class Migration(NamedTuple):
    """One step: its number and its statements."""

    number: int
    statements: tuple[str, ...]


def split_statements(text: str) -> tuple[str, ...]:
    """The statements of a migration file; comment lines are dropped."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return tuple(part.strip() for part in re.split(r";\s*\n", body + "\n") if part.strip())


def all_migrations() -> tuple[Migration, ...]:
    """Every migration of this version, by number."""
    found = [
        Migration(int(entry.name[:4]), split_statements(entry.read_text(encoding="utf-8")))
        for entry in files(__name__).iterdir()
        if re.fullmatch(r"\d{4}_\w+\.sql", entry.name)
    ]
    return tuple(sorted(found))
