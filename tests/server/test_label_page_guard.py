"""The label page refuses what does not come from it, and what it shows and logs gives nothing away."""

from __future__ import annotations

import asyncio
import logging
import re

import pytest

from hostile_records import MARKUP, UNSEEN, hostile_records
from label_browsing import Page, at_the_page
from label_parts import answered, review_pairs, with_secret
from misjudge_tools.deps import Deps
from operations import count, dump


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
