"""How the rules of a task come to success: by Kleene's logic, and by shares of weight that are exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from misjudge_storage.types import Check, Message
from misjudge_tools.episodes.rules import RULE, Combination, Rule
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.suites.model import SuiteTask

SAID = Evidence((Message(role="assistant", content="a"),), None, None, None)
HOLDS, FAILS, UNKNOWN = (
    {"kind": "not_contains", "value": "x"},
    {"kind": "contains", "value": "x"},
    {"kind": "human"},
)
BY_RESULT: dict[bool | None, dict[str, Any]] = {True: HOLDS, False: FAILS, None: UNKNOWN}
SOME_TASK: dict[str, Any] = {
    "task_id": "t",
    "category": "c",
    "opening": "o",
    "goal": "g",
    "success_criteria": "s",
    "checks": [HOLDS],
}


def rule(**values: Any) -> Rule:
    return RULE.validate_python(values)


async def outcome(combine: Combination, *rules: Rule) -> Check:
    *_, last = await verify(rules, combine, SAID, Outside(Allowed()))
    assert (last.verifier, last.source, last.scope) == ("success", "verifier", "outcome")
    return last


@pytest.mark.parametrize("results", list(product((True, False, None), repeat=3)))
async def test_what_is_not_known_counts_only_where_it_decides(results: tuple[bool | None, ...]) -> None:
    rules = [rule(**BY_RESULT[result]) for result in results]
    worst = {"all": False, "any": True}
    for combine, deciding in worst.items():
        expected = deciding if deciding in results else None if None in results else not deciding
        made = await outcome(combine, *rules)  # type: ignore[arg-type]
        assert made.passed is expected
        assert made.reward == (None if None in results else pytest.approx(results.count(True) / 3))
        assert made.evidence.startswith(f"{results.count(True)} of 3 rules hold")
        assert ("cannot be told" in made.evidence) is (None in results)


WEIGHTED = st.lists(st.tuples(st.sampled_from([True, False, None]), st.integers(1, 5)), min_size=1, max_size=5)


SHARES = st.integers(1, 20).map(lambda parts: parts / 20)


@given(WEIGHTED, SHARES)
async def test_success_may_be_a_share_of_the_weight(parts: list[tuple[bool | None, int]], share: float) -> None:
    results = [result for result, _ in parts]
    made = await outcome(share, *(rule(**BY_RESULT[result], weight=weight / 10) for result, weight in parts))
    total, least = sum(weight for _, weight in parts), Fraction(str(share))
    # Whatever a person would say of the rules that are not known: only what stays the same is known.
    could_hold = {
        Fraction(sum(weight for one, (_, weight) in zip(every, parts, strict=True) if one), total) >= least
        for every in product(*([False, True] if result is None else [result] for result in results))
    }
    assert made.passed is (could_hold.pop() if len(could_hold) == 1 else None)
    if None not in results:
        held = sum(weight for result, weight in parts if result)
        assert made.reward == pytest.approx(held / total)
    else:
        assert made.reward is None


@pytest.mark.parametrize(
    ("share", "held", "failed", "passed"),
    [
        (0.8, [1] * 5, [1], True),
        (0.8, [1] * 4, [1], True),
        (0.8, [0.1] * 4, [0.1], True),
        (0.3, [0.1, 0.2], [0.7], True),
        (0.7, [0.1] * 7, [0.3], True),
        (0.81, [1] * 4, [1], False),
        (1, [0.1] * 11, [], True),
        (1, [9], [0.001], False),
        (1, [1], [1e-12], False),
        (1e-12, [1e-12], [1], False),
        (1e-12, [1e-12], [0.5], True),
    ],
)
async def test_a_share_of_the_weight_is_compared_as_it_is_written(
    share: float, held: list[float], failed: list[float], passed: bool
) -> None:
    rules = [*(rule(**HOLDS, weight=weight) for weight in held), *(rule(**FAILS, weight=weight) for weight in failed)]
    task = SuiteTask.model_validate({**SOME_TASK, "checks": rules, "combine": share})
    assert (await outcome(task.combine, *rules)).passed is passed


@pytest.mark.parametrize("combine", ["weights", "", 0, -1, 1.000001, True, None, [1], "0.5"])
def test_rules_are_combined_as_all_any_or_a_share_and_as_nothing_else(combine: Any) -> None:
    SuiteTask.model_validate({**SOME_TASK, "combine": 0.5})
    with pytest.raises(ValidationError, match='it is "all", "any" or a number above 0 and up to 1'):
        SuiteTask.model_validate({**SOME_TASK, "combine": combine})
