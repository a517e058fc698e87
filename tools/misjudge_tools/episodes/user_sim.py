"""A customer that a model plays. It is told its goal and facts, and nothing of how success is checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from misjudge_storage.types import Message
from misjudge_tools.episodes.asking import Ask, ModelParams
from misjudge_tools.episodes.turns import UserSimFailed, UserTurn
from misjudge_tools.gateway.calls import Call, ChatTurn
from misjudge_tools.judging.prompts import PromptTemplate, load_prompt, own_prompt, render
from misjudge_tools.judging.reply_text import without_reasoning
from misjudge_tools.profiles import PromptText
from misjudge_tools.suites.model import Fact, Language, SuiteTask

TRIES = 2
"""How often a model that says nothing is asked."""

_MARKS = r"[ \t\r*_`~#>.。!！\-—()\[\]（）【】\"'“”]*"
_OWN_LINE = re.compile(rf"^{_MARKS}(FINISHED|BLOCKED){_MARKS}$", re.MULTILINE)
_AT_THE_END = re.compile(rf"(?<=[.!?…。！？]){_MARKS}(FINISHED|BLOCKED){_MARKS}\Z")
_LAST_CHARACTERS = 200
_FACT = {"en": "- When asked about {asks}: {says}", "zh": "- 被问到{asks}时：{says}"}
_OR = {"en": " or ", "zh": "或"}


class ModelUser:
    """A customer of one episode. The model sees the agent's words as its partner's, and no tool call or result."""

    def __init__(self, ask: Ask, params: ModelParams, task: SuiteTask, template: PromptTemplate) -> None:
        self._ask = ask
        self._params = params
        prompt = render(template, {"goal": task.goal, "facts": facts_as_told(task.facts, task.language)})
        # The request for the first message makes the conversation begin with the role that every model expects.
        self._told = (ChatTurn(role="system", content=prompt.system), ChatTurn(role="user", content=prompt.user))
        self._turn = 0

    async def reply(self, messages: Sequence[Message]) -> UserTurn:
        for _ in range(TRIES):
            text = await self._said((*self._told, *_turned(messages)))
            if text:
                return read_turn(text)
        raise UserSimFailed(f"The simulated user said nothing, {TRIES} times.")

    async def _said(self, turns: tuple[ChatTurn, ...]) -> str:
        self._turn += 1
        exchange = await self._ask(Call(role="user_sim", messages=turns, **self._params._asdict()), self._turn)
        if exchange.error is not None:
            raise UserSimFailed(f"The simulated user's model gave no reply. {exchange.error}")
        if exchange.refused:
            raise UserSimFailed("The simulated user's model refused to play the customer.")
        if exchange.tool_calls:
            raise UserSimFailed("The simulated user called a tool.")
        return without_reasoning(exchange.text or "").strip()


def user_template(language: Language, own: PromptText | None) -> PromptTemplate:
    """The prompt of a simulated user, a person's own where there is one. Raises InvalidInput as `own_prompt` does."""
    return load_prompt("user_sim", language) if own is None else own_prompt("user_sim", language, own)


def facts_as_told(facts: Sequence[Fact], language: Language) -> str:
    """One line a fact: what it answers, and the answer."""
    return "\n".join(_FACT[language].format(asks=_OR[language].join(fact.asks), says=fact.says) for fact in facts)


def read_turn(text: str) -> UserTurn:
    """What the customer says, and whether it ends there. Text after the line that ends is not said."""
    mark = _OWN_LINE.search(text) or _AT_THE_END.search(text, max(0, len(text) - _LAST_CHARACTERS))
    if mark is None:
        return UserTurn(text)
    return UserTurn(text[: mark.start()].strip(), "finished" if mark[1] == "FINISHED" else "blocked")


def _turned(messages: Sequence[Message]) -> list[ChatTurn]:
    spoken = [message for message in messages if message.role in {"user", "assistant"} and message.content.strip()]
    return [
        ChatTurn(
            role="assistant" if role == "user" else "user", content="\n\n".join(message.content for message in run)
        )
        for role, run in groupby(spoken, key=lambda message: message.role)
    ]
