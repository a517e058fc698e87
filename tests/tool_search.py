"""Searches the tools as clients do that put off loading them: BM25 over what is listed of each.

Codex indexes the name as one word, the description and the names of the arguments, without stop words, by word stems; a
Chinese character is a word of its own there, since it is transliterated alone. Others split names at the underscore and
read the descriptions of the arguments, too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp.types import Tool

K1, B = 1.2, 0.75
WORD = re.compile(r"[a-z0-9_]+|[\u4e00-\u9fff]")
STOP_WORDS = frozenset(
    "a about again all am an and any are as at be been before both but by can cannot could did do does doing down "
    "each few for from get had has have how i if in into is it its just may me more most my no not now of off on "
    "once one only or other our out over own same she should so some such than that the their them then there "
    "these they this those to too under until up very was we were what when where which while who whom why will "
    "with would you your".split()
)
ENDINGS = ("ations", "ation", "ings", "ing", "edly", "ies", "ed", "es", "ly", "er", "or", "e", "s", "y")


def codex_text(tool: Tool) -> str:
    """What Codex indexes of a tool."""
    return " ".join((tool.name, tool.description or "", *_arguments(tool)))


def wide_text(tool: Tool) -> str:
    """What a client indexes that reads all that is listed."""
    said = (str(argument.get("description", "")) for argument in _arguments(tool).values())
    names = (name.replace("_", " ") for name in (tool.name, *_arguments(tool)))
    return " ".join((*names, tool.description or "", *said))


def ranking(texts: Mapping[str, str], query: str) -> list[str]:
    """The names whose texts fit the query, the best first; those without a word of it are left out."""
    documents = {name: Counter(tokens(text)) for name, text in texts.items()}
    length = sum(words.total() for words in documents.values()) / len(documents)
    scores = {name: _score(words, tokens(query), list(documents.values()), length) for name, words in documents.items()}
    return sorted((name for name, score in scores.items() if score > 0), key=lambda name: -scores[name])


def tokens(text: str) -> list[str]:
    """Stems of the words that mean something, and single Chinese characters."""
    return [_stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS]


def _arguments(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    arguments: Mapping[str, Mapping[str, Any]] = tool.input_schema["properties"]
    return arguments


def _stem(word: str) -> str:
    return next((word[: -len(end)] for end in ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), word)


def _score(words: Counter[str], query: Sequence[str], documents: Sequence[Counter[str]], length: float) -> float:
    return sum(_weight(words, word, documents, length) for word in _held(query, words))


def _held(query: Sequence[str], words: Counter[str]) -> Iterator[str]:
    return (word for word in query if word in words)


def _weight(words: Counter[str], word: str, documents: Sequence[Counter[str]], length: float) -> float:
    holding = sum(word in document for document in documents)
    rarity = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
    often = words[word]
    return rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * words.total() / length))
