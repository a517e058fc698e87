"""A made-up judge with planted faults: what the simulated gateway answers. Pure.

Every draw derives from (seed, model, prompt), so the same prompt always gets the same reply, and a share
in `SimulatedBias` is met over many prompts, not in each run of ten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import Field

from misjudge_storage.hashing import canonical, template_hash
from misjudge_storage.types import Preference, Side, Value
from misjudge_tools.gateway.calls import ChatTurn

Share = Annotated[float, Field(ge=0.0, le=1.0)]

POLITE_FROM = 2
"""How many polite words make a transcript sound polite."""
NEAR = 0.1
"""Agents whose skills differ by less are near."""

_FENCED = re.compile(
    r"^=== BEGIN RESPONSE(?: (?P<label>[AB]))? (?P<mark>[0-9a-f]{16}) ===\n"
    r"(?P<text>.*?)\n?^=== END RESPONSE(?: (?P=label))? (?P=mark) ===$",
    re.DOTALL | re.MULTILINE,
)
_POLITE = re.compile(
    r"\b(?:sorry|apolog\w*|thanks?|thank you|please|happy to|glad to|appreciate\w*|kindly|pleasure)\b"
    r"|抱歉|对不起|不好意思|感谢|谢谢|(?<!申)请(?![求假])|乐意|很高兴",
    re.IGNORECASE,
)

_SUCCESS_CHECK = re.compile(r'"passed"\s*:')


class Truth(Value):
    """What a simulated gateway is told of a transcript: the task's success, and the skill of its agent where known."""

    success: bool
    skill: Share | None = None


class SimulatedBias(Value):
    """The planted faults, each a share of calls from 0 to 1, tried in this order.

    `parse_failure`: the reply holds no verdict. Pairwise: `position` answers label A whatever it holds;
    `politeness` answers the side with more polite words, where the sides differ in that; `noise` answers
    against the truth, and `near` takes its place where both agents' skills are known and closer than `NEAR` (None: it
    does not). Satisfaction: `lenience` is the share of failed episodes that sound polite and are
    called satisfied; `noise` turns the verdict round.
    """

    position: Share = 0.0
    politeness: Share = 0.0
    noise: Share = 0.0
    near: Share | None = None
    parse_failure: Share = 0.0
    lenience: Share = 0.0
    seed: int = 0


class Shown(NamedTuple):
    """One transcript between its fence lines, and its label where two are shown; `block` is the text with the lines."""

    label: str | None
    text: str
    block: str


def shown_responses(messages: tuple[ChatTurn, ...]) -> tuple[Shown, ...]:
    """The fenced transcripts of the user messages, in the order shown."""
    asked = "\n".join(turn.content for turn in messages if turn.role == "user")
    return tuple(Shown(match["label"], match["text"], match[0]) for match in _FENCED.finditer(asked))


def simulated_reply(bias: SimulatedBias, truth: Mapping[str, Truth], model: str, messages: tuple[ChatTurn, ...]) -> str:
    """The reply text. `truth` goes by the hash (`template_hash`) of a transcript with its fence lines, or without.

    With them it is that of one side of one prompt: agents of different skill may do the very same.
    A transcript whose truth is unknown is ranked by a neutral draw over its own text: the same one wins
    in both orders, and over many pairs each label wins half of them. A success check passes where the judge is
    satisfied.
    """
    prompt = template_hash(canonical([[turn.role, turn.content] for turn in messages]))
    draws = _Draws(f"{bias.seed}\0{model}", prompt)
    shown = shown_responses(messages)
    if bias.parse_failure and draws.share("parse_failure") < bias.parse_failure:
        return "SIMULATED: both did something, and this reply holds no verdict."
    by_label = {response.label: response for response in shown}
    if len(shown) == 2 and by_label.keys() == {"A", "B"}:
        return _pairwise(_winner(bias, truth, draws, by_label["A"], by_label["B"]))
    satisfied = len(shown) == 1 and _satisfied(bias, truth, draws, shown[0])
    if _asks_for_success(messages):
        return json.dumps({"reason": "SIMULATED: a made-up check.", "passed": satisfied})
    if len(shown) == 1:
        return _satisfaction(satisfied)
    return "SIMULATED: this gateway answers judge prompts only."


def _asks_for_success(messages: tuple[ChatTurn, ...]) -> bool:
    return any(turn.role == "system" and _SUCCESS_CHECK.search(turn.content) for turn in messages)


def _told(truth: Mapping[str, Truth], shown: Shown) -> Truth | None:
    return truth.get(template_hash(shown.block)) or truth.get(template_hash(shown.text))


class _Draws(NamedTuple):
    judge: str
    prompt: str

    def share(self, name: str) -> float:
        """A uniform draw in [0, 1) that belongs to this prompt."""
        return _uniform(f"{self.judge}\0{name}\0{self.prompt}")

    def of_text(self, text: str) -> float:
        """A uniform draw in [0, 1) that belongs to a transcript, whatever the prompt around it."""
        return _uniform(f"{self.judge}\0text\0{text}")


def _uniform(key: str) -> float:
    return int(template_hash(key), 16) / 2**64


def _winner(bias: SimulatedBias, truth: Mapping[str, Truth], draws: _Draws, a: Shown, b: Shown) -> Preference:
    if draws.share("position") < bias.position:
        return "A"
    polite_a, polite_b = _polite_words(a.text), _polite_words(b.text)
    if polite_a != polite_b and draws.share("politeness") < bias.politeness:
        return "A" if polite_a > polite_b else "B"
    told_a, told_b = _told(truth, a), _told(truth, b)
    if told_a is None or told_b is None:
        right: Preference = "A" if draws.of_text(a.text) >= draws.of_text(b.text) else "B"
    else:
        right = _better(told_a, told_b)
    if draws.share("noise") < _noise(bias, told_a, told_b):
        return _wrong(right, draws)
    return right


def _better(a: Truth, b: Truth) -> Preference:
    if a.success == b.success:
        return "tie"
    return "A" if a.success else "B"


def _noise(bias: SimulatedBias, a: Truth | None, b: Truth | None) -> float:
    if bias.near is None or a is None or b is None or a.skill is None or b.skill is None:
        return bias.noise
    # Rounded: 0.95 - 0.85 is a little less than 0.1 in floating point.
    return bias.near if round(abs(a.skill - b.skill), 9) < NEAR else bias.noise


def _wrong(right: Preference, draws: _Draws) -> Side:
    if right == "tie":
        return "A" if draws.share("tie_broken") < 0.5 else "B"
    return "B" if right == "A" else "A"


def _satisfied(bias: SimulatedBias, truth: Mapping[str, Truth], draws: _Draws, shown: Shown) -> bool:
    told = _told(truth, shown)
    if told is None:
        return draws.of_text(shown.text) < 0.5
    if not told.success and _polite_words(shown.text) >= POLITE_FROM and draws.share("lenience") < bias.lenience:
        return True
    return told.success != (draws.share("noise") < bias.noise)


def _polite_words(text: str) -> int:
    return sum(1 for _ in _POLITE.finditer(text))


def _pairwise(winner: Preference) -> str:
    score_a, score_b = {"A": (4, 2), "B": (2, 4), "tie": (3, 3)}[winner]
    reasons = "SIMULATED: a made-up verdict."
    return json.dumps({"reasons": reasons, "score_a": score_a, "score_b": score_b, "winner": winner})


def _satisfaction(satisfied: bool) -> str:
    return json.dumps({"reason": "SIMULATED: a made-up score.", "satisfaction": 0.9 if satisfied else 0.2})
