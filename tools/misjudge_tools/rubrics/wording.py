"""What makes no other wording of a rule: taken out mark by mark, and only where it is sure to say nothing. Pure.

Equal wordings match without anybody being asked, so that what is in doubt stays: a mark beside a number, a single
letter or a sign, a mark that a rule may be about, and all that is quoted.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from misjudge_tools.rubrics.rule_words import AUXILIARY, MENTIONS, ZH_ASKS

INVISIBLE: Final = re.compile("[\u00ad\u115f\u1160\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_WIDE: Final = "\u2e80-\u2fff\u3005-\u3007\u3021-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_WIDTHS: Final = re.compile("[\u3000\uff00-\uffef]+")
_WORD: Final = rf"[^\W\d_{_WIDE}]"
"""A letter of a script that writes words apart."""
_TWO: Final = rf"(?<={_WORD}{_WORD})"
_QUOTED: Final = re.compile(
    r"```(?P<block>.+?)```|`(?P<code>[^`]+)`|[\"＂](?P<straight>[^\"＂]+)[\"＂]|“(?P<curly>[^“”]+)”|"
    r"‘(?P<single>[^‘’]+)’(?!\w)|(?<!\w)'(?P<plain>[^']+)'(?!\w)|「(?P<corner>[^「」]+)」|『(?P<white>[^『』]+)』|"
    r"《(?P<title>[^《》]+)》",
    re.DOTALL,
)
_BESIDE: Final = re.compile(rf"[^\W{_WIDE}]|[-+#*!&^~=<>|/\\@$%]")
"""Next to quoted words it would make others of them without the quotes."""
_ALL_QUOTED: Final = re.compile(
    r"\s*(?:[\"＂]([^\"＂]+)[\"＂]|“([^“”]+)”|‘([^‘’]+)’|'([^']+)'|「([^「」]+)」|『([^『』]+)』)[.?。．？]*\s*"
)
_UNPAIRED: Final = str.maketrans(
    dict.fromkeys('"“”「」『』《》', "″") | dict.fromkeys("'‘’ʼ", "′") | dict.fromkeys("`", "ˋ")
)
"""Marks that quote nothing are written so that they are taken for no others later."""
_HYPHENS: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-") | {"\u2015": "—"})
_BOLD: Final = re.compile(r"(?<![\w*/)])\*\*(?![\s*])([^*]+)(?<!\s)\*\*(?![\w*(])")
_BRACKETS: Final = re.compile(
    rf"(?<![^\s{_WIDE}])\((?=[^()]*(?:{_WORD}{_WORD}|[{_WIDE}]))([\w ]+)\)(?![^\s,.;:?!{_WIDE}])"
)
_DASH: Final = re.compile(rf"(?<!{_WORD})(?P<word>{_WORD}{{2,}}) ?[\u2013—] ?(?={_WORD}{_WORD})")
_HYPHEN: Final = re.compile(rf"{_TWO}-(?={_WORD}{_WORD})")
_PAUSE: Final = re.compile(rf"{_TWO}[,;:.?!](?= )")
_LAST: Final = re.compile(rf"{_TWO}[!.?。]+$|(?<=[{_WIDE}])(?<![是为用以成])[!.?。]+$|(?<=[^\s{_WIDE}])[.?。]+$")
_ASKS: Final = re.compile(rf"^(?i:{AUXILIARY}) |{ZH_ASKS}")
_TOKEN: Final = re.compile(rf"[^\W_{_WIDE}]+")
_SHOUTED: Final = 5
"""Letters of a word in capitals that is taken for an ordinary one; US, WHO and JSON are names."""
_SENTENCE: Final = 3
"""Words from which on capitals may be the style of a text."""
_STRESSED: Final = frozenset("the each must only both does".split())
"""Shorter words that are no names in capitals either."""
_UNIT: Final = 3
"""Letters of what may be a unit behind a number."""


def folded(text: str) -> str:
    """The text without what makes no other wording; once more may find more. Empty where no sign of it says a thing."""
    shown = unicodedata.normalize("NFC", text)
    if not any(map(_says, shown)):
        return ""
    whole = _ALL_QUOTED.fullmatch(shown)
    if whole:
        return " ".join(whole[whole.lastindex or 0].split())
    parts, kept = list[str](), dict[str, str]()
    marks = (chr(code) for code in range(0xF0000, 0x10FFFE) if chr(code) not in shown)
    position = 0
    for found in _QUOTED.finditer(shown):
        words = found[found.lastgroup or 0]
        beside = shown[found.start() - 1 : found.start()] + shown[found.end() : found.end() + 1]
        if not _says_the_same(words) or _BESIDE.search(beside):
            mark = next(marks)
            kept[mark] = found[0] if "“" in words or "”" in words else f"“{words}”"
            words = mark
        parts += (_narrow(shown[position : found.start()]), words)
        position = found.end()
    plain = _prose("".join((*parts, _narrow(shown[position:]))))
    return "".join(kept.get(char, char) for char in plain)


@lru_cache(maxsize=2_000)
def _says(char: str) -> bool:
    """Whether it is a letter, a number, a sign, or not known, and no punctuation."""
    category = unicodedata.category(char)
    return char == "^" or category[0] in "LMN" or category in {"Cn", "Co", "Sc", "Sm", "So"}


def _narrow(text: str) -> str:
    """What is seen of it, in the usual width. Small and raised digits are others, and stay."""
    seen = "".join(char for char in INVISIBLE.sub("", text) if unicodedata.category(char) != "Cf")
    usual = _WIDTHS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), seen)
    return usual.translate(_UNPAIRED)


def _says_the_same(quoted: str) -> bool:
    """Whether it does without its quotes: plain words."""
    return re.fullmatch(r"[^\W_]+(?: [^\W_]+)*", quoted) is not None and quoted == _narrow(quoted.casefold())


def _prose(text: str) -> str:
    plain = _closed_up(text.translate(_HYPHENS))
    while (bare := _BOLD.sub(r"\1", plain)) != plain:
        plain = bare
    plain = _HYPHEN.sub(" ", _DASH.sub(_without_dash, _BRACKETS.sub(r"\1", plain)))
    plain = _PAUSE.sub("", _without_last(plain))
    cased = plain.casefold() if _is_all_capitals(plain) else _TOKEN.sub(_cased, plain)
    return _closed_up(unicodedata.normalize("NFC", cased))


def _is_all_capitals(text: str) -> bool:
    """Whether a whole sentence is, so that capitals say nothing of a word."""
    return text == text.upper() and sum(len(word) > 1 and word.isalpha() for word in text.split()) >= _SENTENCE


def _closed_up(text: str) -> str:
    return re.sub(rf"(?<=[{_WIDE}]) | (?=[{_WIDE}])", "", " ".join(text.split()))


def _without_dash(found: re.Match[str]) -> str:
    return found[0] if found["word"].lower() in MENTIONS else f"{found['word']} "


def _without_last(text: str) -> str:
    *before, mark = text.rsplit(" ", 1)
    if before and mark == "?" and _ASKS.search(text) and before[0].lower().split(" ")[-1] not in MENTIONS:
        return before[0]
    return _LAST.sub("", text)


def _cased(found: re.Match[str]) -> str:
    """Small letters, unless their case may be a part of a name or unit: US, mW, x, 5 Mb."""
    token, text, start = found[0], found.string, found.start()
    if token == token.lower():
        return token.casefold()
    if not token.isalpha():
        return token
    if len(token) == 1:
        return "a" if token == "A" and start == 0 and re.match(rf" {_WORD}{_WORD}", text[1:4]) else token
    shouted = token == token.upper() and (len(token) >= _SHOUTED or token.lower() in _STRESSED)
    capitalised = token[1:] == token[1:].lower() and not (
        len(token) <= _UNIT and re.search(r"\d ?$", text[max(start - 2, 0) : start])
    )
    return token.casefold() if shouted or capitalised else token
