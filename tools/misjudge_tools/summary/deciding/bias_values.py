"""What the judge likes that is not success: place, length, words, its own family, its own scores."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.summary_values import LengthBy
from misjudge_storage.types import Value
from misjudge_tools.stats.associations import OddsRatio
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Count, Rate
from misjudge_tools.stats.rubrics import Estimate


class Leaning(Rate):
    """A share beside what a judge without this bias would show. `stands_out`: its interval leaves that."""

    unbiased: float
    stands_out: bool
    p: float | None = None


class PositionBias(Value):
    """Answers that name the side shown first. Read `accuracy` (right calls on decidable pairs) and `flip_rate`
    together: accuracy .50 with flip rate 1.00 is a `constant` answer (first or second), however it looks alone.
    """

    first: Leaning
    flip_rate: Rate
    accuracy: Rate
    constant: Literal["first", "second"] | None


class HeldFixed(OddsRatio):
    """The odds of picking one side when it is the longer one over those when it is the shorter one, gold held fixed."""

    unbiased: float
    stands_out: bool


class LengthBias(Value):
    """Picks of the longer side, by what `length_by` says of both; `equal` and `unknown` picks are on other pairs.

    `longer` alone proves nothing where longer episodes are better; `with_gold_fixed` does not count that.
    """

    length_by: LengthBy
    longer: Leaning
    with_gold_fixed: HeldFixed
    equal: Count
    unknown: Count


class WordBias(Value):
    """Replies whose reasons hold words of a group, and calls that are wrong with and without them.

    `difference` is `wrong_with` minus `wrong_without`; an unbiased judge would show none, of evidence less than none.
    """

    group: str
    said: Rate
    wrong_with: Rate
    wrong_without: Rate
    difference: Effect
    unbiased: float = 0.0
    stands_out: bool


class LowerReward(Value):
    """Picks of the side of strictly lower reward (by verifiers or a source of rewards, not by the judge itself), of the
    picks on pairs of unequal ones; near and wide by the ability gap.
    """

    rate: Rate
    near: Rate
    wide: Rate
    equal_rewards: Count


class SelfPreference(Value):
    """Pairs with one side of the judge's own `family` of models, both families known.

    `own` is the share of its picks that go to that side; it says little, as the family may be better. `excess`: how
    much more often it picks that side than the judge `beside` does on the same pairs. `by_gold`: how much more often it
    is wrong where the own side failed than where it did the job. `stands_out`: the interval of `excess`, else of
    `by_gold`, is above none.
    """

    family: str
    own: Rate
    beside: str | None
    excess: Effect | None
    by_gold: Effect | None
    unbiased: float = 0.0
    stands_out: bool


class BiasSection(Value):
    """What goes along with the verdicts of a judge; parts that are None have their reason under `why`.

    All but `position` are counted on `pairs` of `pairs_in_all` pairs, whole tasks drawn by digest where they are many;
    `words` on the first of these. `self_contradiction`: calls that name the side they gave the worse score.
    `stability`: the mean share of the most common verdict when the same is asked again in the same order.
    """

    pairs: Count
    pairs_in_all: Count
    position: PositionBias | None = None
    length: LengthBias | None = None
    words: tuple[WordBias, ...] | None = None
    self_contradiction: Rate | None = None
    lower_reward_selected: LowerReward | None = None
    self_preference: SelfPreference | None = None
    stability: Estimate | None = None
    why: dict[str, str] = Field(default_factory=dict)
