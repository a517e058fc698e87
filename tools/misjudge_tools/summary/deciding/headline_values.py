"""The verdict in plain words, and the numbers that carry it."""

from __future__ import annotations

from misjudge_storage.types import Value


class HeadlineSection(Value):
    """The verdict in plain words, and the numbers that carry it."""
