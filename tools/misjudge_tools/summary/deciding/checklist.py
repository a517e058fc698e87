"""The section `checklist`: what stands between an audit and a release."""

from __future__ import annotations

from misjudge_storage.checklist_counts import ReleaseFacts
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.summary.deciding import checklist_phrases as words
from misjudge_tools.summary.deciding.checklist_values import ChecklistItem, ChecklistSection, Point, State
from misjudge_tools.summary.deciding.phrases import PAIRS, Language, share
from misjudge_tools.summary.deciding.recommendations import recommendations_section
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.kinship import shared_with_users

FEW = 20
"""Decidable pairs of a bucket, or labels, below which a point holds in part only."""
MOSTLY = 0.9
"""Share of the judged pairs that must have been asked in both orders."""
NOTHING = NoData(why="No verdict is stored, so there is nothing to release. Judge the audit, or import verdicts.")


def checklist_section(of: Judged) -> ChecklistSection | NoData:
    """The eight points of the release checklist, each with its numbers."""
    facts = of.counts.release
    if not facts.verdicts:
        return NOTHING
    language = of.counts.question.language
    items = (
        _counted("fixed_tasks", facts.with_criteria, facts.tasks, language, **facts._asdict()),
        _roles_apart(of, facts, language),
        _counted("full_logs", facts.with_log, facts.verdicts, language, **facts._asdict()),
        _both_orders(of, language),
        _by_bucket(of, language),
        _spot_checks(facts, language),
        _counted("versions", facts.with_version, facts.judges, language, **facts._asdict()),
        _monitoring(facts, language),
    )
    first = None if of.entry is None else of.once(recommendations_section)
    return ChecklistSection(
        items=items,
        done=sum(item.state in {"yes", "not_needed"} for item in items),
        recommendation=None if first is None or isinstance(first, NoData) else first.rows[0].advice,
    )


def _item(point: Point, state: State, said: str, language: Language) -> ChecklistItem:
    to_do = None if state in {"yes", "not_needed"} else words.TO_DO[point].say(language, few=FEW)
    return ChecklistItem(point=point, state=state, said=said, to_do=to_do)


def _counted(point: Point, held: int, of: int, language: Language, **named: object) -> ChecklistItem:
    """A point that holds of all, of some, or of none."""
    state: State = "no" if not held else "yes" if held == of else "partly"
    return _item(point, state, words.SAID[point].say(language, **named), language)


def _roles_apart(of: Judged, facts: ReleaseFacts, language: Language) -> ChecklistItem:
    if not facts.users:
        return _item("roles_apart", "not_needed", words.NO_USER.say(language), language)
    shared = len(list(shared_with_users(of.counts.asked, of.counts.families)))
    said = words.SAID["roles_apart"].say(
        language,
        judges=words.JUDGES.say(language, n=facts.judges),
        users=words.USERS.say(language, n=facts.users),
        shared=shared,
    )
    return _item("roles_apart", "no" if shared else "yes", said, language)


def _both_orders(of: Judged, language: Language) -> ChecklistItem:
    mine = [counts for group, counts in of.counts.groups.items() if group.judge_id in of.ids]
    both, pairs = sum(one.measures["flips"].n for one in mine), sum(one.pairs for one in mine)
    if not pairs:
        return _item("both_orders", "not_needed", words.NO_PAIRS.say(language), language)
    state: State = "no" if not both else "yes" if both >= MOSTLY * pairs else "partly"
    said = words.SAID["both_orders"].say(language, both=both, pairs=pairs, flips=_flips(of, both, language))
    return _item("both_orders", state, said, language)


def _flips(of: Judged, both: int, language: Language) -> str:
    if not both:
        return words.NO_FLIPS.say(language)
    if of.group is None:
        return words.EACH_JUDGE.say(language)
    flips = clustered_rate(ClusterSums(*of.group.measures["flips"]))
    return words.FLIPS.say(language, flips=share(flips, PAIRS, language))


def _by_bucket(of: Judged, language: Language) -> ChecklistItem:
    if not any(group.judge_id in of.ids for group in of.counts.groups):
        return _item("by_bucket", "not_needed", words.NO_PAIRS.say(language), language)
    counts = _decidable_by_gap(of)
    enough = [number >= FEW for number in counts.values()]
    state: State = "yes" if all(enough) else "partly" if any(counts.values()) else "no"
    return _item("by_bucket", state, words.SAID["by_bucket"].say(language, **counts), language)


def _decidable_by_gap(of: Judged) -> dict[str, int]:
    """Decidable near pairs and others by the first gap that has any, of the judge that judged most of them; of judges
    with as many, the one with the most on both sides.
    """
    for gap in ("ability", "reward"):
        found = {"near": 0, "wide": 0}
        for judge_id in of.ids:
            mine: dict[str, int] = {"near": 0, "wide": 0}
            for group, counts in of.counts.buckets.items():
                if (group.judge_id, group.gap) == (judge_id, gap):
                    mine["near" if group.bucket == "near" else "wide"] += counts.decidable
            found = max(found, mine, key=lambda one: (sum(one.values()), min(one.values()), one["near"]))
        if any(found.values()):
            return found
    return {"near": 0, "wide": 0}


def _spot_checks(facts: ReleaseFacts, language: Language) -> ChecklistItem:
    state: State = (
        "no" if not facts.pairs_by_people + facts.episodes_by_people else "yes" if facts.twice >= FEW else "partly"
    )
    return _item("spot_checks", state, words.SAID["spot_checks"].say(language, **facts._asdict()), language)


def _monitoring(facts: ReleaseFacts, language: Language) -> ChecklistItem:
    state: State = "yes" if facts.three >= FEW else "partly" if facts.three else "no"
    return _item("monitoring", state, words.SAID["monitoring"].say(language, **facts._asdict()), language)
