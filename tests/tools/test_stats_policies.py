"""Margins come from the scale, and a region is certified no more often than it may be."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from misjudge_tools.gateway.simulated_bias import SimulatedBias, draws_of
from misjudge_tools.probing.variants import BASELINE, Variant
from misjudge_tools.runs.plan import ORDERS
from misjudge_tools.stats.policies import Candidate, Region, certify, margin_step, margins
from misjudge_tools.stats.rates import NONE, ClusterSums, Tally, cluster_sums, independent
from planted_counts import drawn_kinds, facts_of_kind, is_wrong
from planted_items import MODEL, verdict

GOOD, BAD = SimulatedBias(noise=0.02), SimulatedBias(noise=0.3, length=0.3)
POSITION = SimulatedBias(noise=0.02, position=0.3)
"""Wrong in one of two orders only, so that both orders are worth their price."""
AUDITS, TASKS = 200, 300
"""A seeded audit has two pairs a task, four fifths of them decidable."""


@pytest.mark.parametrize(
    ("low", "high", "tried"),
    [
        (0, 10, (1, 2, 3, 4, 5, 6)),
        (1, 7, (1, 2, 3, 4, 5, 6)),
        (0, 5, (0.5, 1, 1.5, 2, 2.5, 3)),
        (1, 5, (0.5, 1, 1.5, 2, 2.5, 3)),
        (0, 1, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        (0, 100, (10, 20, 30, 40, 50, 60)),
        (-1, 0.1, (0.2, 0.4, 0.6, 0.8, 1.0)),
        (0, 2, (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)),
    ],
)
def test_margins_are_round_numbers_of_the_scale(low: float, high: float, tried: tuple[float, ...]) -> None:
    assert margins(low, high) == pytest.approx(tried)


def test_without_a_scale_there_is_no_margin_to_try() -> None:
    assert margins(None, 5) == margins(0, None) == margins(3, 3) == ()
    assert margin_step(None, None) is None


def candidate(policy: str, k: int, n: int) -> Candidate:
    return Candidate(policy, independent(k, n), n / 1000)


def test_the_region_is_the_last_policy_that_passed() -> None:
    found = certify([candidate("strict", 0, 200), candidate("middle", 5, 500), candidate("loose", 80, 1000)])
    assert (found.policy, found.coverage, found.tasks, found.method) == ("middle", 0.5, 500, "fixed sequence")
    assert [(test.policy, test.certified) for test in found.tested] == [
        ("strict", True),
        ("middle", True),
        ("loose", False),
    ]
    assert found.bound == found.tested[1].bound < 0.05 < found.tested[2].bound


def test_nothing_is_tested_behind_the_first_failure() -> None:
    found = certify([candidate("strict", 30, 200), candidate("loose", 0, 1000)])
    assert (found.policy, found.bound, [test.policy for test in found.tested]) == (None, None, ["strict"])


def test_what_could_not_pass_without_an_error_is_left_out_beforehand() -> None:
    found = certify([candidate("few", 0, 58), candidate("enough", 0, 59)])
    assert (found.policy, found.too_few) == ("enough", ("few",))
    none = certify([candidate("few", 0, 58), Candidate("nothing", NONE, None)])
    assert (none.policy, none.tested, none.too_few) == (None, (), ("few", "nothing"))


def test_a_stricter_limit_never_widens_the_region() -> None:
    rules = [candidate("strict", 1, 400), candidate("loose", 12, 600)]
    names = [certify(rules, limit).policy for limit in (0.005, 0.02, 0.05)]
    assert names == [None, "strict", "loose"]


def test_tasks_that_go_together_count_as_fewer() -> None:
    alone = certify([Candidate("both_orders", independent(8, 400), 1.0)])
    together = certify([Candidate("both_orders", cluster_sums([Tally(4, 4)] * 2 + [Tally(0, 4)] * 98), 1.0)])
    assert alone.policy == "both_orders" and together.policy is None
    assert together.tested[0].n < alone.tested[0].n / 3


def planted_region(bias: SimulatedBias, key: str) -> Region:
    """The region of one audit of a planted judge, by the policies that need no scores."""
    draw, calls, pairs, decidable = Random(key), list[Tally](), list[Tally](), 0
    for task in range(TASKS):
        wrong_calls = decided_calls = wrong = decided = 0
        for nth, kind in enumerate(kind for kind in drawn_kinds(draw) if kind.better != "tie"):
            decidable += 1
            said = []
            for order in ORDERS:
                facts = facts_of_kind(bias, kind, Variant(BASELINE, "en"), order)
                said.append(verdict(bias, draws_of(bias, MODEL, f"{key} {task} {nth} {order}"), facts, order))
            found = [is_wrong(kind, one) for one in said if one != "tie"]
            wrong_calls, decided_calls = wrong_calls + sum(found), decided_calls + len(found)
            if len(set(said)) == 1:
                wrong, decided = wrong + found[0], decided + 1
        calls.append(Tally(wrong_calls, decided_calls))
        pairs.append(Tally(wrong, decided))
    both, one = cluster_sums(pairs), cluster_sums(calls)
    return certify(
        [
            Candidate("both_orders", both, both.n / decidable),
            Candidate("one_call", one, one.n / (2 * decidable)),
        ]
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("bias", "expected", "least", "most"),
    [
        pytest.param(GOOD, {"one_call"}, 0.9, 1.0, id="good"),
        pytest.param(POSITION, {"both_orders"}, 0.9, 1.0, id="good in both orders only"),
        pytest.param(BAD, {"both_orders", "one_call"}, 0.0, 0.05, id="bad"),
    ],
)
def test_a_good_planted_judge_gets_a_region_and_a_bad_one_hardly_ever(
    bias: SimulatedBias, expected: set[str], least: float, most: float
) -> None:
    regions = [planted_region(bias, f"audit {n}").policy for n in range(AUDITS)]
    share = sum(region in expected for region in regions) / AUDITS
    assert least <= share <= most, regions


def drawn(rng: np.random.Generator, error: float, rho: float, sizes: np.ndarray) -> list[ClusterSums]:
    """Nested policies of one audit, all as often wrong, the strictest first: each decides a part of the next."""
    shares = rng.beta(error * (1 - rho) / rho, (1 - error) * (1 - rho) / rho, len(sizes))
    parts = rng.multinomial(1, [0.3, 0.3, 0.4], (len(sizes), sizes.max()))
    wrong = rng.random((len(sizes), sizes.max())) < shares[:, None]
    there = np.arange(sizes.max()) < sizes[:, None]
    found = []
    for level in range(3):
        decided = there & (parts[:, :, : level + 1].sum(axis=2) > 0)
        k, n = (decided & wrong).sum(axis=1), decided.sum(axis=1)
        found.append(cluster_sums(Tally(a, b) for a, b in zip(k.tolist(), n.tolist(), strict=True)))
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("rho", [0.05, 0.3])
@pytest.mark.parametrize("tasks", [100, 300])
def test_a_judge_that_is_wrong_just_as_often_as_the_limit_is_certified_in_at_most_5_of_100_audits(
    tasks: int, rho: float
) -> None:
    rng = np.random.default_rng(7)
    sizes = np.tile([2, 4, 6], tasks)[:tasks]
    certified = sum(
        certify([Candidate(str(n), sums, None) for n, sums in enumerate(drawn(rng, 0.05, rho, sizes))]).policy
        is not None
        for _ in range(2_000)
    )
    assert certified / 2_000 <= 0.065
