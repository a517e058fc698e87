"""What a judge's reply says of single rules: met, failed, or nothing that can be read.

As with verdicts, nothing is guessed: a rule that the reply does not name by its number, or of which it says something
that was not offered, has no verdict, and the verdict on the whole stands all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from misjudge_tools.judging.reply_text import Fields, folded, kept_text

RULES_KEY: Final = "rules"
_MEETS: Final[Mapping[str, bool]] = {"meets": True, "fails": False, "满足": True, "不满足": False}


class RuleVerdict(NamedTuple):
    """Whether a rule, by its number from 1, is met: by either side of a pair, or (`met`) by one response. None: not
    said.
    """

    rule: int
    met_a: bool | None = None
    met_b: bool | None = None
    met: bool | None = None
    reason: str = ""


def read_rules(stated: object, number: int, *, compares: bool) -> tuple[RuleVerdict, ...]:
    """The verdicts in the field `rules` of a reply about `number` rules, in the order of the rules; `compares`: of both
    sides of a pair, as the labels show them. Never raises.

    What is no list, no object or names no rule that was shown is passed over. A rule that has several entries which
    differ has a verdict of None. Nothing is read of a reply that numbers a rule 0: it counts from there, and each of
    its verdicts would go to the rule before.
    """
    entries = stated if isinstance(stated, list) else []
    if any(_numbered_zero(entry) for entry in entries):
        return ()
    found: dict[int, RuleVerdict] = {}
    for entry in entries:
        rule = _rule_of(entry, number)
        if rule is None:
            continue
        said = _of_pair(rule, entry) if compares else _of_one(rule, entry)
        differs = rule in found and found[rule]._replace(reason="") != said._replace(reason="")
        found[rule] = RuleVerdict(rule) if differs else said
    return tuple(found[rule] for rule in sorted(found))


def rules_schema(*, compares: bool) -> dict[str, Any]:
    """JSON schema of the field `rules`: the reason comes before what it is the reason of."""
    word = {"type": "string", "enum": ["meets", "fails"]}
    said = {"a": word, "b": word} if compares else {"met": {"type": "boolean"}}
    fields = {"rule": {"type": "integer", "minimum": 1}, "reason": {"type": "string"}, **said}
    entry = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
    return {"type": "array", "items": entry}


def _numbered_zero(entry: object) -> bool:
    rule = entry.get("rule") if isinstance(entry, dict) else None
    return isinstance(rule, float) and rule == 0


def _rule_of(entry: object, number: int) -> int | None:
    """Which of the rules from 1 to `number` the entry is of. JSON numbers arrive as floats."""
    rule = entry.get("rule") if isinstance(entry, dict) else None
    return int(rule) if isinstance(rule, float) and rule.is_integer() and 1 <= rule <= number else None


def _of_pair(rule: int, entry: Fields) -> RuleVerdict:
    met_a, met_b = (_meets(entry.get(side)) for side in ("a", "b"))
    return RuleVerdict(rule, met_a=met_a, met_b=met_b, reason=kept_text(entry.get("reason")))


def _of_one(rule: int, entry: Fields) -> RuleVerdict:
    met = entry.get("met")
    return RuleVerdict(rule, met=met if isinstance(met, bool) else None, reason=kept_text(entry.get("reason")))


def _meets(value: object) -> bool | None:
    return _MEETS.get(folded(value)) if isinstance(value, str) else None
