"""Whose rules a judge applies, as people call it. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from misjudge_storage.rubric_counts import Actor
from misjudge_storage.rubric_library import LibraryEntry
from misjudge_tools.summary.rubric_values import SourceKind

RULES_MARK = "+rules:"
"""Before the rules in the label of a judge; see `judging.choice.label_of`."""
KINDS: Sequence[SourceKind] = get_args(SourceKind)
ID_DIGITS = 8
"""Of a set's id that tell it from others."""


class Source(NamedTuple):
    """Rules of one source. `writer_id` is of own ones; `name` and `version` are of the library, as far as known."""

    kind: SourceKind
    said: str
    writer_id: str | None = None
    name: str | None = None
    version: int | None = None


class _Set(NamedTuple):
    """A set of the library under a name."""

    name: str
    rubric_id: str
    version: int | None


def params_of(actor: Actor) -> Mapping[str, Any]:
    """The parameters that a judge states, none where these are no object."""
    try:
        stated = json.loads(actor.params or "{}")
    except ValueError:  # an imported judge may state anything
        return {}
    return stated if isinstance(stated, dict) else {}


def kind_of(actor: Actor) -> SourceKind:
    """The kind of rules that it applies."""
    stated = _rubrics(actor).get("kind")
    for kind in KINDS:
        if kind == stated:
            return kind
    return "none"


def without_hash(actor: Actor) -> str:
    """Its label without what the store puts behind one that another judge has."""
    return actor.label.removesuffix(f"@{short_id(actor.judge_id)}")


def short_id(judge_id: str) -> str:
    """What the store tells judges of one label apart by."""
    return judge_id.removeprefix("jdg_")[:6]


def sources_of(actors: Sequence[Actor], library: Sequence[LibraryEntry]) -> dict[str, Source]:
    """Judge id → its rules. A set of the library goes by its name, and with its version where there are several of one
    name; a set that has none by what it was chosen by.
    """
    labels = {actor.judge_id: actor.label for actor in actors}
    sets = {actor.judge_id: _set(actor, library) for actor in actors if kind_of(actor) == "library"}
    several = Counter(name for name, _ in {(one.name, one.rubric_id) for one in sets.values()})
    return {actor.judge_id: _source(actor, labels, sets.get(actor.judge_id), several) for actor in actors}


def _rubrics(actor: Actor) -> Mapping[str, Any]:
    stated = params_of(actor).get("rubrics")
    return stated if isinstance(stated, dict) else {}


def _set(actor: Actor, library: Sequence[LibraryEntry]) -> _Set:
    rubric_id = str(_rubrics(actor).get("rubric_id"))
    chosen_by = without_hash(actor).partition(RULES_MARK)[2]
    mine = [entry for entry in library if entry.rubric_id == rubric_id]
    if not mine:
        return _Set(chosen_by or rubric_id, rubric_id, None)
    # A label holds the start of a long name. The same set may have been put under a name again.
    found = max(mine, key=lambda entry: (entry.name == chosen_by, entry.name.startswith(chosen_by), entry.version))
    return _Set(found.name, rubric_id, found.version)


def _source(actor: Actor, labels: Mapping[str, str], held: _Set | None, several: Mapping[str, int]) -> Source:
    kind = kind_of(actor)
    if held is not None:
        digits = held.rubric_id.removeprefix("rub_")[:ID_DIGITS]
        which = digits if held.version is None else f"v{held.version}"
        said = f"{held.name} {which}" if several[held.name] > 1 else held.name
        return Source(kind, said, name=held.name, version=held.version)
    if kind == "self":
        writer_id = str(_rubrics(actor).get("writer_id"))
        return Source(kind, f"self[{labels.get(writer_id, writer_id)}]", writer_id)
    return Source(kind, kind)
