"""The label page over real HTTP: what it shows and stores, and what it refuses."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import episode, messages, pair
from hostile_records import MARKUP, UNSEEN, hostile_records
from label_browsing import Page, at_the_page
from label_parts import AGENTS, answered, at_work, label_next, review_pairs, with_secret
from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.labelling.drawing import is_doubled
from misjudge_tools.labelling.page import label_page
from misjudge_tools.labelling.page_requests import LabelPageRequest
from misjudge_tools.labelling.page_view import FIRST_CHARACTERS, NEXT_CHARACTERS, Turn, parts_of, turns
from misjudge_tools.labelling.page_words import CHOOSE, CHOOSE_DONE, NOT_OURS, ZH
from misjudge_tools.results import MARK_EPISODES
from operations import count, dump, opened

ONLY = f"t0#0:{AGENTS[0]}|{AGENTS[1]}"
"""The pair of an audit that has but one."""


def without_assets(html: str) -> str:
    """A page without its style, its script and the name misjudge, which are the same on every one."""
    return re.sub(r"<(style|script)>.*?</\1>|· misjudge", "", html, flags=re.DOTALL)


async def test_what_does_not_come_from_the_page_is_refused(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(3))
    async with at_the_page(deps) as person:
        shown = (await person.get()).page.pair
        token = person.address.rstrip("/").rpartition("/")[2]
        port = person.origin.rpartition(":")[2]
        own, form = {"Origin": person.origin}, {"pref": "A"}
        there = f"pair/{shown.pair}"
        before = dump(deps.store)
        for path in (
            "/",
            f"/{token[:-1]}/",
            f"/{token}x/",
            f"/{token.swapcase()}/",
            f"/x/{token}/",
            "/%FF%00/",
            "/pair/",
        ):
            assert (await person.ask("GET", person.origin + path)).status == 404
            assert (await person.ask("POST", person.origin + path + there, own, form)).status == 404
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1",
            "127.0.0.1:1",
            f"127.0.0.1.evil.example:{port}",
            "",
        ):
            for method, path in (("GET", ""), ("GET", there), ("POST", there)):
                assert (await person.ask(method, person.address + path, {**own, "Host": host}, form)).status == 403
        for origin in (
            None,
            "null",
            "http://evil.example",
            f"http://localhost:{port}",
            f"https://127.0.0.1:{port}",
            "http://127.0.0.1:1",
        ):
            sent = {} if origin is None else {"Origin": origin}
            assert (await person.ask("POST", person.address + there, sent, form)).status == 403
        for site in ("cross-site", "same-site", "none"):
            sent = {**own, "Sec-Fetch-Site": site}
            assert (await person.ask("POST", person.address + there, sent, form)).status == 403
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            assert (await person.ask(method, person.address + there, own, form)).status == 405
        assert (await person.ask("POST", person.address + there, own, {"pref": "A" * 20_000})).status == 413
        assert dump(deps.store) == before
        local = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}", "Sec-Fetch-Site": "same-origin"}
        await person.ask("POST", person.address + there, local, form)
        assert count(deps.store, "gold_labels") == 1


async def test_every_answer_forbids_scripts_frames_keeping_and_other_origins(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(1))
    async with at_the_page(deps) as person:
        first = await person.get()
        refused = [
            await person.ask("GET", person.origin + "/"),
            await person.ask("GET", person.address, {"Host": "evil.example"}),
            await person.get("pair/rev_0"),
            await person.get("other"),
        ]
        done = await person.label()
    for got in (first, *refused, done):
        assert got.headers["cache-control"] == "no-store" and got.headers["referrer-policy"] == "same-origin"
        assert got.headers["x-frame-options"] == "DENY" and got.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in got.headers and "set-cookie" not in got.headers
        assert got.headers["server"] == "misjudge"
        allowed = dict(one.split(" ", 1) for one in got.headers["content-security-policy"].split("; "))
        assert allowed["default-src"] == "'none'" and allowed["form-action"] == "'self'"
        assert allowed["frame-ancestors"] == "'none'" and allowed["base-uri"] == "'none'"
        assert re.fullmatch(r"'sha256-\S{44}'", allowed["script-src"])
        assert re.fullmatch(r"'sha256-\S{44}'", allowed["style-src"])
    token = person.address.rstrip("/").rpartition("/")[2]
    assert len(token) >= 40 and not [got for got in (first, *refused, done) if token in got.text]


async def test_hostile_texts_are_words_and_nothing_else(deps: Deps) -> None:
    with_secret(deps.store, list(hostile_records()))
    pages = list[Page]()
    async with at_the_page(deps) as person:
        while "method" in (at := await person.get()).text and "pref" in at.text:
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", at.text)
            pages.append(at.page)
            await person.say({"pair": at.page.pair.pair, "pref": "tie"})
    assert len(pages) > len(MARKUP) + len(UNSEEN)
    for page in pages:
        text = without_assets(page.rawdata)
        names = {one.name for one in page.elements}
        assert not names & {"img", "svg", "iframe", "a ", "textarea", "object", "embed"} and names <= KNOWN
        assert not [one for one in page.elements if {"style", "onload", "onerror", "src"} & one.facts.keys()], text[
            :100
        ]


KNOWN = set(
    "html head meta title link style body header p span progress main h1 section div h2 ul li form fieldset legend "
    "small label input kbd button dialog dl dt dd script details summary a wbr".split()
)


async def test_what_nobody_sees_in_a_text_is_a_sign_on_the_page(deps: Deps) -> None:
    a, b = [episode(name, said=messages("hi", "con\u00adfirm\u034fed\u3164")) for name in "xy"]
    with_secret(deps.store, [pair("p", a, b, prompt="pay\u00adpal")])
    async with at_the_page(deps) as person:
        page = (await person.get()).page
    assert page.pair.task == "pay⟦U+00AD⟧pal"
    assert {page.pair.response_a, page.pair.response_b} == {"hicon⟦U+00AD⟧firm⟦U+034F⟧ed⟦U+3164⟧"}
    assert not re.search("[\u00ad\u034f\u3164]", page.rawdata)


async def test_the_same_answer_twice_is_stored_once_and_another_one_is_a_correction(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(4))
    async with at_the_page(deps) as person:
        shown = (await person.get()).page.pair
        said = answered(shown)
        await asyncio.gather(*(person.say(said) for _ in range(8)))  # double clicks
        assert count(deps.store, "gold_labels") == 1 and count(deps.store, "checks") == 2
        assert (await person.say(said)).page.text("p note") == "This was saved already, so nothing was added."
        other = said._replace(pref="B" if said.pref != "B" else "A")
        assert "Saved as a correction" in (await person.say(other)).page.text("p note")
        assert count(deps.store, "gold_labels") == 2 and count(deps.store, "checks") == 2
        again = (await person.get(f"pair/{shown.pair}")).page
        assert again.filled_in == {k: v for k, v in other._asdict().items() if k != "pair"}
        assert "You labelled this pair before" in again.text("p before")


async def test_the_way_back_leads_from_pair_to_pair_to_the_first_one(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(4))
    async with at_the_page(deps) as person:
        assert (await person.get()).page.before is None
        seen = list[str]()
        for _ in range(3):
            seen.append((await person.get()).page.pair.pair)
            at = await person.label()
        back = list[str]()
        while at.page.before:
            at = await person.get(f"pair/{at.page.before}")
            back.append(at.page.pair.pair)
            assert set(at.page.filled_in) == {"pref", "success_a", "success_b"}
        assert back == seen[::-1]
        after = await person.say({"pair": seen[0], "pref": "tie"})
        assert after.page.pair.pair not in seen and after.page.text("p standing") == "3 labelled, 1 left"


async def test_another_start_goes_on_where_it_was_at_another_address(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(4))
    async with at_the_page(deps) as person:
        first = (await person.get()).page.pair
        waiting = (await person.label()).page.pair
        old = person.address
    async with at_the_page(deps, "ANN") as person:
        at = await person.get()
        assert at.page.pair == waiting and at.page.before == first.pair
        assert (await person.get("pair/")).page.pair == waiting
        assert old.rpartition(":")[2] not in person.address
        path = old.removeprefix("http://").partition("/")[2]
        assert (await person.ask("GET", f"{person.origin}/{path}")).status == 404
        await person.say(answered(first))
        assert count(deps.store, "gold_labels") == 1


async def test_two_people_label_at_once_and_neither_sees_the_others_pairs(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(10))
    async with at_the_page(deps) as ann, at_the_page(deps, "bob") as bob:
        of_ann = (await ann.get()).page.pair.pair
        assert (await bob.get()).page.pair.pair != of_ann
        for got in (await bob.get(f"pair/{of_ann}"), await bob.say({"pair": of_ann, "pref": "A"})):
            assert got.status in {400, 404} and "was given no pair of this audit under that token" in got.text
        assert count(deps.store, "gold_labels") == 0


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({}, CHOOSE),
        ({"pref": ""}, CHOOSE),
        ({"pref": "C"}, CHOOSE),
        ({"pref": "C", "success_a": "perhaps"}, CHOOSE),
        ({"pref": "A", "success_a": "perhaps"}, CHOOSE_DONE),
        ({"pref": "A", "success_b": "perhaps"}, CHOOSE_DONE),
        ({"pref": ["A", "B"]}, NOT_OURS),
        ({"pref": ["A", "A"]}, NOT_OURS),
        ({"pref": "A", "success_a": ["yes", "no"]}, NOT_OURS),
        ({str(n): "x" for n in range(30)}, NOT_OURS),
    ],
)
async def test_an_answer_that_cannot_be_read_is_asked_for_again(deps: Deps, form: dict[str, Any], said: str) -> None:
    with_secret(deps.store, review_pairs(2))
    async with at_the_page(deps) as person:
        shown = (await person.get()).page.pair
        sent = urlencode(form, doseq=True)
        kind = {"Origin": person.origin, "Content-Type": "application/x-www-form-urlencoded"}
        got = await person.ask("POST", f"{person.address}pair/{shown.pair}", kind, sent)
        assert (got.status, got.page.text("p note"), got.page.pair) == (400, said, shown)
        assert count(deps.store, "gold_labels") == 0


async def test_it_is_over_a_while_after_nothing_is_left_unless_somebody_goes_back(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    async with at_the_page(deps, linger_s=0.2) as person:
        done = await person.label(2)
        assert done.page.text("h1") == "Nothing is left" and done.page.text("p standing") == "2 labelled, 0 left"
        assert not person.opened.over.is_set() and done.page.before
        back = await person.get(f"pair/{done.page.before}")
        assert back.status == 200
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(person.opened.over.wait(), 0.5)
        await person.say(answered(back.page.pair))
        await asyncio.wait_for(person.opened.over.wait(), 30)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows moves no file that is open")
async def test_a_store_that_cannot_be_written_is_said_and_nothing_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = tmp_path / "moved.db"
    async with opened(store) as deps:
        with_secret(deps.store, review_pairs(2))
        async with at_the_page(deps) as person:
            shown = (await person.get()).page.pair
            store.rename(tmp_path / "elsewhere.db")
            got = await person.say(answered(shown))
            assert got.status == 503 and "Nothing was saved; try again." in got.page.text("div plain")
            (tmp_path / "elsewhere.db").rename(store)
            assert (await person.say(answered(shown))).page.text("p note") == "Saved."
            assert count(deps.store, "gold_labels") == 1 and caplog.records == []


async def test_an_error_of_misjudge_itself_is_logged_without_what_was_read(
    deps: Deps, caplog: pytest.LogCaptureFixture
) -> None:
    with_secret(deps.store, review_pairs(2))
    async with at_the_page(deps) as person:
        with deps.store.write() as connection:
            connection.exec_driver_sql("""UPDATE trajectories SET messages_json = '[{"role": "a secret role"}]'""")
        got = await person.get()
        assert got.status == 500 and got.text.startswith("Internal error.") and "secret role" not in got.text
    (record,) = [one for one in caplog.records if one.name == "misjudge_tools.labelling.page_guard"]
    assert record.levelno == logging.ERROR and "secret role" not in record.getMessage()


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


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"reviewer": None}, "needs the id of the person"),
        ({"reviewer": "gpt-4o"}, "names a model"),
        ({"audit": "none"}, "none"),
    ],
)
async def test_a_page_is_for_a_person_and_an_audit(deps: Deps, values: dict[str, Any], said: str) -> None:
    with_secret(deps.store, review_pairs(1))
    request = LabelPageRequest(**{"audit": "a", "reviewer": "ann", **values})
    with pytest.raises(InvalidInput, match=said):
        async with label_page(request, deps):
            pass


async def test_nothing_is_served_where_nothing_is_left_or_no_transcript_is(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(1))
    label_next(deps.store, at_work(deps.store, "ann"))
    async with label_page(LabelPageRequest(audit="a", reviewer="ann"), deps) as page:
        assert page.result.address is None and str(page.result.note).startswith("Nothing is left")
    with_secret(deps.store, [pair("p", None, None)], audit="b")
    with pytest.raises(InvalidInput, match="no pair of two transcripts"):
        async with label_page(LabelPageRequest(audit="b", reviewer="ann"), deps):
            pass


async def test_a_port_that_is_taken_is_said(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(2))
    async with at_the_page(deps) as person:
        port = int(person.origin.rpartition(":")[2])
        with pytest.raises(InvalidInput, match=f"Port {port} cannot be had"):
            async with at_the_page(deps, "bob", port=port):
                pass
    assert count(deps.store, "reviews") == 0


async def test_a_pair_is_given_to_whoever_opens_the_page_and_not_before(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(3))
    async with at_the_page(deps) as person:
        assert person.opened.result.standing.left == 3 and count(deps.store, "reviews") == 0
        await person.get()
        assert count(deps.store, "reviews") == 1


async def test_where_others_took_the_last_pair_before_the_page_was_opened_nothing_is_left(deps: Deps) -> None:
    with_secret(deps.store, review_pairs(1), next(s for s in map(str, range(50)) if not is_doubled(s, ONLY)))
    async with at_the_page(deps) as person:
        label_next(deps.store, at_work(deps.store, "bob"))
        assert (await person.get()).page.text("h1") == "Nothing is left"


async def test_whoever_leaves_while_they_answer_leaves_no_trace(deps: Deps, caplog: pytest.LogCaptureFixture) -> None:
    with_secret(deps.store, review_pairs(2))
    async with at_the_page(deps) as person:
        shown = (await person.get()).page.pair
        host = person.origin.removeprefix("http://")
        path = f"{person.address.removeprefix(person.origin)}pair/{shown.pair}"
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {person.origin}\r\n"
        for sent in ("Content-Length: 50\r\n\r\npref=A", "Transfer-Encoding: chunked\r\n\r\n6\r\npref=A\r\n"):
            _, writer = await asyncio.open_connection(*host.split(":"))
            writer.write(f"{head}Content-Type: application/x-www-form-urlencoded\r\n{sent}".encode())
            await writer.drain()
            await person.get()  # until the server is at it
            writer.transport.abort()
        assert (await person.say(answered(shown))).page.text("p note") == "Saved."
    assert count(deps.store, "gold_labels") == 1 and caplog.records == []
