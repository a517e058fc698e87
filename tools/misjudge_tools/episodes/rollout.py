"""Brings an agent, a customer and a world together until one of the typed ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.toolbox import Toolbox
from misjudge_tools.episodes.turns import Agent, AgentFailed, AgentReply, EndReason, User, UserSimFailed
from misjudge_tools.episodes.user_flags import flags_of
from misjudge_tools.episodes.world import World
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.suites.model import SuiteTask

MOST_STEPS = 30
"""Most replies of an agent that states no limit of its own."""
MOST_CHARACTERS = 200_000
"""Longest message, counted with the arguments of its calls."""
MOST_CALLS = 100
"""Most tool calls in one message."""
EMPTY_REPLIES = 2
"""So many empty replies in a row are giving up."""

_LONGEST_ID = 64
_NO_TOOLS = json.dumps({"error": "There are no tools."})


class Rollout(NamedTuple):
    """One episode. `flags`: what the simulated user did wrong; `before` and `after` are images of the world, None
    without one; `trouble` is the sentence of an agent_error or user_sim_error.
    """

    messages: tuple[Message, ...]
    end_reason: EndReason
    flags: tuple[str, ...]
    before: bytes | None
    after: bytes | None
    trouble: str | None


async def roll_out(
    task: SuiteTask,
    agent: Agent,
    user: User,
    toolbox: Toolbox | None,
    world: World | None,
    *,
    clock: Clock,
    timeout_s: float = 600,
    max_steps: int,
) -> Rollout:
    """Runs one episode, which the customer's opening begins.

    `max_turns`: the customer has said `task.max_turns` messages (with the opening) or the agent was asked `max_steps`
    times. The time is looked at between steps only, so that no call that costs is cut off. The caller closes the
    world. Whatever an agent or user raises beside AgentFailed and UserSimFailed passes through.
    """
    before = None if world is None else world.image()
    episode = _Episode(task, toolbox)
    end: EndReason
    trouble = None
    try:
        end = await _play(episode, agent, user, _Limits(clock, clock.now() + timeout_s, max_steps))
    except AgentFailed as failure:
        end, trouble = "agent_error", str(failure)
    except UserSimFailed as failure:
        end, trouble = "user_sim_error", str(failure)
    tools = () if toolbox is None else tuple(spec.name for spec in toolbox.specs)
    messages = tuple(episode.messages)
    after = None if world is None else world.image()
    return Rollout(messages, end, flags_of(task, messages, tools), before, after, trouble)


class _Limits(NamedTuple):
    clock: Clock
    end: float
    max_steps: int

    def time_is_up(self) -> bool:
        return self.clock.now() >= self.end


async def _play(episode: _Episode, agent: Agent, user: User, limits: _Limits) -> EndReason:
    empty = 0
    for _ in range(limits.max_steps):
        if limits.time_is_up():
            return "timeout"
        reply = await agent.reply(tuple(episode.messages))
        if not reply.tool_calls and not reply.text.strip():
            empty += 1
            if empty == EMPTY_REPLIES:
                return "agent_gave_up"
            continue
        empty = 0
        await episode.agent_acts(reply)
        if reply.tool_calls:
            continue
        if limits.time_is_up():
            return "timeout"
        if episode.user_turns == episode.task.max_turns:
            return "max_turns"
        turn = await user.reply(tuple(episode.messages))
        episode.user_says(turn.text, ends=turn.end is not None)
        if turn.end is not None:
            return turn.end
    return "max_turns"


class _Episode:
    """The conversation so far. Its messages are kept however the episode ends."""

    def __init__(self, task: SuiteTask, toolbox: Toolbox | None) -> None:
        self.task = task
        self.messages = [Message(role="user", content=task.opening)]
        self._toolbox = toolbox
        self._ids: set[str] = set()

    @property
    def user_turns(self) -> int:
        return sum(message.role == "user" for message in self.messages)

    async def agent_acts(self, reply: AgentReply) -> None:
        """Keeps the reply and the results of its calls, made in order. Raises AgentFailed for one that is too long,
        of which the beginning is kept.
        """
        if problem := _too_much(reply):
            self.messages.append(Message(role="assistant", content=reply.text[:MOST_CHARACTERS]))
            raise AgentFailed(problem)
        calls = self._with_ids(reply.tool_calls)
        self.messages.append(Message(role="assistant", content=reply.text, tool_calls=calls))
        for call in calls:
            result = _NO_TOOLS if self._toolbox is None else await self._toolbox.call(call)
            self.messages.append(Message(role="tool", content=result, tool_call_id=call.id, name=call.name))

    def user_says(self, text: str, *, ends: bool) -> None:
        """Raises UserSimFailed for a text that is too long, or empty where the conversation goes on."""
        if text.strip():
            self.messages.append(Message(role="user", content=text[:MOST_CHARACTERS]))
        if len(text) > MOST_CHARACTERS:
            raise UserSimFailed(f"The simulated user said more than {MOST_CHARACTERS:,} characters at once.")
        if not text.strip() and not ends:
            raise UserSimFailed("The simulated user said nothing.")

    def _with_ids(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls with ids that no other call of the episode has: some models repeat or omit them."""
        named = []
        for call in calls:
            own = call.id is not None and 0 < len(call.id) <= _LONGEST_ID and call.id not in self._ids
            call_id = call.id if own and call.id is not None else self._new_id()
            self._ids.add(call_id)
            named.append(call.model_copy(update={"id": call_id}))
        return tuple(named)

    def _new_id(self) -> str:
        number = len(self._ids) + 1
        while (candidate := f"call_{number}") in self._ids:
            number += 1
        return candidate


def _too_much(reply: AgentReply) -> str | None:
    if len(reply.tool_calls) > MOST_CALLS:
        return f"The agent made more than {MOST_CALLS} tool calls at once; none was carried out."
    written = len(reply.text) + sum(len(call.name) + len(call.arguments) for call in reply.tool_calls)
    if written > MOST_CHARACTERS:
        return f"The agent wrote more than {MOST_CHARACTERS:,} characters at once; no call in them was carried out."
    return None
