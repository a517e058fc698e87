"""Charts of a summary: which there are, what numbers they draw, and what readers get who do not see them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from chart_summaries import (
    NAMES,
    bare,
    bucket,
    costs,
    full,
    judge_sections,
    policies,
    rubrics,
    satisfaction,
    side_by_side,
    writer,
)
from misjudge_storage.errors import InvalidInput
from misjudge_tools.report.chart_axes import error_axis, forest_axis, point_marks
from misjudge_tools.report.chart_data import Forest, Picture, Plane, Point, row, rows_of
from misjudge_tools.report.chart_drawing import spec_of
from misjudge_tools.report.chart_pictures import pictures
from misjudge_tools.report.chart_words import policy_in_words
from misjudge_tools.report.charts import Chart, charts, png, png_shows_chinese
from misjudge_tools.stats.rates import plain_rate
from misjudge_tools.summary.values import AuditSummary, Sections

pytest.importorskip("altair", reason="charts need the extra report")
pytest.importorskip("vl_convert", reason="charts need the extra report")


@pytest.fixture(scope="module")
def summary() -> AuditSummary:
    return full()


@pytest.fixture(scope="module")
def drawn(summary: AuditSummary) -> dict[str, Chart]:
    return charts(summary, "en")


def picture_of(summary: AuditSummary, name: str, language: Any = "en") -> Picture:
    (found,) = (picture for picture in pictures(summary, language) if picture.name == name)
    return found


def forests(summary: AuditSummary, name: str) -> list[Forest]:
    return [panel for panel in picture_of(summary, name).panels if isinstance(panel, Forest)]


def numbers(value: Any) -> Iterator[float]:
    """Every number in a value, but no truth value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def drawn_rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of all data of a specification."""
    return [one for rows in spec["datasets"].values() for one in rows]


def test_there_is_a_chart_of_everything_in_the_order_of_a_report(drawn: dict[str, Chart]) -> None:
    assert tuple(drawn) == NAMES
    assert [chart.name for chart in drawn.values()] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_that_is_drawn_is_one_of_the_summary(
    name: str, summary: AuditSummary, drawn: dict[str, Chart]
) -> None:
    known = {float(number) for number in numbers(json.loads(summary.model_dump_json()))}
    rows = drawn_rows(drawn[name].spec)
    # Which judge a row is of is no number of the picture.
    found = [number for one in rows for number in numbers({k: v for k, v in one.items() if k != "series"})]
    assert found and {float(number) for number in found} <= known


def test_the_rates_by_gap_are_those_of_the_buckets(summary: AuditSummary, drawn: dict[str, Chart]) -> None:
    assert summary.buckets is not None
    rows = [one for one in drawn_rows(drawn["misselection_by_gap"].spec) if "value" in one]
    expected = [one.misselection for one in summary.buckets]
    assert sorted((one["value"] or -1, one["low"] or -1, one["high"] or -1, one["n"]) for one in rows) == sorted(
        (rate.rate or -1, rate.low or -1, rate.high or -1, rate.n) for rate in expected
    )


def test_a_range_without_answers_is_said_and_not_drawn(summary: AuditSummary) -> None:
    (reward,) = (panel for panel in forests(summary, "misselection_by_gap") if panel.title.startswith("By reward"))
    near = reward.rows[0]
    assert (near.value, near.low, near.high, near.n, near.figures) == (None, None, None, 0, "n=0")


def test_rules_are_drawn_with_coverage_and_their_bounds(summary: AuditSummary, drawn: dict[str, Chart]) -> None:
    assert summary.policies is not None and summary.policies.region is not None
    rows = [one for one in drawn_rows(drawn["risk_coverage"].spec) if "bound" in one]
    told = {row["label"].split(",")[0]: (row["coverage"], row["value"], row["high"], row["bound"]) for row in rows}
    bounds = {one.policy: one.bound for one in summary.policies.region.tested}
    assert told == {
        one.policy: (one.coverage, one.misselection.rate, one.misselection.high, bounds.get(one.policy))
        for one in summary.policies.rows
        if one.misselection is not None
    }


def test_a_wedge_is_explained_where_one_is_drawn() -> None:
    found = policies()
    without = full(policies=found.model_copy(update={"region": None}))
    for summary, drawn in ((full(), True), (without, False)):
        picture = picture_of(summary, "risk_coverage")
        (plane,) = picture.panels
        assert isinstance(plane, Plane) and any(point.bound is not None for point in plane.points) == drawn
        assert any("wedge" in line for line in picture.lines) == drawn


def test_the_number_of_a_rule_stands_out_from_the_line_that_it_lies_on(drawn: dict[str, Chart]) -> None:
    """Behind its letters is the colour of the paper, above the limit and the intervals."""
    layers = next(part["layer"] for part in drawn["risk_coverage"].spec["vconcat"] if "layer" in part)
    marks = [(one["mark"]["type"], one["mark"].get("stroke")) for one in layers]
    assert marks[-2:] == [("text", "#ffffff"), ("text", None)]
    assert [name for name, _ in marks].index("rule") < len(marks) - 2


def test_the_panels_of_a_picture_begin_at_one_edge(summary: AuditSummary) -> None:
    for name in NAMES:
        assert spec_of(picture_of(summary, name), "en")["config"]["title"]["frame"] == "group"


def test_a_long_title_of_a_panel_is_broken_and_not_cut(drawn: dict[str, Chart]) -> None:
    titles = [
        part["title"]["text"]
        for part in drawn["misselection_by_gap"].spec["vconcat"]
        if "text" in part.get("title", {})
    ]
    assert ["By the judge's own scores (circular: no", "evidence of ability)"] in titles


def test_rules_have_the_names_that_gates_know_and_in_chinese_what_they_mean() -> None:
    assert policy_in_words("one_call", "en") == "one_call" and policy_in_words("margin>=2", "en") == "margin>=2"
    assert policy_in_words("one_call", "zh") == "one_call（单次调用）"
    assert policy_in_words("margin>=2", "zh") == "margin>=2（分差）"


def test_the_trusted_region_ends_at_its_coverage_and_the_limit(drawn: dict[str, Chart]) -> None:
    assert {"limit": 0.05, "coverage": 0.361} in drawn_rows(drawn["risk_coverage"].spec)
    assert "Shaded: the trusted region, margin>=2" in drawn["risk_coverage"].alt


def test_without_a_certified_rule_no_region_is_shaded() -> None:
    found = policies()
    assert found.region is not None
    none = found.region.model_copy(update={"policy": None, "coverage": None, "bound": None})
    picture = picture_of(full(policies=found.model_copy(update={"region": none})), "risk_coverage")
    (plane,) = picture.panels
    assert isinstance(plane, Plane) and plane.coverage is None
    assert plane.note == "No rule is certified to stay under the limit."
    assert {"limit": 0.05, "coverage": None} in drawn_rows(spec_of(picture, "en"))
    assert "#cfe8dc" not in json.dumps(spec_of(picture, "en")), "the colour of the region"


def test_of_runs_that_stopped_early_no_region_and_no_limit_are_drawn() -> None:
    picture = picture_of(full(policies=policies().model_copy(update={"region": None})), "risk_coverage")
    (plane,) = picture.panels
    assert isinstance(plane, Plane) and plane.limit is None
    assert plane.note == "No region is certified: runs stopped by what they saw."
    assert all("limit" not in one for one in drawn_rows(spec_of(picture, "en")))


def test_rules_that_come_to_the_same_share_a_number() -> None:
    found = policies()
    both = found.rows[1]
    twice = found.model_copy(update={"rows": (both, both.model_copy(update={"policy": "margin>=1"}), found.rows[0])})
    picture = picture_of(full(policies=twice), "risk_coverage")
    (plane,) = picture.panels
    assert isinstance(plane, Plane)
    assert [point.number for point in plane.points] == ["1", "1", "2"]
    assert len([one for one in drawn_rows(spec_of(picture, "en")) if "number" in one]) == 2


def test_numbers_of_rules_that_lie_on_one_place_stand_beside_each_other() -> None:
    def point(number: str, coverage: float, value: float) -> Point:
        return Point(number, "", coverage, value, None, None, None, 9, False, "")

    points = [point("1", 1.0, 0.0), point("2", 0.99, 0.01), point("3", 0.5, 0.01), point("4", 1.0, 0.2)]
    assert point_marks(points, 0.3) == {"1": "1,2", "2": "", "3": "3", "4": "4"}


def test_the_areas_of_the_mosaic_are_the_counts(summary: AuditSummary, drawn: dict[str, Chart]) -> None:
    assert summary.satisfaction is not None and summary.satisfaction.cross_table is not None
    rows = [one for one in drawn_rows(drawn["satisfaction_success"].spec) if "sessions" in one]
    assert {one["kind"]: one["sessions"] for one in rows} == dict(summary.satisfaction.cross_table)
    assert "24.4 % [18.4–31.6] 39/160" in drawn["satisfaction_success"].svg


def test_a_cell_without_room_keeps_its_count_for_the_list() -> None:
    picture = picture_of(full(satisfaction=satisfaction(1, satisfied=2000)), "satisfaction_success")
    rows = drawn_rows(spec_of(picture, "en"))
    roomy = {one["kind"]: one["roomy"] for one in rows if "roomy" in one}
    assert roomy["satisfied_succeeded"] and not roomy["satisfied_failed"]
    assert any(one.get("figures") == "1/2032" for one in rows)


def test_where_nobody_was_satisfied_the_rate_says_so() -> None:
    nobody = satisfaction(0, satisfied=0).model_copy(update={"intervals": {}})
    chart = charts(AuditSummary(audit="a", simulated=False, satisfaction=nobody), "en")["satisfaction_success"]
    assert "failed, of satisfied: n=0" in chart.alt


def test_costs_without_a_price_have_no_bar_and_parts_of_costs_are_said_to_be_so(drawn: dict[str, Chart]) -> None:
    rows = {one["label"]: one for one in drawn_rows(drawn["cost_by_role"].spec)}
    assert rows["probes"]["cost"] is None and rows["probes"]["figures"] == "no known price, 80 calls"
    assert rows["agents"]["figures"].startswith("at least 0.4567 USD")
    assert rows["judge"]["cost"] == 1.2345


def test_where_nothing_was_paid_there_is_no_chart_of_costs() -> None:
    free = costs().model_copy(update={"stages": tuple(one.model_copy(update={"cost": 0.0}) for one in costs().stages)})
    assert "cost_by_role" not in {picture.name for picture in pictures(full(cost=free), "en")}


def test_drift_without_anchors_is_not_taken_apart() -> None:
    found = judge_sections().drift
    assert found is not None
    alone = full(drift=found.model_copy(update={"anchors": None, "parts": None}))
    (panel,) = forests(alone, "drift_forest")
    assert [one.label for one in panel.rows] == ["all shared pairs", "the same, per single call"]
    (panel,) = forests(full(), "drift_forest")
    assert [one.value for one in panel.rows] == [-0.0721, -0.0655, -0.0811, 0.0091]


def test_differences_have_a_mark_at_nothing_and_say_points(drawn: dict[str, Chart]) -> None:
    (panel,) = forests(full(), "probes")
    assert panel.line == 0 and panel.unit == "difference"
    assert "Δ +45.1 [+28.0, +62.2] n=40" in drawn["probes"].svg
    assert "order to the judge, in a tool result, failed side: fooled" in drawn["probes"].svg


@pytest.mark.parametrize("name", NAMES)
def test_what_a_summary_does_not_hold_is_left_out(name: str) -> None:
    sections = {
        "misselection_by_gap": ("buckets",),
        "risk_coverage": ("policies",),
        "satisfaction_success": ("satisfaction",),
        "flips_position": ("bias", "consistency"),
        "cost_by_role": ("cost",),
        "rubric_quality": ("rubrics",),
        "drift_forest": ("drift",),
        "probes": ("probes",),
    }[name]
    without: dict[str, Any] = dict.fromkeys(sections)
    found = pictures(full(**without), "en")
    assert [picture.name for picture in found] == [other for other in NAMES if other != name]


def test_a_summary_that_says_nothing_has_no_chart() -> None:
    assert charts(AuditSummary(audit="a", simulated=False), "en") == {}
    empty = AuditSummary(audit="a", simulated=False, buckets=(bucket("ability", "near", 0, 0),))
    assert charts(empty, "zh") == {}


def test_one_pair_is_drawn_with_an_interval_over_nearly_everything() -> None:
    (chart,) = charts(bare(), "en").values()
    assert "100.0 % [20.7–100.0] 1/1" in chart.alt
    (panel,) = forests(bare(), "misselection_by_gap")
    assert forest_axis([panel]).high == 1


def test_position_falls_back_on_consistency_where_biases_were_not_asked_for() -> None:
    panels = forests(full(bias=None), "flips_position")
    assert [panel.title[:8] for panel in panels] == ["Verdicts", "Verdicts"]


def test_axes_begin_at_nothing_and_hold_every_interval() -> None:
    panel = Forest("", (row("a", plain_rate(3, 10)), row("b", plain_rate(0, 0))))
    axis = forest_axis([panel])
    assert axis.low == 0 and axis.high >= (plain_rate(3, 10).high or 1) and axis.high in axis.ticks
    assert len(axis.ticks) <= 7
    few = forest_axis([Forest("", (row("a", plain_rate(0, 100_000)),))])
    assert few.high == 0.05


def test_a_rule_that_decides_next_to_nothing_does_not_set_the_axis() -> None:
    (plane,) = picture_of(full(), "risk_coverage").panels
    assert isinstance(plane, Plane)
    wide = plane.points[0]._replace(value=0.0, low=0.0, high=1.0)
    assert error_axis(plane._replace(points=(*plane.points, wide))) == error_axis(plane)
    assert error_axis(plane._replace(points=(wide,))).high == 1


def test_several_judges_have_rows_of_their_own() -> None:
    summary = side_by_side("first", "second")
    for panel in forests(summary, "misselection_by_gap"):
        assert {one.series for one in panel.rows} == {0, 1}
        assert [one.label.split(" · ")[1] for one in panel.rows[:2]] == ["first", "second"]
    assert [panel.title for panel in picture_of(summary, "risk_coverage").panels] == ["first", "second"]
    assert [one.label for one in forests(summary, "flips_position")[0].rows] == ["first", "second"]


def test_of_many_judges_the_first_are_drawn_and_the_rest_are_said() -> None:
    summary = side_by_side(*(f"judge {number}" for number in range(15)))
    flips = picture_of(summary, "flips_position")
    assert "12 of 15 judges are drawn; the summary has all." in flips.lines
    for picture in pictures(summary, "en"):
        assert sum(len(panel.rows) for panel in picture.panels if isinstance(panel, Forest)) <= 60


def test_of_many_writers_the_first_are_drawn_and_the_rest_are_said() -> None:
    many = rubrics(*(writer(f"w{number}", number, 100) for number in range(20)))
    picture = picture_of(full(rubrics=many), "rubric_quality")
    assert "15 of 20 rows are drawn; the summary has all." in picture.lines


def test_a_writer_whom_nobody_matched_is_not_drawn() -> None:
    alone = full(
        rubrics=rubrics(writer("a", 0, 0, matcher=None).model_copy(update={"hallucination_rate": plain_rate(0, 0)}))
    )
    assert "rubric_quality" not in {picture.name for picture in pictures(alone, "en")}
    own = full(rubrics=rubrics(writer("a", 3, 10, matcher=None)))
    assert forests(own, "rubric_quality")[0].rows[0].label == "a"


def test_limits_that_differ_are_not_drawn() -> None:
    first, second = judge_sections(), judge_sections()
    assert second.headline is not None
    other = second.model_copy(update={"headline": second.headline.model_copy(update={"limit": 0.1})})
    judges = {"a": Sections(**dict(first)), "b": Sections(**dict(other))}
    summary = AuditSummary(audit="a", simulated=False, judges=judges)
    assert all(panel.line is None for panel in forests(summary, "misselection_by_gap"))


def test_anytime_intervals_are_called_so() -> None:
    found = bucket("ability", "near", 3, 40)
    anytime = found.model_copy(update={"misselection": found.misselection.model_copy(update={"interval": "anytime"})})
    assert any("anytime" in line for line in picture_of(full(buckets=(anytime,)), "misselection_by_gap").lines)


def test_a_probe_without_words_goes_by_its_name_and_an_unknown_range_stays_as_it_is() -> None:
    named = judge_sections().probes
    assert named is not None
    rows = tuple(one.model_copy(update={"probe": "of_\x1btheir_own"}) for one in named.rows[1:2])
    (panel,) = forests(full(probes=named.model_copy(update={"rows": rows})), "probes")
    assert panel.rows[0].label == "of_their_own"
    odd = bucket("ability", "near", 3, 40).model_copy(update={"range": "as declared"})
    picture = picture_of(full(buckets=(odd,)), "misselection_by_gap", "zh")
    assert next(rows_of(picture.panels[0], "zh")).startswith("接近 (as declared)")


def test_charts_speak_chinese() -> None:
    found = charts(full(), "zh")
    assert tuple(found) == NAMES
    assert found["misselection_by_gap"].title == "裁判选中失败一方的频率"
    assert "接近 (至多 0.2)" in found["misselection_by_gap"].svg
    assert 'lang="zh-Hans"' in found["probes"].svg and "一方加填充" in found["probes"].svg
    assert png(found["probes"]).startswith(b"\x89PNG")


def test_the_description_says_every_number_with_n_and_interval(drawn: dict[str, Chart]) -> None:
    for chart in drawn.values():
        said = ET.fromstring(chart.svg).find("{http://www.w3.org/2000/svg}desc")
        assert said is not None and said.text == chart.alt
        for figures in {one["figures"] for one in drawn_rows(chart.spec) if one.get("figures")}:
            assert figures in chart.alt
    assert "near (up to 0.2): 30.5 % [24.5–37.2] 61/200" in drawn["misselection_by_gap"].alt


def test_the_same_summary_gives_the_same_bytes(summary: AuditSummary, drawn: dict[str, Chart]) -> None:
    again = charts(summary, "en")
    assert again == drawn
    assert png(again["risk_coverage"]) == png(drawn["risk_coverage"])


def test_specifications_are_valid_vega_lite(drawn: dict[str, Chart]) -> None:
    import altair

    for chart in drawn.values():
        altair.VConcatChart.from_dict(chart.spec, validate=True)


def test_a_png_has_as_many_pixels_as_asked_for(drawn: dict[str, Chart]) -> None:
    chart = drawn["cost_by_role"]
    *_, width, height = (float(part) for part in ET.fromstring(chart.svg).attrib["viewBox"].split())
    found = png(chart, scale=3)
    size = int.from_bytes(found[16:20], "big"), int.from_bytes(found[20:24], "big")
    assert all(math.isclose(a, 3 * b, abs_tol=3) for a, b in zip(size, (width, height), strict=True))


def test_whether_png_files_can_show_chinese_is_told() -> None:
    assert png_shows_chinese() in {True, False}


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_without_the_extra_one_sentence_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, drawn: dict[str, Chart]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InvalidInput, match=r'pip install "misjudge\[report\]"'):
        charts(bare(), "en")
    if missing == "vl_convert":
        with pytest.raises(InvalidInput, match="extra report"):
            png(drawn["probes"])
        with pytest.raises(InvalidInput, match="extra report"):
            png_shows_chinese()


def test_neither_library_is_imported_before_a_chart_is_drawn() -> None:
    code = "import sys, misjudge_tools.report.charts; print({'altair', 'vl_convert', 'narwhals'} & set(sys.modules))"
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=paths)
    assert found.stdout.strip() == "set()"
