"""What the sections of a report say of what only some audits have: bills, early ends, gaps, kinds of pairs."""

from __future__ import annotations

from typing import Any

import pytest

from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.summary.deciding.bias_values import BiasSection, HeldFixed, Leaning, LengthBias, PositionBias
from misjudge_tools.summary.deciding.cost_values import (
    Compared,
    CostSection,
    DearSession,
    ModelBill,
    Reconciliation,
    StageCost,
)
from misjudge_tools.summary.deciding.gaps_values import GapDifference, GapsSection
from misjudge_tools.summary.deciding.headline_values import HeadlineSection, MissingArm
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow
from misjudge_tools.summary.deciding.power_values import Needed, PowerSection, Precision
from misjudge_tools.summary.deciding.slices_values import LeftOut, Slice, SlicesSection
from misjudge_tools.summary.stopping_values import StoppingFacts
from misjudge_tools.summary.values import (
    PairCounts,
    RoleTokens,
    TokenSection,
)
from section_parts import DECIDED, POINTS, QUARTER, section, texts


def stage(name: str, **changed: Any) -> StageCost:
    facts: dict[str, Any] = {
        "calls": 10, "failed_calls": 1, "retries": 2, "cached": 0, "simulated_calls": 0, "input_tokens": 100,
        "output_tokens": 10, "cost": 0.5, "cost_per_call": 0.05, "price_basis": ("misjudge.toml",),
        "calls_without_price": 0, "calls_without_usage": 0, "includes_retries": True,
    }  # fmt: skip
    return StageCost(stage=name, **{**facts, **changed})


def test_the_cost_says_what_it_leaves_out_and_what_a_bill_says() -> None:
    total = Compared(billed=2.0, estimated=1.0, difference=1.0, ratio=2.0)
    bill = Reconciliation(
        models=(ModelBill(model="m", calls=10, billed_calls=None, only_in=None, **total.model_dump()),),
        matched=total, total=total, rows=1, rows_left_out=0, bill_first_day=None, bill_last_day=None,
        calls_first_day=None, calls_last_day=None,
    )  # fmt: skip
    cost = CostSection(
        by_role={"judge": 0.5}, calls_without_price={}, price_sources={}, total_cost=1.0, complete=False,
        stages=(
            stage("judge", calls_without_price=3),
            stage("agent", simulated_calls=10, calls_without_usage=4, includes_retries=None),
        ),
        dearest=(DearSession(of="pair", id="p1", judge="j", calls=2, input_tokens=9, output_tokens=1, cost=0.1),),
        reconciliation=bill,
    )  # fmt: skip
    found = section("cost", cost=cost)
    assert found.notes[1:] == (
        "agent: 10 of 10 calls asked no model and cost nothing.",
        "agent: as its source states it, maybe without retries.",
        "judge: no cost is known of 3 of 10 calls.",
        "agent: 4 of 10 calls do not state their tokens.",
        "The total is a lower bound: it leaves out calls without a price.",
    )
    heads = [table.headings[0] for table in found.tables]
    assert heads == ["stage", "what it comes to", "dearest judge sessions", "model on the bill"]
    assert [texts(row)[0] for row in found.tables[3].rows] == ["m", "in both", "all"]
    assert texts(found.tables[3].rows[0])[1:] == ["2.0000 USD", "1.0000 USD", "1.0000 USD", "2.00"]


def test_tokens_are_told_where_no_stage_is() -> None:
    tokens = RoleTokens(calls=4, input_tokens=1_200, output_tokens=None, calls_without_usage=1)
    found = section("cost", tokens=TokenSection(by_role={"user_sim": tokens}, stated_by_source=None))
    assert texts(found.tables[0].rows[0]) == ["simulated user", "4", "1,200", "–", "1"]


def headline(**changed: Any) -> HeadlineSection:
    facts: dict[str, Any] = {
        "grade": "undecided", "verdict": ("Nobody knows.",), "would_change": (), "limit": 0.05, "misselection": None,
        "ends": {}, "unscored": {},
    }  # fmt: skip
    return HeadlineSection(**{**facts, **changed})


def test_missing_replies_and_early_ends_are_told_with_the_rates() -> None:
    arms = (
        MissingArm(arm="order AB", calls=20, unscored=9, share=0.45),
        MissingArm(arm="x", calls=9, unscored=0, share=0),
    )
    stopping = StoppingFacts(stopped=(), pairs_saved=12, calls_saved=24, episodes_saved=0)
    wrong = Misselection(**QUARTER.model_dump(), decided=DECIDED, all_pairs_rate=0.2, interval="anytime")
    found = section(
        "wrong",
        misselection=wrong,
        pairs=PairCounts(n=30, decidable=20, gold_tie=6, gold_unknown=4),
        headline=headline(misselection=wrong, missing=arms, asymmetric=("order AB",), stopping=stopping),
        unscored={"refused": 9},
    )
    assert found.notes[0] == "Of 4 pairs nobody knows which side was better: they are in no error rate."
    assert found.notes[1].endswith("spared 12 pairs and 24 calls.")
    assert found.notes[2].startswith("Replies are missing unevenly: order AB in 9 of 20 calls.")
    assert [table.headings[0] for table in found.tables] == [
        "picked the side that failed",
        "which side was better",
        "replies that could not be read",
    ]


def gap(**changed: Any) -> GapDifference:
    facts: dict[str, Any] = {
        "gap": "ability", "circular": False, "near_bucket": "near", "near_range": "below 0.1", "far_buckets": ("wide",),
        "near": QUARTER, "far": QUARTER, "near_pairs": 5, "far_pairs": 15, "tasks": 20, "tasks_with_both": 0,
        "difference": POINTS, "test": "score", "near_is_worse": False,
    }  # fmt: skip
    return GapDifference(**{**facts, **changed})


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({}, "ability: near pairs are not shown to be worse; this audit could miss any difference."),
        (
            {"smallest_seen": 0.2},
            "ability: near pairs are not shown to be worse; this audit can miss a difference below 20.0 points.",
        ),
        ({"why": "There is one task."}, "ability: There is one task."),
    ],
)
def test_a_gap_that_shows_nothing_says_what_could_be_missed(changed: dict[str, Any], note: str) -> None:
    found = section("gaps", gaps=GapsSection(rows=(gap(**changed),)))
    assert found.notes[1] == note
    assert texts(found.tables[0].rows[0])[3:] == ["Δ +5.0 [−1.0, +11.0] n=20", "0.2000"]


def test_a_gap_that_shows_something_leaves_nothing_open() -> None:
    found = section("gaps", gaps=GapsSection(rows=(gap(near_is_worse=True, circular=True),)))
    assert len(found.notes) == 1 and texts(found.tables[0].rows[0])[0] == "ability (circular)"


def test_kinds_of_pairs_say_whether_one_stands_out() -> None:
    one = Slice(
        dimension="category", value="refund", n=9, decidable=5, misselection=QUARTER, difference=POINTS, stands_out=True
    )
    other = one.model_copy(update={"value": "query", "stands_out": False})
    more = {"category": LeftOut(values=2, pairs=7)}
    found = section("slices", slices=SlicesSection(rows=(one, other), tests=2, left_out=more))
    assert [texts(row)[0] for row in found.tables[0].rows] == ["refund *", "query"]
    assert found.tables[0].note == "Not shown: 2 further, with 7 pairs."
    assert found.notes[0].startswith("* stands out among the 2")
    none = section("slices", slices=SlicesSection(rows=(other,), tests=1))
    assert none.notes[0].startswith("None of the 1")


def test_what_precision_takes_is_told_or_said_to_be_out_of_reach() -> None:
    needed = Needed(decidable=100, pairs=1_500, tasks=90, more=1_200)
    power = PowerSection(
        misselection=QUARTER, half_width=0.2, tasks=20, pairs=30, decidable=20, effective=18.5, deff=1.1,
        needed_for=(Precision(half_width=0.05, needed=needed), Precision(half_width=0.025, needed=None)), limit=0.05,
        smallest_passing=73, shown_under=None, shown_over=0.3, to_show_under=needed, to_show_over=needed,
    )  # fmt: skip
    rows = [texts(row) for row in section("power", power=power).tables[1].rows]
    assert rows == [
        ["an interval of ± 5 points", "1,500", "1,200"],
        ["an interval of ± 2.5 points", "more than ten million", ""],
        ["it shown under 5 %", "1,500", "1,200"],
        ["it shown over 5 %", "1,500", "1,200"],
    ]


def test_a_policy_without_verdicts_is_named_with_its_reason() -> None:
    rows = (
        PolicyRow(policy="repeats", why="Nothing was repeated."),
        PolicyRow(policy="cascade", source="cascade run", decidable=20, coverage=0.5, misselection=QUARTER),
    )
    found = section("policies", policies=PoliciesSection(rows=rows, region=None, why={"region": "Too few."}))
    assert [texts(row)[:3] for row in found.tables[0].rows] == [
        ["cascade (cascade run)", "25.0 % [10.0–50.0] 5/20", "50.0 %"]
    ]
    assert found.notes == ("repeats: Nothing was repeated.", "Too few.") and found.says == ()


def test_a_constant_answer_and_a_sample_are_told() -> None:
    first = Leaning(**QUARTER.model_dump(), unbiased=0.5, stands_out=True)
    position = PositionBias(first=first, flip_rate=QUARTER, accuracy=QUARTER, constant="first")
    found = section("habits", bias=BiasSection(pairs=10, pairs_in_all=20, position=position))
    assert found.notes == (
        "It gave a constant answer: the side shown first.",
        "Counted on 10 of 20 pairs, whole tasks.",
    )


def length(odds: float | None) -> BiasSection:
    found = LengthBias(
        length_by="transcript_characters",
        longer=Leaning(**QUARTER.model_dump(), unbiased=0.5, stands_out=True),
        with_gold_fixed=HeldFixed(value=odds, low=odds, high=odds, n=20, unbiased=1, stands_out=False),
        equal=1,
        unknown=2,
    )
    return BiasSection(pairs=20, pairs_in_all=20, length=found)


@pytest.mark.parametrize(
    ("odds", "rows", "note"),
    [
        (0.4, 2, "Picks of the longer side prove no bias where longer episodes are better: the odds ratio holds gold"),
        (None, 1, "Picks of the longer side prove no bias: longer episodes may be better. The odds ratio, which would"),
    ],
)
def test_picks_of_the_longer_side_are_said_to_prove_no_bias(odds: float | None, rows: int, note: str) -> None:
    found = section("habits", bias=length(odds))
    assert found.notes[0].startswith(note)
    assert found.notes[1].startswith("Length by characters of the transcript; picks on 1 pairs")
    assert len(found.tables[0].rows) == rows and texts(found.tables[0].rows[0])[0] == "picks of the longer side"
    assert not any("no bias: 50" in text for text in texts(found.tables[0].rows[0]))


def test_what_holds_for_several_measures_is_noted_once() -> None:
    once = "Only one judge of pairs: judge the pairs with another one, too."
    rows = (PolicyRow(policy="repeats", why="Nothing was repeated."),)
    found = section("policies", policies=PoliciesSection(rows=rows, region=None, why={"cost": once, "region": once}))
    assert found.notes == ("repeats: Nothing was repeated.", once)


def test_what_is_not_known_of_the_cost_is_named_with_its_reason_once() -> None:
    nobody, one = "Of no episode is it known whether it did its task.", "It is of one judge."
    cost = CostSection(
        by_role={}, calls_without_price={}, price_sources={}, complete=True, stages=(stage("judge"),), dearest=(),
        why={"cost_per_success": nobody, "rollout_cost_per_success": nobody, "cost_per_correct_selection": one},
    )  # fmt: skip
    assert section("cost", cost=cost).notes[1:] == (
        "Not known: cost for each session that did its task; cost of agents and simulated users for each such session. "
        f"{nobody}",
        f"Not known: judge, for each pair that it got right. {one}",
    )
