"""Everything that a summary counts, read from the store as far as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from sqlalchemy import Connection

from misjudge_storage import asked_records, episode_records, judging_records, probe_records, provenance_records
from misjudge_storage import summary_records as records
from misjudge_storage.asked_records import AskedModels
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
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summary.panel_counts import PanelCounts, panel_judges, read_panel
from misjudge_tools.summary.rubric_reading import RubricCounts, read_rubrics


class AuditCounts:
    """The counts of one audit by name, each read when it is first asked for, over a connection that stays open.

    `question` is what was asked of it: sections read from it what else they need. Raises NotFound for an unknown audit,
    here already.
    """

    def __init__(self, connection: Connection, question: SummarizeRequest) -> None:
        self.connection = connection
        self.question = question
        self.audit = question.audit
        self.audit_id = judging_records.read_audit(connection, question.audit).audit_id

    @cached_property
    def reduced(self) -> Connection:
        """The connection, with the audit reduced in it (see `summary_records.reduce_audit`)."""
        records.reduce_audit(self.connection, self.audit_id)
        return self.connection

    @cached_property
    def judges(self) -> Sequence[JudgeFacts]:
        return records.judges(self.connection, self.audit_id)

    @cached_property
    def pairs(self) -> PairTotals:
        return records.pair_totals(self.reduced)

    @cached_property
    def groups(self) -> Mapping[Group, GroupCounts]:
        return records.group_counts(self.reduced)

    @cached_property
    def buckets(self) -> Mapping[Group, GroupCounts]:
        return records.bucket_counts(self.reduced, graded_rewards=self.graded_rewards)

    @cached_property
    def graded_rewards(self) -> bool:
        return records.has_graded_rewards(self.connection, self.audit_id)

    @cached_property
    def unscored(self) -> Mapping[str, Mapping[str, int]]:
        return records.unscored_reasons(self.connection, self.audit_id)

    @cached_property
    def scores(self) -> Sequence[ScoreCount]:
        return records.satisfaction_scores(self.connection, self.audit_id)

    @cached_property
    def satisfaction(self) -> Mapping[str, SatisfactionSums]:
        return records.satisfaction_sums(self.connection, self.audit_id)

    @cached_property
    def agents(self) -> Sequence[AgentEpisodes]:
        return episode_records.agent_episodes(self.connection, self.audit_id)

    @cached_property
    def agent_satisfaction(self) -> Sequence[AgentSatisfaction]:
        return records.agent_satisfaction(self.connection, self.audit_id)

    @cached_property
    def agent_scores(self) -> Sequence[AgentMeans]:
        return records.agent_scores(self.connection, self.audit_id)

    @cached_property
    def agent_wins(self) -> Sequence[AgentMeans]:
        return records.agent_wins(self.reduced, self.audit_id)

    @cached_property
    def trials(self) -> Sequence[TrialCount]:
        return episode_records.trial_counts(self.connection, self.audit_id)

    @cached_property
    def labels(self) -> Sequence[LabelCount]:
        return records.label_counts(self.reduced, self.audit_id)

    @cached_property
    def uses(self) -> Sequence[Use]:
        return records.uses(self.connection, self.audit_id)

    @cached_property
    def stated_tokens(self) -> StatedTokens:
        return episode_records.stated_tokens(self.connection, self.audit_id)

    @cached_property
    def provenance(self) -> Mapping[str, Provenance]:
        return {one.judge_id: one for one in provenance_records.provenance(self.connection, self.audit_id)}

    @cached_property
    def unfinished(self) -> Sequence[UnfinishedRun]:
        return provenance_records.unfinished_runs(self.connection, self.audit_id)

    @cached_property
    def probes(self) -> Mapping[str, ProbedJudge]:
        return probe_records.probed_judges(self.connection, self.audit_id)

    @cached_property
    def asked(self) -> AskedModels:
        return asked_records.asked_models(self.connection, self.audit_id)

    @cached_property
    def panel(self) -> PanelCounts | None:
        """Of the judges that the question names, else of those that judged most. Raises NotFound or InvalidInput."""
        chosen = panel_judges(
            without_probed(self.judges, self.probes, self.provenance),
            self.question.panel,
            self.audit,
            pairs_judged(self.groups),
        )
        return read_panel(self.reduced, self.audit_id, chosen, self.judges) if chosen else None

    @cached_property
    def rubrics(self) -> RubricCounts | None:
        return read_rubrics(self.reduced, self.audit_id)

    @cached_property
    def simulated_episodes(self) -> bool:
        """Whether any episode of the audit is made up."""
        return any(agent.simulated for agent in self.agents)

    @cached_property
    def judged(self) -> Sequence[JudgeFacts]:
        """The judges, without those that were probed and gave no verdict of the audit; all where none gave any."""
        return without_probed(self.judges, self.probes, self.provenance) or self.judges


def without_probed(
    judges: Sequence[JudgeFacts], probes: Mapping[str, ProbedJudge], provenance: Mapping[str, Provenance]
) -> Sequence[JudgeFacts]:
    """The judges but those that were only probed."""
    only_probed = probes.keys() - provenance.keys()
    return [judge for judge in judges if judge.judge_id not in only_probed]


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
