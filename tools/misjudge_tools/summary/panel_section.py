"""The section on a panel of judges, from its counts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
        simulated=_simulated(counts),
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
    if counts.fewer:
        reasons["panel.judges"] = NoData(why=_fewer(counts))
    if not counts.size.pairs:
        reasons["panel.rules"] = NO_PAIR
    elif counts.without_scores:
        reasons["panel.mean_score"] = NoData(why=_without_scores(counts.without_scores))
    if counts.rules and _best(counts) is None:
        reasons["panel.best_judge"] = NO_DECISION
    if isinstance(counts.cascade, NoData):
        reasons["panel.cascade"] = counts.cascade
    return reasons


def escalation_warnings(found: CascadeCounts | NoData | None, pairs: Mapping[str, int]) -> Iterator[str]:
    """That judges of a cascade's panel judged a chosen part of what its first judge did; `pairs` by label."""
    if not isinstance(found, CascadeCounts):
        return
    whole = pairs.get(found.judge, 0)
    parts = {number for label in found.panel if 0 < (number := pairs.get(label, 0)) < whole}
    for number in sorted(parts):
        labels = [label for label in found.panel if pairs.get(label) == number]
        said = f"{'Judge' if len(labels) == 1 else 'Judges'} {_named(labels)} judged only "
        if number == found.escalated:
            said += f"the {_pairs(number)} that a cascade escalated"
        else:
            said += f"{number} of the {_pairs(whole)} of a cascade, which escalated {found.escalated}"
        yield f"{said}: {'its' if len(labels) == 1 else 'their'} rates do not compare with the others'."


def _fewer(counts: PanelCounts) -> str:
    return (
        f"A panel is by default the judges of most pairs, here {_named(counts.judges)}. {_named(counts.fewer)} judged "
        "fewer: choose the judges of a panel with panel=[…] (--panel LABEL)."
    )


def _without_scores(labels: Sequence[str]) -> str:
    return f"No scores, or none on a known scale, were given by {_named(labels)}."


def _named(labels: Sequence[str]) -> str:
    if len(labels) > MOST_NAMED:
        return f"{', '.join(labels[:MOST_NAMED])} and {len(labels) - MOST_NAMED} more"
    return " and ".join(part for part in (", ".join(labels[:-1]), labels[-1]) if part)


def _pairs(number: int) -> str:
    return "1 pair" if number == 1 else f"{number} pairs"


def _simulated(counts: PanelCounts) -> tuple[str, ...]:
    of_cascade = counts.cascade.simulated if isinstance(counts.cascade, CascadeCounts) else ()
    return tuple(sorted({*counts.simulated, *of_cascade}))


def _rules(counts: PanelCounts) -> dict[str, PanelOutcome | None]:
    """Every rule by its name; none where no pair was judged by all, or there is a single judge."""
    if not counts.rules:
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
