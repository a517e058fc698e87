"""The section on rubrics: who writes good rules, and what rules are worth to a judge."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_storage import judging_records, summary_records
from misjudge_storage.engine import Store
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import rubric_judges as judges
from misjudge_tools.summary import rubric_writers as writers
from misjudge_tools.summary.rubric_advice import advice
from misjudge_tools.summary.rubric_reading import RubricCounts, read_rubrics
from misjudge_tools.summary.rubric_values import RubricsSection

NO_RUBRICS = NoData(why="No rubric was written or applied. Call score_rubrics, or misjudge rubrics gap.")
NOTHING_YET = NoData(why="Rubric work was planned, and nothing of it is stored yet. See runs.")


def rubrics_section(store: Store, audit: str) -> RubricsSection | NoData:
    """What the rubric work of this audit comes to. Raises NotFound for an unknown audit."""
    with store.read() as connection:
        audit_id = judging_records.read_audit(connection, audit).audit_id
        summary_records.reduce_audit(connection, audit_id)
        return rubrics_of(read_rubrics(connection, audit_id))


def rubrics_of(counts: RubricCounts | None) -> RubricsSection | NoData:
    """The section from its counts. Pure."""
    if counts is None:
        return NO_RUBRICS
    labels = {actor.judge_id: actor.label for actor in counts.actors}
    found = RubricsSection(
        advice=(),
        simulated=tuple(sorted(set(_simulated(counts)))),
        writers=tuple(writers.writer_rows(counts.written, counts.writers, labels)),
        writer_differences=tuple(writers.writer_differences(counts.rivals, labels)),
        gaps=tuple(judges.gap_rows(counts.differences)),
        accuracy=tuple(judges.accuracy_rows(counts.conditions, counts.verdicts)),
        inversions=tuple(judges.inversion_rows(counts.inversions, labels)),
        conflicts=tuple(judges.conflict_rows(counts.conditions, counts.rulings)),
        checks=tuple(writers.matcher_checks(counts.twice, labels)),
        writers_by_domain=tuple(writers.writer_domains(counts.written, counts.writers, labels)),
        gaps_by_domain=tuple(judges.gap_domains(counts.differences)),
        accuracy_by_domain=tuple(judges.accuracy_domains(counts.conditions, counts.verdicts)),
    )
    if not (found.writers or found.accuracy or found.conflicts):
        return NOTHING_YET
    return found.model_copy(update={"advice": advice(found)})


def _simulated(counts: RubricCounts) -> Iterator[str]:
    """Labels of those who have a part in the numbers, and made it up."""
    made_up = {actor.judge_id: actor.label for actor in counts.actors if actor.simulated}
    taking_part = {
        *counts.writers,
        *(one.matcher_id for one in counts.written),
        *(group.judge_id for group in counts.verdicts),
        *counts.rulings,
    }
    yield from (label for judge_id, label in made_up.items() if judge_id in taking_part)
