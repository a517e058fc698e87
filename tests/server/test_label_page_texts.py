"""How the label page shows texts: long, empty and unseen ones, in two languages."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import episode, messages, pair
from label_browsing import at_the_page
from label_parts import review_pairs, with_secret
from misjudge_tools.deps import Deps
from misjudge_tools.labelling.page_view import FIRST_CHARACTERS, NEXT_CHARACTERS, Turn, parts_of, turns
from misjudge_tools.labelling.page_words import ZH
from misjudge_tools.results import MARK_EPISODES


async def test_what_nobody_sees_in_a_text_is_a_sign_on_the_page(deps: Deps) -> None:
    a, b = [episode(name, said=messages("hi", "con\u00adfirm\u034fed\u3164")) for name in "xy"]
    with_secret(deps.store, [pair("p", a, b, prompt="pay\u00adpal")])
    async with at_the_page(deps) as person:
        page = (await person.get()).page
    assert page.pair.task == "pay⟦U+00AD⟧pal"
    assert {page.pair.response_a, page.pair.response_b} == {"hicon⟦U+00AD⟧firm⟦U+034F⟧ed⟦U+3164⟧"}
    assert not re.search("[\u00ad\u034f\u3164]", page.rawdata)


async def test_made_up_episodes_are_marked_and_an_empty_response_is_said_to_be_empty(deps: Deps) -> None:
    a, b = [episode(name, said=messages("hi", *said), simulated=True) for name, said in (("x", ["yes"]), ("y", []))]
    with_secret(deps.store, [pair("p", a, b, prompt="hi")])
    for language, mark, empty in (("en", MARK_EPISODES, "it is empty"), ("zh", ZH[MARK_EPISODES], "内容为空")):
        async with at_the_page(deps, language=language) as person:
            page = (await person.get()).page
            assert page.text("p marked") == mark and page.text("p empty") == empty


async def test_a_page_in_chinese_has_no_english_words_of_its_own(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2, simulated=True))
    async with at_the_page(deps, "王芳", language="zh") as person:
        got = [await person.get(), await person.label(1), await person.get("pair/rev_0"), await person.label(1)]
        got.append(await person.get(f"pair/{got[-1].page.before}"))
        got.append(await person.say({"pair": got[-1].page.pair.pair}))
    for page in (one.page for one in got):
        own = [text for inside, text in page.seen if not {"div text", "style", "script", "kbd"} & set(inside)]
        left = re.findall(r"[A-Za-z]{2,}", "".join(own))
        assert set(left) <= {"misjudge", "SIMULATED"}


def test_every_word_of_the_templates_has_chinese() -> None:
    folder = files("misjudge_tools.labelling").joinpath("templates")
    texts = [one.read_text(encoding="utf-8") for one in folder.iterdir() if one.name.endswith(".html")]
    said = {word for text in texts for word in re.findall(r'say\("([^"]+)"', text)}
    assert len(said) > 20 and said <= ZH.keys()
    for english, chinese in ZH.items():
        assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", chinese))


SPEAKERS = ("user", "assistant", "tool call", "tool result")


@given(st.lists(st.tuples(st.sampled_from(SPEAKERS), st.text("a \n[]")), min_size=1))
def test_the_turns_of_a_transcript_are_read_as_they_were_written(written: list[tuple[str, str]]) -> None:
    text = "\n".join(f"[{speaker}] {said}" for speaker, said in written)
    found = turns(text)
    assert [(one.speaker, one.text) for one in found] == written
    assert all(text[one.start : one.end] == one.text for one in found)
    assert "".join(f"\n[{one.speaker}] {one.text}" for one in turns("before" + "\n" + text)[1:]) == f"\n{text}"


@pytest.mark.parametrize("length", [0, 1, 19_999, 20_000, 20_001, 70_000, 70_001, 1_000_000])
def test_a_long_text_is_shown_in_parts_that_together_are_all_of_it(length: int) -> None:
    text = "".join(chr(97 + n % 26) for n in range(length))
    parts = parts_of([Turn(None, text)])
    assert "".join(one.text for part in parts for one in part.turns) == text
    assert [part.first for part in parts[:3]] == [1, FIRST_CHARACTERS + 1, FIRST_CHARACTERS + NEXT_CHARACTERS + 1][
        : len(parts)
    ]
    assert all(part.last - part.first < max(FIRST_CHARACTERS, NEXT_CHARACTERS) for part in parts)
    assert parts[-1].last == length


async def test_a_line_of_a_million_characters_is_cut_and_its_rest_can_be_opened(deps: Deps) -> None:
    a, b = [episode(name, said=messages("hi", f"{name}{'z' * 1_000_000}")) for name in "xy"]
    with_secret(deps.store, [pair("p", a, b, prompt="hi")])
    async with at_the_page(deps) as person:
        page = (await person.get()).page
    assert "Show 20,001 to 70,000 of 1,000,013 characters" in page.text("details rest")
    assert {page.pair.response_a, page.pair.response_b} == {f"{name}{'z' * 1_000_000}" for name in "xy"}
    shown = [text for inside, text in page.seen if "div text" in inside and "details rest" not in inside]
    assert (
        sum(map(len, shown)) < 3 * FIRST_CHARACTERS and max(map(len, shown)) <= 120
    )  # no word that a browser is slow at
