"""The question that a client's elicitation asks a person, and what its form brings back. Pure.

A client shows a message and a form of plain fields, which the person fills in and never the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Preference
from misjudge_tools.labelling.values import Done, GivenAnswer, ReviewPair

PREFERENCES: tuple[Preference, ...] = get_args(Preference)
DONE: tuple[Done, ...] = get_args(Done)
_PREFERENCES: Mapping[str, Preference] = {one.lower(): one for one in PREFERENCES}
_DONE: Mapping[str, Done] = {one: one for one in DONE}


class Question(NamedTuple):
    """A message for a person, and the JSON schema of the form below it: an object of plain fields, as MCP allows."""

    message: str
    schema: dict[str, Any]


def question(pair: ReviewPair) -> Question:
    """What to ask about a pair that is whole."""
    parts = {
        "Task": pair.task,
        "What counts as done": pair.criteria,
        "What must hold": pair.constraints,
        "Response A": pair.response_a,
        "Response B": pair.response_b,
    }
    told = "\n\n".join(f"{heading}\n{text}" for heading, text in parts.items() if text)
    return Question(f"Which response was better?\n\n{told}", question_schema())


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
    said = _word(written)
    found = _PREFERENCES.get(said)
    if found is None:
        raise InvalidInput("pref must be A, B or tie: which response the person found better.")
    return found


def read_done(written: object, name: str) -> Done | None:
    """yes, no or unsure, in capitals or not; None where nothing is written. Raises InvalidInput."""
    said = _word(written)
    found = _DONE.get(said)
    if found is None and said:
        raise InvalidInput(f"{name} must be yes, no or unsure, or empty: whether that response did the task.")
    return found


def _word(written: object) -> str:
    return "" if written is None else str(written).strip().lower()
