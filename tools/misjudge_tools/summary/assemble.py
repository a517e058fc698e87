"""Which sections are said of a judge, and which of an audit: one table, of which only what is asked for is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

from misjudge_storage.types import Form, Value
from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.buckets import buckets_section
from misjudge_tools.summary.deciding.agreement import agreement_section
from misjudge_tools.summary.deciding.bias import bias_section
from misjudge_tools.summary.deciding.checklist import checklist_section
from misjudge_tools.summary.deciding.conflicts import conflicts_section
from misjudge_tools.summary.deciding.corrected import corrected_section
from misjudge_tools.summary.deciding.cost import cost_section
from misjudge_tools.summary.deciding.drift import drift_section
from misjudge_tools.summary.deciding.gaps import gaps_section
from misjudge_tools.summary.deciding.headline import headline_section
from misjudge_tools.summary.deciding.kappa import kappa_section
from misjudge_tools.summary.deciding.policies import policies_section
from misjudge_tools.summary.deciding.power import power_section
from misjudge_tools.summary.deciding.ranking import ranking_section
from misjudge_tools.summary.deciding.recommendations import recommendations_section
from misjudge_tools.summary.deciding.slices import slices_section
from misjudge_tools.summary.deciding.three_way import three_way_section
from misjudge_tools.summary.judged import SATISFACTION_FORMS, Judged
from misjudge_tools.summary.panel_section import panel_reasons, panel_section
from misjudge_tools.summary.probes import probes_of
from misjudge_tools.summary.rubric_values import RubricsSection
from misjudge_tools.summary.rubrics import rubrics_of
from misjudge_tools.summary.stopping_facts import misselection_of
from misjudge_tools.summary.values import (
    AgentOutcome,
    ConsistencySection,
    PairCounts,
    PanelSection,
    ProbesSection,
    SatisfactionSection,
    Sections,
    TokenSection,
)

SEVERAL = NoData(why="There are several judges or subsets: see each under judges, or choose one with judge=LABEL.")
NO_JUDGE = NoData(why="No judge is stored. Judge the audit, or import verdicts.")
ONE_ORDER = NoData(
    why="No pair has both orders scored, so flips cannot be seen. Judge with orders=both (--orders both) to see them."
)
ONCE = NoData(why="Given once, at the top of a summary of all judges.")
AGENTS_ONCE = NoData(
    why="The agents stand once, at the top. Their satisfaction by this judge: choose it with judge=LABEL."
)
NO_PANEL = NoData(why="A panel is two judges of pairs or more: judge the pairs with another one, too.")
PANEL_ONCE = NoData(why="The panel stands at the top of a summary of all judges.")
RUBRICS_ONCE = NoData(why="Rubrics stand at the top of a summary of all judges.")
SEVERAL_AGENTS = NoData(why="There are several agents: see pass_hat_k_by_agent.")
WHOLE_ONLY = NoData(why="Given for the judge as a whole, not by subset.")


NOT_JUDGED: Mapping[Form, NoData] = {
    "satisfaction": NoData(
        why="No satisfaction was judged. Judge with form=satisfaction, gate or proxy, or import scores of trajectories."
    ),
    "gate": NoData(why="No gate was judged (form=gate)."),
    "proxy": NoData(why="No proxy was judged (form=proxy)."),
    "rubric": NoData(why="No response was judged by rules alone (misjudge rubrics apply)."),
}


class _Reasons:
    """Collects why a section is None."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def why(self, name: str, found: Any) -> Any:
        """What was found, None where it is `NoData`."""
        if isinstance(found, NoData):
            self.reasons[name] = found.why
            return None
        return found


Made = Value | tuple[Value, ...] | Mapping[str, Any] | NoData | None


class _Section(NamedTuple):
    """How a section is made, and of what it is said: of one judge, of one judge on a subset (`by_subset`), or of an
    audit as a whole (`of_all`); of one of several judges beside others not where it is `once` only.
    """

    make: Callable[[Judged], Made]
    by_subset: bool = False
    of_all: bool = False
    once: NoData | None = None


def _pairs(of: Judged) -> PairCounts | NoData:
    if of.entry is not None:
        return make.NO_PAIRS if of.group is None else make.pair_counts(of.group)
    pairs = of.counts.pairs
    if not pairs.pairs:
        return NoData(why="No pair is stored. Import pairs, or run them.")
    return PairCounts(
        n=pairs.pairs, decidable=pairs.decidable, gold_tie=pairs.gold_tie, gold_unknown=pairs.gold_unknown
    )


def _misselection(of: Judged) -> Misselection | NoData:
    return make.NO_PAIRS if of.group is None else misselection_of(of, of.group)


def _consistency(of: Judged) -> ConsistencySection | NoData:
    return make.NO_PAIRS if of.group is None else make.consistency_section(of.group)


def _scored(form: Form, of: Judged) -> SatisfactionSection | NoData:
    if form not in of.mine:
        return NOT_JUDGED[form]
    return make.satisfaction_section(of.mine[form], of.counts.scores, of.counts.satisfaction)


def _agents(of: Judged) -> tuple[AgentOutcome, ...] | NoData:
    return make.agents_section(of.counts.agents, of.satisfied_by, of.counts.agent_satisfaction)


def _unscored(of: Judged) -> dict[str, int]:
    total: dict[str, int] = {}
    for judge_id in of.ids:
        for reason, number in of.counts.unscored.get(judge_id, {}).items():
            total[reason] = total.get(reason, 0) + number
    return dict(sorted(total.items()))


def _panel(of: Judged) -> PanelSection | NoData:
    """What the judges come to as a panel; what is missing of it has reasons of its own."""
    panel = of.counts.panel
    if of.entry is not None:
        return NO_PANEL if panel is None else PANEL_ONCE
    if panel is None:
        return NO_PANEL if of.counts.judges else NO_JUDGE
    return panel_section(panel, of.counts.pairs.pairs)


def _probes(of: Judged) -> ProbesSection | NoData:
    return make.NO_PAIRS if of.paired is None else probes_of(of.counts.probes.get(of.paired.judge_id))


def _rubrics(of: Judged) -> RubricsSection | NoData:
    """The rubrics of an audit, where a summary of its one judge is that of the audit."""
    if (of.alone and not of.beside) or of.counts.rubrics is None:
        return rubrics_of(of.counts.rubrics)
    return RUBRICS_ONCE


def _tokens(of: Judged) -> TokenSection | NoData:
    return make.token_section(of.uses, of.counts.stated_tokens if of.alone else None)


_TABLE: Mapping[str, _Section] = {
    "headline": _Section(headline_section, by_subset=True),
    "provenance": _Section(lambda of: make.provenance_section(of.counts.provenance, of.ids), of_all=True),
    "pairs": _Section(_pairs, by_subset=True, of_all=True),
    "misselection": _Section(_misselection, by_subset=True),
    "gaps": _Section(gaps_section),
    "policies": _Section(policies_section),
    "power": _Section(power_section),
    "slices": _Section(slices_section),
    "consistency": _Section(_consistency, by_subset=True),
    "bias": _Section(bias_section),
    "conflicts": _Section(conflicts_section),
    **{form: _Section(partial(_scored, form)) for form in SATISFACTION_FORMS},
    "three_way": _Section(three_way_section, of_all=True),
    "agents": _Section(_agents, of_all=True, once=AGENTS_ONCE),
    "ranking": _Section(ranking_section),
    "kappa": _Section(kappa_section, of_all=True),
    "agreement": _Section(agreement_section, of_all=True),
    "corrected": _Section(corrected_section, of_all=True),
    "drift": _Section(drift_section),
    "unscored": _Section(_unscored, of_all=True),
    "buckets": _Section(buckets_section, by_subset=True),
    "panel": _Section(_panel, by_subset=True, of_all=True),
    "probes": _Section(_probes),
    "rubrics": _Section(_rubrics, of_all=True),
    "tokens": _Section(_tokens, of_all=True),
    "cost": _Section(cost_section, of_all=True),
    "checklist": _Section(checklist_section, of_all=True, once=ONCE),
    "recommendations": _Section(recommendations_section),
}  # fmt: skip
"""Name → section, but for pass_hat_k, which has several fields; in the order of the fields of `Sections`."""


def sections_of(of: Judged, wanted: Collection[str] = ()) -> Sections:
    """What is said of one judge (on one subset only what is counted by pairs), or of an audit with several or none.

    `wanted` are the sections to make; none: all.
    """
    say = _Reasons()
    asked = {name: one for name, one in _TABLE.items() if not wanted or name in wanted}
    made = {name: say.why(name, _made(one, of)) for name, one in asked.items()}
    passed = _pass_hat(of, say) if not wanted or "pass_hat_k" in wanted else {}
    _say_more(of, made, say)
    found = Sections(simulated=_simulated(of), **made, **passed)
    return found.model_copy(update={"why": say.reasons})


def _made(section: _Section, of: Judged) -> Made:
    if of.entry is None and not section.of_all:
        return SEVERAL if of.counts.judges else NO_JUDGE
    if of.subset is not None and not section.by_subset:
        return WHOLE_ONLY
    return section.once if of.beside and section.once is not None else of.once(section.make)


def _say_more(of: Judged, made: Mapping[str, Any], say: _Reasons) -> None:
    """Why parts of sections are None."""
    if made.get("consistency") is not None and of.group is not None and not of.group.measures["flips"].n:
        say.why("consistency.flip_rate", ONE_ORDER)
    if made.get("panel") is not None and of.counts.panel is not None:
        for name, reason in panel_reasons(of.counts.panel).items():
            say.why(name, reason)


def _simulated(of: Judged) -> bool:
    if of.entry is not None:
        return of.counts.simulated_episodes or any(judge.simulated for judge in of.mine.values())
    rubrics = rubrics_of(of.counts.rubrics)
    made_up = isinstance(rubrics, RubricsSection) and bool(rubrics.simulated)
    return of.counts.simulated_episodes or made_up or any(judge.simulated for judge in of.counts.judges)


def _pass_hat(of: Judged, say: _Reasons) -> dict[str, Any]:
    """The fields of `Sections` on pass^k."""
    if of.subset is not None:
        say.why("pass_hat_k", WHOLE_ONLY)
        return {}
    by_agent = make.pass_hat_by_agent(of.counts.trials)
    if not by_agent:
        say.why("pass_hat_k", NoData(why="No agent has numbered trials with a known outcome."))
        return {}
    plain = {agent: {k: passed.rate for k, passed in found.items()} for agent, found in by_agent.items()}
    if len(by_agent) > 1:
        say.why("pass_hat_k", SEVERAL_AGENTS)
        return {"pass_hat_k_by_agent": plain}
    (agent,) = by_agent
    return {"pass_hat_k": plain[agent], "pass_hat_k_intervals": by_agent[agent]}
