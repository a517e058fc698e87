"""How far judges and people agree beyond chance, and whether judges err together."""

from __future__ import annotations

from misjudge_storage.types import Value


class AgreementSection(Value):
    """How far judges and people agree beyond chance, and whether judges err together."""
