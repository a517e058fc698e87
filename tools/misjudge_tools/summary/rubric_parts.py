"""Parts of the section on rubrics by name, as `rubrics.writers`, or from one of its rows on, as `rubrics.writers.7`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_tools.summary.rubric_values import RubricsSection

RUBRICS = "rubrics"
PARTS: tuple[str, ...] = tuple(name for name in RubricsSection.model_fields if name != "parts")
_NAMED = re.compile(r"(?P<name>[a-z_]+)(?:\.(?P<first>[0-9]{1,9}))?")


class Part(NamedTuple):
    """A part, and the place of its first row that is asked for, from 0."""

    name: str
    first: int


def is_part(section: str) -> bool:
    """Whether the name is meant for a part, and not for a whole section."""
    return section.startswith(f"{RUBRICS}.")


def part_named(section: str) -> Part:
    """The part that such a name means. Raises InvalidInput for one that there is not."""
    wanted = section.removeprefix(f"{RUBRICS}.")
    found = _NAMED.fullmatch(wanted)
    if found is None or found["name"] not in PARTS:
        raise InvalidInput(f"There is no part {wanted[:80]!r} of {RUBRICS}. Parts are: {', '.join(PARTS)}.")
    return Part(found["name"], int(found["first"] or 0))


def only_parts(found: RubricsSection, sections: Sequence[str]) -> RubricsSection:
    """The section with what these names ask of it: all of it, or parts, the others empty.

    `simulated` always stays: it says what of the rows is made up.
    """
    if RUBRICS in sections:
        return found
    first: dict[str, int] = {}
    for name, row in map(part_named, filter(is_part, sections)):
        first[name] = min(first.get(name, row), row)
    rows = {name: getattr(found, name)[first[name] :] if name in first else () for name in PARTS}
    kept = {} if "simulated" in first else {"simulated": found.simulated}
    parts = tuple(f"{name}.{row}" if row else name for name, row in first.items())
    return found.model_copy(update={**rows, **kept, "parts": parts})
