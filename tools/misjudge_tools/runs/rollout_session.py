"""The agents of a run at work: one rollout a cell, on its own copy of the world, checked by hard evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from misjudge_storage import judging_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import Unreachable
from misjudge_storage.hashing import canonical
from misjudge_storage.judging_records import AuditRow, CellResult
from misjudge_storage.rows import check_row, trajectory_row
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Check, Role, Task, Trajectory
from misjudge_tools.episodes import rollout as episode
from misjudge_tools.episodes import settings
from misjudge_tools.episodes.agents import open_agent
from misjudge_tools.episodes.asking import ModelParams
from misjudge_tools.episodes.casting import Asking
from misjudge_tools.episodes.conversation import Surroundings
from misjudge_tools.episodes.folders import needs_folder, rollout_folder
from misjudge_tools.episodes.scripted import ScriptAgent, ScriptedUser, script_of
from misjudge_tools.episodes.success_check import SuccessCheck
from misjudge_tools.episodes.toolbox import Toolbox, open_toolbox
from misjudge_tools.episodes.turns import Agent, Away, User
from misjudge_tools.episodes.user_sim import ModelUser
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.episodes.world import World, differences
from misjudge_tools.gateway.billing import Used
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.ways import ModelChoice, OpenGateway
from misjudge_tools.judging.prompts import PromptTemplate, load_prompt
from misjudge_tools.judging.session import Judged
from misjudge_tools.runs.cell_calls import CellCalls, CellRef
from misjudge_tools.runs.paid import CallLost, Paid
from misjudge_tools.runs.rollout_plan import Cast, Rollout, rollouts_of
from misjudge_tools.suites.model import SuiteTask

MOST_CHANGES = 100
"""Rows of the world's difference that a trajectory keeps."""
SCRIPTED_AT_ONCE = 8
"""Rollouts at a time where no model is asked."""
NO_CALL = Used(0, 0.0)
"""Its calls are settled one by one."""


class Stagehands(NamedTuple):
    """What rollouts are given: open ways by model, the model that answers questions of `model` rules, what the
    configuration allows, and the clock.
    """

    ways: Mapping[ModelChoice, OpenGateway]
    checker: Asking | None
    allowed: settings.Allowed
    clock: Clock


class RolloutSession:
    """Makes the rollouts of a run. Holds no result."""

    def __init__(self, store: Store, audit: AuditRow, run_id: str, cast: Cast, hands: Stagehands) -> None:
        self._store = store
        self._audit = audit
        self._run_id = run_id
        self._cast = cast
        self._hands = hands
        self._rollouts = rollouts_of(cast, audit.audit_id)

    @property
    def concurrency(self) -> int:
        """How many rollouts may be under way."""
        return max((way.concurrency for way in self._hands.ways.values()), default=SCRIPTED_AT_ONCE)

    @property
    def pricings(self) -> list[Pricing]:
        """What each model that is asked costs."""
        return [way.pricing for way in self._hands.ways.values()]

    def asks_models(self, cell: PlannedCell) -> bool:
        """Whether the rollout makes calls at all."""
        return bool(self._asked(self.key(cell)))

    def key(self, cell: PlannedCell) -> Rollout:
        """The rollout that a cell stands for."""
        return self._rollouts[cell.cell_id]

    async def ask(self, cell: PlannedCell, paid: Paid) -> Judged:
        """Make the rollout and check it. Raises LimitReached or RunEnding, and whatever keeps the world from opening.

        A call that got lost keeps the cell open: the rollout is made again up to there, from what is stored of it.
        """
        planned = self.key(cell)
        calls = await self._calls(cell, planned, paid)
        try:
            result = await self._made(cell, planned, calls)
        except CallLost as lost:
            return Judged(CellResult(None, ()), None, lost.error, NO_CALL)
        except Away as away:
            return Judged(CellResult(None, ()), None, Unreachable(f"Agent {planned.agent.name!r}: {away}"), NO_CALL)
        return Judged(result, None, None, NO_CALL)

    async def _calls(self, cell: PlannedCell, planned: Rollout, paid: Paid) -> CellCalls:
        user, language = self._cast.user, self._cast.stage.language
        asked = self._asked(planned)
        ways: dict[Role, OpenGateway] = {role: self._hands.ways[asking.choice] for role, asking in asked.items()}
        prompts: dict[Role, PromptTemplate] = {"success_check": load_prompt("success_check", language)}
        if user.template is not None:
            prompts["user_sim"] = user.template
        ref = CellRef(self._audit.audit_id, self._run_id, cell.cell_id, planned.task.task_id, cell.cell_id, None)
        return CellCalls(
            ref, ways, prompts, paid, await asyncio.to_thread(self._replies, cell.cell_id), ends_at_refusal=True
        )

    def _asked(self, planned: Rollout) -> dict[Role, Asking]:
        """The models that a rollout asks, by role."""
        asked: dict[Role, Asking | None] = {
            "agent": planned.agent.asking,
            "user_sim": self._cast.user.asking,
            "success_check": self._hands.checker,
        }
        return {role: asking for role, asking in asked.items() if asking is not None}

    def _replies(self, trajectory_id: str) -> dict[str, judging_records.StoredCall]:
        with self._store.read() as connection:
            return judging_records.earlier_replies(connection, trajectory_id)

    async def _made(self, cell: PlannedCell, planned: Rollout, calls: CellCalls) -> CellResult:
        suite, allowed = self._cast.stage.suite, self._hands.allowed
        with ExitStack() as stack:
            world = None if suite.image is None else stack.enter_context(World.from_image(suite.image))
            folder = stack.enter_context(rollout_folder()) if _needs_folder(planned) else None
            # Of this try: a server that keeps something of an episode must not go on with a try that broke off.
            session = f"{cell.cell_id}-{uuid4().hex[:8]}"
            toolbox = open_toolbox(suite.tools, world, planned.task.tool_faults, allowed, session)
            made = await episode.roll_out(
                planned.task,
                self._agent(planned, calls, toolbox, folder, session),
                self._user(planned, calls),
                toolbox if suite.tools.tools else None,
                world,
                clock=self._hands.clock,
                max_steps=_most_steps(planned),
            )
            checks = await self._checked(cell, planned, made, calls, folder)
        return self._rows(cell, planned, made, checks, calls)

    def _agent(self, planned: Rollout, calls: CellCalls, toolbox: Toolbox, folder: Path | None, session: str) -> Agent:
        configured, stage = planned.agent.settings, self._cast.stage
        if isinstance(configured, settings.ScriptedAgent):
            solution = stage.suite.solutions[planned.task.task_id]
            return ScriptAgent(script_of(configured, planned.task, solution, planned.fails))
        around = Surroundings(
            instructions=stage.suite.instructions.get(stage.language, ""),
            tools=toolbox.specs,
            session=session,
            hosts=self._hands.allowed.hosts,
            folder=folder or Path(),
        )
        return open_agent(configured, around, calls.ask, _params(planned.agent.asking, planned.seed))

    def _user(self, planned: Rollout, calls: CellCalls) -> User:
        user = self._cast.user
        if user.template is None:
            return ScriptedUser(planned.task)
        return ModelUser(calls.ask, _params(user.asking, planned.seed), planned.task, user.template)

    async def _checked(
        self, cell: PlannedCell, planned: Rollout, made: episode.Rollout, calls: CellCalls, folder: Path | None
    ) -> tuple[Check, ...]:
        if made.end_reason == "user_sim_error":
            why = f"{made.trouble or 'The simulated user failed.'} So nothing is said of the agent."
            return (Check(verifier="success", source="verifier", evidence=why),)
        task = planned.task
        checker = SuccessCheck(
            calls.ask,
            _params(self._hands.checker, planned.seed),
            self._cast.stage.language,
            self._audit.secret,
            cell.cell_id,
        )

        async def ask_model(question: str) -> bool | None:
            return await checker.passed(as_stored(planned.task), made.messages, question)

        evidence = Evidence(made.messages, made.before, made.after, folder)
        outside = Outside(self._hands.allowed, None if self._hands.checker is None else ask_model)
        return await verify(task.checks, task.combine, evidence, outside)

    def _rows(
        self,
        cell: PlannedCell,
        planned: Rollout,
        made: episode.Rollout,
        checks: tuple[Check, ...],
        calls: CellCalls,
    ) -> CellResult:
        agent = planned.agent
        input_tokens, output_tokens = calls.used("agent")
        trajectory = Trajectory(
            task_id=planned.task.task_id,
            agent=agent.name,
            trial=planned.trial,
            messages=made.messages,
            end_reason=made.end_reason,
            base_model=None if agent.asking is None else agent.asking.choice.model,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            simulated=agent.simulated,
            seed=planned.seed,
            trouble=made.trouble,
            flags=made.flags,
            setup=agent.setup,
            changes=_changes(made),
        )
        row = trajectory_row(self._audit.audit_id, trajectory, cell.cell_id)
        rows = tuple(check_row(self._audit.audit_id, cell.cell_id, check) for check in checks)
        return CellResult(None, (), {**row, "trajectory_id": cell.cell_id}, rows)


def as_stored(task: SuiteTask) -> Task:
    """The task as it is stored, and as judges are shown it."""
    return Task(
        task_id=task.task_id,
        prompt=task.goal,
        success_criteria=task.success_criteria,
        hard_constraints=task.hard_constraints,
        category=task.category,
        language=task.language,
    )


def _params(asking: Asking | None, seed: int) -> ModelParams:
    if asking is None:
        return ModelParams("")
    return ModelParams(asking.choice.model, asking.temperature, asking.max_tokens, seed)


def _needs_folder(planned: Rollout) -> bool:
    return needs_folder(planned.task.checks) or isinstance(planned.agent.settings, settings.CommandAgent)


def _most_steps(planned: Rollout) -> int:
    configured = planned.agent.settings
    return configured.max_steps if isinstance(configured, settings.ChatAgent) else episode.MOST_STEPS


def _changes(made: episode.Rollout) -> str | None:
    """What became of the world, as JSON; of a long list the first ones and their number."""
    if made.before is None or made.after is None:
        return None
    found = differences(made.before, made.after)
    return canonical({"number": len(found), "first": [one._asdict() for one in found[:MOST_CHANGES]]})
