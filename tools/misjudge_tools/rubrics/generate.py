"""Asking a model for rules: what it sees is the instruction alone, and what it wrote is read as text, never obeyed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from misjudge_storage.types import Rule, UnscoredReason
from misjudge_tools.gateway.calls import Call, Exchange
from misjudge_tools.judging.choice import JudgingSpec
from misjudge_tools.judging.pairing import fence
from misjudge_tools.judging.reply_text import TWICE, Fields
from misjudge_tools.rubrics.replies import QUOTE, object_schema, question, stated, unscored
from misjudge_tools.rubrics.rules import LONGEST, tidy, untagged

MOST_READ: Final = 1_000
"""Written rules that are looked at; far fewer are kept."""
LOCAL_RULES: Final = 4
LOCAL_RULE_CHARS: Final = 100
"""The local model writes endless lists and strings otherwise."""

_KEY: Final = "rules"
_YES: Final = frozenset({"true", "yes", "1"})
_ECHO: Final = re.compile(r"<[^<>]*>|[=\s]*(?:BEGIN|END) TASK [0-9a-f]{16}[=\s]*")
"""What a small model writes of its prompt: the example, and the marks of the fence."""
_FRAME: Final = re.compile(r"[\s{}\[\]｛｝,，:：\"'“”‘’＂`]+|true|false|rules|rule|hard", re.IGNORECASE)
_KEY_INSIDE: Final = re.compile(rf"{QUOTE}\s*[:：]")
_NAMED: Final = re.compile(r"rules|rule|hard|[\[\]]")


class DraftReading(NamedTuple):
    """A generated rubric, or why there is none.

    `written` counts what the list of the reply held. Of these `duplicates` said what an earlier one says, `left_out`
    were no rules or too many, `split` were made into several rules and `compound` ones left as they are.
    """

    rules: tuple[Rule, ...] = ()
    unscored_reason: UnscoredReason | None = None
    written: int = 0
    duplicates: int = 0
    left_out: int = 0
    split: int = 0
    compound: int = 0
    repaired: bool = False


class _Item(NamedTuple):
    """An entry of the list: its text, empty where it has none. `as_asked`: in the form that was asked for."""

    text: str
    hard: bool = False
    as_asked: bool = True


def task_block(instruction: str, token: str) -> str:
    """The instruction in its fence, as a writer sees it."""
    return fence("TASK", token, instruction).text


def generate_call(spec: JudgingSpec, instruction: str, token: str) -> Call:
    """The question for the rules of one instruction. `token` makes its fence."""
    values = {"task": task_block(instruction, token)}
    return question(spec, "rubric_generate", values, _schema(narrow=spec.kind == "local"), spec.max_tokens)


def read_draft(exchange: Exchange) -> DraftReading:
    """The rules that a reply states. Never raises.

    An empty list is an answer: no rules. A list of which no entry is a rule is none, and two different lists are a
    conflict.
    """
    found = stated(exchange, (_KEY,), _is_written)
    if isinstance(found, str):
        return DraftReading(unscored_reason=found)
    drafts: list[tuple[_Item, ...] | UnscoredReason] = [_items(fields[_KEY]) for fields in found.objects]
    last = drafts[-1]
    reading = DraftReading(unscored_reason=last) if isinstance(last, str) else _read(last, found.repaired)
    if reading.unscored_reason is None and len(_said(drafts)) > 1:
        reading = DraftReading(unscored_reason="conflict")
    if reading.unscored_reason is not None:
        return DraftReading(unscored_reason=unscored(exchange, reading.unscored_reason))
    return reading


def _schema(*, narrow: bool) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"} | ({"maxLength": LOCAL_RULE_CHARS} if narrow else {})
    rules = {"type": "array", "items": object_schema({"rule": text, "hard": {"type": "boolean"}})}
    return object_schema({_KEY: rules | ({"maxItems": LOCAL_RULES} if narrow else {})})


def _items(value: object) -> tuple[_Item, ...] | UnscoredReason:
    if value is TWICE:
        return "conflict"
    return tuple(map(_item, value)) if isinstance(value, list) else "parse_error"


def _item(entry: object) -> _Item:
    if not isinstance(entry, dict):
        return _Item(entry if isinstance(entry, str) else "", hard=False, as_asked=False)
    text, hard = entry.get("rule"), entry.get("hard")
    # A veto that is lost makes another rubric than the one that was written.
    meant = hard in (True, 1) or (isinstance(hard, str) and hard.strip().lower() in _YES)
    return _Item(text if isinstance(text, str) else "", meant, as_asked=isinstance(hard, bool))


def _said(drafts: Sequence[tuple[_Item, ...] | UnscoredReason]) -> set[object]:
    """The different lists that are stated, and whether one is stated twice."""
    lists = [draft if isinstance(draft, str) else tuple((item.text, item.hard) for item in draft) for draft in drafts]
    return {said for said in lists if said != "parse_error"}


def _read(items: tuple[_Item, ...], repaired: bool) -> DraftReading:
    rules = [rule for rule in map(_rule, items[:MOST_READ]) if rule is not None]
    tidied = tidy(rules)
    if items and not tidied.rules:
        return DraftReading(unscored_reason="parse_error")
    return DraftReading(
        rules=tidied.rules,
        written=len(items),
        duplicates=tidied.duplicates,
        left_out=tidied.left_out + len(items) - len(rules),
        split=tidied.split,
        compound=tidied.compound,
        repaired=repaired or not all(item.as_asked for item in items),
    )


def _rule(item: _Item) -> Rule | None:
    """The entry as a rule; None for one that is empty, too long, or a part of the prompt."""
    line = untagged(item.text)
    if not line.text or len(line.text) > LONGEST or _ECHO.fullmatch(line.text):
        return None
    return Rule(text=line.text, hard=item.hard or (line.hard and not item.as_asked), high_level=line.high)


def _is_written(text: str, fields: Fields) -> bool:
    """Whether the broken list is closed, holds each of its rules whole, and nothing else but their frame."""
    entries = fields[_KEY]
    if not isinstance(entries, list):
        return False
    frame, position = list[str](), 0
    for entry in entries:
        place = _place(text, entry.get("rule") if isinstance(entry, dict) else entry, position)
        if place is None:
            return False
        frame.append(text[position : place.start()])
        position = place.end()
    frame.append(text[position:])
    around = " ".join(frame)
    keys = Counter(key for entry in entries if isinstance(entry, dict) for key in entry) + Counter([_KEY, *"[]"])
    closed = "]" in frame[-1] and around.find("[") < around.find("]")
    return closed and Counter(_NAMED.findall(around)) == keys and not _FRAME.sub("", around)


def _place(text: str, rule: object, start: int) -> re.Match[str] | None:
    """Where the rule stands from there on: as it is or with JSON's escapes, in quotes, its entry going on or ending.

    None too for what is no text, and for a text with a key, which has swallowed a part of its entry or the next one.
    """
    if not isinstance(rule, str) or _KEY_INSIDE.search(rule):
        return None
    spelled = {rule, json.dumps(rule)[1:-1], json.dumps(rule, ensure_ascii=False)[1:-1]}
    alternatives = "|".join(map(re.escape, sorted(spelled)))
    return re.compile(rf"{QUOTE}(?:{alternatives}){QUOTE}(?=\s*[,，}}｝\]])").search(text, start)
