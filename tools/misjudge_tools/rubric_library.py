"""`rubrics library`: sets of rules under names: listed, shown, added, compared and exported."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from misjudge_storage import rubric_library as library
from misjudge_storage.errors import InvalidInput
from misjudge_storage.rubric_library import LibraryEntry
from misjudge_storage.rubric_records import rules_of
from misjudge_storage.types import Rule
from misjudge_tools.deps import Deps
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.interchange.rubric_files import read_rubric_file, write_rubric_file
from misjudge_tools.interchange.written_names import refuse_name
from misjudge_tools.requests import AUDIT_PATTERN, RubricLibraryRequest
from misjudge_tools.results import judged_mark
from misjudge_tools.rubrics.library_values import (
    ChangedRule,
    LibraryRule,
    NamedRubric,
    RubricDiff,
    RubricLibraryResult,
    RubricUsed,
    RubricVersion,
)
from misjudge_tools.rubrics.rules import each_once, gold_rules

RESERVED: Final = frozenset({"none", "self", "human"})
"""Other sources of rules: no name of the library."""
LONGEST_NAME: Final = 120
_NEEDS: Final[Mapping[str, frozenset[str]]] = {
    "list": frozenset(),
    "show": frozenset({"rubric"}),
    "add": frozenset({"rubric"}),
    "diff": frozenset({"rubric"}),
    "export": frozenset({"rubric", "path"}),
}
_TAKES: Final[Mapping[str, frozenset[str]]] = {
    **_NEEDS,
    "add": frozenset({"rubric", "path", "rules"}),
    "diff": frozenset({"rubric", "other"}),
}


async def rubric_library(request: RubricLibraryRequest, deps: Deps) -> RubricLibraryResult:
    """Carry out one action on the library. A file is read or written below `deps.roots`, where there are any.

    Raises InvalidInput for arguments that the action needs or does not take, and NotFound for a name that there is not.
    """
    _refuse_arguments(request)
    return await asyncio.to_thread(_carried_out, request, deps)


def _refuse_arguments(request: RubricLibraryRequest) -> None:
    """Raises InvalidInput: an argument that would do nothing misleads."""
    given = {name for name in ("rubric", "other", "path", "rules") if getattr(request, name) is not None}
    missing, idle = sorted(_NEEDS[request.action] - given), sorted(given - _TAKES[request.action])
    if missing:
        raise InvalidInput(f"{request.action} needs {' and '.join(missing)}.")
    if idle:
        raise InvalidInput(f"{request.action} does nothing with {' and '.join(idle)}. Leave it out.")
    if request.action == "add" and len(given & {"path", "rules"}) != 1:
        raise InvalidInput("add needs a file with rules (path), or the rules themselves, and not both.")


def _carried_out(request: RubricLibraryRequest, deps: Deps) -> RubricLibraryResult:
    match request.action:
        case "add":
            _refuse_name(request.rubric or "")
            return _added(request.rubric or "", _given_rules(request, deps), deps)
        case "export":
            return _exported(request.rubric or "", _allowed(request.path, deps), deps)
    with deps.store.read() as connection:
        if request.action == "show":
            return _shown(connection, request.rubric or "")
        if request.action == "diff":
            return _compared(connection, request.rubric or "", request.other)
        return _listed(connection)


def _given_rules(request: RubricLibraryRequest, deps: Deps) -> list[Rule]:
    """The rules in the file or in the request itself. Raises InvalidInput."""
    if request.rules is not None:
        return gold_rules(request.rules)
    return read_rubric_file(_allowed(request.path, deps))


def _allowed(path: str | None, deps: Deps) -> Path:
    """Raises InvalidInput for a file outside the roots."""
    file = Path(path or "")
    if deps.roots is not None:
        refuse_outside(file, deps.roots)
    return file


def _listed(connection: Connection) -> RubricLibraryResult:
    found = library.entries(connection)
    ids = list(dict.fromkeys(entry.rubric_id for entry in found))
    verdicts = library.verdicts_by_rubric(connection, ids)
    high = library.high_level_by_rubric(connection, ids)
    made_up = {identity: _made_up(library.uses(connection, identity)) for identity in ids if verdicts[identity]}
    rows = []
    for name, versions in groupby(found, key=lambda entry: entry.name):
        history = list(versions)
        now, sets = history[-1], {version.rubric_id for version in history}
        rows.append(
            NamedRubric(
                name=name,
                rubric_id=now.rubric_id,
                rules=now.number,
                high_level=high[now.rubric_id],
                versions=now.version,
                verdicts=sum(verdicts[identity] for identity in sets),
                simulated=sum(made_up.get(identity, 0) for identity in sets),
                changed_at=_time(now),
            )
        )
    first = (
        "Keep rules under a name: score_rubrics with action=library, rubrics=[NAME] and gold_rules=[…], or misjudge "
        "rubrics library add NAME FILE."
    )
    marked = judged_mark(sum(row.simulated for row in rows), sum(row.verdicts for row in rows))
    return RubricLibraryResult(action="list", marked=marked, rubrics=tuple(rows), next=None if rows else first)


def _made_up(uses: Sequence[library.RubricUse | RubricUsed]) -> int:
    return sum(use.verdicts for use in uses if use.simulated)


def _shown(connection: Connection, ref: str) -> RubricLibraryResult:
    rubric_id = library.find(connection, ref)
    history = library.versions(connection, ref)
    ids = [version.rubric_id for version in history] or [rubric_id]
    verdicts = library.verdicts_by_rubric(connection, ids)
    number = {version.rubric_id: version.version for version in history}
    uses = [
        RubricUsed(rubric_id=identity, version=number.get(identity), **use._asdict())
        for identity in dict.fromkeys(reversed(ids))
        for use in library.uses(connection, identity)
    ]
    return RubricLibraryResult(
        action="show",
        marked=judged_mark(sum(use.simulated for use in uses), len(uses)),
        name=ref if history else None,
        rubric_id=rubric_id,
        versions=tuple(
            _version(
                version,
                verdicts[version.rubric_id],
                _made_up([use for use in uses if use.rubric_id == version.rubric_id]),
            )
            for version in reversed(history)
        ),
        uses=tuple(uses),
        rules=_numbered(_rules(connection, rubric_id)),
    )


def _version(entry: LibraryEntry, verdicts: int, simulated: int) -> RubricVersion:
    return RubricVersion(
        version=entry.version,
        rubric_id=entry.rubric_id,
        rules=entry.number,
        added_at=_time(entry),
        verdicts=verdicts,
        simulated=simulated,
    )


def _added(name: str, given: Sequence[Rule], deps: Deps) -> RubricLibraryResult:
    rules = each_once(given)
    with deps.store.write() as connection:
        before = library.versions(connection, name)
        entry = library.add(connection, name, rules)
        verdicts = library.verdicts_by_rubric(connection, [entry.rubric_id])
        made_up = _made_up(library.uses(connection, entry.rubric_id))
    return RubricLibraryResult(
        action="add",
        name=name,
        rubric_id=entry.rubric_id,
        added=entry.version != len(before),
        duplicates=len(given) - len(rules),
        versions=(_version(entry, verdicts[entry.rubric_id], made_up),),
        rules=_numbered(rules),
        next=f"score_rubrics with action=apply and rubrics=[{name!r}]",
    )


def _refuse_name(name: str) -> None:
    """Raises InvalidInput for what could not be told from an id, a URI or another source of rules."""
    if name in RESERVED or library.looks_like_id(name):
        raise InvalidInput(f"{name!r} means something else where rules are chosen. Give the rubric another name.")
    if len(name) > LONGEST_NAME or not re.fullmatch(AUDIT_PATTERN, name):
        raise InvalidInput(
            f"A name has 1 to {LONGEST_NAME} characters without slash, % or control character, and begins with no dash."
        )


def _exported(ref: str, path: Path, deps: Deps) -> RubricLibraryResult:
    with deps.store.read() as connection:
        rubric_id = library.find(connection, ref)
        rules = _rules(connection, rubric_id)
    refuse_name(path, deps.roots)
    write_rubric_file(path, rules)
    return RubricLibraryResult(action="export", rubric_id=rubric_id, path=str(path), rules=_numbered(rules))


def _compared(connection: Connection, ref: str, other: str | None) -> RubricLibraryResult:
    """Two sets, or the last two versions of one name."""
    after = library.find(connection, ref if other is None else other)
    if other is not None:
        before = library.find(connection, ref)
    else:
        history = library.versions(connection, ref)
        if len(history) < 2:
            raise InvalidInput(
                f"There is one version of {ref[:LONGEST_NAME]!r}. Name another rubric to compare it with."
            )
        before = history[-2].rubric_id
    found = rubric_diff(_rules(connection, before), _rules(connection, after))
    compared = found.model_copy(update={"before": before, "after": after})
    return RubricLibraryResult(action="diff", name=ref if other is None else None, diff=compared)


def rubric_diff(before: Sequence[Rule], after: Sequence[Rule]) -> RubricDiff:
    """What became of the rules, by their text; one that stands there twice counts twice. Ids are left empty. Pure."""
    left: defaultdict[str, deque[int]] = defaultdict(deque)
    for place, rule in enumerate(before):
        left[rule.text].append(place)
    kept = {place: left[rule.text].popleft() for place, rule in enumerate(after) if left[rule.text]}
    gone = sorted(place for places in left.values() for place in places)
    changed = [_changed(before[was], after[now]) for now, was in kept.items() if before[was] != after[now]]
    places = list(kept.values())
    return RubricDiff(
        before="",
        after="",
        added=_numbered(after, (place for place in range(len(after)) if place not in kept)),
        removed=_numbered(before, gone),
        changed=tuple(changed),
        unchanged=len(kept) - len(changed),
        reordered=places != sorted(places),
    )


def _changed(was: Rule, now: Rule) -> ChangedRule:
    return ChangedRule(**now.model_dump(), was_hard=was.hard, was_high_level=was.high_level)


def _rules(connection: Connection, rubric_id: str) -> tuple[Rule, ...]:
    return rules_of(connection, [rubric_id])[rubric_id]


def _numbered(rules: Sequence[Rule], places: Iterable[int] | None = None) -> tuple[LibraryRule, ...]:
    chosen = range(len(rules)) if places is None else places
    return tuple(LibraryRule(rule=place + 1, **rules[place].model_dump()) for place in chosen)


def _time(entry: LibraryEntry) -> str:
    return entry.created_at.isoformat(timespec="seconds")
