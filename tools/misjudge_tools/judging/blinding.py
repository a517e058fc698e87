"""Blindness: what would tell a judge or a reviewer whose answer it is, masked in what they see. Pure.

Names are found in text as it reads (see `folding`) and masked in the text as it stands, which otherwise stays as it is.
What is not masked: how a text is written, and names that are spelled so that only a reader could tell.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from misjudge_storage.types import Message, ToolCall
from misjudge_tools.gateway.families import EXACT, family_of
from misjudge_tools.judging import self_naming
from misjudge_tools.judging.folding import Folded, fold

Mask = Literal["[agent]", "[model]", "[vendor]"]
UNNAMED: Final = frozenset(
    {"agent", "assistant", "model", "response", "answer", "output", "user", "customer", "tool", "given a", "given b"}
)
"""What agents are called that nobody named, and what anybody is called: masked, every text would lose such words."""
_SEPARATORS: Final = re.compile(r"[-_\s]+")
_LITERAL: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_MASKS: Final[Mapping[str, Mask]] = {
    **{"model": "[model]", "word": "[model]", "exact_model": "[model]"},
    **{"vendor": "[vendor]", "exact_vendor": "[vendor]"},
}


class Blinded(NamedTuple):
    """Messages in which names are masked; `masked` counts what was, by the text that stood there."""

    messages: tuple[Message, ...]
    masked: Mapping[str, int]


class _Span(NamedTuple):
    """Folded characters that are to be masked. `self_named`: a model says it of itself."""

    start: int
    end: int
    mask: Mask
    self_named: bool = False


class _Text(NamedTuple):
    """A text in which names are masked, and what was."""

    text: str
    masked: Mapping[str, int]


Blinder = Callable[[Sequence[Message]], Blinded]


def blind(messages: Sequence[Message], names: AbstractSet[str], known: str) -> Blinded:
    """The messages with the agents' own `names`, and what tells model or vendor, masked. For judges, and for people who
    review.

    `known` is what both sides were told (the task): a name that stands there gives nobody away and stays, but for a
    self-identification of an agent. Masks read `[agent]`, `[model]`, `[vendor]`. JSON stays JSON: in a text that is
    JSON, names are masked inside its strings only. System messages, which nobody is shown, stay; the `name`
    of a message goes.
    """
    return blinder(frozenset(names), known)(messages)


def blinder(names: frozenset[str], known: str) -> Blinder:
    """`blind` with these names and this task. It remembers every text: repeats and probes show most of them again."""
    is_known = _known(known)
    own = _own_names(names)

    @cache
    def shown(text: str, role: str) -> _Text:
        folded = fold(text, escapes=True)
        found = (span for span in _spans(folded, own, text) if not (_may_stay(span, role) and is_known(folded, span)))
        return _masked(text, folded, found)

    def blinded(messages: Sequence[Message]) -> Blinded:
        masked: Counter[str] = Counter()

        def counted(text: str, role: str) -> str:
            found = shown(text, role)
            masked.update(found.masked)
            return found.text

        return Blinded(tuple(_blinded(message, counted) for message in messages), masked)

    return blinded


def _blinded(message: Message, shown: Callable[[str, str], str]) -> Message:
    if message.role == "system":
        return message
    calls = tuple(
        ToolCall(name=shown(call.name, "tool"), arguments=shown(call.arguments, "tool"), id=call.id)
        for call in message.tool_calls
    )
    content = shown(message.content, message.role)
    return message.model_copy(update={"content": content, "tool_calls": calls, "name": None})


def _may_stay(span: _Span, role: str) -> bool:
    # A customer who is called Kimi in the task says so in every transcript of it.
    return role == "user" or not span.self_named


def _known(known: str) -> Callable[[Folded, _Span], bool]:
    """Whether the task itself has the text of a span, as words of their own."""
    told = _SEPARATORS.sub("-", fold(known, escapes=True).text)
    answers: dict[str, bool] = {}

    def is_known(folded: Folded, span: _Span) -> bool:
        name = _SEPARATORS.sub("-", folded.text[span.start : span.end])
        if name not in answers:
            pattern = self_naming.BEFORE + re.escape(name) + self_naming.AFTER_NAME
            answers[name] = name in told and re.search(pattern, told) is not None
        return answers[name]

    return is_known


@lru_cache(maxsize=256)
def _own_names(names: frozenset[str]) -> re.Pattern[str] | None:
    """The agents' names as whole words, the longest first; None where there is none to find."""
    folded = {fold(part).text.strip() for name in names for part in _parts(name)}
    found = sorted((name for name in folded if _is_a_name(name)), key=lambda name: (-len(name), name))
    alternatives = [
        f"(?P<{'model' if family_of(name) else 'agent'}_{number}>{_whole(name)})" for number, name in enumerate(found)
    ]
    return re.compile("|".join(alternatives)) if alternatives else None


def _parts(name: str) -> Iterator[str]:
    """A name, and of a path such as `openai/gpt-4o` its last part, where that is no plain word."""
    yield name
    last = name.rpartition("/")[2]
    if "/" in name and re.search(r"[\d_-]", last):
        yield last


def _is_a_name(name: str) -> bool:
    # Folded, one character may be two.
    return len(unicodedata.normalize("NFC", name)) >= 2 and any(char.isalpha() for char in name) and name not in UNNAMED


def _whole(name: str) -> str:
    """The name between others than letters and digits, with any one separator for its own."""
    words = r"[-_\s]{1,2}".join(map(re.escape, _SEPARATORS.split(name)))
    before = self_naming.BEFORE if re.match(r"\w", name) else ""
    after = self_naming.AFTER if re.search(r"\w$", name) else ""
    return f"{before}{words}{after}"


def _spans(folded: Folded, own: re.Pattern[str] | None, text: str) -> Iterator[_Span]:
    """What is to be masked, in no order; some may overlap."""
    if own is not None:
        for found in own.finditer(folded.text):
            yield _Span(*found.span(), _own_mask(found))
    for found in self_naming.known_names().finditer(folded.text):
        group = found.lastgroup or ""
        if not group.startswith("exact_") or _as_it_stands(text, folded, found) == EXACT[found[0]]:
            yield _Span(*found.span(), _MASKS[group])
    if self_naming.ID_ENDS.search(folded.text):
        yield from (_Span(*found.span(), "[model]") for found in self_naming.ID.finditer(folded.text))
    for cues in self_naming.cues()[: 1 if folded.text.isascii() else 2]:
        for cue in cues.finditer(folded.text):
            yield from _self_named(folded, cue, own, text)


def _own_mask(found: re.Match[str]) -> Mask:
    return "[model]" if (found.lastgroup or "").startswith("model") else "[agent]"


def _as_it_stands(text: str, folded: Folded, found: re.Match[str], group: str | int = 0) -> str:
    start, end = found.span(group)
    return text[folded.starts[start] : folded.ends[end - 1]]


def _self_named(folded: Folded, cue: re.Match[str], own: re.Pattern[str] | None, text: str) -> Iterator[_Span]:
    """The name behind a cue: of an agent of the pair, of a known model or maker, or one that only the cue makes a
    name.
    """
    kind, at = cue.lastgroup or "", cue.end()
    is_maker = kind in {"own", "made", "own_zh", "made_zh"}
    agent = None if own is None or is_maker else own.match(folded.text, at)
    if agent is not None:
        yield _Span(*agent.span(), _own_mask(agent), self_named=True)
    found = self_naming.self_names().match(folded.text, at)
    if found is not None and _is_said(kind, found):
        yield _Span(*found.span(), _MASKS[found.lastgroup or ""], self_named=True)
    elif found is None or found.lastgroup == "word":
        yield from _unknown(folded, cue, text)


def _is_said(kind: str, found: re.Match[str]) -> bool:
    """Whether a name is one in this place."""
    is_maker, text, end = found.lastgroup == "vendor", found.string, found.end()
    if kind in {"own_zh", "made_zh"}:
        return is_maker and (kind == "made_zh" or self_naming.MADE_ENDS_ZH.match(text, end) is not None)
    if kind in {"own", "made"}:
        return is_maker
    if is_maker:
        return False
    if kind == "as":
        return self_naming.AS_ENDS.match(text, end) is not None
    return found.lastgroup == "model" or self_naming.ENDS.match(text, end) is not None


def _unknown(folded: Folded, cue: re.Match[str], text: str) -> Iterator[_Span]:
    """A name in no table: in English one that is written like a name."""
    kind, at = cue.lastgroup, cue.end()
    if kind == "own_zh":
        maker = self_naming.UNKNOWN_MAKER_ZH.match(folded.text, at)
        if maker is not None:
            yield _Span(*maker.span("name"), "[vendor]", self_named=True)
    elif kind == "am":
        model = self_naming.UNKNOWN_MODEL.match(folded.text, at)
        if model is not None and _is_written_like_a_name(text, folded, model):
            yield _Span(*model.span("name"), "[model]", self_named=True)
            yield from _capitalised(folded, model.end(), "[vendor]", text)
    elif kind in {"own", "called"}:
        yield from _capitalised(folded, at, "[vendor]" if kind == "own" else "[model]", text)


def _capitalised(folded: Folded, at: int, mask: Mask, text: str) -> Iterator[_Span]:
    """Up to three words that are written like a name."""
    words = list[re.Match[str]]()
    for _ in range(3):
        word = self_naming.UNKNOWN.match(folded.text, words[-1].end() if words else at)
        if word is None or not _is_written_like_a_name(text, folded, word):
            break
        words.append(word)
    if words:
        yield _Span(words[0].start("name"), words[-1].end(), mask, self_named=True)


def _is_written_like_a_name(text: str, folded: Folded, found: re.Match[str]) -> bool:
    """Whether it begins with a capital letter, and with no word that names nobody."""
    begins_large = _as_it_stands(text, folded, found, "name")[0].isupper()
    return begins_large and found["name"].split()[0] not in self_naming.NO_NAMES


def _masked(text: str, folded: Folded, spans: Iterable[_Span]) -> _Text:
    """The text with its spans masked, those that overlap by one mask, and counted."""
    merged = _merged(spans)
    may_be = _inside_literals(text) if merged else _anywhere
    masked: Counter[str] = Counter()
    pieces, done = list[str](), 0
    for span in merged:
        start, end = folded.starts[span.start], folded.ends[span.end - 1]
        if not may_be(start, end):
            continue
        masked[text[start:end].encode("utf-8", "replace").decode()] += 1
        pieces += (text[done:start], span.mask)
        done = end
    return _Text("".join((*pieces, text[done:])) if pieces else text, masked)


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _anywhere(start: int, end: int) -> bool:
    return True


def _inside_literals(text: str) -> Callable[[int, int], bool]:
    """Whether what stands there is inside one string of JSON; of what is no JSON, everything is."""
    try:
        # Numbers as text: one of many digits is JSON, and no Python integer.
        json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return _anywhere
    literals = (found.span() for found in _LITERAL.finditer(text))
    current = next(literals, None)

    def inside(start: int, end: int) -> bool:
        # Spans come in their order, so the literals are gone through once.
        nonlocal current
        while current is not None and current[1] <= start:
            current = next(literals, None)
        return current is not None and current[0] < start and end < current[1]

    return inside
