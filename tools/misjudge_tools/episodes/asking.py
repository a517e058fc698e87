"""How an episode asks a model: through one callable that the run gives to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from misjudge_tools.gateway.calls import Call, Exchange

Ask = Callable[[Call, int], Awaitable[Exchange]]
"""Asks a call, which is the given turn of its role in the episode, from 1. What it raises ends the rollout."""


class ModelParams(NamedTuple):
    """A model and its parameters; None is left to the gateway."""

    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
