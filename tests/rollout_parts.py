"""What tests of rollouts share: a task, agents and users that say what they were told to, a shop with a world."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import shop_tools
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.toolbox import Toolbox, open_toolbox
from misjudge_tools.episodes.turns import AgentReply, UserTurn
from misjudge_tools.episodes.world import World, build_image
from misjudge_tools.suites.model import SuiteTask, ToolFault, Tools, ToolSpec

SHOP_IMAGE = build_image(shop_tools.WORLD, None)
ALLOWED = Allowed(python=("shop_tools",))
TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 1}


def spec(name: str, required: Sequence[str] = (), **properties: Any) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=f"The tool {name}.",
        parameters={
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
    )


SHOP = Tools(
    python="shop_tools",
    tools=(
        spec("take", ["sku"], sku={"type": "string", "enum": ["tent", "lamp"]}, count=COUNT),
        spec("note", ["text"], text={"type": "string", "pattern": "^[^#]*$"}),
        spec("notes"),
        spec("commits_and_breaks"),
        spec("never_ends"),
        spec("says_too_much"),
        spec("says_what_json_cannot", ["what"], what=TEXT),
        spec("waits"),
    ),
)


def open_shop(world: World, *faults: ToolFault) -> Toolbox:
    return open_toolbox(SHOP, world, faults, ALLOWED, "session-1")


def a_call(name: str, call_id: str | None = None, /, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=json.dumps(arguments), id=call_id)


def a_task(**values: Any) -> SuiteTask:
    return SuiteTask.model_validate(
        {
            "task_id": "t1",
            "category": "order",
            "opening": "I want a tent.",
            "goal": "You want one tent.",
            "success_criteria": "One tent is taken.",
            "checks": [{"kind": "tool_called", "value": "take"}],
            **values,
        }
    )


class SaysInTurn:
    """An agent that gives these replies one after the other; a function makes one of the conversation."""

    def __init__(self, *replies: str | AgentReply | Exception | Callable[[Sequence[Message]], AgentReply]) -> None:
        self.replies = list(replies)
        self.seen: list[tuple[Message, ...]] = []

    async def reply(self, messages: Sequence[Message]) -> AgentReply:
        self.seen.append(tuple(messages))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            return AgentReply(reply)
        return reply if isinstance(reply, AgentReply) else reply(messages)


class AnswersInTurn:
    """A customer that gives these turns one after the other, and is finished at last."""

    def __init__(self, *turns: str | UserTurn | Exception) -> None:
        self.turns = list(turns)

    async def reply(self, messages: Sequence[Message]) -> UserTurn:
        turn = self.turns.pop(0) if self.turns else UserTurn("Thanks.", "finished")
        if isinstance(turn, Exception):
            raise turn
        return UserTurn(turn) if isinstance(turn, str) else turn
