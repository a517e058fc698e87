"""Rules about the tools that the agent called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes.rules import AskedFirstRule, ToolCalledRule, ToolNotCalledRule, ToolOrderRule
from misjudge_tools.episodes.told import Told


class Called(NamedTuple):
    """A call that was made. `arguments` is None where they are no JSON object; `succeeded`: answered, with no error."""

    name: str
    arguments: Mapping[str, Any] | None
    succeeded: bool


class _Answered(NamedTuple):
    call: ToolCall
    answer: str | None


def calls_of(messages: Sequence[Message]) -> tuple[Called, ...]:
    """The calls in order, each with its answer: by its id, or else by its place among the calls of one message."""
    made: list[_Answered] = []
    first = 0
    for message in messages:
        if message.role == "assistant" and message.tool_calls:
            first = len(made)
            made += [_Answered(call, None) for call in message.tool_calls]
        elif message.role == "tool":
            waiting = [at for at in range(first, len(made)) if made[at].answer is None]
            by_id = [at for at in waiting if message.tool_call_id and made[at].call.id == message.tool_call_id]
            for at in (by_id or waiting)[:1]:
                made[at] = _Answered(made[at].call, message.content)
    return tuple(Called(call.name, _object(call.arguments), _is_success(answer)) for call, answer in made)


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_success(answer: str | None) -> bool:
    return answer is not None and "error" not in (_object(answer) or {})


def tool_called(rule: ToolCalledRule, messages: Sequence[Message]) -> Told:
    count = sum(
        _is_call(call, rule.value, rule.arguments) and (call.succeeded or not rule.succeeded)
        for call in calls_of(messages)
    )
    enough = rule.at_least <= count and (rule.at_most is None or count <= rule.at_most)
    return Told(enough, f"called {count} times" if count != 1 else "called once")


def tool_not_called(rule: ToolNotCalledRule, messages: Sequence[Message]) -> Told:
    called = any(_is_call(call, rule.value, rule.arguments) for call in calls_of(messages))
    return Told(not called, "called" if called else "not called")


def tool_order(rule: ToolOrderRule, messages: Sequence[Message]) -> Told:
    names = iter(call.name for call in calls_of(messages))
    reached = 0
    for wanted in rule.values:
        if wanted not in names:  # which takes the names up to it
            break
        reached += 1
    return Told(reached == len(rule.values), f"{reached} of {len(rule.values)} were called in this order")


def asked_first(rule: AskedFirstRule, messages: Sequence[Message]) -> Told:
    answers, asked = 0, False
    for message in messages:
        if any(call.name == rule.value for call in message.tool_calls):
            return Told(answers >= rule.turns, f"the customer had answered {answers} times before the first call")
        if message.role == "assistant" and message.content.strip():
            asked = True
        elif message.role == "user" and asked:
            answers, asked = answers + 1, False
    return Told(True, "never called")


def _is_call(call: Called, name: str, arguments: Mapping[str, Any]) -> bool:
    if call.name != name:
        return False
    given = call.arguments or {}
    return all(key in given and _same(value, given[key]) for key, value in arguments.items())


def _same(wanted: Any, given: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but neither true nor "1"."""
    if isinstance(wanted, bool) or isinstance(given, bool):
        return wanted is given
    if isinstance(wanted, dict) and isinstance(given, dict):
        return wanted.keys() == given.keys() and all(_same(wanted[key], given[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(given, list):
        return len(wanted) == len(given) and all(map(_same, wanted, given))
    return bool(wanted == given)
