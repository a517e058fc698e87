"""What a reply says: its reasoning left out, the JSON objects that state a verdict, and the one repair.

A reply is hostile text: it quotes transcripts, echoes the prompt's example and may be a megabyte of `{`.
So it is read once from left to right, in time linear in its length, and nothing is looked for inside an
object that was read or inside a string of it. Fences need no rule: an object is JSON in or out of one.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

Fields = dict[str, object]

TWICE: Final = object()
"""Value of a key that one object states twice with different values."""

REPAIR_LIMIT: Final = 4_000
"""Longest object, in characters, that is repaired: json-repair takes quadratic time (0.6 s at this length)."""

BROKEN_LIMIT: Final = 1_000
"""Broken objects after which a reply is given up: making each error costs a pass over the text before it."""

LABEL_LIMIT: Final = 100
"""Longest label in characters. A longer text is never normalised: NFKC can take quadratic time."""

_TAGS: Final = "think|thinking|reasoning"
_THOUGHT: Final = rf"(?is:<(?P<tag>{_TAGS})>.*?(?:</(?P=tag)>|\Z))"
_END_OF_THOUGHT: Final = rf"(?i:</(?:{_TAGS})>)"
_QUOTE: Final = "[\"'“”‘’＂]"
_UNQUOTED: Final = "[^\"'“”‘’＂\n]*"
_TO_ASCII: Final = str.maketrans("｛｝＂“”：，", '{}""":,')


class Claim(NamedTuple):
    """A place of a reply that states a verdict; `fields` is None where it is not strict JSON."""

    fields: Fields | None
    start: int
    end: int


def without_reasoning(reply: str) -> str:
    """The reply without `<think>`, `<thinking>` and `<reasoning>` blocks.

    An unclosed block runs to the end. Of a block whose opening tag was in the prompt, only the closing
    tag is there: everything before it is reasoning.
    """
    return re.split(_END_OF_THOUGHT, re.sub(_THOUGHT, "", reply))[-1]


def claims_in(reply: str, keys: Sequence[str]) -> list[Claim]:
    """All claims outside reasoning, in order. `keys` are the object's keys, the deciding one last.

    A claim is an outermost JSON object with the deciding key, a broken object that opens with one of the
    keys, or the deciding key, quoted, outside any object. What stands inside a claim is part of it.
    """
    claims: list[Claim] = []
    position = broken = 0
    marks = _marks(keys)
    while mark := marks.search(reply, position):
        start, position = mark.span()
        if mark["over"]:
            claims.clear()
        elif mark["stray"]:
            claims.append(Claim(None, start, position))
        elif mark["opening"] or mark["brace"]:
            found = _object_at(reply, start, ours=mark["opening"] is not None)
            broken += found is None or found.fields is None
            if found is None or broken > BROKEN_LIMIT:
                return [Claim(None, start, len(reply))]
            position = found.end
            if mark["opening"] if found.fields is None else keys[-1] in found.fields:
                claims.append(found)
    return claims


def is_whole(reply: str, claim: Claim) -> bool:
    """Whether the reply, its reasoning apart, is this claim and nothing else."""
    return not without_reasoning(reply[: claim.start]).strip() and not reply[claim.end :].strip()


def repaired(reply: str, claim: Claim, keys: Sequence[str]) -> Claim:
    """The claim with the fields that json-repair finds, or as it was.

    A repair counts only if every value it found, the reasons (the first key) apart, is what the text
    says, whole, wherever it mentions that key: a cut or an alternative is never filled in.
    """
    text = reply[claim.start : claim.end]
    if len(text) > REPAIR_LIMIT:
        return claim
    for variant in dict.fromkeys((text, text.translate(_TO_ASCII))):
        fields = _repair(variant)
        if keys[-1] in fields and all(_is_written(variant, key, fields) for key in keys[1:]):
            return claim._replace(fields=fields)
    return claim


def folded(text: str) -> str:
    """The text as labels are compared: without outer spaces, width and case; empty where it is too long to be one."""
    text = text.strip()
    return unicodedata.normalize("NFKC", text).strip().casefold() if len(text) <= LABEL_LIMIT else ""


def kept_text(value: object) -> str:
    """Reasons as any store can keep them: no lone surrogates, no NUL. What is not text is left to the raw reply."""
    text = value if isinstance(value, str) else ""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _marks(keys: Sequence[str]) -> re.Pattern[str]:
    """What `claims_in` stops at: reasoning, the end of reasoning, an object that may be ours, a stray key."""
    opening = rf"(?P<opening>[{{｛]\s*{_QUOTE}?(?:{'|'.join(keys)})\b)"
    brace = r'(?P<brace>\{\s*["}])'
    stray = rf"(?P<stray>{_QUOTE}{keys[-1]}{_QUOTE}\s*[:：])"
    return re.compile(f"{_THOUGHT}|(?P<over>{_END_OF_THOUGHT})|{opening}|{brace}|{stray}")


def _object_at(reply: str, start: int, *, ours: bool) -> Claim | None:
    """The object that opens at `start`, None where it is nested too deeply to read.

    A broken one of `ours` ends where its braces are closed, another one where it stopped to be JSON.
    """
    try:
        fields, end = _DECODER.raw_decode(reply, start)
        return Claim(fields, start, end)
    except json.JSONDecodeError as error:
        return Claim(None, start, _closing(reply, start) if ours else error.pos)
    except RecursionError:
        return None


def _closing(reply: str, start: int) -> int:
    """Where the braces opened at `start` are closed. Strings are ignored: they may be what is broken."""
    depth = 0
    for brace in re.compile("[{}｛｝]").finditer(reply, start):
        depth += 1 if brace[0] in "{｛" else -1
        if depth == 0:
            return brace.end()
    return len(reply)


def _repair(text: str) -> Fields:
    import json_repair  # only broken replies pay for the import

    try:
        fields = _DECODER.decode(json_repair.repair_json(text, skip_json_loads=True))
    except Exception:  # json-repair trips over hostile text in ways it does not declare, failed assertions among them
        return {}
    return fields if isinstance(fields, dict) else {}


def _is_written(text: str, key: str, fields: Fields) -> bool:
    """Whether each mention of `key` in `text` is followed by exactly the value in `fields`, closed."""
    mention = rf"\b{key}{_QUOTE}?\s*[:：]"
    end = r"\s*(?:[,，}｝]|```"
    word, number = rf"{_QUOTE}({_UNQUOTED}){_QUOTE}{end}|\Z)", rf"(-?[0-9]+(?:\.[0-9]+)?){end})"
    truth = rf"((?i:true|false)){end})"
    written = re.findall(rf"{mention}\s*(?:{word}|{number}|{truth})", text)
    values = {
        (yes_or_no.lower() == "true") if yes_or_no else float(digits) if digits else letters
        for letters, digits, yes_or_no in written
    }
    stated = [fields[key]] if key in fields else []
    return len(written) == len(re.findall(mention, text)) and [*values] == stated


def _object(pairs: Iterable[tuple[str, object]]) -> Fields:
    fields: Fields = {}
    for key, value in pairs:
        fields[key] = TWICE if key in fields and fields[key] != value else value
    return fields


# Every number is a float, so that an integer of a thousand digits is merely infinite.
_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_int=float)
