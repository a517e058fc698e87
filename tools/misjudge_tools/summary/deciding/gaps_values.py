"""Is the judge worse where the sides are near: near minus wide, for each gap."""

from __future__ import annotations

from misjudge_storage.types import Value


class GapsSection(Value):
    """Is the judge worse where the sides are near: near minus wide, for each gap."""
