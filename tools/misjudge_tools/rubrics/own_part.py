"""What of an audit's section on rubrics a call was about: the rows of those whom it asked. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from misjudge_tools.summary.rubric_advice import advice
from misjudge_tools.summary.rubric_values import (
    AccuracyRow,
    GapRow,
    InversionRow,
    MatcherCheck,
    RubricsSection,
    WriterDifference,
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

    def compared(self, row: WriterDifference) -> bool:
        """Whether the row is of two of its writers."""
        return row.writer in self.writers and row.best in self.writers and row.matcher in self.matchers

    def checked(self, row: MatcherCheck) -> bool:
        """Whether the row is of two of its matchers."""
        return row.writer in self.writers and row.first in self.matchers and row.second in self.matchers


def part_of(found: RubricsSection, asked: Asked) -> RubricsSection | None:
    """The rows of those who were asked about pairs, with the advice that follows from these; None where there are
    none.
    """
    part = found.model_copy(
        update={
            "simulated": tuple(label for label in found.simulated if label in asked.everyone),
            "writers": tuple(row for row in found.writers if asked.wrote(row)),
            "writer_differences": tuple(row for row in found.writer_differences if asked.compared(row)),
            "gaps": _gaps(found.gaps, asked),
            "accuracy": _accuracy(found.accuracy, asked),
            "inversions": tuple(row for row in found.inversions if row.label in asked.judges and asked.wrote(row)),
            "conflicts": tuple(row for row in found.conflicts if row.label in asked.judges and row.form == "pairwise"),
            "checks": tuple(row for row in found.checks if asked.checked(row)),
            "writers_by_domain": tuple(row for row in found.writers_by_domain if asked.wrote(row)),
            "gaps_by_domain": _gaps(found.gaps_by_domain, asked),
            "accuracy_by_domain": _accuracy(found.accuracy_by_domain, asked),
        }
    )
    if not (part.writers or part.accuracy or part.conflicts):
        return None
    return part.model_copy(update={"advice": advice(part)})


def _accuracy(rows: Sequence[AccuracyRow], asked: Asked) -> tuple[AccuracyRow, ...]:
    """A judge without rules may stand beside several judges: it is shown beside those whose rules were asked for."""
    mine = [row for row in rows if row.label in asked.judges]
    ruled = {(row.judge, row.protocol) for row in mine if row.kind != "none"}
    beside = {row.label for row in mine if row.kind == "none" and (row.judge, row.protocol) in ruled}
    return tuple(row for row in mine if (row.judge, row.protocol) in ruled or row.label not in beside)


def _gaps(rows: Sequence[GapRow], asked: Asked) -> tuple[GapRow, ...]:
    """Differences between conditions both of which were asked for."""
    return tuple(row for row in rows if row.first_label in asked.judges and row.second_label in asked.judges)
