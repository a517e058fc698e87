"""The demo's twelve recorded pairs: short customer-service episodes whose success is known from their tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import Field

from misjudge_storage.types import Message, Name, Value


class Proof(Value):
    """What success looks like in a transcript. All stated conditions hold on a side that succeeded.

    `tool` was called with exactly `arguments`; an assistant message holds `says`; the tool `never` was not called.
    """

    tool: str
    arguments: Mapping[str, str | int | float]
    says: str | None = None
    never: str | None = None


class DemoPair(Value):
    """One task with two agents' whole trajectories, which of them succeeded, and by what evidence."""

    task_id: Name
    task_prompt: str = Field(min_length=1)
    success_criteria: str = Field(min_length=1)
    hard_constraints: str = ""
    category: Name
    agent_a: Name
    agent_b: Name
    messages_a: tuple[Message, ...] = Field(min_length=2)
    messages_b: tuple[Message, ...] = Field(min_length=2)
    success_a: bool
    success_b: bool
    evidence_a: str = Field(min_length=1)
    evidence_b: str = Field(min_length=1)
    proof: Proof


@cache
def load_demo_pairs() -> tuple[DemoPair, ...]:
    """The twelve pairs in file order; ten are decidable, five of them for each side."""
    text = files(__name__).joinpath("pairs.jsonl").read_text(encoding="utf-8")
    return tuple(DemoPair.model_validate_json(line) for line in text.splitlines())
