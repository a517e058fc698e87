"""What a simulated gateway says as a customer. It goes by the prompt of the simulated user. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from misjudge_storage.types import Message
from misjudge_tools.episodes.scripted import answer
from misjudge_tools.suites.model import Language, SuiteTask

MARKS: Mapping[Language, str] = {
    "en": "You play a customer who writes to a support agent.",
    "zh": "你扮演一位联系客服的顾客",
}
"""How the prompts of the simulated user begin, by which they are known."""
HELLO: Mapping[Language, str] = {"en": "Hello, can you help me?", "zh": "你好，能帮我一下吗？"}


def customer_language(messages: Sequence[Message]) -> Language | None:
    """The language of the customer that is to be played; None where the messages ask for none."""
    told = [message.content for message in messages if message.role == "system"]
    return next((language for language, mark in MARKS.items() if any(mark in text for text in told)), None)


def simulated_user(tasks: Sequence[SuiteTask], language: Language, messages: Sequence[Message]) -> str:
    """What the customer says next, who tells the facts of the known task whose goal the prompt states.

    The first user message is the prompt's own; the later ones are the agent's. The last line may be an end mark.
    """
    prompt, *heard = [message.content for message in messages if message.role == "user"] or [""]
    stated = [task for task in tasks if task.goal.strip() in prompt]
    task = max(stated, key=lambda one: len(one.goal), default=None)
    if not heard:
        return HELLO[language] if task is None else task.opening
    turn = answer(heard[-1], () if task is None else task.facts, language)
    return turn.text if turn.end is None else f"{turn.text}\n{turn.end.upper()}"
