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
from misjudge_storage.types import Order, Preference, Record
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
    """The same by a walk through all calls."""
    task_of = {record.pair.pair_id: record.task.task_id for record in records if record.pair and record.task}
    said: dict[tuple[str, str, Order, int], Preference | None] = {call[:4]: call.winner for call in calls}
    probes: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 10)
    baselines: defaultdict[str, list[int]] = defaultdict(lambda: [0] * 3)
    for call in calls:
        named, _, side = call.variant.partition(":")
        probe, made = named.split(".", 1)
        order = OTHER_ORDER[call.order] if probe == "swapped_order" else call.order
        keys = [(call.pair_id, f"baseline.{made}", order, repeat) for repeat in (0, 1)]
        if not all(key in said for key in keys):
            continue
        first, second = (said[key] for key in keys)
        task = task_of[call.pair_id]
        if probe == "baseline":
            if call.repeat == 0:
                counted = [1, bool(first and second), bool(first and second and first != second)]
                baselines[task] = [a + b for a, b in zip(baselines[task], counted, strict=True)]
            continue
        if first is None or second is None or call.winner is None:
            probes[probe, task][1] += 1
            continue
        side = call.order[0] if probe == "swapped_order" else side
        shift = value(call.winner, side) - value(first, side) if side else 0
        flip, baseline_flip = call.winner != first, second != first
        more = [
            1,
            0,
            flip > baseline_flip,
            flip < baseline_flip,
            flip,
            baseline_flip,
            shift,
            shift**2,
            shift > 0,
            shift < 0,
        ]
        probes[probe, task] = [a + b for a, b in zip(probes[probe, task], more, strict=True)]
    return (
        {ProbeTask(*key, *counts) for key, counts in probes.items()},
        {BaselineTask(task, *counts) for task, counts in baselines.items()},
    )


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
    assert len(probes) > 15
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
    assert (one.items, one.gained, one.half_shift, one.towards, one.away) == (1, 1, -2, 0, 1)


def test_a_changed_call_of_another_language_has_no_baseline(store: Store) -> None:
    calls = [*item("p1", "AB", ("A", "A")), ProbeCall("p1", "padding.zh.v1:A", "AB", 0, "B")]
    assert counts_of(store, calls) == {}
