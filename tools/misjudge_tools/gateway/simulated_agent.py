"""What a simulated gateway says as an agent: the script of the task that its customer opens with. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from misjudge_storage.types import Message
from misjudge_tools.episodes.scripted import failing_tasks, next_reply, policy_named, script_of
from misjudge_tools.episodes.settings import ScriptedAgent
from misjudge_tools.episodes.turns import AgentReply
from misjudge_tools.suites.model import Solution, SuiteTask

UNKNOWN_TASK = "I am sorry, I do not know how this is done. Thank you for your understanding."


class Repertoire(NamedTuple):
    """The tasks that a simulated gateway knows, and how each is done."""

    tasks: tuple[SuiteTask, ...] = ()
    solutions: Mapping[str, Solution] = {}

    def opened_with(self, messages: Sequence[Message]) -> SuiteTask | None:
        """The task whose opening is the first thing that the customer says."""
        said = next((message.content.strip() for message in messages if message.role == "user"), None)
        return next((task for task in self.tasks if task.opening.strip() == said), None)


class Ability(NamedTuple):
    """`skill`: the share of the tasks that a model gets right whose name is no scripted agent's."""

    skill: float = 1.0
    seed: int = 0


def simulated_agent(known: Repertoire, ability: Ability, model: str, messages: Sequence[Message]) -> AgentReply:
    """What the model does next. A share of tasks is one of those in the task's language.

    The same model gets the same tasks wrong each time. Raises InvalidInput for `flaky` without its share.
    """
    policy = policy_named(model) or ScriptedAgent(policy="flaky", share=ability.skill)
    task = known.opened_with(messages)
    solution = None if task is None else known.solutions.get(task.task_id)
    if task is None or solution is None:
        return AgentReply(UNKNOWN_TASK)
    fails = False
    if policy.share is not None:
        peers = [one.task_id for one in known.tasks if one.language == task.language]
        fails = task.task_id in failing_tasks(policy.share, peers, ability.seed, model, 0)
    return next_reply(script_of(policy, task, solution, fails), messages)
