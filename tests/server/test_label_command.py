"""The command `label`: the page from a shell, and sheets."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from aiohttp import ClientSession

from command import Misjudge, environment, launcher
from label_browsing import Page
from label_parts import answered, at_work, label_next, label_rows, review_pairs, with_secret
from misjudge_storage.engine import open_store
from misjudge_tools.labelling.values import ReviewPair
from operations import stored

STORE = ".misjudge/misjudge.db"
# The end of the page is waited for; and a shell that starts tests in the background would let them ignore Ctrl-C.
IN_A_HURRY = """
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
from misjudge_tools.labelling import page
page.label_page.__wrapped__.__kwdefaults__["linger_s"] = 0
"""


def audit(folder: Path, number: int = 6) -> None:
    """An audit `a` in the store of this working directory."""
    folder.joinpath(".misjudge").mkdir(exist_ok=True)
    store = open_store(folder / STORE)
    with_secret(store, review_pairs(number))
    store.close()


def fill_in(sheet: Path, number: int) -> None:
    """Answer so many pairs of a JSONL sheet."""
    found = [json.loads(line) for line in sheet.read_text(encoding="utf-8").splitlines()]
    names = ("pair", "task", "criteria", "constraints", "response_a", "response_b")
    for row in found[:number]:
        row.update(answered(ReviewPair(**{name: row[name] for name in names}))._asdict())
    sheet.write_text("".join(f"{json.dumps(row)}\n" for row in found), encoding="utf-8")


def test_a_sheet_is_written_filled_in_and_read(misjudge: Misjudge, folder: Path) -> None:
    audit(folder)
    out = misjudge("label", "a", "--reviewer", "ann", "--out", "sheet.jsonl", "--pairs", "4")
    assert (out.code, out.err) == (0, "")
    assert "Written: sheet.jsonl (4 pairs for ann)" in out.out and "0 labelled, 6 left." in out.out
    fill_in(folder / "sheet.jsonl", 3)
    read = misjudge("label", "a", "--reviewer", "ann", "--in", "sheet.jsonl")
    assert (read.code, read.err) == (0, "")
    assert "Read: sheet.jsonl (3 new, 1 empty)" in read.out and "3 labelled, 3 left." in read.out
    again = json.loads(misjudge("label", "a", "--reviewer", "ann", "--in", "sheet.jsonl", "--json").out)
    assert (again["schema"], again["new"], again["same"], again["empty"]) == (1, 0, 3, 1)
    more = ("--only", "random", "--force", "--json")
    written = json.loads(misjudge("label", "a", "--reviewer", "ann", "--out", "sheet.jsonl", *more).out)
    assert written["schema"] == 1 and 0 < written["pairs"] < 3 and written["standing"]["labelled"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a",), "(--reviewer)"),
        (("a", "--reviewer", "gpt-4o"), "names a model"),
        (("none", "--reviewer", "ann"), "none"),
        (("a", "--reviewer", "ann", "--language", "fr"), "language"),
        (("a", "--reviewer", "ann", "--port", "70000"), "port"),
        (("a", "--reviewer", "ann", "--pairs", "3"), "Give --out FILE, too"),
        (("a", "--reviewer", "ann", "--in", "x.csv", "--force"), "Give --out FILE, too"),
        (("a", "--reviewer", "ann", "--in", "x.csv", "--out", "y.csv"), "Give one of them"),
        (("a", "--reviewer", "ann", "--out", "x.csv", "--language", "fr"), "a sheet has none. Leave them out"),
        (("a", "--reviewer", "ann", "--out", "x.csv", "--open"), "a sheet has none. Leave them out"),
        (("a", "--reviewer", "ann", "--in", "x.csv", "--port", "0"), "a sheet has none. Leave them out"),
        (("a", "--reviewer", "ann", "--out", "sheet.txt"), ".csv or .jsonl"),
        (("a", "--reviewer", "ann", "--out", "sheet.csv", "--only", "best"), "only"),
        (("a", "--reviewer", "ann", "--in", "none.csv"), "none.csv"),
    ],
)
def test_what_cannot_be_done_is_said_with_code_two(
    misjudge: Misjudge, folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    audit(folder)
    refused = misjudge("label", *arguments)
    assert (refused.code, refused.out) == (2, "") and said in refused.err
    assert sorted(one.name for one in folder.iterdir()) == [".misjudge"]


def test_where_nothing_is_left_no_page_is_served(misjudge: Misjudge, folder: Path) -> None:
    audit(folder, 2)
    store = open_store(folder / STORE)
    label_next(store, at_work(store, "ann"), 2)
    stored(store, [], "empty")
    store.close()
    done = misjudge("label", "a", "--reviewer", "ann")
    assert (done.code, done.err) == (0, "") and done.out.startswith("Nothing is left for this reviewer")
    as_json = json.loads(misjudge("label", "a", "--reviewer", "ann", "--json").out)
    assert as_json["address"] is None and as_json["standing"] == {"labelled": 2, "open": 0, "left": 0}
    empty = misjudge("label", "empty", "--reviewer", "ann")
    assert empty.code == 2 and "no pair of two transcripts" in empty.err


async def test_the_page_is_served_until_nothing_is_left(folder: Path) -> None:
    audit(folder, 3)
    program = [*launcher(IN_A_HURRY), "label", "a", "--reviewer", "ann"]
    process = await asyncio.create_subprocess_exec(*program, cwd=folder, env=environment(), stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60), ClientSession() as session:
        assert "as ann (0 labelled, 3 left)" in (await process.stdout.readline()).decode()
        address = (await process.stdout.readline()).decode().strip()
        origin = address.rpartition("/")[0].rpartition("/")[0]
        at = address
        for _ in range(3):
            async with session.get(at) as shown:
                said = answered(Page(await shown.text()).pair)
            form = {name: value for name, value in said._asdict().items() if name != "pair"}
            async with session.post(f"{address}pair/{said.pair}", data=form, headers={"Origin": origin}) as led:
                at = str(led.url)
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"") and "Nothing is left to label." in out.decode()
    store = open_store(folder / STORE)
    assert len(label_rows(store)) == 9
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
async def test_ctrl_c_ends_the_page_and_says_how_to_go_on(folder: Path) -> None:
    audit(folder, 3)
    opened, browser = folder / "opened", folder / "browser.sh"
    os.mkfifo(opened)
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    program = [*launcher(IN_A_HURRY), "label", "a", "--reviewer", "ann", "--json", "--open"]
    env = environment(BROWSER=str(browser))
    process = await asyncio.create_subprocess_exec(*program, cwd=folder, env=env, stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        result = json.loads(await process.stdout.readuntil(b"\n}\n"))
        assert (await asyncio.to_thread(opened.read_text, encoding="utf-8")).strip() == result["address"]
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert "what was stored stays. Go on with: the same command again" in err.decode()
