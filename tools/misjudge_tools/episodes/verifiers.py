"""Hard checks of one episode, and the success and reward that they come to. A model's opinion is never part of it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

from misjudge_storage.types import Check, Message
from misjudge_tools.episodes import answer_form, outside_checks, state_checks, text_checks, tool_checks
from misjudge_tools.episodes.rules import Combination, CommandRule, HttpRule, HumanRule, ModelRule, Rule
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.told import Told

_NAME_LENGTH: Final = 300
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_log = logging.getLogger(__name__)


class Evidence(NamedTuple):
    """What is left of an episode. `before`, `after`: images of its world, None where it has none or it is not known;
    `folder`: where its agent could write, if it could.
    """

    messages: tuple[Message, ...]
    before: bytes | None
    after: bytes | None
    folder: Path | None


class Outside(NamedTuple):
    """What checks may reach. `ask_model` gives a model's opinion on a question, None where it has none."""

    allowed: Allowed
    ask_model: Callable[[str], Awaitable[bool | None]] | None = None


class Part(NamedTuple):
    """What became of one rule; `passed` None: it cannot be told."""

    weight: float
    passed: bool | None


async def verify(
    rules: Sequence[Rule], combine: Combination, evidence: Evidence, outside: Outside
) -> tuple[Check, ...]:
    """One `part` check a rule, then the `outcome`; without rules none at all.

    What cannot be told is None, and so is what a rule crashes on; success is as `combined` says. Rules of the kind
    `model` are stored apart with source `model`, and do not count.
    Raises only what `ask_model` raises.
    """
    if not rules:
        return ()
    named = list(zip(_names(rules), rules, strict=True))
    told = [
        (name, rule, await _tell(rule, evidence, outside)) for name, rule in named if not isinstance(rule, ModelRule)
    ]
    opinions = [await _opinion(name, rule, outside) for name, rule in named if isinstance(rule, ModelRule)]
    parts = tuple(
        Check(verifier=name, source="verifier", scope="part", passed=result.passed, evidence=_shown(result.why))
        for name, _, result in told
    )
    outcome = _outcome(combine, [Part(rule.weight, result.passed) for _, rule, result in told])
    return (*parts, *opinions, outcome)


def _names(rules: Sequence[Rule]) -> list[str]:
    """A name each, none twice: the store tells checks apart by it."""
    names: list[str] = []
    for rule in rules:
        name = base = _name(rule)
        number = 1
        while name in names:
            number += 1
            name = f"{base} ({number})"
        names.append(name)
    return names


def _name(rule: Rule) -> str:
    shown = rule.model_dump(mode="json", include=_SHOWN, exclude_defaults=True)
    told = ", ".join(str(value) for value in shown.values())
    name = rule.name.strip() or (f"{rule.kind}: {told}" if told else rule.kind)
    name = _UNSTORABLE.sub("\ufffd", name)
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1]}…"


_SHOWN: Final = {"value", "values", "facts", "query", "unit", "path", "url", "question", "at_least", "at_most"}


def _shown(why: str) -> str:
    return _UNSTORABLE.sub("\ufffd", why)[:_NAME_LENGTH]


async def _tell(rule: Rule, evidence: Evidence, outside: Outside) -> Told:
    try:
        match rule:
            case HumanRule():
                return Told(None, "only a person can tell")
            case HttpRule():
                return await outside_checks.http_status(rule, outside.allowed.hosts)
            case CommandRule():
                return await outside_checks.command(rule, outside.allowed.commands, evidence.folder)
            case _:
                return await asyncio.to_thread(_TELLING[rule.kind], rule, evidence)
    except Exception as error:
        # Its message may hold text of the transcript.
        _log.warning("A check of the kind %s crashed: %s.", rule.kind, type(error).__name__)
        return Told(None, "the check crashed")


async def _opinion(name: str, rule: ModelRule, outside: Outside) -> Check:
    passed = None if outside.ask_model is None else await outside.ask_model(rule.question)
    why = "no model was asked" if outside.ask_model is None else "a model's opinion, not a fact"
    return Check(verifier=name, source="model", scope="part", passed=passed, evidence=why)


_TELLING: Final[Mapping[str, Callable[[Any, Evidence], Told]]] = {
    "sql": lambda rule, evidence: state_checks.sql(rule, evidence.after),
    "world": lambda rule, evidence: state_checks.world(rule, evidence.before, evidence.after),
    "tool_called": lambda rule, evidence: tool_checks.tool_called(rule, evidence.messages),
    "tool_not_called": lambda rule, evidence: tool_checks.tool_not_called(rule, evidence.messages),
    "tool_order": lambda rule, evidence: tool_checks.tool_order(rule, evidence.messages),
    "asked_first": lambda rule, evidence: tool_checks.asked_first(rule, evidence.messages),
    "says": lambda rule, evidence: text_checks.says(rule, evidence.messages),
    "not_says": lambda rule, evidence: text_checks.not_says(rule, evidence.messages),
    "contains": lambda rule, evidence: text_checks.contains(rule, evidence.messages),
    "not_contains": lambda rule, evidence: text_checks.contains(rule, evidence.messages),
    "regex": lambda rule, evidence: text_checks.regex(rule, evidence.messages),
    "number_range": lambda rule, evidence: text_checks.number_range(rule, evidence.messages),
    "json_schema": lambda rule, evidence: text_checks.json_schema(rule, evidence.messages),
    "length": lambda rule, evidence: answer_form.length(rule, evidence.messages),
    "format": lambda rule, evidence: answer_form.written_as(rule, evidence.messages),
    "file": lambda rule, evidence: outside_checks.file(rule, evidence.folder),
}


def _outcome(combine: Combination, parts: Sequence[Part]) -> Check:
    held = sum(part.passed is True for part in parts)
    unknown = sum(part.passed is None for part in parts)
    told = f"{held} of {len(parts)} rules hold" + (f", {unknown} cannot be told" if unknown else "")
    return Check(
        verifier="success",
        source="verifier",
        passed=combined(combine, parts),
        reward=None if unknown or not parts else float(_share(parts, True)),
        evidence=told if parts else "no rule can tell success",
    )


def combined(combine: Combination, parts: Sequence[Part]) -> bool | None:
    """Success by Kleene's three-valued logic: None only where what is not known decides, and without parts.

    A share is compared in the decimals that were written: 4 of 5 weights of 0.1 are 0.8 of them.
    """
    if not parts:
        return None
    if isinstance(combine, float):
        least, held = _as_written(combine), _share(parts, True)
        return held >= least or (None if held + _share(parts, None) >= least else False)
    values = {part.passed for part in parts}
    deciding = combine == "any"
    if deciding in values:
        return deciding
    return None if None in values else not deciding


def _share(parts: Sequence[Part], passed: bool | None) -> Fraction:
    """The share of the weight of parts that came to this."""
    found = sum(_as_written(part.weight) for part in parts if part.passed is passed)
    return Fraction(found) / sum(_as_written(part.weight) for part in parts)


def _as_written(number: float) -> Fraction:
    return Fraction(repr(number))
