"""The reasons and notes of a summary in the language of a report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from misjudge_storage.types import Record
from misjudge_tools import summary
from misjudge_tools.report.reasons import reason
from misjudge_tools.report.reasons_zh import ZH
from misjudge_tools.stats.rates import NoData
from operations import opened, stored
from report_parts import Page, judged_records, labelled_records, written

CHINESE = re.compile("[\u4e00-\u9fff]")


def constants() -> Iterator[str]:
    """Every reason that a module of the summary has by a name."""
    for module in walk_packages(summary.__path__, "misjudge_tools.summary."):
        for value in vars(import_module(module.name)).values():
            inner = value.values() if isinstance(value, Mapping) else (value,)
            yield from (one.why for one in inner if isinstance(one, NoData))


def test_every_reason_of_a_summary_has_chinese() -> None:
    known = {*constants()}
    assert len(known) > 50
    assert sorted(why for why in known if CHINESE.search(reason(why, "zh")) is None) == []


def test_a_reason_keeps_what_it_is_filled_in_with() -> None:
    for english, chinese in ZH.items():
        assert {*re.findall(r"{(\w+)}", english)} == {*re.findall(r"{(\w+)}", chinese)}, english


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("Intervals need at least 8 agents, not 4.", "区间至少需要 8 个智能体，现有 4 个。"),
        ("No call is logged. Judge the audit, or import verdicts.", "没有调用记录。请评判此审计，或导入判定。"),
        ("Nobody has written this. No call is logged.", "Nobody has written this. No call is logged."),
        (
            "No scores, or none on a known scale, were given by a{b} and {0}.",
            "a{b} and {0} 没有给出评分，或评分没有已知的量程。",
        ),
        ("SIMULATED: another mark", "SIMULATED: another mark"),
    ],
)
def test_sentences_are_said_in_chinese_where_all_of_them_are_known(english: str, chinese: str) -> None:
    assert reason(english, "zh") == chinese
    assert reason(english, "en") == english


@pytest.mark.parametrize("records", [judged_records(), labelled_records()], ids=["one judge", "several judges"])
async def test_a_chinese_page_has_no_english_sentence(records: Iterator[Record], tmp_path: Path) -> None:
    """But in what its records say, which begins with the list of conflicts."""
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(records))
        await written(deps, tmp_path / "report.html", language="zh")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    told = text[: text.index('<section id="drill-down">')] + text[text.index('<section id="reading">') :]
    page = Page(re.sub(r"<(style|script)>.*?</\1>", "", told, flags=re.DOTALL))
    assert re.findall(r"[A-Z][a-z]+(?: [a-z]+){3,}[^\n]*", page.text) == []
    names = {"judge", "second|judge", "satisfaction", "x", "y"}
    words = {cell for table in page.tables for row in table for cell in row if re.fullmatch("[a-z_ ]{3,}", cell)}
    assert words - names == set()
