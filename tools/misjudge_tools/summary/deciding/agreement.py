"""The section `agreement`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from misjudge_storage.agreement_counts import SAID, CoupleCounts, GroupLabels, Labeller, couples
from misjudge_tools.stats.agreement import agreement
from misjudge_tools.stats.common_errors import Together, common_errors, together
from misjudge_tools.stats.krippendorff_alpha import alpha_interval, alpha_nominal
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.agreement_reading import AgreementCounts
from misjudge_tools.summary.deciding.agreement_values import (
    AgreementSection,
    LabelAlpha,
    LabelledAlike,
    ScoreAlpha,
    WrongTogether,
)
from misjudge_tools.summary.judged import Judged

NOBODY_ELSE = NoData(
    why="Only one labels the pairs: judge them with another judge, or import labels of people (gold_labels)."
)
NOTHING_IN_COMMON = NoData(why="No two labellers labelled the same pairs, and no two judges scored the same.")
NO_PAIRS_IN_COMMON = "No two labellers labelled the same pairs."
NO_PEOPLE = "No two people labelled the same pair: have some pairs labelled by two."
ONE_JUDGE = "Only one judge of pairs: judge the pairs with another one, too."
ONCE = "Given once, at the top of a summary of all judges."
NO_COMMON_DECISION = "No two judges decided the same pair of known gold."
NO_SCORES = "No two judges of one form, on scales that are known, scored the same."
NO_CORRELATION = (
    "Of two of the judges no correlation of errors is known: they decided no pair in common, or one of them is never "
    "(or always) wrong there."
)

MOST_ROWS = 100
"""Couples that are told; the number of the others is."""

T = TypeVar("T")
Group = Literal["people", "judges", "all"]
_GROUPS: dict[Group, tuple[str, ...]] = {
    "people": ("human",),
    "judges": ("judge",),
    "all": ("human", "label", "judge"),
}


def agreement_section(of: Judged) -> AgreementSection | NoData:
    """How far judges and people agree beyond chance, and whether judges err together."""
    found = of.counts.agreement
    if found is None or (len(found.labellers) < 2 and not found.scored):
        return NOBODY_ELSE
    if not (found.couples or found.groups or found.scored):
        return NOTHING_IN_COMMON
    only = None if of.entry is None or of.alone else of.entry.judge
    say = _Reasons()
    rows = [_row(couple, found.in_use) for couple in _couples(of, found, only)]
    errors = [row for couple in _with(only, found.couples) if (row := _wrong(couple)).n]
    return AgreementSection(
        labels_in_use=found.in_use,
        rows_left_out=max(0, len(rows) - MOST_ROWS),
        errors_left_out=max(0, len(errors) - MOST_ROWS),
        rows=say.none("rows", tuple(rows[:MOST_ROWS]), _no_rows(found, only)),
        alpha=say.none("alpha", _alphas(found, only, say), NO_PAIRS_IN_COMMON if only is None else ONCE),
        score_alpha=say.none("score_alpha", _score_alphas(found, only), NO_SCORES if only is None else ONCE),
        errors=say.none(
            "errors", tuple(errors[:MOST_ROWS]), NO_COMMON_DECISION if len(_judges(found)) > 1 else ONE_JUDGE
        ),
        together=_together(found, only, say),
        why=say.why,
    )


class _Reasons:
    """Collects why a part is None."""

    def __init__(self) -> None:
        self.why: dict[str, str] = {}

    def none(self, name: str, found: tuple[T, ...], reason: str) -> tuple[T, ...] | None:
        """What was found, None where there is nothing."""
        if found:
            return found
        self.why[name] = reason
        return None


def _no_rows(found: AgreementCounts, only: str | None) -> str:
    if not found.many:
        return NO_PAIRS_IN_COMMON
    number = f"There are {len(found.labellers)} labellers, so people are not set beside each other one by one."
    return f"{number} Choose one judge (judge=LABEL) to see it with each." if only is None else number


def _judges(found: AgreementCounts) -> list[Labeller]:
    return [one for one in found.labellers if one.kind == "judge"]


def _couples(of: Judged, found: AgreementCounts, only: str | None) -> Sequence[CoupleCounts]:
    """Those to show; of many labellers, people stand only beside the one judge that was asked for."""
    if found.many and only is not None and not of.beside:
        return couples(of.counts.reduced, only)
    return _with(only, found.couples)


def _with(only: str | None, among: Sequence[CoupleCounts]) -> list[CoupleCounts]:
    """The couples that this judge is one of, None: all."""
    return [
        couple
        for couple in among
        if only is None or any(one.kind == "judge" and one.name == only for one in (couple.first, couple.second))
    ]


def _row(couple: CoupleCounts, in_use: int) -> LabelledAlike:
    return LabelledAlike(
        first=couple.first.name,
        first_kind=couple.first.kind,
        second=couple.second.name,
        second_kind=couple.second.kind,
        **dict(agreement(couple.cells, SAID, max(2, in_use))),
    )


def _wrong(couple: CoupleCounts) -> WrongTogether:
    return WrongTogether(first=couple.first.name, second=couple.second.name, **dict(common_errors(couple.wrong)))


def _alphas(found: AgreementCounts, only: str | None, say: _Reasons) -> tuple[LabelAlpha, ...]:
    if only is not None:
        return ()
    groups = {one.group: one for one in found.groups}
    if "people" not in groups:
        say.why["alpha.people"] = NO_PEOPLE
    return tuple(_alpha(found, name, groups[name]) for name in _GROUPS if name in groups)


def _alpha(found: AgreementCounts, name: Group, counts: GroupLabels) -> LabelAlpha:
    number = sum(one.kind in _GROUPS[name] and one.counted for one in found.labellers)
    return LabelAlpha(group=name, labellers=number, pairs=counts.pairs, alpha=alpha_nominal(counts.moments))


def _score_alphas(found: AgreementCounts, only: str | None) -> tuple[ScoreAlpha, ...]:
    return tuple(
        ScoreAlpha(form=one.form, judges=one.judges, units=one.scored.units, alpha=alpha_interval(one.scored.moments))
        for one in found.scored
        if only is None
    )


def _together(found: AgreementCounts, only: str | None, say: _Reasons) -> Together | None:
    """The judges that are counted among all, as one panel."""
    if only is not None:
        say.why["together"] = ONCE
        return None
    panel = [one for one in _judges(found) if one.counted]
    pairs = [common_errors(couple.wrong) for couple in found.couples if {couple.first, couple.second} <= {*panel}]
    made = together(pairs, len(panel)) if len(pairs) == len(panel) * (len(panel) - 1) // 2 else None
    if made is None:
        say.why["together"] = NO_CORRELATION if len(panel) > 1 else ONE_JUDGE
    return made
