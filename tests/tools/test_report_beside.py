"""What a report says of a judge beside others: panels, people, baselines; and of agents, periods and rubrics."""

from __future__ import annotations

from typing import Any

import chart_summaries
from misjudge_tools.stats.correction import Corrected
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.stats.trials import PassHat
from misjudge_tools.summary.deciding.agreement_values import AgreementSection, LabelAlpha, LabelledAlike
from misjudge_tools.summary.deciding.corrected_values import CorrectedRow, CorrectedSection
from misjudge_tools.summary.deciding.drift_values import Change
from misjudge_tools.summary.deciding.three_way_values import Disagreements, Period, ThreeWaySection
from misjudge_tools.summary.rubric_values import GapRow, InversionRow, MatcherCheck
from misjudge_tools.summary.values import (
    AgentOutcome,
    CascadeOutcome,
    JudgeAlone,
    PanelSection,
)
from section_parts import NUMBER, OUTCOME, POINTS, QUARTER, figures_of, of, section, texts


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
    assert texts(rules.rows[0])[1:] == ["25.0 % [10.0–50.0] 5/20", "80.0 % 20/25", "20", "2", "3", "1", "0"]
    assert [texts(row)[0] for row in cascaded.rows] == ["cascade", "first judge: j"]
    assert cascaded.caption == "The cascade, on its 30 pairs"


def test_agreement_names_who_is_left_out() -> None:
    alike = LabelledAlike(
        first="ann", first_kind="human", second="j", second_kind="judge",
        n=20, labels_in_use=3, observed=QUARTER, expected=0.5, kappa=NUMBER, ac1=NUMBER,
    )  # fmt: skip
    alpha = LabelAlpha(group="people", labellers=2, pairs=20, alpha=NUMBER)
    found = section(
        "agreement",
        agreement=AgreementSection(
            rows_left_out=7, rows=(alike,), alpha=(alpha,), score_alpha=None, errors=None,
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
    shares: dict[str, Any] = dict.fromkeys(
        ("raw", "raw_labelled", "raw_unlabelled", "labelled", "specificity", "sensitivity"), QUARTER
    )
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
    assert found.notes[0].startswith("pass^k: how often k trials of a task all do it")
    assert found.notes[1:] == ("a0: Down.",)


def test_pass_hat_k_of_the_only_agent_has_its_interval() -> None:
    agent = AgentOutcome(agent="a", succeeded=15, failed=5, unknown=0, success=QUARTER)
    never = agent.model_copy(update={"agent": "b", "succeeded": 0, "failed": 0, "unknown": 2})
    hats = {str(k): PassHat(k=k, tasks=20, rate=0.5 / k, low=0.1, high=0.6) for k in (1, 2)}
    plain = {k: one.rate for k, one in hats.items()}
    found = section("agents", agents=(never, agent), pass_hat_k=plain, pass_hat_k_intervals=hats)
    assert [texts(row)[-1] for row in found.tables[0].rows] == ["–", "25.0 % [10.0–60.0] n=20"]
