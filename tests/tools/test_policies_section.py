"""What a summary says of policies, against a count in plain Python, and where the figures come from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import Judged, judged, sums
from builders import episode, label, lone, pair, passed, satisfied, verdict
from generated import SIDES, fresh, reduced_calls, single_calls
from misjudge_storage import tables
from misjudge_storage.engine import Store
from misjudge_storage.ingest import insert_new
from misjudge_storage.rows import judge_fingerprint, log_row
from misjudge_storage.run_records import create_run
from misjudge_storage.types import Judge, Log, Order, Preference, Record, Scale, Verdict
from misjudge_tools.deps import Deps
from misjudge_tools.gate_audit import gate
from misjudge_tools.judging.choice import choose_judge, judge_of
from misjudge_tools.requests import GateRequest, Stop, SummarizeRequest
from misjudge_tools.runs.plan import both_orders, pair_cells
from misjudge_tools.runs.spec import Cascade, RunSpec
from misjudge_tools.stats.rates import clustered_rate
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow
from misjudge_tools.summary.values import AuditSummary
from operations import NOWHERE, stored

GRADED = Scale(low=0, high=5)
CHEAP, STRONG, THIRD = (
    Judge(label=name, form="pairwise", model=name, scale=GRADED, origin="imported")
    for name in ("cheap", "strong", "third")
)
ORDERS: tuple[Order, ...] = ("AB", "BA")


def summary(store: Store, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", "sections": ["policies"], **values}), store)


def policies(store: Store, judge: str | None = None) -> PoliciesSection:
    found = summary(store, judge=judge).policies
    assert found is not None
    return found


def row(found: PoliciesSection, policy: str) -> PolicyRow:
    return next(row for row in found.rows if row.policy == policy)


def in_both(judge: Judge, winner: Preference | None, lead: float | None = None) -> list[Verdict]:
    """The same verdict in both orders, with a lead in scores for its side."""
    a, b = (None if lead is None else 1 + lead * (winner == side) for side in ("A", "B"))
    return [verdict(winner, order, judge=judge, score_a=a, score_b=b) for order in ORDERS]


def single(n: int, *verdicts: Verdict, gold: Preference = "A", logs: Sequence[Log] = (), **key: Any) -> Record:
    """A pair of a task of its own."""
    sides = [
        episode(side, passed(done), task=f"t{n}") for side, done in zip("xy", (gold != "B", gold != "A"), strict=True)
    ]
    return pair(f"p{n}", sides[0], sides[1], *verdicts, line=n + 1, logs=logs, **key)


# ---- counted by hand


@st.composite
def scored_audits(draw: st.DrawFn) -> list[Record]:
    """Pairs of three tasks with every way to have a verdict of one judge."""
    found = []
    for n in range(draw(st.integers(1, 8))):
        said = draw(st.one_of(single_calls(CHEAP), reduced_calls(CHEAP)))
        gold = draw(st.one_of(st.none(), SIDES))
        two = [episode(f"{side}{n}", task=f"t{n % 3}") for side in "xy"]
        found.append(pair(f"p{n}", two[0], two[1], *said, gold=[label(gold)] if gold else [], line=n + 1))
    return found


def lead(one: Judged) -> float:
    both = [(v.score_a, v.score_b) for v in one.verdicts if v.score_a is not None and v.score_b is not None]
    return abs(fmean(a for a, _ in both) - fmean(b for _, b in both)) if both else -1.0


def asked(one: Judged) -> int:
    return sum(2 if said.reduced else 1 for said in one.verdicts)


def is_repeated(one: Judged) -> bool:
    return any(number > 1 for number in Counter(said.order for said in one.verdicts if not said.reduced).values())


def is_steady(one: Judged) -> bool:
    answers: defaultdict[str | None, set[str]] = defaultdict(set)
    for said in one.verdicts:
        if said.winner is not None:
            answers[said.order].add(said.winner)
    return all(len(given) == 1 for given in answers.values())


def by_hand(
    pairs: Sequence[Judged], tried: Callable[[Judged], bool], takes: Callable[[Judged], bool]
) -> dict[str, Any]:
    """Coverage and error of a policy that takes the reduced verdict of some of the pairs that it was tried on."""

    def decides(one: Judged) -> bool:
        return tried(one) and takes(one) and one.pref in {"A", "B"}

    decidable = [one for one in pairs if one.decidable]
    wrong = sums(decidable, lambda one: decides(one) and one.pref != one.gold, decides)
    number = sum(map(tried, decidable))
    return {
        "decidable": number,
        "coverage": wrong.n / number if number else None,
        "misselection": clustered_rate(wrong),
        "tasks": wrong.clusters,
    }


def shown(found: PolicyRow) -> dict[str, Any]:
    return {name: getattr(found, name) for name in ("decidable", "coverage", "misselection", "tasks")}


@given(scored_audits())
@settings(max_examples=30)
def test_every_policy_of_one_judge_is_as_counted_by_hand(records: list[Record]) -> None:
    pairs = judged(records, "cheap")
    decidable = [one for one in pairs if one.decidable]
    with fresh() as (store, _):
        stored(store, records)
        found = summary(store)
        if not decidable:
            assert found.policies is None and "decidable" in found.why["policies"]
            return
        assert found.policies is not None
        section = found.policies
        one = row(section, "one_call")
        named = sums(decidable, Judged.wrong, lambda one: sum(said != "tie" for _, said in one.calls))
        assert (one.misselection, one.tasks, one.counted) == (clustered_rate(named), named.clusters, "calls")
        assert one.decidable == sum(map(asked, decidable))
        if not any(one.both_orders for one in decidable):
            assert row(section, "both_orders").why == row(section, "margin>=M").why is not None
        else:
            expected = by_hand(pairs, lambda one: one.both_orders, lambda one: True)
            assert shown(row(section, "both_orders")) == expected
            _check_margins(section, pairs)
        if not any(map(is_repeated, decidable)):
            assert row(section, "repeats").why is not None
        else:
            assert shown(row(section, "repeats")) == by_hand(pairs, is_repeated, is_steady)


def _check_margins(section: PoliciesSection, pairs: Sequence[Judged]) -> None:
    if not any(one.decidable and one.both_orders and lead(one) >= 0 for one in pairs):
        assert row(section, "margin>=M").why is not None
        return
    for margin in (0.5, 1, 1.5, 2, 2.5, 3):
        found = row(section, f"margin>={margin:g}")
        assert found.margin == margin
        assert shown(found) == by_hand(pairs, lambda one: one.both_orders, partial(_leads_by, margin))


def _leads_by(margin: float, one: Judged) -> bool:
    return lead(one) >= margin - 1e-6


# ---- where it comes from


def test_a_position_bias_costs_half_of_single_calls_and_nothing_in_both_orders(deps: Deps) -> None:
    always_first = [verdict("A", "AB", judge=CHEAP), verdict("B", "BA", judge=CHEAP)]
    stored(deps.store, [single(n, *(always_first if n % 4 == 0 else in_both(CHEAP, "A"))) for n in range(400)])
    found = policies(deps.store)
    one, both = row(found, "one_call"), row(found, "both_orders")
    assert one.misselection is not None and both.misselection is not None and found.region is not None
    assert (one.misselection.k, one.misselection.n, one.coverage, one.calls_per_pair) == (100, 800, 1, 1)
    assert (both.misselection.k, both.misselection.n, both.coverage, both.calls_per_pair) == (0, 300, 0.75, 2)
    assert (found.region.policy, found.region.coverage) == ("both_orders", 0.75)


def test_a_lead_in_scores_that_tells_right_from_wrong_is_a_region_of_its_own(deps: Deps) -> None:
    def said(n: int) -> list[Verdict]:
        return in_both(CHEAP, "B", 0.5) if n % 5 == 0 else in_both(CHEAP, "A", 2 if n % 2 else 1)

    stored(deps.store, [single(n, *said(n)) for n in range(200)])
    found = policies(deps.store).region
    assert found is not None
    assert (found.policy, found.margin, found.coverage) == ("margin>=1", 1, 0.8)
    assert [test.policy for test in found.tested] == ["margin>=2", "margin>=1.5", "margin>=1", "margin>=0.5"]
    assert found.too_few == ("margin>=3", "margin>=2.5")


def test_repeats_that_disagree_are_not_taken(deps: Deps) -> None:
    answers: tuple[Preference, ...] = ("A", "A", "B")
    unsteady = [verdict(said, order, repeat, CHEAP) for order in ORDERS for repeat, said in enumerate(answers)]
    steady = [verdict("A", order, repeat, CHEAP) for order in ORDERS for repeat in range(3)]
    stored(deps.store, [single(n, *(unsteady if n < 10 else steady)) for n in range(40)])
    found = row(policies(deps.store), "repeats")
    assert (found.decidable, found.coverage, found.calls_per_pair) == (40, 0.75, 6)
    assert row(policies(deps.store), "both_orders").coverage == 1


def test_one_order_alone_leaves_only_single_calls(deps: Deps) -> None:
    stored(deps.store, [single(n, verdict("A", ORDERS[n % 2], judge=CHEAP)) for n in range(80)])
    found = policies(deps.store)
    assert {one.policy for one in found.rows if one.why is None} == {"one_call"}
    assert found.region is not None and found.region.policy == "one_call"


def test_scores_on_an_unknown_scale_have_no_margin(deps: Deps) -> None:
    bare = CHEAP.model_copy(update={"scale": Scale()})
    stored(deps.store, [single(0, *in_both(bare, "A", 2))])
    assert "scale" in (row(policies(deps.store), "margin>=M").why or "")


def test_a_judge_without_pairs_has_no_policies(deps: Deps) -> None:
    stored(deps.store, [lone(episode("x", satisfaction=[satisfied(1)]))])
    assert "judged no pair" in summary(deps.store).why["policies"]


def test_a_run_that_stopped_by_what_it_saw_certifies_no_region(deps: Deps) -> None:
    audit_id = stored(deps.store, [single(n, *in_both(CHEAP, "A")) for n in range(90)])
    assert policies(deps.store).region is not None
    with deps.store.write() as connection:
        spec = RunSpec(judges=(choose_judge("simulated", "pairwise", "en", NOWHERE),), stop=Stop(width=0.1))
        create_run(connection, audit_id, "judge", spec.model_dump_json(), None, [])
    found = policies(deps.store)
    assert found.region is None and "stopped by what it had seen" in found.why["region"]
    by_policy = gate(GateRequest(audit="a", policy="both_orders"), deps.store)
    assert (by_policy.outcome, by_policy.reasons) == ("inconclusive", (found.why["region"],))
    by_calls = gate(GateRequest(audit="a"), deps.store)
    assert (by_calls.interval, by_calls.outcome) == ("anytime", "inconclusive")
    assert by_calls.pairs_needed is not None and by_calls.pairs_needed > 0


# ---- costs


def test_costs_are_those_of_the_calls_and_of_what_is_right(deps: Deps) -> None:
    logs = [Log(est_cost=0.01, order_shown=order) for order in ORDERS]
    stored(deps.store, [single(n, *in_both(CHEAP, "B" if n < 4 else "A"), logs=logs) for n in range(20)])
    found = row(policies(deps.store), "both_orders")
    assert found.cost_per_pair == pytest.approx(0.02)
    assert found.cost_per_right_pair == pytest.approx(20 * 0.02 / 16)
    assert row(policies(deps.store), "one_call").cost_per_pair == pytest.approx(0.01)


def test_each_judge_has_the_price_of_its_own_calls(deps: Deps) -> None:
    records = [single(n, *in_both(CHEAP, "A"), *in_both(STRONG, "A" if n else "B")) for n in range(10)]
    audit_id = stored(deps.store, records)
    with deps.store.write() as connection:
        for judge, cost in ((CHEAP, 0.001), (STRONG, 0.03)):
            judge_id = judge_fingerprint(judge)
            # A call that was tried again cost twice, and one of the cache nothing.
            logs = [Log(order_shown=order, attempt=attempt, est_cost=cost) for order in ORDERS for attempt in (1, 2)]
            logs.append(Log(order_shown="AB", attempt=3, est_cost=0, cached_from="log of another audit"))
            links = {"pair_id": "p0", "judge_id": judge_id}
            rows = [log_row(audit_id, log, [judge_id, log.model_dump()], **links) for log in logs]
            insert_new(connection, tables.JudgeLog, rows)
    cheap, strong = policies(deps.store, "cheap"), policies(deps.store, "strong")
    assert row(cheap, "both_orders").cost_per_pair == pytest.approx(0.004)
    assert row(strong, "both_orders").cost_per_pair == pytest.approx(0.12)
    assert row(strong, "both_orders").cost_per_right_pair == pytest.approx(0.12 * 10 / 9)
    assert row(cheap, "panel_majority").cost_per_pair == pytest.approx(0.124)
    assert row(cheap, "cascade").cost_per_pair == pytest.approx(0.004), "the other judge is asked about no pair"


def test_an_unknown_price_is_no_price_and_says_so(deps: Deps) -> None:
    stored(deps.store, [single(n, *in_both(CHEAP, "A")) for n in range(3)])
    found = policies(deps.store)
    assert {one.cost_per_pair for one in found.rows} == {None}
    assert "price" in found.why["cost"]


# ---- several judges


def with_two(n: int) -> Record:
    """The cheap judge contradicts itself on every third pair, where the strong one is right but for one."""
    unsure = [verdict("A", "AB", judge=CHEAP), verdict("B", "BA", judge=CHEAP)]
    strong = in_both(STRONG, "B" if n == 0 else "A")
    return single(n, *(unsure if n % 3 == 0 else in_both(CHEAP, "A", 2)), *strong)


def test_a_cascade_of_two_judges_is_worked_out_from_what_both_said(deps: Deps) -> None:
    stored(deps.store, [with_two(n) for n in range(30)])
    found = row(policies(deps.store, "cheap"), "cascade")
    assert found.misselection is not None
    assert (found.source, found.margin, found.coverage) == ("stored verdicts", 0.5, 1)
    assert (found.misselection.k, found.misselection.n) == (1, 30)
    assert found.calls_per_pair == pytest.approx(2 + 2 / 3)


def test_a_close_lead_goes_to_the_other_judge_and_a_tie_without_scores_does(deps: Deps) -> None:
    close, tied = in_both(CHEAP, "B", 0.25), in_both(CHEAP, "tie")
    records = [single(0, *close, *in_both(STRONG, "A")), single(1, *tied, *in_both(STRONG, "A"))]
    stored(deps.store, [*records, single(2, *in_both(CHEAP, "B"), *in_both(STRONG, "A"))])
    found = row(policies(deps.store, "cheap"), "cascade")
    assert found.misselection is not None
    assert (found.misselection.k, found.misselection.n) == (1, 3), "without scores its own verdict counts"


def test_a_cascade_that_was_run_counts_its_own_pairs(deps: Deps) -> None:
    specs = [choose_judge(f"simulated:noise={share}", "pairwise", "en", NOWHERE) for share in (0.1, 0.2, 0.3)]
    first, second, third = map(judge_of, specs)
    unsure = [verdict("A", "AB", judge=first), verdict("B", "BA", judge=first)]
    panel = [*in_both(second, "A"), *in_both(third, "A")]
    records = [single(n, *in_both(first, "B" if n == 0 else "A")) for n in range(6)]
    audit_id = stored(deps.store, [*records, *(single(n, *unsure, *panel) for n in range(6, 9))])
    with deps.store.write() as connection:
        spec = RunSpec(judges=tuple(specs), cascade=Cascade(margin=1))
        cells = pair_cells(audit_id, [judge_fingerprint(first)], [f"p{n}" for n in range(9)], 1, both_orders)
        create_run(connection, audit_id, "judge", spec.model_dump_json(), None, [*cells])
    found = row(policies(deps.store, first.label), "cascade")
    assert found.misselection is not None
    assert (found.source, found.misselection.k, found.misselection.n, found.coverage) == ("cascade run", 1, 9, 1)
    assert found.calls_per_pair == pytest.approx(2 + 2 * 2 * 3 / 9)
    assert row(policies(deps.store, second.label), "cascade").why is not None, "it was not the first"


def test_a_panel_has_its_rows_in_the_summary_of_each_of_its_judges(deps: Deps) -> None:
    def said(n: int) -> list[Verdict]:
        third = in_both(THIRD, "A" if n % 2 else "B")
        return [*in_both(CHEAP, "A"), *in_both(STRONG, "A" if n % 5 else "B"), *third]

    stored(deps.store, [single(n, *said(n)) for n in range(20)])
    found = policies(deps.store, "strong")
    most, every = row(found, "panel_majority"), row(found, "panel_unanimity")
    assert most.misselection is not None and every.misselection is not None
    assert (most.misselection.k, most.misselection.n, most.calls_per_pair) == (2, 20, 6)
    assert (every.misselection.k, every.misselection.n, every.coverage) == (0, 8, 0.4)
    assert row(found, "cascade").why is not None, "which of the two others comes second is not said"


def test_judges_side_by_side_leave_the_panel_to_the_summary_of_one(deps: Deps) -> None:
    stored(deps.store, [with_two(n) for n in range(6)])
    beside = (summary(deps.store).judges or {})["cheap"].policies
    assert beside is not None
    assert "--judge" in (row(beside, "panel_majority").why or "")


def test_a_judge_of_fewer_pairs_is_of_no_panel(deps: Deps) -> None:
    records = [single(n, *in_both(CHEAP, "A"), *in_both(STRONG, "A")) for n in range(4)]
    stored(deps.store, [*records, single(9, *in_both(THIRD, "A"))])
    found = policies(deps.store, "third")
    assert {row(found, name).why is None for name in ("panel_majority", "panel_unanimity", "cascade")} == {False}
