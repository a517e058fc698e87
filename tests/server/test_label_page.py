"""The label page over real HTTP: what it gives, stores and asks for again."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from builders import pair
from label_browsing import at_the_page
from label_parts import AGENTS, answered, at_work, label_next, review_pairs, with_secret
from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.labelling.drawing import is_doubled
from misjudge_tools.labelling.page import label_page
from misjudge_tools.labelling.page_requests import LabelPageRequest
from misjudge_tools.labelling.page_words import CHOOSE, CHOOSE_DONE, NOT_OURS
from operations import count, opened

ONLY = f"t0#0:{AGENTS[0]}|{AGENTS[1]}"
"""The pair of an audit that has but one."""


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
