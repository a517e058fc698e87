"""What passes between an agent, a simulated user and the rollout that brings them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from misjudge_storage.types import Message, ToolCall

EndReason = Literal[
    "finished", "blocked", "agent_gave_up", "max_turns", "user_sim_error", "agent_error", "timeout", "recorded"
]
"""finished, blocked: the customer said so. The faults of a simulated user leave the agent's numbers."""


class AgentReply(NamedTuple):
    """What an agent does next: calls tools (what it says beside them is kept), or speaks to the customer."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class UserTurn(NamedTuple):
    """What the customer says next. `end` closes the episode."""

    text: str
    end: Literal["finished", "blocked"] | None = None


class AgentFailed(Exception):
    """The agent itself failed; the message is one sentence without its text."""


class Away(Exception):
    """What an episode needs could not be started or reached, which says nothing of its agent; the message is one
    sentence.
    """


class AgentAway(Away):
    """It was the agent itself."""


class ToolsAway(Away):
    """It was the server of the tools."""


class UserSimFailed(Exception):
    """The simulated user failed; the message is one sentence without its text."""


class Agent(Protocol):
    """An agent of one episode. It is given the whole conversation each time."""

    async def reply(self, messages: Sequence[Message]) -> AgentReply:
        """Raises AgentFailed or AgentAway."""
        ...


class User(Protocol):
    """A customer of one episode, who has said the task's opening."""

    async def reply(self, messages: Sequence[Message]) -> UserTurn:
        """Raises UserSimFailed."""
        ...
