"""Rules about what the agent said to the customer."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from misjudge_storage.types import Message
from misjudge_tools.episodes.facts import holds_number, number_of, numbers_written, told
from misjudge_tools.episodes.json_answers import NoJson, fits, json_of
from misjudge_tools.episodes.rules import (
    Cell,
    ContainsRule,
    JsonSchemaRule,
    NotContainsRule,
    NotSaysRule,
    NumberRule,
    RegexRule,
    SaysRule,
    Scope,
)
from misjudge_tools.episodes.told import Told
from misjudge_tools.judging.patterns import Found, first_match

MOST_NUMBERS = 200
"""Different numbers and days: who writes more of them lists what might be right, and tells none."""
_TOO_LONG = Told(None, "the pattern takes too long on this text; make it simpler")


def said(messages: Sequence[Message], where: Scope) -> tuple[str, ...]:
    """What the customer could read of the agent, a message each; of the scope `answer` the last of them."""
    texts = tuple(message.content for message in messages if message.role == "assistant" and message.content.strip())
    return texts if where == "any" else texts[-1:]


def answer_of(messages: Sequence[Message]) -> str:
    return "".join(said(messages, "answer"))


def says(rule: SaysRule, messages: Sequence[Message]) -> Told:
    texts = said(messages, rule.where)
    listed = numbers_written(texts) > MOST_NUMBERS
    missing = [
        place
        for place, entry in enumerate(rule.facts, 1)
        if not any(
            _is_told(fact, texts)
            for fact in (entry if isinstance(entry, list) else [entry])
            if not (listed and holds_number(fact))
        )
    ]
    if missing and listed:
        return Told(False, "so many numbers that none of them is told")
    return Told(not missing, _listed("not told", missing) if missing else "all told")


def not_says(rule: NotSaysRule, messages: Sequence[Message]) -> Told:
    texts = said(messages, rule.where)
    found = [place for place, fact in enumerate(rule.facts, 1) if _is_told(fact, texts)]
    return Told(not found, _listed("told", found) if found else "none told")


def _is_told(fact: Cell, texts: Sequence[str]) -> bool:
    return any(told(fact, text) for text in texts)


def _listed(what: str, places: Sequence[int]) -> str:
    return f"{what}: fact {', '.join(map(str, places))} of the rule"


def contains(rule: ContainsRule | NotContainsRule, messages: Sequence[Message]) -> Told:
    wanted = rule.value if isinstance(rule.value, list) else [rule.value]
    texts = [_plain(text) for text in said(messages, rule.where)]
    found = any(_plain(value) in text for value in wanted for text in texts)
    return Told(found is (rule.kind == "contains"), "found" if found else "not found")


def _plain(text: str) -> str:
    """Text for comparison: full-width forms, case and runs of white space do not matter."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def regex(rule: RegexRule, messages: Sequence[Message]) -> Told:
    def tell(found: Found | None) -> Told:
        return Told((found is None) is rule.absent, "found" if found else "not found")

    return _told_by_match(rule, messages, tell)


def number_range(rule: NumberRule, messages: Sequence[Message]) -> Told:
    def tell(found: Found | None) -> Told:
        number = None if found is None else number_of(found.label)
        if number is None:
            return Told(False, "the pattern is not found" if found is None else "what is found is no number")
        inside = (rule.low is None or number >= rule.low) and (rule.high is None or number <= rule.high)
        return Told(inside, "in the range" if inside else "out of the range")

    return _told_by_match(rule, messages, tell)


def _told_by_match(
    rule: RegexRule | NumberRule, messages: Sequence[Message], tell: Callable[[Found | None], Told]
) -> Told:
    try:
        found = (first_match(rule.value, text) for text in said(messages, rule.where))
        return tell(next((match for match in found if match is not None), None))
    except TimeoutError:
        return _TOO_LONG


def json_schema(rule: JsonSchemaRule, messages: Sequence[Message]) -> Told:
    try:
        value = json_of(answer_of(messages))
    except NoJson:
        return Told(False, "the answer is no JSON")
    try:
        fitting = fits(value, rule.value)
    except TimeoutError:
        return _TOO_LONG
    return Told(fitting, "it fits the schema" if fitting else "it does not fit the schema")
