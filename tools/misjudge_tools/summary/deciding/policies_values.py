"""What it costs to trust the judge by this rule or that, and where it may be trusted."""

from __future__ import annotations

from misjudge_storage.types import Value


class PoliciesSection(Value):
    """What it costs to trust the judge by this rule or that, and where it may be trusted."""
