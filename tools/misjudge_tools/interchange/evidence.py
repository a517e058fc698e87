"""Values that several formats state in the same way: checks, satisfaction scores, imported judges."""

from __future__ import annotations

from functools import lru_cache

from misjudge_storage.types import Check, CheckSource, Judge, Preference, Satisfaction, Scale
from misjudge_tools.interchange.scales import SHARE

SUCCESS_SOURCES: dict[str, CheckSource] = {
    "human": "human",
    "verifier": "verifier",
    "label": "label",
    "reward": "reward",
    "model": "model",
}
REWARD_SOURCES: dict[str, CheckSource] = {"verifier": "verifier", "external": "reward", "reward": "reward"}


def success_check(passed: bool | None, source: CheckSource, verifier: str = "success") -> tuple[Check, ...]:
    """One check, or none where the source does not say."""
    return () if passed is None else (Check(verifier=verifier, source=source, passed=passed),)


def reward_check(reward: float | None, source: CheckSource, verifier: str = "reward") -> tuple[Check, ...]:
    """One check, or none where the source does not say."""
    return () if reward is None else (Check(verifier=verifier, source=source, reward=reward),)


@lru_cache(maxsize=256)
def pairwise_judge(label: str, model: str | None = None, prompt_version: str = "", *, simulated: bool = False) -> Judge:
    """A judge of pairs as a file names it; its model is the label where the file names no other."""
    return Judge(
        label=label,
        form="pairwise",
        model=label if model is None else model,
        prompt_version=prompt_version,
        origin="imported",
        simulated=simulated,
    )


def satisfaction_judge(label: str, scale: Scale, model: str = "") -> Judge:
    """What a file calls a satisfaction: the score of a model, of people, or of a gate."""
    return Judge(label=label, form="satisfaction", model=model, scale=scale, origin="imported")


def contradicts_scores(winner: Preference | None, score_a: float | None, score_b: float | None) -> bool:
    """Whether the judge scored the side that it chose below the other one."""
    if score_a is None or score_b is None:
        return False
    return (winner == "A" and score_a < score_b) or (winner == "B" and score_b < score_a)


def user_satisfaction(score: float | None, scale: Scale = SHARE) -> tuple[Satisfaction, ...]:
    """The guides' `user_sat` of one trajectory, or none where the source does not say."""
    return () if score is None else (Satisfaction(judge=satisfaction_judge("user_sat", scale), score=score),)
