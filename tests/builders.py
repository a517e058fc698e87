"""Small builders of the values that importers yield, for tests that store some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from misjudge_storage.types import (
    Check,
    CheckSource,
    Episode,
    GoldLabel,
    GoldSource,
    Judge,
    Log,
    Message,
    Order,
    PairKey,
    Preference,
    Record,
    Satisfaction,
    Scale,
    Task,
    Trajectory,
    UnscoredReason,
    Verdict,
)

JUDGE = Judge(label="judge", form="pairwise", model="judge-m")
SATISFACTION = Judge(label="gate", form="satisfaction", model="judge-m", scale=Scale(low=0, high=1, threshold=0.8))


def messages(*said: str) -> tuple[Message, ...]:
    """A conversation in which the user speaks first."""
    return tuple(Message(role="assistant" if n % 2 else "user", content=text) for n, text in enumerate(said))


def passed(success: bool, source: CheckSource = "verifier") -> Check:
    """A check that says whether the task was done."""
    return Check(verifier=f"{source} check", source=source, passed=success)


def rewarded(reward: float, source: CheckSource = "reward") -> Check:
    """A check that gives a reward."""
    return Check(verifier=f"{source} reward", source=source, reward=reward)


def satisfied(score: float | None, judge: Judge = SATISFACTION, reason: UnscoredReason = "refused") -> Satisfaction:
    """A satisfaction score; None is unscored."""
    return Satisfaction(judge=judge, score=score, unscored_reason=reason if score is None else None)


def episode(
    agent: str,
    *checks: Check,
    task: str = "t1",
    trial: int | None = 0,
    said: tuple[Message, ...] | None = None,
    satisfaction: Iterable[Satisfaction] = (),
    logs: Iterable[Log] = (),
    **facts: Any,
) -> Episode:
    """An episode of a task; without `said` the source kept no transcript."""
    trajectory = Trajectory(task_id=task, agent=agent, trial=trial, messages=said, **facts)
    return Episode(trajectory=trajectory, checks=checks, satisfaction=tuple(satisfaction), logs=tuple(logs))


def verdict(
    winner: Preference | None, order: Order | None = None, repeat: int = 0, judge: Judge = JUDGE, **facts: Any
) -> Verdict:
    """A single call's verdict; None is unscored."""
    unscored = {} if winner else {"status": "unscored", "unscored_reason": "parse_error"}
    return Verdict(judge=judge, winner=winner, order=order, repeat=repeat, **{**unscored, **facts})


def label(pref: Preference, labeller: str = "ann", source: GoldSource = "human") -> GoldLabel:
    """What one labeller says was better."""
    return GoldLabel(labeller=labeller, pref=pref, source=source)


def pair(
    pair_id: str | None = "p1",
    a: Episode | None = None,
    b: Episode | None = None,
    *verdicts: Verdict,
    line: int = 1,
    gold: Iterable[GoldLabel] = (),
    logs: Iterable[Log] = (),
    prompt: str = "Book a table.",
    **key: Any,
) -> Record:
    """A pair of two episodes of one task; agents x and y where none are given."""
    a, b = a or episode("x"), b or episode("y")
    return Record(
        line=line,
        task=Task(task_id=a.trajectory.task_id, prompt=prompt),
        episodes=(a, b),
        pair=PairKey(pair_id=pair_id, **key),
        gold=tuple(gold),
        verdicts=verdicts,
        logs=tuple(logs),
    )


def lone(one: Episode, line: int = 1, prompt: str = "Book a table.") -> Record:
    """An episode that is not in a pair."""
    return Record(line=line, task=Task(task_id=one.trajectory.task_id, prompt=prompt), episodes=(one,))
