"""What the library of rubrics answers."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from misjudge_storage.types import Value
from misjudge_tools.results import SCHEME


def rubric_uri(rubric_id: str) -> str:
    """The URI of a stored set of rules, as `read_record` takes it."""
    return f"{SCHEME}rubrics/{quote(rubric_id, safe='')}"


class NamedRubric(Value):
    """A name of the library: its current set of so many `rules`, the versions there were, and the verdicts that applied
    any of them, `simulated` of them by made-up judges.
    """

    name: str
    rubric_id: str
    rules: int
    high_level: int
    versions: int
    verdicts: int
    simulated: int = 0
    changed_at: str


class LibraryRule(Value):
    """One rule, numbered from 1. A `hard` one vetoes; a `high_level` one asks for feasibility or consistency."""

    rule: int
    text: str
    hard: bool
    high_level: bool


class RubricVersion(Value):
    """A set that is or was under a name, and the verdicts that applied it, `simulated` of them by made-up judges."""

    version: int
    rubric_id: str
    rules: int
    added_at: str
    verdicts: int
    simulated: int = 0


class RubricUsed(Value):
    """How many verdicts of a judge applied a set; made up where `simulated`. `version` is that under the name."""

    rubric_id: str
    version: int | None
    audit: str
    judge: str
    verdicts: int
    simulated: bool


class ChangedRule(Value):
    """A rule of the same text that is hard or high-level in one set only; marked as in the later one."""

    text: str
    hard: bool
    high_level: bool
    was_hard: bool
    was_high_level: bool


class RubricDiff(Value):
    """What became of the rules of `before` in `after`. `reordered`: those of both stand in another order."""

    before: str
    after: str
    added: tuple[LibraryRule, ...] = ()
    removed: tuple[LibraryRule, ...] = ()
    changed: tuple[ChangedRule, ...] = ()
    unchanged: int = 0
    reordered: bool = False


class RubricLibraryResult(Value):
    """What an action came to: `rubrics` of list; one set with its rules of show, add and export; `diff` of diff.

    `added`: a new version was stored; `duplicates`: rules that were left out, because one before them says the same.
    `path` is the file that was written. `marked` where uses are made up.
    """

    action: Literal["list", "show", "add", "diff", "export"]
    marked: str | None = None
    rubrics: tuple[NamedRubric, ...] = ()
    name: str | None = None
    rubric_id: str | None = None
    added: bool = False
    duplicates: int = 0
    path: str | None = None
    versions: tuple[RubricVersion, ...] = ()
    uses: tuple[RubricUsed, ...] = ()
    rules: tuple[LibraryRule, ...] = ()
    diff: RubricDiff | None = None
    next: str | None = None
