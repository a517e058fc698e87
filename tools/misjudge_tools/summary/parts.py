"""Parts of sections by name, as `rubrics.writers`, or from one of their rows on, as `agreement.rows.40`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_tools.summary.rubric_values import RubricsSection

RUBRICS = "rubrics"
AGREEMENT = "agreement"
PARTS: Mapping[str, tuple[str, ...]] = {
    RUBRICS: tuple(name for name in RubricsSection.model_fields if name != "parts"),
    AGREEMENT: ("rows", "errors"),
}
"""Section → its parts, each of which is a list of rows."""
_NAMED = re.compile(r"(?P<name>[a-z_]+)(?:\.(?P<first>[0-9]{1,9}))?")


class Part(NamedTuple):
    """A part of a section, and the place of its first row that is asked for, from 0."""

    section: str
    name: str
    first: int


def is_part(wanted: str) -> bool:
    """Whether the name is meant for a part, and not for a whole section."""
    return wanted.partition(".")[0] in PARTS and "." in wanted


def part_named(wanted: str) -> Part:
    """The part that such a name means. Raises InvalidInput for one that there is not."""
    section, _, named = wanted.partition(".")
    found = _NAMED.fullmatch(named)
    if found is None or found["name"] not in PARTS[section]:
        raise InvalidInput(f"There is no part {named[:80]!r} of {section}. Parts are: {', '.join(PARTS[section])}.")
    return Part(section, found["name"], int(found["first"] or 0))


def first_rows(section: str, wanted: Sequence[str] | None) -> dict[str, int] | None:
    """Part → its first row, of those that are asked for of this section; None where all of it is."""
    if not wanted or section in wanted:
        return None
    first: dict[str, int] = {}
    for part in map(part_named, filter(is_part, wanted)):
        if part.section == section:
            first[part.name] = min(first.get(part.name, part.first), part.first)
    return first


def said(first: Mapping[str, int]) -> tuple[str, ...]:
    """The parts as a result names them: `writers`, or `writers.7`."""
    return tuple(f"{name}.{row}" if row else name for name, row in first.items())


def only_rubric_parts(found: RubricsSection, sections: Sequence[str]) -> RubricsSection:
    """The section with what these names ask of it: all of it, or parts, the others empty.

    `simulated` always stays: it says what of the rows is made up.
    """
    first = first_rows(RUBRICS, sections)
    if first is None:
        return found
    rows = {name: getattr(found, name)[first[name] :] if name in first else () for name in PARTS[RUBRICS]}
    kept = {} if "simulated" in first else {"simulated": found.simulated}
    return found.model_copy(update={**rows, **kept, "parts": said(first)})
