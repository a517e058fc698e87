"""The reasons and notes of a summary, which it says in English only, in the language of a report. Pure."""

from __future__ import annotations

import re
from functools import cache

from misjudge_tools.report.reasons_zh import ZH
from misjudge_tools.summary.deciding.phrases import Language

_PLACE = re.compile(r"\\\{(\w+)\\\}")
_NAMES = {"judge", "judges", "how", "role"}
"""What may hold any text; all else that a sentence is filled in with is one word."""
_SENTENCES = re.compile(r"(?<=[.]) (?=[A-Z])|; (?=SIMULATED)")


def reason(text: str, language: Language) -> str:
    """The sentences in this language; as they are where one of them is not known in it."""
    if language == "en":
        return text
    said = [_sentence(one) for one in _SENTENCES.split(text)]
    if None in said:
        return text
    return "".join(one if one.endswith("。") else f"{one}；" for one in filter(None, said)).removesuffix("；")


def _sentence(text: str) -> str | None:
    if text in ZH:
        return ZH[text]
    for pattern, chinese in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return chinese.format(**found.groupdict())
    return None


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """The sentences that are filled in, as what finds them."""
    return [
        (re.compile(_PLACE.sub(_filling, re.escape(english))), chinese)
        for english, chinese in ZH.items()
        if "{" in english
    ]


def _filling(found: re.Match[str]) -> str:
    return f"(?P<{found[1]}>{'.+' if found[1] in _NAMES else '[^ ]+'})"
