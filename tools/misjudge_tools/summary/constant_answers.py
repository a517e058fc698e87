"""Judges that give one answer whatever they are shown: what looks like accuracy is then a coin's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from misjudge_storage.summary_values import Group, GroupCounts, JudgeFacts
from misjudge_tools.summary.counts import added
from misjudge_tools.summary.sections import consistency_section
from misjudge_tools.summary.values import ConsistencySection

NEARLY_ALL = 0.9
"""Share of answers that name the same place, from which on they are called constant."""
MOSTLY = 0.8
"""Share of pairs, of those with both orders, on which the verdict must have turned with the order, too."""
FEWEST = 8
"""Answers that are needed: of so many, a judge without bias names the same place in 1 % of cases or less."""


class ConstantAnswer(NamedTuple):
    """A judge named the side shown first, or second, in `k` of its `n` answers that named a side."""

    place: Literal["first", "second"]
    k: int
    n: int


def constant_answer(found: ConsistencySection) -> ConstantAnswer | None:
    """The place that this judge names nearly whatever stands there, None where it does not."""
    letter, flips = found.intervals["letter_a_share"], found.intervals["flip_rate"]
    if flips.rate is None or flips.rate < MOSTLY or letter.n < FEWEST:
        return None
    first, second = letter.k, letter.n - letter.k
    if max(first, second) < NEARLY_ALL * letter.n:
        return None
    return ConstantAnswer("first" if first > second else "second", max(first, second), letter.n)


def constant_warnings(judges: Sequence[JudgeFacts], groups: Mapping[Group, GroupCounts]) -> tuple[str, ...]:
    """A sentence for each of these judges that gives one answer whatever it is shown."""
    said = []
    for judge in judges:
        mine = [counts for group, counts in groups.items() if group.judge_id == judge.judge_id]
        if mine and (warning := _warning(judge.label, consistency_section(added(mine)))):
            said.append(warning)
    return tuple(said)


def _warning(judge: str, found: ConsistencySection) -> str | None:
    constant = constant_answer(found)
    if constant is None:
        return None
    named = f"Judge {judge} named the side shown {constant.place} in {constant.k} of {constant.n} answers"
    right = found.intervals["accuracy"]
    if right.rate is None:
        return f"{named}: that is position bias, and says nothing of the sides."
    return (
        f"{named}: that is position bias, and its accuracy of {right.rate:.2f} ({right.k} of {right.n} calls) is that "
        "of a constant answer, not a skill."
    )
