"""The fixed words of a printed summary, in the language that was asked for."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from command import Misjudge
from misjudge_server import gap_printing, headline_printing, policies_printing, printing
from misjudge_server.console import console
from misjudge_server.side_by_side import AGENT_HEADINGS
from misjudge_tools.summary import region_words
from misjudge_tools.summary.words import ZH, in_language, word

ROWS = "task,a,b,success_a,success_b,score_a,score_b,order\n" + "".join(
    f"t{n},x,y,1,0,{n % 5 + 3},{n % 3},{order}\n" for n in range(20) for order in ("AB", "BA")
)


def places(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def test_both_languages_name_the_same_things() -> None:
    assert [english for english, chinese in ZH.items() if places(english) != places(chinese)] == []


def test_what_the_main_tables_say_has_chinese_words() -> None:
    said = {
        *printing.PAIR_HEADINGS, *printing.CONSISTENCY.values(), *policies_printing.HEADINGS,
        *gap_printing.GAP_HEADINGS, *(heading for heading in AGENT_HEADINGS if "{" not in heading),
        policies_printing.COUNTED, region_words.HOW, region_words.CERTIFIED, region_words.TOO_FEW,
        region_words.WRONG, gap_printing.MISSES_ANY, gap_printing.MISSES_LESS, headline_printing.STOPPED,
        headline_printing.UNEVEN,
    }  # fmt: skip
    assert said - ZH.keys() == set()


def test_a_word_is_english_outside() -> None:
    with in_language("zh"):
        assert word("policy") == "规则" and word("no such word") == "no such word"
    assert word("policy") == "policy"


@pytest.mark.parametrize("width", [80, 118])
def test_a_summary_in_chinese_has_chinese_heads_and_english_keys(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(console, "width", width)
    (folder / "log.csv").write_text(ROWS, encoding="utf-8")
    assert misjudge("import", "table", "log.csv", "--audit", "a", "--score-range", "0-10").code == 0
    said = misjudge("summarize", "a", "--language", "zh").out
    text = re.sub(r"[\s│┃]+", "", said)
    for heading in (
        "审计a，裁判scores",
        "规则：何时采信判定",
        "错误，占已判定",
        "误选，按单次调用",
        "发布前：8个要点中",
    ):
        assert heading in text
    assert "Policies: when" not in said and "哪一方更好" in text
    assert '"misselection"' in misjudge("summarize", "a", "--language", "zh", "--json").out
    assert "Policies: when to take a verdict" in misjudge("summarize", "a").out
