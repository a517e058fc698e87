"""The section `slices`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from misjudge_storage.slice_counts import TURNS, SliceCounts
from misjudge_tools.stats.gaps import JointSums, against_rest, difference, score_p
from misjudge_tools.stats.multiplicity import adjusted
from misjudge_tools.stats.power import ALPHA
from misjudge_tools.stats.rates import ClusterSums, NoData, clustered_rate
from misjudge_tools.summary.deciding.slices_values import Dimension, LeftOut, Slice, SlicesSection
from misjudge_tools.summary.judged import Judged

FEWEST_TASKS = 5
"""Tasks that a slice and the rest must have to be tested."""
FEW_TASKS = "Fewer than 5 tasks, here or in the rest: too few to test."
NO_SLICES = NoData(
    why="No decidable pair has a scored call, or all have the same category, turns, models and language. Import what "
    "tells them apart."
)
MISSING: Mapping[Dimension, str] = {
    "category": "Fewer than two categories are known. Give tasks a category.",
    "turns": "The turns of episodes are not known, or all in one band (up to 2, 3-5, 6-10, above 10).",
    "models": "Fewer than two combinations of base models are known. State the base_model of agents.",
    "language": "Fewer than two languages are known. Give tasks a language.",
    "subset": "Tasks come in fewer than two subsets.",
}


def slices_section(of: Judged) -> SlicesSection | NoData:
    """Where the judge is wrong: by category, turns, models, language."""
    if of.group is None or of.paired is None:
        return NO_SLICES
    whole = ClusterSums(*of.group.measures["wrong_calls"])
    mine = [one for one in of.counts.slices if one.judge_id == of.paired.judge_id and one.values > 1]
    if not mine:
        return NO_SLICES
    ordered = [one for name in get_args(Dimension) for one in _in_order([s for s in mine if s.dimension == name])]
    rows = _adjusted([_row(one, whole) for one in ordered])
    seen = {row.dimension for row in rows}
    if "agents" in seen:
        seen.add("models")
    return SlicesSection(
        rows=rows,
        tests=sum(row.difference.p is not None for row in rows),
        left_out=_left_out(ordered),
        why={name: why for name, why in MISSING.items() if name not in seen},
    )


def _in_order(rows: Sequence[SliceCounts]) -> Sequence[SliceCounts]:
    """The largest first, as they come; bands of turns in their order."""
    bands = list(TURNS)
    return sorted(rows, key=lambda one: bands.index(one.value)) if rows and rows[0].dimension == "turns" else rows


def _row(one: SliceCounts, whole: ClusterSums) -> Slice:
    both = against_rest(ClusterSums(*one.calls), whole, one.cross)
    p = _p(both)
    return Slice.model_validate(
        {
            "dimension": one.dimension,
            "value": one.value,
            "n": one.pairs,
            "decidable": one.decidable,
            "misselection": clustered_rate(both.first),
            "difference": difference(both, p),
            "stands_out": False,
            "why": FEW_TASKS if p is None else None,
        }
    )


def _p(both: JointSums) -> float | None:
    tails = score_p(both)
    if tails is None or min(both.first.clusters, both.second.clusters) < FEWEST_TASKS:
        return None
    return tails.unequal


def _adjusted(rows: Sequence[Slice]) -> tuple[Slice, ...]:
    """The rows with what their p-values are worth among all."""
    among_all = adjusted(row.difference.p for row in rows)
    return tuple(_with(row, None if row.difference.p is None else among_all[row.difference.p]) for row in rows)


def _with(row: Slice, p: float | None) -> Slice:
    effect = row.difference.model_copy(update={"p_adjusted": p})
    return row.model_copy(update={"difference": effect, "stands_out": p is not None and p <= ALPHA})


def _left_out(rows: Sequence[SliceCounts]) -> dict[str, LeftOut]:
    found = {}
    for name in dict.fromkeys(one.dimension for one in rows):
        shown = [one for one in rows if one.dimension == name]
        if shown[0].values > len(shown):
            pairs = shown[0].all_pairs - sum(one.pairs for one in shown)
            found[name] = LeftOut(values=shown[0].values - len(shown), pairs=pairs)
    return found
