"""The eight points of a release, answered from what is stored."""

from __future__ import annotations

from typing import Literal

from misjudge_storage.types import Value

Point = Literal[
    "fixed_tasks",
    "roles_apart",
    "full_logs",
    "both_orders",
    "by_bucket",
    "spot_checks",
    "versions",
    "monitoring",
]
State = Literal["yes", "partly", "no", "not_needed"]


class ChecklistItem(Value):
    """One point: how it stands, with the numbers that say so, and what is left to do where anything is."""

    point: Point
    state: State
    said: str
    to_do: str | None = None


class ChecklistSection(Value):
    """The eight points in order, how many hold (`yes` or `not_needed`), and what to do about the judge first."""

    items: tuple[ChecklistItem, ...]
    done: int
    recommendation: str | None = None
