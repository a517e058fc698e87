"""The section `agreement`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from misjudge_storage.agreement_counts import SAID, Couple, Couples, GroupLabels, Labeller, couples_with
from misjudge_storage.task_moments import Moments
from misjudge_tools.stats.agreement import agreement
from misjudge_tools.stats.common_errors import CommonErrors, Together, common_errors, together
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
from misjudge_tools.summary.parts import AGREEMENT, first_rows, said

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
TOO_MANY = "The judge has {} couples, too many beside those of other judges: choose it (judge=LABEL) to see them."

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
    told, only = of.once(couples_told), only_judge(of)
    if not (told.labelled or found.groups or found.scored):
        return NOTHING_IN_COMMON
    first = first_rows(AGREEMENT, of.counts.question.sections)
    if first is not None:
        return _parts(found, told, first)
    say = _Reasons()
    rows, errors = (_first(of, couples) for couples in (told.labelled, told.decided))
    return AgreementSection(
        rows_left_out=len(told.labelled) - len(rows),
        errors_left_out=len(told.decided) - len(errors),
        rows=say.none("rows", _rows(told, rows), _no_rows(found, told, only)),
        alpha=say.none("alpha", _alphas(found, only, say), NO_PAIRS_IN_COMMON if only is None else ONCE),
        score_alpha=say.none("score_alpha", _score_alphas(found, only), NO_SCORES if only is None else ONCE),
        errors=say.none("errors", _errors(told, errors), _no_errors(found, told)),
        together=_together(found, told, only, say),
        why=say.why,
    )


def _parts(found: AgreementCounts, told: CouplesTold, first: Mapping[str, int]) -> AgreementSection:
    """Only the rows that are asked for, from their first on."""
    rows = told.labelled[first["rows"] :] if "rows" in first else ()
    errors = told.decided[first["errors"] :] if "errors" in first else ()
    return AgreementSection(
        parts=said(first),
        rows_left_out=max(0, len(rows) - MOST_ROWS),
        errors_left_out=max(0, len(errors) - MOST_ROWS),
        rows=_rows(told, rows[:MOST_ROWS]),
        alpha=(),
        score_alpha=(),
        errors=_errors(told, errors[:MOST_ROWS]),
        together=None,
        why={},
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


def _first(of: Judged, couples: Sequence[Couple]) -> Sequence[Couple]:
    """Those to tell. Beside the couples of other judges, all that there are or none: a part of each judge's would only
    make a summary of hundreds of judges long.
    """
    return () if of.beside and len(couples) > MOST_ROWS else couples[:MOST_ROWS]


def _no_rows(found: AgreementCounts, told: CouplesTold, only: str | None) -> str:
    if told.labelled:
        return TOO_MANY.format(len(told.labelled))
    if not found.many:
        return NO_PAIRS_IN_COMMON
    number = f"There are {len(found.labellers)} labellers, so people are not set beside each other one by one."
    return f"{number} Choose one judge (judge=LABEL) to see it with each." if only is None else number


def _no_errors(found: AgreementCounts, told: CouplesTold) -> str:
    if told.decided:
        return TOO_MANY.format(len(told.decided))
    return NO_COMMON_DECISION if len(_judges(found)) > 1 else ONE_JUDGE


def _judges(found: AgreementCounts) -> list[Labeller]:
    return [one for one in found.labellers if one.kind == "judge"]


def only_judge(of: Judged) -> str | None:
    """The judge whose couples are told, None: those of all."""
    return None if of.entry is None or of.alone else of.entry.judge


class CouplesTold(NamedTuple):
    """Couples to tell, with pairs in common, and those of judges that decided one of known gold; what is `known` of
    each, None where nothing is of any.
    """

    labelled: Sequence[Couple]
    decided: Sequence[Couple]
    known: Couples | None


def couples_told(of: Judged) -> CouplesTold:
    """Those of a summary; of many labellers, people stand only beside the one judge that was asked for."""
    found, only = of.counts.agreement, only_judge(of)
    if found is None or found.couples is None:
        return CouplesTold((), (), None)
    if only is None:
        return CouplesTold(found.couples.labelled, found.couples.decided, found.couples)
    me = next((one for one in _judges(found) if one.name == only), None)
    apart = found.many and not of.beside
    known = found.couples if me is None or not apart else couples_with(of.counts.reduced, me)
    return CouplesTold(known.labelled_with(only), known.decided_with(only), known)


def _rows(told: CouplesTold, among: Sequence[Couple]) -> tuple[LabelledAlike, ...]:
    return tuple(_row(couple, told.known.cells(couple)) for couple in among if told.known)


def _row(couple: Couple, cells: Moments) -> LabelledAlike:
    return LabelledAlike(
        first=couple.first.name,
        first_kind=couple.first.kind,
        second=couple.second.name,
        second_kind=couple.second.kind,
        **dict(agreement(cells, SAID)),
    )


def _errors(told: CouplesTold, among: Sequence[Couple]) -> tuple[WrongTogether, ...]:
    return tuple(_wrong(couple, told.known.wrong(couple)) for couple in among if told.known)


def _wrong(couple: Couple, wrong: Moments) -> WrongTogether:
    return WrongTogether(first=couple.first.name, second=couple.second.name, **dict(common_errors(wrong)))


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


def _together(found: AgreementCounts, told: CouplesTold, only: str | None, say: _Reasons) -> Together | None:
    """The judges that are counted among all, as one panel."""
    if only is not None:
        say.why["together"] = ONCE
        return None
    panel = {one for one in _judges(found) if one.counted}
    pairs = _all_errors(told, panel)
    made = together(pairs, len(panel)) if len(pairs) == len(panel) * (len(panel) - 1) // 2 else None
    if made is None:
        say.why["together"] = NO_CORRELATION if len(panel) > 1 else ONE_JUDGE
    return made


def _all_errors(told: CouplesTold, panel: set[Labeller]) -> list[CommonErrors]:
    """Of every two judges of a panel that decided a pair of known gold in common."""
    known = told.known
    return [common_errors(known.wrong(couple)) for couple in told.decided if known and panel.issuperset(couple)]
