"""What tests of the shipped suite share: the suite, loaded once, and episodes of it with the real parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from loopback import VirtualClock
from misjudge_storage.types import Check
from misjudge_tools.episodes.rollout import Rollout, roll_out
from misjudge_tools.episodes.scripted import ScriptAgent, ScriptedUser
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.toolbox import open_toolbox
from misjudge_tools.episodes.turns import Agent
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.episodes.world import World
from misjudge_tools.suites.loading import Suite, load_suite
from misjudge_tools.suites.model import Step, SuiteTask

DESK: Final[Suite] = load_suite("support_desk", Allowed(), None)
TASKS: Final[Mapping[str, SuiteTask]] = {task.task_id: task for task in DESK.tasks}
MUTATING: Final = frozenset(
    "book_cabin book_trip cancel_booking cancel_order change_address change_cabin_booking change_items "
    "change_trip_booking escalate give_credit issue_refund open_ticket place_order start_return".split()
)


class Replay(NamedTuple):
    """One episode and what its checks tell; the last one is the outcome."""

    rollout: Rollout
    checks: tuple[Check, ...]

    @property
    def success(self) -> bool | None:
        return self.checks[-1].passed

    @property
    def failed(self) -> list[str]:
        """The checks that do not hold."""
        return [f"{check.verifier}: {check.evidence}" for check in self.checks[:-1] if check.passed is not True]


async def replay(task: SuiteTask, steps: Sequence[Step]) -> Replay:
    """An agent that follows these steps, with the scripted customer."""
    return await play(task, ScriptAgent(steps))


async def play(task: SuiteTask, agent: Agent) -> Replay:
    assert DESK.image is not None
    with World.from_image(DESK.image) as world:
        toolbox = open_toolbox(DESK.tools, world, task.tool_faults, Allowed(), "session")
        user = ScriptedUser(task)
        made = await roll_out(task, agent, user, toolbox, world, clock=VirtualClock(), max_steps=30)
    evidence = Evidence(made.messages, made.before, made.after, None)
    return Replay(made, await verify(task.checks, task.combine, evidence, Outside(Allowed())))
