"""What a simulated user did wrong, as far as its messages show it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from misjudge_storage.types import Message
from misjudge_tools.suites.model import SuiteTask

MOST_SENTENCES = 3

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_SHARE_OF_A_RUN = {True: 1 / 14, False: 1 / 8}
"""A run that was copied has 14 Chinese characters (True) or 8 words, or a mixture of both."""

_SCORES = re.compile(
    r"(?<![\d/.])\d{1,3}(?:\.\d)?\s*/\s*(?:5|10|100)(?![\d/]|\s+of\b)"
    r"|\b\d{1,3}(?:\.\d)?\s+out\s+of\s+(?:5|10|100|five|ten)\b"
    r"|\b(?:score|rating|grade)\s*(?:[:=]|\bof\b)\s*\d"
    r"|\bi(?:['’]d|['’]ll|\s+would|\s+will)?\s+(?:rate|score|grade)\b"
    r"|[打评]分|[打给][你您它这]?个?\s*[\d一二三四五六七八九十百]+\s*分(?![钟之期])",
    re.IGNORECASE,
)
_CALLS = re.compile(
    r'<tool_call>|"tool_calls"\s*:|"(?:name|function)"\s*:.{0,200}"(?:arguments|parameters)"\s*:', re.DOTALL
)
_NO_END = re.compile(
    r"\b(?:mr|mrs|ms|dr|st|no|nr|vs|etc|approx|e\.g|i\.e|a\.m|p\.m|inc|ltd|co)\."
    r"|\b[a-z]\.(?=\s|[a-z]\.)|^[ \t]*\d{1,3}\.",
    re.IGNORECASE | re.MULTILINE,
)
# Runs are read from their start only: a message of dots would take quadratic time.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*(?=\s|\Z)|(?<![。！？])[。！？]++[”’」）]*")


def flags_of(task: SuiteTask, messages: Sequence[Message], tools: Sequence[str] = ()) -> tuple[str, ...]:
    """Flags in the order below; the opening, which the suite wrote, is not looked at. `tools`: names of the suite's.

    leaked_criteria: it says a run of the success criteria or hard constraints that it could not know.
    scored: it rates the agent. solved_task: it writes tool calls, or names a tool that the agent never spoke of.
    too_long: more than three sentences, beside facts in the suite's own words.
    """
    flags: dict[str, None] = {}
    known = [task.opening, task.goal, *(fact.says for fact in task.facts), *(ask for f in task.facts for ask in f.asks)]
    names = {*tools, *(call.name for message in messages for call in message.tool_calls)}
    for message in messages[1:]:
        if message.role == "user":
            flags.update(dict.fromkeys(_wrong_in(message.content, task, known, names)))
        # What was said already may be repeated.
        known.append(message.content)
    return tuple(flag for flag in ("leaked_criteria", "scored", "solved_task", "too_long") if flag in flags)


def _wrong_in(said: str, task: SuiteTask, known: Sequence[str], names: set[str]) -> Iterator[str]:
    heard = "\n".join(known).casefold()
    if _copies(said, task.success_criteria, known) or _copies(said, task.hard_constraints, known):
        yield "leaked_criteria"
    if any(score[0].casefold() not in heard for score in _SCORES.finditer(said)):
        yield "scored"
    if _CALLS.search(said) or any(_is_named(name, said) and not _is_named(name, heard) for name in names):
        yield "solved_task"
    if _sentences(said, task) > MOST_SENTENCES:
        yield "too_long"


def _copies(said: str, source: str, known: Sequence[str]) -> bool:
    tokens = _tokens(source)
    here, elsewhere = _joined(_tokens(said)), [_joined(_tokens(text)) for text in known]
    return any(
        run in here and not any(run in text for text in elsewhere) for run in map(_joined, _shortest_runs(tokens))
    )


def _shortest_runs(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """From each token on, as many as make a run."""
    for start in range(len(tokens)):
        weight = 0.0
        for end in range(start, len(tokens)):
            weight += _SHARE_OF_A_RUN[re.fullmatch(f"[{_CJK}]", tokens[end]) is not None]
            if weight > 1 - 1e-9:
                yield tokens[start : end + 1]
                break


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def _joined(tokens: Sequence[str]) -> str:
    return f" {' '.join(tokens)} "


def _is_named(name: str, text: str) -> bool:
    """Whether a tool's name, which is no ordinary word, stands in the text."""
    return (
        "_" in name
        and re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text, re.IGNORECASE) is not None
    )


def _sentences(said: str, task: SuiteTask) -> int:
    for fact in task.facts:
        said = said.replace(fact.says, " ")
    said = _NO_END.sub(" x ", said)
    return sum(any(letter.isalnum() for letter in piece) for piece in _END.split(said))
