"""A made-up judge with planted faults, and who writes and matches rules: what the simulated gateway answers. Pure.

Every draw derives from (seed, model, prompt), so the same prompt always gets the same reply, and a share
in `SimulatedBias` is met over many prompts, not in each run of ten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Preference
from misjudge_tools.gateway.calls import ChatTurn
from misjudge_tools.gateway.simulated_bias import (
    Brief,
    Draw,
    Facts,
    SimulatedBias,
    Told,
    Truth,
    decide,
    decide_with_rules,
    draws_of,
    facts_of,
    satisfies,
    untied,
)
from misjudge_tools.gateway.simulated_rubrics import (
    RuleSaid,
    RulesToApply,
    apply_to_one,
    apply_to_pair,
    match_all,
    match_one,
    numbered_rules,
    write_about,
    write_from,
)

_FENCED = re.compile(
    r"^=== BEGIN (?P<name>RESPONSE(?: [AB])?|TASK|RULES?|GOLD) (?P<mark>[0-9a-f]{16}) ===\n"
    r"(?P<text>.*?)\n?^=== END (?P=name) (?P=mark) ===$",
    re.DOTALL | re.MULTILINE,
)
_ASKED_FOR = re.compile(r'"(passed|score)"\s*:')
"""The field by which a system prompt tells its form: a success check, or a rating from 1 to 7."""
_OFFERED = re.compile(r'"winner"\s*:([^}\n]*)')
"""What a system prompt offers as the better of two."""
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


class _Question(NamedTuple):
    """One call of a judge: its planted faults and draws, and what its prompt asks for."""

    bias: SimulatedBias
    draw: Draw
    messages: tuple[ChatTurn, ...]
    style: _Style
    rules: RulesToApply | None


class _Fences(NamedTuple):
    """What stands between fence lines: the responses in the order shown, and by its name what else there is."""

    responses: tuple[Shown, ...]
    others: Mapping[str, Shown]


def shown_responses(messages: tuple[ChatTurn, ...]) -> tuple[Shown, ...]:
    """The fenced transcripts of the user messages, in the order shown."""
    return _fences(messages).responses


def _fences(messages: tuple[ChatTurn, ...]) -> _Fences:
    user = "\n".join(turn.content for turn in messages if turn.role == "user")
    responses, others = list[Shown](), dict[str, Shown]()
    for match in _FENCED.finditer(user):
        name, _, label = match["name"].partition(" ")
        shown = Shown(label or None, match["text"], match[0])
        if name == "RESPONSE":
            responses.append(shown)
        else:
            others[name] = shown
    return _Fences(tuple(responses), others)


def simulated_reply(
    bias: SimulatedBias,
    truth: Mapping[str, Told],
    model: str,
    messages: tuple[ChatTurn, ...],
    *,
    as_json: bool = False,
) -> str:
    """The reply text. `truth` goes by the hash (`template_hash`) of a transcript with its fence lines, or without.

    With them it is that of one side of one prompt: agents of different skill may do the very same.
    A transcript whose truth is unknown is ranked by a neutral draw over its own text: the same one wins
    in both orders, and over many pairs each label wins half of them. A success check passes where the judge is
    satisfied. Gold rules are known in the same way, by the task to write rules for or by the rules to apply.

    `as_json`: the request demands JSON. Else the reply has the form that the prompt asks for: a `[[tag]]`, JSON, or
    where it names neither the bare label or number, which alone cannot say that it is SIMULATED. Who writes or
    matches rules always replies in JSON.
    """
    draw = draws_of(bias, model, template_hash("\n".join(turn.content for turn in messages)))
    if bias.parse_failure and draw("parse_failure") < bias.parse_failure:
        return "SIMULATED: both did something, and this reply holds no verdict."
    fences = _fences(messages)
    shown = fences.responses
    facts = {one.label: facts_of(bias, model, one.text, _truth_of(truth, one)) for one in shown}
    style: _Style = "json" if as_json else _style_asked_for(messages)
    question = _Question(bias, draw, messages, style, _rules_to_apply(truth, fences.others))
    if len(shown) == 2 and facts.keys() == {"A", "B"}:
        return _of_two(question, facts["A"], facts["B"])
    if len(shown) == 1:
        return _of_one(question, facts[shown[0].label])
    return _about_rules(bias, truth, model, draw, fences.others) or _unasked(messages)


def _of_two(question: _Question, a: Facts, b: Facts) -> str:
    bias, draw, messages, style, rules = question
    ties = _offers_ties(messages)
    if rules is None:
        winner = decide(bias, draw, a, b)
        return _pairwise(winner if ties else untied(draw, winner), style, messages)
    ruled = apply_to_pair(rules, a, b)
    return _pairwise(decide_with_rules(bias, draw, a, b, ruled.says, ties=ties), style, messages, ruled.said)


def _of_one(question: _Question, facts: Facts) -> str:
    bias, draw, messages, style, rules = question
    satisfied, asked = satisfies(bias, draw, facts), _field_asked_for(messages)
    if rules is not None:
        ruled = apply_to_one(rules, facts)
        passes = ruled.passes if draw("rule_following") < bias.rule_following else satisfied
        return _check(passes, ruled.said) if style == "json" else _worded(style, "pass" if passes else "fail")
    if asked == "passed":
        return _check(satisfied)
    if style != "json":
        return _worded(style, _number(satisfied, messages))
    return _rating(satisfied) if asked == "score" else _satisfaction(satisfied)


def _about_rules(
    bias: SimulatedBias, truth: Mapping[str, Told], model: str, draw: Draw, others: Mapping[str, Shown]
) -> str | None:
    """What is said as who matches or writes rules; None where neither is asked for."""
    task, rule, rules, gold = (others.get(name) for name in ("TASK", "RULE", "RULES", "GOLD"))
    if gold is not None and rule is not None:
        return match_one(bias, draw, rule.text, gold.text)
    if gold is not None and rules is not None:
        return match_all(bias, draw, rules.text, gold.text)
    if task is None or len(others) > 1:
        return None
    brief = _brief_of(truth, task)
    return write_about(bias, model, task.text) if brief is None else write_from(bias, draw, brief)


def _unasked(messages: tuple[ChatTurn, ...]) -> str:
    if _field_asked_for(messages) == "passed":
        return _check(passed=False)
    return "SIMULATED: this gateway answers judge prompts only."


def _rules_to_apply(truth: Mapping[str, Told], others: Mapping[str, Shown]) -> RulesToApply | None:
    shown = others.get("RULES")
    rules = () if shown is None else numbered_rules(shown.text)
    if shown is None or not rules:
        return None
    brief = _brief_of(truth, shown)
    return RulesToApply(rules, () if brief is None else brief.rules)


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


def _offers_ties(messages: tuple[ChatTurn, ...]) -> bool:
    """Unless the system message names A and B for the winner and no tie."""
    system, _ = _instructions(messages)
    found = _OFFERED.search(system)
    return found is None or '"tie"' in found[1] or not ('"A"' in found[1] and '"B"' in found[1])


def _told(truth: Mapping[str, Told], shown: Shown) -> Told | None:
    return truth.get(template_hash(shown.block)) or truth.get(template_hash(shown.text))


def _truth_of(truth: Mapping[str, Told], shown: Shown) -> Truth | None:
    told = _told(truth, shown)
    return told if isinstance(told, Truth) else None


def _brief_of(truth: Mapping[str, Told], shown: Shown) -> Brief | None:
    told = _told(truth, shown)
    return told if isinstance(told, Brief) else None


def _pairwise(
    winner: Preference, style: _Style, messages: tuple[ChatTurn, ...], rules: Sequence[RuleSaid] | None = None
) -> str:
    if style != "json":
        # MT-Bench calls a tie C.
        alike = winner == "tie" and any("[[C]]" in text for text in _instructions(messages))
        return _worded(style, "C" if alike else winner)
    score_a, score_b = {"A": (4, 2), "B": (2, 4), "tie": (3, 3)}[winner]
    reasons = "SIMULATED: a made-up verdict."
    verdict = {"reasons": reasons, "score_a": score_a, "score_b": score_b, "winner": winner}
    return json.dumps(verdict if rules is None else {"rules": rules, **verdict})


def _check(passed: bool, rules: Sequence[RuleSaid] | None = None) -> str:
    verdict = {"reason": "SIMULATED: a made-up check.", "passed": passed}
    return json.dumps(verdict if rules is None else {"rules": rules, **verdict})


def _rating(satisfied: bool) -> str:
    return json.dumps({"reason": "SIMULATED: a made-up score.", "score": 6 if satisfied else 2})


def _satisfaction(satisfied: bool) -> str:
    return json.dumps({"reason": "SIMULATED: a made-up score.", "satisfaction": 0.9 if satisfied else 0.2})
