"""What a summary says of a panel and of a cascade, against a count in plain Python."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panel_oracle as by_hand
from builders import episode, label, lone, pair, passed, satisfied, verdict
from generated import SIDES, fresh, reduced_calls, single_calls
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.ingest import ensure_audit
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.run_records import create_run
from misjudge_storage.types import Judge, Order, Preference, Record, Scale, Verdict
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import JudgingSpec, choose_judge, judge_of
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.runs.plan import both_orders, pair_cells
from misjudge_tools.runs.spec import Cascade, RunSpec
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import AuditSummary, PanelSection
from operations import NOWHERE, pair_records, stored

GRADED = Scale(low=0, high=5)
JUDGES = tuple(
    Judge(label=name, form="pairwise", model=name, scale=scale, origin="imported")
    for name, scale in (("a", GRADED), ("b", Scale(low=0, high=6, better="lower")), ("c", GRADED))
)
A, B, C = JUDGES
ORDERS: tuple[Order, ...] = ("AB", "BA")


def summary(store: Store, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **values}), store)


def panel(store: Store, *labels: str) -> PanelSection:
    found = summary(store, **({"panel": [*labels]} if labels else {})).panel
    assert found is not None
    return found


def as_json(found: PanelSection) -> Any:
    return json.loads(found.model_dump_json())


def close(expected: Any) -> Any:
    """The same values, rates up to rounding."""
    if isinstance(expected, dict):
        return {name: close(value) for name, value in expected.items()}
    return pytest.approx(expected) if isinstance(expected, float) else expected


@st.composite
def panel_audits(draw: st.DrawFn) -> list[Record]:
    """Pairs of three tasks; each is judged by some of the judges, in any way that a verdict can be stored."""
    found = []
    for n in range(draw(st.integers(1, 7))):
        said: list[Verdict] = []
        for judge in JUDGES:
            if draw(st.integers(0, 3)):
                said += draw(st.one_of(single_calls(judge), reduced_calls(judge)))
        gold = draw(st.one_of(st.none(), SIDES))
        sides = [episode(f"{side}{n}", task=f"t{n % 3}") for side in "xy"]
        found.append(pair(f"p{n}", sides[0], sides[1], *said, gold=[label(gold)] if gold else [], line=n + 1))
    return found


def without(judge: Judge, records: Sequence[Record]) -> list[Record]:
    """The audit as if this judge had never been asked."""
    return [
        record.model_copy(update={"verdicts": tuple(one for one in record.verdicts if one.judge != judge)})
        for record in records
    ]


def asked(records: Sequence[Record]) -> list[str]:
    return sorted({one.judge.label for record in records for one in record.verdicts})


@given(panel_audits())
@settings(max_examples=20)
def test_a_panel_is_as_counted_by_hand(records: list[Record]) -> None:
    with fresh() as (store, _):
        stored(store, records)
        labels = asked(records)
        if len(labels) < 2:
            found = summary(store)
            assert found.panel is None and "panel" in found.why
            return
        assert as_json(panel(store, *labels)) == close(by_hand.section(records, labels))
        two = labels[-2:]
        assert as_json(panel(store, *two)) == close(by_hand.section(records, two))


@given(panel_audits())
@settings(max_examples=20)
def test_nobody_named_is_a_panel_of_those_that_judged_most_pairs(records: list[Record]) -> None:
    with fresh() as (store, _):
        stored(store, records)
        number = {label: sum(label in asked([record]) for record in records) for label in asked(records)}
        assume(len(number) > 1)
        most = [label for label in sorted(number) if number[label] == max(number.values())]
        found = summary(store)
        assert found.panel is not None and found.panel.judges == tuple(most)
        assert ("panel.judges" in found.why) == (len(most) < len(number))
        if len(most) > 1:
            assert found.panel == panel(store, *most)
        else:
            assert (found.panel.rules, found.panel.best_judge, found.panel.mean_judge) == ({}, None, None)
            assert found.panel.n == number[most[0]]


@given(panel_audits(), st.permutations("abc"))
@settings(max_examples=15)
def test_the_order_of_the_labels_never_matters(records: list[Record], order: list[str]) -> None:
    with fresh() as (store, _):
        stored(store, records)
        assume(asked(records) == [*"abc"])
        whole = panel(store, *"abc")
        assert panel(store, *order) == panel(store, *order, order[0]) == whole


@given(panel_audits())
@settings(max_examples=15)
def test_removing_a_judge_is_never_having_had_it(records: list[Record]) -> None:
    with fresh() as (store, _), fresh() as (smaller, _):
        stored(store, records)
        stored(smaller, without(C, records))
        assume({"a", "b"} <= set(asked(records)))
        assert panel(store, "a", "b") == panel(smaller, "a", "b")


def in_both(judge: Judge, winner: Preference | None, **scores: Any) -> list[Verdict]:
    return [verdict(winner, order, judge=judge, **scores) for order in ORDERS]


def single(n: int, *verdicts: Verdict, gold: Preference = "A") -> Record:
    """A pair of a task of its own."""
    sides = [episode(side, passed(side_done), task=f"t{n}") for side, side_done in zip("xy", _done(gold), strict=True)]
    return pair(f"p{n}", sides[0], sides[1], *verdicts, line=n + 1)


def _done(gold: Preference) -> tuple[bool, bool]:
    return gold != "B", gold != "A"


def test_each_rule_has_a_row_beside_the_best_and_the_mean_judge_on_the_same_pairs(deps: Deps) -> None:
    votes: list[tuple[Preference, Preference, Preference]] = [("A", "A", "B"), ("B", "B", "A"), ("A", "A", "A")]
    stored(
        deps.store,
        [
            single(n, *(one for judge, said in zip(JUDGES, votes[n % 3], strict=True) for one in in_both(judge, said)))
            for n in range(6)
        ]
        + [single(9, *in_both(A, "B"))],
    )
    found = panel(deps.store, "a", "b", "c")
    assert (found.judges, found.n, found.decidable, found.not_judged_by_all) == (("a", "b", "c"), 6, 6, 1)
    most, all_of_them = found.rules["majority"], found.rules["unanimity"]
    assert most is not None and all_of_them is not None
    assert (most.decided, most.misselection.k, most.misselection.n, most.misselection.coverage) == (6, 2, 6, 1)
    assert (all_of_them.decided, all_of_them.split, all_of_them.misselection.k) == (2, 4, 0)
    assert found.best_judge is not None and found.mean_judge is not None
    assert (found.best_judge.judge, found.best_judge.misselection.k) == ("a", 2), "of equal ones the first"
    assert (found.mean_judge.k, found.mean_judge.n, found.mean_judge.coverage) == (6, 18, 1)


@pytest.mark.parametrize(
    ("by_a", "by_b", "best"),
    [
        (["A", "B"], ["A", "A"], "b"),
        (["A", "A"], ["B", "A"], "a"),
        (["A", "tie"], ["A", "A"], "b"),
        (["A", "A"], ["A", "A"], "a"),
        ([None, None], ["B", "B"], "b"),
    ],
)
def test_the_best_judge_is_wrong_least_often_and_of_equal_ones_decides_most(
    deps: Deps, by_a: list[Preference | None], by_b: list[Preference | None], best: str
) -> None:
    stored(deps.store, [single(n, *in_both(A, by_a[n]), *in_both(B, by_b[n])) for n in range(2)])
    found = panel(deps.store).best_judge
    assert found is not None and found.judge == best


def test_a_judge_that_could_be_read_in_one_order_only_has_no_lead(deps: Deps) -> None:
    half = [verdict("A", "AB", judge=B, score_a=4, score_b=1), verdict(None, "BA", judge=B)]
    whole = in_both(A, "A", score_a=4, score_b=1)
    stored(deps.store, [single(0, *whole, *half), single(1, *whole, *in_both(B, "B", score_a=1, score_b=3))])
    found = panel(deps.store).rules["mean_score"]
    assert found is not None and (found.unscored, found.decided) == (1, 1)


def test_scores_count_as_shares_of_each_judges_scale_and_cancelled_leads_are_a_tie(deps: Deps) -> None:
    stored(
        deps.store,
        [
            single(0, *in_both(A, "A", score_a=4, score_b=1), *in_both(B, "B", score_a=4, score_b=1)),
            single(1, *in_both(A, "A", score_a=3, score_b=2.5), *in_both(B, "B", score_a=3, score_b=2.4)),
            single(2, *in_both(A, "B", score_a=1, score_b=3), *in_both(B, "B", score_a=3, score_b=3)),
            single(3, *in_both(A, "A"), *in_both(B, "A", score_a=1, score_b=3)),
        ],
    )
    found = panel(deps.store).rules["mean_score"]
    # 3/5 − 3/6 favours A, and 0.5/5 − 0.6/6 is no lead at all; in the last pair a judge gave no scores.
    assert found is not None
    assert (found.decided, found.tie, found.unscored, found.misselection.k, found.misselection.n) == (2, 1, 1, 1, 2)


@pytest.mark.parametrize(
    "said", [[*in_both(C, "A")], [*in_both(C, None)], [verdict("A", judge=C.model_copy(update={"scale": Scale()}))]]
)
def test_a_judge_without_scores_leaves_no_mean_score_and_the_reason_names_it(deps: Deps, said: list[Verdict]) -> None:
    stored(deps.store, [single(n, *in_both(A, "A", score_a=4, score_b=1), *said) for n in range(2)])
    found = summary(deps.store)
    assert found.panel is not None
    assert found.panel.rules["mean_score"] is None and found.panel.rules["majority"] is not None
    assert found.why["panel.mean_score"] == "No scores, or none on a known scale, were given by c."


def test_a_panel_that_could_not_be_read_at_all_is_unscored_and_no_judge_is_best(deps: Deps) -> None:
    stored(deps.store, [single(n, *in_both(A, None), *in_both(B, None)) for n in range(3)])
    found = summary(deps.store)
    assert found.panel is not None and found.panel.mean_judge is not None
    for rule in ("majority", "unanimity"):
        row = found.panel.rules[rule]
        assert row is not None
        assert (row.unscored, row.decided, row.split, row.misselection.rate) == (3, 0, 0, None)
        assert row.misselection.coverage == 0
    assert found.panel.best_judge is None and found.panel.mean_judge.rate is None
    assert found.why["panel.best_judge"] == "None of these judges decided a decidable pair."


def test_verdicts_of_one_order_and_ties_are_counted_as_what_they_are(deps: Deps) -> None:
    stored(
        deps.store,
        [
            single(0, verdict("A", "AB", judge=A), verdict("B", "BA", judge=B), gold="B"),
            single(1, verdict("tie", "BA", judge=A), verdict("tie", "BA", judge=B), gold="tie"),
            single(2, verdict("B", "AB", judge=A), verdict("B", "AB", judge=B)),
            single(3, *(verdict(said, order, judge=j) for j in (A, B) for said, order in (("A", "AB"), ("B", "BA")))),  # type: ignore[arg-type]
        ],
    )
    row = panel(deps.store).rules["majority"]
    assert row is not None
    assert (row.decided, row.tie, row.inconsistent, row.split, row.unscored) == (1, 1, 1, 1, 0)
    assert (row.misselection.k, row.misselection.n, row.misselection.coverage) == (1, 1, 1 / 3)


def test_judges_without_a_pair_in_common_have_no_rule_and_the_reason_says_what_to_do(deps: Deps) -> None:
    stored(deps.store, [single(0, *in_both(A, "A")), single(1, *in_both(B, "A"))])
    found = summary(deps.store)
    assert found.panel is not None
    assert (found.panel.n, found.panel.not_judged_by_all, found.panel.rules) == (0, 2, {})
    assert found.panel.best_judge is None and found.panel.mean_judge is None
    assert found.why["panel.rules"].startswith("No pair was judged by all of these judges.")


def test_one_judge_is_no_panel_and_a_chosen_judge_has_none(deps: Deps) -> None:
    stored(deps.store, list(pair_records(1, start=100)))
    assert summary(deps.store).why["panel"].startswith("No judge is stored")
    stored(
        deps.store,
        [single(0, *in_both(A, "A")), lone(episode("z", passed(True), task="z", satisfaction=[satisfied(0.9)]))],
    )
    assert summary(deps.store).why["panel"].startswith("A panel is two judges of pairs or more")
    stored(deps.store, [single(1, *in_both(B, "A"))])
    chosen = summary(deps.store, judge="a")
    assert chosen.panel is None and chosen.why["panel"].startswith("The panel stands at the top")
    beside = summary(deps.store).judges
    assert beside is not None and {one.why["panel"] for one in beside.values()} == {chosen.why["panel"]}


@pytest.mark.parametrize("labels", [("a", "nobody"), ("a", "gate")])
def test_a_label_that_no_judge_of_pairs_has_is_refused_with_those_there_are(
    deps: Deps, labels: tuple[str, str]
) -> None:
    scored = lone(episode("z", task="z", satisfaction=[satisfied(0.9)]))
    stored(deps.store, [single(0, *in_both(B, "A"), *in_both(A, "A")), scored])
    with pytest.raises(NotFound, match=rf"no judge '{labels[1]}' of pairs\. Its judges of pairs are: a, b\.$"):
        summary(deps.store, panel=[*labels])


@pytest.mark.parametrize("labels", [[], ["a"], ["a", "a"]])
def test_fewer_than_two_judges_are_refused(deps: Deps, labels: list[str]) -> None:
    stored(deps.store, [single(0, *in_both(B, "A"), *in_both(A, "A"))])
    with pytest.raises(InvalidInput, match=r"A panel is two judges or more\. Name another one\. Its judges .* a, b\.$"):
        summary(deps.store, panel=labels)


def test_a_refusal_says_where_there_is_none_and_lists_no_endless_labels(deps: Deps) -> None:
    stored(deps.store, list(pair_records(1, start=100)))
    with pytest.raises(NotFound, match=r"It has none yet\.$"):
        summary(deps.store, panel=["a", "b"])
    many = [Judge(label=f"judge {n:02}", form="pairwise", origin="imported") for n in range(33)]
    stored(deps.store, [single(0, *(verdict("A", judge=judge) for judge in many))])
    with pytest.raises(NotFound, match=r"judge 29 and 3 more\.$"):
        summary(deps.store, panel=["a", "b"])


def test_a_judge_and_a_panel_cannot_be_chosen_together(deps: Deps) -> None:
    stored(deps.store, [single(0, *in_both(B, "A"), *in_both(A, "A"))])
    with pytest.raises(InvalidInput, match="not both"):
        summary(deps.store, judge="a", panel=["a", "b"])


def test_the_panel_is_a_section_that_can_be_asked_for_alone(deps: Deps) -> None:
    stored(deps.store, [single(0, *in_both(B, "A"), *in_both(A, "A"))])
    found = summary(deps.store, sections=["panel"])
    assert found.panel == panel(deps.store) and found.pairs is None
    assert found.why.keys() == {"panel.mean_score"}
    assert summary(deps.store, sections=["pairs"]).panel is None


def cascade_run(store: Store, *judges: JudgingSpec, pairs: Sequence[int] = (), spec: str | None = None) -> None:
    """A stored run that is a cascade of these judges over these pairs."""
    request = spec or RunSpec(judges=judges, cascade=Cascade(margin=1)).model_dump_json()
    with store.write() as connection:
        audit = ensure_audit(connection, "a")
        first = [judge_fingerprint(judge_of(judge)) for judge in judges[:1]]
        cells = [*pair_cells(audit, first, [f"p{n}" for n in pairs], 1, both_orders)]
        create_run(connection, audit, "judge", request, None, cells)


def simulated(faults: str) -> JudgingSpec:
    return choose_judge(f"simulated:{faults}", "pairwise", "en", NOWHERE)


FIRST, SECOND, THIRD = (simulated(f"noise={share}") for share in (0.1, 0.2, 0.3))


def contradicted(judge: Judge) -> list[Verdict]:
    return [verdict("A", "AB", judge=judge), verdict("B", "BA", judge=judge)]


def test_a_cascade_says_what_its_panel_says_where_it_is_asked_else_what_its_first_judge_says(deps: Deps) -> None:
    first, second, third = map(judge_of, (FIRST, SECOND, THIRD))
    right, split = [*in_both(second, "A"), *in_both(third, "A")], [*in_both(second, "A"), *in_both(third, "B")]
    stored(
        deps.store,
        [
            single(0, *in_both(first, "A")),
            single(1, *in_both(first, "B")),
            single(2, *contradicted(first), *right),
            single(3, *contradicted(first), *split),
            single(4, *contradicted(first), *in_both(second, "A")),
            single(5, *in_both(first, None), *in_both(second, "tie"), *in_both(third, "tie"), gold="tie"),
            single(6, *in_both(first, None)),
            single(7, *right),
            single(8, *in_both(first, "B"), *right),
            single(9, *contradicted(first), *right),
        ],
    )
    cascade_run(deps.store, FIRST, THIRD, pairs=range(10))
    gate = choose_judge("simulated", "satisfaction", "en", NOWHERE)
    cascade_run(deps.store, FIRST, THIRD, SECOND, gate, pairs=range(9))
    cascade_run(deps.store, spec=RunSpec(judges=(SECOND, THIRD)).model_dump_json())
    cascade = panel(deps.store).cascade
    assert cascade is not None
    assert (cascade.first.judge, cascade.panel) == (
        "simulated:noise=0.1",
        ("simulated:noise=0.2", "simulated:noise=0.3"),
    )
    assert (cascade.n, cascade.decidable, cascade.escalated) == (8, 7, 5)
    ends = (cascade.decided, cascade.tie, cascade.inconsistent, cascade.split, cascade.unscored)
    assert ends == (4, 1, 1, 1, 1)
    assert (cascade.misselection.k, cascade.misselection.n, cascade.misselection.coverage) == (2, 4, 4 / 7)
    assert (cascade.first.decided, cascade.first.inconsistent, cascade.first.unscored) == (3, 3, 2)
    assert (cascade.first.misselection.k, cascade.first.misselection.n) == (2, 3)


def test_judges_that_saw_only_what_a_cascade_escalated_are_not_of_the_panel_and_are_warned_of(deps: Deps) -> None:
    first, second, third = map(judge_of, (FIRST, SECOND, THIRD))
    clear = [single(n, *in_both(first, "A")) for n in range(3)]
    near = [single(n, *contradicted(first), *in_both(second, "B"), *in_both(third, "B")) for n in (3, 4)]
    stored(deps.store, [*clear, *near])
    cascade_run(deps.store, FIRST, SECOND, THIRD, pairs=range(5))
    found = summary(deps.store)
    escalated = "judged only the 2 pairs that a cascade escalated"
    both = "Judges simulated:noise=0.2 and simulated:noise=0.3"
    said = f"{both} {escalated}: their rates do not compare with the others'."
    assert found.warnings == (said,)
    assert found.panel is not None and (found.panel.judges, found.panel.rules) == (("simulated:noise=0.1",), {})
    assert found.panel.cascade is not None and found.panel.cascade.escalated == 2
    assert found.why["panel.judges"] == (
        "A panel is by default the judges of most pairs, here simulated:noise=0.1. simulated:noise=0.2 and "
        "simulated:noise=0.3 judged fewer: choose the judges of a panel with panel=[…] (--panel LABEL)."
    )
    assert summary(deps.store, judge="simulated:noise=0.2").warnings == (said,)
    assert summary(deps.store, judge="simulated:noise=0.1").warnings == ()
    stored(deps.store, [single(0, *in_both(third, "A"))])
    assert summary(deps.store).warnings == (
        f"Judge simulated:noise=0.2 {escalated}: its rates do not compare with the others'.",
        "Judge simulated:noise=0.3 judged only 3 of the 5 pairs of a cascade, which escalated 2: its rates do not "
        "compare with the others'.",
    )
    stored(deps.store, [single(n, *in_both(judge, "A")) for n in range(3) for judge in (second, third)])
    whole = summary(deps.store)
    assert whole.warnings == () and "panel.judges" not in whole.why
    assert whole.panel is not None and len(whole.panel.judges) == 3


def test_made_up_judges_of_panel_and_cascade_are_named(deps: Deps) -> None:
    judges = [judge_of(FIRST), A, B]
    stored(deps.store, [single(n, *(one for judge in judges for one in in_both(judge, "A"))) for n in range(2)])
    assert panel(deps.store).simulated == ("simulated:noise=0.1",)
    assert panel(deps.store, "a", "b").simulated == ()
    cascade_run(deps.store, FIRST, SECOND, pairs=range(2))
    assert panel(deps.store, "a", "b").simulated == ("simulated:noise=0.1", "simulated:noise=0.2")


def test_a_cascade_is_of_the_audit_whichever_panel_is_chosen(deps: Deps) -> None:
    judges = [judge_of(FIRST), judge_of(SECOND), A]
    said = [[*contradicted(judges[0]), *in_both(judges[1], "A"), *in_both(A, "A")] for _ in range(2)]
    stored(deps.store, [single(n, *said[n]) for n in range(2)])
    cascade_run(deps.store, FIRST, SECOND, pairs=range(2))
    sections = [panel(deps.store, *labels) for labels in permutations(["a", "simulated:noise=0.1"])]
    assert sections[0] == sections[1]
    assert sections[0].cascade is not None and sections[0].cascade == panel(deps.store).cascade
    assert sections[0].cascade.escalated == 2


def test_a_cascade_whose_first_judge_has_said_nothing_yet_has_no_row(deps: Deps) -> None:
    stored(deps.store, [single(0, *in_both(A, "A"), *in_both(B, "A"))])
    cascade_run(deps.store, FIRST, SECOND, pairs=[0])
    found = summary(deps.store)
    assert found.panel is not None and found.panel.cascade is None
    assert "panel.cascade" not in found.why


def test_a_cascade_that_cannot_be_read_leaves_the_rest_of_the_summary(deps: Deps) -> None:
    stored(deps.store, [single(0, *in_both(A, "A"), *in_both(B, "A"))])
    cascade_run(deps.store, spec='{"judges":"none","cascade":{"margin":1}}')
    found = summary(deps.store)
    assert found.panel is not None and found.panel.cascade is None and found.panel.n == 1
    assert found.why["panel.cascade"].endswith(
        "cannot be read: it was changed, or another version wrote it. Begin it anew."
    )
