"""The summary of an audit as values: the JSON that people's scripts read, `schema` 1.

Rates are shares 0 to 1. A plain number named here has its n and interval under `intervals` of its section.
A section without data is None, with the reason under `why`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from misjudge_storage.types import Form, Value
from misjudge_tools.stats.misselection import DecidedRate, Misselection
from misjudge_tools.stats.panels import PanelOutcome
from misjudge_tools.stats.probes import Effect, ProbeRow
from misjudge_tools.stats.rates import Rate
from misjudge_tools.stats.trials import PassHat
from misjudge_tools.summary.deciding.agreement_values import AgreementSection
from misjudge_tools.summary.deciding.bias_values import BiasSection
from misjudge_tools.summary.deciding.checklist_values import ChecklistSection
from misjudge_tools.summary.deciding.conflicts_values import ConflictsSection
from misjudge_tools.summary.deciding.corrected_values import CorrectedSection
from misjudge_tools.summary.deciding.cost_values import CostSection
from misjudge_tools.summary.deciding.drift_values import DriftSection
from misjudge_tools.summary.deciding.gaps_values import GapsSection
from misjudge_tools.summary.deciding.headline_values import HeadlineSection
from misjudge_tools.summary.deciding.policies_values import PoliciesSection
from misjudge_tools.summary.deciding.power_values import PowerSection
from misjudge_tools.summary.deciding.ranking_values import RankingSection
from misjudge_tools.summary.deciding.recommendations_values import RecommendationsSection
from misjudge_tools.summary.deciding.slices_values import SlicesSection
from misjudge_tools.summary.deciding.three_way_values import ThreeWaySection
from misjudge_tools.summary.rubric_values import RubricsSection

SectionName = Literal[
    "headline",
    "provenance",
    "pairs",
    "misselection",
    "gaps",
    "policies",
    "power",
    "slices",
    "consistency",
    "bias",
    "conflicts",
    "satisfaction",
    "gate",
    "proxy",
    "rubric",
    "three_way",
    "agents",
    "ranking",
    "pass_hat_k",
    "kappa",
    "agreement",
    "corrected",
    "drift",
    "unscored",
    "buckets",
    "panel",
    "probes",
    "rubrics",
    "tokens",
    "cost",
    "checklist",
    "recommendations",
]


class PairCounts(Value):
    """Pairs by what gold says and by how they ended; only the former where several judges stand side by side.

    `n` are `decidable` (A or B was better), `gold_tie` (alike) and `gold_unknown`: a check crashed, the simulated user
    failed, nobody labelled, or labellers disagree. `weak` pairs (one order decided, the other a tie) count as decided.
    """

    n: int
    decidable: int
    gold_tie: int
    gold_unknown: int
    scored: int | None = None
    tie: int | None = None
    inconsistent: int | None = None
    unscored: int | None = None
    weak: int | None = None


class ConsistencySection(Value):
    """What the judge does when the sides change places; see `stats.consistency`."""

    flip_rate: float | None
    soft_flip_rate: float | None
    letter_a_share: float | None
    accuracy: float | None
    agreement: float | None
    vote_accuracy: float | None
    intervals: dict[str, Rate]


class SatisfactionSection(Value):
    """What the scores of one form (satisfaction, gate, proxy or rubric) say of success over trajectories; see
    `stats.satisfaction`. Satisfied is a score from `threshold` on; by a rubric 1 is a response that passes.
    """

    threshold: float | None
    satisfied: int | None
    satisfied_failed: int | None
    p_fail_given_satisfied: float | None
    satisfied_failed_share_of_all: float | None
    base_fail: float | None
    relative_risk: float | None
    risk_ratio_unsatisfied: float | None
    auc: float | None
    spearman: float | None
    p_value: float | None
    ceiling: float | None
    n: int
    success_rate: float
    mean_satisfaction: float
    cross_table: dict[str, int] | None
    intervals: dict[str, Rate]


class AgentOutcome(Value):
    """Episodes of one agent in the audit by success; `unknown` ones leave every rate.

    `success` is the share that succeeded, with an interval that counts the episodes of one task as one cluster. `ends`
    and `flags` count how they ended and what simulated users did wrong. `satisfied` counts those with score and known
    success that satisfied the judge in the form `satisfied_by`, `satisfied_failed` those of them that failed; None
    where no judge's score and threshold say so. `trouble` is the most frequent error that ended one.
    """

    agent: str
    succeeded: int
    failed: int
    unknown: int
    success: Rate
    satisfied: int | None = None
    satisfied_failed: int | None = None
    satisfied_by: Form | None = None
    ends: dict[str, int] = Field(default_factory=dict)
    flags: dict[str, int] = Field(default_factory=dict)
    simulated: bool = False
    trouble: str | None = None


class Bucket(Value):
    """Pairs of one range of one gap. `judge_score` gaps come from the judge's own scores: circular."""

    gap: str
    bucket: str
    range: str
    n: int
    decidable: int
    misselection: Misselection


class ProbesSection(Value):
    """What a judge can be fooled by: what fooled it first, each kind by its effect, the null control last.

    `items` were asked twice unchanged; `instability` is how often that changed the verdict. `self_preference` is how
    much more often it is wrong where that favours its own `family` of models (see `stats.probes`); None where its
    family, or gold of enough such pairs, is not known.
    """

    items: int
    instability: Rate
    rows: tuple[ProbeRow, ...]
    family: str | None = None
    self_preference: Effect | None = None


class JudgeAlone(PanelOutcome):
    """What one judge, by its label, says of the same pairs; it is never split."""

    judge: str


class CascadeOutcome(PanelOutcome):
    """What the verdicts of the latest cascade are worth, over the `n` of its pairs that its first judge judged.

    A pair of the `escalated` ones that the whole panel judged has the majority verdict of the panel, any other that of
    the first judge. `first` is what that judge alone says of the same pairs.
    """

    panel: tuple[str, ...]
    n: int
    decidable: int
    escalated: int
    first: JudgeAlone


class PanelSection(Value):
    """What the verdicts of several judges come to, by rule, over the `n` pairs that all of them judged.

    See `stats.panels`. On the same pairs, `best_judge` is the one that is wrong least often, and chosen by just these
    pairs; `mean_judge` takes the verdicts of all judges together, as of one chosen by lot. `simulated` are the judges
    of the panel and of the cascade whose verdicts are made up.
    """

    judges: tuple[str, ...]
    simulated: tuple[str, ...] = ()
    n: int
    decidable: int
    not_judged_by_all: int
    rules: dict[str, PanelOutcome | None]
    best_judge: JudgeAlone | None = None
    mean_judge: DecidedRate | None = None
    cascade: CascadeOutcome | None = None


class RoleTokens(Value):
    """Tokens of one role as the gateway stated them; calls without usage are counted, not guessed."""

    calls: int
    input_tokens: int | None
    output_tokens: int | None
    calls_without_usage: int


class TokenSection(Value):
    """Tokens by role; `stated_by_source` holds what imported episodes state of themselves."""

    by_role: dict[str, RoleTokens]
    stated_by_source: dict[str, int | None] | None


class ProvenanceSection(Value):
    """Where the verdicts come from: `asked` of a model for this audit, taken from another audit's reply to the same
    question at no cost (`from_cache`), `imported`, or ended before any call (`unasked`).
    """

    asked: int = 0
    from_cache: int = 0
    imported: int = 0
    unasked: int = 0


class Sections(Value):
    """Everything that is said of one judge, or of an audit that has one. `simulated` marks made-up results."""

    simulated: bool
    headline: HeadlineSection | None = None
    provenance: ProvenanceSection | None = None
    pairs: PairCounts | None = None
    misselection: Misselection | None = None
    gaps: GapsSection | None = None
    policies: PoliciesSection | None = None
    power: PowerSection | None = None
    slices: SlicesSection | None = None
    consistency: ConsistencySection | None = None
    bias: BiasSection | None = None
    conflicts: ConflictsSection | None = None
    satisfaction: SatisfactionSection | None = None
    gate: SatisfactionSection | None = None
    proxy: SatisfactionSection | None = None
    rubric: SatisfactionSection | None = None
    three_way: ThreeWaySection | None = None
    agents: tuple[AgentOutcome, ...] | None = None
    ranking: RankingSection | None = None
    pass_hat_k: dict[str, float] | None = None
    pass_hat_k_intervals: dict[str, PassHat] | None = None
    pass_hat_k_by_agent: dict[str, dict[str, float]] | None = None
    kappa: dict[str, float | None] | None = None
    agreement: AgreementSection | None = None
    corrected: CorrectedSection | None = None
    drift: DriftSection | None = None
    unscored: dict[str, int] | None = None
    buckets: tuple[Bucket, ...] | None = None
    panel: PanelSection | None = None
    probes: ProbesSection | None = None
    rubrics: RubricsSection | None = None
    tokens: TokenSection | None = None
    cost: CostSection | None = None
    checklist: ChecklistSection | None = None
    recommendations: RecommendationsSection | None = None
    why: dict[str, str] = Field(default_factory=dict)


class Heading(Value):
    """What the summary is of. `warnings` say what to know before believing it, such as a run that did not end."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    schema_number: Literal[1] = Field(default=1, alias="schema")
    audit: str
    marked: str | None = None
    judge: str | None = None
    warnings: tuple[str, ...] = ()


class AuditSummary(Sections, Heading):
    """The summary. With several judges or subsets, `judges` holds the sections of each by its label."""

    judges: dict[str, Sections] | None = None
