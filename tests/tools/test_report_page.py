"""The page of a report: one file that asks for nothing, holds together, and obeys nothing that records say."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from justhtml import JustHTML

from builders import JUDGE, SATISFACTION, episode, lone, messages, pair, passed, satisfied, verdict
from hostile_records import KEY, hostile_records
from misjudge_storage.types import Log, Message
from misjudge_tools.report import facts
from misjudge_tools.report.document import Table
from misjudge_tools.report.figures import Figure
from misjudge_tools.report.page import Pieces, layout_of, pieces, span
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summary_of
from misjudge_tools.summary.counts import AuditCounts
from operations import keyed, opened, stored
from report_parts import SECOND, Page, judged_records, labelled_records, written

MOST_BYTES = 3_000_000


async def page_of(tmp_path: Path, *records: object, **asked: object) -> Page:
    text = await text_of(tmp_path, *records, **asked)
    return Page(text)


async def text_of(tmp_path: Path, *records: object, **asked: object) -> str:
    async with opened(tmp_path / "store.db", keyed("http://127.0.0.1:9", KEY)) as deps:
        stored(deps.store, list(records))  # type: ignore[arg-type]
        await written(deps, tmp_path / "report.html", **asked)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    import asyncio

    return asyncio.run(text_of(tmp_path_factory.mktemp("hostile"), *hostile_records()))


async def test_it_opens_with_the_verdict_and_three_numbers(tmp_path: Path) -> None:
    page = await page_of(tmp_path, *judged_records())
    opening = page.text[page.text.index("Audit a") :]
    assert opening.startswith("Audit a · judge judge\nDo not use this judge to choose between agents closer than 0.10")
    assert [name for name, _ in page.figures[:3]] == [
        "/misselection",
        "/headline/near",
        "/consistency/intervals/flip_rate",
    ]


async def test_it_holds_together(tmp_path: Path) -> None:
    page = await page_of(tmp_path, *labelled_records())
    assert page.problems == []
    assert [link for link in page.links if not link.startswith("#") or link[1:] not in page.ids] == []
    assert page.tags.count("h1") == 1 and page.tags.count("main") == 1


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_it_is_valid_html_with_names_for_all_that_is_drawn(tmp_path: Path, language: str) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(labelled_records()))
        await written(deps, tmp_path / "out", formats=["html", "charts"], language=language)
    found: Any = JustHTML(
        (tmp_path / "out" / "report.html").read_text(encoding="utf-8"), collect_errors=True, sanitize=False
    )
    assert found.errors == []
    levels = [int(one.name[1]) for one in found.query("h1, h2, h3, h4, h5, h6")]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels))
    for cell in found.query("th"):
        assert cell.attrs.get("scope") in {"row", "col"} and cell.to_text().strip(), cell.to_html()
    drawn = found.query("svg")
    assert len(drawn) > 4
    for picture in drawn:
        told = picture.attrs.get("aria-label") or picture.attrs.get("aria-labelledby")
        assert picture.attrs.get("aria-hidden") == "true" or (picture.attrs.get("role") == "img" and told)
    names = {one.attrs["id"] for one in found.query("[id]")}
    pointed = [str(one.attrs["aria-labelledby"]).split() for one in found.query("[aria-labelledby]")]
    assert {name for some in pointed for name in some} <= names


async def test_it_asks_for_nothing(tmp_path: Path) -> None:
    text = await text_of(tmp_path, *judged_records(), formats=["html"])
    page = Page(text)
    policy = next(value for tag, name, value in page.attributes if tag == "meta" and value.startswith("default-src"))
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none';") and f"script-src 'sha256-{digest}'" in policy
    asking = {"src", "srcset", "data", "action", "formaction", "poster", "background", "ping", "xlink:href"}
    assert [one for one in page.attributes if one[1] in asking or one[1].startswith("on")] == []
    assert {tag for tag, name, value in page.attributes if name == "href" and not value.startswith("#")} == set()
    assert "@import" not in text and "url(http" not in text


def test_hostile_records_are_text(hostile: str) -> None:
    page = Page(hostile)
    assert page.problems == []
    assert page.tags.count("script") == 1 and page.tags.count("style") >= 1
    assert {"img", "iframe", "link", "object", "embed", "textarea"} & {*page.tags} == set()
    assert [one for one in page.attributes if one[1].startswith("on")] == []
    assert "<script>alert(1)</script>" in page.text and "{{ 7*7 }}" in page.text


def test_what_nobody_sees_is_seen(hostile: str) -> None:
    body = hostile[hostile.index("<body") : hostile.index("<script>")]
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", body) is None
    assert "⟦U+202E⟧" in body and "␛[31m" in body


def test_a_page_of_long_texts_is_small_and_says_what_it_cut(hostile: str) -> None:
    assert len(hostile.encode()) < MOST_BYTES
    assert "998,500 more characters are not shown." in hostile


def test_no_key_is_on_the_page(hostile: str) -> None:
    assert KEY not in hostile and "My key is ⟦key⟧." in hostile


async def test_a_conflict_shows_both_sides_checks_reasons_and_the_raw_reply(tmp_path: Path) -> None:
    said = (Message(role="user", content="Cancel it."), Message(role="assistant", content="It is cancelled."))
    x, y = (episode(agent, passed(done), said=said) for agent, done in (("x", True), ("y", False)))
    log = Log(model="judge-m", raw_output='{"winner": "B"}', prompt_version="v7")
    judged = (verdict("B", "AB", reasons="Longer."), verdict("B", "BA", reasons="Nicer."))
    page = await page_of(tmp_path, pair("p 1", x, y, *judged, logs=[log]))
    shown = page.text[page.text.index("The conflicts, one by one", page.text.index("How to read this")) :]
    for part in ("Cancel it.", "It is cancelled.", "verifier check", "Longer.", "Nicer.", '{"winner": "B"}', "v7"):
        assert part in shown
    assert shown.count("It is cancelled.") == 2


async def test_the_pairs_of_one_judge_are_those_that_it_judged(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    one = await text_of(tmp_path, *labelled_records(), judge="judge")
    both = await text_of(tmp_path / "all", *labelled_records())
    assert "The judges side by side" in both and "The judges side by side" not in one
    listed = [text[text.index('<section id="pairs">') :] for text in (one, both)]
    assert [SECOND.label in text for text in listed] == [False, True]


async def test_an_audit_of_sessions_alone_lists_them(tmp_path: Path) -> None:
    sessions = [
        lone(episode("x", passed(n % 2 == 0), task=f"t{n}", satisfaction=[satisfied(0.9)]), line=n + 1)
        for n in range(10)
    ]
    page = await page_of(tmp_path, *sessions)
    assert page.problems == [] and "All sessions" in page.text and "All pairs" not in page.text
    assert [name for name, _ in page.figures[:2]] == [
        "/headline/satisfied_failed",
        "/satisfaction/intervals/base_fail",
    ]
    assert page.text.count("was satisfied with what failed") >= 5


async def test_an_audit_without_a_judge_says_so(tmp_path: Path) -> None:
    page = await page_of(tmp_path, pair("p1"), pair("p2", line=2))
    assert "No judge has judged anything in this audit yet." in page.text and page.problems == []


async def test_chinese_is_chinese(tmp_path: Path) -> None:
    text = await text_of(tmp_path, *judged_records(), language="zh")
    assert '<html lang="zh-Hans">' in text and "逐个冲突" in text and "出错频率" in text
    assert "How often it is wrong" not in text


async def test_what_a_page_shows_of_long_transcripts_is_all_that_is_kept(tmp_path: Path) -> None:
    """Nothing of 24 conflicts with 1 MB messages outlives its reading but the few thousand characters of each."""
    said = messages("Please cancel. " * 70_000, "Done. " * 170_000)
    records = []
    for n in range(24):
        x, y = (episode(agent, passed(done), task=f"t{n}", said=said) for agent, done in (("x", True), ("y", False)))
        judged = [verdict("B", order, reasons="Nicer. " * 150_000) for order in ("AB", "BA")]
        records.append(pair(f"p{n}", x, y, *judged, line=n + 1))
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, records)
        with deps.store.read() as connection:
            counts = AuditCounts(connection, SummarizeRequest(audit="a"))
            found = facts.report_facts(counts, summary_of(counts), "en", lambda value: value)
    assert len(found.conflicts.rows) == 24
    assert len(repr(found.conflicts)) < 24 * 40_000
    assert all(side.turns and side.turns[0].said.left_out > 1_000_000 for side in found.conflicts.rows[0].sides)


async def test_more_than_a_page_holds_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_PAIRS", 5)
    monkeypatch.setattr(facts, "MOST_DETAILS", 2)
    text = await text_of(tmp_path, *judged_records())
    assert "5 of 12 pairs" in text and text.count('<details class="conflict"') == 2
    # The judge is wrong on p1 and p5 (of p9 both sides did the task), and y, who satisfies, failed in 8 of 12 tasks.
    assert f"{2 + 8 - 2} more conflicts are not shown here" in text


async def test_what_is_left_out_of_sessions_is_counted_in_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that two judges scored is two rows."""
    monkeypatch.setattr(facts, "MOST_SESSIONS", 5)
    both = [satisfied(0.9), satisfied(0.4, SATISFACTION.model_copy(update={"label": "other", "model": "other-m"}))]
    sessions = [lone(episode("x", passed(True), task=f"t{n}", satisfaction=both), line=n + 1) for n in range(4)]
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, sessions)
        result = await written(deps, tmp_path / "report.html")
    assert "The page shows 5 of 8 scores of sessions." in result.left_out


async def test_room_for_conflicts_is_bounded_by_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_CHARACTERS", 9_000)
    text = await text_of(tmp_path, *judged_records())
    assert 0 < text.count('<details class="conflict"') < 5


def test_a_figure_is_cut_into_the_parts_that_are_set_apart() -> None:
    def shown(text: str) -> Pieces:
        return pieces(Figure("/x", 0.5, None, None, None, None, text))

    assert shown("25.0 % [10.0–50.0] 5/20") == ("25.0 %", " [10.0–50.0]", " 5/20")
    assert shown("25.0 % [10.0–50.0] n=20 anytime") == ("25.0 %", " [10.0–50.0]", " n=20 anytime")
    assert shown("Δ +5.0 [−1.0, +11.0] n=20") == ("Δ +5.0", " [−1.0, +11.0]", " n=20")
    assert shown("< 0.0001") == ("< 0.0001", "", "") and shown("12,345") == ("12,345", "", "")
    for text in ("25.0 % [10.0–50.0] 5/20", "0.50 [0.25, 0.75] n=20", "–", "0.5000 USD", "odd\ntext"):
        assert "".join(shown(text)) == text


def test_tables_that_a_narrow_screen_has_no_room_for_are_marked() -> None:
    share = Figure("/x", 0.25, 5, 20, 0.1, 0.5, "25.0 % [10.0–50.0] 5/20")
    count = share._replace(low=None, high=None, text="5")
    assert layout_of(Table(("holds", "point", "to do"), (("yes", "a", ""),))) == "prose"
    assert layout_of(Table(("a", "b"), (("x", share),))) == ""
    assert layout_of(Table(("a", "b", "c"), (("x", count, count),))) == ""
    assert layout_of(Table(("a", "b", "c"), (("x", share, count),))) == "wide"
    assert layout_of(Table(("a", "b", "c", "d"), (("x", count, count, count),))) == "wide"


def test_only_a_share_with_an_interval_has_a_bar() -> None:
    share = Figure("/x", 0.25, 5, 20, 0.1, 0.5, "25.0 % [10.0–50.0] 5/20")
    assert span(share) == (25.0, 10.0, 50.0)
    assert span(share._replace(text="0.25 [0.10, 0.50] n=20")) is None and span(share._replace(low=None)) is None


def test_the_judges_of_the_fixtures_have_the_names_that_the_tests_look_for() -> None:
    assert JUDGE.label == "judge" and "|" in SECOND.label
