"""Reports in Chromium: nothing scrolls sideways, nothing complains, nothing is asked for, nothing hostile runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

from chromium import Tab, browser_program, chromium_tab
from hostile_records import hostile_records
from live_parts import request
from misjudge_storage.types import Record
from misjudge_tools.file_requests import ReportRequest
from misjudge_tools.run_pair import run_pair
from misjudge_tools.write_report import write_report
from operations import opened, stored
from report_parts import judged_records, labelled_records, written

pytestmark = pytest.mark.browser

SIZES = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]
MOST_BYTES = 3_000_000
OPEN_ALL = "for (const one of document.querySelectorAll('details')) one.open = true"
TOO_WIDE = """
    [...document.querySelectorAll("body *")].filter((one) => {
        const inside = one.closest(".scroll");
        return !(inside && inside !== one) && one.getBoundingClientRect().right > innerWidth + 1;
    }).map((one) => one.outerHTML.slice(0, 120))
"""


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    browser_program()


def made(where: Path, records: Sequence[Record], **asked: Any) -> Path:
    async def make() -> None:
        async with opened(where / "store.db") as deps:
            stored(deps.store, records)
            await written(deps, where / "report.html", **asked)

    with ThreadPoolExecutor(1) as apart:  # fixtures of async tests are made while their loop runs
        apart.submit(asyncio.run, make()).result()
    return where / "report.html"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("hostile"), list(hostile_records()))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("small"), list(judged_records()))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("several"), list(labelled_records()), language="zh")


async def check(tab: Tab, page: Path, width: int, scheme: Literal["light", "dark"]) -> None:
    await tab.shape(width, 900, scheme)
    await tab.open(page.as_uri())
    await tab.run(OPEN_ALL)
    assert await tab.run("document.documentElement.scrollWidth") <= width
    assert await tab.run(TOO_WIDE) == []
    assert set(tab.requests) == {page.as_uri()}
    assert (tab.complaints, tab.dialogs) == ([], [])


@pytest.mark.parametrize("name", ["small", "several", "hostile"])
async def test_nothing_scrolls_sideways_or_complains(name: str, request: pytest.FixtureRequest) -> None:
    page: Path = request.getfixturevalue(name)
    async with chromium_tab() as tab:
        for width, scheme in SIZES:
            await check(tab, page, width, "dark" if scheme == "dark" else "light")


@pytest.mark.parametrize("name", ["small", "several"])
async def test_a_phone_shows_every_table_whole(name: str, request: pytest.FixtureRequest) -> None:
    """No table is wider than its place, so that nothing of it is hidden, and words have room to be read in."""
    page: Path = request.getfixturevalue(name)
    hidden = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
    cells = "[...document.querySelectorAll('table.prose tbody :is(th, td)')].filter((one) => one.innerText)"
    narrow = f"{cells}.filter((one) => one.getBoundingClientRect().width < 250)"
    async with chromium_tab() as tab:
        await tab.shape(390)
        await tab.open(page.as_uri())
        await tab.run(OPEN_ALL)
        assert await tab.run("document.querySelectorAll('table.wide').length") > 2
        assert await tab.run(f"{hidden}.map((one) => one.innerText.slice(0, 80))") == []
        assert await tab.run(f"{narrow}.map((one) => one.innerText.slice(0, 80))") == []


async def test_letters_of_charts_are_read_on_a_phone(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        await written(deps, tmp_path / "out", formats=["html", "charts"])
    scale = (
        "[...document.querySelectorAll('svg.misjudge-chart')]"
        ".map((one) => one.getBoundingClientRect().width / one.viewBox.baseVal.width)"
    )
    async with chromium_tab() as tab:
        await tab.shape(390)
        await tab.open((tmp_path / "out" / "report.html").as_uri())
        scales = await tab.run(scale)
        assert len(scales) > 2 and all(0.95 < one < 1.2 for one in scales)


async def test_nothing_hostile_runs(hostile: Path) -> None:
    async with chromium_tab() as tab:
        await tab.shape(1280)
        await tab.open(hostile.as_uri())
        await tab.run(OPEN_ALL)
        for tag in ("img", "iframe", "link", "object", "textarea", "form:not(.filter)", "[onload]", "[onerror]"):
            assert await tab.run(f"document.querySelectorAll({tag!r}).length") == 0, tag
        assert await tab.run("document.scripts.length") == 1
        assert not (await tab.run("document.title")).startswith("owned")
        assert tab.dialogs == [] and set(tab.requests) == {hostile.as_uri()}


async def test_hostile_text_stays_in_its_box(hostile: Path) -> None:
    """Neither a line of a million letters nor a pile of marks nor a turned direction leaves the box that it is in."""
    outside = """
        [...document.querySelectorAll(".text")].filter((one) => {
            const box = one.closest("details.conflict").getBoundingClientRect(), mine = one.getBoundingClientRect();
            return mine.width && (mine.right > box.right + 1 || mine.left < box.left - 1);
        }).length
    """
    async with chromium_tab() as tab:
        await tab.shape(390)
        await tab.open(hostile.as_uri())
        await tab.run(OPEN_ALL)
        assert await tab.run("document.querySelectorAll('.text').length") > 100
        assert await tab.run(outside) == 0


async def test_a_page_with_another_script_would_not_run_it(small: Path, tmp_path: Path) -> None:
    """The policy of the page holds even where an escape were forgotten."""
    text = small.read_text(encoding="utf-8")
    bad = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    (tmp_path / "bad.html").write_text(text.replace("<main>", f"<main>{bad}"), encoding="utf-8")
    async with chromium_tab() as tab:
        await tab.open((tmp_path / "bad.html").as_uri())
        assert await tab.run("document.title") != "owned"
        assert any("Content Security Policy" in one for one in tab.complaints)


async def test_it_is_read_without_script(small: Path) -> None:
    async with chromium_tab() as tab:
        await tab.without_script()
        await tab.open(small.as_uri())
        whole = await tab.send("DOM.getDocument", depth=-1)
        assert "All pairs" in str(whole) and "The conflicts, one by one" in str(whole)
        hidden = await tab.send("Accessibility.getFullAXTree")
        assert "only where the judge was wrong" not in str(hidden)


async def test_the_table_of_pairs_is_filtered(small: Path) -> None:
    shown = "document.querySelectorAll('#pair-table tbody tr:not([hidden])').length"
    type_in = "const box = document.querySelector('form.filter input'); box.value = {!r}; "
    told = "box.dispatchEvent(new Event('input', {bubbles: true}))"
    async with chromium_tab() as tab:
        await tab.open(small.as_uri())
        assert await tab.run(shown) == 12
        await tab.run(f"(() => {{ {type_in.format('t11')}{told} }})()")
        assert await tab.run(shown) == 1
        await tab.run(f"(() => {{ {type_in.format('')}{told} }})()")
        await tab.run("document.querySelector('form.filter input[type=checkbox]').click()")
        wrong = await tab.run("document.querySelectorAll('#pair-table tr.wrong').length")
        assert 0 < await tab.run(shown) == wrong < 12


async def test_a_link_opens_the_conflict_that_it_leads_to(small: Path) -> None:
    async with chromium_tab() as tab:
        await tab.open(small.as_uri())
        await tab.run("document.querySelector('#pair-table a').click()")
        await tab.run("new Promise((done) => setTimeout(done))")
        assert await tab.run("document.querySelectorAll('details.conflict[open]').length") == 1


async def test_print_says_what_it_leaves_to_the_file(small: Path, tmp_path: Path) -> None:
    """Conflicts, sessions and right pairs are not printed, and each section says so; on the screen none does."""
    shown = (
        "[...document.querySelectorAll('.printed')].filter((one) => one.checkVisibility()).map((one) => one.innerText)"
    )
    async with chromium_tab() as tab:
        await tab.open(small.as_uri())
        assert await tab.run(shown) == []
        await tab.send("Emulation.setEmulatedMedia", media="print")
        conflicts = await tab.run("document.querySelectorAll('.conflict').length")
        assert await tab.run(shown) == [
            f"{conflicts} conflicts with transcripts, checks and replies are not printed: the HTML file has them.",
            "Printed are only those where the judge was wrong.",
            "Not printed: the HTML file lists them.",
        ]
        hidden = ("nav", ".filter", ".conflict", "#sessions table", "#pair-table tbody tr:not(.wrong)")
        for one in hidden:
            assert await tab.run(f"document.querySelector({one!r}).checkVisibility()") is False, one
        assert await tab.run("document.querySelector('#pair-table tr.wrong').checkVisibility()") is True
        await tab.print_out(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


async def test_a_filter_leaves_nothing_out_of_print(small: Path) -> None:
    wrong = "[...document.querySelectorAll('#pair-table tr.wrong')].filter((one) => one.checkVisibility()).length"
    type_in = "const box = document.querySelector('form.filter input'); box.value = 'nothing such'; "
    told = "box.dispatchEvent(new Event('input', {bubbles: true}))"
    async with chromium_tab() as tab:
        await tab.open(small.as_uri())
        every = await tab.run(wrong)
        await tab.run(f"(() => {{ {type_in}{told} }})()")
        assert await tab.run(wrong) == 0
        await tab.send("Emulation.setEmulatedMedia", media="print")
        assert await tab.run(wrong) == every > 0


@pytest.mark.slow
async def test_the_report_of_the_planted_audit(tmp_path: Path) -> None:
    agents = ["diligent", "flaky:0.95", "hasty", "smooth_talker"]
    async with opened(tmp_path / "store.db") as deps:
        asked = request(wait_s=40, agents=agents)
        while (await run_pair(asked, deps)).run.state == "running":
            pass
        await write_report(ReportRequest(audit="a", out=str(tmp_path / "out"), formats=["html"]), deps)
    page = tmp_path / "out" / "report.html"
    assert page.stat().st_size < MOST_BYTES
    assert "288 of 288 pairs" in page.read_text(encoding="utf-8")
    async with chromium_tab() as tab:
        for width, scheme in SIZES:
            await check(tab, page, width, "dark" if scheme == "dark" else "light")
        assert await tab.run("document.querySelectorAll('.marked').length") == 1
        assert "SIMULATED" in await tab.run("getComputedStyle(document.body, '::before').content")
