"""Satisfaction, success and human labels over time: where they disagree."""

from __future__ import annotations

from misjudge_storage.types import Value


class ThreeWaySection(Value):
    """Satisfaction, success and human labels over time: where they disagree."""
