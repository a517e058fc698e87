"""Which rollouts and pairs a run of live agents makes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from misjudge_storage.hashing import digest
from misjudge_storage.rows import Row, pair_row, rollout_id
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import PairKey
from misjudge_tools.episodes.casting import Asking, CastAgent, CastUser, Stage
from misjudge_tools.episodes.rules import ModelRule
from misjudge_tools.episodes.scripted import failing_tasks
from misjudge_tools.episodes.settings import ScriptedAgent
from misjudge_tools.judging.choice import JudgingSpec
from misjudge_tools.runs.plan import ROLLOUT
from misjudge_tools.suites.loading import tasks_in
from misjudge_tools.suites.model import SuiteTask

Bucket = Literal["near", "wide"]
NEAR = 0.1
"""Agents whose skills are closer than this are near."""


class Rollout(NamedTuple):
    """One episode to be: `fails` says that a flaky agent is to fail it. Both agents of a pair have the same `seed`."""

    task: SuiteTask
    agent: CastAgent
    trial: int
    seed: int
    fails: bool


class Cast(NamedTuple):
    """All that rollouts of a run depend on. `tasks` in the order in which they are done."""

    stage: Stage
    tasks: tuple[SuiteTask, ...]
    agents: tuple[CastAgent, ...]
    user: CastUser
    trials: int

    def planned(self, audit_id: str) -> list[Row]:
        """Task, agent, trial and trajectory of each rollout."""
        return [
            {"task_id": one.task.task_id, "agent": one.agent.name, "trial": one.trial, "trajectory_id": trajectory_id}
            for trajectory_id, one in rollouts_of(self, audit_id).items()
        ]


class Pairing(NamedTuple):
    """Two agents to be compared: the first is side A. `bucket` is declared, None: it is not."""

    agent_a: str
    agent_b: str
    bucket: Bucket | None


def rollouts_of(cast: Cast, audit_id: str) -> dict[str, Rollout]:
    """Each rollout by the id of its trajectory, which is that of its cell; by task, then trial, then agent."""
    failing = {
        (agent.name, trial): _failing(cast, agent, trial) for agent in cast.agents for trial in range(cast.trials)
    }
    return {
        rollout_id(audit_id, task.task_id, agent.name, trial, agent.fingerprint): Rollout(
            task, agent, trial, _seed(cast, task, trial), task.task_id in failing[agent.name, trial]
        )
        for task in cast.tasks
        for trial in range(cast.trials)
        for agent in cast.agents
    }


def _seed(cast: Cast, task: SuiteTask, trial: int) -> int:
    """31 bits: what every gateway takes."""
    return int(digest("seed", [cast.stage.seed, task.task_id, trial])[5:13], 16) >> 1


def _failing(cast: Cast, agent: CastAgent, trial: int) -> frozenset[str]:
    if not isinstance(agent.settings, ScriptedAgent) or agent.settings.share is None:
        return frozenset()
    # Over the whole suite, so that a part of it does not change which tasks fail.
    tasks = [task.task_id for task in tasks_in(cast.stage.suite, cast.stage.language)]
    return failing_tasks(agent.settings.share, tasks, cast.stage.seed, agent.name, trial)


def rollout_cells(rollouts: Mapping[str, Rollout]) -> Iterator[PlannedCell]:
    """The cells that make these trajectories."""
    for trajectory_id, rollout in rollouts.items():
        yield PlannedCell(trajectory_id, ROLLOUT, rollout.agent.fingerprint, None, None, None, rollout.trial)


class Side(NamedTuple):
    """A trajectory that is stored or will be."""

    task_id: str
    trial: int
    agent: str
    trajectory_id: str


def pair_rows(audit_id: str, pairings: Sequence[Pairing], sides: Sequence[Side]) -> list[Row]:
    """The pair of each two sides of one task and trial whose agents are paired, in the order of the sides."""
    by_place: dict[tuple[str, int], dict[str, Side]] = {}
    for side in sides:
        by_place.setdefault((side.task_id, side.trial), {})[side.agent] = side
    rows = []
    for (task_id, trial), agents in by_place.items():
        for pairing in pairings:
            if pairing.agent_a in agents and pairing.agent_b in agents:
                a, b = agents[pairing.agent_a], agents[pairing.agent_b]
                key = PairKey(trial=trial, ability_bucket=pairing.bucket)
                identity = pair_id(task_id, trial, pairing.agent_a, pairing.agent_b)
                rows.append(pair_row(audit_id, identity, task_id, key, a.trajectory_id, b.trajectory_id))
    return rows


def pair_id(task_id: str, trial: int, agent_a: str, agent_b: str) -> str:
    """An id that people can read, or a digest where that would be too long or could mean two pairs."""
    named = f"{task_id}#{trial}:{agent_a}|{agent_b}"
    if len(named) <= 400 and "|" not in agent_a + agent_b:
        return named
    return digest("pair", [task_id, trial, agent_a, agent_b])


def declared(a: CastAgent, b: CastAgent) -> Bucket | None:
    """Near or wide by the skills that both state beforehand, None where one does not."""
    if a.skill is None or b.skill is None:
        return None
    # Shares of 48 tasks are no exact binary fractions.
    return "near" if abs(a.skill - b.skill) < NEAR - 1e-9 else "wide"


def checker_of(cast: Cast, judges: Sequence[JudgingSpec]) -> Asking | None:
    """Who answers the questions of `model` rules: the run's judge. None where no task has any, or no judge is asked."""
    wanted = any(isinstance(rule, ModelRule) for task in cast.tasks for rule in task.checks)
    if not wanted or not judges:
        return None
    judge = judges[0]
    return Asking(judge.asked, judge.temperature, judge.max_tokens)
