"""Matching rules: which gold rule, if any, says what a generated one says. A model is asked, and its answer checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from misjudge_storage.types import Rule, UnscoredReason
from misjudge_tools.gateway.calls import Call, Exchange
from misjudge_tools.judging.choice import LOCAL_REASON_CHARS, JudgingSpec
from misjudge_tools.judging.pairing import fence
from misjudge_tools.judging.reply_text import TWICE, Fields, kept_text
from misjudge_tools.judging.ruling import RULE_TOKENS
from misjudge_tools.rubrics.replies import QUOTE, object_schema, question, stated, unscored
from misjudge_tools.rubrics.rules import normal_form, numbered

_EACH: Final = ("reason", "match")
_LIST: Final = "matches"
_KEYS: Final = frozenset({"rule", "reason", "match"})
_NONE: Final = ("none", "null")
_MOST_DIGITS: Final = 6
_END: Final = r"\s*[,，}｝\]]"


class Question(NamedTuple):
    """A call and the generated rules it asks about, by their numbers, in the order in which it numbers them from 1.

    `batch`: it asks for a list of answers, else for the answer about its one rule.
    """

    rules: tuple[int, ...]
    call: Call
    batch: bool


class MatchReading(NamedTuple):
    """What a reply says of one generated rule: the gold rule that means the same, None where none does; or why not."""

    gold_rule: int | None = None
    unscored_reason: UnscoredReason | None = None
    reason: str = ""
    repaired: bool = False


class _Said(NamedTuple):
    """A key and, but for a reason, the number under it as it is written."""

    key: str
    number: str


_Answers = Mapping[int, Sequence[MatchReading]]
"""What one object says, by the number of the rule in the question."""


def equal_rules(generated: Sequence[Rule], gold: Sequence[Rule]) -> dict[int, int]:
    """The generated rules that say a gold one but for case, width and punctuation, with the first such gold rule."""
    first: dict[str, int] = {}
    for number, rule in enumerate(gold, start=1):
        first.setdefault(normal_form(rule.text), number)
    forms = ((number, normal_form(rule.text)) for number, rule in enumerate(generated, start=1))
    return {number: first[form] for number, form in forms if form and form in first}


def match_questions(
    spec: JudgingSpec,
    instruction: str,
    generated: Sequence[Rule],
    gold: Sequence[Rule],
    asked: Sequence[int],
    token: str,
) -> list[Question]:
    """What a matcher is asked about the `asked` generated rules, numbered from 1: about each, or about all at once.

    Nothing where there is no rule to ask about or no gold one. `token` makes the fences.
    """
    if not (asked and gold):
        return []
    shown = {"task": fence("TASK", token, instruction).text, "gold": fence("GOLD", token, numbered(gold)).text}
    rules = {number: generated[number - 1] for number in asked}
    narrow = spec.kind == "local"
    if spec.form == "rubric_match_batch":
        values = {**shown, "rules": fence("RULES", token, numbered([*rules.values()])).text}
        schema = _batch_schema(len(rules), len(gold), narrow=narrow)
        tokens = spec.max_tokens + RULE_TOKENS * len(rules)
        return [Question(tuple(rules), question(spec, "rubric_match", values, schema, tokens), batch=True)]
    schema = object_schema(_answer_schema(len(gold), narrow=narrow))
    questions = []
    for number, rule in rules.items():
        values = {**shown, "rule": fence("RULE", token, rule.text).text}
        call = question(spec, "rubric_match", values, schema, spec.max_tokens)
        questions.append(Question((number,), call, batch=False))
    return questions


def read_matches(exchange: Exchange, question: Question, gold: int) -> dict[int, MatchReading]:
    """What the reply says of every rule of the question; `gold` is the number of gold rules. Never raises.

    A rule is unscored where the last object says nothing of it that can be read, or two answers differ.
    """
    found = stated(exchange, (_LIST,) if question.batch else _EACH, _is_written)
    if isinstance(found, str):
        return {number: MatchReading(unscored_reason=found) for number in question.rules}
    said = [
        _all(fields[_LIST], len(question.rules), gold) if question.batch else {1: [_answer(fields, gold)]}
        for fields in found.objects
    ]
    readings = {}
    for place, number in enumerate(question.rules, start=1):
        reading = _agreed([answers.get(place, ()) for answers in said])
        if reading.unscored_reason is not None:
            readings[number] = MatchReading(unscored_reason=unscored(exchange, reading.unscored_reason))
        else:
            readings[number] = reading._replace(repaired=reading.repaired or found.repaired)
    return readings


def _answer_schema(gold: int, *, narrow: bool) -> dict[str, Any]:
    if narrow:
        reason = {"type": "string", "maxLength": LOCAL_REASON_CHARS}
        return {"reason": reason, "match": {"enum": [*range(1, gold + 1), None]}}
    number = {"type": "integer", "minimum": 1, "maximum": gold}
    return {"reason": {"type": "string"}, "match": {"anyOf": [number, {"type": "null"}]}}


def _batch_schema(rules: int, gold: int, *, narrow: bool) -> dict[str, Any]:
    number = {"enum": [*range(1, rules + 1)]} if narrow else {"type": "integer", "minimum": 1, "maximum": rules}
    entries = {"type": "array", "items": object_schema({"rule": number, **_answer_schema(gold, narrow=narrow)})}
    return object_schema({_LIST: entries | ({"minItems": rules, "maxItems": rules} if narrow else {})})


def _agreed(said: Sequence[Sequence[MatchReading]]) -> MatchReading:
    """The last answer about a rule, if the last object gives one and no other that can be read is different."""
    last = said[-1][-1] if said[-1] else MatchReading(unscored_reason="parse_error")
    if last.unscored_reason is not None:
        return last
    others = {(one.gold_rule, one.unscored_reason) for answers in said for one in answers}
    differ = {other for other in others if other[1] != "parse_error"} - {(last.gold_rule, None)}
    return MatchReading(unscored_reason="conflict") if differ else last


def _all(value: object, rules: int, gold: int) -> _Answers:
    """The answers of one list. One that numbers rules from 0 says nothing: which ones it means is not known."""
    if value is TWICE:
        return {place: [MatchReading(unscored_reason="conflict")] for place in range(1, rules + 1)}
    entries = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
    answers: dict[int, list[MatchReading]] = {}
    for entry in entries:
        number = _whole(entry.get("rule"))
        if number is not None:
            answer = _answer(entry, gold)
            in_words = isinstance(entry.get("rule"), str)
            answers.setdefault(number, []).append(answer._replace(repaired=answer.repaired or in_words))
    return {} if 0 in answers else answers


def _answer(fields: Fields, gold: int) -> MatchReading:
    value = fields.get("match", "")
    if value is TWICE:
        return MatchReading(unscored_reason="conflict")
    reason = kept_text(fields.get("reason"))
    if value is None or (isinstance(value, str) and value.strip().lower() in _NONE):
        return MatchReading(None, reason=reason, repaired=value is not None)
    number = _whole(value)
    if number is None or not 1 <= number <= gold:
        return MatchReading(unscored_reason="parse_error")
    return MatchReading(number, reason=reason, repaired=isinstance(value, str))


def _whole(value: object) -> int | None:
    """The whole number that is meant: a number, or a string of nothing but digits. JSON numbers arrive as floats."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    digits = value.strip() if isinstance(value, str) else ""
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def _is_written(text: str, fields: Fields) -> bool:
    """Whether the broken text says exactly these numbers, in this order and each one whole, wherever it has one."""
    entries = fields.get(_LIST, [fields])
    if not isinstance(entries, list):
        return False
    if not all(isinstance(entry, dict) and _KEYS.issuperset(entry) for entry in entries):
        return False
    keys = _KEYS if _LIST in fields else _KEYS - {"rule"}
    found = [_Said(key, _spelled(key, entry[key])) for entry in entries for key in entry if key in keys]
    return found == _mentioned(text, "|".join(sorted(keys)))


def _spelled(key: str, value: object) -> str:
    """The number as a text would write it."""
    if key == "reason":
        return ""
    return "null" if value is None else f"{value:.0f}" if isinstance(value, float) else f"{value}"


def _mentioned(text: str, keys: str) -> list[_Said]:
    """What the text writes behind each mention of a key, empty where it is cut or goes on."""
    value = rf"(?:(null|-?[0-9]+)|{QUOTE}([\w ]*){QUOTE})(?={_END})"
    found = re.finditer(rf"\b({keys}){QUOTE}?\s*[:：]\s*(?:{value})?", text)
    return [_Said(key[1], "" if key[1] == "reason" else key[2] or key[3] or "") for key in found]
