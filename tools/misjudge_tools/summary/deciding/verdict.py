"""The verdict on a judge in plain words: what one may do with it, with the numbers that say so. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.stats.policies import LIMIT, Region
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.constant_answers import ConstantAnswer
from misjudge_tools.summary.deciding import verdict_phrases as words
from misjudge_tools.summary.deciding.headline_values import Grade, WorstCase
from misjudge_tools.summary.deciding.phrases import ANSWERS, DECIDABLE, PAIRS, PLACES, Language, Phrase, percent, share

CHANCE = 0.5
NEARLY_ALL = 0.995
"""Share of decided pairs beyond which a rule leaves nothing to decide otherwise."""
ENOUGH_DECIDED = 0.9
"""Share of the decidable pairs that a judge must decide to be called usable, as a gate asks by default."""
MANY = 0.2
"""Share of undecided pairs that is told."""
MANY_FLIPS = 0.1
"""Share of pairs whose verdict turns with the order, above which that is told."""


class Findings(NamedTuple):
    """What the verdict rests on. `near` and `wide` are pairs by the gap `gap`, None where none is known.

    `region` is where the judge is certified, None where that was not tested. `smallest_gap` is the difference between
    near and wide that this audit would have shown, where it shows none. `still_needed`: pairs that would tell whether
    the judge stays under the limit. `one_sided` is the side that is better in nearly all pairs, where no order was
    turned, None elsewhere. `failed_known`: the worse side of every decidable pair is known to have failed.
    `by_position`: answers go by the place of a side more than by chance. `picked` and `picked_calls`: those of the
    `decidable` pairs that only labels of the chosen stream make so, and the calls on them.
    """

    overall: Misselection | None
    near: Misselection | None = None
    wide: Misselection | None = None
    gap: str | None = None
    constant: ConstantAnswer | None = None
    undecided: Rate | None = None
    flips: Rate | None = None
    region: Region | None = None
    smallest_gap: float | None = None
    still_needed: int | None = None
    undecided_pairs: WorstCase | None = None
    one_sided: str | None = None
    failed_known: bool = True
    by_position: bool = False
    decidable: int = 0
    picked: int = 0
    picked_calls: int = 0
    limit: float = LIMIT


class Verdict(NamedTuple):
    """What one may do with the judge, and what would change it."""

    grade: Grade
    sentences: tuple[str, ...]
    would_change: tuple[str, ...]


def verdict(found: Findings, language: Language) -> Verdict:
    """What one may do with the judge."""
    if found.overall is None or found.overall.rate is None:
        flips = () if found.flips is None or found.flips.rate is None else (_flips(found.flips, language),)
        return Verdict("no_gold", (words.NO_GOLD.say(language), *flips), (words.LABEL.say(language),))
    grade = grade_of(found)
    return Verdict(grade, tuple(_sentences(found, grade, language)), tuple(_changes(found, grade, language)))


def standing(wrong: Rate | None, limit: float) -> Grade:
    """Whether a rate is within the limit, over it, or neither for certain."""
    if wrong is None or wrong.low is None or wrong.high is None:
        return "undecided"
    return "usable" if wrong.high <= limit else "do_not_use" if wrong.low > limit else "undecided"


def stands(found: Findings, wrong: Rate | None) -> Grade:
    """As `standing`, whatever the picked pairs among those of the rate do to it: the rate of the others is no further
    from it than their share.
    """
    if wrong is None or wrong.low is None or wrong.high is None or not found.picked:
        return standing(wrong, found.limit)
    picked = min(1.0, found.picked_calls / wrong.n)
    moved = {"low": max(0.0, wrong.low - picked), "high": min(1.0, wrong.high + picked)}
    return standing(wrong.model_copy(update=moved), found.limit)


def by_picked(found: Findings) -> bool:
    """Whether nothing but the picked pairs keeps the judge from standing within or over the limit."""
    return stands(found, found.overall) == "undecided" != standing(found.overall, found.limit)


def grade_of(found: Findings) -> Grade:
    """What one may do with the judge in a word. Needs a rate: see `verdict` for what has none."""
    if found.constant is not None:
        return "do_not_use"
    grade = stands(found, found.overall)
    if stands(found, found.near) == "do_not_use":
        others = grade if found.wide is None else stands(found, found.wide)
        return "do_not_use" if others == "do_not_use" else "not_near"
    if grade != "do_not_use" and _decides_too_little(found):
        return "abstains"
    return "one_sided" if grade == "usable" and found.one_sided is not None else grade


def _decides_too_little(found: Findings) -> bool:
    """Whatever the judge does with the pairs that nobody picked."""
    decided = found.overall.decided.coverage if found.overall is not None else None
    return (decided or 0) + (found.picked / found.decidable if found.picked else 0) < ENOUGH_DECIDED


def _sentences(found: Findings, grade: Grade, language: Language) -> Iterator[str]:
    yield from _first(found, grade, language)
    if found.picked:
        yield words.PICKED.say(language, k=found.picked, n=found.decidable)
    if found.undecided is not None and (found.undecided.rate or 0) >= MANY:
        yield words.HELD_BACK.say(language, undecided=share(found.undecided, DECIDABLE, language))
    if found.undecided_pairs is not None and found.undecided_pairs.undecided:
        worst = found.undecided_pairs
        least, most = percent(worst.at_best, 1), percent(worst.at_worst, 1)
        yield words.WORST_CASE.say(language, k=worst.undecided, n=worst.n, least=least, most=most)
    if found.smallest_gap is not None:
        yield words.NOT_WORSE.say(language, smallest=_points(found.smallest_gap, language))
    yield from _region(found, grade, language)


def _region(found: Findings, grade: Grade, language: Language) -> Iterator[str]:
    region = found.region
    if region is not None and region.policy is not None and region.bound is not None:
        coverage = percent(region.coverage or 0)
        yield words.REGION.say(language, policy=region.policy, bound=percent(region.bound, 1), coverage=coverage)
    elif region is not None and grade != "usable":
        yield words.NO_REGION.say(language, limit=percent(found.limit))


def _first(found: Findings, grade: Grade, language: Language) -> Iterator[str]:
    assert found.overall is not None
    limit, wrong = percent(found.limit), share(found.overall, ANSWERS, language)
    worse = words.WORSE[found.failed_known].say(language)
    if found.constant is not None:
        place = PLACES[found.constant.place].say(language)
        yield words.CONSTANT.say(language, place=place, k=found.constant.k, n=found.constant.n)
    elif found.near is not None and grade == "not_near":
        near = words.NEAR[found.gap or "ability"].say(language)
        yield words.NOT_NEAR.say(language, worse=worse, between=near, wrong=share(found.near, ANSWERS, language))
        yield from _other(found, words.WIDE, found.wide, language)
    elif found.near is not None and found.wide is not None and stands(found, found.near) == "do_not_use":
        yield words.NEITHER.say(
            language,
            worse=worse,
            near=share(found.near, ANSWERS, language),
            wide=share(found.wide, ANSWERS, language),
            near_pairs=words.NEAR[found.gap or "ability"].say(language),
            wide_pairs=words.WIDE[found.gap or "ability"].say(language),
        )
    else:
        sentence = _BY_GRADE.get(grade, words.UNDECIDED_BY_PICKED if by_picked(found) else words.UNDECIDED)
        decided = percent(found.overall.decided.coverage or 0)
        named = {"decided": decided, "n": found.overall.decided.n, "side": found.one_sided}
        yield sentence.say(language, worse=worse, wrong=wrong, limit=limit, **named)
        if grade == "usable":
            yield from (() if _is_usable(found.near, found) else _other(found, words.NEAR, found.near, language))
            yield from (() if _is_usable(found.wide, found) else _other(found, words.WIDE, found.wide, language))
    if (
        found.overall.low is not None
        and found.overall.low <= CHANCE <= (found.overall.high or 1)
        and grade in {"do_not_use", "not_near"}
    ):
        yield words.COIN.say(language)


_BY_GRADE: Mapping[Grade, Phrase] = {
    "usable": words.USABLE,
    "do_not_use": words.NOT_AT_ALL,
    "abstains": words.ABSTAINS,
    "one_sided": words.ONE_SIDED,
}


def _is_usable(wrong: Misselection | None, found: Findings) -> bool:
    return stands(found, wrong) == "usable"


def _other(
    found: Findings, names: Mapping[str, Phrase], wrong: Misselection | None, language: Language
) -> Iterator[str]:
    """What is to be said of the near or wide pairs, too."""
    if wrong is None or wrong.rate is None:
        return
    stated = stands(found, wrong)
    by_picks = stated == "undecided" != standing(wrong, found.limit)
    open_ = words.OTHERS_PICKED if by_picks else words.OTHERS_OPEN
    said = {"usable": words.OTHERS_GOOD, "do_not_use": words.OTHERS_BAD}.get(stated, open_)
    between = names[found.gap or "ability"].say(language)
    yield said.say(language, between=between, wrong=share(wrong, ANSWERS, language), limit=percent(found.limit))


def _changes(found: Findings, grade: Grade, language: Language) -> Iterator[str]:
    region = found.region
    if grade != "usable" and region is not None and region.policy and (region.coverage or 0) < NEARLY_ALL:
        yield words.RULE.say(language, policy=region.policy)
    if grade == "abstains":
        yield words.OPEN_PAIRS.say(language)
    if grade == "one_sided":
        yield words.TURN.say(language)
    if found.picked:
        yield words.DRAWN.say(language)
    elif grade == "undecided" and found.still_needed:
        yield words.MORE.say(language, n=found.still_needed, limit=percent(found.limit))
    if found.constant is None and found.flips is not None and (found.flips.low or 0) > MANY_FLIPS:
        flips = share(found.flips, PAIRS, language)
        yield (words.BY_POSITION if found.by_position else words.BY_POSITION_OR_NOISE).say(language, flips=flips)
    if grade in {"do_not_use", "not_near"}:
        yield words.ANOTHER.say(language)


def _flips(flips: Rate, language: Language) -> str:
    return words.FLIPS.say(language, flips=share(flips, PAIRS, language))


def _points(value: float, language: Language) -> str:
    return f"{100 * value:.0f} {'个百分点' if language == 'zh' else 'points'}"
