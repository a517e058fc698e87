"""What of an audit's section on rubrics a call was about: the rows of those whom it asked. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from misjudge_tools.summary.rubric_advice import advice
from misjudge_tools.summary.rubric_values import (
    AccuracyRow,
    GapRow,
    InversionRow,
    MatcherCheck,
    RubricsSection,
    WriterScores,
)


class Asked(NamedTuple):
    """Labels of those whom a call asked, each with the rules that it applied."""

    judges: tuple[str, ...]
    writers: tuple[str, ...]
    matchers: tuple[str, ...]

    @property
    def everyone(self) -> frozenset[str]:
        return frozenset((*self.judges, *self.writers, *self.matchers))

    def wrote(self, row: WriterScores | InversionRow) -> bool:
        """Whether the row is of rules that were written and matched in it."""
        return row.writer in self.writers and row.matcher in self.matchers

    def checked(self, row: MatcherCheck) -> bool:
        """Whether the row is of two of its matchers."""
        return row.writer in self.writers and row.first in self.matchers and row.second in self.matchers


class _Condition(NamedTuple):
    """A judge with rules of one source under one protocol."""

    judge: str
    protocol: str
    source: str


def part_of(found: RubricsSection, asked: Asked) -> RubricsSection | None:
    """The rows of those who were asked, with the advice that follows from these; None where there are none."""
    mine = [row for row in found.accuracy if row.label in asked.judges]
    applied = {_Condition(row.judge, row.protocol, row.source) for row in mine}
    judged = {(one.judge, one.protocol) for one in applied}
    part = found.model_copy(
        update={
            "simulated": tuple(label for label in found.simulated if label in asked.everyone),
            "writers": tuple(row for row in found.writers if asked.wrote(row)),
            "gaps": _gaps(found.gaps, applied),
            "accuracy": tuple(mine),
            "inversions": tuple(
                row for row in found.inversions if (row.judge, row.protocol) in judged and asked.wrote(row)
            ),
            "conflicts": tuple(row for row in found.conflicts if row.label in asked.judges),
            "checks": tuple(row for row in found.checks if asked.checked(row)),
            "writers_by_domain": tuple(row for row in found.writers_by_domain if asked.wrote(row)),
            "gaps_by_domain": _gaps(found.gaps_by_domain, applied),
            "accuracy_by_domain": _accuracy(found.accuracy_by_domain, asked),
        }
    )
    if not (part.writers or part.accuracy or part.conflicts):
        return None
    return part.model_copy(update={"advice": advice(part)})


def _accuracy(rows: Sequence[AccuracyRow], asked: Asked) -> tuple[AccuracyRow, ...]:
    return tuple(row for row in rows if row.label in asked.judges)


def _gaps(rows: Sequence[GapRow], applied: Collection[_Condition]) -> tuple[GapRow, ...]:
    """Differences between conditions both of which were asked for."""
    return tuple(
        row
        for row in rows
        if all(_Condition(row.judge, row.protocol, source) in applied for source in (row.first, row.second))
    )
