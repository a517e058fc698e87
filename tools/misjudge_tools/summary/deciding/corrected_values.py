"""What rests on a judge or a model's check, corrected by human labels."""

from __future__ import annotations

from misjudge_storage.types import Value


class CorrectedSection(Value):
    """What rests on a judge or a model's check, corrected by human labels."""
