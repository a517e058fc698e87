"""Cells of rubric work: what is read for one, and which calls follow from it. Asks nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import fence_token
from misjudge_storage.rubric_records import RubricTask, StoredDraft, rubric_task, rules_of, stored_drafts
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Rule
from misjudge_tools.gateway.calls import Call
from misjudge_tools.judging.choice import JudgingSpec
from misjudge_tools.judging.fit_context import FRAME_TOKENS, tokens_of
from misjudge_tools.rubrics.generate import generate_call
from misjudge_tools.rubrics.match import Question, equal_rules, match_questions
from misjudge_tools.rubrics.plan import GENERATE, MATCH
from misjudge_tools.runs.cell_calls import text_bytes

RUBRIC_KINDS = frozenset({GENERATE, MATCH})
"""The kinds of the cells in which a rubric is written or matched."""
FIRST_TURN = 1


class Given(NamedTuple):
    """What a cell works on: the task, and to be matched the generated rubric, None while that is not stored."""

    task: RubricTask
    draft: StoredDraft | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def equal(self) -> Mapping[int, int]:
        """Generated rule → the gold rule of equal wording, both numbered from 1."""
        return equal_rules(self.rules, self.task.gold)

    @property
    def asked(self) -> Sequence[int]:
        """The generated rules that a matcher is asked about."""
        equal = self.equal
        return [number for number in range(1, len(self.rules) + 1) if number not in equal]


def given_to(connection: Connection, audit_id: str, cell: PlannedCell) -> Given:
    """What the cell works on. Raises NotFound, and InvalidInput where the run was changed."""
    if cell.task_id is None:
        raise InvalidInput("The run's plan names no task for a rubric. Begin it anew.")
    task = rubric_task(connection, audit_id, cell.task_id)
    if cell.draft_id is None:
        return Given(task)
    if task.gold_id is None:
        raise InvalidInput("The run's plan names a task that has no gold rules to match with. Begin it anew.")
    draft = stored_drafts(connection, [cell.draft_id]).get(cell.draft_id)
    if draft is None or draft.rubric_id is None:
        return Given(task, draft)
    return Given(task, draft, rules_of(connection, [draft.rubric_id])[draft.rubric_id])


def token_of(secret: str, cell: PlannedCell) -> str:
    """The mark of the cell's fences."""
    return fence_token(secret, cell.cell_id, FIRST_TURN)


def writing(spec: JudgingSpec, secret: str, cell: PlannedCell, given: Given) -> Call:
    """The call that asks for rules. It holds of the task what it says, and nothing else."""
    return generate_call(spec, given.task.instruction, token_of(secret, cell))


def matching(spec: JudgingSpec, secret: str, cell: PlannedCell, given: Given) -> list[Question]:
    """The calls that ask about generated rules, one after the other; none where no rule needs one."""
    asked = given.asked
    if not asked:
        return []
    task = given.task
    return match_questions(spec, task.instruction, given.rules, task.gold, asked, token_of(secret, cell))


def calls_of(spec: JudgingSpec, secret: str, cell: PlannedCell, given: Given) -> list[Call]:
    """All calls of a cell."""
    if cell.kind == GENERATE:
        return [writing(spec, secret, cell, given)]
    return [question.call for question in matching(spec, secret, cell, given)]


def too_long(spec: JudgingSpec, call: Call) -> bool:
    """Whether the model's context cannot take the call with its reply."""
    if spec.context_tokens is None:
        return False
    room = spec.context_tokens - (call.max_tokens or 0) - FRAME_TOKENS
    if text_bytes(call) <= room:  # a token is a byte or more
        return False
    texts = [*(turn.content for turn in call.messages), call.json_schema or ""]
    return sum(tokens_of(text, small=spec.kind == "local") for text in texts) > room
