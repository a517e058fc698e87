"""The id of a person who labels: what nobody sees in it makes nobody another person. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.families import family_of

LONGEST: Final = 120
_NOBODY: Final = frozenset(
    "agent ai anonymous assistant bot chatbot human judge llm local machine me mcp model none nobody null person "
    "reviewer robot scripted simulated test unknown user you".split()
)
"""What a model calls itself, and what names nobody."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_BLANK: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Letters and marks that are shown as nothing."""


def reviewer_named(given: str | None, known: Iterable[str] = ()) -> str:
    """The id as it is stored: as one of the `known` ones is written, where only capitals, width or what nobody sees
    differ.

    Raises InvalidInput where it is missing, or names nobody or a model, or holds what nobody sees.
    """
    name = " ".join(unicodedata.normalize("NFKC", given or "").split())
    if not name:
        raise InvalidInput("A label needs the id of the person who gives it: reviewer (--reviewer), such as initials.")
    if len(name) > LONGEST or any(map(_is_unseen, name)):
        raise InvalidInput(
            f"A reviewer's id is one line of 1 to {LONGEST} characters that can all be seen, such as initials."
        )
    if family_of(name) is not None:
        raise _names_a_model()
    if name.casefold() in _NOBODY:
        raise InvalidInput("This reviewer's id could be anybody. Give one that is the person's own, such as initials.")
    alike = [one for one in known if _looks(one) == _looks(name)]
    return name if name in alike or not alike else alike[0]


def refuse_judged(name: str, judged: Iterable[str]) -> None:
    """Refuse the id of what is `judged` or judges. Raises InvalidInput."""
    if _looks(name) in map(_looks, judged):
        raise _names_a_model()


def _names_a_model() -> InvalidInput:
    return InvalidInput(
        "This reviewer's id names a model, and labels are what people say. Give the person's id, such as initials."
    )


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN or _BLANK.match(character) is not None


def _looks(name: str) -> str:
    """The same for names that look the same but for their capitals."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join("".join(one for one in folded if one == " " or not _is_unseen(one)).split())
