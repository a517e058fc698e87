"""What the sections of a report say of what only some audits have: panels, people, bills, periods, rubrics."""

from __future__ import annotations

from typing import Any

import pytest

import chart_summaries
from misjudge_tools.report.document import Cell, Document, Section
from misjudge_tools.report.figures import Figure, figures
from misjudge_tools.report.page import Pieces, pieces, span
from misjudge_tools.report.page_parts import document
from misjudge_tools.stats.agreement import Coefficient
from misjudge_tools.stats.correction import Corrected
from misjudge_tools.stats.misselection import DecidedRate, Misselection
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.deciding.agreement_values import AgreementSection, LabelAlpha, LabelledAlike
from misjudge_tools.summary.deciding.bias_values import BiasSection, Leaning, PositionBias
from misjudge_tools.summary.deciding.corrected_values import CorrectedRow, CorrectedSection
from misjudge_tools.summary.deciding.cost_values import (
    Compared,
    CostSection,
    DearSession,
    ModelBill,
    Reconciliation,
    StageCost,
)
from misjudge_tools.summary.deciding.drift_values import Change
from misjudge_tools.summary.deciding.gaps_values import GapDifference, GapsSection
from misjudge_tools.summary.deciding.headline_values import HeadlineSection, MissingArm
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow
from misjudge_tools.summary.deciding.power_values import Needed, PowerSection, Precision
from misjudge_tools.summary.deciding.slices_values import LeftOut, Slice, SlicesSection
from misjudge_tools.summary.deciding.three_way_values import Disagreements, Period, ThreeWaySection
from misjudge_tools.summary.rubric_values import GapRow, InversionRow, MatcherCheck
from misjudge_tools.summary.stopping_values import StoppingFacts
from misjudge_tools.summary.values import (
    AgentOutcome,
    AuditSummary,
    CascadeOutcome,
    JudgeAlone,
    PairCounts,
    PanelSection,
    RoleTokens,
    TokenSection,
)

QUARTER = Rate(rate=0.25, k=5, n=20, low=0.1, high=0.5)
DECIDED = DecidedRate(rate=0.25, k=5, n=20, low=0.1, high=0.5, coverage=0.8)
NUMBER = Coefficient(value=0.5, low=0.25, high=0.75, n=20)
POINTS = Effect(value=0.05, low=-0.01, high=0.11, n=20, p=0.2, p_adjusted=0.4)
OUTCOME: dict[str, Any] = {
    "decided": 20,
    "tie": 2,
    "inconsistent": 3,
    "split": 1,
    "unscored": 0,
    "misselection": DECIDED,
}


def of(**sections: Any) -> Document:
    summary = AuditSummary(audit="a", judge="j", simulated=False, **sections)
    return document(summary, figures(summary), "en")


def section(name: str, **sections: Any) -> Section:
    [found] = [one for one in of(**sections).sections if one.name == name]
    return found


def texts(cells: tuple[Cell, ...]) -> list[str]:
    return [one.text if isinstance(one, Figure) else one for one in cells]


def test_a_panel_stands_beside_its_best_judge_and_a_cascade_beside_its_first() -> None:
    cascade = CascadeOutcome(
        panel=("j", "k"), n=30, decidable=25, escalated=7, first=JudgeAlone(judge="j", **OUTCOME), **OUTCOME
    )
    panel = PanelSection(
        judges=("j", "k"),
        n=30,
        decidable=25,
        not_judged_by_all=4,
        rules={"majority": JudgeAlone(judge="", **OUTCOME), "unanimity": None, "mean_score": None},
        best_judge=JudgeAlone(judge="k", **OUTCOME),
        cascade=cascade,
    )
    found = section("panel", panel=panel)
    assert found.says == ("j, k: 30 pairs that all of them judged, 4 that not all did.",)
    rules, cascaded = found.tables
    assert [texts(row)[0] for row in rules.rows] == ["majority", "best judge: k"]
    assert texts(rules.rows[0])[1:] == ["25.0 % [10.0–50.0] 5/20", "80.0 %", "20", "2", "3", "1", "0"]
    assert [texts(row)[0] for row in cascaded.rows] == ["cascade", "first judge: j"]
    assert cascaded.caption == "The cascade, on its 30 pairs"


def test_agreement_names_who_is_left_out() -> None:
    alike = LabelledAlike(
        first="ann", first_kind="human", second="j", second_kind="judge",
        n=20, observed=QUARTER, expected=0.5, kappa=NUMBER, ac1=NUMBER,
    )  # fmt: skip
    alpha = LabelAlpha(group="people", labellers=2, pairs=20, alpha=NUMBER)
    found = section(
        "agreement",
        agreement=AgreementSection(
            labels_in_use=3, rows_left_out=7, rows=(alike,), alpha=(alpha,), score_alpha=None, errors=None,
            together=None, why={"errors": "There is one judge."},
        ),
    )  # fmt: skip
    assert [table.headings[0] for table in found.tables] == ["two labellers", "labels of"]
    assert texts(found.tables[0].rows[0]) == [
        "ann – j",
        "25.0 % [10.0–50.0] 5/20",
        *["0.50 [0.25, 0.75] n=20"] * 2,
    ]
    assert found.notes == ("7 more couples of labellers are not shown.", "There is one judge.")


def test_what_is_corrected_names_its_share_and_its_assumption() -> None:
    estimate = Estimate(value=0.3, low=0.2, high=0.4, n=50)
    shares: dict[str, Any] = dict.fromkeys(("raw", "raw_labelled", "labelled", "specificity", "sensitivity"), QUARTER)
    facts = Corrected(
        **shares, unlabelled=30, m0=10, m1=10, rogan_gladen=estimate, ppi=None, ppi_weight=None, why={}
    ).model_dump()
    rows = (
        CorrectedRow(estimand="success", agent=None, other=None, **facts),
        CorrectedRow(estimand="win_rate", agent="x", other="y", **facts),
    )
    found = section(
        "corrected",
        corrected=CorrectedSection(
            rows=rows, success=None, win_rate=None, assumes_random=True, assumption="Taken as random.", why={}
        ),
    )
    assert [texts(row)[0] for row in found.tables[0].rows] == ["success: all agents", "win_rate: x – y"]
    assert texts(found.tables[0].rows[0])[3:] == ["30.0 % [20.0–40.0] n=50", "–"]
    assert found.notes == ("Taken as random.",)


def test_drift_lists_what_changed() -> None:
    drift = chart_summaries.full().drift
    assert drift is not None
    changed = (
        Change(side="judge", what="prompt_hash", before="aa", after="bb"),
        Change(side="agents", what="setup", before=None, after="cc", who="x"),
    )
    found = section("drift", drift=drift.model_copy(update={"changed": changed}))
    assert [texts(row) for row in found.tables[1].rows] == [
        ["judge: prompt_hash", "aa", "bb"],
        ["agents x: setup", "–", "cc"],
    ]


def test_periods_stand_in_their_order_with_trends_where_there_are_any() -> None:
    rates: dict[str, Any] = dict.fromkeys(
        (
            *("satisfied_failed", "unsatisfied_succeeded", "satisfaction_against_success", "success_against_human"),
            *("satisfaction_against_human", "any_disagreement", "any_of_three"),
        ),
        QUARTER,
    )
    counts: dict[str, Any] = dict.fromkeys(
        ("sessions", "satisfaction_known", "success_known", "human_known", "all_three_known"), 20
    )
    periods = tuple(Period(starts=f"2026-01-{day:02}", **rates, **counts) for day in range(1, 19))
    facts: dict[str, Any] = {
        "judge": "j", "form": "satisfaction", "threshold": 0.8, "by": "day", "since": None, "time_from": "mixed",
        "undated": 3, "total": Disagreements(**rates, **counts), "periods": periods, "periods_left_out": 2,
    }  # fmt: skip
    found = section("three_way", three_way=ThreeWaySection(**facts, trends={"any_disagreement": POINTS}))
    disagreements, by_period = found.tables
    assert disagreements.headings == ("disagree", "found", "change a period")
    assert texts(disagreements.rows[5]) == ["any two of them", "25.0 % [10.0–50.0] 5/20", "Δ +5.0 [−1.0, +11.0] n=20"]
    assert [texts(row)[0] for row in by_period.rows] == [f"2026-01-{day:02}" for day in range(4, 19)]
    assert by_period.rows[0][1] == figures_of(three_way=ThreeWaySection(**facts))["/three_way/periods/3/sessions"]
    assert found.notes[:2] == ("5 earlier periods are not shown.", "3 sessions are placed by when they were stored.")


def figures_of(**sections: Any) -> dict[str, Figure]:
    return figures(AuditSummary(audit="a", simulated=False, **sections))


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
        stages=(stage("judge", calls_without_price=3), stage("agent", simulated_calls=10, includes_retries=None)),
        dearest=(DearSession(of="pair", id="p1", judge="j", calls=2, input_tokens=9, output_tokens=1, cost=0.1),),
        reconciliation=bill,
    )  # fmt: skip
    found = section("cost", cost=cost)
    assert found.notes[1:] == (
        "judge: no cost is known of 3 of 10 calls.",
        "agent: 10 of 10 calls asked no model and cost nothing.",
        "agent: as its source states it, maybe without retries.",
        "The total is a lower bound: it leaves out calls without a price.",
    )
    heads = [table.headings[0] for table in found.tables]
    assert heads == ["stage", "cost", "dearest judge sessions", "model on the bill"]
    assert [texts(row)[0] for row in found.tables[3].rows] == ["m", "in both", "all"]
    assert texts(found.tables[3].rows[0])[1:] == ["2.0000 USD", "1.0000 USD", "1.00", "2.00"]


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


def test_rubrics_have_gaps_inversions_and_checks() -> None:
    rubrics = chart_summaries.full().rubrics
    assert rubrics is not None
    difference = PairedDifference(
        n=20, difference=0.2, low=0.05, high=0.35, only_first=5, only_second=1, mcnemar_p=0.03
    ).model_dump()
    gaps = GapRow(
        judge="j", protocol="official", first="human", second="self[w]", first_kind="human", second_kind="self",
        first_label="j+human", second_label="j+self", rubric_gap=True, **difference,
    )  # fmt: skip
    inversion = InversionRow(
        judge="j", protocol="official", label="j+self", writer="w", matcher="m", pairs=20, with_high_level=10,
        decided=9,
        inverted=QUARTER, of_wrong=QUARTER, untold=1, examples=(),
    )  # fmt: skip
    check = MatcherCheck(
        writer="w",
        first="m",
        second="n",
        samples=20,
        agreement=QUARTER,
        recall_difference=POINTS,
        disputed=2,
        examples=(),
    )
    whole = rubrics.model_copy(update={"gaps": (gaps,), "inversions": (inversion,), "checks": (check,)})
    found = section("rubrics", rubrics=whole)
    by_head = {table.headings[0]: texts(table.rows[0]) for table in found.tables}
    assert by_head["accuracy with rules of"] == [
        "j: human − self[w]",
        "Δ +20.0 [+5.0, +35.0] n=20",
        "0.0300",
        "rubric gap",
    ]
    assert by_head["value inversion"] == ["j, w", "25.0 % [10.0–50.0] 5/20", "1"]
    assert by_head["two matchers"][0] == "w: m – n"


def test_a_report_of_rubrics_alone_opens_with_what_follows_from_them() -> None:
    rubrics = chart_summaries.full().rubrics
    assert rubrics is not None
    made = of(rubrics=rubrics.model_copy(update={"advice": ("Do not trust this writer.",)}))
    assert made.verdict == ("Do not trust this writer.",) and 0 < len(made.carriers) <= 3
    assert made.carriers[0].figure.name == "/rubrics/writers/0/recall"


def test_more_agents_than_a_table_takes_are_counted_and_trouble_is_told() -> None:
    agents = tuple(
        AgentOutcome(
            agent=f"a{n}", succeeded=5, failed=15, unknown=0, success=QUARTER, trouble="Down." if not n else None
        )
        for n in range(62)
    )
    found = section("agents", agents=agents, pass_hat_k_by_agent={"a0": {"1": 0.25, "2": 0.125}})
    assert len(found.tables[0].rows) == 60 and found.tables[0].note == "2 more agents are not shown."
    assert found.tables[0].headings[-1] == "pass^2" and texts(found.tables[0].rows[0])[-1] == "12.5 %"
    assert found.notes == ("a0: Down.",)


def test_a_figure_is_cut_into_the_parts_that_are_set_apart() -> None:
    def shown(text: str) -> Pieces:
        return pieces(Figure("/x", 0.5, None, None, None, None, text))

    assert shown("25.0 % [10.0–50.0] 5/20") == ("25.0 %", " [10.0–50.0]", " 5/20")
    assert shown("25.0 % [10.0–50.0] n=20 anytime") == ("25.0 %", " [10.0–50.0]", " n=20 anytime")
    assert shown("Δ +5.0 [−1.0, +11.0] n=20") == ("Δ +5.0", " [−1.0, +11.0]", " n=20")
    assert shown("< 0.0001") == ("< 0.0001", "", "") and shown("12,345") == ("12,345", "", "")
    for text in ("25.0 % [10.0–50.0] 5/20", "0.50 [0.25, 0.75] n=20", "–", "0.5000 USD", "odd\ntext"):
        assert "".join(shown(text)) == text


def test_only_a_share_with_an_interval_has_a_bar() -> None:
    share = Figure("/x", 0.25, 5, 20, 0.1, 0.5, "25.0 % [10.0–50.0] 5/20")
    assert span(share) == (25.0, 10.0, 50.0)
    assert span(share._replace(text="0.25 [0.10, 0.50] n=20")) is None and span(share._replace(low=None)) is None
