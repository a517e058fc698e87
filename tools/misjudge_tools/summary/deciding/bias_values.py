"""What the judge likes that is not success: place, length, words, its own family, its own scores."""

from __future__ import annotations

from misjudge_storage.types import Value


class BiasSection(Value):
    """What the judge likes that is not success: place, length, words, its own family, its own scores."""
