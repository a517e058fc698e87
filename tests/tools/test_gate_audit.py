"""The gate over stored audits: what it holds against its limit, what it answers, and what it says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import text

from builders import episode, label, pair, passed, verdict
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.run_records import PlannedCell, create_run
from misjudge_storage.types import Judge, Order, Preference, Record, Scale, Verdict
from misjudge_tools.deps import Deps
from misjudge_tools.gate_audit import SAMPLE, gate, gate_audit
from misjudge_tools.gateway.simulated_bias import SimulatedBias, draws_of
from misjudge_tools.probing.variants import BASELINE, Variant
from misjudge_tools.requests import GateRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.gate_values import GateResult
from misjudge_tools.summary.gate_words import verdict as verdict_of
from operations import stored
from planted_counts import drawn_kinds, facts_of_kind
from planted_items import MODEL
from planted_items import verdict as said_of

ORDERS: tuple[Order, ...] = ("AB", "BA")
JUDGE = Judge(label="judge", form="pairwise", model="judge-m", scale=Scale(low=0, high=10), origin="imported")
OTHER = JUDGE.model_copy(update={"label": "other", "model": "other-m"})


def asked(store: Store, **values: Any) -> GateResult:
    return gate(GateRequest.model_validate({"audit": "a", **values}), store)


def record(n: int, *said: Verdict, task: str | None = None, subset: str | None = None, **key: Any) -> Record:
    """A pair whose side A did the task."""
    a, b = (
        episode("x", passed(True), task=task or f"t{n}", trial=n),
        episode("y", passed(False), task=task or f"t{n}", trial=n),
    )
    made = pair(f"p{n}", a, b, *said, line=n + 1, **key)
    assert made.task is not None
    return made.model_copy(update={"task": made.task.model_copy(update={"subset": subset})})


def both(winner: Preference | None, judge: Judge = JUDGE) -> list[Verdict]:
    return [verdict(winner, order, judge=judge) for order in ORDERS]


def audit(wrong: int, right: int, unsure: int = 0, start: int = 0, **key: Any) -> list[Record]:
    """So many pairs of tasks of their own on which the judge is wrong, right, and of two minds."""
    said = (
        [both("B")] * wrong
        + [both("A")] * right
        + [[verdict("A", "AB", judge=JUDGE), verdict("B", "BA", judge=JUDGE)]] * unsure
    )
    return [record(start + n, *one, **key) for n, one in enumerate(said)]


@pytest.mark.parametrize(
    ("records", "answer", "code"),
    [
        pytest.param(audit(0, 73), "pass", 0, id="73 of 73"),
        pytest.param(audit(0, 72), "inconclusive", 3, id="72 of 72"),
        pytest.param(audit(2, 298), "pass", 0, id="298 of 300"),
        pytest.param(audit(20, 80), "fail", 1, id="80 of 100"),
        pytest.param(audit(3, 47), "inconclusive", 3, id="47 of 50"),
        pytest.param(audit(0, 160, unsure=10), "inconclusive", 3, id="as good as one in 34 calls"),
        pytest.param(audit(0, 70, unsure=30), "fail", 1, id="of two minds, and so wrong in every second call"),
    ],
)
def test_single_calls_are_held_against_the_limit(deps: Deps, records: list[Record], answer: str, code: int) -> None:
    stored(deps.store, records)
    found = asked(deps.store)
    assert (found.outcome, found.exit_code) == (answer, code), found.verdict


def test_the_rate_is_the_one_that_the_summary_shows(deps: Deps) -> None:
    stored(deps.store, audit(3, 60, unsure=4))
    found, shown = (
        asked(deps.store),
        summarize(SummarizeRequest(audit="a", sections=["misselection"]), deps.store).misselection,
    )
    assert shown is not None
    names = ("rate", "k", "n", "low", "high")
    assert [getattr(found.misselection, name) for name in names] == [getattr(shown, name) for name in names]
    assert (found.coverage, found.counted, found.interval) == (shown.decided.coverage, "calls", "fixed")


def test_a_judge_that_never_decides_has_too_low_a_coverage_and_does_not_pass(deps: Deps) -> None:
    stored(deps.store, [record(n, *both("tie")) for n in range(200)])
    found = asked(deps.store)
    assert (found.outcome, found.exit_code, found.misselection.k, found.coverage) == ("coverage", 4, 0, 0)
    assert asked(deps.store, min_coverage=0).outcome == "pass"


def test_a_policy_is_held_against_the_limit_by_what_it_decides(deps: Deps) -> None:
    stored(deps.store, audit(0, 100, unsure=30))
    assert asked(deps.store).outcome == "fail"
    found = asked(deps.store, policy="both_orders", min_coverage=0.7)
    assert (found.outcome, found.counted, found.misselection.n, found.pairs) == ("pass", "pairs", 100, 130)
    assert asked(deps.store, policy="both_orders").outcome == "coverage"
    assert "by both_orders" in found.verdict


def test_a_policy_without_verdicts_is_no_pass_and_says_what_is_missing(deps: Deps) -> None:
    stored(deps.store, audit(0, 100))
    found = asked(deps.store, policy="repeats")
    assert (found.outcome, found.exit_code, found.pairs_needed) == ("inconclusive", 3, None)
    assert "repeats=2" in found.verdict


def test_what_is_still_needed_is_said_in_pairs_of_these_tasks(deps: Deps) -> None:
    stored(deps.store, [record(n, *both("A"), task=f"t{n // 4}") for n in range(40)])
    found = asked(deps.store)
    assert (found.outcome, found.tasks, found.pairs, found.smallest_passing) == ("inconclusive", 10, 40, 73)
    assert found.pairs_needed == (73 - 10) * 4
    assert "252 decidable pairs more" in found.verdict


def test_no_number_is_named_for_a_rate_at_the_limit(deps: Deps) -> None:
    stored(deps.store, audit(5, 95))
    found = asked(deps.store)
    assert (found.outcome, found.pairs_needed) == ("inconclusive", None)
    assert "too close to the limit" in found.verdict


def test_only_pairs_of_the_ability_that_is_asked_for_count(deps: Deps) -> None:
    near, wide = audit(30, 50, ability_bucket="near"), audit(0, 90, start=80, ability_bucket="wide")
    stored(deps.store, [*near, *wide])
    answers = {at: asked(deps.store, at=at) for at in (None, "near", "wide")}
    assert {at: found.outcome for at, found in answers.items()} == {None: "fail", "near": "fail", "wide": "pass"}
    assert [answers[at].pairs for at in (None, "near", "wide")] == [170, 80, 90]
    assert asked(deps.store, at="wide", policy="both_orders").misselection.n == 90


def test_pairs_of_no_known_ability_are_not_taken_for_near(deps: Deps) -> None:
    stored(deps.store, audit(0, 80))
    found = asked(deps.store, at="near")
    assert (found.outcome, found.pairs) == ("inconclusive", 0)
    assert "near" in found.verdict and "pairing" in found.verdict


def test_without_gold_nothing_can_be_told(deps: Deps) -> None:
    stored(deps.store, [pair("p", None, None, *both("A"))])
    found = asked(deps.store)
    assert (found.outcome, found.coverage) == ("inconclusive", None)
    assert "decidable" in found.verdict


def test_several_judges_have_to_be_told_apart(deps: Deps) -> None:
    stored(deps.store, [record(n, *both("A"), *both("B", OTHER)) for n in range(80)])
    with pytest.raises(InvalidInput, match=r"several judges.*judge, other"):
        asked(deps.store)
    answers = [asked(deps.store, judge=label).outcome for label in ("judge", "other")]
    assert answers == ["pass", "fail"]
    with pytest.raises(NotFound, match=r"no judge 'third'.*judge, other"):
        asked(deps.store, judge="third")


def test_a_label_with_a_subset_counts_the_tasks_of_that_subset(deps: Deps) -> None:
    stored(deps.store, [*audit(0, 80, subset="easy"), *audit(20, 20, start=80, subset="hard")])
    easy, hard = asked(deps.store, judge="judge/easy"), asked(deps.store, judge="judge/hard")
    assert (easy.judge, easy.outcome, easy.pairs) == ("judge/easy", "pass", 80)
    assert (hard.outcome, hard.pairs) == ("fail", 40)


def test_what_is_not_there_is_an_error_and_no_answer(deps: Deps) -> None:
    with pytest.raises(NotFound, match="a"):
        asked(deps.store)
    stored(deps.store, [record(0)])
    with pytest.raises(NotFound, match="no judge of pairs"):
        asked(deps.store)
    stored(deps.store, audit(0, 3, start=1))
    with pytest.raises(InvalidInput, match=r"no policy 'luck'.*one_call, both_orders"):
        asked(deps.store, policy="luck")
    with pytest.raises(NotFound, match="before"):
        asked(deps.store, baseline="before")


@pytest.mark.parametrize(
    "values", [{"max_misselection": 0}, {"max_misselection": 1}, {"min_coverage": 1.1}, {"at": "far"}, {"polcy": "x"}]
)
def test_a_request_that_makes_no_sense_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GateRequest.model_validate({"audit": "a", **values})


# ---- against a baseline


def compared(store: Store, before: Sequence[Record], now: Sequence[Record], **values: Any) -> GateResult:
    stored(store, before, "before")
    stored(store, now)
    return asked(store, baseline="before", **values)


def test_a_judge_that_got_worse_beyond_the_interval_fails_although_it_is_under_the_limit(deps: Deps) -> None:
    found = compared(deps.store, audit(0, 200), audit(30, 170), max_misselection=0.25)
    assert (found.outcome, found.exit_code) == ("fail", 1)
    assert found.difference is not None and found.difference.difference == pytest.approx(-0.15)
    assert (
        "worse than judge judge in audit before: on 200 pairs" in found.verdict
        and "15.0 points less often" in found.verdict
    )


def test_a_judge_that_got_no_worse_passes(deps: Deps) -> None:
    found = compared(deps.store, audit(3, 197), audit(2, 198))
    assert found.outcome == "pass" and found.difference is not None and found.difference.n == 200


def test_a_baseline_without_a_pair_in_common_is_no_pass(deps: Deps) -> None:
    found = compared(deps.store, audit(0, 100, start=500), audit(0, 100))
    assert (found.outcome, found.exit_code) == ("inconclusive", 3)
    assert found.reasons and found.reasons[0] in found.verdict


def test_a_judge_that_is_wrong_too_often_fails_whatever_the_baseline_is(deps: Deps) -> None:
    found = compared(deps.store, audit(60, 40, start=500), audit(60, 40))
    assert found.outcome == "fail"


# ---- runs that did not end, and made-up judges


def test_a_run_that_ended_early_is_said_to_be_a_sample(deps: Deps) -> None:
    audit_id = stored(deps.store, audit(0, 80))
    with deps.store.write() as connection:
        open_cells = [PlannedCell(f"c{n}", "pairwise", "j", f"p{n}", None, "AB", 0) for n in range(3)]
        run_id = create_run(connection, audit_id, "judge", "{}", None, open_cells)
        connection.execute(text("UPDATE runs SET state = 'cancelled' WHERE run_id = :run"), {"run": run_id})
    found = asked(deps.store)
    assert found.outcome == "pass"
    assert len(found.warnings) == 2 and found.warnings[-1] == SAMPLE and "cells are open" in found.warnings[0]


def test_a_made_up_judge_is_marked_and_a_panel_with_one_in_part(deps: Deps) -> None:
    made_up = JUDGE.model_copy(update={"simulated": True})
    stored(deps.store, [record(n, *both("A", made_up), *both("A", OTHER)) for n in range(80)])
    assert "SIMULATED" in (asked(deps.store, judge="judge").marked or "")
    assert asked(deps.store, judge="other").marked is None
    of_panel = asked(deps.store, judge="other", policy="panel_majority")
    assert (of_panel.outcome, of_panel.misselection.n) == ("pass", 80)
    assert "in part" in (of_panel.marked or "")


# ---- from planted judge to answer


def planted(bias: SimulatedBias, key: str, tasks: int = 300) -> Iterable[Record]:
    """Pairs of every kind, two a task, with what the simulated judge says of them in both orders."""
    draw = Random(key)
    for n in range(2 * tasks):
        (kind, *_) = drawn_kinds(draw)
        said = []
        for order in ORDERS:
            facts = facts_of_kind(bias, kind, Variant(BASELINE, "en"), order)
            winner = said_of(bias, draws_of(bias, MODEL, f"{key} {n} {order}"), facts, order)
            said.append(verdict(winner, order, judge=JUDGE))
        sides = [
            episode(agent, passed(kind.better in (side, "tie")), task=f"t{n // 2}", trial=n % 2)
            for agent, side in (("x", "A"), ("y", "B"))
        ]
        yield pair(f"p{n}", sides[0], sides[1], *said, line=n + 1, trial=n % 2)


@pytest.mark.parametrize(
    ("bias", "answers", "region"),
    [
        pytest.param(SimulatedBias(noise=0.01), {"one_call": 0, "both_orders": 0}, "one_call", id="good"),
        pytest.param(
            SimulatedBias(noise=0.01, position=0.3), {"one_call": 1, "both_orders": 0}, "both_orders", id="biased"
        ),
        pytest.param(SimulatedBias(noise=0.3, length=0.3), {"one_call": 1, "both_orders": 1}, None, id="bad"),
    ],
)
async def test_what_was_planted_in_a_judge_is_what_gate_and_region_say(
    deps: Deps, bias: SimulatedBias, answers: dict[str, int], region: str | None
) -> None:
    stored(deps.store, list(planted(bias, "end to end")))
    for policy, code in answers.items():
        request = GateRequest(audit="a", policy=policy, min_coverage=0.3)
        assert (await gate_audit(request, deps)).exit_code == code, policy
    found = summarize(SummarizeRequest(audit="a", sections=["policies"]), deps.store).policies
    assert found is not None and found.region is not None and found.region.policy == region


def test_a_judge_that_could_not_be_read_is_no_pass(deps: Deps) -> None:
    stored(deps.store, [record(n, *both(None)) for n in range(90)])
    assert asked(deps.store).outcome == "coverage"
    found = asked(deps.store, min_coverage=0)
    assert (found.outcome, found.pairs_needed) == ("inconclusive", None)
    assert "0 of 0 calls" in found.verdict


def test_a_mean_over_tasks_is_not_said_to_be_a_share_of_calls(deps: Deps) -> None:
    stored(deps.store, audit(3, 47))
    found = asked(deps.store)
    mean = found.model_copy(update={"misselection": found.misselection.model_copy(update={"rate": 0.08})})
    assert "6 of 100 calls (6.0 %, 95 % " in verdict_of(found)
    assert "8.0 % of 100 calls, as a mean over tasks (95 % " in verdict_of(mean)


def test_a_baseline_names_its_judge_and_its_audit(deps: Deps) -> None:
    renamed = JUDGE.model_copy(update={"label": "judge of last week"})
    before = [record(n, *both("A", renamed)) for n in range(100)]
    stored(deps.store, before, "before")
    stored(deps.store, audit(30, 70))
    found = asked(deps.store, baseline="before", max_misselection=0.9)
    assert (found.outcome, found.baseline, found.baseline_judge) == ("fail", "before", "judge of last week")
    assert "worse than judge judge of last week in audit before" in found.verdict
    assert asked(deps.store).baseline_judge is None


def test_a_margin_without_a_scale_says_how_to_state_one(deps: Deps) -> None:
    unscaled = JUDGE.model_copy(update={"scale": Scale()})
    stored(deps.store, [record(n, *both("A", unscaled)) for n in range(5)])
    with pytest.raises(InvalidInput, match=r"Margins need scores of both sides on a stated scale.*--score-range"):
        asked(deps.store, policy="margin>=2")


def test_a_margin_that_was_not_tried_names_those_that_were(deps: Deps) -> None:
    said = [verdict("A", order, judge=JUDGE, score_a=8, score_b=2) for order in ORDERS]
    stored(deps.store, [record(n, *said) for n in range(5)])
    with pytest.raises(InvalidInput, match=r"no policy 'margin>=99' for this judge.*both_orders.*margin>=1, margin>=2"):
        asked(deps.store, policy="margin>=99")


def test_a_gate_says_failed_only_of_sides_that_are_known_to_have_failed(deps: Deps) -> None:
    preferred = [
        pair(f"p{n}", episode("x", task=f"t{n}"), episode("y", task=f"t{n}"), *both("B"), line=n + 1, gold=[label("A")])
        for n in range(40)
    ]
    stored(deps.store, preferred)
    stored(deps.store, audit(40, 0), "known")
    by_gold, known = asked(deps.store), gate(GateRequest(audit="known"), deps.store)
    assert (by_gold.failed_known, known.failed_known) == (False, True)
    assert "judge judge picked the side that gold calls worse in 80 of 80 calls" in by_gold.verdict
    assert "judge judge picked the side that failed in 80 of 80 calls" in known.verdict
