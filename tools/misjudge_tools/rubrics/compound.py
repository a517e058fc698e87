"""Rules that hold two constraints: taken apart where each half says what it said within the whole, else told. Pure.

A list of things is one object, and one constraint. What stands in quotes, code or brackets is never taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from misjudge_tools.rubrics.rule_words import (
    ADJECTIVES,
    AUXILIARY,
    BINDING,
    CLAUSE,
    DO_KIND,
    NOUNY_VERBS,
    OBJECT_START,
    REFERS,
    REPLY,
    SUBJECT_START,
    SURE_VERBS,
    ZH_ASKS,
    ZH_BINDING,
    ZH_CAUSES,
    ZH_PREDICATES,
    ZH_REFERS,
    ZH_SAYS,
)

FILLER: Final = "\ufffc"
"""Stands for each character that is quoted."""
_REFERRING: Final = frozenset("they its their he she this that these those".split())
"""Subjects that stand for what was named before."""
SHORTEST: Final = 3
"""Words of a question, and Chinese characters of a clause."""


class Part(NamedTuple):
    """A rule of its own; `compound`: it may still hold several constraints."""

    text: str
    compound: bool


class _Rule(NamedTuple):
    """A rule without the mark at its end, and the same with what is quoted hidden."""

    text: str
    shown: str
    end: str


_QUOTED: Final = re.compile(
    r"```.+?```|`[^`]+`|\"[^\"]+\"|“[^”]+”|‘[^’]+’(?!\w)|「[^」]+」|『[^』]+』|《[^》]+》|(?<!\w)'[^']+'(?!\w)|"
    r"\([^()]+\)|（[^（）]+）|\[[^\[\]]+\]"
)
_END: Final = re.compile(r"\s*[?.!？。！]+$")
_AND: Final = r"(?:,? and also|,? as well as|,? and|;(?: and)?)(?: also)? "
_VERBS: Final = rf"(?:(?:{'|'.join(SURE_VERBS)}) (?!of\b)\S|(?:{'|'.join(NOUNY_VERBS)}) (?i:{OBJECT_START})\b)"
_ASKED: Final = re.compile(rf"^{AUXILIARY} ", re.IGNORECASE)
_ASKED_AGAIN: Final = re.compile(
    rf"(?:{_AND}|[?;] )(?=(?P<aux>{AUXILIARY}) (?P<subject>{SUBJECT_START}) \S)", re.IGNORECASE
)
_VERB: Final = rf"(?:{'|'.join((*SURE_VERBS, *NOUNY_VERBS))})"
_DONE: Final = re.compile(rf"^(?P<stem>(?i:(?:does|do|did|can|could|will|would|should|must) {REPLY})) (?={_VERB} )")
_DONE_TOO: Final = re.compile(rf"{_AND}(?={_VERBS})")
_VERB_LAST: Final = re.compile(rf"(?<!\bthe )(?<!\bits )(?<!\ba )(?<!\ban )\b{_VERB}$")
_IS: Final = re.compile(
    r"^(?P<stem>(?:is|are|was|were) (?:it|they|(?:the|this|these|its|their|each|every|all) (?:[\w'-]+ ){0,4}[\w'-]+)|"
    r"[^,;]*\b(?:is|are|be|was|were)) (?P<list>[\w-]+(?: [\w-]+)?(?:, [\w-]+(?: [\w-]+)?)*(?:,? and also|,? as well as|"
    r",? and)(?: also)? [\w-]+(?: [\w-]+)?)$",
    re.IGNORECASE,
)
_BETWEEN_ADJECTIVES: Final = re.compile(r"(?:,? and also|,? as well as|,? and)(?: also)? |, ", re.IGNORECASE)
_JOINS: Final = re.compile(
    r"\band also\b|\band then\b|"
    rf"\b(?:and|as well as) (?:also )?(?:not |{AUXILIARY} (?:{SUBJECT_START}|not)\b|(?:it|they) \w|"
    rf"the [\w-]+ (?:[\w-]+ )?(?:is|are|was|were|does|do|has|have|can|must|should|will)\b|(?-i:{_VERBS})|"
    rf"(?-i:(?:{'|'.join(SURE_VERBS)})e?s \S|(?:{'|'.join(NOUNY_VERBS)})e?s {OBJECT_START}\b)|"
    rf"(?:that|how|why|whether|what|when|where) \S)|\w\w+ [^;]*\w; *(?:\S+ )+\S|\? *{AUXILIARY} (?:{SUBJECT_START}) \S",
    re.IGNORECASE,
)
_TWO_WORDS: Final = re.compile(r"(?<![\w-])(?P<one>[\w-]+),? (?:and|as well as) (?P<two>[\w-]+)", re.IGNORECASE)

_ZH: Final = re.compile("[\u3400-\u9fff]")
_ZH_AND: Final = "(?:[，,；;、]?\\s*(?:并且|而且|以及)|[，,；;、]\\s*(?:同时|并(?![非不未发列行联])))\\s*"
_ZH_ASKED: Final = re.compile(rf"^(?P<stem>[^，,。；;？?]{{0,30}}?{ZH_ASKS})")
_ZH_ASKED_AGAIN: Final = re.compile(rf"(?:{_ZH_AND}|[，,；;？?]\s*)(?=(?P<subject>[^，,。；;？?]{{0,20}}?){ZH_ASKS})")
_ZH_DONE_TOO: Final = re.compile(
    "(?:[，,；;、]?\\s*(?:并且|而且)|[，,；;、]\\s*(?:同时|并(?![非不未发列行联])))\\s*(?=(?:也|还|又|都)?"
    + ZH_PREDICATES
    + ")"
)
_ZH_JOINS: Final = re.compile(
    rf"{ZH_ASKS}.*{_ZH_AND}.*{ZH_ASKS}|{ZH_ASKS}.+?[，,；;？?]\s*[^，,。；;？?]{{0,20}}{ZH_ASKS}..|"
    rf"并且|而且|[，,；;]\s*(?:同时|并(?![非不未发列行联]))|以及\s*{ZH_PREDICATES}|"
    r"[^；;]{4,}[；;]\s*[^；;]{4,}|既.{1,20}又"
)


def apart(rule: str) -> tuple[Part, ...]:
    """The rule, or the rules that it is made of, in their order. No word but the joining ones is lost."""
    found, waiting = list[Part](), [rule]
    while waiting:
        text = waiting.pop()
        halves = _halves(text)
        if halves:
            waiting += reversed(halves)
        else:
            found.append(Part(text, _joins(text)))
    return tuple(found)


def _halves(text: str) -> Sequence[str]:
    """Two or more shorter rules; none where the rule is to stay as it is."""
    end = _END.search(text)
    whole = text[: end.start()] if end else text
    rule = _Rule(whole, _hidden(whole), end[0].strip() if end else "")
    ways: Sequence[Callable[[_Rule], Sequence[str]]] = (_questions, _deeds, _qualities, _zh_questions, _zh_deeds)
    found = next((halves for way in ways if (halves := way(rule))), ())
    return [f"{half.strip()}{rule.end}" for half in found]


def _hidden(text: str) -> str:
    return _QUOTED.sub(lambda quoted: FILLER * len(quoted[0]), text)


def _questions(rule: _Rule) -> Sequence[str]:
    """`Does X … and does Y …`: each is a question by itself."""
    asked = _ASKED.match(rule.shown)
    again = _ASKED_AGAIN.search(rule.shown) if asked else None
    if asked is None or again is None:
        return ()
    first, second = rule.text[: again.start()], rule.text[again.end() :]
    own = again[0].startswith(("?", ";"))
    if min(len(first.split()), len(second.split())) < SHORTEST or (not own and _bound(rule)):
        return ()
    if _refers_back(rule, asked, again) or (not own and _is_another_it(asked, again)):
        return ()
    return first, _capital(second)


def _refers_back(rule: _Rule, asked: re.Match[str], again: re.Match[str]) -> bool:
    """Whether the second question has a word for what the first one names."""
    subject = again["subject"].lower()
    same = rule.shown[asked.end() :].lower().startswith(f"{subject} ")
    return (subject in _REFERRING and not same) or REFERS.search(rule.shown, again.end("subject")) is not None


def _is_another_it(asked: re.Match[str], again: re.Match[str]) -> bool:
    """`Does it name a city, and is it in France?`: the second "it" is not the first."""
    same_kind = (asked[0].strip().lower() in DO_KIND) == (again["aux"].lower() in DO_KIND)
    return again["subject"].lower() == "it" and not same_kind


def _deeds(rule: _Rule) -> Sequence[str]:
    """`Does the answer X and Y`, X and Y being things done."""
    stem = _DONE.match(rule.shown)
    too = _DONE_TOO.search(rule.shown, stem.end()) if stem else None
    if stem is None or too is None or _bound(rule):
        return ()
    first = rule.shown[stem.end() : too.start()]
    # "read and write files" and "tell people to open it and read it" do not come apart.
    if " " not in first.strip() or "," in first or CLAUSE.search(first) or _VERB_LAST.search(first):
        return ()
    if REFERS.search(rule.shown[too.end() :]):
        return ()
    return rule.text[: too.start()], f"{rule.text[: stem.end('stem')]} {rule.text[too.end() :]}"


def _qualities(rule: _Rule) -> Sequence[str]:
    """`Is the answer X, Y and Z`, each a quality."""
    found = _IS.match(rule.shown)
    if found is None or BINDING.search(rule.shown) or ", " in found["stem"]:
        return ()
    qualities = _BETWEEN_ADJECTIVES.split(rule.text[found.start("list") :])
    if not all(map(_is_quality, qualities)):
        return ()
    # "grammatically correct and complete" may mean both.
    if found["stem"].endswith("ly") or (" " in qualities[0] and not all(" " in quality for quality in qualities)):
        return ()
    return [f"{rule.text[: found.end('stem')]} {quality}" for quality in qualities]


def _is_quality(words: str) -> bool:
    *before, last = words.lower().split(" ")
    return last in ADJECTIVES and all(word.endswith("ly") for word in before)


def _bound(rule: _Rule) -> bool:
    return BINDING.search(rule.shown) is not None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1].isascii() else text


def _zh_questions(rule: _Rule) -> Sequence[str]:
    """`答案是否 X，并且（Y）是否 Z`: the second gets the subject of the first where it has none."""
    asked = _ZH_ASKED.match(rule.shown)
    again = _ZH_ASKED_AGAIN.search(rule.shown, asked.end()) if asked else None
    if asked is None or again is None or (not again[0].startswith(("？", "?", "；", ";")) and _zh_bound(rule, asked)):
        return ()
    first, second = rule.text[: again.start()], rule.text[again.end() :]
    if min(len(first), len(second)) < SHORTEST or ZH_REFERS.search(rule.shown, again.end()):
        return ()
    subject = re.split(ZH_ASKS, asked["stem"])[0]
    return first, second if again["subject"].strip() else f"{subject}{second}"


def _zh_deeds(rule: _Rule) -> Sequence[str]:
    """`答案是否 X 并且 Y`, where what Y begins with is done or is a quality."""
    asked = _ZH_ASKED.match(rule.shown)
    too = _ZH_DONE_TOO.search(rule.shown, asked.end()) if asked else None
    if asked is None or too is None or too.start() == asked.end() or _zh_bound(rule, asked):
        return ()
    first = rule.shown[asked.end() : too.start()]
    if ZH_CAUSES.search(first) or (ZH_SAYS.search(first) and too[0][0] not in "，,；;"):
        return ()
    if ZH_REFERS.search(rule.shown, too.end()):
        return ()
    return rule.text[: too.start()], f"{asked['stem']}{rule.text[too.end() :]}"


def _zh_bound(rule: _Rule, asked: re.Match[str]) -> bool:
    """Whether something but the asking itself may hold for both halves."""
    return ZH_BINDING.search(re.sub(ZH_ASKS, "", rule.shown)) is not None or not _ZH.search(asked["stem"])


def _joins(text: str) -> bool:
    """Whether it joins what are no mere things of a list."""
    shown = _hidden(_END.sub("", text))
    if _ZH_JOINS.search(shown):
        return True
    two = (found for found in _TWO_WORDS.finditer(shown) if "between " not in shown[: found.start() + 1].lower())
    return _JOINS.search(shown) is not None or any({f["one"].lower(), f["two"].lower()} <= ADJECTIVES for f in two)
