"""The label page as HTML. Transcripts are hostile text: escaped, and what would not be seen is made visible. Pure."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from misjudge_tools.labelling.page_state import PairPage
from misjudge_tools.labelling.page_words import said
from misjudge_tools.labelling.question import DONE, PREFERENCES
from misjudge_tools.labelling.values import ReviewStanding
from misjudge_tools.report.plain_text import visible
from misjudge_tools.results import MARK_EPISODES
from misjudge_tools.summary.deciding.phrases import Language

FIRST_CHARACTERS: Final = 20_000
"""How much of a response is shown at once."""
TASK_CHARACTERS: Final = 4_000
"""The same of a task, below which the responses stand."""
NEXT_CHARACTERS: Final = 50_000
"""How much of the rest a reader opens at a time: a browser that lays out more at once seems to hang."""
_TURN: Final = re.compile(r"^\[(user|assistant|tool call|tool result)\] ", re.MULTILINE)
"""The marks of a transcript. Its content cannot look like one (`judging.pairing`)."""
_LONG_WORD: Final = re.compile(r"\S{100,120}?(?=[\w!-/:-@\[-`{-~])")
"""Not before a mark that belongs to the character in front of it."""
_BREAK: Final = "\0"
"""Never in a text that was made visible."""
_STYLE, _SCRIPT = "label.css", "label.js"


class Turn(NamedTuple):
    """A turn of a transcript, or a piece of one. `speaker` is None of a text without turns, `start` the place of `text`
    in the whole.
    """

    speaker: str | None
    text: str
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Part(NamedTuple):
    """What of a text is shown at once; `first` and `last` number its characters from 1."""

    turns: list[Turn]
    first: int
    last: int


def pair_html(page: PairPage, reviewer: str, language: Language, note: str | None = None) -> str:
    """The page of a pair."""
    pair = page.pair
    task = {"Task": pair.task, "What counts as done": pair.criteria, "What must hold": pair.constraints}
    return _render(
        "pair.html",
        language,
        reviewer=reviewer,
        page=page,
        note=note,
        task={heading: parts_of([Turn(None, text)], TASK_CHARACTERS) for heading, text in task.items() if text},
        responses={"a": parts_of(turns(pair.response_a)), "b": parts_of(turns(pair.response_b))},
        preferences=PREFERENCES,
        done=DONE,
        marked=MARK_EPISODES,
    )


def done_html(standing: ReviewStanding, why: str, before: str | None, reviewer: str, language: Language) -> str:
    """The page where nothing is left, and why."""
    return _render("done.html", language, reviewer=reviewer, standing=standing, why=why, before=before)


def problem_html(problem: str, reviewer: str, language: Language) -> str:
    """The page of what could not be done."""
    return _render("problem.html", language, reviewer=reviewer, problem=problem)


@cache
def policy() -> str:
    """The Content-Security-Policy: nothing runs, loads or is sent but the page's own script, style and form."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src data:; "
        f"script-src 'sha256-{_digest(_SCRIPT)}'; style-src 'sha256-{_digest(_STYLE)}'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def turns(text: str) -> list[Turn]:
    """The turns of a transcript."""
    marks = list(_TURN.finditer(text))
    before = text[: marks[0].start()] if marks else text
    ends = [*(mark.start() - 1 for mark in marks[1:]), len(text)]
    marked = [Turn(mark[1], text[mark.end() : end], mark.end()) for mark, end in zip(marks, ends, strict=False)]
    return [Turn(None, before), *marked] if before else marked


def parts_of(whole: Iterable[Turn], first: int = FIRST_CHARACTERS) -> list[Part]:
    """The turns in parts that a reader opens one after another, the first one of so many characters.

    A long turn goes on in the next part.
    """
    pieces = (piece for turn in whole for piece in _pieces(turn, first))
    grouped = (list(group) for _, group in groupby(pieces, key=lambda piece: _end_of_part(piece.start, first)))
    return [Part(group, group[0].start + 1, group[-1].end) for group in grouped]


def _pieces(turn: Turn, first: int) -> Iterator[Turn]:
    """The turn, cut where a part ends."""
    start = turn.start
    while True:
        end = _end_of_part(start, first)
        yield Turn(turn.speaker, turn.text[start - turn.start : end - turn.start], start)
        if end >= turn.end:
            return
        start = end


def _end_of_part(place: int, first: int) -> int:
    """Where the part ends that the character at this place is in."""
    return first if place < first else place - (place - first) % NEXT_CHARACTERS + NEXT_CHARACTERS


def _render(template: str, language: Language, **values: Any) -> str:
    return _environment(language).get_template(template).render(**values)


@cache
def _environment(language: Language) -> Environment:
    made = Environment(
        loader=PackageLoader("misjudge_tools.labelling"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def say(english: str, **named: object) -> str:
        return said(english, language, **named)

    made.filters["record"] = _record
    made.globals.update(say=say, language=language, style=Markup(_asset(_STYLE)), script=Markup(_asset(_SCRIPT)))
    return made


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _record(text: str) -> Markup:
    """Text of a record, whose long words may be broken: browsers take minutes for a word of 20,000 characters."""
    broken = _LONG_WORD.sub(rf"\g<0>{_BREAK}", visible(text))
    return Markup("<wbr>").join(broken.split(_BREAK))


@cache
def _asset(name: str) -> str:
    return files("misjudge_tools.labelling").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(name: str) -> str:
    return b64encode(sha256(_asset(name).encode()).digest()).decode()
