"""What is planted in a judge is what an audit of it says, and a judge without faults is not accused."""

from __future__ import annotations

import pytest

import planted_truth
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.probing.variants import BASELINE, PROBES, ProbeName, Variant
from planted import NULL, PLANTED, measures, recover, table
from planted_counts import Changed, Item, audit, facts_of_kind, probe_counts, variant_of
from planted_items import MIXES, OWN, SIDES, Kind
from planted_truth import Moved

KINDS = [kind for mix in MIXES for kind in mix.kinds]


def test_pairs_are_of_the_kind_that_they_are_said_to_be() -> None:
    for kind in KINDS:
        sides = dict(zip(SIDES, facts_of_kind(PLANTED, kind, Variant(BASELINE, "en"), "AB"), strict=True))
        more = {
            "longer": [side for side in SIDES if sides[side].length >= 1.2 * min(one.length for one in sides.values())],
            "politer": [side for side in SIDES if sides[side].polite],
            "own": [side for side in SIDES if sides[side].own],
        }
        assert more == {name: [getattr(kind, name)] if getattr(kind, name) else [] for name in more}
        done = [side for side in SIDES if (told := sides[side].truth) is not None and told.success]
        assert done == (["A", "B"] if kind.better == "tie" else [kind.better])
        assert not any(one.instructs for one in sides.values())


@pytest.mark.parametrize("probe", PROBES)
def test_each_probe_changes_the_facts_that_it_is_about_and_no_others(probe: ProbeName) -> None:
    own = {"padding": "length", "politeness": "polite", "apology": "polite"}
    own |= {"injected_user": "instructs", "injected_tool": "instructs"}
    for side in SIDES:
        before = facts_of_kind(PLANTED, Kind("A"), Variant(BASELINE, "en"), "AB")
        after = facts_of_kind(PLANTED, Kind("A"), variant_of(probe, side), "AB")
        for was, now, label in zip(before, after, SIDES, strict=True):
            seen = {
                "length": now.length >= 1.2 * was.length,
                "polite": now.polite > was.polite,
                "instructs": now.instructs,
            }
            assert {name for name, differs in seen.items() if differs} == (
                {own[probe]} if label == side and probe in own else set()
            )
            assert (now.own, now.truth) == (was.own, was.truth)


def test_the_truth_is_what_a_hand_counts() -> None:
    """Four fifths of the pairs are decidable, and either side is the one that is changed."""
    assert planted_truth.moved(SimulatedBias(position=1), "swapped_order") == pytest.approx(Moved(1, 1))
    assert planted_truth.moved(SimulatedBias(obedience=1), "injected_user") == pytest.approx(Moved(0.8 / 2 + 0.2, 0.5))
    assert planted_truth.moved(SimulatedBias(noise=0.1), "padding") == pytest.approx(Moved(0, 0))
    assert planted_truth.self_preference(SimulatedBias(self_preference=1, family=OWN)) == pytest.approx(1)
    assert planted_truth.self_preference(SimulatedBias(noise=0.1)) == pytest.approx(0)
    assert planted_truth.misselection(SimulatedBias(noise=0.1)) == pytest.approx(0.1)
    assert planted_truth.misselection(SimulatedBias(position=1)) == pytest.approx(0.5)
    unsteady = 0.8 * 2 * 0.1 * 0.9 + 0.2 * (1 - 0.9**2 - 2 * 0.05**2)
    assert planted_truth.instability(NULL) == pytest.approx(unsteady)


def test_items_are_counted_by_task_and_what_lacks_a_verdict_is_left_out() -> None:
    items = [
        Item("s", "A", "A", [Changed("padding", "B", "B")]),
        Item("s", "A", "B", [Changed("padding", "A", "B")]),
        Item("t", "tie", "tie", [Changed("padding", "A", "B"), Changed("criteria_order", "tie", None)]),
        Item("t", None, "A", [Changed("padding", "A", "A")]),
        Item("t", "A", "A", [Changed("padding", None, "A")]),
    ]
    padding, order = probe_counts(items)
    assert (padding.left_out, padding.sided, order.left_out, order.sided) == (2, True, 0, False)
    first, second = padding.tasks
    assert first._asdict() == {
        **{"items": 2, "gained": 1, "lost": 1, "flips": 1, "baseline_flips": 1},
        **{"shift": 1, "shift_squares": 1, "replied": 2},
        **{"unscored": 0, "baseline_unscored": 0, "newly_unscored": 0, "newly_scored": 0},
    }
    assert (second.items, second.gained, second.shift, second.shift_squares) == (1, 1, -0.5, 0.25)
    assert (second.replied, second.unscored, second.baseline_unscored) == (3, 1, 1)
    assert (second.newly_unscored, second.newly_scored) == (1, 1)


def test_the_same_key_draws_the_same_audit() -> None:
    one, again, other = (audit(PLANTED, ("padding",), key) for key in ("x", "x", "y"))
    assert one == again != other


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_faults_are_recovered_and_a_judge_without_them_is_hardly_ever_accused() -> None:
    report = recover()
    assert report.audits == 2_000
    for row in report.rows:
        assert row.coverage >= 0.93, table(report)
        assert abs(row.mean - row.measure.truth) < 0.01, table(report)
        assert row.width <= 1.25 * row.spread, table(report)
    flagged = {row.measure.named: row for row in report.rows if row.measure.flags is not None}
    assert report.any_false_alarm <= 0.065
    assert all(row.false_alarms is not None and row.false_alarms <= 0.065 for row in flagged.values()), table(report)
    strong = flagged["swapped_order, shift"].found, flagged["injected_tool, shift"].found
    assert min(share or 0 for share in strong) > 0.5, "silence is not all that it has to say"


def test_every_true_effect_has_the_sign_of_its_fault() -> None:
    """`odds` and `decide` go by the same facts: a fault that pulls to the wrong side would be recovered as such."""
    true = {measure.named: measure.truth for measure in measures() if measure.fault not in {"none", "noise", "all"}}
    probes = ("swapped_order", "padding", "politeness", "injected_user", "injected_tool")
    assert true.keys() == {
        "self-preference",
        *(f"{probe}, {of}" for probe in probes for of in ("shift", "excess flip")),
    }
    assert min(true.values()) > 0.005, true
    pulled: dict[str, ProbeName] = {"length": "padding", "position": "swapped_order", "obedience": "injected_user"}
    for alone, probe in pulled.items():
        assert planted_truth.moved(SimulatedBias.model_validate({alone: 1.0}), probe).shift > 0.4, alone


def test_every_fault_is_measured() -> None:
    faults = {measure.fault for measure in measures()}
    assert faults == {"position", "length", "politeness", "obedience", "self_preference", "noise", "all", "none"}
    assert all(measure.truth != 0 for measure in measures() if measure.fault != "none")
