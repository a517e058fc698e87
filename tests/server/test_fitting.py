from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_server.fitting import LIMIT, ROW_MAPS, fit, rounded, size_of

words = st.text(max_size=40)
leaves = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False) | words
rows = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(min_size=1, max_size=12), inner, max_size=8),
    max_leaves=30,
)
results = st.fixed_dictionaries(
    {"name": words},
    optional={
        "judges": st.dictionaries(st.text(min_size=1, max_size=12), rows, max_size=20),
        "verdicts": st.lists(rows, max_size=20),
        "record": st.fixed_dictionaries({"title": words, "imports": st.lists(rows, max_size=20)}),
    },
)


def holds_rows(node: Any, name: str = "") -> bool:
    """Whether anything is left that may be cut."""
    if isinstance(node, list):
        return bool(node)
    if isinstance(node, dict):
        return (name in ROW_MAPS and bool(node)) or any(holds_rows(value, str(key)) for key, value in node.items())
    return False


def part(node: Any, path: str) -> Any:
    """What stands at a path of names that hold no dot."""
    for name in path.split("."):
        node = node[int(name)] if isinstance(node, list) else node[name]
    return node


@given(results, st.integers(150, 1_000))
def test_a_result_fits_or_has_no_row_left(result: dict[str, Any], limit: int) -> None:
    fitted = fit("judge", result, limit)
    left = {name: value for name, value in fitted.items() if name not in {"left_out", "left_out_next"}}
    assert size_of(fitted) <= limit or not holds_rows(left)


@given(results, st.integers(150, 1_000))
def test_a_result_within_the_limit_is_unchanged(result: dict[str, Any], limit: int) -> None:
    fitted = fit("judge", result, limit)
    if size_of(result) <= limit:
        assert fitted == result
    else:
        assert fitted["left_out_next"]


@given(results, st.integers(150, 1_000))
def test_what_stays_stands_as_it_did_at_the_front_of_its_rows(result: dict[str, Any], limit: int) -> None:
    def begins(whole: Any, cut: Any) -> bool:
        if isinstance(whole, list):
            return len(cut) <= len(whole) and all(begins(a, b) for a, b in zip(whole, cut, strict=False))
        if isinstance(whole, dict):
            return list(whole)[: len(cut)] == list(cut) and all(begins(whole[name], cut[name]) for name in cut)
        return bool(whole == cut)

    fitted = fit("judge", result, limit)
    assert begins(result, {name: value for name, value in fitted.items() if name in result})


@given(st.lists(st.lists(st.text(max_size=20), max_size=20), max_size=20), st.integers(60, 1_000))
def test_the_rows_left_out_are_counted_where_they_stood(table: list[list[str]], limit: int) -> None:
    result = {"table": table, "files": [{"problems": row} for row in table]}
    fitted = fit("judge", result, limit)
    for path, missing in fitted.get("left_out", {}).items():
        assert len(part(result, path)) == len(part(fitted, path)) + missing
    counted = fitted.get("left_out", {})
    assert len(table) - len(fitted["table"]) == counted.get("table", 0)
    assert len(table) - len(fitted["files"]) == counted.get("files", 0)


def test_a_hundred_thousand_rows_are_cut_to_the_limit() -> None:
    result = {"verdicts": [{"pair_id": f"p{n}", "winner": "A"} for n in range(100_000)]}
    fitted = fit("judge", result)
    shown = len(fitted["verdicts"])
    assert size_of(fitted) <= LIMIT < size_of({"verdicts": result["verdicts"][: shown + 3]}) + 200
    assert fitted["left_out"] == {"verdicts": 100_000 - shown}


def test_as_many_rows_stay_as_fit() -> None:
    result = {"verdicts": ["x" * 100] * 500}
    fitted = fit("judge", result)
    one_more = {**fitted, "verdicts": [*fitted["verdicts"], "x" * 100]}
    assert size_of(fitted) <= LIMIT < size_of(one_more)


def test_the_last_row_is_cut_inside_before_it_is_dropped() -> None:
    judges = {label: {"rate": 0.5, "rows": ["b" * 100] * 200} for label in ("first", "second")}
    fitted = fit("summarize_audit", {"judges": judges})
    assert list(fitted["judges"]) == ["first"]
    assert fitted["judges"]["first"]["rate"] == 0.5
    shown = len(fitted["judges"]["first"]["rows"])
    assert shown > 50
    assert fitted["left_out"] == {"judges": 1, "judges.first.rows": 200 - shown}


def test_the_widest_rows_are_cut_first() -> None:
    fitted = fit("read_record", {"record": {"runs": ["r" * 20] * 20, "imports": ["i" * 200] * 60}})
    assert len(fitted["record"]["runs"]) == 20
    assert list(fitted["left_out"]) == ["record.imports"]


def test_members_of_an_object_that_holds_no_rows_stay() -> None:
    fitted = fit("summarize_audit", {"misselection": {"rate": 0.5, "why": "w" * 12_000}, "rows": ["b"] * 9})
    assert fitted["misselection"] == {"rate": 0.5, "why": "w" * 12_000}
    assert (fitted["rows"], fitted["left_out"]) == ([], {"rows": 9})


def test_the_result_given_is_not_changed() -> None:
    result = {"verdicts": ["x" * 100] * 500}
    before = json.dumps(result)
    fit("judge", result)
    assert json.dumps(result) == before


def test_size_is_that_of_utf8_on_the_wire() -> None:
    assert size_of({"a": "中文😀", "b": [1, None]}) == len('{"a":"中文😀","b":[1,null]}'.encode())


def test_rows_on_rubrics_that_only_say_more_of_others_go_before_them() -> None:
    row = {"writer": "m", "recall": 0.25, "why": "x" * 40}
    run = {"audit": "a"}
    names = ("writers", "writers_by_domain", "checks", "inversions")
    section = {name: [row] * (2 if name == "writers" else 6) for name in names}
    fitted = fit("score_rubrics", {"run": run, "rubrics": section}, size_of(section) - 3 * size_of(row))
    assert {name: len(fitted["rubrics"][name]) for name in names} == {
        "writers": 2,
        "writers_by_domain": 6 - fitted["left_out"]["rubrics.writers_by_domain"],
        "checks": 6,
        "inversions": 6,
    }
    tight = fit("score_rubrics", {"run": run, "rubrics": section}, 3 * size_of(row) + 400)
    assert (len(tight["rubrics"]["writers"]), tight["rubrics"]["writers_by_domain"], tight["rubrics"]["checks"]) == (
        2,
        [],
        [],
    )
    assert tight["left_out_next"] == (
        "summarize_audit(audit='a', sections=['rubrics.writers_by_domain']), and likewise, one a call, rubrics.checks, "
        "rubrics.inversions"
    )


ROWS = [{"writer": f"w{n}", "examples": ["e" * 100] * 5} for n in range(30)]


def test_parts_of_rubrics_that_were_asked_for_go_on_behind_the_rows_that_are_shown() -> None:
    section = {"parts": ["writers.4", "checks"], "advice": [], "writers": ROWS, "checks": ROWS[:2]}
    fitted = fit("summarize_audit", {"audit": "it's", "rubrics": section})
    shown = len(fitted["rubrics"]["writers"])
    assert fitted["left_out"] == {"rubrics.checks": 2, "rubrics.writers": 30 - shown} and shown > 5
    assert fitted["left_out_next"] == (
        f"summarize_audit(audit=\"it's\", sections=['rubrics.writers.{4 + shown}']), and likewise, one a call, "
        "rubrics.checks.0"
    )


def test_the_examples_of_one_long_row_are_read_one_by_one() -> None:
    section = {"parts": ["checks"], "checks": [{"first": "m", "examples": ["e" * 1_000] * 20}]}
    fitted = fit("summarize_audit", {"audit": "a", "rubrics": section})
    shown = len(fitted["rubrics"]["checks"][0]["examples"])
    assert fitted["left_out"] == {"rubrics.checks.0.examples": 20 - shown} and shown > 5
    assert fitted["left_out_next"].startswith("read_record of misjudge://audits/NAME/matchings")
    whole = fit("summarize_audit", {"audit": "a", "rubrics": {**section, "parts": []}})
    assert whole["left_out_next"] == "summarize_audit(audit='a', sections=['rubrics.checks'])"


def test_what_was_cut_beside_rubrics_has_its_own_way_on() -> None:
    section = {"parts": [], "advice": ["a" * 300] * 20, "writers": ROWS}
    fitted = fit(
        "summarize_audit", {"audit": "a", "rubrics": section, "judges": {f"j{n}": "x" * 90 for n in range(90)}}
    )
    assert fitted["left_out"].keys() == {"rubrics.advice", "rubrics.writers", "judges"}
    rubrics, _, others = fitted["left_out_next"].partition("; ")
    assert (
        rubrics == "summarize_audit(audit='a', sections=['rubrics.writers']), and likewise, one a call, rubrics.advice"
    )
    assert others.startswith("summarize_audit with judge=LABEL")


def test_numbers_have_six_decimals_and_small_ones_six_digits() -> None:
    given = {
        "rates": [2 / 3, 0.05, 1.0, 0.0, -1 / 3],
        "p": 1.23456789e-12,
        "cost": 12345.678912345,
        "n": 12_345_678_901,
        "open": [float("inf"), float("-inf")],
        "told": ["0.123456789", True, None],
    }
    assert rounded(given) == {
        "rates": [0.666667, 0.05, 1.0, 0.0, -0.333333],
        "p": 1.23457e-12,
        "cost": 12345.678912,
        "n": 12_345_678_901,
        "open": [float("inf"), float("-inf")],
        "told": ["0.123456789", True, None],
    }
    assert [type(value) for value in rounded([1.0, 1, True])] == [float, int, bool]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_rounded_number_is_that_number_and_rounding_it_again_changes_nothing(value: float) -> None:
    short = rounded(value)
    assert short == pytest.approx(value, rel=1e-5, abs=0)
    assert rounded(short) == short


def test_a_long_summary_keeps_its_verdict_and_names_the_sections_that_went() -> None:
    whole = {
        "audit": "a",
        "headline": {"verdict": ["Do not use this judge: " + "w" * 200] * 3},
        "misselection": {"rate": 0.5},
        "slices": {"rows": ["s" * 100] * 60},
        "conflicts": {"strict": {"rows": ["c" * 100] * 60}},
        "recommendations": {"rows": [{"advice": "r" * 200}] * 5},
        "why": {"slices.x": "y", "panel": "There is one judge."},
    }
    fitted = fit("summarize_audit", whole)
    assert size_of(fitted) <= LIMIT
    assert fitted["sections_left_out"] == ["slices"] and fitted["why"] == {"panel": "There is one judge."}
    for kept in ("headline", "misselection", "recommendations"):
        assert fitted[kept] == whole[kept]
    assert "sections=[NAME]" in fitted["left_out_next"]


def test_a_section_that_was_asked_for_alone_is_cut_by_its_rows() -> None:
    fitted = fit("summarize_audit", {"audit": "a", "slices": {"rows": ["s" * 100] * 200}, "why": {}})
    assert "sections_left_out" not in fitted
    assert len(fitted["slices"]["rows"]) + fitted["left_out"]["slices.rows"] == 200
