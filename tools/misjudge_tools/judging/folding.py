"""Text as it reads, for finding words in it: width, case, accents, dashes, escapes and the invisible aside. Pure.

Only the finding works on folded text; its positions lead back to the text as it stands.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

_ESCAPE: Final = re.compile(r'\\+(?:u([0-9a-fA-F]{4})|([nrtbf"/]))|\\+')
"""An escape of JSON, also within JSON within JSON; else backslashes."""
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\n", "f": "\n", '"': '"', "/": "/"}
_UNSEEN: Final = frozenset({"Cf", "Mn", "Me", "Cs"})
_FILLERS: Final = "\u115f\u1160\u3164\uffa0"
"""Letters, by their category, that show as nothing."""
_ALIKE: Final = str.maketrans(
    "\u2018\u2019\u201b\u02bc\u2212開發訓練義問雲騰訊節動譜語為團隊創設計構個這麼產製實驗盤書戶調結",
    "''''-开发训练义问云腾讯节动谱语为团队创设计构个这么产制实验盘书户调结",
)
"""Apostrophes, the minus sign, and the traditional characters of the words that are looked for."""


class Folded(NamedTuple):
    """Folded text. Its character `i` stands for those of the text itself from `starts[i]` to before `ends[i]`, with the
    accents behind it.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def fold(text: str, *, escapes: bool = False) -> Folded:
    """The text folded by NFKD and case, without accents and what does not show. `escapes` also reads those of JSON."""
    table = {ord(char): plain for char in set(text) if (plain := _plain(char)) != char}
    odd = "".join(sorted(chr(code) for code, plain in table.items() if len(plain) != 1))
    if not odd and not (escapes and "\\" in text):
        return Folded(text.translate(table), range(len(text)), range(1, len(text) + 1))
    return _in_pieces(text, table, odd, escapes)


def _in_pieces(text: str, table: Mapping[int, str], odd: str, escapes: bool) -> Folded:
    """The slow way: what is not one character for one is taken by itself."""
    alternatives = [*([_ESCAPE.pattern] if escapes else []), *([f"[{re.escape(odd)}]"] if odd else [])]
    pieces, starts, ends, done = list[str](), array("L"), array("L"), 0
    for found in re.finditer("|".join(alternatives), text):
        start, end = found.span()
        char = _read(found)
        shown = _plain(char)
        pieces += (text[done:start].translate(table), shown)
        starts.extend(range(done, start))
        ends.extend(range(done + 1, start + 1))
        if ends and not shown and unicodedata.combining(char):
            ends[-1] = end
        starts.extend([start] * len(shown))
        ends.extend([end] * len(shown))
        done = end
    pieces.append(text[done:].translate(table))
    starts.extend(range(done, len(text)))
    ends.extend(range(done + 1, len(text) + 1))
    return Folded("".join(pieces), starts, ends)


def _read(found: re.Match[str]) -> str:
    """The character that stands there, or that an escape stands for."""
    if found[0][0] != "\\":
        return found[0]
    if found[1]:
        return chr(int(found[1], 16))
    return _ESCAPED[found[2]] if found[2] else "\\"


@lru_cache(maxsize=20_000)
def _plain(char: str) -> str:
    """One character folded: none, one or more."""
    seen = "".join(filter(_shows, unicodedata.normalize("NFKD", char)))
    folded = seen.casefold().translate(_ALIKE)
    return "".join("-" if unicodedata.category(one) == "Pd" else one for one in folded)


def _shows(char: str) -> bool:
    category = unicodedata.category(char)
    return category not in _UNSEEN and char not in _FILLERS and (category != "Cc" or char.isspace())
