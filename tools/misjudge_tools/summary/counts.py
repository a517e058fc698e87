"""Everything that a summary counts, read from the store as far as it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from sqlalchemy import Connection

from misjudge_storage import (
    asked_records,
    drift_counts,
    episode_records,
    judging_records,
    probe_records,
    provenance_records,
    stopping_records,
)
from misjudge_storage import summary_records as records
from misjudge_storage.agent_gates import AgentGate, scored_agents
from misjudge_storage.agreement_counts import has_labels
from misjudge_storage.asked_records import AskedModels
from misjudge_storage.bias_counts import BiasCounts, bias_counts
from misjudge_storage.bucket_counts import GapOf, GapSums
from misjudge_storage.checklist_counts import ReleaseFacts, release_facts
from misjudge_storage.conflict_rows import ConflictCounts
from misjudge_storage.correction_counts import has_human_labels, has_random_labels
from misjudge_storage.cost_counts import CallGroup, Session, call_groups, dearest_sessions, uses_of
from misjudge_storage.counted_pairs import CountedPairs
from misjudge_storage.episode_records import AgentEpisodes
from misjudge_storage.family_picks import JudgeModel, judge_models, set_families, side_models
from misjudge_storage.missing_counts import MissingReplies
from misjudge_storage.picked_pairs import Picked, count_distinct, count_picked, hold_picked
from misjudge_storage.policy_counts import PairCosts, PolicyCounts, pair_costs
from misjudge_storage.probe_records import ProbedJudge
from misjudge_storage.report_rows import count_tasks
from misjudge_storage.slice_counts import SliceCounts
from misjudge_storage.stopping_records import TaskCount
from misjudge_storage.summary_values import (
    AgentSatisfaction,
    Group,
    GroupCounts,
    JudgeFacts,
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
from misjudge_storage.types import LOST
from misjudge_tools.interchange.bill import Bill
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.policies import MARGINS, margin_step
from misjudge_tools.summary.agreement_reading import AgreementCounts, read_agreement, set_aside
from misjudge_tools.summary.correction_reading import CorrectionCounts, read_checked, read_wins
from misjudge_tools.summary.model_families import known_families
from misjudge_tools.summary.panel_counts import PanelCounts, panel_judges, read_panel
from misjudge_tools.summary.rubric_reading import RubricCounts, read_rubrics

MOST_VALUES = 12
"""Values of a dimension that are slices; the others are only counted."""


class AuditCounts:
    """The counts of one audit by name, each read when it is first asked for, over a connection that stays open.

    `question` is what was asked of it: sections read from it what else they need. `families` are those that are stated
    of models (see `kinship.stated_families`), `bill` what a provider's bill says, where one was given. Raises NotFound
    for an unknown audit, here already.
    """

    def __init__(
        self,
        connection: Connection,
        question: SummarizeRequest,
        families: Mapping[str, str] | None = None,
        bill: Bill | None = None,
    ) -> None:
        self.connection = connection
        self.question = question
        self.families = families or {}
        self.bill = bill
        self.audit = question.audit
        self.audit_id = judging_records.read_audit(connection, question.audit).audit_id

    @cached_property
    def reduced(self) -> Connection:
        """The connection, with the audit reduced in it (see `summary_records.reduce_audit`), and the baseline before it
        where one is named.
        """
        if self.baseline_id is not None and self.baseline_id != self.audit_id:
            drift_counts.hold_baseline(self.connection, self.baseline_id)
        records.reduce_audit(self.connection, self.audit_id)
        return self.connection

    @cached_property
    def baseline_id(self) -> str | None:
        """The audit to compare with, None where none is named. Raises NotFound."""
        named = self.question.baseline
        return None if named is None else judging_records.read_audit(self.connection, named).audit_id

    @cached_property
    def judges(self) -> Sequence[JudgeFacts]:
        return records.judges(self.connection, self.audit_id)

    @cached_property
    def tasks(self) -> int:
        """How many tasks the audit has."""
        return count_tasks(self.connection, self.audit_id)

    @cached_property
    def of_pairs(self) -> CountedPairs:
        steps = {one.judge_id: margin_step(one.low, one.high) for one in self.judges if one.form == "pairwise"}
        known = {judge: step for judge, step in steps.items() if step}
        return CountedPairs(self.reduced, known, MARGINS, everything=self.question.sections is None)

    @cached_property
    def pairs(self) -> PairTotals:
        return self.of_pairs.totals

    @cached_property
    def groups(self) -> Mapping[Group, GroupCounts]:
        return self.of_pairs.groups

    @cached_property
    def worse_failed(self) -> bool:
        """Whether the worse side of every decidable pair is known to have failed."""
        return records.worse_sides_failed(self.reduced)

    @cached_property
    def picked(self) -> Mapping[str | None, Picked]:
        """Judge id → its decidable pairs that only labels of the chosen stream make so."""
        return count_picked(self.reduced) if hold_picked(self.reduced, self.audit_id) else {}

    @cached_property
    def picked_pairs(self) -> int:
        """How many such pairs there are, whoever judged them."""
        return count_distinct(self.reduced) if self.picked else 0

    @cached_property
    def ability_buckets(self) -> Mapping[Group, GroupCounts]:
        """Those of `buckets` by ability."""
        return self.of_pairs.ability_buckets

    @cached_property
    def buckets(self) -> Mapping[Group, GroupCounts]:
        return self.of_pairs.buckets(graded_rewards=self.graded_rewards)

    @cached_property
    def graded_rewards(self) -> bool:
        return records.has_graded_rewards(self.connection, self.audit_id)

    @cached_property
    def gaps(self) -> Mapping[GapOf, GapSums]:
        return self.of_pairs.gaps(graded_rewards=self.graded_rewards)

    @cached_property
    def slices(self) -> Sequence[SliceCounts]:
        return self.of_pairs.slices(MOST_VALUES)

    @cached_property
    def unscored(self) -> Mapping[str, Mapping[str, int]]:
        return records.unscored_reasons(self.connection, self.audit_id)

    @cached_property
    def release(self) -> ReleaseFacts:
        return release_facts(self.connection, self.audit_id)

    @cached_property
    def missing(self) -> Sequence[MissingReplies]:
        return self.of_pairs.missing

    @cached_property
    def policies(self) -> Mapping[str, PolicyCounts]:
        """Judge id → its pairs by rule, of all judges of pairs."""
        return self.of_pairs.policies

    @cached_property
    def pair_costs(self) -> Mapping[str | None, PairCosts]:
        return pair_costs(self.connection, self.audit_id)

    @cached_property
    def bias(self) -> BiasCounts:
        return bias_counts(self.reduced, self.audit_id)

    @cached_property
    def judge_models(self) -> Sequence[JudgeModel]:
        return judge_models(self.connection, self.audit_id)

    @cached_property
    def with_families(self) -> Connection:
        """The connection, with the pairs that `bias` reads and the families of their models in it."""
        if self.bias.picks:
            set_families(self.connection, known_families(side_models(self.connection), self.families))
        return self.connection

    @cached_property
    def conflicts(self) -> Mapping[str, ConflictCounts]:
        return self.of_pairs.conflicts

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
    def picked_only(self) -> bool:
        """Whether success is known of sides that a judge picked rather than of all, as a replay tells it."""
        replayed = provenance_records.was_imported(self.connection, self.audit_id, "replay")
        return replayed and any(one.success.n < one.episodes for one in self.agents)

    @cached_property
    def troubled(self) -> Sequence[AgentEpisodes]:
        """All agents, where any episode ended in an error; none where none did."""
        return self.agents if episode_records.any_trouble(self.connection, self.audit_id) else ()

    @cached_property
    def agent_satisfaction(self) -> Sequence[AgentSatisfaction]:
        return records.agent_satisfaction(self.connection, self.audit_id)

    @cached_property
    def agent_scores(self) -> Sequence[AgentGate]:
        if all(judge.form == "pairwise" for judge in self.judges):
            return ()
        return scored_agents(self.connection, self.audit_id)

    @cached_property
    def agent_wins(self) -> Sequence[AgentGate]:
        return self.of_pairs.wins(self.audit_id)

    @cached_property
    def trials(self) -> Sequence[TrialCount]:
        return episode_records.trial_counts(self.connection, self.audit_id)

    @cached_property
    def agreement(self) -> AgreementCounts | None:
        """None where nothing can have been labelled or scored twice."""
        forms = [judge.form for judge in self.judged]
        if len(set(forms)) == len(forms) and not has_labels(self.connection, self.audit_id):
            return None
        aside = set_aside([judge for judge in self.judged if judge.form == "pairwise"], self.question.panel)
        return read_agreement(self.reduced, self.audit_id, self.judged, aside)

    @cached_property
    def human_labels(self) -> bool:
        return has_human_labels(self.connection, self.audit_id)

    @cached_property
    def random_labels(self) -> bool:
        return has_random_labels(self.connection, self.audit_id)

    @cached_property
    def checked_episodes(self) -> CorrectionCounts | None:
        return read_checked(self.connection, self.audit_id)

    def wins(self, judge_id: str) -> CorrectionCounts:
        return read_wins(self.reduced, self.audit_id, judge_id)

    @cached_property
    def calls(self) -> Sequence[CallGroup]:
        return call_groups(self.connection, self.audit_id)

    @cached_property
    def dearest(self) -> Sequence[Session]:
        return dearest_sessions(self.connection, self.audit_id)

    @cached_property
    def uses(self) -> Sequence[Use]:
        return uses_of(self.calls)

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
    def adaptive(self) -> Sequence[str]:
        """The runs that were to stop early, the latest first; with any, intervals are those of `stats.anytime`."""
        return stopping_records.stopping_runs(self.connection, self.audit_id)

    @cached_property
    def task_shares(self) -> Mapping[str, Mapping[Group, Sequence[TaskCount]]]:
        """Measure → tasks by what it came to in them."""
        return {name: stopping_records.task_counts(self.reduced, name) for name in ("wrong_calls", "wrong_pairs")}

    @cached_property
    def simulated_episodes(self) -> bool:
        """Whether any episode of the audit is made up."""
        return episode_records.any_simulated(self.connection, self.audit_id)

    @cached_property
    def judged(self) -> Sequence[JudgeFacts]:
        """The judges, without those that were only probed or are `silent`; all where none is left."""
        known = without_probed(self.judges, self.probes, self.provenance)
        return [judge for judge in known if judge.judge_id not in self.silent] or self.judges

    @cached_property
    def silent(self) -> Collection[str]:
        """The ids of judges that gave no reply at all beside others that did: a wrong name or a dead gateway makes no
        judge of the audit. Not one that the question names.
        """
        if len(self.judges) < 2:
            return ()
        found = {
            judge.judge_id for judge in self.judges if not self._replied(judge) and judge.judge_id not in self.probes
        }
        return found if len(found) < len(self.judges) else ()

    def _replied(self, judge: JudgeFacts) -> bool:
        calls, reasons = self.provenance.get(judge.judge_id), self.unscored.get(judge.judge_id, {})
        lost = sum(reasons.get(reason, 0) for reason in LOST)
        number = 0 if calls is None else calls.asked + calls.cached + calls.imported + calls.unasked
        return judge.label == self.question.judge or number > lost


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
        plain = {name: getattr(first, name) + getattr(more, name) for name in GroupCounts._fields[:-1]}
        first = GroupCounts(**plain, measures=measures)
    return first
