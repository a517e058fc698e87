"""The eight points of a release, answered from what is stored."""

from __future__ import annotations

from misjudge_storage.types import Value


class ChecklistSection(Value):
    """The eight points of a release, answered from what is stored."""
