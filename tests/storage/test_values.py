"""Values that cross the rooms cannot be invalid, and errors are the tree that is drawn."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from builders import JUDGE, SATISFACTION, episode, label, messages, passed, verdict
from misjudge_storage import errors
from misjudge_storage.errors import BadRecords
from misjudge_storage.types import (
    Check,
    Log,
    Message,
    PairKey,
    Record,
    Satisfaction,
    Task,
    Trajectory,
    Value,
    Verdict,
)

SECRET: Any = ["the secret transcript"]
TASK = Task(task_id="t1")
A, B = episode("x", said=messages("hi", "one")), episode("y", said=messages("hi", "two"))


def test_a_value_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TASK.prompt = "other"  # type: ignore[misc]


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Task(task_id="t1", promt="typo")  # type: ignore[call-arg]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        (Check, {"verifier": "v", "source": "reward", "reward": ...}),
        (Verdict, {"judge": JUDGE, "winner": "A", "score_a": ...}),
        (Satisfaction, {"judge": SATISFACTION, "score": ...}),
        (Log, {"est_cost": ...}),
        (PairKey, {"reward_gap": ...}),
    ],
)
def test_numbers_that_are_not_finite_are_refused(kind: type[Value], facts: dict[str, Any], number: float) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        kind(**{name: number if value is ... else value for name, value in facts.items()})


def test_an_error_does_not_show_what_was_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Message(role="user", content=SECRET)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "x" * 401, "a\0b", "a\ud800b"])
def test_an_id_that_a_database_could_not_keep_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        Task(task_id=name)


@pytest.mark.parametrize("negative", [{"trial": -1}, {"input_tokens": -1}, {"output_tokens": -1}])
def test_counts_are_not_negative(negative: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Trajectory(task_id="t1", agent="x", **negative)


@pytest.mark.parametrize("moment", ["2025-01-31", "2025-01-31T12:00:00Z", "2025-01-31 12:00:00.5+08:00"])
def test_a_log_takes_iso_times(moment: str) -> None:
    assert Log(created_at=moment).created_at == moment


@pytest.mark.parametrize("moment", ["yesterday", "", "1738324800", "2025-13-01", "0001-01-01T00:00:00+14:00"])
def test_a_log_refuses_other_times(moment: str) -> None:
    with pytest.raises(ValidationError, match="must be a time such as"):
        Log(created_at=moment)


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"winner": None}, "winner must be A, B, tie in a verdict that is scored"),
        ({"winner": "A", "status": "unscored"}, "winner must be empty"),
        ({"winner": "A", "unscored_reason": "refused"}, "unscored_reason belongs to every unscored verdict"),
        ({"winner": None, "status": "unscored"}, "unscored_reason belongs to every unscored verdict"),
        ({"winner": "tie", "status": "weak", "reduced": True}, "winner must be A, B in"),
        ({"winner": "A", "status": "inconsistent", "reduced": True}, "winner must be empty"),
        ({"winner": "A", "status": "weak"}, "only a verdict that stands for both orders can be weak"),
        ({"winner": None, "status": "inconsistent"}, "only a verdict that stands for both orders"),
        ({"winner": "A", "reduced": True, "order": "AB"}, "has no order"),
        ({"winner": "a"}, "should be 'A', 'B' or 'tie'"),
        ({"winner": "A", "order": "A"}, "should be 'AB' or 'BA'"),
        ({"winner": "A", "repeat": -1}, "greater than or equal to 0"),
    ],
)
def test_a_verdict_that_contradicts_itself_is_refused(facts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Verdict(judge=JUDGE, **facts)


@pytest.mark.parametrize(
    "facts",
    [
        {"winner": "tie"},
        {"winner": "A", "status": "weak", "reduced": True},
        {"status": "inconsistent", "reduced": True},
        {"status": "unscored", "unscored_reason": "budget"},
        {"status": "unscored", "unscored_reason": "timeout", "reduced": True},
    ],
)
def test_every_status_has_a_valid_verdict(facts: dict[str, Any]) -> None:
    assert Verdict(judge=JUDGE, **facts).status == facts.get("status", "scored")


@pytest.mark.parametrize("facts", [{}, {"score": 0.5, "unscored_reason": "refused"}])
def test_satisfaction_has_a_score_or_a_reason(facts: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="either a score or an unscored_reason"):
        Satisfaction(judge=SATISFACTION, **facts)


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"episodes": (A, B)}, "belong to a pair"),
        ({"gold": (label("A"),)}, "belong to a pair"),
        ({"verdicts": (verdict("A"),)}, "belong to a pair"),
        ({"pair": PairKey()}, "a pair has two episodes"),
        ({"pair": PairKey(), "episodes": (A,)}, "a pair has two episodes"),
        ({"pair": PairKey(), "episodes": (A, B, episode("z"))}, "a pair has two episodes"),
        ({"pair": PairKey(), "episodes": (A, episode("y", task="t2"))}, "of its task"),
        ({"episodes": (A,), "task": None}, "of its task"),
        ({"pair": PairKey(), "episodes": (A, A)}, "both sides are the same trajectory"),
        ({"pair": PairKey(), "episodes": (episode("x"), episode("x", passed(True)))}, "the same trajectory"),
    ],
)
def test_a_record_that_does_not_fit_together_is_refused(facts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Record(**{"line": 1, "task": TASK, **facts})


def test_two_attempts_that_nothing_tells_apart_may_be_a_pair() -> None:
    unnumbered = episode("x", trial=None)
    assert Record(line=1, task=TASK, pair=PairKey(), episodes=(unnumbered, unnumbered)).pair is not None


def test_a_record_may_hold_nothing_but_a_log() -> None:
    assert Record(line=1, logs=(Log(),)).task is None


def test_the_error_tree_is_the_one_that_is_drawn() -> None:
    drawn: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"    ([│├└─ ]*)([A-Z]\w+)", line)
        if found:
            depth = len(found[1]) // 4
            above[depth:] = [found[2]]
            drawn[found[2]] = above[depth - 1] if depth else None
    classes = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and kind.__module__ == errors.__name__
    }
    built = {
        name: None if name == "MisjudgeError" else kind.__base__ and kind.__base__.__name__
        for name, kind in classes.items()
    }
    assert drawn == built


def test_every_gateway_error_has_a_reason_for_the_verdict_that_was_lost() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.GatewayError)]
    for kind in kinds:
        lost = Verdict(judge=JUDGE, status="unscored", unscored_reason=kind.unscored)
        assert lost.winner is None
    assert {kind.unscored for kind in kinds} == {"provider_error", "context_overflow", "timeout"}


def test_bad_records_names_those_found_and_counts_the_rest() -> None:
    error = BadRecords("pairs.csv", ["line 2: a", "line 5: b"], 4)
    assert str(error) == (
        "pairs.csv: 4 records cannot be read, so nothing was imported. "
        "Correct them, or import the rest with --skip-bad:\n  line 2: a\n  line 5: b\n  and 2 more"
    )
    assert (error.problems, error.total) == (("line 2: a", "line 5: b"), 4)


def test_bad_records_counts_those_that_a_joined_problem_is_about() -> None:
    joined = ["lines 2, 3, 4 and 5 more: a"]
    assert str(BadRecords("pairs.csv", joined, 9, 8)).endswith("5 more: a\n  and 1 more")
    assert str(BadRecords("pairs.csv", joined, 8, 8)).endswith("5 more: a")


def test_a_single_bad_record_is_not_called_records() -> None:
    assert "1 record cannot" in str(BadRecords("pairs.csv", ["line 2: a"], 1))
    assert "more" not in str(BadRecords("pairs.csv", ["line 2: a"], 1))
