"""Plans of rubric work: which rubrics are written, matched and applied, in which order. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from misjudge_storage.rows import cell_id
from misjudge_storage.run_records import PlannedCell

GENERATE = "rubric_generate"
"""The kind of the cells in which a model writes the rubric of a task."""
MATCH = "rubric_match"
"""The kind of the cells in which a model matches a generated rubric with the gold one, rule by rule or at once."""


def draft_id(audit_id: str, writer_id: str, task_id: str) -> str:
    """Id of the rubric that a writer makes of a task, and of the cell for it: known before there is any rule."""
    return cell_id(audit_id, writer_id, task_id, None, 0)


def matching_id(audit_id: str, matcher_id: str, draft: str) -> str:
    """Id of a generated rubric as one matcher matched it, and of the cell for it."""
    return cell_id(audit_id, matcher_id, draft, None, 0)


def draft_cells(audit_id: str, writer_ids: Sequence[str], task_ids: Sequence[str]) -> Iterator[PlannedCell]:
    """A rubric of each task by every writer."""
    for task_id in task_ids:
        for writer_id in writer_ids:
            identity = draft_id(audit_id, writer_id, task_id)
            yield PlannedCell(identity, GENERATE, writer_id, None, None, None, 0, task_id=task_id)


def match_cells(
    audit_id: str, matcher_ids: Sequence[str], writer_ids: Sequence[str], task_ids: Sequence[str]
) -> Iterator[PlannedCell]:
    """Every writer's rubric of each task, matched by every matcher."""
    for task_id in task_ids:
        for writer_id in writer_ids:
            draft = draft_id(audit_id, writer_id, task_id)
            for matcher_id in matcher_ids:
                identity = matching_id(audit_id, matcher_id, draft)
                yield PlannedCell(identity, MATCH, matcher_id, None, None, None, 0, task_id=task_id, draft_id=draft)


def with_drafts(cells: Iterable[PlannedCell], draft_of: Mapping[str, str]) -> Iterator[PlannedCell]:
    """Cells that judge a pair or trajectory, each waiting for the rubric in `draft_of`, which is by what it judges."""
    for cell in cells:
        yield cell._replace(draft_id=draft_of[cell.pair_id or cell.trajectory_id or ""])


def by_task(
    tasks: Sequence[str], stages: Sequence[Iterable[PlannedCell]], task_of: Mapping[str, str]
) -> list[PlannedCell]:
    """The cells of all stages, task by task, so that a run that ends early has done whole tasks.

    `task_of` is by pair or trajectory. Cells of one stage and task keep their order.
    """
    groups: defaultdict[str, list[PlannedCell]] = defaultdict(list)
    for stage in stages:
        for cell in stage:
            groups[cell.task_id or task_of[cell.pair_id or cell.trajectory_id or ""]].append(cell)
    return [cell for task_id in tasks for cell in groups[task_id]]
