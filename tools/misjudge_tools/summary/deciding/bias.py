"""The section `bias`."""

from __future__ import annotations

from misjudge_storage.bias_counts import BiasCounts, PickCounts
from misjudge_storage.reason_counts import Held
from misjudge_storage.summary_values import GroupCounts, JudgeFacts, LengthBy, Sums
from misjudge_tools.stats.associations import OddsRatio, mantel_haenszel, mean_of_shares, p_of_half
from misjudge_tools.stats.gaps import JointSums, difference
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import ClusterSums, NoData, Rate, clustered_rate
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.constant_answers import constant_answer
from misjudge_tools.summary.deciding.bias_values import (
    BiasSection,
    HeldFixed,
    Leaning,
    LengthBias,
    LowerReward,
    PositionBias,
    WordBias,
)
from misjudge_tools.summary.deciding.self_preference import self_preference
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.sections import NO_PAIRS, consistency_section

NO_ORDER = NoData(why="The source does not say which side was shown first. Judge the pairs with orders=both.")
NO_LENGTH = NoData(why="No episode states its output tokens or keeps its messages: import them with their messages.")
NO_UNEQUAL = NoData(why="No pair with a pick has two episodes of known, different length.")
NO_REASONS = NoData(why="No reply holds reasons. Judge with a prompt that asks for them, as the ones of this tool do.")
NO_SCORES = NoData(why="No reply scores both sides. Judge with a prompt that asks for scores, or import them.")
NO_REWARDS = NoData(
    why="No pair with a pick has two known rewards that differ. Import rewards, or verify the episodes."
)
NO_REPEATS = NoData(why="Nothing was asked twice in the same order. Judge with repeats of 2 or more.")

NO_ODDS = NoData(
    why="Too few decidable pairs of unequal length: the odds need right and wrong picks where the longer side was the "
    "better one, and where the shorter one was."
)
NO_WRONG = NoData(why="No reply with reasons is on a decidable pair. Import labels, success or rewards.")
NO_OTHER = NoData(why="No judge of another family judged these pairs: judge them with one, too.")


def bias_section(of: Judged) -> BiasSection | NoData:
    """What the judge likes that is not success: place, length, words, its own family, its own scores."""
    if of.group is None or of.paired is None:
        return NO_PAIRS
    counts, judge = of.counts.bias, of.paired
    picks = counts.picks[judge.judge_id]
    parts: dict[str, object] = {
        "position": _position(of.group),
        "length": _length(picks, counts.part.length_by),
        "words": _words(counts, judge),
        "self_contradiction": _contradiction(counts, judge),
        "lower_reward_selected": _lower_reward(picks),
        "self_preference": self_preference(of.counts, judge),
        "stability": _stability(picks),
    }
    found = {name: part for name, part in parts.items() if not isinstance(part, NoData)}
    why = {name: part.why for name, part in parts.items() if isinstance(part, NoData)}
    return _with_reasons(
        BiasSection.model_validate({"pairs": picks.pairs, "pairs_in_all": of.group.pairs, **found, "why": why})
    )


def _with_reasons(found: BiasSection) -> BiasSection:
    """With the reasons of what is missing inside of its parts."""
    missing = {
        "length.with_gold_fixed": (found.length and found.length.with_gold_fixed.value is None, NO_ODDS),
        "words.difference": (found.words and not any(map(_of_decidable, found.words)), NO_WRONG),
        "self_preference.excess": (found.self_preference and found.self_preference.excess is None, NO_OTHER),
    }
    why = {name: reason.why for name, (is_so, reason) in missing.items() if is_so}
    return found.model_copy(update={"why": {**found.why, **why}})


def _of_decidable(word: WordBias) -> int:
    return word.wrong_with.n + word.wrong_without.n


def _leaning(sums: Sums) -> Leaning:
    """A share beside one half, which it would be without a bias."""
    rate, p = clustered_rate(ClusterSums(*sums)), p_of_half(ClusterSums(*sums))
    return Leaning(**rate.model_dump(), unbiased=0.5, stands_out=_leaves(rate, 0.5), p=p)


def _leaves(found: Rate | Effect | OddsRatio, unbiased: float) -> bool:
    return found.low is not None and found.high is not None and not found.low <= unbiased <= found.high


def _position(group: GroupCounts) -> PositionBias | NoData:
    if not group.measures["letter_a"].n:
        return NO_ORDER
    steady = consistency_section(group)
    constant = constant_answer(steady)
    return PositionBias(
        first=_leaning(group.measures["letter_a"]),
        flip_rate=steady.intervals["flip_rate"],
        accuracy=clustered_rate(ClusterSums(*group.measures["right"])),
        constant=constant.place if constant else None,
    )


def _length(picks: PickCounts, measure: LengthBy | None) -> LengthBias | NoData:
    if measure is None:
        return NO_LENGTH
    if not picks.longer.n:
        return NO_UNEQUAL
    odds = mantel_haenszel(picks.by_gold)
    return LengthBias(
        length_by=measure,
        longer=_leaning(picks.longer),
        with_gold_fixed=HeldFixed(**odds.model_dump(), unbiased=1.0, stands_out=_leaves(odds, 1.0)),
        equal=picks.equal,
        unknown=picks.unknown,
    )


def _words(counts: BiasCounts, judge: JudgeFacts) -> tuple[WordBias, ...] | NoData:
    groups = counts.words.get(judge.judge_id)
    return tuple(_word(group, held) for group, held in groups.items()) if groups else NO_REASONS


def _word(group: str, held: Held) -> WordBias:
    one, other = ClusterSums(*held.wrong_with), ClusterSums(*held.wrong_without)
    effect = difference(JointSums(one, other, held.cross))
    return WordBias(
        group=group,
        said=clustered_rate(ClusterSums(*held.said)),
        wrong_with=clustered_rate(one),
        wrong_without=clustered_rate(other),
        difference=effect,
        stands_out=_leaves(effect, 0.0),
    )


def _contradiction(counts: BiasCounts, judge: JudgeFacts) -> Rate | NoData:
    sums = counts.contradictions.get(judge.judge_id)
    return clustered_rate(ClusterSums(*sums)) if sums else NO_SCORES


def _lower_reward(picks: PickCounts) -> LowerReward | NoData:
    rates = {name: clustered_rate(ClusterSums(*sums)) for name, sums in picks.lower_reward.items()}
    if not rates["all"].n:
        return NO_REWARDS
    return LowerReward(rate=rates["all"], near=rates["near"], wide=rates["wide"], equal_rewards=picks.equal_rewards)


def _stability(picks: PickCounts) -> Estimate | NoData:
    return mean_of_shares(picks.repeats) if picks.repeats.clusters else NO_REPEATS
