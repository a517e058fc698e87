"""What an audit of this size can show, and how many pairs a wished precision takes."""

from __future__ import annotations

from misjudge_storage.types import Value


class PowerSection(Value):
    """What an audit of this size can show, and how many pairs a wished precision takes."""
