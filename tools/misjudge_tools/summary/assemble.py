"""Which sections are said of a judge, and which of an audit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from misjudge_storage.summary_values import Group, GroupCounts, JudgeFacts
from misjudge_storage.types import Form
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.counts import AuditCounts, added
from misjudge_tools.summary.panel_section import panel_reasons, panel_section
from misjudge_tools.summary.probes import probes_of
from misjudge_tools.summary.rubric_values import RubricsSection
from misjudge_tools.summary.rubrics import rubrics_of
from misjudge_tools.summary.values import (
    AgentOutcome,
    Bucket,
    PairCounts,
    PanelSection,
    ProbesSection,
    SatisfactionSection,
    Sections,
)

T = TypeVar("T")
SEVERAL = NoData(why="There are several judges or subsets: see each under judges, or choose one with judge=LABEL.")
NO_JUDGE = NoData(why="No judge is stored. Judge the audit, or import verdicts.")
NO_PAIRS = NoData(why="This judge judged no pair. Judge pairs (form=pairwise), or import verdicts.")
ONE_ORDER = NoData(
    why="No pair has both orders scored, so flips cannot be seen. Judge with orders=both (--orders both) to see them."
)
ONCE = NoData(why="The agents stand once, at the top. Their satisfaction by this judge: choose it with judge=LABEL.")
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
SATISFACTION_FORMS: tuple[Form, ...] = ("satisfaction", "gate", "proxy", "rubric")
"""The forms that score one trajectory. The first one that is there says whether an agent's episodes satisfied."""
RANKING_FORMS: tuple[Form, ...] = ("gate", "satisfaction")
"""The first one that is there ranks the agents by its mean score."""


class Entry(NamedTuple):
    """A judge on all tasks, or (`subset`) on those of one subset."""

    label: str
    judge: str
    subset: str | None


def entries(counts: AuditCounts) -> list[Entry]:
    """Every judge by its label; where tasks come in several subsets, then each judge on each subset."""
    labels = list(dict.fromkeys(judge.label for judge in counts.judges))
    subsets = sorted({group.subset for group in counts.groups if group.subset is not None})
    whole = [Entry(label, label, None) for label in labels]
    if len(subsets) < 2:
        return whole
    return whole + [Entry(f"{label}/{subset}", label, subset) for label in labels for subset in subsets]


def judge_sections(counts: AuditCounts, entry: Entry, *, beside: bool = False) -> Sections:
    """What is said of one judge, or of one judge on one subset (then only what is counted by pairs).

    `beside`: it is one of several that stand side by side, and what belongs to the audit stands above them.
    """
    mine: dict[Form, JudgeFacts] = {judge.form: judge for judge in counts.judges if judge.label == entry.judge}
    paired = mine.get("pairwise")
    satisfied_by = next((mine[form] for form in SATISFACTION_FORMS if form in mine), None)
    ids = {judge.judge_id for judge in mine.values()}
    alone = ids.issuperset(judge.judge_id for judge in counts.judged)
    uses = [use for use in counts.uses if use.judge_id in ids or (alone and use.judge_id is None)]
    group = _pooled(counts.groups, paired, entry.subset)
    whole = entry.subset is None
    say = _Reasons()
    if group is not None and not group.measures["flips"].n:
        say.why("consistency.flip_rate", ONE_ORDER)
    return Sections(
        simulated=counts.simulated_episodes or any(judge.simulated for judge in mine.values()),
        provenance=make.provenance_section(counts.provenance, ids) if whole else None,
        pairs=say.why("pairs", NO_PAIRS if group is None else make.pair_counts(group)),
        misselection=say.why("misselection", NO_PAIRS if group is None else make.misselection_section(group)),
        consistency=say.why("consistency", NO_PAIRS if group is None else make.consistency_section(group)),
        **{form: say.why(form, _scored(counts, mine, form) if whole else WHOLE_ONLY) for form in SATISFACTION_FORMS},
        agents=say.why("agents", _agents(counts, satisfied_by, beside=beside) if whole else WHOLE_ONLY),
        ranking=say.why(
            "ranking",
            make.ranking_section(_ranked_by(counts, mine), counts.agent_scores, paired, counts.agent_wins)
            if whole
            else WHOLE_ONLY,
        ),
        kappa=say.why(
            "kappa", make.kappa_section(counts.labels, None if alone else entry.judge) if whole else WHOLE_ONLY
        ),
        unscored=say.why("unscored", _unscored(counts, ids) if whole else WHOLE_ONLY),
        buckets=say.why("buckets", _buckets(counts, paired, entry.subset)),
        panel=say.why("panel", NO_PANEL if counts.panel is None else PANEL_ONCE),
        probes=say.why("probes", _probes(counts, paired) if whole else WHOLE_ONLY),
        rubrics=say.why("rubrics", _rubrics(counts, alone=alone and not beside) if whole else WHOLE_ONLY),
        tokens=say.why(
            "tokens", make.token_section(uses, counts.stated_tokens if alone else None) if whole else WHOLE_ONLY
        ),
        cost=say.why("cost", make.cost_section(uses) if whole else WHOLE_ONLY),
        **_pass_hat(counts, say, whole=whole),
        why=say.reasons,
    )


def audit_sections(counts: AuditCounts) -> Sections:
    """What is said of an audit with several judges, or with none."""
    ids = {judge.judge_id for judge in counts.judges}
    missing = SEVERAL if ids else NO_JUDGE
    say = _Reasons()
    for name in ("misselection", "consistency", *SATISFACTION_FORMS, "ranking", "buckets", "probes"):
        say.why(name, missing)
    pairs = counts.pairs
    totals = PairCounts(
        n=pairs.pairs, decidable=pairs.decidable, gold_tie=pairs.gold_tie, gold_unknown=pairs.gold_unknown
    )
    no_pairs = NoData(why="No pair is stored. Import pairs, or run them.")
    rubrics = say.why("rubrics", rubrics_of(counts.rubrics))
    made_up = any(judge.simulated for judge in counts.judges) or bool(rubrics and rubrics.simulated)
    return Sections(
        simulated=counts.simulated_episodes or made_up,
        provenance=make.provenance_section(counts.provenance, ids),
        pairs=say.why("pairs", totals if totals.n else no_pairs),
        agents=say.why("agents", _agents(counts, None)),
        kappa=say.why("kappa", make.kappa_section(counts.labels)),
        unscored=_unscored(counts, ids),
        panel=_panel(counts, say),
        rubrics=rubrics,
        tokens=say.why("tokens", make.token_section(counts.uses, counts.stated_tokens)),
        cost=say.why("cost", make.cost_section(counts.uses)),
        **_pass_hat(counts, say),
        why=say.reasons,
    )


class _Reasons:
    """Collects why a section is None."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def why(self, name: str, found: T | NoData) -> T | None:
        if isinstance(found, NoData):
            self.reasons[name] = found.why
            return None
        return found


def _panel(counts: AuditCounts, say: _Reasons) -> PanelSection | None:
    """What the judges come to as a panel; what is missing of it has reasons of its own."""
    if counts.panel is None:
        return say.why("panel", NO_PANEL if counts.judges else NO_JUDGE)
    for name, reason in panel_reasons(counts.panel).items():
        say.why(name, reason)
    return panel_section(counts.panel, counts.pairs.pairs)


def _pass_hat(counts: AuditCounts, say: _Reasons, *, whole: bool = True) -> dict[str, Any]:
    """The fields of `Sections` on pass^k."""
    if not whole:
        say.why("pass_hat_k", WHOLE_ONLY)
        return {}
    by_agent = make.pass_hat_by_agent(counts.trials)
    if not by_agent:
        say.why("pass_hat_k", NoData(why="No agent has numbered trials with a known outcome."))
        return {}
    plain = {agent: {k: passed.rate for k, passed in found.items()} for agent, found in by_agent.items()}
    if len(by_agent) > 1:
        say.why("pass_hat_k", SEVERAL_AGENTS)
        return {"pass_hat_k_by_agent": plain}
    (agent,) = by_agent
    return {"pass_hat_k": plain[agent], "pass_hat_k_intervals": by_agent[agent]}


def _scored(counts: AuditCounts, mine: Mapping[Form, JudgeFacts], form: Form) -> SatisfactionSection | NoData:
    if form not in mine:
        return NOT_JUDGED[form]
    return make.satisfaction_section(mine[form], counts.scores, counts.satisfaction)


def _ranked_by(counts: AuditCounts, mine: Mapping[Form, JudgeFacts]) -> JudgeFacts | None:
    """The judge whose mean scores rank the agents, None where it has scored none."""
    scoring = {row.judge_id for row in counts.agent_scores}
    candidates = [mine[form] for form in RANKING_FORMS if form in mine]
    return next((judge for judge in candidates if judge.judge_id in scoring), None)


def _probes(counts: AuditCounts, judge: JudgeFacts | None) -> ProbesSection | NoData:
    return NO_PAIRS if judge is None else probes_of(counts.probes.get(judge.judge_id))


def _rubrics(counts: AuditCounts, *, alone: bool) -> RubricsSection | NoData:
    """The rubrics of an audit, where a summary of its one judge is that of the audit."""
    return rubrics_of(counts.rubrics) if alone or counts.rubrics is None else RUBRICS_ONCE


def _agents(
    counts: AuditCounts, scored: JudgeFacts | None, *, beside: bool = False
) -> tuple[AgentOutcome, ...] | NoData:
    return ONCE if beside else make.agents_section(counts.agents, scored, counts.agent_satisfaction)


def _pooled(groups: Mapping[Group, GroupCounts], judge: JudgeFacts | None, subset: str | None) -> GroupCounts | None:
    """The counts of this judge, on one subset or on all."""
    if judge is None:
        return None
    found = [
        counts
        for group, counts in groups.items()
        if group.judge_id == judge.judge_id and (subset is None or group.subset == subset)
    ]
    return added(found) if found else None


def _buckets(counts: AuditCounts, judge: JudgeFacts | None, subset: str | None) -> tuple[Bucket, ...] | NoData:
    kinds = {(group.gap, group.bucket) for group in counts.buckets}
    pooled: dict[Group, GroupCounts] = {}
    for gap, bucket in kinds:
        some = {g: c for g, c in counts.buckets.items() if (g.gap, g.bucket) == (gap, bucket)}
        found = _pooled(some, judge, subset)
        if found is not None:
            pooled[Group("", None, gap, bucket)] = found
    if not pooled:
        return NoData(
            why="No gap is known: it needs graded rewards (three values or more), the judge's scores, or near and wide "
            "as declared by the pairing."
        )
    return make.bucket_sections(pooled)


def _unscored(counts: AuditCounts, judge_ids: set[str]) -> dict[str, int]:
    total: dict[str, int] = {}
    for judge_id in judge_ids:
        for reason, number in counts.unscored.get(judge_id, {}).items():
            total[reason] = total.get(reason, 0) + number
    return dict(sorted(total.items()))
