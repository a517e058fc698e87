"""In which order a pair is shown: balanced, drawn by the audit's seed, and the same for every judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_parts import SHOP, ran, shop
from misjudge_storage.run_records import PlannedCell, create_run
from misjudge_storage.types import Order
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest, SummarizeRequest
from misjudge_tools.results import JudgeResult
from misjudge_tools.runs.plan import ORDERS, OrdersOf, balanced_orders, both_orders, fixed_order
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import AuditSummary
from operations import NOWHERE, opened, pair_records, rows, stored

IDS = st.lists(st.text(max_size=5), unique=True, max_size=12)
SEEDS = st.integers(0, 2**31)
REPEATS = st.integers(1, 4)
Known = dict[tuple[str, int], Order]


def chosen(orders: OrdersOf, pair_ids: Iterable[str], repeats: int) -> Known:
    """The single order of each pair and repeat."""
    found: Known = {}
    for pair_id in pair_ids:
        for repeat in range(repeats):
            (found[pair_id, repeat],) = orders(pair_id, repeat)
    return found


def surplus(orders: Iterable[Order]) -> int:
    """By how much one order is shown more often than the other."""
    numbers = Counter(orders)
    return abs(numbers["AB"] - numbers["BA"])


@given(SEEDS, IDS, REPEATS)
def test_orders_are_balanced_over_pairs_and_over_the_repeats_of_a_pair(seed: int, ids: list[str], repeats: int) -> None:
    found = chosen(balanced_orders(seed, ids, {}), ids, repeats)
    for repeat in range(repeats):
        assert surplus(order for (_, n), order in found.items() if n == repeat) == len(ids) % 2
    for pair_id in ids:
        assert surplus(order for (one, _), order in found.items() if one == pair_id) == repeats % 2


@given(SEEDS, IDS)
def test_a_plan_that_is_cut_short_is_balanced_too(seed: int, ids: list[str]) -> None:
    found = chosen(balanced_orders(seed, ids, {}), ids, 1)
    for most in range(len(ids) + 1):
        assert surplus(found[pair_id, 0] for pair_id in ids[:most]) == most % 2


@given(SEEDS, IDS, REPEATS)
def test_the_same_seed_gives_the_same_orders(seed: int, ids: list[str], repeats: int) -> None:
    orders = [chosen(balanced_orders(seed, ids, {}), ids, repeats) for _ in range(2)]
    assert orders[0] == orders[1]


def test_the_seed_decides_who_is_shown_first() -> None:
    ids = [f"p{n}" for n in range(8)]
    drawn = {tuple(chosen(balanced_orders(seed, ids, {}), ids, 1).values()) for seed in range(400)}
    assert len(drawn) == 2**4, "four coins, one for every two pairs"
    heads = sum(balanced_orders(seed, ["p"], {})("p", 0) == ("AB",) for seed in range(1000))
    assert 430 < heads < 570, "a fair coin leaves these bounds once in 100,000 tries"


@given(SEEDS, IDS, st.data())
def test_orders_stay_when_pairs_are_added_or_chosen_or_repeats_are_raised(
    seed: int, ids: list[str], data: st.DataObject
) -> None:
    planned: Known = {}
    for _ in range(4):
        some = [pair_id for pair_id in ids if data.draw(st.booleans())]
        repeats = data.draw(REPEATS)
        found = chosen(balanced_orders(seed, some, planned), some, repeats)
        assert all(planned.get(key, order) == order for key, order in found.items())
        planned |= found
        assert surplus(order for (_, repeat), order in planned.items() if repeat == 0) <= 1
        for pair_id in some:
            assert surplus(found[pair_id, repeat] for repeat in range(repeats)) == repeats % 2


def test_what_is_known_of_a_later_repeat_alone_says_what_the_first_one_was() -> None:
    orders = balanced_orders(0, ["p", "q"], {("p", 1): "AB"})
    assert (orders("p", 0), orders("p", 1), orders("p", 2)) == (("BA",), ("AB",), ("BA",))
    assert orders("q", 0) == ("AB",)


@given(st.text(), st.integers(0, 20))
def test_both_and_fixed_orders_know_no_chance(pair_id: str, repeat: int) -> None:
    assert tuple(both_orders(pair_id, repeat)) == ORDERS
    assert tuple(fixed_order(pair_id, repeat)) == ("AB",)


# ---- from a request to what was asked


async def judging(deps: Deps, judge_name: str = "simulated", **values: Any) -> JudgeResult:
    asked = {"audit": "a", "judge": judge_name, "orders": "random", **values}
    return await judge(JudgeRequest.model_validate(asked), deps)


def asked_orders(deps: Deps, judge_name: str = "simulated") -> Known:
    """In which order this judge was shown each pair and repeat; of more than one the test fails."""
    query = """
        SELECT v.pair_id, v.repeat, v.order_shown FROM verdicts v
        JOIN judges j ON j.judge_id = v.judge_id AND j.audit_id = v.audit_id WHERE j.label = :judge
    """
    found = [((row["pair_id"], row["repeat"]), row["order_shown"]) for row in rows(deps.store, query, judge=judge_name)]
    assert len(found) == len(dict(found))
    return dict(found)


OTHER = "simulated:noise=0.1"


async def test_one_order_of_each_pair_is_asked_and_half_of_them_are_a_first(deps: Deps) -> None:
    stored(deps.store, pair_records(10))
    done = await judging(deps)
    assert (done.run.state, done.run.total) == ("done", 10)
    assert surplus(asked_orders(deps).values()) == 0
    again = await judging(deps)
    assert (again.run.total, again.already_stored) == (0, 10)


async def test_a_second_judge_is_shown_what_the_first_one_saw_though_pairs_were_added(deps: Deps) -> None:
    stored(deps.store, pair_records(5))
    await judging(deps)
    first = asked_orders(deps)
    stored(deps.store, pair_records(6, start=5))
    await judging(deps, OTHER, repeats=2)
    other = asked_orders(deps, OTHER)
    assert {key: order for key, order in other.items() if key in first} == first
    assert len(other) == 22
    assert all(other[pair_id, 1] != order for (pair_id, repeat), order in other.items() if repeat == 0)
    assert surplus(order for (_, repeat), order in other.items() if repeat == 0) == 1
    await judging(deps)
    assert asked_orders(deps) == {key: order for key, order in other.items() if key[1] == 0}


async def test_a_panel_is_shown_one_order(deps: Deps) -> None:
    stored(deps.store, pair_records(7))
    done = await judging(deps, panel=[OTHER], repeats=2)
    assert (done.run.state, done.run.total) == ("done", 28)
    assert asked_orders(deps) == asked_orders(deps, OTHER)


async def test_chosen_pairs_keep_their_order_in_a_run_of_all(deps: Deps) -> None:
    stored(deps.store, pair_records(9))
    await judging(deps, pair_ids=["p3", "p7", "p8"])
    chosen_ones = asked_orders(deps)
    done = await judging(deps)
    assert (done.run.total, done.already_stored) == (6, 3)
    assert asked_orders(deps).items() >= chosen_ones.items()
    assert surplus(asked_orders(deps).values()) == 1


@pytest.mark.parametrize("before", ["fixed", "both"])
async def test_what_was_asked_in_another_way_does_not_choose_the_order(deps: Deps, before: str) -> None:
    stored(deps.store, pair_records(8))
    await judging(deps, orders=before)
    await judging(deps, OTHER)
    assert surplus(asked_orders(deps, OTHER).values()) == 0


async def test_a_run_of_another_version_that_cannot_be_read_has_no_say(deps: Deps) -> None:
    audit = stored(deps.store, pair_records(2))
    other = PlannedCell("cell", "pairwise", "jdg", "p0", None, "AB", 0)
    with deps.store.write() as connection:
        create_run(connection, audit, "judge", '{"judges": "of tomorrow"}', None, [other])
    done = await judging(deps)
    assert (done.run.state, done.run.total, surplus(asked_orders(deps).values())) == ("done", 2, 0)


async def test_a_fixed_order_is_a_first_for_every_pair_and_repeat(deps: Deps) -> None:
    stored(deps.store, pair_records(4))
    await judging(deps, orders="fixed", repeats=2)
    assert Counter(asked_orders(deps).values()) == {"AB": 8}


async def test_responses_that_calls_give_one_by_one_are_balanced_too(deps: Deps) -> None:
    for number in range(6):
        await judging(deps, task_prompt=f"Cancel order {number}.", response_a="Cancelled.", response_b="I could not.")
    assert surplus(asked_orders(deps).values()) == 0


async def test_agents_that_are_run_live_are_judged_in_one_balanced_order(tmp_path: Path) -> None:
    suite = shop(tmp_path / "shop", 4)
    async with opened(tmp_path / "s.db", NOWHERE, episodes=SHOP) as deps:
        two = ["diligent", "hasty"]
        done = await ran(deps, suite=suite, agents=two, orders="random", signals=[])
        assert {stage.stage: stage.total for stage in done.run.stages} == {"rollout": 8, "pairwise": 4}
        first = asked_orders(deps)
        assert surplus(first.values()) == 0
        await ran(deps, suite=suite, agents=[*two, "padder"], orders="random", signals=[])
        assert asked_orders(deps).items() >= first.items()
        assert surplus(asked_orders(deps).values()) == 0


def summary(deps: Deps, sections: Sequence[str] | None = None) -> AuditSummary:
    return summarize(SummarizeRequest(audit="a", sections=None if sections is None else list(sections)), deps.store)


async def test_flips_cannot_be_seen_in_one_order_and_the_summary_says_so(deps: Deps) -> None:
    stored(deps.store, pair_records(10))
    await judging(deps)
    found = summary(deps)
    steady = found.consistency
    assert steady is not None and found.pairs is not None and found.misselection is not None
    assert (steady.flip_rate, steady.soft_flip_rate, steady.agreement) == (None, None, None)
    assert found.why["consistency.flip_rate"].startswith("No pair has both orders scored")
    assert None not in (steady.letter_a_share, steady.accuracy, steady.vote_accuracy)
    assert (found.pairs.inconsistent, found.pairs.n, found.misselection.n) == (0, 10, 10)
    assert "consistency.flip_rate" in summary(deps, ["consistency"]).why
    assert "consistency.flip_rate" not in summary(deps, ["pairs"]).why
    await judging(deps, orders="both")
    both = summary(deps)
    assert both.consistency is not None and both.consistency.flip_rate is not None
    assert "consistency.flip_rate" not in both.why
