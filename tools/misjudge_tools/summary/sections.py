"""Each section from its counts. Pure; what is missing is said in one sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from misjudge_storage.episode_records import AgentEpisodes
from misjudge_storage.summary_values import (
    BUCKET_CUTS,
    AgentSatisfaction,
    Group,
    GroupCounts,
    JudgeFacts,
    Provenance,
    SatisfactionSums,
    ScoreCount,
    StatedTokens,
    TrialCount,
    UnfinishedRun,
    Use,
)
from misjudge_storage.types import Form, Scale
from misjudge_tools.results import LIMIT_REACHED
from misjudge_tools.stats.consistency import ConsistencySums, consistency
from misjudge_tools.stats.misselection import Misselection, misselection
from misjudge_tools.stats.rates import NONE, ClusterSums, NoData, Tally, clustered_rate
from misjudge_tools.stats.satisfaction import ScoreOutcomes, satisfaction_gap
from misjudge_tools.stats.trials import PassHat, TaskTrials, pass_hat_k
from misjudge_tools.summary.values import (
    AgentOutcome,
    Bucket,
    ConsistencySection,
    PairCounts,
    ProvenanceSection,
    RoleTokens,
    SatisfactionSection,
    TokenSection,
)

N = TypeVar("N", int, float)
NO_PAIRS = NoData(why="This judge judged no pair. Judge pairs (form=pairwise), or import verdicts.")
NO_GOLD = NoData(why="No pair is decidable: gold must say that A or B was better. Import labels, success or rewards.")
MOST_LABELLERS = 12
"""Beyond, people are not set beside each other one by one."""
ABILITY_RANGES = {"near": "|ΔR| below 0.1", "wide": "|ΔR| of 0.1 and more"}


def pair_counts(counts: GroupCounts) -> PairCounts:
    """Pairs by how they ended."""
    return PairCounts(
        n=counts.pairs,
        decidable=counts.decidable,
        gold_tie=counts.gold_tie,
        gold_unknown=counts.gold_unknown,
        scored=counts.scored,
        tie=counts.tie,
        inconsistent=counts.inconsistent,
        unscored=counts.unscored,
        weak=counts.weak,
    )


def misselection_section(counts: GroupCounts) -> Misselection | NoData:
    """How often the judge picked the side that failed."""
    if counts.decidable == 0:
        return NO_GOLD
    return _misselection(counts)


def _misselection(counts: GroupCounts) -> Misselection:
    calls, decided = ClusterSums(*counts.measures["wrong_calls"]), ClusterSums(*counts.measures["wrong_pairs"])
    # Where nothing was scored, no pair was got right: the rate over all pairs is unknown, not 0.
    known = counts.pairs - counts.gold_unknown if counts.scored else 0
    return misselection(calls, decided, counts.decidable, known)


def consistency_section(counts: GroupCounts) -> ConsistencySection:
    """What the judge does when the sides change places."""
    sums = {name: ClusterSums(*value) for name, value in counts.measures.items()}
    right, right_ab, right_ba = sums["right"], sums["right_ab"], sums["right_ba"]
    if right_ab.n + right_ba.n < right.n:
        # The order of some calls is unknown, so there is no accuracy by order to take the mean of.
        right_ab, right_ba = right, NONE
    found = consistency(
        ConsistencySums(
            flips=sums["flips"],
            soft_flips=sums["soft_flips"],
            agreements=sums["agreements"],
            letter_a=sums["letter_a"],
            right=right,
            right_ab=Tally(right_ab.k, right_ab.n),
            right_ba=Tally(right_ba.k, right_ba.n),
            votes=sums["votes"] if counts.scored else NONE,
        )
    )
    intervals = {name: getattr(found, name) for name in type(found).model_fields}
    return ConsistencySection(**{name: rate.rate for name, rate in intervals.items()}, intervals=intervals)


def satisfaction_section(
    judge: JudgeFacts, scores: Sequence[ScoreCount], sums: Mapping[str, SatisfactionSums]
) -> SatisfactionSection | NoData:
    """The scores of a judge against success; the intervals count the trajectories of one task as one cluster."""
    better = "lower" if judge.better == "lower" else "higher"
    scale = Scale(low=judge.low, high=judge.high, threshold=judge.threshold, better=better)
    rows = [ScoreOutcomes(row.score, row.failed, row.succeeded) for row in scores if row.judge_id == judge.judge_id]
    found = satisfaction_gap(rows, scale)
    if isinstance(found, NoData):
        return found
    cells = ("satisfied_failed", "satisfied_succeeded", "unsatisfied_failed", "unsatisfied_succeeded")
    by_task = sums[judge.judge_id]
    intervals = {"base_fail": clustered_rate(ClusterSums(*by_task.everyone))}
    if found.p_fail_given_satisfied is not None:
        intervals["p_fail_given_satisfied"] = clustered_rate(ClusterSums(*by_task.satisfied))
    return SatisfactionSection(
        threshold=found.threshold,
        satisfied=found.satisfied,
        satisfied_failed=found.satisfied_failed,
        p_fail_given_satisfied=found.p_fail_given_satisfied.rate if found.p_fail_given_satisfied else None,
        satisfied_failed_share_of_all=found.satisfied_failed_share_of_all,
        base_fail=found.base_fail.rate,
        relative_risk=found.relative_risk,
        risk_ratio_unsatisfied=found.risk_ratio_unsatisfied,
        auc=found.auc,
        spearman=found.spearman,
        p_value=found.p_value,
        ceiling=found.ceiling,
        n=found.n,
        success_rate=found.success_rate,
        mean_satisfaction=found.mean_satisfaction,
        cross_table=None if found.satisfied is None else {cell: getattr(found, cell) for cell in cells},
        intervals=intervals,
    )


def agents_section(
    episodes: Sequence[AgentEpisodes], judge: JudgeFacts | None, satisfaction: Sequence[AgentSatisfaction]
) -> tuple[AgentOutcome, ...] | NoData:
    """Every agent of the audit, with the satisfaction of this judge where it has a threshold."""
    if not any(one.success.n or one.made for one in episodes):
        return NoData(
            why="Of no episode is it known whether it did its task. Import success, or run agents on a suite."
        )
    if judge is None or judge.threshold is None:
        return agent_outcomes(episodes)
    return agent_outcomes(episodes, [row for row in satisfaction if row.judge_id == judge.judge_id], judge.form)


def agent_outcomes(
    episodes: Sequence[AgentEpisodes], satisfaction: Sequence[AgentSatisfaction] = (), form: Form = "satisfaction"
) -> tuple[AgentOutcome, ...]:
    """Agents by their success, the best first; `satisfaction` is that of one judge by this form."""
    by_agent = {row.agent: row for row in satisfaction}
    outcomes = [_agent_outcome(one, by_agent.get(one.agent), form) for one in episodes]
    return tuple(sorted(outcomes, key=lambda one: (1 if one.success.rate is None else -one.success.rate, one.agent)))


def _agent_outcome(one: AgentEpisodes, satisfaction: AgentSatisfaction | None, form: Form) -> AgentOutcome:
    return AgentOutcome(
        agent=one.agent,
        succeeded=one.success.k,
        failed=one.success.n - one.success.k,
        unknown=one.episodes - one.success.n,
        success=clustered_rate(ClusterSums(*one.success)),
        satisfied=None if satisfaction is None else satisfaction.satisfied,
        satisfied_failed=None if satisfaction is None else satisfaction.satisfied_failed,
        satisfied_by=None if satisfaction is None else form,
        ends=one.ends,
        flags=one.flags,
        simulated=one.simulated,
        trouble=one.trouble,
    )


def pass_hat_by_agent(trials: Sequence[TrialCount]) -> dict[str, dict[str, PassHat]]:
    """Agent → k → pass^k, for agents with repeated trials."""
    agents: dict[str, dict[TaskTrials, int]] = {}
    for row in trials:
        agents.setdefault(row.agent, {})[TaskTrials(row.trials, row.successes)] = row.tasks
    return {agent: {str(found.k): found for found in pass_hat_k(tasks)} for agent, tasks in agents.items()}


def bucket_sections(buckets: Mapping[Group, GroupCounts]) -> tuple[Bucket, ...]:
    """Misselection by gap; the three gaps are never mixed."""
    ranges = {"ability": ABILITY_RANGES, "reward": BUCKET_CUTS, "judge_score": BUCKET_CUTS}
    found = {(group.gap, group.bucket): counts for group, counts in buckets.items()}
    return tuple(
        Bucket(
            gap=gap,
            bucket=bucket,
            range=label,
            n=found[gap, bucket].pairs,
            decidable=found[gap, bucket].decidable,
            misselection=_misselection(found[gap, bucket]),
        )
        for gap, cuts in ranges.items()
        for bucket, label in cuts.items()
        if (gap, bucket) in found
    )


def provenance_section(found: Mapping[str, Provenance], judge_ids: Collection[str]) -> ProvenanceSection | NoData:
    """Where the verdicts of these judges come from."""
    mine = [one for judge_id, one in found.items() if judge_id in judge_ids]
    if not mine:
        return NoData(why="No verdict is stored.")
    return ProvenanceSection(
        asked=sum(one.asked for one in mine),
        from_cache=sum(one.cached for one in mine),
        imported=sum(one.imported for one in mine),
        unasked=sum(one.unasked for one in mine),
    )


MOST_WARNINGS = 3


def unfinished_warnings(runs: Sequence[UnfinishedRun]) -> tuple[str, ...]:
    """What is missing because runs ended early, the latest first."""
    shown = [
        f"Run {run.run_id} ended before its plan was done ({_how(run)}): {run.total - run.done} of its {run.total} "
        f"cells are open. Go on with it: runs resume {run.run_id}."
        for run in runs[:MOST_WARNINGS]
    ]
    more = len(runs) - len(shown)
    return (*shown, *([f"{more} more runs ended before their plan was done."] if more else []))


def silent_warnings(labels: Sequence[str]) -> tuple[str, ...]:
    """Of judges that are left out since they gave no reply."""
    more = len(labels) - MOST_WARNINGS
    return (
        *(f"Judge {label} gave no reply and is left out; judge={label} shows it." for label in labels[:MOST_WARNINGS]),
        *([f"{more} more judges gave no reply and are left out."] if more > 0 else []),
    )


def trouble_warnings(episodes: Sequence[AgentEpisodes]) -> tuple[str, ...]:
    """What went wrong in episodes so often that their agents cannot be told by them."""
    total = sum(one.episodes for one in episodes)
    lost = sum(one.ends.get("user_sim_error", 0) for one in episodes)
    broken = [one for one in episodes if 2 * one.ends.get("agent_error", 0) > one.episodes]
    more = len(broken) - MOST_WARNINGS
    return (
        *([f"The simulated user failed in {lost} of {_episodes(total)}."] if lost else []),
        *map(_broken, broken[:MOST_WARNINGS]),
        *([f"{more} more agents ended in an error in most of their episodes."] if more > 0 else []),
    )


PICKED_ONLY = (
    "Success and satisfaction of a replay are those of the sides that were picked: the success of agents, and "
    "satisfaction against success, are of picked sides and not of all. A file of the format pairs (export audit_pairs) "
    "tells both sides."
)


PICKED = (
    "{k} of the {n} decidable pairs of this audit are decidable only by labels of pairs that reviews chose for looking "
    "suspicious: every rate that counts them is of a picked sample and not of all pairs. A gate leaves them out, and "
    "the section corrected rests on the pairs that were drawn at random: label more of these (--only random)."
)


def picked_warnings(picked: int, decidable: int) -> tuple[str, ...]:
    """That rates rest on pairs that were chosen for being informative, where they do."""
    return (PICKED.format(k=picked, n=decidable),) if picked else ()


def _broken(one: AgentEpisodes) -> str:
    said = f"Agent {one.agent} ended in an error in {one.ends['agent_error']} of {_episodes(one.episodes)}"
    return f"{said}: {one.own_trouble}" if one.own_trouble else f"{said}."


def _episodes(number: int) -> str:
    return "1 episode" if number == 1 else f"{number} episodes"


def _how(run: UnfinishedRun) -> str:
    return "limit reached" if (run.reason or "").startswith(LIMIT_REACHED) else run.state


def token_section(uses: Sequence[Use], stated: StatedTokens | None) -> TokenSection | NoData:
    """Tokens by role."""
    by_role: dict[str, RoleTokens] = {}
    for use in uses:
        before = by_role.get(use.role)
        by_role[use.role] = RoleTokens(
            calls=use.calls + (before.calls if before else 0),
            input_tokens=_plus(use.input_tokens, before.input_tokens if before else None),
            output_tokens=_plus(use.output_tokens, before.output_tokens if before else None),
            calls_without_usage=use.without_usage + (before.calls_without_usage if before else 0),
        )
    known = stated._asdict() if stated is not None and stated.trajectories else None
    if not by_role and known is None:
        return NoData(why="No call is logged and no episode states its tokens.")
    return TokenSection(by_role=by_role, stated_by_source=known)


def _plus(a: N | None, b: N | None) -> N | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b
