"""What to do, each with the numbers that say so."""

from __future__ import annotations

from misjudge_storage.types import Value


class RecommendationsSection(Value):
    """What to do, each with the numbers that say so."""
