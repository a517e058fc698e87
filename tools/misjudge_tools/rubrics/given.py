"""A task that a call of `score_rubrics` holds itself, with its gold rules and responses, as a record to be stored."""

from __future__ import annotations

from misjudge_storage.rows import trajectory_row
from misjudge_storage.types import Record
from misjudge_tools.judge import given_episode, given_messages, given_pair, given_task
from misjudge_tools.requests import ScoreRubricsRequest
from misjudge_tools.rubrics.rules import each_once, gold_rules


def given_work(request: ScoreRubricsRequest) -> Record | None:
    """The task that the request itself holds, None where it is about stored ones. Raises InvalidInput."""
    if request.task_prompt is None:
        return None
    task = given_task(request.task_prompt)
    rules = tuple(each_once(gold_rules(request.gold_rules))) if request.gold_rules else ()
    if request.response_a is not None and request.response_b is not None:
        return given_pair(task, request.response_a, request.response_b).model_copy(update={"rubric": rules})
    responses = [response for response in (request.response_a, request.response_b) if response is not None]
    episodes = tuple(given_episode(task, "given A", given_messages(response)) for response in responses)
    return Record(line=1, task=task, episodes=episodes, rubric=rules)


def given_trajectories(audit_id: str, given: Record) -> list[str]:
    """Ids of the responses that the record holds, as storing them gives."""
    rows = (trajectory_row(audit_id, episode.trajectory, str(given.line)) for episode in given.episodes)
    return [row["trajectory_id"] for row in rows]
