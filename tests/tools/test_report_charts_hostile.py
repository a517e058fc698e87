"""Charts of hostile names: nothing runs, nothing is fetched, nothing breaks the layout; and one SVG for all grounds."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from chart_summaries import NAMES, full, rubrics, side_by_side, writer
from misjudge_tools.report.chart_data import alt
from misjudge_tools.report.chart_labels import LONGEST, lines, shown, width
from misjudge_tools.report.chart_marks import WIDTH
from misjudge_tools.report.chart_pictures import pictures
from misjudge_tools.report.charts import Chart, charts
from misjudge_tools.summary.values import AuditSummary

pytest.importorskip("altair", reason="charts need the extra report")
pytest.importorskip("vl_convert", reason="charts need the extra report")

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>",
    "\"><image href='https://example.org/x.png' onerror=alert(1)>]]>&lt;",
    "very-long-" * 100_000,
    "evil\u202egnp.exe\u2066\x1b[31m\nnext\tline\x00",
    "javascript:alert(1)",
    "datum.value; url(#x) {{x}} var(--chart-ink, #000000)",
    "Z" + "\u0301" * 500 + "algo",
)
ALLOWED = {"svg", "g", "path", "rect", "text", "tspan", "line", "style", "title", "desc", "defs", "clipPath"}


@pytest.fixture(scope="module")
def hostile() -> dict[str, Chart]:
    summary = side_by_side(*HOSTILE[:4], marked="SIMULATED: made up")
    evil = rubrics(*(writer(name, 3, 10, matcher=name) for name in HOSTILE))
    return charts(summary.model_copy(update={"rubrics": evil}), "en")


@pytest.fixture(scope="module")
def plain() -> dict[str, Chart]:
    return charts(full(), "en")


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_text_and_nothing_else(name: str, hostile: dict[str, Chart]) -> None:
    root = ET.fromstring(hostile[name].svg)
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ALLOWED
        assert not any(attribute.lower().startswith("on") or "href" in attribute for attribute in element.attrib)
        assert not any("script:" in value or "//" in value for value in element.attrib.values())
    assert "<script" not in hostile[name].svg and "<image" not in hostile[name].svg


@pytest.mark.parametrize("name", NAMES)
def test_no_control_or_direction_mark_gets_into_a_chart(name: str, hostile: dict[str, Chart]) -> None:
    for text in (hostile[name].svg, hostile[name].alt, hostile[name].title):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
        assert "\u0301" * 3 not in text
    assert len(hostile[name].svg) < 150_000


def test_no_text_is_wider_than_the_picture(hostile: dict[str, Chart]) -> None:
    texts = [e.text or "" for chart in hostile.values() for e in ET.fromstring(chart.svg).iter(f"{SVG}text")]
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert all(width(text, 12) < 1.25 * WIDTH for text in texts)


def test_a_name_is_shown_on_one_line_without_what_cannot_be_seen() -> None:
    assert shown("evil\u202egnp.exe\u2066\x1b[31m\nnext\tline\x00") == "evilgnp.exe[31m next line"
    assert shown("a" * 41) == "a" * 39 + "…" and shown("a" * LONGEST) == "a" * LONGEST
    assert shown("\u200b\u202e\n") == "?" and shown("") == "?"
    assert shown("e" + "\u0301" * 9) == "é\u0301\u0301"
    assert len(shown("\x00" * 10_000 + "a")) <= LONGEST
    assert shown("裁判模型") == "裁判模型"


def test_text_breaks_between_words_and_between_wide_characters() -> None:
    assert lines("one two three", 10, width("one two ", 10)) == ["one two", "three"]
    assert lines("", 10, 100) == [""]
    broken = lines("无意义的改动使判定改变的比例，减去", 10, 60)
    assert "".join(broken) == "无意义的改动使判定改变的比例，减去" and len(broken) > 2
    assert not any(line.startswith("，") for line in broken)


@pytest.mark.parametrize("name", NAMES)
def test_one_svg_serves_light_dark_and_any_width(name: str, plain: dict[str, Chart]) -> None:
    root = ET.fromstring(plain[name].svg)
    assert root.attrib["width"] == "100%" and "height" not in root.attrib and "viewBox" in root.attrib
    painted = {e.get(paint, "none") for e in root.iter() for paint in ("fill", "stroke")}
    assert all(one in {"none", "transparent"} or one.startswith("var(--chart-") for one in painted)
    assert "prefers-color-scheme:dark" in plain[name].svg


@pytest.mark.parametrize("name", NAMES)
def test_styles_and_ids_stay_within_their_chart(name: str, plain: dict[str, Chart]) -> None:
    root = ET.fromstring(plain[name].svg)
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids)) and all(one == f"chart-{name}" or one.startswith(f"chart-{name}-") for one in ids)
    (style,) = root.iter(f"{SVG}style")
    selectors = re.findall(
        r"([^{}]+)\{(?!:)", (style.text or "").replace("@media screen and (prefers-color-scheme:dark)", "")
    )
    assert {selector for selector in selectors if selector.strip()} == {f":where(#chart-{name})"}
    pointed = {target for e in root.iter() for v in e.attrib.values() for target in re.findall(r"url\(#([^)]+)\)", v)}
    assert pointed <= set(ids)


def test_made_up_results_are_marked_across_the_picture(hostile: dict[str, Chart], plain: dict[str, Chart]) -> None:
    for chart in hostile.values():
        marks = [e for e in ET.fromstring(chart.svg).iter(f"{SVG}text") if e.get("pointer-events") == "none"]
        assert marks and {mark.text for mark in marks} == {"SIMULATED"}
        assert chart.alt.startswith("SIMULATED")
        assert "SIMULATED" in chart.spec["title"]["subtitle"], "also where somebody else draws the specification"
    assert not any("SIMULATED" in chart.svg for chart in plain.values())


@pytest.mark.parametrize(
    "summary",
    [full(simulated=True), full(marked="SIMULATED: x"), full(judges={"a": full(simulated=True), "b": full()})],
    ids=["simulated", "marked", "one of the judges"],
)
def test_any_part_that_is_made_up_marks_the_picture(summary: AuditSummary) -> None:
    found = pictures(summary, "en")
    assert found and all(picture.simulated and alt(picture, "en").startswith("SIMULATED") for picture in found)
