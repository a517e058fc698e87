"""What a call of `score_rubrics` is about: stored tasks, pairs or trajectories in the audit's order, or a given one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import judging_records, rubric_records
from misjudge_storage.errors import InvalidInput
from misjudge_storage.judging_records import AuditRow, Subject
from misjudge_storage.rubric_records import TaskSubject, task_subjects
from misjudge_storage.types import Record
from misjudge_tools.judge import named_pairs
from misjudge_tools.requests import ScoreRubricsRequest
from misjudge_tools.rubrics.arguments import applied, needs_gold, writes
from misjudge_tools.rubrics.given import given_trajectories
from misjudge_tools.runs.plan import in_random_order

NO_GOLD = "no_gold_rules"
NO_INSTRUCTION = "no_instruction"
NO_BETTER = "not_decidable"
IN_WORDS: Mapping[str, str] = {
    NO_GOLD: "the task has no gold rules",
    NO_INSTRUCTION: "the task has no instruction to write rules from",
    NO_BETTER: "it is not known which side is better",
}
"""Why something is left out."""
ONE_OF: Mapping[str, tuple[str, str]] = {
    "tasks": ("task", ""),
    "pairs": ("pair", " with both transcripts"),
    "trajectories": ("trajectory", " with its transcript"),
}
"""What one sample is called, and what of it must be stored."""
_WAYS_ON: Mapping[str, str] = {
    NO_GOLD: "Import gold rules (format=rubricbench), or give a task here with task_prompt and gold_rules.",
    NO_INSTRUCTION: "Import tasks with their prompt (for a table: --map prompt=…), or give one with task_prompt.",
    NO_BETTER: "Import gold or label pairs, or use action=apply with rubrics none, self and human.",
}


class Subjects(NamedTuple):
    """The `tasks` in order, and of a judging its pairs or trajectories (`judged`) with the task of each.

    `left_out` counts by reason what could have been taken too, `there` what could be without `samples`.
    """

    tasks: tuple[str, ...]
    judged: tuple[str, ...]
    task_of: Mapping[str, str]
    left_out: Mapping[str, int]
    there: int

    @property
    def number(self) -> int:
        """How many samples there are: what is judged, else tasks."""
        return len(self.judged or self.tasks)


def what_is_counted(request: ScoreRubricsRequest) -> str:
    """What a sample is."""
    if not applied(request):
        return "tasks"
    return "pairs" if request.form == "pairwise" else "trajectories"


def stored_subjects(request: ScoreRubricsRequest, connection: Connection) -> Subjects:
    """The stored tasks, pairs or trajectories that a request is about. Raises NotFound, or InvalidInput for none."""
    audit = judging_records.read_audit(connection, request.audit)
    tasks = {task.task_id: task for task in task_subjects(connection, audit.audit_id)}
    found = _judged(request, connection, audit) if applied(request) else [Subject(task, task) for task in tasks]
    task_of = {subject.subject_id: subject.task_id for subject in found}
    ids = in_random_order(audit.seed, found)
    if request.pair_ids is not None:
        ids = named_pairs(request.pair_ids, ids)
    better = judging_records.better_sides(connection, audit.audit_id).keys() if request.action == "gap" else None
    taken, left_out = list[str](), Counter[str]()
    for one in ids:
        missing = _missing(request, tasks[task_of[one]])
        missing = missing or (NO_BETTER if better is not None and one not in better else None)
        if missing is None:
            taken.append(one)
        else:
            left_out[missing] += 1
    if not taken:
        raise InvalidInput(_nothing(request, left_out))
    there, taken = len(taken), taken[: request.samples]
    judged = tuple(taken) if applied(request) else ()
    return Subjects(tuple(dict.fromkeys(task_of[one] for one in taken)), judged, task_of, dict(left_out), there)


def _judged(request: ScoreRubricsRequest, connection: Connection, audit: AuditRow) -> Sequence[Subject]:
    if request.form == "pairwise":
        return judging_records.transcribed_pairs(connection, audit.audit_id)
    return judging_records.transcribed_trajectories(connection, audit.audit_id)


def _missing(request: ScoreRubricsRequest, task: TaskSubject) -> str | None:
    if needs_gold(request) and task.gold is None:
        return NO_GOLD
    return NO_INSTRUCTION if writes(request) and not task.instructed else None


def _nothing(request: ScoreRubricsRequest, left_out: Counter[str]) -> str:
    """Why there is nothing to do."""
    one, known = ONE_OF[what_is_counted(request)]
    if not left_out:
        return f"Audit {request.audit!r} holds no {one}{known}. Import some, or give a task here with task_prompt."
    reasons = "; ".join(f"{IN_WORDS[reason]} ({number})" for reason, number in left_out.most_common())
    return f"No {one} of audit {request.audit!r} can be taken: {reasons}. {_WAYS_ON[left_out.most_common(1)[0][0]]}"


def given_subjects(request: ScoreRubricsRequest, connection: Connection, audit_id: str, given: Record) -> Subjects:
    """The task that the request holds. Raises InvalidInput where it lacks the gold rules that are asked for."""
    assert given.task is not None
    task_id = given.task.task_id
    if (
        needs_gold(request)
        and not given.rubric
        and task_id not in rubric_records.gold_of_tasks(connection, audit_id, [task_id])
    ):
        raise InvalidInput(f"To {_purpose(request)} the gold rules of a task given here, give gold_rules, too.")
    judged: tuple[str, ...] = ()
    if applied(request) and request.form == "rubric":
        judged = tuple(given_trajectories(audit_id, given))
    elif applied(request):
        assert given.pair is not None and given.pair.pair_id is not None
        judged = (given.pair.pair_id,)
    return Subjects((task_id,), judged, dict.fromkeys((task_id, *judged), task_id), {}, max(len(judged), 1))


def _purpose(request: ScoreRubricsRequest) -> str:
    return "apply" if request.action == "apply" else "match" if request.action == "match" else "match and apply"
