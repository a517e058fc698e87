"""Agents of the gateway, and the agent that a configuration means."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.asking import Ask, ModelParams
from misjudge_tools.episodes.command_agent import CommandAgent
from misjudge_tools.episodes.conversation import Surroundings, tools_as_openai
from misjudge_tools.episodes.http_agent import HttpAgent
from misjudge_tools.episodes.turns import Agent, AgentFailed, AgentReply
from misjudge_tools.gateway.calls import Call, ChatTurn
from misjudge_tools.judging.reply_text import without_reasoning
from misjudge_tools.suites.model import ToolSpec

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NAME_CHARACTERS = 64


def open_agent(
    configured: settings.ChatAgent | settings.HttpAgent | settings.CommandAgent,
    around: Surroundings,
    ask: Ask,
    params: ModelParams,
) -> Agent:
    """The agent of one episode. `ask` and `params` are for a model of the gateway."""
    if isinstance(configured, settings.ChatAgent):
        instructions = around.instructions if configured.system is None else configured.system.text
        return ChatAgent(ask, params, instructions=instructions, tools=around.tools)
    if isinstance(configured, settings.HttpAgent):
        return HttpAgent(configured, around)
    return CommandAgent(configured, around)


class ChatAgent:
    """A model with tools. Its hidden reasoning is no part of what it says."""

    def __init__(self, ask: Ask, params: ModelParams, *, instructions: str, tools: Sequence[ToolSpec]) -> None:
        self._ask = ask
        self._params = params
        self._system = (ChatTurn(role="system", content=instructions),) if instructions else ()
        self._tools = json.dumps(tools_as_openai(tools), ensure_ascii=False) if tools else None
        self._turn = 0

    async def reply(self, messages: Sequence[Message]) -> AgentReply:
        self._turn += 1
        turns = (*self._system, *(_as_turn(message) for message in messages))
        call = Call(role="agent", messages=turns, tools=self._tools, **self._params._asdict())
        exchange = await self._ask(call, self._turn)
        if exchange.error is not None:
            raise AgentFailed(f"The agent's model gave no reply. {exchange.error}")
        return AgentReply(without_reasoning(exchange.text or "").strip(), exchange.tool_calls)


def _as_turn(message: Message) -> ChatTurn:
    calls = tuple(_as_sent(call) for call in message.tool_calls)
    return ChatTurn(role=message.role, content=message.content, tool_calls=calls, tool_call_id=message.tool_call_id)


def _as_sent(call: ToolCall) -> ToolCall:
    """The call as every gateway takes it back: many refuse a conversation with a call that cannot be read, which would
    leave the model no way to make it anew.
    """
    name = _NOT_IN_NAMES.sub("_", call.name)[:_NAME_CHARACTERS] or "_"
    try:
        readable = isinstance(json.loads(call.arguments), dict)
    except (ValueError, RecursionError):
        readable = False
    return call.model_copy(update={"name": name, "arguments": call.arguments if readable else "{}"})
