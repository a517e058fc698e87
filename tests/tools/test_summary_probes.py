"""The summary of a probed judge, and the warning of a judge that gives one answer to everything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import JUDGE, label, verdict
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import NotFound
from misjudge_storage.types import Judge, Order, Preference, Record
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.probes import NOT_PROBED, own_family, probes_section
from misjudge_tools.summary.values import AuditSummary, ProbesSection
from operations import stored
from probed import ASKED, ProbeCall, item, pair_of, random_calls, store_probes

OTHER = Judge(label="other", form="pairwise", model="gpt-4o")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "misjudge.db")
    yield opened
    opened.close()


def summary(store: Store, **asked: object) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **asked}), store)


def section(store: Store, judge_id: str) -> ProbesSection:
    found = probes_section(store, "a", judge_id)
    assert isinstance(found, ProbesSection)
    return found


def fooled(number: int) -> list[ProbeCall]:
    """Items of a judge that a padded side A always wins over, and whose verdict nothing else moves."""
    return [
        call
        for n in range(number)
        for call in item(
            f"p{n}", "AB", ("B", "B"), padding__A="A", promise__B="B", criteria_order="B", whitespace__A="B"
        )
    ]


def test_a_probed_judge_has_rows_and_the_control_comes_last(store: Store) -> None:
    judge_id = store_probes(store, [pair_of(n, f"t{n // 2}") for n in range(16)], fooled(16))
    found = section(store, judge_id)
    assert [row.probe for row in found.rows] == ["padding", "criteria_order", "promise", "whitespace"]
    padded, reordered, *_ = found.rows
    assert (padded.fooled, padded.flips, padded.baseline_flips, padded.n) == (True, 16, 0, 16)
    assert (padded.excess_flip.value, padded.shift and padded.shift.value) == (1, 1)
    assert (reordered.fooled, reordered.shift) == (False, None)
    assert (found.items, found.instability.k, found.instability.n) == (16, 0, 16)
    assert (found.family, found.self_preference) == ("qwen", None)


def test_a_swapped_order_shifts_towards_the_side_that_is_shown_first(store: Store) -> None:
    """A judge that always picks what stands first: A in the order AB, B when the sides are swapped."""
    calls = [call for n in range(12) for call in item(f"p{n}", "AB", ("A", "A"), swapped_order="B")]
    (row,) = section(store, store_probes(store, [pair_of(n, f"t{n}") for n in range(12)], calls)).rows
    assert (row.fooled, row.excess_flip.value, row.shift and row.shift.value) == (True, 1, 1)


def test_unscored_calls_are_left_out_and_counted(store: Store) -> None:
    calls = [
        *item("p0", "AB", ("A", None), padding__A="A"),
        *item("p1", "AB", ("A", "B"), padding__A=None),
        *item("p2", "AB", ("A", "B"), padding__B="B"),
    ]
    found = section(store, store_probes(store, [pair_of(n, f"t{n}") for n in range(3)], calls))
    assert (found.rows[0].n, found.rows[0].left_out) == (1, 2)
    assert (found.items, found.instability.k, found.instability.n) == (3, 2, 2)


def test_a_tie_is_half_a_move(store: Store) -> None:
    calls = item("p0", "BA", ("A", "A"), padding__B="tie")
    (row,) = section(store, store_probes(store, [pair_of(0, "t0")], list(calls))).rows
    assert row.shift is not None
    assert (row.shift.value, row.excess_flip.value) == (0.5, 1)


def test_the_own_family_is_preferred_where_its_failures_are_forgiven(store: Store) -> None:
    """The judge of the family qwen always picks qwen, whether it did the job or not; of two of it, gold is nothing."""
    records = [
        *(pair_of(n, f"t{n}", ("qwen-plus", "gpt-4o"), "B") for n in range(6)),
        *(pair_of(n, f"t{n}", ("qwen-plus", "gpt-4o"), "A") for n in range(6, 14)),
        *(pair_of(n, f"t{n}", ("qwen-plus", "qwen-max"), "B") for n in range(14, 20)),
    ]
    calls = [call for n in range(20) for call in item(f"p{n}", "AB", ("A", "A"))]
    found = section(store, store_probes(store, records, calls)).self_preference
    assert found is not None
    assert (found.value, found.n) == (1, 14)
    assert found.low is not None
    assert found.low > 0


def test_a_simulated_judge_is_of_the_family_that_was_planted() -> None:
    assert own_family("simulated-judge", '{"planted":{"family":"qwen","self_preference":0.4}}') == "qwen"
    assert own_family("simulated-judge", '{"planted":{"position":0.4}}') is None
    assert own_family("gpt-4o-mini", "") == "openai"


def test_a_judge_that_was_not_probed_is_told_how_to_be(store: Store) -> None:
    judge_id = store_probes(store, [pair_of(0, "t0")], [])
    assert probes_section(store, "a", judge_id) == NOT_PROBED
    with pytest.raises(NotFound):
        probes_section(store, "b", judge_id)
    found = summary(store)
    assert found.probes is None
    assert "misjudge probe" in found.why["probes"]


def test_the_summary_holds_the_probes_of_each_judge(store: Store) -> None:
    records = [pair_of(n, f"t{n}") for n in range(10)]
    probed_id = store_probes(store, records, fooled(10))
    assert summary(store).probes == section(store, probed_id)
    other_id = store_probes(store, records, fooled(6), OTHER)
    both = summary(store)
    assert (both.probes, "probes" in both.why) == (None, True)
    assert both.judges is not None
    assert both.judges["asked"].probes == section(store, probed_id)
    assert both.judges["other"].probes == section(store, other_id)
    assert summary(store, judge="asked", sections=["probes"]).probes == section(store, probed_id)
    assert summary(store, judge="asked", sections=["pairs"]).probes is None


def test_a_judge_that_was_only_probed_is_none_of_several_and_no_panel(store: Store) -> None:
    judged = [
        pair_of(n, f"t{n}", better="A").model_copy(update={"verdicts": (verdict("A", "AB", judge=OTHER),)})
        for n in range(10)
    ]
    stored(store, judged)
    before = summary(store)
    probed_id = store_probes(store, [], fooled(10))
    after = summary(store)
    assert before.judge == after.judge == "other"
    assert after.model_dump(exclude={"warnings"}) == before.model_dump(exclude={"warnings"})
    assert after.warnings == (
        "Judge asked was probed here and judged nothing: see its probes with judge=asked (--judge asked).",
    )
    only = summary(store, sections=["probes"])
    assert only.judge is None and only.warnings == () and only.judges is not None
    assert {label: one.probes for label, one in only.judges.items()} == {
        "asked": section(store, probed_id),
        "other": None,
    }
    assert summary(store, sections=["probes", "pairs"]).judge == "other"
    assert summary(store, judge="asked").probes == section(store, probed_id)
    with pytest.raises(NotFound, match="no judge 'asked' of pairs"):
        summary(store, panel=["asked", "other"])


@pytest.mark.parametrize("seed", range(3))
def test_no_verdict_or_rate_moves_when_a_judge_is_probed(store: Store, seed: int) -> None:
    draw = random.Random(seed)
    records = [
        pair_of(n, f"t{n % 4}", better=draw.choice(("A", "B"))).model_copy(
            update={"verdicts": (verdict(draw.choice(("A", "B")), "AB", judge=ASKED),)}
        )
        for n in range(10)
    ]
    stored(store, records)
    before = summary(store)
    judge_id = store_probes(store, [], random_calls(draw, records, ("padding", "swapped_order")))
    after = summary(store)
    assert isinstance(probes_section(store, "a", judge_id), ProbesSection)
    assert after.model_dump(exclude={"probes", "why"}) == before.model_dump(exclude={"probes", "why"})


# Judges that give one answer to everything


SAID: dict[str, tuple[Preference, Preference]] = {
    "F": ("A", "B"),
    "S": ("B", "A"),
    "A": ("A", "A"),
    "B": ("B", "B"),
}


def answers(names: str, gold: bool = True, judge: Judge = JUDGE) -> list[Record]:
    """Pairs in both orders. A letter of `names` is what a pair's calls name: `F` first, `S` second, `A`, `B` a side."""
    orders: tuple[Order, Order] = ("AB", "BA")
    found = []
    for n, name in enumerate(names):
        verdicts = [verdict(winner, order, judge=judge) for winner, order in zip(SAID[name], orders, strict=True)]
        labels = [label("B" if n % 2 else "A")] if gold else []
        found.append(pair_of(n, f"t{n}").model_copy(update={"verdicts": tuple(verdicts), "gold": tuple(labels)}))
    return found


def test_a_constant_answer_is_called_position_bias_and_its_accuracy_no_skill(store: Store) -> None:
    stored(store, answers("F" * 12))
    assert summary(store).warnings == (
        "Judge judge named the side shown first in 24 of 24 answers: that is position bias, and its accuracy of 0.50 "
        "(12 of 24 calls) is that of a constant answer, not a skill.",
    )


def test_without_gold_the_constant_answer_is_told_all_the_same(store: Store) -> None:
    stored(store, answers("S" * 9 + "F", gold=False))
    assert summary(store).warnings == (
        "Judge judge named the side shown second in 18 of 20 answers: that is position bias, and says nothing of the "
        "sides.",
    )


@pytest.mark.parametrize(
    "names",
    [
        pytest.param("ABABABABABAB", id="a judge of the sides"),
        pytest.param("FFFFFFFSSSSS", id="flips with no letter preferred"),
        pytest.param("FFFFFFFFFAAA", id="it flips on 9 of 12 only"),
        pytest.param("FFF", id="too few answers"),
    ],
)
def test_other_judges_are_not_called_constant(store: Store, names: str) -> None:
    stored(store, answers(names))
    assert summary(store).warnings == ()


def test_of_several_judges_only_the_constant_one_is_named(store: Store) -> None:
    stored(store, answers("F" * 12))
    stored(store, answers("AB" * 6, judge=OTHER))
    assert [warning.split(" named")[0] for warning in summary(store).warnings] == ["Judge judge"]
    assert summary(store, judge="other").warnings == ()
    assert len(summary(store, judge="judge", sections=["cost"]).warnings) == 1
