"""What the data base counts of probes is what plain Python counts of the same calls."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest

from builders import label
from misjudge_storage.engine import Store
from misjudge_storage.probe_records import BaselineErrors, BaselineTask, ProbeTask, probed_judge, probed_judges
from misjudge_storage.rows import audit_id
from misjudge_storage.types import NO_REPLY, Preference, Record
from probed import ASKED, OTHER_ORDER, ProbeCall, item, pair_of, random_calls, store_probes

PROBES = ("padding", "swapped_order", "criteria_order", "whitespace")
MODELS = ("gpt-4o", "qwen-max", "x")


def random_pairs(draw: random.Random) -> list[Record]:
    return [
        pair_of(number, f"t{draw.randrange(5)}", (draw.choice(MODELS), "y"), draw.choice(("A", "B", None)))
        for number in range(30)
    ]


def value(winner: Preference, side: str) -> int:
    return {side: 2, "tie": 1}.get(winner, 0)


def recounted(records: Sequence[Record], calls: Sequence[ProbeCall]) -> tuple[set[ProbeTask], set[BaselineTask]]:
    """The same by a walk through all calls, which were stored in their order."""
    task_of = {record.pair.pair_id: record.task.task_id for record in records if record.pair and record.task}
    said = {call[:4]: call for call in calls}
    latest: dict[tuple[str, str | None, str], list[int]] = {}
    baselines: defaultdict[str, list[int]] = defaultdict(lambda: [0] * 3)
    for call in calls:
        named, _, changed = call.variant.partition(":")
        side, _, aim = changed.partition(".")
        probe, made = named.split(".", 1)
        order = OTHER_ORDER[call.order] if probe == "swapped_order" else call.order
        keys = [(call.pair_id, f"baseline.{made}", order, repeat) for repeat in (0, 1)]
        if not all(key in said for key in keys):
            continue
        one, two = (said[key] for key in keys)
        if probe == "baseline":
            if call.repeat == 0:
                counted = [
                    1,
                    bool(one.winner and two.winner),
                    bool(one.winner and two.winner and one.winner != two.winner),
                ]
                task = task_of[call.pair_id]
                baselines[task] = [a + b for a, b in zip(baselines[task], counted, strict=True)]
            continue
        side = call.order[0] if probe == "swapped_order" else side
        latest[probe, aim or None, call.pair_id] = _counted(one, two, call, side)
    probes: defaultdict[tuple[str, str | None, str], list[int]] = defaultdict(lambda: [0] * 13)
    for (probe, of, pair_id), more in latest.items():
        row = (probe, of, task_of[pair_id])
        probes[row] = [a + b for a, b in zip(probes[row], more, strict=True)]
    return (
        {ProbeTask(*key, *counts) for key, counts in probes.items()},
        {BaselineTask(task, *counts) for task, counts in baselines.items()},
    )


def _counted(one: ProbeCall, two: ProbeCall, changed: ProbeCall, side: str) -> list[int]:
    first, second, winner = one.winner, two.winner, changed.winner
    answered = not any(call.winner is None and call.reason in NO_REPLY for call in (one, two, changed))
    unscored = [
        winner is None,
        (first is None) + (second is None),
        winner is None and first is not None,
        winner is not None and first is None,
    ]
    replies = [answered, *(answered * each for each in unscored)]
    if first is None or second is None or winner is None:
        return [0, 1, *[0] * 6, *replies]
    shift = value(winner, side) - value(first, side) if side else 0
    flip, baseline_flip = winner != first, second != first
    return [1, 0, flip > baseline_flip, flip < baseline_flip, flip, baseline_flip, shift, shift**2, *replies]


@pytest.mark.parametrize("seed", range(4))
def test_the_counts_are_those_of_a_walk_through_all_calls(any_store: Store, seed: int) -> None:
    draw = random.Random(seed)
    records = random_pairs(draw)
    calls = random_calls(draw, records, PROBES)
    judge_id = store_probes(any_store, records, calls)
    with any_store.read() as connection:
        found = probed_judge(connection, audit_id("a"), judge_id)
    assert found is not None
    probes, baselines = recounted(records, calls)
    assert len(probes) > 20
    assert {one.aim for one in probes} == {None, "failed"}
    assert set(found.probes) == probes
    assert set(found.baselines) == baselines


@pytest.mark.parametrize("seed", range(3))
def test_first_baselines_are_counted_by_who_did_the_job(any_store: Store, seed: int) -> None:
    draw = random.Random(seed)
    records = random_pairs(draw)
    calls = random_calls(draw, records, PROBES)
    judge_id = store_probes(any_store, records, calls)
    with any_store.read() as connection:
        found = probed_judge(connection, audit_id("a"), judge_id)
    expected: defaultdict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        assert record.pair is not None
        assert record.task is not None
        a, b = (one.trajectory.agent for one in record.episodes)
        gold = next(
            (side for side, one in zip("AB", record.episodes, strict=True) if one.checks and one.checks[0].passed), None
        )
        for call in calls:
            first = call.pair_id == record.pair.pair_id and call.variant.startswith("baseline") and call.repeat == 0
            if first and gold and call.winner:
                counts = expected[record.task.task_id, *((a, b) if gold == "A" else (b, a))]
                counts[0] += 1
                counts[1] += call.winner not in ("tie", gold)
    assert found is not None
    assert set(found.errors) == {BaselineErrors(*key, *counts) for key, counts in expected.items()}


def test_a_side_goes_by_its_base_model_where_one_is_stated(store: Store) -> None:
    record = pair_of(1, "t1", better="B")
    a, b = record.episodes
    named = a.model_copy(update={"trajectory": a.trajectory.model_copy(update={"base_model": "gpt-4o"})})
    judge_id = store_probes(
        store, [record.model_copy(update={"episodes": (named, b)})], list(item("p1", "AB", ("A", "B")))
    )
    with store.read() as connection:
        found = probed_judge(connection, audit_id("a"), judge_id)
    assert found is not None
    assert found.errors == [BaselineErrors("t1", better="y", worse="gpt-4o", calls=1, wrong=1)]


def test_a_label_of_people_is_gold_here_too(store: Store) -> None:
    record = pair_of(1, "t1", better="B").model_copy(update={"gold": (label("A"),)})
    judge_id = store_probes(store, [record], list(item("p1", "AB", ("A", "B"))))
    with store.read() as connection:
        found = probed_judge(connection, audit_id("a"), judge_id)
    assert found is not None
    assert [(one.better, one.wrong) for one in found.errors] == [("x", 0)]


def test_a_judge_that_was_not_probed_has_no_counts(store: Store) -> None:
    judge_id = store_probes(store, [pair_of(1, "t1")], [])
    with store.read() as connection:
        assert probed_judges(connection, audit_id("a")) == {}
        assert probed_judge(connection, audit_id("a"), judge_id) is None
        assert probed_judge(connection, audit_id("a"), "nobody") is None


def test_every_probed_judge_of_the_audit_is_counted_and_no_other(store: Store) -> None:
    other = ASKED.model_copy(update={"label": "other", "model": "gpt-4o"})
    first = store_probes(store, [pair_of(1, "t1")], list(item("p1", "AB", ("A", "A"), padding__A="B")))
    second = store_probes(store, [pair_of(1, "t1")], list(item("p1", "AB", ("A", "B"))), other)
    started = store_probes(
        store,
        [pair_of(1, "t1")],
        list(item("p1", "AB", ("A",))),
        ASKED.model_copy(update={"label": "third", "params": "3"}),
    )
    with store.read() as connection:
        found = probed_judges(connection, audit_id("a"))
        assert {judge: one.model for judge, one in found.items()} == {first: "qwen-max", second: "gpt-4o"}
        assert started not in found
        assert (found[first].baselines[0].flips, found[second].baselines[0].flips) == (0, 1)
        assert (len(found[first].probes), len(found[second].probes)) == (1, 0)
        assert probed_judges(connection, audit_id("b")) == {}


def counts_of(store: Store, calls: Sequence[ProbeCall]) -> Mapping[str, ProbeTask]:
    judge_id = store_probes(store, [pair_of(1, "t1")], calls)
    with store.read() as connection:
        found = probed_judge(connection, audit_id("a"), judge_id)
    assert found is not None
    assert (found.model, found.params) == (ASKED.model, ASKED.params)
    return {one.probe: one for one in found.probes}


def test_an_order_swapped_shifts_to_the_side_shown_first_then(store: Store) -> None:
    """The item is shown as BA, so the swapped call shows A first; picking B in it moves away from the first."""
    one = counts_of(store, list(item("p1", "BA", ("A", "A"), swapped_order="B")))["swapped_order"]
    assert (one.items, one.gained, one.half_shift, one.quarter_squares) == (1, 1, -2, 4)


def test_a_changed_call_of_another_language_has_no_baseline(store: Store) -> None:
    calls = [*item("p1", "AB", ("A", "A")), ProbeCall("p1", "padding.zh.v1:A", "AB", 0, "B")]
    assert counts_of(store, calls) == {}


def test_a_side_that_was_drawn_and_one_that_failed_are_counted_apart(store: Store) -> None:
    calls = item("p1", "AB", ("A", "A"), padding__A="A", padding__B__failed="B", whitespace__A__failed="A")
    judge_id = store_probes(store, [pair_of(1, "t1")], list(calls))
    with store.read() as connection:
        found = probed_judge(connection, audit_id("a"), judge_id)
    assert found is not None
    assert [(one.probe, one.aim, one.items, one.flips) for one in found.probes] == [
        ("padding", None, 1, 0),
        ("padding", "failed", 1, 1),
        ("whitespace", "failed", 1, 0),
    ]


@pytest.mark.parametrize(("first", "then"), [("A", "B"), ("B", "A")])
def test_a_pair_counts_once_a_row_by_its_latest_call(store: Store, first: str, then: str) -> None:
    """Gold was corrected between two calls, and the other side failed then."""
    calls = [
        *item("p1", "AB", ("A", "A")),
        ProbeCall("p1", f"padding.en.v1:{first}.failed", "AB", 0, "A"),
        ProbeCall("p1", f"padding.en.v1:{then}.failed", "AB", 0, "B"),
    ]
    one = counts_of(store, calls)["padding"]
    assert (one.items, one.flips, one.half_shift) == (1, 1, 2 if then == "B" else -2)


def test_a_call_that_got_no_reply_says_nothing_of_what_can_be_read(store: Store) -> None:
    calls = [
        *item("p1", "AB", ("A", "A"), padding__A=None, promise__A=None),
        *item("p2", "AB", ("A", None), padding__A="A"),
    ]
    silent = [
        call._replace(reason="context_overflow") if call.variant.startswith("padding") else call for call in calls
    ]
    judge_id = store_probes(store, [pair_of(1, "t1"), pair_of(2, "t1")], silent)
    with store.read() as connection:
        found = probed_judge(connection, audit_id("a"), judge_id)
    assert found is not None
    padding, promise = found.probes
    assert (padding.left_out, padding.replied, padding.unscored, padding.baseline_unscored) == (2, 1, 0, 1)
    assert (promise.left_out, promise.replied, promise.unscored, promise.newly_unscored) == (1, 1, 1, 1)
