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
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.deciding.bias_values import WordBias
from misjudge_tools.summary.values import AuditSummary
from operations import opened, stored
from report_parts import figures_csv, judged_records, labelled_records, written

NONE = Called((), False)


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
    assert re.search(r"^\*\*judge: [A-Z]", text, re.MULTILINE) and re.search(r"^- judge: \*\*[A-Z]", text, re.MULTILINE)
    assert re.search(r":\*\*[A-Z]|:[A-Z]", text) is None


def test_the_conclusion_names_the_form_that_its_satisfaction_is_of() -> None:
    several = chart_summaries.full(gate=chart_summaries.satisfaction(7), proxy=chart_summaries.satisfaction(9))
    text = reports(several)["conclusion.md"]
    point = text[text.index("## 3.") : text.index("## 4.")]
    assert re.findall(r"^\*\*(.*)\*\*$", point, re.MULTILINE) == ["satisfaction", "gate", "proxy"]
    assert point.count("- failed, of those that satisfied it") == 3
    two = reports(chart_summaries.side_by_side("first", "second"))["conclusion.md"]
    assert "**first, satisfaction**" in two and "**second, satisfaction**" in two


def test_no_report_says_a_thing_twice_in_a_row() -> None:
    full = chart_summaries.full()
    assert full.cost is not None
    nobody = "Of no episode is it known whether it did its task."
    why = {"cost_per_success": nobody, "rollout_cost_per_success": nobody}
    text = reports(full.model_copy(update={"cost": full.cost.model_copy(update={"why": why})}))["token_cost.md"]
    assert text.count(nobody) == 1


def test_an_address_in_a_name_is_no_link() -> None:
    row = {**dict.fromkeys(COLUMNS), "agent_left": "www.evil.example", "judge": "http://evil.example/"}
    made = reports(chart_summaries.side_by_side("https://evil.example", "b"), Called([row], False))
    for text in made.values():
        assert re.search(r"(?<!\\)://|www\.", text) is None
    assert "http\\://evil.example/" in made["pairwise_table.md"]


def test_a_report_of_nothing_says_so_under_every_point() -> None:
    made = reports(AuditSummary(audit="a", simulated=False, why={"cost": "No call was made."}))
    assert made["conclusion.md"].count("Nothing is known.") == 6
    assert "No call was made." in made["token_cost.md"]


def test_the_cost_report_says_whose_prices_and_whether_retries_are_in_it() -> None:
    text = reports(chart_summaries.full())["token_cost.md"]
    assert "| stage | calls | failed | retries |" in text and "price |" in text
    assert "Retries and failed calls count as calls" in text
    assert re.search(r"no cost is known of \d+ of \d+ calls", text)


def test_tokens_and_cost_for_a_task_are_those_of_the_summary() -> None:
    full = chart_summaries.full()
    assert full.cost is not None
    known = {"tasks": 5, "tokens": 1_000, "tokens_per_task": 200.0, "total_cost": 2.5, "cost_per_task": 0.5}
    stages = (full.cost.stages[0].model_copy(update={"stage": "judge", "calls": 10, "calls_without_usage": 3}),)
    cost = full.cost.model_copy(update={**known, "stages": stages})
    text = reports(full.model_copy(update={"cost": cost}))["conclusion.md"]
    for line in (
        "tokens, in and out: 1,000",
        "tasks: 5",
        "tokens for each task: 200",
        "cost for each task: 0.5000 USD",
    ):
        assert f"\n- {line}\n" in text
    assert "judge: 3 of 10 calls do not state their tokens." in text


async def test_every_number_of_the_guides_is_in_the_summary(tmp_path: Path) -> None:
    """No number is worked out in a report: each stands in figures.csv with the same text, or in a sentence of it."""
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, [*labelled_records()])
        await written(deps, tmp_path / "out", formats=["guides", "csv", "json"])
    known = {row["text"] for row in figures_csv(tmp_path / "out" / "figures.csv")}
    summary = (tmp_path / "out" / "summary.json").read_text(encoding="utf-8")
    for name in ("conclusion.md", "token_cost.md"):
        for line in (tmp_path / "out" / "guides" / name).read_text(encoding="utf-8").splitlines():
            said = re.fullmatch(r"- (?:[^:*(]|\([^)]*\))+: (?P<text>.*\d.*)", line)
            if said is not None and "**" not in line:
                assert said["text"] in known or said["text"] in summary, line


def test_kinds_of_words_that_no_reason_holds_are_one_sentence() -> None:
    full = chart_summaries.full()
    assert full.bias is not None
    never, some = (Rate(rate=k / 40, k=k, n=40, low=0.0, high=0.1) for k in (0, 2))
    nothing = Rate(rate=None, k=0, n=0, low=None, high=None)
    no_effect = Effect(value=None, low=None, high=None, n=0, p=None, p_adjusted=None)
    words = tuple(
        WordBias(group=group, said=said, wrong_with=nothing, wrong_without=some, difference=no_effect, stands_out=False)
        for group, said in (("length", never), ("tone", some), ("format", never))
    )
    bias = full.bias.model_copy(update={"words": words})
    text = reports(full.model_copy(update={"bias": bias}))["conclusion.md"]
    assert "- None of 40 reasons holds words of length, format." in text
    assert "| tone | 5.0 % [0.0–10.0] 2/40 | – |" in text and "| length |" not in text


def test_a_table_that_is_cut_says_how_many_rows_it_has() -> None:
    row = dict.fromkeys(COLUMNS)
    made = reports(chart_summaries.bare(), Called([row] * 3, True))
    assert "The first 3 judged orders" in made["pairwise_table.md"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_made_up_is_marked_in_every_report(language: str) -> None:
    summary = chart_summaries.full(marked="SIMULATED: made up")
    for text in reports(summary, language=language).values():
        assert "> **SIMULATED: made up**" in text
    assert ("结论" in reports(summary, language=language)["conclusion.md"]) == (language == "zh")
