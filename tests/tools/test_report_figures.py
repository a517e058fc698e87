"""Each number of a summary is one figure: the same on the page, in Markdown, in the CSV and in the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import chart_summaries
from misjudge_storage.types import Record
from misjudge_tools.report.document import Book
from misjudge_tools.report.figures import Figure, figures, plain, points, usd, with_counts
from misjudge_tools.report.markdown import markdown
from misjudge_tools.report.page_parts import document
from misjudge_tools.report.wording import said
from misjudge_tools.stats.misselection import DecidedRate, Misselection
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.values import AuditSummary
from operations import opened, stored
from report_parts import Page, figures_csv, judged_records, labelled_records, written


def resolved(whole: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) leads to."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        whole = whole[int(name)] if isinstance(whole, list) else whole[name]
    return whole


def value_at(summary: Any, pointer: str) -> float | None:
    found = resolved(summary, pointer)
    if not isinstance(found, dict):
        return float(found)
    value: float | None = next(found[name] for name in ("rate", "value", "difference") if name in found)
    return value


@pytest.mark.parametrize("records", [judged_records(), labelled_records()], ids=["one judge", "several judges"])
async def test_page_markdown_csv_and_json_show_one_value(records: Sequence[Record], tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(records))
        await written(deps, tmp_path / "out")
    rows = {row["name"]: row for row in figures_csv(tmp_path / "out" / "figures.csv")}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert len(page.figures) > 60 and len(rows) > 200
    for name, row in rows.items():
        value = value_at(summary, name)
        assert (None if row["value"] == "" else float(row["value"])) == value, name
        whole = resolved(summary, name)
        for part in ("k", "n", "low", "high"):
            if row[part] and isinstance(whole, dict) and part in whole:
                assert float(row[part]) == float(whole[part])
    for name, shown in page.figures:
        assert shown == rows[name]["text"], name
    told = [[cell.replace("\\", "") for cell in row] for row in markdown_rows(text)]
    tables = [table for table in page.tables if table[0][0] != "task"]
    assert told == [row for table in tables for row in table]


def markdown_rows(text: str) -> list[list[str]]:
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_a_figure_says_its_interval_and_its_counts() -> None:
    decided = DecidedRate(rate=0.25, k=1, n=4, low=0.05, high=0.7, coverage=0.5)
    wrong = Misselection(
        rate=0.3, k=3, n=8, low=0.1, high=0.6, decided=decided, all_pairs_rate=0.125, interval="anytime"
    )
    found = figures(AuditSummary(audit="a", simulated=False, misselection=wrong))
    assert found["/misselection"].text == "30.0 % [10.0–60.0] n=8 anytime"
    assert found["/misselection/decided"].text == "25.0 % [5.0–70.0] 1/4"
    assert found["/misselection/decided/coverage"].text == "50.0 %"
    assert found["/misselection"][:6] == ("/misselection", 0.3, 3, 8, 0.1, 0.6)


def test_what_was_not_counted_is_a_dash_and_never_0() -> None:
    nothing = Rate(rate=None, k=0, n=0, low=None, high=None)
    summary = chart_summaries.full()
    assert summary.consistency is not None
    empty = summary.consistency.model_copy(update={"intervals": {"flip_rate": nothing}})
    found = figures(summary.model_copy(update={"consistency": empty}))
    assert found["/consistency/intervals/flip_rate"].text == "–"
    assert found["/consistency/intervals/flip_rate"].value is None


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("/a/n", 12_345, "12,345"),
        ("/a/coverage", 0.5, "50.0 %"),
        ("/a/p", 0.00001, "< 0.0001"),
        ("/a/p_adjusted", 0.0213, "0.0213"),
        ("/a/auc", -0.125, "−0.12"),
        ("/cost/by_role/judge", 0.0, "0 USD"),
        ("/cost/reconciliation/total/difference", -1.5, "−1.5000 USD"),
        ("/cost/tokens_per_task", 11_163.04, "11,163"),
        ("/power/half_width", 0.0585, "± 5.9"),
        ("/consistency/accuracy", 0.6625, "66.2 %"),
        ("/consistency/accuracy", 0.6625000000000001, "66.2 %"),
        ("/cost/judge_cost", 0.00012345, "0.0001234 USD"),
        ("/pass_hat_k/2", 0.5, "50.0 %"),
    ],
)
def test_a_bare_number_is_written_as_what_it_is(name: str, value: float, text: str) -> None:
    assert plain(name, value) == text


def test_signs_are_minus_signs_and_nothing_has_none() -> None:
    assert [points(share) for share in (0.125, -0.03, -0.0001)] == ["+12.5", "−3.0", "0.0"]
    assert usd(-1.5) == "−1.5000 USD"


@pytest.mark.parametrize("records", [judged_records(), labelled_records()], ids=["one judge", "several judges"])
async def test_no_percentage_of_a_report_is_without_its_counts(records: Sequence[Record], tmp_path: Path) -> None:
    """But for limits and what an audit of this size could show, which nobody counted."""
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(records))
        await written(deps, tmp_path / "out")
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    bare = {name for name, text in page.figures if text.endswith("%")}
    assert {name.rsplit("/", 1)[1] for name in bare} <= {"shown_under", "shown_over", "both_wrong", "expected_both"}
    assert any(name.endswith("/coverage") and re.search(r"% \d+/\d+$", text) for name, text in page.figures)
    for line in (tmp_path / "out" / "report.md").read_text(encoding="utf-8").splitlines():
        if re.search(r"\| \d+\.\d % \|", line):
            assert "true rate is at" in line or " – " in line, line


def test_counts_that_do_not_make_the_share_are_not_put_beside_it() -> None:
    def made(name: str, value: float, k: float | None = None, n: float | None = None) -> Figure:
        return Figure(name, value, k, n, None, None, f"{100 * value:.1f} %")

    found = [
        made("/pairs/decidable", 10),
        made("/misselection/decided", 0.5, 4, 8),
        made("/misselection/decided/coverage", 0.8),
        made("/headline/near/decided", 0.5, 1, 2),
        made("/headline/near/decided/coverage", 1.0),
        made("/policies/rows/0/misselection", 0.5, 0, 0),
        made("/policies/rows/0/decidable", 10),
        made("/policies/rows/0/coverage", 0.0),
        made("/policies/region/coverage", 0.8),
        made("/satisfaction/n", 40),
        made("/satisfaction/auc", 0.7),
    ]
    counted = with_counts({one.name: one for one in found})
    assert counted["/misselection/decided/coverage"][2:4] == (8, 10)
    assert counted["/policies/rows/0/coverage"].text == "0.0 % 0/10"
    assert counted["/satisfaction/auc"].text == "70.0 % n=40"
    for name in ("/headline/near/decided/coverage", "/policies/region/coverage"):
        assert counted[name].n is None


def test_labels_are_escaped_in_names() -> None:
    summary = chart_summaries.side_by_side("a/b~c", "d")
    names = list(figures(summary))
    assert any(name.startswith("/judges/a~1b~0c/") for name in names)
    dumped = summary.model_dump(mode="json", by_alias=True)
    for name, figure in figures(summary).items():
        assert value_at(dumped, name) == figure.value


SUMMARIES = {
    "full": chart_summaries.full("a|b", marked="SIMULATED: made up"),
    "several": chart_summaries.side_by_side("first", "second"),
    "bare": chart_summaries.bare(),
}


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_summary_makes_a_report(name: str, language: Any) -> None:
    summary = SUMMARIES[name]
    made = document(summary, figures(summary), language)
    assert made.verdict and len(made.carriers) <= 3
    assert all(len(row) == len(table.headings) for one in made.sections for table in one.tables for row in table.rows)
    text = markdown(made)
    assert ("SIMULATED" in text) == (summary.marked is not None)
    assert text.count("\n# ") + text.startswith("# ") == 1


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_word_of_a_report_has_chinese(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()

    def heard(book: Book, english: str, /, **named: object) -> str:
        asked.add(english)
        return said(english, book.language, **named)

    monkeypatch.setattr(Book, "say", heard)
    summary = SUMMARIES[name]
    document(summary, figures(summary), "zh")
    latin = {"", "κ", "AC1", "AUC", "p", "McNemar p", "length", "tone", "evidence", "category"}
    untold = {word for word in asked - latin if not re.search(r"[\u4e00-\u9fff]", said(word, "zh"))}
    assert untold == set()
