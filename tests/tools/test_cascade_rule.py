"""The rule of a cascade on tables of verdicts: it agrees with the view of reduced verdicts, and with an oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.cascade_records import Said
from misjudge_storage.hashing import digest
from misjudge_storage.rows import cell_id
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Preference
from misjudge_tools.runs.cascade import REASONS, Asked, Terms, escalation, panel_cells, reduced
from view_oracle import reduce_verdicts

SCORES = st.one_of(st.none(), st.integers(0, 5).map(float))
VERDICTS = st.builds(Said, st.sampled_from(["AB", "BA"]), st.sampled_from(["A", "B", "tie", None]), SCORES, SCORES)
TABLES = st.lists(VERDICTS, min_size=1, max_size=6)
MARGINS = st.sampled_from([0.0, 0.5, 1.0, 2.5, 6.0])
OTHER: Mapping[Preference | None, Preference | None] = {"A": "B", "B": "A", "tie": "tie", None: None}
BUCKETS = st.sampled_from([None, "near", "wide"])


def as_rows(verdicts: Sequence[Said]) -> list[dict[str, Any]]:
    """The table as rows of `verdicts`."""
    return [{**one._asdict(), "reduced": False, "status": "scored" if one.winner else "unscored"} for one in verdicts]


def expected(bucket: str | None, verdicts: Sequence[Said], margin: float) -> str:
    """The rule, said once more from the reduced verdict of the oracle."""
    status, pref = reduce_verdicts(as_rows(verdicts))
    both = [(one.score_a, one.score_b) for one in verdicts if None not in (one.score_a, one.score_b)]
    if bucket == "near":
        return "near"
    if status in {"unscored", "inconsistent"}:
        return status
    if not both:
        return "low_margin" if pref == "tie" else "clear"
    a, b = (fmean(scores) for scores in zip(*both, strict=True))
    return "low_margin" if round(abs(a - b), 9) < margin else "clear"


@given(TABLES)
def test_verdicts_reduce_as_in_the_view(verdicts: list[Said]) -> None:
    status, pref = reduce_verdicts(as_rows(verdicts))
    assert reduced(verdicts) == (pref or status)


@given(BUCKETS, TABLES, MARGINS)
def test_the_first_reason_that_holds_is_named(bucket: str | None, verdicts: list[Said], margin: float) -> None:
    assert escalation(bucket, verdicts, margin) == expected(bucket, verdicts, margin)


@given(BUCKETS, TABLES, MARGINS, st.data())
def test_neither_the_order_of_verdicts_nor_of_the_sides_matters(
    bucket: str | None, verdicts: list[Said], margin: float, data: st.DataObject
) -> None:
    said = escalation(bucket, verdicts, margin)
    assert escalation(bucket, data.draw(st.permutations(verdicts)), margin) == said
    turned = [Said(one.order_shown, OTHER[one.winner], one.score_b, one.score_a) for one in verdicts]
    assert escalation(bucket, turned, margin) == said


@given(BUCKETS, TABLES, MARGINS, st.integers(0, 6))
def test_nothing_is_decided_while_a_verdict_is_missing_unless_the_pair_is_near(
    bucket: str | None, verdicts: list[Said], margin: float, position: int
) -> None:
    partial = [*verdicts[:position], None, *verdicts[position:]]
    assert escalation(bucket, partial, margin) == ("near" if bucket == "near" else "open")


@given(TABLES, MARGINS, MARGINS)
def test_a_larger_margin_escalates_no_less(verdicts: list[Said], one: float, other: float) -> None:
    low, high = sorted((one, other))
    if escalation(None, verdicts, low) in REASONS:
        assert escalation(None, verdicts, high) in REASONS


@pytest.mark.parametrize(
    ("verdicts", "margin", "said"),
    [
        ([Said("AB", "A", 4, 2), Said("BA", "A", 4, 3)], 1.5, "clear"),
        ([Said("AB", "A", 4, 2), Said("BA", "A", 4, 3)], 1.6, "low_margin"),
        ([Said("AB", "tie", 3, 3), Said("BA", "tie", 3, 3)], 0, "clear"),
        ([Said("AB", "tie"), Said("BA", "tie")], 0, "low_margin"),
        ([Said("AB", "A"), Said("BA", "A")], 6, "clear"),
        ([Said("AB", "A", 5, 0), Said("BA", "A", 5, 0)], 6, "low_margin"),
        ([Said("AB", "A"), Said("BA", "tie")], 1, "clear"),
        ([Said("AB", "tie", 2, 4), Said("BA", "tie", 2, 4)], 1, "clear"),
        ([Said("AB", "A", 5, 1), Said("AB", None), Said("BA", "A", 5, 1)], 1, "clear"),
        ([Said("AB", "A", 5, 1), Said("AB", "B", 1, 5), Said("BA", "A", 5, 1)], 1, "inconsistent"),
        ([Said("AB", "A", 5, 1), Said("BA", None)], 1, "unscored"),
        ([Said("AB", "A", 5, 1)], 1, "clear"),
        ([], 1, "open"),
    ],
)
def test_cases_by_hand(verdicts: list[Said], margin: float, said: str) -> None:
    assert escalation("wide", verdicts, margin) == said


def test_the_panel_is_asked_the_questions_of_the_first_judge() -> None:
    first = [PlannedCell(digest("x", n), "pairwise", "one", "p", None, "AB" if n else "BA", n, n) for n in range(2)]
    terms = Terms("judge", "one", ("two", "three"), 1)
    cells = panel_cells("aud", terms, Asked(tuple(first), None))
    assert [(cell.actor_id, cell.order_shown, cell.repeat) for cell in cells] == [
        ("two", "BA", 0),
        ("two", "AB", 1),
        ("three", "BA", 0),
        ("three", "AB", 1),
    ]
    assert [cell.cell_id for cell in cells[:2]] == [
        cell_id("aud", "two", "p", "BA", 0),
        cell_id("aud", "two", "p", "AB", 1),
    ]
