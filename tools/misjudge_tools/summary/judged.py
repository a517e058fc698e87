"""Whom a summary is of: one judge of an audit, one on a subset of its tasks, or all that there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from misjudge_storage.summary_values import Group, GroupCounts, JudgeFacts, Use
from misjudge_storage.types import Form
from misjudge_tools.summary.counts import AuditCounts, added

T = TypeVar("T")

SATISFACTION_FORMS: tuple[Form, ...] = ("satisfaction", "gate", "proxy", "rubric")
"""The forms that score one trajectory. The first one that is there says whether an agent's episodes satisfied."""
RANKING_FORMS: tuple[Form, ...] = ("gate", "satisfaction")
"""The first one that is there ranks the agents by its mean score."""


class Entry(NamedTuple):
    """A judge on all tasks, or (`subset`) on those of one subset."""

    label: str
    judge: str
    subset: str | None


@dataclass(frozen=True)
class Judged:
    """The counts of an audit, and which judge of it (`entry`) they are read for; None: of all, or of none.

    `beside`: it is one of several that stand side by side, and what belongs to the audit stands above them.
    """

    counts: AuditCounts
    entry: Entry | None = None
    beside: bool = False

    @cached_property
    def mine(self) -> Mapping[Form, JudgeFacts]:
        """The judge by the forms that it has; none where it is of all."""
        if self.entry is None:
            return {}
        return {judge.form: judge for judge in self.counts.judges if judge.label == self.entry.judge}

    @property
    def paired(self) -> JudgeFacts | None:
        """The judge of pairs."""
        return self.mine.get("pairwise")

    @property
    def satisfied_by(self) -> JudgeFacts | None:
        """The form of the judge that says whether an episode satisfied."""
        return next((self.mine[form] for form in SATISFACTION_FORMS if form in self.mine), None)

    @cached_property
    def ids(self) -> set[str]:
        """The ids of the judge, or of all judges."""
        return {judge.judge_id for judge in (self.mine.values() if self.entry else self.counts.judges)}

    @cached_property
    def alone(self) -> bool:
        """Whether a summary of it is that of the audit."""
        return self.entry is None or self.ids.issuperset(judge.judge_id for judge in self.counts.judged)

    @property
    def subset(self) -> str | None:
        """The subset of tasks, None: all of them."""
        return None if self.entry is None else self.entry.subset

    @cached_property
    def uses(self) -> Sequence[Use]:
        """Its calls."""
        return [use for use in self.counts.uses if self.owns(use.judge_id)]

    def owns(self, judge_id: str | None) -> bool:
        """Whether calls of this judge are its own; those of nobody in particular are of a judge that is alone."""
        return self.entry is None or judge_id in self.ids or (self.alone and judge_id is None)

    @cached_property
    def group(self) -> GroupCounts | None:
        """The counts of its pairs, None where it judged none."""
        return self.pooled(self.counts.groups)

    @cached_property
    def _made(self) -> dict[Callable[[Judged], Any], Any]:
        return {}

    def once(self, make: Callable[[Judged], T]) -> T:
        """What this makes of it, made the first time only: sections read each other."""
        if make not in self._made:
            self._made[make] = make(self)
        found: T = self._made[make]
        return found

    def pooled(self, groups: Mapping[Group, GroupCounts]) -> GroupCounts | None:
        """Those of these counts that are of the judge and the subset, together; None where there are none."""
        if self.paired is None:
            return None
        found = [
            counts
            for group, counts in groups.items()
            if group.judge_id == self.paired.judge_id and self.subset in {None, group.subset}
        ]
        return added(found) if found else None


def entries(counts: AuditCounts) -> list[Entry]:
    """Every judge by its label, but not silent ones; where tasks come in several subsets, then each on each subset."""
    labels = list(dict.fromkeys(judge.label for judge in counts.judges if judge.judge_id not in counts.silent))
    subsets = sorted({group.subset for group in counts.groups if group.subset is not None})
    whole = [Entry(label, label, None) for label in labels]
    if len(subsets) < 2:
        return whole
    return whole + [Entry(f"{label}/{subset}", label, subset) for label in labels for subset in subsets]
