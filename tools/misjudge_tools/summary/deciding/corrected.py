"""The section `corrected`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from misjudge_storage.correction_counts import Corrections
from misjudge_tools.stats.correction import TaskNumbers, corrected
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.correction_reading import CorrectionCounts
from misjudge_tools.summary.deciding.corrected_values import CorrectedRow, CorrectedSection, CorrectionBasis
from misjudge_tools.summary.judged import Judged

ASSUMPTION = (
    "Nothing stored says how the labelled ones were chosen: they are taken as a random sample. If they were chosen for "
    "being hard, disputed or of one kind, the corrected shares are wrong; compare raw_labelled with raw_unlabelled."
)
DRAWN = (
    "The labelled ones are those that reviews drew at random. Those chosen for being informative count as unlabelled."
)
NO_CANDIDATES = "No model checked the success of an episode, so no success rate rests on one."
CHECKS_ABOVE = "Success rates that rest on models' checks belong to the audit: see its summary of all judges."
NO_CHECK_LABELS = (
    "No episode that a model checked has a label: have people say of a random sample, 20 or more of each kind, whether "
    "the task was done."
)
NO_PAIRS = "The judge scored no pair of two agents, or only such as labellers disagree on."
PAIRS_BELOW = "Win rates are those of one judge: choose it with judge=LABEL."
NO_PAIR_LABELS = (
    "No pair that the judge scored has a label by people: have a random sample labelled, 20 or more of each kind."
)
ALL_PAIRS_KNOWN = (
    "Gold is known of every pair that the judge scored, so no win rate rests on the judge alone: see misselection."
)
ALL_CHECKS_KNOWN = "Whether the task was done is known of every episode that a model checked, so no rate rests on one."

Estimand = Literal["success", "win_rate"]


class _Part(NamedTuple):
    """The rows of one estimand, with what they are of; without rows why there are none."""

    rows: Sequence[CorrectedRow]
    basis: CorrectionBasis | None
    why: str | None = None


class _Words(NamedTuple):
    """Why there are no rows: there is nothing of the kind, nothing labelled, or nothing that is not known."""

    nothing: str
    no_labels: str
    all_known: str


def corrected_section(of: Judged) -> CorrectedSection | NoData:
    """What rests on a judge or a model's check, corrected by human labels."""
    success, win_rate = _success(of), _win_rate(of)
    why = {name: part.why for name, part in (("success", success), ("win_rate", win_rate)) if part.why}
    if not (success.rows or win_rate.rows):
        return NoData(why=" ".join(why.values()))
    return CorrectedSection(
        rows=(*success.rows, *win_rate.rows),
        success=success.basis,
        win_rate=win_rate.basis,
        assumes_random=not of.counts.random_labels,
        assumption=DRAWN if of.counts.random_labels else ASSUMPTION,
        why=why,
    )


def _success(of: Judged) -> _Part:
    if of.beside or not of.alone:
        return _Part((), None, CHECKS_ABOVE)
    found = of.counts.checked_episodes
    if found is None:
        return _Part((), None, NO_CANDIDATES)
    return _part("success", found, _Words(NO_CANDIDATES, NO_CHECK_LABELS, ALL_CHECKS_KNOWN))


def _win_rate(of: Judged) -> _Part:
    if of.paired is None or of.group is None:
        return _Part((), None, NO_PAIRS if of.entry else PAIRS_BELOW)
    if not of.group.gold_unknown:
        return _Part((), None, ALL_PAIRS_KNOWN)
    if not of.counts.human_labels:
        return _Part((), None, NO_PAIR_LABELS)
    words = _Words(NO_PAIRS, NO_PAIR_LABELS, ALL_PAIRS_KNOWN)
    return _part("win_rate", of.counts.wins(of.paired.judge_id), words)


def _part(estimand: Estimand, found: CorrectionCounts, words: _Words) -> _Part:
    if not found.basis.unlabelled:
        return _Part((), None, words.all_known if found.basis.labelled or found.basis.otherwise else words.nothing)
    if not found.shares:
        return _Part((), None, words.no_labels)
    basis = CorrectionBasis(
        labelled=found.basis.labelled,
        unlabelled=found.basis.unlabelled,
        known_otherwise=found.basis.otherwise,
    )
    return _Part([_row(estimand, share) for share in found.shares], basis)


def _row(estimand: Estimand, share: Corrections) -> CorrectedRow:
    tasks = TaskNumbers(share.negative_tasks, share.positive_tasks, share.labelled_tasks, share.unlabelled_tasks)
    found = corrected(share.cells, tasks)
    return CorrectedRow(estimand=estimand, agent=share.agent, other=share.other, **dict(found))
