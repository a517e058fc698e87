"""The section `kappa`: what `agreement` counts of labels, as one number a couple."""

from __future__ import annotations

from misjudge_storage.agreement_counts import SAID, Couple
from misjudge_tools.stats.agreement import cohen_kappa, table_of
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.deciding.agreement import couples_told, only_judge
from misjudge_tools.summary.judged import Judged

NO_PAIRS_IN_COMMON = NoData(why="No two labellers (annotators, or judges by what they decide) labelled the same pairs.")


def kappa_section(of: Judged) -> dict[str, float | None] | NoData:
    """κ of every two labellers, or of a judge with each other labeller, by `"annotator|judge"`.

    A name that a person and a data set have in common stands for the person.
    """
    found = of.counts.agreement
    if found is not None and found.many and only_judge(of) is None:
        return NoData(
            why=f"There are {len(found.labellers)} labellers; choose one judge to see its agreement with each."
        )
    told = of.once(couples_told)
    # People come first, so that they replace a data set.
    tables = {_name(couple): told.known.table(couple) for couple in reversed(told.labelled) if told.known}
    if not tables:
        return NO_PAIRS_IN_COMMON
    return {name: cohen_kappa(table_of(table, SAID)).kappa for name, table in sorted(tables.items())}


def _name(couple: Couple) -> str:
    """Annotators of either kind by name, then judges by theirs."""
    return "|".join(one.name for one in sorted(couple, key=lambda one: (one.kind == "judge", one.name)))
