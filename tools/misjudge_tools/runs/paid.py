"""How whatever costs is asked for: leave first, within the run's limits, and stored when it came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from misjudge_storage.errors import GatewayError
from misjudge_storage.judging_records import CellResult
from misjudge_storage.types import Role
from misjudge_tools.gateway.billing import Used
from misjudge_tools.runs.budget import Estimate, Refusal


class LimitReached(Exception):
    """A limit of the run has no room for the call."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class RunEnding(Exception):
    """The run is being stopped: nothing new is begun."""


class CallLost(Exception):
    """A call of a cell that takes several got no usable reply; the cell is tried again from there."""

    def __init__(self, error: GatewayError) -> None:
        super().__init__(type(error).__name__)
        self.error = error


class Leave:
    """A granted call; `used` is what it took, to be set before it is given back."""

    def __init__(self) -> None:
        self.used = Used(None, None)


class Paid(NamedTuple):
    """`leave` waits for room (raises LimitReached or RunEnding); `save` stores what came of a cell so far; `answered`
    is told of each reply, which shows that no gateway is away.
    """

    leave: Callable[[Role, str, Estimate], AbstractAsyncContextManager[Leave]]
    save: Callable[[CellResult], Awaitable[None]]
    answered: Callable[[], Awaitable[None]]
