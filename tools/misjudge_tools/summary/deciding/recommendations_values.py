"""What to do, each with the numbers that say so."""

from __future__ import annotations

from typing import Literal

from misjudge_storage.types import Value

Action = Literal[
    "change_judge",
    "lower_weight",
    "add_rounds",
    "tighten_rewards",
    "split_roles",
    "fix_replies",
    "guard_against",
    "decide_the_rest",
    "more_pairs",
    "label_pairs",
    "keep",
]


class Recommendation(Value):
    """One thing to do, in a sentence, and the numbers because of which."""

    action: Action
    advice: str
    because: str


class RecommendationsSection(Value):
    """What to do, the most important first."""

    rows: tuple[Recommendation, ...]
