"""The section on a panel of judges, from its counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from misjudge_storage.summary_values import Outcomes, PanelSize
from misjudge_tools.stats.misselection import decided_rate
from misjudge_tools.stats.panels import RULES, PanelOutcome, panel_outcome
from misjudge_tools.stats.rates import ClusterSums, NoData
from misjudge_tools.summary.panel_counts import CascadeCounts, PanelCounts
from misjudge_tools.summary.values import CascadeOutcome, JudgeAlone, PanelSection

MOST_NAMED = 5
NO_PAIR = NoData(
    why="No pair was judged by all of these judges. Choose others with panel=[…] (--panel LABEL), or judge more pairs."
)
NO_DECISION = NoData(why="None of these judges decided a decidable pair.")


def panel_section(counts: PanelCounts, pairs: int) -> PanelSection:
    """What the judges' verdicts come to, beside what one of them is worth on the same of all `pairs`."""
    return PanelSection(
        judges=counts.judges,
        n=counts.size.pairs,
        decidable=counts.size.decidable,
        not_judged_by_all=pairs - counts.size.pairs,
        rules=_rules(counts),
        best_judge=_best(counts),
        mean_judge=None
        if counts.pooled is None
        else decided_rate(ClusterSums(*counts.pooled.wrong), len(counts.judges) * counts.size.decidable),
        cascade=_cascade(counts.cascade) if isinstance(counts.cascade, CascadeCounts) else None,
    )


def panel_reasons(counts: PanelCounts) -> dict[str, NoData]:
    """Why parts of the section are missing, by their names in a summary's `why`."""
    reasons: dict[str, NoData] = {}
    if not counts.size.pairs:
        reasons["panel.rules"] = NO_PAIR
    elif counts.without_scores:
        reasons["panel.mean_score"] = NoData(why=_without_scores(counts.without_scores))
    if counts.size.pairs and _best(counts) is None:
        reasons["panel.best_judge"] = NO_DECISION
    if isinstance(counts.cascade, NoData):
        reasons["panel.cascade"] = counts.cascade
    return reasons


def _without_scores(labels: Sequence[str]) -> str:
    more = len(labels) - MOST_NAMED
    named = ", ".join(labels[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"No scores, or none on a known scale, were given by {named}."


def _rules(counts: PanelCounts) -> dict[str, PanelOutcome | None]:
    """Every rule by its name; none where no pair was judged by all."""
    if not counts.size.pairs:
        return {}
    return {
        name: None
        if name == "mean_score" and counts.without_scores
        else panel_outcome(counts.rules[name], counts.size.decidable)
        for name in RULES
    }


def _best(counts: PanelCounts) -> JudgeAlone | None:
    """The judge that is wrong least often; of equal ones the one that decides most."""
    able = {label: one for label, one in counts.alone.items() if one.wrong.n}
    if not able:
        return None
    best = min(able, key=lambda label: (Fraction(able[label].wrong.k, able[label].wrong.n), -able[label].wrong.n))
    return _alone(best, able[best], counts.size)


def _alone(label: str, counts: Outcomes, size: PanelSize) -> JudgeAlone:
    return JudgeAlone(judge=label, **panel_outcome(counts, size.decidable).model_dump())


def _cascade(counts: CascadeCounts) -> CascadeOutcome:
    decidable = counts.size.decidable
    return CascadeOutcome(
        panel=counts.panel,
        n=counts.size.pairs,
        decidable=decidable,
        escalated=counts.escalated,
        **panel_outcome(counts.outcome, decidable).model_dump(),
        first=_alone(counts.judge, counts.alone, counts.size),
    )
