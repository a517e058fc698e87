"""Shares corrected by labels: right on average from the random stream, and wrong from the most informative pairs."""

from __future__ import annotations

from random import Random
from statistics import fmean, stdev
from typing import Any, NamedTuple

import pytest

from builders import JUDGE, episode, messages, pair, verdict
from label_parts import at_work, with_secret
from misjudge_storage import correction_counts as corrections
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.summary_records import reduce_audit
from misjudge_storage.types import Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.labelling.giving import give_pairs
from misjudge_tools.labelling.recording import record_answers
from misjudge_tools.labelling.values import GivenAnswer
from misjudge_tools.stats.correction import LabelledCells, ppi

PAIRS, LABELS, AUDITS = 40, 16, 150
TRUTH: list[Preference] = ["A" if Random(1).sample(range(PAIRS), PAIRS)[n] < 24 else "B" for n in range(PAIRS)]
NEAR = [truth == "B" and n % 4 > 0 for n, truth in enumerate(TRUTH)]
"""The near pairs, which the chosen stream shows first, are those that the judge gets wrong most often."""


def records() -> list[Record]:
    """The first agent is the better one of three in five pairs; the judge prefers it in more."""
    found = []
    for n, truth in enumerate(TRUTH):
        wrong = NEAR[n] if n % 2 else n % 9 == 0
        said: Preference = truth if not wrong else "A" if truth == "B" else "B"
        sides = [episode(agent, task=f"t{n}", said=messages("hi", "done")) for agent in "xy"]
        key: dict[str, Any] = {"ability_bucket": "near" if NEAR[n] else "wide"}
        found.append(pair(f"p{n}", sides[0], sides[1], verdict(said, "AB"), line=n + 1, **key))
    return found


class Shares(NamedTuple):
    """The share of pairs that the first agent wins, by the labels alone and by PPI."""

    labels: float
    ppi: float


def share_of(deps: Deps, audit: str, only: str | None) -> Shares:
    """The shares after a session; by the labels of one stream `only`, as if they had been imported."""
    audit_id = with_secret(deps.store, records(), f"secret {audit}", audit)
    of = at_work(deps.store, "ann", audit)
    given = give_pairs(deps.store, of, LABELS)
    answers = []
    for one in given:
        truth = TRUTH[int(one.pair_id[1:])]
        shown = truth if one.order_shown == "AB" else "B" if truth == "A" else "A"
        answers.append(GivenAnswer(one.token, shown))
    record_answers(deps.store, of, answers, "sheet")
    if only is not None:
        with deps.store.write() as connection:
            connection.exec_driver_sql(f"UPDATE gold_labels SET stream = NULL WHERE audit_id = '{audit_id}'")
            connection.exec_driver_sql(
                f"""DELETE FROM gold_labels WHERE audit_id = '{audit_id}' AND pair_id IN (
                SELECT pair_id FROM reviews WHERE audit_id = '{audit_id}' AND stream <> '{only}')"""
            )
    with deps.store.read() as connection:
        reduce_audit(connection, audit_id)
        rows = corrections.agent_wins(connection, audit_id, judge_fingerprint(JUDGE))
    cells = next(LabelledCells(*row.cells.totals) for row in rows if row.agent == "x")
    return Shares(cells.positive / cells.labelled, ppi(cells).value)


def bias(found: list[float]) -> float:
    """How many standard errors the mean is away from the truth."""
    error: float = stdev(found) / len(found) ** 0.5
    return (fmean(found) - TRUTH.count("A") / PAIRS) / error


@pytest.mark.slow
def test_the_random_stream_of_a_mixed_session_is_right_on_average(deps: Deps) -> None:
    found = [share_of(deps, f"a{n}", None) for n in range(AUDITS)]
    assert abs(bias([one.labels for one in found])) < 3.5
    assert abs(bias([one.ppi for one in found])) < 3.5


@pytest.mark.slow
def test_the_chosen_stream_taken_for_a_sample_is_wrong(deps: Deps) -> None:
    found = [share_of(deps, f"a{n}", "chosen") for n in range(AUDITS)]
    assert bias([one.labels for one in found]) < -10
