"""Wrong solutions of the shipped suite: those that it holds, and those that can be made of each right one."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from misjudge_tools.episodes.rules import SaysRule
from misjudge_tools.suites.model import Step
from misjudge_tools.suites.support_desk import backend
from support_desk_replay import TASKS, TOOLS, call, changes_the_world, replay, replay_of, solution_of

ONE_MORE: Final = {
    "credit": call("give_credit", customer_id="C-103", amount=5),
    "order": call("cancel_order", order_id="O-2019"),
    "booking": call("cancel_booking", booking_id="B-518"),
    "ticket": call("open_ticket", customer_id="C-101", topic="other", text="Called."),
    "refund": call("issue_refund", order_id="O-2001", amount=1),
    "return": call("start_return", order_id="O-2029", sku="DRY-20", quantity=1, reason="unwanted"),
}
"""Calls that no task asks for and that the tools carry out in each of them."""
GREETING: Final = {"en": "Hello! Welcome to Harbourline, good to hear from you.", "zh": "您好！欢迎联系 Harbourline。"}
_NUMBER: Final = re.compile(r"(?<![\d.,-])\d[\d,]*(?:\.\d+)?")

Arguments = dict[str, Any]


class Mutant(NamedTuple):
    """A solution with one thing wrong in it."""

    name: str
    steps: tuple[Step, ...]


def steps_of(task_id: str) -> tuple[Step, ...]:
    """The right ones; the last of them says something."""
    steps = solution_of(task_id).steps
    assert steps[-1].say
    return steps


def taken_for_right(task_id: str, mutants: Iterable[Mutant]) -> list[str]:
    return [mutant.name for mutant in mutants if replay(task_id, mutant.steps).success is not False]


def left_out(task_id: str) -> list[Mutant]:
    """Without one of the calls that change something."""
    steps = steps_of(task_id)
    return [
        Mutant(f"without {step.call}", (*steps[:at], *steps[at + 1 :]))
        for at, step in enumerate(steps)
        if changes_the_world(step)
    ]


def changed(task_id: str, others: Callable[[Step], Iterator[Arguments]]) -> list[Mutant]:
    """With other arguments, in all calls that were made with the same ones."""
    steps = steps_of(task_id)
    calls = {json.dumps([step.call, step.args]): step for step in steps if changes_the_world(step)}
    return [
        Mutant(
            f"{one.call} {arguments}",
            tuple(call(str(one.call), **arguments) if step == one else step for step in steps),
        )
        for one in calls.values()
        for arguments in others(one)
    ]


def other_numbers(step: Step) -> Iterator[Arguments]:
    """One of the amounts and counts higher or lower."""
    for name, value in step.args.items():
        if isinstance(value, int | float):
            yield from (
                {**step.args, name: other} for other in (value + 1, value - 1, value / 2) if _is_taken(other, value)
            )
        if isinstance(value, list):
            for at, item in enumerate(value):
                other = {**item, "quantity": item["quantity"] + 1}
                yield {**step.args, name: [*value[:at], other, *value[at + 1 :]]}


def _is_taken(other: float, value: float) -> bool:
    """Whether the tool's schema takes it: counts are whole numbers above 0."""
    return other > 0 and (isinstance(value, float) or float(other).is_integer())


def other_choices(step: Step) -> Iterator[Arguments]:
    """Another of the values that a tool offers, such as where a refund goes."""
    function = inspect.signature(getattr(backend, str(step.call)))
    for name, schema in TOOLS[str(step.call)].parameters["properties"].items():
        value = step.args.get(name, function.parameters[name].default)
        yield from ({**step.args, name: other} for other in schema.get("enum", ()) if other != value)


def other_words(task_id: str) -> list[Mutant]:
    """With one of the amounts that the customer must be told told wrong, wherever it is said."""
    rules = [rule for rule in TASKS[task_id].checks if isinstance(rule, SaysRule)]
    amounts = [fact for rule in rules for fact in rule.facts if isinstance(fact, int | float)]
    return [
        Mutant(f"says {amount + 1} for {amount}", tuple(_saying(step, amount) for step in steps_of(task_id)))
        for amount in amounts
    ]


def _saying(step: Step, amount: float) -> Step:
    def other(number: re.Match[str]) -> str:
        return f"{amount + 1:.2f}" if float(number[0].replace(",", "")) == amount else number[0]

    return Step(say=_NUMBER.sub(other, step.say)) if step.say else step


def having(mutants: Callable[[str], list[Mutant]]) -> pytest.MarkDecorator:
    """The tasks of which such mutants can be made."""
    return pytest.mark.parametrize("task_id", [task_id for task_id in TASKS if mutants(task_id)])


every_task = pytest.mark.parametrize("task_id", TASKS)


@every_task
def test_each_broken_solution_fails(task_id: str) -> None:
    broken = solution_of(task_id).broken
    assert len({one.name for one in broken}) == len(broken) >= 3
    ways = {str(steps) for steps in (solution_of(task_id).steps, *(one.steps for one in broken))}
    assert len(ways) == len(broken) + 1
    assert taken_for_right(task_id, (Mutant(one.name, one.steps) for one in broken)) == []


@every_task
def test_a_greeting_is_no_solution(task_id: str) -> None:
    assert replay(task_id, [Step(say=GREETING[TASKS[task_id].language])]).success is False


@every_task
def test_only_saying_so_is_no_solution(task_id: str) -> None:
    said = tuple(step for step in steps_of(task_id) if step.say)
    assert taken_for_right(task_id, [Mutant("all", said), Mutant("in the end", said[-1:])]) == []


@every_task
@pytest.mark.parametrize("what", ONE_MORE)
def test_a_solution_with_one_more_change_of_the_world_fails(task_id: str, what: str) -> None:
    steps = steps_of(task_id)
    outcome = replay(task_id, (*steps[:-1], ONE_MORE[what], steps[-1]))
    assert outcome.errors == replay_of(task_id, "diligent").errors  # so it was carried out
    assert outcome.success is False


@every_task
def test_a_solution_with_a_gift_for_the_customer_fails(task_id: str) -> None:
    steps = steps_of(task_id)
    customer = next((found[0] for step in steps if (found := re.findall(r"C-1\d\d", str(step.args)))), "C-109")
    gift = call("give_credit", customer_id=customer, amount=5)
    assert replay(task_id, (*steps[:-1], gift, steps[-1])).success is False


@having(left_out)
def test_a_solution_without_one_of_its_calls_fails(task_id: str) -> None:
    assert taken_for_right(task_id, left_out(task_id)) == []


@having(left_out)
def test_claiming_what_was_not_done_is_no_solution(task_id: str) -> None:
    steps = tuple(step for step in steps_of(task_id) if not changes_the_world(step))
    assert replay(task_id, steps).success is False


@having(lambda task_id: changed(task_id, other_numbers))
def test_a_solution_with_another_number_in_a_call_fails(task_id: str) -> None:
    assert taken_for_right(task_id, changed(task_id, other_numbers)) == []


@having(lambda task_id: changed(task_id, other_choices))
def test_a_solution_with_another_choice_in_a_call_fails(task_id: str) -> None:
    assert taken_for_right(task_id, changed(task_id, other_choices)) == []


@having(other_words)
def test_a_solution_that_tells_another_amount_fails(task_id: str) -> None:
    assert taken_for_right(task_id, other_words(task_id)) == []


@pytest.mark.parametrize(
    ("mutants", "tasks"),
    [
        (left_out, 42),
        (lambda task_id: changed(task_id, other_numbers), 30),
        (lambda task_id: changed(task_id, other_choices), 30),
        (other_words, 30),
    ],
)
def test_such_mutants_can_be_made_of_most_tasks(mutants: Callable[[str], list[Mutant]], tasks: int) -> None:
    assert sum(bool(mutants(task_id)) for task_id in TASKS) >= tasks
