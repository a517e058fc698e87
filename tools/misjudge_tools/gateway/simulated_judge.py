"""A made-up judge with planted faults: what the simulated gateway answers. Pure.

Every draw derives from (seed, model, prompt), so the same prompt always gets the same reply, and a share
in `SimulatedBias` is met over many prompts, not in each run of ten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Preference
from misjudge_tools.gateway.calls import ChatTurn
from misjudge_tools.gateway.simulated_bias import SimulatedBias, Truth, decide, draws_of, facts_of, satisfies

_FENCED = re.compile(
    r"^=== BEGIN RESPONSE(?: (?P<label>[AB]))? (?P<mark>[0-9a-f]{16}) ===\n"
    r"(?P<text>.*?)\n?^=== END RESPONSE(?: (?P=label))? (?P=mark) ===$",
    re.DOTALL | re.MULTILINE,
)
_ASKED_FOR = re.compile(r'"(passed|score)"\s*:')
"""The field by which a system prompt tells its form: a success check, or a rating from 1 to 7."""
_TAG = re.compile(r"\[\[[^\[\]\n]+\]\]")
_JSON = re.compile(r'\{\s*"|(?<![A-Za-z])JSON(?![A-Za-z])', re.IGNORECASE)
_UP_TO_ONE = re.compile(r"(?<![\d.])0(?:\.0+)?[^\d.\n]{1,60}1(?:\.0+)?(?![\d.]*\d)")
"""By which a prompt says that its score is from 0 to 1."""

_Style = Literal["json", "tag", "letter"]


class Shown(NamedTuple):
    """One transcript between its fence lines, and its label where two are shown; `block` is the text with the lines."""

    label: str | None
    text: str
    block: str


def shown_responses(messages: tuple[ChatTurn, ...]) -> tuple[Shown, ...]:
    """The fenced transcripts of the user messages, in the order shown."""
    asked = "\n".join(turn.content for turn in messages if turn.role == "user")
    return tuple(Shown(match["label"], match["text"], match[0]) for match in _FENCED.finditer(asked))


def simulated_reply(
    bias: SimulatedBias,
    truth: Mapping[str, Truth],
    model: str,
    messages: tuple[ChatTurn, ...],
    *,
    as_json: bool = False,
) -> str:
    """The reply text. `truth` goes by the hash (`template_hash`) of a transcript with its fence lines, or without.

    With them it is that of one side of one prompt: agents of different skill may do the very same.
    A transcript whose truth is unknown is ranked by a neutral draw over its own text: the same one wins
    in both orders, and over many pairs each label wins half of them. A success check passes where the judge is
    satisfied.

    `as_json`: the request demands JSON. Else the reply has the form that the prompt asks for: a `[[tag]]`, JSON, or
    where it names neither the bare label or number, which alone cannot say that it is SIMULATED.
    """
    draw = draws_of(bias, model, template_hash("\n".join(turn.content for turn in messages)))
    if bias.parse_failure and draw("parse_failure") < bias.parse_failure:
        return "SIMULATED: both did something, and this reply holds no verdict."
    shown = shown_responses(messages)
    facts = {one.label: facts_of(bias, model, one.text, _told(truth, one)) for one in shown}
    style: _Style = "json" if as_json else _style_asked_for(messages)
    if len(shown) == 2 and facts.keys() == {"A", "B"}:
        return _pairwise(decide(bias, draw, facts["A"], facts["B"]), style, messages)
    asked = _field_asked_for(messages)
    satisfied = len(shown) == 1 and satisfies(bias, draw, facts[shown[0].label])
    if asked == "passed":
        return json.dumps({"reason": "SIMULATED: a made-up check.", "passed": satisfied})
    if len(shown) == 1:
        if style != "json":
            return _worded(style, _number(satisfied, messages))
        return _rating(satisfied) if asked == "score" else _satisfaction(satisfied)
    return "SIMULATED: this gateway answers judge prompts only."


def _instructions(messages: tuple[ChatTurn, ...]) -> tuple[str, str]:
    """The system message, and what stands around the responses in the user's."""
    system, user = ("\n".join(turn.content for turn in messages if turn.role == role) for role in ("system", "user"))
    return system, _FENCED.sub("", user)


def _style_asked_for(messages: tuple[ChatTurn, ...]) -> _Style:
    """By the system message where it tells, since the task beside the responses may mention anything."""
    for text in _instructions(messages):
        if _TAG.search(text):
            return "tag"
        if _JSON.search(text):
            return "json"
    return "letter"


def _worded(style: _Style, verdict: str) -> str:
    return f"SIMULATED: a made-up verdict. [[{verdict}]]" if style == "tag" else verdict


def _number(satisfied: bool, messages: tuple[ChatTurn, ...]) -> str:
    if _UP_TO_ONE.search("\n".join(_instructions(messages))):
        return "0.9" if satisfied else "0.2"
    return "6" if satisfied else "2"


def _field_asked_for(messages: tuple[ChatTurn, ...]) -> str | None:
    system, _ = _instructions(messages)
    found = _ASKED_FOR.search(system)
    return found and found[1]


def _told(truth: Mapping[str, Truth], shown: Shown) -> Truth | None:
    return truth.get(template_hash(shown.block)) or truth.get(template_hash(shown.text))


def _pairwise(winner: Preference, style: _Style, messages: tuple[ChatTurn, ...]) -> str:
    if style != "json":
        # MT-Bench calls a tie C.
        alike = winner == "tie" and any("[[C]]" in text for text in _instructions(messages))
        return _worded(style, "C" if alike else winner)
    score_a, score_b = {"A": (4, 2), "B": (2, 4), "tie": (3, 3)}[winner]
    reasons = "SIMULATED: a made-up verdict."
    return json.dumps({"reasons": reasons, "score_a": score_a, "score_b": score_b, "winner": winner})


def _rating(satisfied: bool) -> str:
    return json.dumps({"reason": "SIMULATED: a made-up score.", "score": 6 if satisfied else 2})


def _satisfaction(satisfied: bool) -> str:
    return json.dumps({"reason": "SIMULATED: a made-up score.", "satisfaction": 0.9 if satisfied else 0.2})
