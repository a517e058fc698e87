"""Which pairs and episodes a summary names as contradicting the judge, against a count in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings

import brute_force as by_hand
from brute_force import Judged
from builders import JUDGE, episode, label, lone, pair, passed, rewarded, satisfied, verdict
from generated import audits, fresh
from misjudge_storage.engine import Store
from misjudge_storage.types import Judge, Preference, Record, Satisfaction, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import RecordRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.conflicts import ALONE, AMONG_OTHERS
from misjudge_tools.summary.deciding.conflicts_values import ConflictsSection, PairConflicts
from operations import stored

HOSTILE = "p/../<b>\x1b[31m '; DROP TABLE pairs --"


def conflicts(store: Store, judge: str = "judge", *others: str) -> ConflictsSection:
    found = summarize(SummarizeRequest(audit="a", judge=judge, sections=["conflicts", *others]), store).conflicts
    assert found is not None
    return found


def success(one: Judged, side: Preference | None) -> bool | None:
    check = by_hand.best(one.record.episodes[0 if side == "A" else 1], "passed")
    return None if check is None else check.passed


def kind_of(one: Judged) -> str | None:
    if one.pref in {"A", "B"}:
        if one.decidable:
            return "strict" if one.pref != one.gold else None
        other: Preference = "B" if one.pref == "A" else "A"
        return "unsupported" if success(one, one.pref) is False and not success(one, other) else None
    return "missed" if one.decidable and one.status in {"tie", "inconsistent"} else None


def among(pairs: Sequence[Judged], kind: str) -> int:
    if kind == "missed":
        return sum(one.decidable and one.status != "unscored" for one in pairs)
    return sum(one.pref in {"A", "B"} and one.decidable == (kind == "strict") for one in pairs)


@settings(max_examples=20)
@given(audits())
def test_every_pair_that_contradicts_the_judge_is_counted_and_named(records: list[Record]) -> None:
    pairs = by_hand.judged(records, JUDGE.label)
    with fresh() as (store, _):
        stored(store, records)
        if not pairs:
            return
        summary = summarize(SummarizeRequest(audit="a", judge=JUDGE.label, sections=["conflicts"]), store)
    kinds = ("strict", "unsupported", "missed")
    if summary.conflicts is None:
        assert "conflicts" in summary.why and not any(among(pairs, kind) for kind in kinds)
        return
    for kind in kinds:
        found: PairConflicts = getattr(summary.conflicts, kind)
        named = {one.record.pair.pair_id for one in pairs if one.record.pair and kind_of(one) == kind}
        assert (found.k, found.n) == (len(named), among(pairs, kind))
        assert {row.pair_id for row in found.rows} == named
        for row in found.rows:
            (one,) = (one for one in pairs if one.record.pair and one.record.pair.pair_id == row.pair_id)
            assert (row.pref, row.gold, row.status, row.task_id) == (one.pref, one.gold, one.status, one.task)


def wrong(number: int, **facts: Any) -> list[Record]:
    """Pairs on which A succeeded and the judge picked B, surer of itself from one to the next."""
    return [
        pair(
            f"p{n:03}",
            episode("x", passed(True), rewarded(0.75), task=f"t{n}"),
            episode("y", passed(False), rewarded(0.5), task=f"t{n}"),
            verdict("B", "AB", score_a=1.0, score_b=1.0 + n),
            line=n + 1,
            **facts,
        )
        for n in range(number)
    ]


def test_the_surest_come_first_and_as_many_as_there_is_room_for(deps: Deps) -> None:
    stored(deps.store, wrong(30, ability_bucket="near"))
    found = conflicts(deps.store).strict
    assert found is not None and (found.k, found.n, len(found.rows)) == (30, 30, ALONE)
    first = found.rows[0]
    assert (first.pair_id, first.margin, first.gap, first.ability_bucket) == ("p029", 29.0, 0.25, "near")
    assert (first.agent_a, first.agent_b, first.gold_source) == ("x", "y", "verifier")
    assert [row.margin for row in found.rows] == [29.0 - n for n in range(ALONE)]
    beside = conflicts(deps.store, "judge", "pairs").strict
    assert beside is not None and beside.rows == found.rows[:AMONG_OTHERS]


def test_both_orders_alike_come_before_a_tie_in_one_and_near_pairs_before_others(deps: Deps) -> None:
    def one(name: str, *said: Any, **facts: Any) -> Record:
        sides = [episode(side, passed(side == "x"), task=name) for side in "xy"]
        return pair(name, sides[0], sides[1], *said, **facts)

    both = (verdict("B", "AB"), verdict("B", "BA"))
    stored(
        deps.store,
        [
            one("a weak", verdict("B", "AB"), verdict("tie", "BA"), ability_bucket="near"),
            one("b one order", verdict("B", "AB"), ability_bucket="near"),
            one("c wide", *both, ability_bucket="wide", line=2),
            one("d near", *both, ability_bucket="near", line=3),
        ],
    )
    found = conflicts(deps.store).strict
    assert found is not None
    assert [row.pair_id for row in found.rows] == ["d near", "c wide", "b one order", "a weak"]


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_margin_is_by_how_much_the_pick_was_scored_better(deps: Deps, better: str) -> None:
    judge = Judge(label="judge", form="pairwise", scale=Scale.model_validate({"low": 0, "high": 10, "better": better}))
    sides = [episode(side, passed(side == "x")) for side in "xy"]
    stored(deps.store, [pair("p", sides[0], sides[1], verdict("B", "AB", judge=judge, score_a=2.0, score_b=5.0))])
    found = conflicts(deps.store).strict
    assert found is not None
    assert found.rows[0].margin == (3.0 if better == "higher" else -3.0)


def test_a_pick_of_a_failed_side_is_unsupported_where_the_other_one_is_no_better_known(deps: Deps) -> None:
    def one(name: str, a: bool | None, b: bool | None, *gold: Preference) -> Record:
        sides = [
            episode(side, *([] if did is None else [passed(did)]), task=name) for side, did in (("x", a), ("y", b))
        ]
        return pair(name, sides[0], sides[1], verdict("A", "AB"), gold=[label(pref) for pref in gold])

    records = [one("alike", False, False), one("unknown", False, None), one("fine", True, True)]
    records += [one("misselected", False, True), one("human", False, False, "A"), one("disputed", False, True, "tie")]
    stored(deps.store, records)
    found = conflicts(deps.store)
    assert found.unsupported is not None and found.strict is not None
    assert [row.pair_id for row in found.unsupported.rows] == ["alike", "unknown"]
    assert [row.pair_id for row in found.strict.rows] == ["misselected"]
    assert (found.unsupported.n, found.strict.n) == (4, 2)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_failed_episodes_that_satisfied_the_judge_are_named_the_best_scored_first(deps: Deps, better: str) -> None:
    scale = Scale.model_validate({"low": 1, "high": 5, "threshold": 3, "better": better})
    judge = Judge(label="gate", form="satisfaction", scale=scale)
    records = [
        lone(
            episode(f"a{n}", passed(n % 2 == 0), satisfaction=[Satisfaction(judge=judge, score=float(1 + n % 5))]),
            line=n + 1,
        )
        for n in range(10)
    ]
    stored(deps.store, records)
    found = conflicts(deps.store, "gate").satisfied_failed
    assert found is not None and found.n == 6
    scores = [row.score for row in found.rows]
    assert scores == ([5.0, 4.0, 3.0] if better == "higher" else [1.0, 2.0, 3.0]) and found.k == 3
    assert all(row.agent in {"a1", "a3", "a5", "a7", "a9"} for row in found.rows)


def test_scores_without_a_threshold_or_a_known_outcome_contradict_nothing(deps: Deps) -> None:
    stored(deps.store, [lone(episode("x", satisfaction=[satisfied(0.9)]))])
    summary = summarize(SummarizeRequest(audit="a", judge="gate", sections=["conflicts"]), deps.store)
    assert summary.conflicts is None and "threshold" in summary.why["conflicts"]


def test_a_judge_that_no_evidence_speaks_of_has_no_conflicts_and_says_why(deps: Deps) -> None:
    stored(deps.store, [pair("p", None, None, verdict("tie", "AB"))])
    summary = summarize(SummarizeRequest(audit="a", sections=["conflicts"]), deps.store)
    assert summary.conflicts is None and "Import labels" in summary.why["conflicts"]


async def test_hostile_ids_are_quoted_in_uris_that_lead_to_the_pair(deps: Deps) -> None:
    sides = [episode(side, passed(side == "x")) for side in "xy"]
    stored(deps.store, [pair(HOSTILE, sides[0], sides[1], verdict("B", "AB"))])
    found = conflicts(deps.store).strict
    assert found is not None and found.rows[0].pair_id == HOSTILE
    uri = found.rows[0].uri
    assert "\x1b" not in uri and "<" not in uri and "/../" not in uri
    page = await read_record(RecordRequest(uri=uri), deps)
    assert page.record["pair_id"] == HOSTILE
    listed = await read_record(RecordRequest(uri=conflicts(deps.store).more.split()[-1]), deps)
    assert [row["pair_id"] for row in listed.record["pairs"]] == [HOSTILE]
