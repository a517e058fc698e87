"""What tests of the shipped suite share: the suite, loaded once, and its episodes with the real parts.

Nothing here is asynchronous, so that an outcome can be kept for the tests that need it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from misjudge_storage.types import Message
from misjudge_tools.check_suite import play
from misjudge_tools.episodes.rollout import Rollout
from misjudge_tools.episodes.rules import Rule
from misjudge_tools.episodes.scripted import ScriptAgent, script_of
from misjudge_tools.episodes.settings import Allowed, ScriptedAgent
from misjudge_tools.episodes.turns import Agent, AgentReply
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.suites.loading import Suite, load_suite
from misjudge_tools.suites.model import Solution, Step, SuiteTask, ToolSpec

DESK: Final[Suite] = load_suite("support_desk", Allowed(), None)
TASKS: Final[Mapping[str, SuiteTask]] = {task.task_id: task for task in DESK.tasks}
TOOLS: Final[Mapping[str, ToolSpec]] = {tool.name: tool for tool in DESK.tools.tools}
LOOKUPS: Final = frozenset(
    "find_cabins find_customer find_trips get_booking get_order list_bookings list_orders read_policy "
    "search_products".split()
)
NOWHERE: Final = Outside(Allowed())


class Outcome(NamedTuple):
    """What became of an episode. `failed` names the checks that do not hold, `errors` is what tools refused."""

    success: bool | None
    failed: tuple[str, ...]
    errors: tuple[str, ...]
    made: Rollout


def solution_of(task_id: str) -> Solution:
    return DESK.solutions[task_id]


def changes_the_world(step: Step) -> bool:
    return step.call is not None and step.call not in LOOKUPS


def replay(task_id: str, steps: Sequence[Step]) -> Outcome:
    """An agent that follows these steps, with the scripted customer."""
    return _played(task_id, ScriptAgent(steps))


@cache
def replay_of(task_id: str, policy: str, fails: bool = False) -> Outcome:
    """A scripted agent on the task."""
    agent = ScriptedAgent.model_validate({"policy": policy})
    return replay(task_id, script_of(agent, TASKS[task_id], solution_of(task_id), fails))


def silence(task_id: str) -> Outcome:
    return _played(task_id, _Silent())


class _Silent:
    async def reply(self, messages: Sequence[Message]) -> AgentReply:
        return AgentReply("")


def _played(task_id: str, agent: Agent) -> Outcome:
    played = asyncio.run(play(DESK, TASKS[task_id], agent, Allowed()))
    failed = tuple(f"{check.verifier}: {check.evidence}" for check in played.checks[:-1] if check.passed is not True)
    return Outcome(played.success, failed, played.refused, played.made)


def holds(rule: Rule, *said: str) -> bool | None:
    """Whether a rule about text holds where an agent said this, a message each."""
    messages = tuple(Message(role="assistant", content=text) for text in said)
    return asyncio.run(verify([rule], "all", Evidence(messages, None, None, None), NOWHERE))[-1].passed


def rule_named(task_id: str, name: str) -> Rule:
    [rule] = [rule for rule in TASKS[task_id].checks if rule.name == name]
    return rule


def call(tool: str, **arguments: Any) -> Step:
    return Step(call=tool, args=arguments)
