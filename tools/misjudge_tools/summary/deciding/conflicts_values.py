"""Pairs on which the judge and the evidence disagree, by their ids."""

from __future__ import annotations

from misjudge_storage.types import Value


class ConflictsSection(Value):
    """Pairs on which the judge and the evidence disagree, by their ids."""
