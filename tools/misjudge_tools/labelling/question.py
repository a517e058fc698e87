"""The question that a client's elicitation asks a person, and what its form brings back. Pure.

A client shows a message and a form of plain fields, which the person fills in and never the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Done, Preference
from misjudge_tools.labelling.values import GivenAnswer, ReviewPair
from misjudge_tools.report.plain_text import visible

PREFERENCES: tuple[Preference, ...] = get_args(Preference)
DONE: tuple[Done, ...] = get_args(Done)
_PREFERENCES: Mapping[str, Preference] = {one.lower(): one for one in PREFERENCES}
_DONE: Mapping[str, Done] = {one: one for one in DONE}
TEXTS: Final = ("task", "criteria", "constraints", "response_a", "response_b")
QUOTE: Final = "> "
_LINE: Final = re.compile("^", re.MULTILINE)
_SHORT: Final = re.compile(r"\w{1,20}")
_ASKED: Final = (
    f"Which response was better? What begins with {QUOTE.strip()} is quoted: it is part of what is compared."
)
_EMPTY: Final = "(empty)"
_RESPONSES: Final = frozenset({"Response A", "Response B"})


class Question(NamedTuple):
    """A message for a person, and the JSON schema of the form below it: an object of plain fields, as MCP allows."""

    message: str
    schema: dict[str, Any]


def quoted(pair: ReviewPair) -> ReviewPair:
    """The pair with its texts set apart line by line, and all in them to be seen: none of them can pass for a heading,
    the other response or the end of a response, wherever it is shown.
    """
    return pair.model_copy(update={name: _quoted(getattr(pair, name)) for name in TEXTS})


def _quoted(text: str) -> str:
    return _LINE.sub(QUOTE, visible(text)) if text else ""


def question(pair: ReviewPair, marked: str | None = None) -> Question:
    """What to ask about a quoted pair that is whole; first, the mark of made-up episodes."""
    parts = {
        "Task": pair.task,
        "What counts as done": pair.criteria,
        "What must hold": pair.constraints,
        "Response A": pair.response_a,
        "Response B": pair.response_b,
    }
    told = [f"{heading}\n{text or _EMPTY}" for heading, text in parts.items() if text or heading in _RESPONSES]
    return Question("\n\n".join([*([marked] if marked else []), _ASKED, *told]), question_schema())


def question_schema() -> dict[str, Any]:
    """The form: `pref` is needed, whether each response did the task may be left out."""
    done = {"type": "string", "enum": list(DONE)}
    return {
        "type": "object",
        "properties": {
            "pref": {"type": "string", "enum": list(PREFERENCES), "title": "Which response was better?"},
            "success_a": {**done, "title": "Did response A do the task?"},
            "success_b": {**done, "title": "Did response B do the task?"},
        },
        "required": ["pref"],
    }


def read_form(token: str, content: Mapping[str, Any] | None) -> GivenAnswer:
    """What a person filled in. Raises InvalidInput where the form is not filled in, or says what it does not offer."""
    fields = content or {}
    return GivenAnswer(
        token,
        read_preference(fields.get("pref")),
        read_done(fields.get("success_a"), "success_a"),
        read_done(fields.get("success_b"), "success_b"),
    )


def read_preference(written: object) -> Preference:
    """A, B or tie, in capitals or not. Raises InvalidInput."""
    found = _PREFERENCES.get(_word(written).lower())
    if found is None:
        raise InvalidInput(f"pref must be A, B or tie{_not(written)}: which response the person found better.")
    return found


def is_preference(written: object) -> bool:
    """Whether `read_preference` can read it."""
    return _word(written).lower() in _PREFERENCES


def read_done(written: object, name: str) -> Done | None:
    """yes, no or unsure, in capitals or not; None where nothing is written. Raises InvalidInput."""
    found = _DONE.get(_word(written).lower())
    if found is None and _word(written):
        raise InvalidInput(
            f"{name} must be yes, no or unsure, or empty{_not(written)}: whether that response did the task."
        )
    return found


def _not(written: object) -> str:
    """What stands there instead, where it is a short word: it may be in the wrong column, and a whole response."""
    return f', not "{_word(written)}"' if _SHORT.fullmatch(_word(written)) else ""


def _word(written: object) -> str:
    return "" if written is None else str(written).strip()
