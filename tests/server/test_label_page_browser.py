"""The label page in headless Chromium: labelled by keys alone, without script, and with hostile transcripts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from builders import episode, messages, pair
from chromium import Tab, chromium_tab
from hostile_records import hostile_records
from label_browsing import Page, Person, at_the_page
from label_parts import answered, at_work, label_next, label_rows, review_pairs, with_secret
from misjudge_tools.deps import Deps
from operations import count, opened

pytestmark = pytest.mark.browser
WIDTH = "document.documentElement.scrollWidth - innerWidth"
DONE = {"yes": "y", "no": "n", "unsure": "u"}


async def shown(tab: Tab) -> Page:
    return Page(await tab.run("document.documentElement.outerHTML"))


async def press(tab: Tab, keys: str) -> None:
    for key in keys:
        await tab.press(key)


async def label_by_keys(tab: Tab) -> None:
    """Answer the pair that is shown as a person does, and go on to the next one."""
    said = answered((await shown(tab)).pair)
    await press(tab, said.pref[0].lower() + DONE[said.success_a or "unsure"] + DONE[said.success_b or "unsure"])
    await tab.leads_on(tab.press("Enter"))


def is_clean(tab: Tab, person: Person) -> bool:
    """Whether nothing ran, complained, or asked another server than the page's."""
    asked = [one for one in tab.requests if not one.startswith((person.address, "data:"))]
    return (tab.complaints, tab.dialogs, asked) == ([], [], [])


async def test_twenty_pairs_by_keys_are_the_same_rows_as_one_by_one(deps: Deps, tmp_path: Path) -> None:
    with_secret(deps.store, review_pairs(20))
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.open(person.address)
        for _ in range(20):
            await label_by_keys(tab)
        assert (await shown(tab)).text("h1") == "Nothing is left"
        assert is_clean(tab, person)
    async with opened(tmp_path / "other.db") as other:
        with_secret(other.store, review_pairs(20))
        label_next(other.store, at_work(other.store, "ann"), 20)
        assert label_rows(other.store) == label_rows(deps.store)
        assert len(label_rows(other.store)) == 60


async def test_z_leads_back_to_correct_and_enter_on_again(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(4))
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.open(person.address)
        first = (await shown(tab)).pair.pair
        await label_by_keys(tab)
        second = (await shown(tab)).pair.pair
        await tab.leads_on(tab.press("z"))
        assert (await shown(tab)).pair.pair == first and count(deps.store, "gold_labels") == 1
        await press(tab, "t" if (await shown(tab)).filled_in["pref"] != "tie" else "a")
        await tab.leads_on(tab.press("Enter"))
        page = await shown(tab)
        assert page.pair.pair == second and page.text("p note").startswith("Saved as a correction")
        assert count(deps.store, "gold_labels") == 2 and is_clean(tab, person)


async def test_the_back_button_shows_what_was_said(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(4))
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.open(person.address)
        first = await shown(tab)
        await label_by_keys(tab)
        await tab.leads_on(tab.run("history.back()"))
        page = await shown(tab)
        assert page.pair == first.pair and "You labelled this pair before" in page.text("p before")
        assert set(page.filled_in) == {"pref", "success_a", "success_b"}
        await tab.leads_on(tab.press("Enter"))
        assert (await shown(tab)).text("p note") == "This was saved already, so nothing was added."
        assert count(deps.store, "gold_labels") == 1


async def test_an_impatient_person_saves_once(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(4))
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.open(person.address)
        await press(tab, "a")
        click = "document.querySelector('button[type=submit]').click()"
        await tab.leads_on(tab.run("; ".join([click] * 5)))
        assert count(deps.store, "gold_labels") == 1
        assert (await shown(tab)).text("p note") == "Saved." and is_clean(tab, person)


async def test_keys_can_be_shown_and_turned_off(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    chosen = "document.querySelectorAll('#answer input:checked').length"
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.open(person.address)
        await press(tab, "?a")
        assert await tab.run("document.getElementById('keys').open") and await tab.run(chosen) == 0
        await tab.run("document.getElementById('use-keys').click()")
        await press(tab, "?a")
        assert not await tab.run("document.getElementById('keys').open") and await tab.run(chosen) == 0
        await tab.open(person.address)
        await press(tab, "bt")
        assert await tab.run(chosen) == 0
        await press(tab, "?")
        await tab.run("document.getElementById('use-keys').click()")
        await press(tab, "?b")
        assert await tab.run(chosen) == 1
        assert await tab.run("document.activeElement.value") == "B"
        assert await tab.run("getComputedStyle(document.activeElement.nextElementSibling).outlineStyle") == "solid"


async def test_enter_before_a_choice_saves_nothing(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.open(person.address)
        before = await tab.run("location.href")
        await press(tab, "y")
        await tab.press("Enter")
        assert await tab.run("location.href") == before and count(deps.store, "gold_labels") == 0
        await press(tab, "b")
        await tab.leads_on(tab.press("Enter"))
        assert count(deps.store, "gold_labels") == count(deps.store, "checks") == 1


async def test_the_page_works_without_script(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.without_script()
        await tab.open(person.address)
        assert not await tab.run("document.getElementById('show-keys').checkVisibility()")
        assert not await tab.run("document.querySelector('kbd').checkVisibility()")
        for _ in range(2):
            await tab.run("document.querySelector('input[value=A]').click()")
            await tab.leads_on(tab.run("document.querySelector('button[type=submit]').click()"))
        assert (await shown(tab)).text("h1") == "Nothing is left" and count(deps.store, "gold_labels") == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_sides_stand_beside_each_other_or_below_and_nothing_is_wider_than_the_screen(
    deps: Deps, scheme: Literal["light", "dark"]
) -> None:
    long = "word " * 400 + "x" * 3000
    a, b = [episode(name, said=messages("hi", f"{name} {long}"), simulated=True) for name in "xy"]
    with_secret(deps.store, [pair("p", a, b, prompt=long)])
    places = "[...document.querySelectorAll('.response')].map(one => one.getBoundingClientRect().top)"
    async with chromium_tab() as tab:
        for language in ("en", "zh"):
            async with at_the_page(deps, language=language) as person:
                for width, beside in ((1280, True), (390, False), (320, False)):
                    await tab.shape(width, 800, scheme)
                    await tab.open(person.address)
                    assert await tab.run(WIDTH) == 0
                    first, second = await tab.run(places)
                    assert (first == second) == beside
                    bar = await tab.run(
                        "document.getElementById('answer').getBoundingClientRect().bottom <= innerHeight"
                    )
                    assert bar == beside
        ground = await tab.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, ground[4:-1].split(","))) > 382) == (scheme == "light")


@pytest.mark.slow
async def test_hostile_transcripts_run_nothing_and_break_no_layout(deps: Deps) -> None:
    with_secret(deps.store, list(hostile_records()))
    seen = 0
    async with chromium_tab() as tab, at_the_page(deps) as person:
        await tab.open(person.address)
        while await tab.run("document.forms.length"):
            for width in (1280, 390):
                await tab.shape(width)
                assert await tab.run(WIDTH) == 0
            assert await tab.run("document.title") == "Which response was better? · misjudge"
            await tab.run("document.querySelector('details.rest')?.setAttribute('open', '')")
            assert await tab.run(WIDTH) == 0
            assert is_clean(tab, person)
            await press(tab, "t")
            await tab.leads_on(tab.press("Enter"))
            seen += 1
    assert seen == len(list(hostile_records())) == count(deps.store, "gold_labels")


async def test_another_page_of_the_browser_cannot_send_an_answer(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    async with chromium_tab() as tab, at_the_page(deps) as person:
        given = (await person.get()).page.pair.pair
        form = f"<form method=post action={person.address}pair/{given}><input name=pref value=A></form>"
        await tab.open(f"data:text/html,{form}")
        await tab.leads_on(tab.run("document.forms[0].submit()"))
        assert "only taken from the label page itself" in await tab.run("document.body.innerText")
        assert count(deps.store, "gold_labels") == 0
