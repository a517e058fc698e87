"""The rule of a cascade: about which pairs the panel is asked, given what the first judge said. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal, NamedTuple, get_args

from misjudge_storage.cascade_records import Question, Said
from misjudge_storage.rows import cell_id, judge_fingerprint
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Order, Preference
from misjudge_tools.judging.choice import JudgingSpec, judge_of, label_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.runs.spec import RunSpec

Reason = Literal["near", "unscored", "inconsistent", "low_margin"]
REASONS: tuple[Reason, ...] = get_args(Reason)
"""Why the panel is asked about a pair; of those that hold the first one."""
Standing = Literal["open", "clear"] | Reason
"""Where a pair stands: the first judge's verdicts are not all there, it decides alone, or why the panel is asked."""
Outcome = Preference | Literal["inconsistent", "unscored"]


class Members(NamedTuple):
    """Who is asked about pairs by a run: the first judge, and the panel behind it."""

    first: JudgingSpec
    panel: tuple[JudgingSpec, ...]

    @property
    def first_id(self) -> str:
        """The fingerprint of the first judge."""
        return judge_fingerprint(judge_of(self.first))

    @property
    def panel_ids(self) -> tuple[str, ...]:
        """The fingerprints of the panel, in its order."""
        return tuple(judge_fingerprint(judge_of(judge)) for judge in self.panel)


class Terms(NamedTuple):
    """What a cascade goes by: the first judge (its name and fingerprint), the panel behind it, and the margin."""

    judge: str
    first_id: str
    panel_ids: tuple[str, ...]
    margin: float


class Asked(NamedTuple):
    """What the first judge is asked about one pair, and the bucket that the pair is declared in."""

    cells: tuple[PlannedCell, ...]
    bucket: str | None

    def standing(self, said: Mapping[str, Said], terms: Terms) -> Standing:
        """Where the pair stands, given the stored verdicts by cell id."""
        return escalation(self.bucket, [said.get(cell.cell_id) for cell in self.cells], terms.margin)


def members(spec: RunSpec) -> Members:
    """Who is asked about pairs by a run that compares."""
    first, *panel = (judge for judge in spec.judges if FORMS[judge.form].compares)
    return Members(first, tuple(panel))


def terms_of(spec: RunSpec) -> Terms | None:
    """What a run goes by that is a cascade; None where it is none."""
    if spec.cascade is None:
        return None
    asked = members(spec)
    return Terms(label_of(asked.first), asked.first_id, asked.panel_ids, spec.cascade.margin)


def escalation(bucket: str | None, verdicts: Sequence[Said | None], margin: float) -> Standing:
    """Where a pair stands after these verdicts of the first judge, in all orders and repeats; None is not there yet.

    A lead is close where the means of both sides' scores differ by less than `margin`, over the calls that have both;
    where no call has scores, a tie is close.
    """
    if bucket == "near":
        return "near"
    there = [verdict for verdict in verdicts if verdict is not None]
    if not there or len(there) < len(verdicts):
        return "open"
    outcome = reduced(there)
    if outcome == "unscored" or outcome == "inconsistent":
        return outcome
    leads = [one.score_a - one.score_b for one in there if one.score_a is not None and one.score_b is not None]
    close = abs(fmean(leads)) < margin if leads else outcome == "tie"
    return "low_margin" if close else "clear"


def reduced(verdicts: Sequence[Said]) -> Outcome:
    """The reduced verdict, as the view `reduced_verdicts` has it: each order decides by the balance of its calls."""
    by_order: dict[Order, list[Preference | None]] = {}
    for verdict in verdicts:
        by_order.setdefault(verdict.order_shown, []).append(verdict.winner)
    picks = {_pick(winners) for winners in by_order.values()}
    if "unscored" in picks:
        return "unscored"
    if "inconsistent" in picks or {"A", "B"} <= picks:
        return "inconsistent"
    return "A" if "A" in picks else "B" if "B" in picks else "tie"


def _pick(winners: Sequence[Preference | None]) -> Outcome:
    a, b = winners.count("A"), winners.count("B")
    if a != b:
        return "A" if a > b else "B"
    if a:
        return "inconsistent"
    return "tie" if "tie" in winners else "unscored"


def by_pair(questions: Iterable[Question]) -> dict[str, Asked]:
    """What the first judge is asked about each pair."""
    cells: dict[str, list[PlannedCell]] = {}
    declared: dict[str, str | None] = {}
    for cell, bucket in questions:
        cells.setdefault(str(cell.pair_id), []).append(cell)
        declared[str(cell.pair_id)] = bucket
    return {pair_id: Asked(tuple(mine), declared[pair_id]) for pair_id, mine in cells.items()}


def panel_cells(audit_id: str, terms: Terms, asked: Asked) -> list[PlannedCell]:
    """What the panel is asked about a pair: the very questions that the first judge is asked."""
    return [
        cell._replace(
            cell_id=cell_id(audit_id, judge_id, str(cell.pair_id), cell.order_shown, cell.repeat),
            actor_id=judge_id,
            seq=0,
        )
        for judge_id in terms.panel_ids
        for cell in asked.cells
    ]
