"""Reading a judge's reply: a verdict that the reply states in the declared form, or *unscored* with a reason.

Nothing is guessed. A value that was not offered leaves the reply unscored, never wrong; prose gives no
verdict; two different verdicts are a conflict. In JSON the last claim must be readable and all readable
claims must agree; in the text forms the last match binds, so that a tag quoted from a transcript loses
against the judge's own. All readings are in terms of the labels *shown*: whoever showed them un-swaps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeVar

from pydantic import Field, model_validator

from misjudge_storage.types import Preference, Scale, UnscoredReason, Value
from misjudge_tools.judging.forms import FormSpec
from misjudge_tools.judging.patterns import group_count, last_match, last_of
from misjudge_tools.judging.reply_text import (
    LABEL_LIMIT,
    TWICE,
    Fields,
    claims_in,
    folded,
    is_whole,
    kept_text,
    repaired,
    without_reasoning,
)
from misjudge_tools.judging.rule_verdicts import RULES_KEY, RuleVerdict, read_rules, rules_schema

TEXT_LIMIT: Final = 20_000
"""Characters, from the end of a reply, that a pattern sees."""

_PAIR_KEYS: Final = ("reasons", "score_a", "score_b", "winner")
_TAG: Final = re.compile(rf"\[\[([^\[\]\n]{{1,{LABEL_LIMIT}}})\]\]")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")

_LETTERS: Final[Mapping[str, Preference]] = {"a": "A", "b": "B", "tie": "tie"}
_PASSES: Final[Mapping[str, bool]] = {
    **{"pass": True, "true": True, "1": True, "通过": True},
    **{"fail": False, "false": False, "0": False, "不通过": False},
}
_TAGS: Final[Mapping[str, Preference]] = {
    **_LETTERS,
    "c": "tie",  # MT-Bench
    "a>b": "A",  # Arena-Hard, from here on
    "a>>b": "A",
    "a=b": "tie",
    "b=a": "tie",
    "b>a": "B",
    "b>>a": "B",
}


class ReplyForm(Value):
    """The form in which a judge states its verdict.

    - `json`: one object, see `pair_schema` and `satisfaction_schema`.
    - `letter`: the whole reply is a label (of a form that scores: a number).
    - `tag`: the last `[[…]]` holds a label, by default those of MT-Bench and Arena-Hard (of a form that scores: a
      number).
    - `regex`: the one group of the last match of `pattern`, a Python `re` over the last 20,000 characters.
      What takes it longer than 0.2 s leaves the reply unscored.

    `labels` maps what the judge writes to a preference, such as `(("甲", "A"), ("乙", "B"), ("平局", "tie"))`;
    empty means A, B, tie. Labels are compared after NFKC, without outer spaces and case. Raises ValueError.
    """

    kind: Literal["json", "letter", "tag", "regex"] = "json"
    pattern: Annotated[str, Field(max_length=1_000)] | None = None
    labels: tuple[tuple[str, Preference], ...] = ()

    @model_validator(mode="after")
    def _pattern_can_be_read(self) -> Self:
        if (self.pattern is None) == (self.kind == "regex"):
            raise ValueError("A pattern belongs to the reply form regex, and only to it: give both or neither.")
        groups = 1 if self.pattern is None else group_count(self.pattern)
        if groups != 1:
            raise ValueError(
                f"The pattern has {groups} capture groups and needs exactly one, around the label; "
                "write the others as (?:…) and literal brackets as \\( or \\[."
            )
        return self

    @model_validator(mode="after")
    def _labels_can_be_told_apart(self) -> Self:
        if self.labels and self.kind == "json":
            raise ValueError("The reply form json has the fixed labels A, B and tie: leave labels out.")
        names = [folded(name) for name, _ in self.labels]
        if "" in names:
            raise ValueError(f"A label is 1 to {LABEL_LIMIT} characters that are not all spaces.")
        if len(set(names)) < len(names):
            raise ValueError("Two labels are the same when case and width are ignored: name each label once.")
        return self


class PairReading(NamedTuple):
    """A pairwise reply, read: a `winner`, or None and why. `contradicts_scores`: it scored the winner worse.

    `rules` are those rules of which anything was said, by the labels shown.
    """

    winner: Preference | None = None
    score_a: float | None = None
    score_b: float | None = None
    reasons: str = ""
    unscored_reason: UnscoredReason | None = None
    repaired: bool = False
    contradicts_scores: bool = False
    rules: tuple[RuleVerdict, ...] = ()


class SatisfactionReading(NamedTuple):
    """The reply of a form that scores, read: a `score` on the judge's raw scale, or None and why; with `rules` as of a
    pair.
    """

    score: float | None = None
    reasons: str = ""
    unscored_reason: UnscoredReason | None = None
    repaired: bool = False
    rules: tuple[RuleVerdict, ...] = ()


class _Slot(NamedTuple):
    """The text in which a text form states its verdict, and what the judge wrote before it."""

    text: str
    reasons: str


_Reading = TypeVar("_Reading", PairReading, SatisfactionReading)


def read_pair(
    reply: str | None,
    form: ReplyForm,
    *,
    scale: Scale,
    ties: bool = True,
    rules: int = 0,
    truncated: bool = False,
    refused: bool = False,
) -> PairReading:
    """The verdict of a pairwise reply. Never raises.

    `truncated` and `refused` are what the gateway says of the reply; a refusal is never guessed from prose.
    A truncated reply counts only if the verdict is all it says, and is never repaired. Without `ties` one that names a
    tie is unscored. `rules` is the number of rules that the judge was shown; a JSON reply states what it found of each.
    """
    if refused:
        return PairReading(unscored_reason="refused")
    outcome: PairReading | UnscoredReason
    if form.kind == "json":
        outcome = _bind(reply or "", _PAIR_KEYS, lambda fields: _pair(fields, scale, ties, rules), truncated, rules)
    else:
        slot = _slot(reply or "", form, truncated)
        winner = _named(_labels(form).get(folded(slot.text)), ties)
        outcome = PairReading(winner, reasons=slot.reasons) if winner else "parse_error"
    if isinstance(outcome, PairReading):
        return outcome
    return PairReading(unscored_reason="truncated" if truncated else outcome)


def read_satisfaction(
    reply: str | None,
    form: ReplyForm,
    asked: FormSpec,
    *,
    rules: int = 0,
    truncated: bool = False,
    refused: bool = False,
) -> SatisfactionReading:
    """The score of a reply to a form that scores; as `read_pair`, but in the text forms the label is a decimal number.

    A score that is not on the scale of `asked` leaves the reply unscored. Where it is asked whether a response passes,
    true and false score 1 and 0, and numbers nothing; in the text forms the label is pass or fail, or 1 or 0.
    """
    if refused:
        return SatisfactionReading(unscored_reason="refused")
    outcome: SatisfactionReading | UnscoredReason
    if form.kind == "json":
        keys = (asked.reason_key, asked.score_key)
        outcome = _bind(reply or "", keys, lambda fields: _satisfaction(fields, asked, rules), truncated, rules)
    else:
        slot = _slot(reply or "", form, truncated)
        stated = _PASSES.get(folded(slot.text)) if asked.passes else _number(slot.text)
        score = _scored(stated, asked)
        outcome = "parse_error" if score is None else SatisfactionReading(score, slot.reasons)
    if isinstance(outcome, SatisfactionReading):
        return outcome
    return SatisfactionReading(unscored_reason="truncated" if truncated else outcome)


def pair_schema(scale: Scale, *, ties: bool = True, rules: bool = False) -> dict[str, Any]:
    """JSON schema of a pairwise reply. Rules, then reasons come first, so that the winner follows from them."""
    winner = {"type": "string", "enum": ["A", "B", "tie"] if ties else ["A", "B"]}
    types = ({"type": "string"}, _score_schema(scale), _score_schema(scale), winner)
    fields: dict[str, Any] = dict(zip(_PAIR_KEYS, types, strict=True))
    return _schema({RULES_KEY: rules_schema(compares=True), **fields} if rules else fields)


def satisfaction_schema(asked: FormSpec) -> dict[str, Any]:
    """JSON schema of a reply to a form that scores: rules, where it has any, the reason, then the score on the raw
    scale.
    """
    numbers = _score_schema(asked.scale, "integer" if asked.whole_scores else "number")
    score = {"type": "boolean"} if asked.passes else numbers
    fields: dict[str, Any] = {asked.reason_key: {"type": "string"}, asked.score_key: score}
    return _schema({RULES_KEY: rules_schema(compares=False), **fields} if asked.rules else fields)


def _bind(
    reply: str, keys: Sequence[str], read: Callable[[Fields], _Reading | UnscoredReason], truncated: bool, rules: int
) -> _Reading | UnscoredReason:
    """The last claim of a JSON reply, if it can be read and no other claim that can be read says otherwise.

    What a claim says of rules counts only where nothing of it had to be repaired.
    """
    claims = claims_in(reply, (RULES_KEY, *keys) if rules else keys)
    if not claims or (truncated and not is_whole(reply, claims[0])):
        return "parse_error"
    broken = claims[-1].fields is None and not truncated
    if broken:
        claims[-1] = repaired(reply, claims[-1], keys)
    outcomes: list[_Reading | UnscoredReason]
    outcomes = ["parse_error" if claim.fields is None else read(claim.fields) for claim in claims]
    last = outcomes[-1]
    if isinstance(last, str):
        return last
    # The first field of a reading is its verdict.
    said = {outcome if isinstance(outcome, str) else outcome[0] for outcome in outcomes} - {"parse_error"}
    if len(said) > 1:
        return "conflict"
    return last._replace(repaired=True, rules=()) if broken else last


def _pair(fields: Fields, scale: Scale, ties: bool, rules: int) -> PairReading | UnscoredReason:
    stated = {key: fields[key] for key in _PAIR_KEYS[1:] if key in fields}
    if TWICE in stated.values():
        return "conflict"
    winner = _named(_winner(stated.pop("winner")), ties)
    scores = {key: _score(value, scale) for key, value in stated.items()}
    if winner is None or None in scores.values():
        return "parse_error"
    a, b = scores.get("score_a"), scores.get("score_b")
    return PairReading(
        winner,
        a,
        b,
        kept_text(fields.get("reasons")),
        contradicts_scores=_contradicts(winner, a, b, scale),
        rules=read_rules(fields.get(RULES_KEY), rules, compares=True),
    )


def _satisfaction(fields: Fields, asked: FormSpec, rules: int) -> SatisfactionReading | UnscoredReason:
    stated = fields[asked.score_key]
    if stated is TWICE:
        return "conflict"
    score = _scored(stated, asked)
    if score is None:
        return "parse_error"
    reason = kept_text(fields.get(asked.reason_key))
    return SatisfactionReading(score, reason, rules=read_rules(fields.get(RULES_KEY), rules, compares=False))


def _named(winner: Preference | None, ties: bool) -> Preference | None:
    return winner if ties or winner != "tie" else None


def _slot(reply: str, form: ReplyForm, truncated: bool) -> _Slot:
    text = without_reasoning(reply).strip()
    if form.kind == "letter":
        return _Slot(text, "")
    text = text[-TEXT_LIMIT:]
    found = last_match(form.pattern, text) if form.pattern else last_of(_TAG.finditer(text))
    if found is None or (truncated and (found.start, found.end) != (0, len(text))):
        return _Slot("", "")
    return _Slot(found.label, kept_text(text[: found.start].strip()))


def _labels(form: ReplyForm) -> Mapping[str, Preference]:
    if form.labels:
        return {folded(name): preference for name, preference in form.labels}
    return _TAGS if form.kind == "tag" else _LETTERS


def _winner(value: object) -> Preference | None:
    return _LETTERS.get(folded(value)) if isinstance(value, str) else None


def _number(text: str) -> float | None:
    digits = folded(text)
    return float(digits) if _NUMBER.fullmatch(digits) else None


def _scored(value: object, asked: FormSpec) -> float | None:
    """The score that a value stands for in this form, None where it was not offered."""
    if asked.passes:
        return float(value) if isinstance(value, bool) else None
    return _score(value, asked.scale)


def _score(value: object, scale: Scale) -> float | None:
    """The value if it is a finite number on the scale. JSON numbers arrive as floats; a string is not a number."""
    if not isinstance(value, float) or not math.isfinite(value):
        return None
    too_low = scale.low is not None and value < scale.low
    too_high = scale.high is not None and value > scale.high
    return None if too_low or too_high else value


def _contradicts(winner: Preference, a: float | None, b: float | None, scale: Scale) -> bool:
    if a is None or b is None or winner == "tie":
        return False
    lead = a - b if scale.better == "higher" else b - a
    return lead < 0 if winner == "A" else lead > 0


def _schema(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def _score_schema(scale: Scale, kind: Literal["number", "integer"] = "number") -> dict[str, Any]:
    limits = {"minimum": scale.low, "maximum": scale.high}
    return {"type": kind} | {name: limit for name, limit in limits.items() if limit is not None}
