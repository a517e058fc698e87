"""Whether a judge prefers what models of its own family made."""

from __future__ import annotations

from collections.abc import Mapping

from misjudge_storage.family_picks import FamilyPicks, HalfSums, family_picks
from misjudge_storage.summary_values import JudgeFacts
from misjudge_tools.stats import probes
from misjudge_tools.stats.probes import Effect, PairedSums, paired_effect
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.bias_values import SelfPreference
from misjudge_tools.summary.model_families import judge_families

NO_FAMILY = NoData(
    why="The family of this judge's model is not known. State it in its profile: family in misjudge.toml."
)
NO_MIXED = NoData(
    why="No pair has one side by a model of the judge's own family and one of another known family: state base models, "
    "and pair such agents."
)


def self_preference(counts: AuditCounts, judge: JudgeFacts) -> SelfPreference | NoData:
    """How often the judge picks the side of its own family, beside another judge on the same pairs and beside gold."""
    families = judge_families(counts.judge_models, counts.families)
    own = families.get(judge.judge_id)
    if own is None:
        return NO_FAMILY
    picks = family_picks(counts.with_families, judge.judge_id, own)
    if picks is None:
        return NO_MIXED
    labels = {one.judge_id: one.label for one in counts.judge_models}
    other = _beside(picks, own, families, labels)
    excess = None if other is None else _excess(picks.beside[other])
    by_gold = probes.preference_by_gold(ClusterSums(*picks.own_failed), ClusterSums(*picks.own_did))
    deciding = excess or by_gold
    return SelfPreference(
        family=own,
        own=clustered_rate(ClusterSums(*picks.own)),
        beside=None if other is None else labels.get(other),
        excess=excess,
        by_gold=by_gold,
        stands_out=deciding is not None and deciding.low is not None and deciding.low > 0,
    )


def _beside(picks: FamilyPicks, own: str, families: Mapping[str, str], labels: Mapping[str, str]) -> str | None:
    """The judge to compare with: of another family, first one that is known, with the most pairs."""
    others = [judge_id for judge_id in picks.beside if families.get(judge_id) != own]
    return min(
        others,
        key=lambda judge_id: (judge_id not in families, -picks.beside[judge_id].n, labels.get(judge_id, "")),
        default=None,
    )


def _excess(halves: HalfSums) -> Effect:
    return paired_effect(
        PairedSums(
            clusters=halves.clusters,
            n=halves.n,
            d=halves.d / 2,
            squares=halves.squares / 4,
            dd=halves.dd / 4,
            dn=halves.dn / 2,
            nn=halves.nn,
        )
    )
