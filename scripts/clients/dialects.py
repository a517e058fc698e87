"""What a scripted model needs of a wire format: one dialect for each client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from clients.steps import Told

Body = Mapping[str, Any]


class Offer(NamedTuple):
    """A tool as it stands in a request: the name to call, and the namespace that it is in."""

    name: str
    namespace: str | None = None


class Use(NamedTuple):
    """What the model sends to have a tool called. `kind` is one of the dialect's: call, search or code."""

    kind: str
    offer: Offer
    arguments: Mapping[str, Any]
    words: str = ""


class Dialect(NamedTuple):
    """How requests of one API are read and replies are written. Pure."""

    path: str
    """How the path of a request for the model ends."""
    is_turn: Callable[[Body], bool]
    """Whether a request is one of the session, and no title or summary on the side."""
    offers: Callable[[Body], list[Offer]]
    """All tools that the model may call."""
    search: Callable[[Body, str], Use | None]
    """How to look for a tool by what it is called; None where there is no search."""
    code: Callable[[Body, str, Mapping[str, Any]], Use | None]
    """How to call a tool by a program; None where the client does not have it so."""
    told: Callable[[Body, str], Told | None]
    """What the model is told of the use with this id."""
    events: Callable[[Use | str, str, str], Iterator[Body]]
    """The stream of a reply: a use or words, its id, the model's name."""
