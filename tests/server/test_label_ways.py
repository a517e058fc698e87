"""Labels by page, sheet and MCP, through the form of a client or what an agent reports: one session, the same rows, and
nothing in any of them that would tell a side.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitRequestParams, ElicitResult

from command import command, environment
from label_browsing import at_the_page
from label_parts import HIDDEN, answered, label_rows, review_pairs, with_secret
from misjudge_storage.engine import open_store
from misjudge_tools.labelling.question import TEXTS
from misjudge_tools.labelling.review_requests import SheetInRequest, SheetOutRequest
from misjudge_tools.labelling.values import ReviewPair
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.review import sheet_in, sheet_out
from misjudge_tools.summarize_audit import summarize
from operations import dump, opened, rows

PAIRS, LABELLED = 24, 20
FACTS = {"base_model": "wizardlm-7b", "simulated": True}
TOLD = (*HIDDEN[:-1], "wizardlm", "random", "chosen")
"""What nobody may see, in any case: names of agents, models and judge, what it said, parts of ids, streams."""


class Session(NamedTuple):
    """A session of one person: by which way its labels came, and all that the person, or their agent, was shown."""

    came_by: str
    shown: list[str]


Way = Callable[[Path, int], Awaitable[Session]]


async def by_page(store: Path, number: int) -> Session:
    shown = []
    async with opened(store) as deps, at_the_page(deps) as person:
        for _ in range(number):
            got = await person.get()
            shown += [got, await person.say({"pair": got.page.pair.pair}), await person.say(answered(got.page.pair))]
        shown += [await person.get("pair/rev_0"), await person.get("pair/")]
    texts = [f"{one.address} {one.headers} {one.text}" for one in shown]
    own = r"<(style|script)>.*?</\1>|· misjudge|'server': 'misjudge'"
    return Session("page", [re.sub(own, "", text, flags=re.DOTALL) for text in texts])


async def by_csv(store: Path, number: int) -> Session:
    return await _by_sheet(store, number, ".csv")


async def by_jsonl(store: Path, number: int) -> Session:
    return await _by_sheet(store, number, ".jsonl")


async def _by_sheet(store: Path, number: int, suffix: str) -> Session:
    sheet = store.with_name(f"sheet{suffix}")
    async with opened(store) as deps:
        out = await sheet_out(SheetOutRequest(audit="a", reviewer="ann", path=str(sheet), pairs=number), deps)
        text = sheet.read_text(encoding="utf-8-sig")
        empty = list(map(json.loads, text.splitlines())) if suffix == ".jsonl" else _cells(text)
        filled = [{**row, **answered(_shown(row))._asdict()} for row in empty]
        sheet.write_text(_written(filled, suffix), encoding="utf-8")
        into = await sheet_in(SheetInRequest(audit="a", reviewer="ann", path=str(sheet)), deps)
    told = [one.model_dump_json().replace(str(store.parent), "") for one in (out, into)]
    return Session("sheet", [text, *told])


def _shown(row: dict[str, Any]) -> ReviewPair:
    return ReviewPair.model_validate({"pair": row["pair"], **{name: row[name] or "" for name in TEXTS}})


def _cells(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _written(filled: list[dict[str, Any]], suffix: str) -> str:
    if suffix == ".jsonl":
        return "".join(f"{json.dumps(row)}\n" for row in filled)
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(filled[0]))
    writer.writeheader()
    writer.writerows(filled)
    return file.getvalue()


async def by_form(store: Path, number: int) -> Session:
    """A client with a form: its person fills in what the server asks, and no model sees a pair."""
    seen: list[str] = []

    async def fill_in(_: Any, params: ElicitRequestParams) -> ElicitResult:
        seen.append(params.message)
        told = answered(_read(params.message))
        return ElicitResult(
            action="accept", content={"pref": told.pref, "success_a": told.success_a, "success_b": told.success_b}
        )

    async with _client(store, fill_in) as client:
        results = [await _reviewed(client) for _ in range(number)]
    assert len(seen) == number and all(one["recorded"] and not one["pair"] for one in results)
    return Session("form", [*seen, *map(json.dumps, results)])


def _read(message: str) -> ReviewPair:
    """The pair of a form's message, as a person reads it."""
    parts = {part.partition("\n")[0]: part.partition("\n")[2] for part in message.split("\n\n")}
    return ReviewPair(
        pair="",
        task=parts["Task"],
        criteria="",
        constraints="",
        response_a=parts["Response A"],
        response_b=parts["Response B"],
    )


async def by_two_calls(store: Path, number: int) -> Session:
    """A client without a form: its agent shows the pair, and says what the person said."""
    results = []
    async with _client(store, None) as client:
        for _ in range(number):
            shown = await _reviewed(client)
            told = answered(ReviewPair(**shown["pair"]))._asdict()
            results += [shown, await _reviewed(client, **told)]
    return Session("mcp", list(map(json.dumps, results)))


def _client(store: Path, form: Any) -> Client:
    """A client of a server of its own process, over stdio."""
    program, *arguments = command("serve")
    server = StdioServerParameters(
        command=program, args=arguments, cwd=store.parent, env=environment(MISJUDGE_STORE=str(store))
    )
    return Client(server, mode="legacy", elicitation_callback=form)


async def _reviewed(client: Client, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool("review", {"audit": "a", "reviewer": "ann", **arguments})
    assert not result.is_error, result.content
    structured: dict[str, Any] | None = result.structured_content
    assert structured is not None
    return structured


WAYS = (by_page, by_csv, by_jsonl, by_form, by_two_calls)


def new_audit(folder: Path) -> Path:
    """A store with an audit `a` whose judge has said something of every pair."""
    store = folder / "misjudge.db"
    with_judge = open_store(store)
    with_secret(with_judge, review_pairs(PAIRS, **FACTS))
    with_judge.close()
    return store


async def test_twenty_pairs_are_the_same_labels_by_whichever_way_they_come(tmp_path: Path) -> None:
    found: dict[str, list[dict[str, Any]]] = {}
    for way in WAYS:
        folder = tmp_path / way.__name__
        folder.mkdir()
        store = new_audit(folder)
        session = await way(store, LABELLED)
        async with opened(store) as deps:
            came = rows(deps.store, "SELECT DISTINCT came_by FROM gold_labels")
            assert came == [{"came_by": session.came_by}]
            found[way.__name__] = label_rows(deps.store)
    assert len(found["by_page"]) == LABELLED + 2 * LABELLED
    assert all(one == found["by_page"] for one in found.values())


@pytest.mark.parametrize("way", WAYS)
async def test_labels_change_gold_and_summary_and_edit_no_row(tmp_path: Path, way: Way) -> None:
    store = new_audit(tmp_path)
    async with opened(store) as deps:
        before = dump(deps.store)
    await way(store, PAIRS)
    async with opened(store) as deps:
        after = dump(deps.store)
        gold = rows(deps.store, "SELECT gold_pref, gold_source FROM pair_gold")
        pairs = summarize(SummarizeRequest(audit="a", sections=["pairs"]), deps.store).pairs
    assert {one["gold_source"] for one in gold} == {"human"}
    ties = sum(n % 5 == 0 for n in range(PAIRS))
    assert sorted(one["gold_pref"] for one in gold) == ["A"] * (PAIRS - ties) + ["tie"] * ties
    assert pairs is not None and (pairs.decidable, pairs.gold_tie, pairs.gold_unknown) == (PAIRS - ties, ties, 0)
    for table, stood in before.items():
        assert set(stood) <= set(after[table])
        assert table in {"gold_labels", "checks", "reviews"} or stood == after[table]


@pytest.mark.parametrize("way", WAYS)
async def test_a_reviewer_is_told_no_agent_model_judge_verdict_id_or_stream(tmp_path: Path, way: Way) -> None:
    shown = (await way(new_audit(tmp_path), 12)).shown
    assert any("[agent]" in text for text in shown)
    assert not [word for word in TOLD for text in shown if word in text.lower()]
