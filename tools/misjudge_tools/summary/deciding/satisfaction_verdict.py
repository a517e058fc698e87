"""The verdict on a judge that scores single sessions and judged no pair: may its satisfaction be taken for success?"""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.stats.gates import still_needed
from misjudge_tools.stats.rates import NoData, Rate
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.deciding import verdict_phrases as words
from misjudge_tools.summary.deciding.headline_values import Grade, HeadlineSection
from misjudge_tools.summary.deciding.phrases import SATISFIED, SESSIONS, Language, percent, share
from misjudge_tools.summary.deciding.verdict import standing
from misjudge_tools.summary.judged import Judged
from misjudge_tools.summary.values import SatisfactionSection

NO_THRESHOLD = NoData(
    why="From which score on this judge is satisfied is not known. Import its scores with --scale LOW-HIGH:THRESHOLD."
)
PICKED_ONLY = NoData(
    why="Success is known of the sides that a judge picked, as a replay tells it, and not of all: whether satisfaction "
    "may be taken for success does not follow from these."
)
NEVER_SATISFIED = NoData(why="This judge was satisfied with no session of known success, so nothing can be said of it.")


def satisfaction_headline(of: Judged) -> HeadlineSection | NoData:
    """How many of the sessions that satisfied the judge had failed, against the ceiling of `stats.satisfaction`."""
    if of.satisfied_by is None or of.subset is not None:
        return make.NO_PAIRS
    found = make.satisfaction_section(of.satisfied_by, of.counts.scores, of.counts.satisfaction)
    if isinstance(found, NoData):
        return found
    if of.counts.picked_only:
        return PICKED_ONLY
    failed = found.intervals.get("p_fail_given_satisfied")
    if failed is None or failed.rate is None or found.ceiling is None:
        return NO_THRESHOLD if found.threshold is None else NEVER_SATISFIED
    grade, language = standing(failed, found.ceiling), of.counts.question.language
    return HeadlineSection(
        grade=grade,
        verdict=tuple(_sentences(found, failed, grade, language)),
        would_change=tuple(_changes(failed, found.ceiling, grade, language)),
        limit=found.ceiling,
        misselection=None,
        satisfied_failed=failed,
        ends={},
        unscored=dict(of.counts.unscored.get(of.satisfied_by.judge_id, {})),
    )


def _sentences(found: SatisfactionSection, failed: Rate, grade: Grade, language: Language) -> Iterator[str]:
    said = {"usable": words.SATISFIED_USABLE, "do_not_use": words.SATISFIED_FAILED}.get(grade, words.SATISFIED_OPEN)
    yield said.say(language, failed=share(failed, SATISFIED, language), limit=percent(found.ceiling or 0))
    base = share(found.intervals["base_fail"], SESSIONS, language)
    if found.relative_risk is None or found.auc is None:
        yield words.BASE.say(language, base=base)
    else:
        yield words.BASE_RISK.say(language, base=base, risk=f"{found.relative_risk:.2f}", auc=f"{found.auc:.2f}")


def _changes(failed: Rate, ceiling: float, grade: Grade, language: Language) -> Iterator[str]:
    needed = still_needed(failed, failed.n, ceiling) if grade == "undecided" else None
    if needed:
        yield words.MORE_SESSIONS.say(language, n=needed, limit=percent(ceiling))
    if grade != "usable":
        yield words.CHECK_SUCCESS.say(language)
