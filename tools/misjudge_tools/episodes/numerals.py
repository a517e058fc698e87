"""Numbers in words: Chinese numerals, also mixed with digits, and English number words below a million.

Both expect text in NFKC form and lower case.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_DIGITS: Final = "零〇一二两兩三四五六七八九壹贰叁肆伍陆柒捌玖"
_UNITS: Final = "十百千万亿拾佰仟廿萬億"
_RUN: Final = rf"[{_DIGITS}{_UNITS}]"
_MOST: Final = 30

# 一下, 一些, 十分 and their like are words without a number in them.
_WORDS: Final = rf"(?!一[下些起样直定般旦致边切向同并共旁带概]|一点(?![{_DIGITS}])|十分(?!钟)|千万|百分之)"

CHINESE: Final = re.compile(
    rf"(?P<percent>百分之)?(?P<number>负?(?:(?<![\d.,])\d[\d,]*(?:\.\d+)?)?(?<![统唯万]){_WORDS}{_RUN}[\d{_DIGITS}{_UNITS}]*"
    rf"(?:点[{_DIGITS}]+)?)"
)
"""A number with a Chinese numeral in it."""


def chinese(written: str) -> Decimal | None:
    """3万5 and 三万五 are 35000, 二〇二六 is 2026. None for what is no number, and for two digits side by side, as in
    两三 (two or three)."""
    bare = written.removeprefix("负")
    if len(bare) > _MOST or re.fullmatch(f"[{_DIGITS}]{{2}}", bare):
        return None
    # It takes 140 ms to import, and only a text with Chinese numerals needs it.
    import cn2an  # type: ignore[import-untyped]

    try:
        return Decimal(str(cn2an.cn2an(written.replace(",", ""), "smart")))
    except (ValueError, KeyError, IndexError, ArithmeticError):
        return None


_ONES: Final = {word: value for value, word in enumerate("one two three four five six seven eight nine".split(), 1)}
_TEENS: Final = {
    word: value
    for value, word in enumerate(
        "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(), 10
    )
}
_TENS: Final = {
    word: value * 10 for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_VALUES: Final = {"zero": 0, "a": 1, **_ONES, **_TEENS, **_TENS}


def _one_of(*words: dict[str, int]) -> str:
    return "(?:" + "|".join(word for group in words for word in group) + ")"


_BELOW_100: Final = rf"(?:{_one_of(_TENS)}(?:[ -]{_one_of(_ONES)})?|{_one_of(_TEENS, _ONES)})"
_BELOW_1000: Final = rf"(?:(?:a|{_one_of(_TEENS, _ONES)}) hundred(?:(?: and)? {_BELOW_100})?|{_BELOW_100})"
# "one moment", "the other one" and their like count nothing.
_NO_PRONOUN: Final = (
    r"(?!one (?:moment|sec|another)\b)(?:(?!one(?![a-z]| hundred| thousand))"
    r"|(?<!no )(?<!this )(?<!that )(?<!the )(?<!other )(?<!which )(?<!each )(?<!any ))"
)
ENGLISH: Final = re.compile(
    rf"(?<![a-z_\d]){_NO_PRONOUN}"
    rf"(?:(?:a|{_BELOW_1000}) thousand(?:,?(?: and)? {_BELOW_1000})?|{_BELOW_1000}|zero)"
    r"(?![a-z_\d])(?![ -](?:million|billion))"
)
"""A number in words."""


def english(written: str) -> Decimal:
    total = part = 0
    for word in re.findall(r"[a-z]+", written):
        if word == "hundred":
            part *= 100
        elif word == "thousand":
            total, part = part * 1000, 0
        else:
            part += _VALUES.get(word, 0)
    return Decimal(total + part)
