"""The id of a person who labels. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.families import family_of

LONGEST: Final = 120
_NOBODY: Final = frozenset(
    "agent ai anonymous assistant bot chatbot human judge llm local machine me mcp model none nobody null person "
    "reviewer robot scripted simulated test unknown user you".split()
)
"""What a model calls itself, and what names nobody."""


def reviewer_named(given: str | None, known: Iterable[str] = (), judged: Collection[str] = ()) -> str:
    """The id as it is stored: as one of the `known` ones is written, where only capitals differ.

    Raises InvalidInput where it is missing, or names nobody, a model, or what is `judged` or judges.
    """
    name = " ".join(unicodedata.normalize("NFC", given or "").split())
    if not name:
        raise InvalidInput("A label needs the id of the person who gives it: reviewer, such as their initials.")
    if len(name) > LONGEST or re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", name):
        raise InvalidInput(f"A reviewer's id is one line of 1 to {LONGEST} plain characters, such as initials.")
    if family_of(name) is not None or name in judged:
        raise InvalidInput(
            "This reviewer's id names a model, and labels are what people say. Give the person's id, such as initials."
        )
    if name.casefold() in _NOBODY:
        raise InvalidInput("This reviewer's id could be anybody. Give one that is the person's own, such as initials.")
    return next((one for one in known if one.casefold() == name.casefold()), name)
