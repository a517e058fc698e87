"""The section `recommendations`: rules, with the numbers that triggered them."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.deciding import advice_phrases as words
from misjudge_tools.summary.deciding.headline import findings
from misjudge_tools.summary.deciding.phrases import (
    ANSWERS,
    PAIRS,
    PLACES,
    REPLIES,
    SATISFIED,
    SESSIONS,
    Language,
    listed,
    percent,
    share,
)
from misjudge_tools.summary.deciding.recommendations_values import Action, Recommendation, RecommendationsSection
from misjudge_tools.summary.deciding.verdict import MANY_FLIPS, Findings, by_picked, grade_of, stands
from misjudge_tools.summary.deciding.verdict_phrases import PICKED, WORSE
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.kinship import shared_with_users
from misjudge_tools.summary.probes import probes_of

MANY_UNREAD = 0.05
NOTHING_TO_GO_BY = NoData(why="Nothing of this judge is known from which a recommendation would follow.")


def recommendations_section(of: Judged) -> RecommendationsSection | NoData:
    """What to do about this judge, the most important first."""
    rows = (*_of_pairs(of), *_of_satisfaction(of), *_of_roles(of), *_of_probes(of))
    order = list(words.ADVICE)
    ranked = sorted(rows, key=lambda row: order.index(row.action))
    return RecommendationsSection(rows=tuple(ranked)) if ranked else NOTHING_TO_GO_BY


def _row(action: Action, because: str, language: Language) -> Recommendation:
    return Recommendation(action=action, advice=words.ADVICE[action].say(language), because=because)


def _of_pairs(of: Judged) -> Iterator[Recommendation]:
    if of.group is None:
        return
    found, language = findings(of, of.group), of.counts.question.language
    yield from _of_errors(found, language)
    if found.flips is not None and (found.flips.low or 0) > MANY_FLIPS:
        yield _row("add_rounds", words.TURNS.say(language, flips=share(found.flips, PAIRS, language)), language)
    unread = clustered_rate(ClusterSums(*of.group.measures["unread"]))
    if (unread.rate or 0) > MANY_UNREAD:
        yield _row("fix_replies", words.UNREAD.say(language, unread=share(unread, REPLIES, language)), language)


def _of_errors(found: Findings, language: Language) -> Iterator[Recommendation]:
    if found.overall is None or found.overall.rate is None:
        yield _row("label_pairs", words.NO_GOLD.say(language), language)
        return
    wrong, limit = share(found.overall, ANSWERS, language), percent(found.limit)
    grade = grade_of(found)
    if found.constant is not None:
        place = PLACES[found.constant.place].say(language)
        because = words.CONSTANT.say(language, place=place, k=found.constant.k, n=found.constant.n)
        yield _row("change_judge", because, language)
    elif grade == "do_not_use":
        worse = WORSE[found.failed_known].say(language)
        yield _row("change_judge", words.WRONG.say(language, worse=worse, wrong=wrong), language)
    if found.near is not None and found.wide is not None and stands(found, found.near) == "do_not_use":
        near, wide = share(found.near, ANSWERS, language), share(found.wide, ANSWERS, language)
        yield _row("lower_weight", words.NEAR_WIDE.say(language, near=near, wide=wide), language)
    if grade == "abstains":
        decided = found.overall.decided
        because = words.DECIDED.say(language, decided=percent(decided.coverage or 0), n=decided.n)
        yield _row("decide_the_rest", because, language)
    if grade == "one_sided":
        yield _row("more_pairs", words.ONE_SIDED.say(language, side=found.one_sided), language)
    if grade == "undecided" and by_picked(found):
        yield _row("label_pairs", PICKED.say(language, k=found.picked, n=found.decidable), language)
    elif grade == "undecided":
        yield _row("more_pairs", words.OPEN.say(language, wrong=wrong, limit=limit), language)
    if grade == "usable":
        yield _row("keep", words.WITHIN.say(language, wrong=wrong, limit=limit), language)


def _of_satisfaction(of: Judged) -> Iterator[Recommendation]:
    judge, language = of.satisfied_by, of.counts.question.language
    if judge is None or of.counts.picked_only:
        return
    found = make.satisfaction_section(judge, of.counts.scores, of.counts.satisfaction)
    if isinstance(found, NoData) or found.ceiling is None:
        return
    failed = found.intervals["p_fail_given_satisfied"]
    if (failed.low or 0) > found.ceiling:
        base = share(found.intervals["base_fail"], SESSIONS, language)
        because = words.SATISFIED.say(language, failed=share(failed, SATISFIED, language), base=base)
        yield _row("tighten_rewards", because, language)


def _of_roles(of: Judged) -> Iterator[Recommendation]:
    judges = of.counts.asked.judges
    if of.entry is not None:
        judges = tuple(judge for judge in judges if judge.label == of.entry.judge)
    for sentence in shared_with_users(of.counts.asked._replace(judges=judges), of.counts.families):
        yield _row("split_roles", sentence, of.counts.question.language)


def _of_probes(of: Judged) -> Iterator[Recommendation]:
    if of.paired is None:
        return
    language = of.counts.question.language
    found = probes_of(of.counts.probes.get(of.paired.judge_id))
    fooled = [] if isinstance(found, NoData) else [row for row in found.rows if row.fooled]
    if fooled:
        named = listed(list(dict.fromkeys(row.probe for row in fooled)), language)
        yield _row("guard_against", words.FOOLED.say(language, probes=named), language)
