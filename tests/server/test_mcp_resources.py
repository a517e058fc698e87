"""What is stored, and reports, as resources: the addresses and the code of `read_record`, in both protocol eras."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate
from mcp.types import ReadResourceResult, TextResourceContents

from builders import episode, messages, pair, passed, verdict
from misjudge_server.app import LazyDeps, build_app
from misjudge_server.fitting import LIMIT, size_of
from misjudge_server.resources import TEMPLATES
from misjudge_storage.types import Log
from misjudge_tools.deps import Deps
from misjudge_tools.write_report import MARKDOWN_HEAD
from operations import opened, pair_records, stored

MODES = ["auto", "legacy"]
NAME = "half off, ünïcode's?#& 审计"


def texts_of(result: ReadResourceResult) -> list[TextResourceContents]:
    assert size_of(result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})) <= LIMIT
    assert all(isinstance(content, TextResourceContents) for content in result.contents)
    return [content for content in result.contents if isinstance(content, TextResourceContents)]


async def record(session: Client, uri: str) -> dict[str, Any]:
    """The JSON of a resource that is no report."""
    [content] = texts_of(await session.read_resource(uri))
    assert (content.mime_type, content.uri) == ("application/json", uri)
    found: dict[str, Any] = json.loads(content.text)
    return found


async def tool_record(session: Client, uri: str, **arguments: Any) -> dict[str, Any]:
    found = await session.call_tool("read_record", {"uri": uri, **arguments})
    assert found.structured_content is not None, found.content
    return dict(found.structured_content)


async def refusal(session: Client, uri: str) -> str:
    with pytest.raises(MCPError) as refused:
        await session.read_resource(uri)
    return refused.value.message


async def every_resource(session: Client) -> list[str]:
    """The addresses of all pages."""
    found, cursor = list[str](), None
    while True:
        page = await session.list_resources(cursor=cursor)
        assert size_of(page.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})) <= LIMIT
        found += [resource.uri for resource in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("mode", MODES)
async def test_every_audit_is_listed_with_its_summary_which_is_read_as_the_tool_reads_it(deps: Deps, mode: str) -> None:
    stored(deps.store, pair_records(2), NAME)
    async with Client(build_app(LazyDeps(deps)), mode=mode) as session:
        assert (await session.call_tool("judge", {"audit": NAME, "judge": "simulated"})).is_error is not True
        listed = (await session.list_resources()).resources
        assert [resource.uri for resource in listed] == [
            "misjudge://audits",
            f"misjudge://audits/{quote(NAME, safe='')}/summary",
        ]
        assert listed[1].name == f"summary of {NAME}" and "SIMULATED" in (listed[1].description or "")
        assert await record(session, listed[0].uri) == await tool_record(session, listed[0].uri)
        summary = await record(session, listed[1].uri)
        assert summary["marked"].startswith("SIMULATED")
        for tool in ("summarize_audit", "read_record"):
            given = {"audit": NAME} if tool == "summarize_audit" else {"uri": listed[1].uri}
            found = (await session.call_tool(tool, given)).structured_content or {}
            whole = found.get("record", found)
            cut = {"sections_left_out", "left_out", "left_out_next", "why"}
            shown = {name: value for name, value in summary["record"].items() if name not in cut}
            assert {name: whole[name] for name in shown} == shown
            assert {"headline", "misselection", "consistency"} <= {name for name, value in shown.items() if value}


@pytest.mark.parametrize("mode", MODES)
async def test_each_template_leads_to_what_is_stored_whatever_its_name(deps: Deps, mode: str) -> None:
    log = Log(model="m", raw_output="the raw reply 😀", parsed_json="{}")
    one, two = (
        episode(agent, passed(agent == "one"), task="t/1?", said=messages(f"I am {agent}.")) for agent in ("one", "two")
    )
    stored(deps.store, [pair("p/1 #%2F?", one, two, verdict("A", "AB"), logs=[log])], NAME)
    async with Client(build_app(LazyDeps(deps)), mode=mode) as session:
        judged = (await session.call_tool("judge", {"audit": NAME, "judge": "simulated"})).structured_content
        assert judged is not None
        values = {
            "audit": NAME,
            "pair": "p/1 #%2F?",
            "log": judged["verdicts"][0]["log"],
            "kind": "tasks",
            "id": "t/1?",
            "run": judged["run"]["run"],
        }
        offered = {one.uri_template for one in (await session.list_resource_templates()).resource_templates}
        reached = {template for template in offered if "{rubric}" not in template and "{path}" not in template}
        assert len(reached) == len(offered) - 2
        for template in reached:
            uri = UriTemplate.parse(template).expand(values)
            found = await record(session, uri)
            assert found["record"], template
            assert found == await tool_record(session, uri)


async def test_a_rubric_is_read_by_its_name(deps: Deps) -> None:
    async with Client(build_app(LazyDeps(deps))) as session:
        kept = {"action": "library", "rubrics": ["对账 rules"], "gold_rules": ["Is it right?"]}
        assert not (await session.call_tool("score_rubrics", kept)).is_error
        uri = UriTemplate.parse("misjudge://rubrics/{rubric}").expand({"rubric": "对账 rules"})
        assert (await record(session, uri))["record"]["names"] == ["对账 rules"]


async def test_the_list_is_paged_and_new_audits_disturb_no_page(deps: Deps) -> None:
    names = [f"audit {n} 号" + "长" * 60 for n in range(60)]
    for name in names:
        stored(deps.store, pair_records(1), name)
    async with Client(build_app(LazyDeps(deps))) as session:
        first = await session.list_resources()
        assert first.next_cursor is not None and len(first.resources) < 30
        for n in range(5):
            stored(deps.store, pair_records(1), f"later {n}")
        rest = await session.list_resources(cursor=first.next_cursor)
        seen = {resource.uri for resource in first.resources}
        assert not seen & {resource.uri for resource in rest.resources}
        everything = await every_resource(session)
        for cursor in ("x", "-1", "9" * 12, "1.5"):
            with pytest.raises(MCPError, match="List again without one"):
                await session.list_resources(cursor=cursor)
    assert len(everything) == len(set(everything)) == 66
    assert everything[0] == "misjudge://audits" and everything[1].startswith("misjudge://audits/later%20")


async def test_a_long_record_goes_on_at_the_address_that_it_names(deps: Deps) -> None:
    prompt = '取消 "订单" 4417 \\ 😀\n' * 2_000
    stored(deps.store, pair_records(1), "a")
    record_ = pair("p1", episode("one"), episode("two"), prompt=prompt)
    stored(deps.store, [record_], "b")
    async with Client(build_app(LazyDeps(deps))) as session:
        uri: str | None = f"misjudge://audits/b/tasks/{record_.task.task_id if record_.task else ''}"
        read = ""
        while uri is not None:
            [content] = texts_of(await session.read_resource(uri))
            page = json.loads(content.text)
            read += page["record"]["prompt"]
            uri = page.get("next")
            assert uri is None or uri == f"{page['uri']}?cursor={page['next_cursor']}"
        assert read == prompt
        by_tool = await tool_record(session, "misjudge://audits/b/tasks/t1?cursor=5")
    assert by_tool["record"]["prompt"].startswith(prompt[5:50])


@pytest.mark.parametrize("sign", ['"', "\\", "\x1b", "\n", "中", "😀"])
async def test_no_text_makes_a_resource_longer_than_clients_take(deps: Deps, sign: str) -> None:
    text = sign * 20_000
    said = messages(text)
    stored(deps.store, [pair("p", episode("one", said=said), episode("two", said=(*said, *said)), prompt=text)], "a")
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await record(session, "misjudge://audits/a/tasks/t1")
        assert found["record"]["prompt"] == text[: found["next_cursor"]]
        pages = (await record(session, "misjudge://audits/a/trajectories"))["record"]["trajectories"]
        for row in pages:
            assert (await record(session, f"misjudge://audits/a/trajectories/{row['trajectory_id']}"))["next"]


async def test_reports_that_we_wrote_are_listed_and_read_and_no_other_file(folder: Path) -> None:
    async with opened(folder / "s.db", roots=(folder,)) as deps, Client(build_app(LazyDeps(deps))) as session:
        stored(deps.store, pair_records(2), "a")
        (folder / "out").mkdir()
        written = ["report.html", "out/报告 1.md", "figures.csv", "numbers.json"]
        for place in written:
            result = await session.call_tool("write_report", {"audit": "a", "out": place})
            assert not result.is_error, result.content
        (folder / "mine.html").write_text("<!doctype html><p>mine", encoding="utf-8")
        (folder / "mine.md").write_text("# mine", encoding="utf-8")
        (folder / ".hidden").mkdir()
        (folder / ".hidden" / "copy.md").write_bytes((folder / "out" / "报告 1.md").read_bytes())
        listed = [
            one for one in (await session.list_resources()).resources if one.uri.startswith("misjudge://reports/")
        ]
        assert {one.name: one.mime_type for one in listed} == {
            "figures.csv": "text/csv",
            "numbers.json": "application/json",
            "out/报告 1.md": "text/markdown",
            "report.html": "text/html",
        }
        assert {one.name: one.size for one in listed} == {place: (folder / place).stat().st_size for place in written}
        for one in listed:
            uri, text = one.uri, ""
            while uri:
                content, *notes = texts_of(await session.read_resource(uri))
                assert content.mime_type == one.mime_type
                text += content.text
                uri = next((note.text.removeprefix("It goes on at ") for note in notes), "")
            assert text == (folder / one.name).read_bytes().decode("utf-8-sig")
        found = await tool_record(session, listed[0].uri)
        assert found["record"]["path"] == "figures.csv" and found["record"]["text"]
        everything = await tool_record(session, "misjudge://reports")
        assert [row["uri"] for row in everything["record"]["reports"]] == [one.uri for one in listed]
        for wrong in ("mine.html", "mine.md", "nothing.html", "out", "s.db", "report.html/x", "\0"):
            sentence = await refusal(session, f"misjudge://reports/{quote(wrong, safe='')}")
            assert "No report of misjudge lies there" in sentence or "A path holds a NUL" in sentence


async def test_no_report_outside_the_folder_is_read_even_by_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for place in (inside, outside):
        place.mkdir()
    monkeypatch.chdir(inside)
    async with opened(tmp_path / "s.db", roots=(inside, outside)) as deps, Client(build_app(LazyDeps(deps))) as session:
        stored(deps.store, pair_records(1), "a")
        assert not (await session.call_tool("write_report", {"audit": "a", "out": str(outside / "r.md")})).is_error
        named = (await session.list_resources()).resources
        assert [one.name for one in named][1:2] == [(outside / "r.md").as_posix()]
        assert texts_of(await session.read_resource(named[1].uri))[0].text.startswith("<!-- Written by misjudge")
    (inside / "link.md").symlink_to(outside / "r.md")
    async with opened(tmp_path / "s.db", roots=(inside,)) as deps, Client(build_app(LazyDeps(deps))) as session:
        assert [one for one in await every_resource(session) if "reports" in one] == []
        for path in ("link.md", "../outside/r.md", str(outside / "r.md")):
            sentence = await refusal(session, f"misjudge://reports/{quote(path, safe='')}")
            assert "outside the folders that may be read" in sentence


async def test_a_simulated_report_says_so_on_every_page(folder: Path) -> None:
    async with opened(folder / "s.db") as deps, Client(build_app(LazyDeps(deps))) as session:
        stored(deps.store, pair_records(2), "a")
        await session.call_tool("judge", {"audit": "a", "judge": "simulated"})
        assert not (await session.call_tool("write_report", {"audit": "a", "out": "r.html"})).is_error
        uri = "misjudge://reports/r.html?cursor=9000"
        text, *notes = texts_of(await session.read_resource(uri))
        assert notes[0].text.startswith("SIMULATED") and notes[1].text.startswith("It goes on at misjudge://reports/")
        assert (await tool_record(session, uri))["marked"].startswith("SIMULATED")
        assert text.text == (folder / "r.html").read_text(encoding="utf-8")[9000 : 9000 + len(text.text)]


@pytest.mark.parametrize("mode", MODES)
async def test_an_address_that_leads_nowhere_is_one_sentence(deps: Deps, mode: str) -> None:
    stored(deps.store, pair_records(1), "a")
    async with Client(build_app(LazyDeps(deps)), mode=mode) as session:
        assert (await refusal(session, "misjudge://nothing")).startswith(
            "No such address. Allowed are misjudge://audits,"
        )
        assert (await refusal(session, "file:///etc/passwd")).startswith("No such address.")
        assert (await refusal(session, "misjudge://audits/b/summary")).startswith("No audit is called 'b'.")
        assert "No pairs record has the id 'x'" in await refusal(session, "misjudge://audits/a/pairs/x")
        assert "A summary has no pages" in await refusal(session, "misjudge://audits/a/summary?cursor=5")
        assert "Argument 'uri' cannot be used" in await refusal(session, "misjudge://" + "x" * 2_000)


async def test_a_summary_is_read_by_sections_with_the_tool(deps: Deps) -> None:
    stored(deps.store, pair_records(2), "a")
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await tool_record(session, "misjudge://audits/a/summary", fields=["pairs"])
        assert found["record"]["pairs"]["n"] == 2 and "cost" not in {k for k, v in found["record"].items() if v}
        wrong = await session.call_tool("read_record", {"uri": "misjudge://audits/a/summary", "fields": ["no"]})
    assert wrong.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_reading_makes_no_store_and_lists_are_as_those_of_an_empty_one(folder: Path, mode: str) -> None:
    (folder / "r.md").write_text(MARKDOWN_HEAD, encoding="utf-8")
    deps = LazyDeps()
    lists = ("misjudge://audits", "misjudge://rubrics", "misjudge://reports")
    async with Client(build_app(deps), mode=mode) as session:
        before = [await record(session, uri) for uri in lists]
        for place in (place for place in TEMPLATES if not place.startswith("reports/")):
            uri = f"misjudge://{re.sub('[{}]', '', place)}"
            assert "Nothing is stored here yet" in await refusal(session, uri)
        for wrong in ("misjudge://nothing", "file:///etc/passwd", "audits"):
            assert "Nothing is stored here yet" in await refusal(session, wrong)
        assert "No report of misjudge lies there" in await refusal(session, "misjudge://reports/no.md")
        assert [path.name for path in folder.iterdir()] == ["r.md"]
        await session.call_tool("runs", {})
        assert (folder / ".misjudge").exists() and [await record(session, uri) for uri in lists] == before
    await deps.close()


async def test_where_not_all_files_were_looked_at_the_lists_say_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        (folder / f"{n}.md").write_text("<!-- Written by hand -->", encoding="utf-8")
    async with opened(folder / "s.db") as deps, Client(build_app(LazyDeps(deps))) as session:
        assert await every_resource(session) == ["misjudge://audits"]
        monkeypatch.setattr("misjudge_tools.report_files.MOST_FILES", 2)
        told = (await session.list_resources()).resources[1]
        assert told.uri == "misjudge://reports" and "not all were looked at" in str(told.description)
        assert (await record(session, told.uri))["record"] == {"reports": [], "total": 0, "note": told.description}


async def test_looking_at_lists_makes_no_store_and_an_unforeseen_failure_tells_nothing_of_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deps = LazyDeps()
    async with Client(build_app(deps)) as session:
        assert await every_resource(session) == ["misjudge://audits"]
        assert len((await session.list_resource_templates()).resource_templates) == 9
        assert list(folder.iterdir()) == []
        monkeypatch.setenv("MISJUDGE_STORE", f"sqlite:///{folder / 'none.db'}")
        assert await every_resource(session) == ["misjudge://audits"]
        assert list(folder.iterdir()) == []
        monkeypatch.setenv("MISJUDGE_CONCURRENCY", "none")
        with pytest.raises(MCPError, match="The setting MISJUDGE_CONCURRENCY"):
            await session.list_resources()
        monkeypatch.delenv("MISJUDGE_CONCURRENCY")

        def fail(*_: object) -> None:
            raise RuntimeError("a transcript: CANARY")

        monkeypatch.setattr("misjudge_server.lazy_deps._is_there", fail)
        with pytest.raises(MCPError, match=r"Internal error in resources/list \(RuntimeError\)") as failed:
            await session.list_resources()
    assert "CANARY" not in failed.value.message
    await deps.close()
