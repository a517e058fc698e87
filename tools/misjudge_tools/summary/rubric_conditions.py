"""Which judges of an audit are one judge under several conditions: with no, its own, human or library rules. Pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, get_args

from misjudge_storage.hashing import canonical
from misjudge_storage.rubric_counts import Actor
from misjudge_tools.summary.rubric_values import Protocol, SourceKind

RULES_MARK = "+rules:"
FORCED_MARK = "+forced"
"""How the label of a judge goes on; see `judging.choice.label_of`."""
KINDS: Sequence[SourceKind] = get_args(SourceKind)
GAPS: Sequence[tuple[SourceKind, SourceKind]] = (("human", "self"), ("human", "none"), ("self", "none"))
"""The differences that are of interest, the rubric gap first."""
_LANGUAGE = re.compile(r"\.(en|zh)\.v\d+$")
_NOT_THE_JUDGE = frozenset({"rubrics", "reply_form"})
"""A judge with rules has a prompt that shows them, so it may answer in another form than without."""


class Condition(NamedTuple):
    """A judge with rules of one source. `judge` is what people call it whatever its rules are."""

    judge_id: str
    label: str
    judge: str
    form: str
    protocol: Protocol
    kind: SourceKind
    source: str
    writer_id: str | None
    language: str | None


class Compared(NamedTuple):
    """Two conditions of one judge."""

    first: Condition
    second: Condition


def conditions(actors: Sequence[Actor]) -> list[Condition]:
    """The judges by what they apply. Those of pairs that nobody asked with rules, or as RubricBench does, are left out,
    unless there are no others.
    """
    labels = {actor.judge_id: actor.label for actor in actors}
    groups: defaultdict[tuple[str, ...], list[Actor]] = defaultdict(list)
    for actor in actors:
        if actor.form in ("pairwise", "rubric"):
            groups[_key(actor)].append(actor)
    asked = [group for group in groups.values() if any(_is_rubric_work(actor) for actor in group)]
    named = _named(asked or list(groups.values()))
    return [_condition(actor, name, labels) for name, group in named for actor in group]


def compared(found: Sequence[Condition]) -> list[Compared]:
    """The conditions of judges of pairs to be compared, by judge and protocol, the rubric gap first."""
    judges: defaultdict[tuple[str, str], list[Condition]] = defaultdict(list)
    for one in found:
        if one.form == "pairwise":
            judges[one.judge, one.protocol].append(one)
    return [pair for group in judges.values() for pair in _pairs(group)]


def _pairs(group: Sequence[Condition]) -> Iterator[Compared]:
    for first, second in GAPS:
        for one, other in product(group, group):
            if (one.kind, other.kind) == (first, second) and _speak_alike(one, other):
                yield Compared(one, other)


def _speak_alike(one: Condition, other: Condition) -> bool:
    """Prompts of one language; that of an own prompt is not known."""
    return None in (one.language, other.language) or one.language == other.language


def _params(actor: Actor) -> Mapping[str, Any]:
    try:
        stated = json.loads(actor.params or "{}")
    except ValueError:  # an imported judge may state anything
        return {}
    return stated if isinstance(stated, dict) else {}


def _key(actor: Actor) -> tuple[str, ...]:
    facts = {name: value for name, value in _params(actor).items() if name not in _NOT_THE_JUDGE}
    # Nothing but its label tells apart imported judges that state no model.
    return (actor.form, actor.model or actor.label, canonical(facts))


def _is_rubric_work(actor: Actor) -> bool:
    return actor.form == "rubric" or not _params(actor).keys().isdisjoint({"rubrics", "forced"})


def _named(groups: Sequence[Sequence[Actor]]) -> Iterator[tuple[str, Sequence[Actor]]]:
    """What people call the judge of each group: its label without what is told of rules and protocol. Where two have
    the same, the first id tells them apart.
    """
    taken: set[tuple[str, ...]] = set()
    for group in groups:
        name = min((_plain(actor.label) for actor in group), key=lambda label: (len(label), label))
        mine = (group[0].form, _protocol(group[0]))
        if (name, *mine) in taken:
            name = f"{name}@{group[0].judge_id.removeprefix('jdg_')[:6]}"
        taken.add((name, *mine))
        yield name, group


def _plain(label: str) -> str:
    return label.partition(RULES_MARK)[0].removesuffix(FORCED_MARK)


def _protocol(actor: Actor) -> Protocol:
    return "official" if _params(actor).get("forced") is True else "both_orders"


def _kind(stated: object) -> SourceKind:
    for kind in KINDS:
        if kind == stated:
            return kind
    return "none"


def _condition(actor: Actor, name: str, labels: Mapping[str, str]) -> Condition:
    stated = _params(actor).get("rubrics")
    rubrics: Mapping[str, Any] = stated if isinstance(stated, dict) else {}
    kind = _kind(rubrics.get("kind"))
    writer_id = str(rubrics.get("writer_id"))
    sources: Mapping[SourceKind, str] = {
        "none": "none",
        "self": f"self[{labels.get(writer_id, writer_id)}]",
        "human": "human",
        "library": actor.label.partition(RULES_MARK)[2] or str(rubrics.get("rubric_id")),
    }
    language = _LANGUAGE.search(actor.prompt_version)
    return Condition(
        judge_id=actor.judge_id,
        label=actor.label,
        judge=name,
        form=actor.form,
        protocol=_protocol(actor),
        kind=kind,
        source=sources[kind],
        writer_id=writer_id if kind == "self" else None,
        language=language[1] if language else None,
    )
