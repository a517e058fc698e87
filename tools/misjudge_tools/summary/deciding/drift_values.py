"""What changed since a baseline audit, and what of it the judge did."""

from __future__ import annotations

from misjudge_storage.types import Value


class DriftSection(Value):
    """What changed since a baseline audit, and what of it the judge did."""
