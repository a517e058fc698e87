"""The clauses of a prompt, and what each of them denies. Pure; English and Chinese.

A negation holds for what follows it up to a contrast ("but", 但) or the end of the sentence; one that a verb carries
("does not count", 一律不加分) holds for what stands before it, too.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from misjudge_tools.judging.lint_words import either

LIMIT: Final = 800
"""Characters of a clause that are looked at; what is longer is no sentence."""

_BULLET: Final = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.)、]|[a-z][.)])\s+", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n")
_CONTRAST: Final = either(
    ("but(?! also)", "however", "whereas", "yet", "although", "though", "instead(?! of)", "unless", "except"),
    ("但是?", "然而", "不过", "反而(?!不)", "除非"),
)
_NOT_ONLY: Final = either(
    (
        "not (?:only|just|merely)",
        "(?:do not|don['’]t|never) (?:forget|fail|hesitate)(?: to)?",
        "no doubt",
        "whether or not",
    ),
    ("不仅", "不但", "不只", "不光", "不要忘记", "别忘了?", "不妨", "差不多", "不同", "不错", "不断"),
)
"""Words of denial that deny nothing."""
_AHEAD: Final = either(
    (
        *("no", "not", "never", "without", "nor", "neither", "cannot", "regardless", "irrespective", "rather than"),
        *(
            "instead of",
            "independent(?:ly)?",
            r"\w+n['’]t",
            r"(?:ignor|disregard|avoid|forbid|refrain|discount|resist)\w*",
        ),
        *("bias(?:ed)? (?:to|for|by|towards?)", "unaffected"),
    ),
    (
        *(
            "不",
            "勿",
            "别(?!的)",
            "莫",
            "未",
            "无关",
            "无论",
            "无视",
            "忽略",
            "忽视",
            "避免",
            "禁止",
            "而非",
            "并非",
            "以免",
        ),
        "防止",
    ),
)
_WILL: Final = "(?:does|should|must|may|can|shall|will|would|is|are|was|were|be|has|have|had)"
_WEIGHS: Final = "(?:has|have|plays?|carry|carries|earns?|gets?|deserves?|counts?|matters?)"
_BEHIND: Final = either(
    (
        *(
            rf"{_WILL}(?: not|n['’]t)",
            "cannot",
            "unimportant",
            "irrelevant",
            rf"{_WEIGHS} (?:for |with )?(?:no|nothing)",
        ),
        r"(?!(?:and|but|or|you|please|then|so)\b)[a-z]+ (?:do not|don['’]t|never)",
        "(?:be|is|are|being) (?:ignored|disregarded|excluded|discounted|avoided)",
    ),
    (
        "(?:不(?!仅|但|只|要)|无)[^，。；]{0,6}(?:加分|得分|影响|考虑|计|看|算|作为|重要|评判|评分|奖励)",
        "无关",
    ),
)


class Clause(NamedTuple):
    """A piece of a prompt in which one negation holds."""

    text: str

    def denied(self, what: re.Pattern[str]) -> bool:
        """Whether the clause speaks of this and denies it, wherever it does."""
        found = [match.start() for match in what.finditer(self.text)]
        return bool(found) and all(map(self._denies, found))

    def plainly(self, what: re.Pattern[str]) -> bool:
        """Whether the clause speaks of this at least once without denying it."""
        return any(not self._denies(match.start()) for match in what.finditer(self.text))

    def _denies(self, place: int) -> bool:
        return _AHEAD.search(self.text, 0, place) is not None or _BEHIND.search(self.text, place) is not None


def clauses_of(text: str) -> list[Clause]:
    """The clauses of a text. Lines that were only wrapped are put together; items go with the line that lists them."""
    sentences = (sentence for block in _blocks(text) for sentence in _SENTENCE.split(block))
    pieces = (piece for sentence in sentences for piece in _CONTRAST.split(_NOT_ONLY.sub(" ", sentence)))
    return [Clause(piece.strip()[:LIMIT]) for piece in pieces if piece.strip()]


def _blocks(text: str) -> list[str]:
    blocks: list[str] = []
    heading = ""
    for line in text.splitlines():
        item = _BULLET.match(line)
        content = line[item.end() :] if item else line.strip()
        if not content.strip():
            blocks.append("")
        elif item:
            blocks.append(f"{heading} {content}")
        elif blocks and blocks[-1]:
            blocks[-1] += f" {content}"
        else:
            blocks.append(content)
        heading = _heading(blocks[-1], content) if not item else heading
    return blocks


def _heading(block: str, line: str) -> str:
    """The sentence that a list follows, where a line ends in a colon."""
    if not line.rstrip().endswith((":", "：")):
        return ""
    return _SENTENCE.split(block[-LIMIT:])[-1].rstrip(": ：") + ":"
