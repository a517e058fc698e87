"""What a summary counts of labellers that labelled the same pairs, read from the store at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import agreement_counts as counted
from misjudge_storage.agreement_counts import Couples, GroupLabels, Labeller, ScoredUnits
from misjudge_storage.summary_values import JudgeFacts
from misjudge_storage.types import Form
from misjudge_tools.summary.sections import MOST_LABELLERS


class ScoredForm(NamedTuple):
    """Judges of one form, by label, whose scores are comparable, and what several of them scored."""

    form: Form
    judges: tuple[str, ...]
    scored: ScoredUnits


class AgreementCounts(NamedTuple):
    """The `labellers` of pairs, every two of them (`couples`; of more than `MOST_LABELLERS` only the judges; None for
    one), and all together by group and by form.
    """

    labellers: Sequence[Labeller]
    couples: Couples | None
    groups: Sequence[GroupLabels]
    scored: Sequence[ScoredForm]

    @property
    def many(self) -> bool:
        """Whether the couples are those of judges only."""
        return len(self.labellers) > MOST_LABELLERS


def set_aside(judges: Sequence[JudgeFacts], panel: Collection[str] | None) -> set[str]:
    """The ids of judges that are compared, but not counted among all: those outside the panel that was asked for, else
    those that apply rules or may name no tie, where there are two others.
    """
    if panel:
        return {judge.judge_id for judge in judges if judge.label not in panel}
    apart = {judge.judge_id for judge in judges if judge.apart}
    return apart if len(judges) - len(apart) > 1 else set()


def read_agreement(
    connection: Connection, audit_id: str, judges: Sequence[JudgeFacts], aside: Collection[str]
) -> AgreementCounts:
    """Of a reduced audit."""
    counted.hold_labels(connection, audit_id, aside)
    labellers = counted.labellers(connection)
    several = len(labellers) > 1
    many = len(labellers) > MOST_LABELLERS
    among = [judge for judge in judges if judge.judge_id not in aside]
    return AgreementCounts(
        labellers=labellers,
        couples=counted.couples(connection, only_judges=many) if several else None,
        groups=counted.group_labels(connection) if several else (),
        scored=[found for form in _forms(among) if (found := _scored(connection, audit_id, among, form))],
    )


def _forms(judges: Sequence[JudgeFacts]) -> list[Form]:
    return list(dict.fromkeys(judge.form for judge in judges))


def _scored(connection: Connection, audit_id: str, judges: Sequence[JudgeFacts], form: Form) -> ScoredForm | None:
    """None where no two judges of this form have comparable scores: all on known scales, or all on unknown ones."""
    mine = [judge for judge in judges if judge.form == form]
    scaled = [judge for judge in mine if judge.low is not None and judge.high is not None and judge.high > judge.low]
    chosen = scaled or mine
    if len(chosen) < 2:
        return None
    read = counted.scored_leads if form == "pairwise" else counted.scored_trajectories
    found = read(connection, audit_id, [judge.judge_id for judge in chosen])
    return ScoredForm(form, tuple(judge.label for judge in chosen), found) if found.units else None
