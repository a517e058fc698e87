"""Where the judge is wrong: by category, turns, models, language."""

from __future__ import annotations

from misjudge_storage.types import Value


class SlicesSection(Value):
    """Where the judge is wrong: by category, turns, models, language."""
