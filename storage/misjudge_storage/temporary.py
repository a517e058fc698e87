"""How temporary tables are keyed, by dialect."""

from __future__ import annotations

NUMBERED = {"sqlite": "INTEGER PRIMARY KEY", "postgresql": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}
"""A column that numbers the rows, by dialect."""
KEYED = {"sqlite": "INTEGER PRIMARY KEY", "postgresql": "BIGINT PRIMARY KEY"}
"""A key that is a number; only of this very type it is SQLite's row number, which is found fastest."""
CLUSTERED = {"sqlite": "WITHOUT ROWID", "postgresql": ""}
"""Keeps the rows of a table in the order of its key, where the dialect has that."""
