"""Which sections are said of a judge, and which of an audit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from misjudge_storage.summary_values import Group, GroupCounts, JudgeFacts
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary import sections as make
from misjudge_tools.summary.counts import AuditCounts, added
from misjudge_tools.summary.values import AgentOutcome, Bucket, PairCounts, Sections

T = TypeVar("T")
SEVERAL = NoData(why="There are several judges or subsets: see each under judges, or choose one with judge=LABEL.")
NO_JUDGE = NoData(why="No judge is stored. Judge the audit, or import verdicts.")
NO_PAIRS = NoData(why="This judge judged no pair. Judge pairs (form=pairwise), or import verdicts.")
ONCE = NoData(why="The agents stand once, at the top. Their satisfaction by this judge: choose it with judge=LABEL.")
WHOLE_ONLY = NoData(why="Given for the judge as a whole, not by subset.")


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
    mine = {judge.form: judge for judge in counts.judges if judge.label == entry.judge}
    paired, scored = mine.get("pairwise"), mine.get("satisfaction")
    ids = {judge.judge_id for judge in mine.values()}
    alone = len(ids) == len(counts.judges)
    uses = [use for use in counts.uses if use.judge_id in ids or (alone and use.judge_id is None)]
    group = _pooled(counts.groups, paired, entry.subset)
    whole = entry.subset is None
    say = _Reasons()
    return Sections(
        simulated=counts.simulated_episodes or any(judge.simulated for judge in mine.values()),
        provenance=make.provenance_section(counts.provenance, ids) if whole else None,
        pairs=say.why("pairs", NO_PAIRS if group is None else make.pair_counts(group)),
        misselection=say.why("misselection", NO_PAIRS if group is None else make.misselection_section(group)),
        consistency=say.why("consistency", NO_PAIRS if group is None else make.consistency_section(group)),
        satisfaction=say.why(
            "satisfaction",
            make.satisfaction_section(scored, counts.scores, counts.satisfaction) if whole else WHOLE_ONLY,
        ),
        agents=say.why("agents", _agents(counts, scored, beside=beside) if whole else WHOLE_ONLY),
        ranking=say.why(
            "ranking",
            make.ranking_section(scored, counts.agent_scores, paired, counts.agent_wins) if whole else WHOLE_ONLY,
        ),
        kappa=say.why(
            "kappa", make.kappa_section(counts.labels, None if alone else entry.judge) if whole else WHOLE_ONLY
        ),
        unscored=say.why("unscored", _unscored(counts, ids) if whole else WHOLE_ONLY),
        buckets=say.why("buckets", _buckets(counts, paired, entry.subset)),
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
    for name in ("misselection", "consistency", "satisfaction", "ranking", "buckets"):
        say.why(name, missing)
    pairs = counts.pairs
    totals = PairCounts(
        n=pairs.pairs, decidable=pairs.decidable, gold_tie=pairs.gold_tie, gold_unknown=pairs.gold_unknown
    )
    no_pairs = NoData(why="No pair is stored. Import pairs, or run them.")
    return Sections(
        simulated=counts.simulated_episodes or any(judge.simulated for judge in counts.judges),
        provenance=make.provenance_section(counts.provenance, ids),
        pairs=say.why("pairs", totals if totals.n else no_pairs),
        agents=say.why("agents", _agents(counts, None)),
        kappa=say.why("kappa", make.kappa_section(counts.labels)),
        unscored=_unscored(counts, ids),
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
        say.why("pass_hat_k", NoData(why="There are several agents: see pass_hat_k_by_agent."))
        return {"pass_hat_k_by_agent": plain}
    (agent,) = by_agent
    return {"pass_hat_k": plain[agent], "pass_hat_k_intervals": by_agent[agent]}


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
