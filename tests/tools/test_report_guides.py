"""The guides' three reports: the judged orders, the cost by stage, and a conclusion of six points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import chart_summaries
from misjudge_storage.types import Record
from misjudge_tools.report.facts import Called
from misjudge_tools.report.figures import figures
from misjudge_tools.report.guide_reports import COLUMNS, guide_reports
from misjudge_tools.summary.values import AuditSummary, RoleTokens, TokenSection
from operations import opened, stored
from report_parts import judged_records, labelled_records, written

NONE = Called((), False, 0)


def reports(summary: AuditSummary, calls: Called = NONE, language: str = "en") -> dict[str, str]:
    return guide_reports(summary, figures(summary), calls, "zh" if language == "zh" else "en")


async def read(tmp_path: Path, records: Sequence[Record]) -> dict[str, str]:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(records))
        await written(deps, tmp_path / "out", formats=["guides"])
    return {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "out" / "guides").iterdir()}


async def test_every_judged_order_is_a_row_under_the_guides_names(tmp_path: Path) -> None:
    table = (await read(tmp_path, [*judged_records()]))["pairwise_table.md"]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows[0].replace("\\", "") == f"| {' | '.join(COLUMNS)} |"
    assert len(rows) == 2 + 24
    first = [cell.strip() for cell in rows[2].split("|")[1:-1]]
    assert first[:6] == ["p0", "t0", "x", "y", "A=left", "A"]
    by_pair = dict(zip(COLUMNS, [cell.strip() for cell in rows[4].split("|")[1:-1]], strict=True))
    assert (by_pair["pair_id"], by_pair["judge_choice"], by_pair["lower_reward_selected"]) == ("p1", "B", "1")
    assert by_pair["total_tokens"] == "–"


async def test_the_conclusion_has_six_points_with_the_numbers_of_the_summary(tmp_path: Path) -> None:
    text = (await read(tmp_path, [*judged_records()]))["conclusion.md"]
    assert re.findall(r"^## (\d)\.", text, re.MULTILINE) == ["1", "2", "3", "4", "5", "6"]
    assert re.search(r"picks of the lower reward, near pairs: \d+\.\d %", text)
    assert re.search(r"verdict changes sides with the order: \d+\.\d % \[", text)
    assert re.search(r"failed, of those that satisfied it: \d+\.\d %", text)
    assert "| length |" in text and text.splitlines()[4].startswith("**Do not use this judge")


async def test_the_conclusion_of_several_judges_answers_for_each(tmp_path: Path) -> None:
    text = (await read(tmp_path, [*labelled_records()]))["conclusion.md"]
    assert text.count("**second\\|judge**") >= 2 and "**judge**" in text


def test_a_report_of_nothing_says_so_under_every_point() -> None:
    made = reports(AuditSummary(audit="a", simulated=False, why={"cost": "No call was made."}))
    assert made["conclusion.md"].count("Nothing is known.") == 5
    assert "No tokens are known." in made["conclusion.md"]
    assert "No call was made." in made["token_cost.md"]


def test_the_cost_report_says_whose_prices_and_whether_retries_are_in_it() -> None:
    text = reports(chart_summaries.full())["token_cost.md"]
    assert "| stage | calls | failed | retries |" in text and "price |" in text
    assert "Retries and failed calls count as calls" in text
    assert re.search(r"no cost is known of \d+ of \d+ calls", text)


def test_tokens_for_a_task_are_those_that_were_stated() -> None:
    stated = RoleTokens(calls=10, input_tokens=900, output_tokens=100, calls_without_usage=3)
    unknown = RoleTokens(calls=4, input_tokens=None, output_tokens=None, calls_without_usage=4)
    tokens = TokenSection(by_role={"judge": stated, "agent": unknown}, stated_by_source=None)
    summary = chart_summaries.full().model_copy(update={"tokens": tokens})
    text = reports(summary, Called((), False, 5))["conclusion.md"]
    assert "1,000 tokens for 5 tasks: 200 a task." in text
    assert "7 calls do not state their tokens and are left out." in text
    assert re.search(r"- \d+\.\d+ USD for a task\.", text) is None
    assert summary.cost is not None
    paid = summary.model_copy(update={"cost": summary.cost.model_copy(update={"total_cost": 2.5})})
    assert "- 0.5000 USD for a task." in reports(paid, Called((), False, 5))["conclusion.md"]


def test_a_table_that_is_cut_says_how_many_rows_it_has() -> None:
    row = dict.fromkeys(COLUMNS)
    made = reports(chart_summaries.bare(), Called([row] * 3, True, 1))
    assert "The first 3 judged orders" in made["pairwise_table.md"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_made_up_is_marked_in_every_report(language: str) -> None:
    summary = chart_summaries.full(marked="SIMULATED: made up")
    for text in reports(summary, language=language).values():
        assert "> **SIMULATED: made up**" in text
    assert ("结论" in reports(summary, language=language)["conclusion.md"]) == (language == "zh")
