"""Everything that a summary counts, read from the store at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from misjudge_storage import asked_records, episode_records, judging_records, probe_records, provenance_records
from misjudge_storage import summary_records as records
from misjudge_storage.asked_records import AskedModels
from misjudge_storage.engine import Store
from misjudge_storage.episode_records import AgentEpisodes
from misjudge_storage.probe_records import ProbedJudge
from misjudge_storage.summary_values import (
    AgentMeans,
    AgentSatisfaction,
    Group,
    GroupCounts,
    JudgeFacts,
    LabelCount,
    PairTotals,
    Provenance,
    SatisfactionSums,
    ScoreCount,
    StatedTokens,
    Sums,
    TrialCount,
    UnfinishedRun,
    Use,
)
from misjudge_tools.summary.panel_counts import PanelCounts, panel_judges, read_panel
from misjudge_tools.summary.rubric_reading import RubricCounts, read_rubrics


class AuditCounts(NamedTuple):
    """The counts of one audit."""

    audit: str
    judges: Sequence[JudgeFacts]
    pairs: PairTotals
    groups: Mapping[Group, GroupCounts]
    buckets: Mapping[Group, GroupCounts]
    graded_rewards: bool
    unscored: Mapping[str, Mapping[str, int]]
    scores: Sequence[ScoreCount]
    satisfaction: Mapping[str, SatisfactionSums]
    agents: Sequence[AgentEpisodes]
    agent_satisfaction: Sequence[AgentSatisfaction]
    agent_scores: Sequence[AgentMeans]
    agent_wins: Sequence[AgentMeans]
    trials: Sequence[TrialCount]
    labels: Sequence[LabelCount]
    uses: Sequence[Use]
    stated_tokens: StatedTokens
    provenance: Mapping[str, Provenance]
    unfinished: Sequence[UnfinishedRun]
    probes: Mapping[str, ProbedJudge]
    asked: AskedModels
    panel: PanelCounts | None = None
    rubrics: RubricCounts | None = None

    @property
    def simulated_episodes(self) -> bool:
        """Whether any episode of the audit is made up."""
        return any(agent.simulated for agent in self.agents)

    @property
    def judged(self) -> Sequence[JudgeFacts]:
        """The judges, without those that were probed and gave no verdict of the audit; all where none gave any."""
        return without_probed(self.judges, self.probes, self.provenance) or self.judges


def without_probed(
    judges: Sequence[JudgeFacts], probes: Mapping[str, ProbedJudge], provenance: Mapping[str, Provenance]
) -> Sequence[JudgeFacts]:
    """The judges but those that were only probed."""
    only_probed = probes.keys() - provenance.keys()
    return [judge for judge in judges if judge.judge_id not in only_probed]


def read_counts(store: Store, audit: str, panel: Sequence[str] | None = None) -> AuditCounts:
    """The counts of the audit with this name, and of the panel of the judges with these labels (see `panel_judges`).

    Raises NotFound or InvalidInput.
    """
    with store.read() as connection:
        audit_id = judging_records.read_audit(connection, audit).audit_id
        records.reduce_audit(connection, audit_id)
        graded = records.has_graded_rewards(connection, audit_id)
        judges = records.judges(connection, audit_id)
        provenance = {one.judge_id: one for one in provenance_records.provenance(connection, audit_id)}
        probes = probe_records.probed_judges(connection, audit_id)
        groups = records.group_counts(connection)
        chosen = panel_judges(without_probed(judges, probes, provenance), panel, audit, pairs_judged(groups))
        return AuditCounts(
            audit=audit,
            judges=judges,
            pairs=records.pair_totals(connection),
            groups=groups,
            buckets=records.bucket_counts(connection, graded_rewards=graded),
            graded_rewards=graded,
            unscored=records.unscored_reasons(connection, audit_id),
            scores=records.satisfaction_scores(connection, audit_id),
            satisfaction=records.satisfaction_sums(connection, audit_id),
            agents=episode_records.agent_episodes(connection, audit_id),
            agent_satisfaction=records.agent_satisfaction(connection, audit_id),
            agent_scores=records.agent_scores(connection, audit_id),
            agent_wins=records.agent_wins(connection, audit_id),
            trials=episode_records.trial_counts(connection, audit_id),
            labels=records.label_counts(connection, audit_id),
            uses=records.uses(connection, audit_id),
            stated_tokens=episode_records.stated_tokens(connection, audit_id),
            provenance=provenance,
            unfinished=provenance_records.unfinished_runs(connection, audit_id),
            probes=probes,
            asked=asked_records.asked_models(connection, audit_id),
            panel=read_panel(connection, audit_id, chosen, judges) if chosen else None,
            rubrics=read_rubrics(connection, audit_id),
        )


def pairs_judged(groups: Mapping[Group, GroupCounts]) -> dict[str, int]:
    """Judge id → the number of pairs that it has verdicts on."""
    found: dict[str, int] = {}
    for group, counts in groups.items():
        found[group.judge_id] = found.get(group.judge_id, 0) + counts.pairs
    return found


def added(counts: Sequence[GroupCounts]) -> GroupCounts:
    """The counts of disjoint groups together."""
    first, *rest = counts
    for more in rest:
        measures = {
            name: Sums(*(a + b for a, b in zip(sums, more.measures[name], strict=True)))
            for name, sums in first.measures.items()
        }
        plain = {name: getattr(first, name) + getattr(more, name) for name in records.TALLIES}
        first = GroupCounts(**plain, measures=measures)
    return first
