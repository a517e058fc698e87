"""Which judges of an audit are one judge under several conditions: with no, its own, human or library rules. Pure.

A judge is a model with its parameters, asked in one language or with one prompt of people's own. Where it was asked in
other words without rules than with them, as where a prompt shows no rules, the former stands beside the latter.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from misjudge_storage.hashing import canonical
from misjudge_storage.rubric_counts import Actor
from misjudge_storage.rubric_library import LibraryEntry
from misjudge_tools.summary.rubric_sources import (
    KINDS,
    RULES_MARK,
    Source,
    kind_of,
    params_of,
    short_id,
    sources_of,
    without_hash,
)
from misjudge_tools.summary.rubric_values import Protocol, SourceKind

FORCED_MARK = "+forced"
"""How the label of a judge goes on that must name one of two; see `judging.choice.label_of`."""
GAPS: Sequence[tuple[SourceKind, SourceKind]] = (
    *(("human", "self"), ("human", "none"), ("self", "none")),
    *(("library", "human"), ("library", "none"), ("library", "library")),
)
"""The differences that are of interest, the rubric gap first; of the library a newer version less an older one."""
_LANGUAGE = re.compile(r"\.(en|zh)\.v\d+$")
_NOT_THE_JUDGE = frozenset({"rubrics", "reply_form"})
"""A judge with rules has a prompt that shows them, so it may answer in another form than without."""


class Condition(NamedTuple):
    """A judge with rules of one source. `judge` and `source` are what people call the two: no two conditions of one
    form and protocol have both in common.
    """

    judge_id: str
    label: str
    judge: str
    form: str
    protocol: Protocol
    rules: Source

    @property
    def kind(self) -> SourceKind:
        return self.rules.kind

    @property
    def source(self) -> str:
        return self.rules.said


class Compared(NamedTuple):
    """Two conditions of one judge."""

    first: Condition
    second: Condition


class _Words(NamedTuple):
    """In which words a judge is asked: a language of the shipped prompts, or a prompt of people's own."""

    language: str | None
    prompt: str


class _Group(NamedTuple):
    """One judge. `lent` are judges without rules that were asked in other words."""

    words: _Words
    own: Sequence[Actor]
    lent: Sequence[Actor] = ()

    @property
    def everyone(self) -> Sequence[Actor]:
        return (*self.own, *self.lent)


def conditions(
    actors: Sequence[Actor], library: Sequence[LibraryEntry] = (), writers: Sequence[str] = ()
) -> list[Condition]:
    """The judges by what they apply, in the order of all tables: no rules, own ones as `writers` (ids) stand, human
    ones, those of the library. Judges of pairs that nobody asked with rules, or as RubricBench does, are left out,
    unless there are no others.
    """
    judges: defaultdict[tuple[str, ...], list[Actor]] = defaultdict(list)
    for actor in actors:
        if actor.form in ("pairwise", "rubric"):
            judges[_key(actor)].append(actor)
    asked = {key for key, judge in judges.items() if any(map(_is_rubric_work, judge))} or judges.keys()
    sources = sources_of(actors, library)
    groups = [group for judge in judges.values() for group in _groups(judge)]
    # Those that are left out have their names all the same.
    named = ((group, name) for group, name in _named(groups) if _key(group.own[0]) in asked)
    found = [one for group, name in named for one in _conditions(group, name, sources)]
    place = {writer_id: number for number, writer_id in enumerate(writers)}
    return sorted(
        found, key=lambda one: (*_spelt(one.judge), one.form, one.protocol, *_rank(one.rules, place), one.label)
    )


def compared(found: Sequence[Condition]) -> list[Compared]:
    """The conditions of judges of pairs to be compared, by judge and protocol, the rubric gap first."""
    judges: defaultdict[tuple[str, str], list[Condition]] = defaultdict(list)
    for one in found:
        if one.form == "pairwise":
            judges[one.judge, one.protocol].append(one)
    return [pair for group in judges.values() for pair in _pairs(group)]


def _pairs(group: Sequence[Condition]) -> Iterator[Compared]:
    for gap in GAPS:
        for one, other in product(group, group):
            if (one.kind, other.kind) == gap and (gap[0] != gap[1] or _is_newer(one.rules, other.rules)):
                yield Compared(one, other)


def _is_newer(one: Source, other: Source) -> bool:
    return one.name == other.name and (one.version or 0) > (other.version or 0) > 0


def _spelt(judge: str) -> tuple[str, str]:
    """Of one label the one without a hash first, whatever the language behind it."""
    return judge.partition("[")[0], judge


def _rank(rules: Source, place: Mapping[str, int]) -> tuple[int, int, str, int]:
    behind = place.get(rules.writer_id or "", len(place))
    return (KINDS.index(rules.kind), behind, rules.name or "", rules.version or 0)


def _key(actor: Actor) -> tuple[str, ...]:
    facts = {name: value for name, value in params_of(actor).items() if name not in _NOT_THE_JUDGE}
    # Nothing but its label tells apart imported judges that state no model.
    return (actor.form, actor.model or actor.label, canonical(facts))


def _is_rubric_work(actor: Actor) -> bool:
    return actor.form == "rubric" or not params_of(actor).keys().isdisjoint({"rubrics", "forced"})


def _is_plain(actor: Actor) -> bool:
    return kind_of(actor) == "none"


def _words(actor: Actor) -> _Words:
    language = _LANGUAGE.search(actor.prompt_version)
    # Shipped prompts with and without rules are different ones that say the same of everything else.
    return _Words(language[1], "") if language else _Words(None, f"{actor.prompt_version}@{actor.prompt_hash}")


def _groups(judge: Sequence[Actor]) -> Iterator[_Group]:
    """A judge by the words it is asked in. One without rules is lent to those with rules that have none of their own,
    and to all, where nobody asked with rules in its words; not where the language is known to be another one.
    """
    asked: defaultdict[_Words, list[Actor]] = defaultdict(list)
    for actor in judge:
        asked[_words(actor)].append(actor)
    ruled = [words for words, own in asked.items() if not all(map(_is_plain, own))]
    for words in ruled:
        alone = not any(map(_is_plain, asked[words]))
        others = (other for other in asked if (alone or other not in ruled) and _may_be_lent(other, words))
        yield _Group(words, asked[words], [actor for other in others for actor in asked[other] if _is_plain(actor)])
    for words, own in asked.items():
        if words not in ruled and not any(_may_be_lent(words, other) for other in ruled):
            yield _Group(words, own)


def _may_be_lent(words: _Words, to: _Words) -> bool:
    return words != to and None in (words.language, to.language)


def _named(groups: Sequence[_Group]) -> Iterator[tuple[_Group, str]]:
    """What people call the judge of each group: its stored label without what is told of rules and protocol, and the
    language where those of one name differ in it.
    """
    languages: defaultdict[tuple[str, ...], set[str | None]] = defaultdict(set)
    for group in groups:
        languages[_family(group)].add(group.words.language)
    taken: set[tuple[str, ...]] = set()
    for group in sorted(groups, key=lambda group: not any(map(_is_plain, group.own))):
        several = len(languages[_family(group)]) > 1 and group.words.language is not None
        spoken = f"[{group.words.language}]" if several else ""
        place = _place(group)
        name = next(name for name in _names(group, spoken) if (name, *place) not in taken)
        taken.add((name, *place))
        yield group, name


def _place(group: _Group) -> tuple[str, str]:
    return group.own[0].form, _protocol(group.own[0])


def _family(group: _Group) -> tuple[str, ...]:
    return (_base(_first(group), hashed=False), *_place(group))


def _first(group: _Group) -> Actor:
    """Whose label the name is taken from: if there is one, a judge without rules, since that is the stored label."""
    return min(group.own, key=lambda actor: (not _is_plain(actor), len(actor.label), actor.label))


def _names(group: _Group, spoken: str) -> Iterator[str]:
    actor = _first(group)
    yield f"{_base(actor, hashed=_is_plain(actor))}{spoken}"
    plain = _base(actor, hashed=False)
    yield f"{plain}@{short_id(actor.judge_id)}{spoken}"
    yield f"{plain}@{actor.judge_id}{spoken}"


def _base(actor: Actor, *, hashed: bool) -> str:
    label = without_hash(actor)
    told = actor.label.removeprefix(label) if hashed else ""
    return f"{label.partition(RULES_MARK)[0].removesuffix(FORCED_MARK)}{told}"


def _protocol(actor: Actor) -> Protocol:
    return "official" if params_of(actor).get("forced") is True else "both_orders"


def _conditions(group: _Group, name: str, sources: Mapping[str, Source]) -> Iterator[Condition]:
    """Those of one source bear the language if that tells them apart, else the stored label."""
    by_source: defaultdict[str, list[Actor]] = defaultdict(list)
    for actor in group.everyone:
        by_source[sources[actor.judge_id].said].append(actor)
    for said, same in by_source.items():
        languages = [_words(actor).language for actor in same]
        spoken = None not in languages and len(set(languages)) == len(languages)
        for actor, language in zip(same, languages, strict=True):
            told = f"[{language if spoken else actor.label}]" if len(same) > 1 else ""
            rules = sources[actor.judge_id]._replace(said=f"{said}{told}")
            yield Condition(actor.judge_id, actor.label, name, actor.form, _protocol(actor), rules)
