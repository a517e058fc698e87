from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import shop_tools
from loopback import LoopbackServer
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import ToolCall
from misjudge_tools.episodes import toolbox as toolbox_module
from misjudge_tools.episodes.posting import MOST_BYTES, host_allowed
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.toolbox import Toolbox, open_toolbox
from misjudge_tools.episodes.turns import ToolsAway
from misjudge_tools.episodes.world import World, differences
from misjudge_tools.suites.model import ToolFault, Tools
from rollout_parts import ALLOWED, SHOP, SHOP_IMAGE, TEXT, a_call, open_shop, spec


@pytest.fixture
def world() -> Iterator[World]:
    with World.from_image(SHOP_IMAGE) as made:
        yield made


async def said(toolbox: Toolbox, name: str, **arguments: Any) -> Any:
    return json.loads(await toolbox.call(a_call(name, **arguments)))


async def error(toolbox: Toolbox, call: ToolCall) -> str:
    answer = json.loads(await toolbox.call(call))
    assert answer.keys() == {"error"}
    return str(answer["error"])


async def test_a_call_changes_the_world_and_returns_json(world: World) -> None:
    toolbox = open_shop(world)
    assert await said(toolbox, "take", sku="tent", count=2) == {"sku": "tent", "left": 3}
    assert world.connection.execute("SELECT left_over FROM stock WHERE sku = 'tent'").fetchone() == (3,)
    assert toolbox.specs == SHOP.tools


async def test_text_of_any_script_comes_back_as_it_is(world: World) -> None:
    assert "帐篷" in await open_shop(world).call(a_call("note", text="帐篷"))


async def test_a_refusal_is_a_sentence_for_the_agent_and_changes_nothing(world: World) -> None:
    before = world.image()
    assert await error(open_shop(world), a_call("take", sku="lamp")) == "There is not enough of it."
    assert differences(before, world.image()) == ()


@pytest.mark.parametrize(
    "call",
    [
        a_call("commits_and_breaks"),
        a_call("says_too_much"),
        a_call("says_what_json_cannot", what="bytes"),
        a_call("says_what_json_cannot", what="nan"),
        a_call("says_what_json_cannot", what="set"),
    ],
    ids=lambda call: call.arguments if call.arguments != "{}" else call.name,
)
async def test_a_tool_that_fails_changes_nothing_even_if_it_commits(world: World, call: ToolCall) -> None:
    before = world.image()
    toolbox = open_shop(world)
    answer = await error(toolbox, call)
    assert answer == ("The result is too long to show. Ask for less." if "much" in call.name else "The tool failed.")
    assert differences(before, world.image()) == ()
    assert await said(toolbox, "note", text="on we go") == {"noted": "on we go"}
    assert await said(toolbox, "notes") == ["on we go"]


async def test_a_failure_is_logged_by_its_class_alone(world: World, logged: pytest.LogCaptureFixture) -> None:
    await open_shop(world).call(a_call("commits_and_breaks"))
    assert "KeyError" in logged.text
    assert "secret text" not in logged.text


async def test_sql_without_an_end_is_stopped_and_undone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbox_module, "PYTHON_LIMIT_S", 0.05)
    before = world.image()
    toolbox = open_shop(world)
    assert await error(toolbox, a_call("never_ends")) == "The tool failed."
    assert differences(before, world.image()) == ()
    assert await said(toolbox, "notes") == []


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (a_call("steal"), "There is no such tool. The tools are: take, note, notes"),
        (a_call("execute"), "There is no such tool."),
        (ToolCall(name="take", arguments='{"sku": "te'), "The arguments are not valid JSON."),
        (ToolCall(name="take", arguments="[" * 100_000), "The arguments are not valid JSON."),
        (ToolCall(name="take", arguments='{"sku": "tent", "count": NaN}'), "The arguments are not valid JSON."),
        (ToolCall(name="take", arguments='{"sku": "tent", "count": 1e999}'), "The arguments are not valid JSON."),
        (ToolCall(name="take", arguments='["tent"]'), "The arguments must be a JSON object."),
        (a_call("take"), "The arguments do not fit. Known arguments: sku, count. Required: sku."),
        (a_call("take", sku="tent", hidden="x"), "The arguments do not fit. Known arguments: sku, count."),
        (a_call("notes", hidden="x"), "The arguments do not fit. Known arguments: none. Required: none."),
        (a_call("take", sku="hidden"), 'The argument "sku" does not fit: enum must be ["tent", "lamp"].'),
        (a_call("take", sku="tent", count="two"), 'The argument "count" does not fit: type must be "integer".'),
        (a_call("take", sku="tent", count=0), 'The argument "count" does not fit its schema (minimum).'),
        (a_call("note", text="#hidden"), 'The argument "text" does not fit its schema (pattern).'),
    ],
    ids=lambda value: value.arguments[:40] if isinstance(value, ToolCall) else "",
)
async def test_what_an_agent_does_wrong_is_an_answer_that_does_not_repeat_it(
    world: World, call: ToolCall, answer: str
) -> None:
    before = world.image()
    found = await error(open_shop(world), call)
    assert found.startswith(answer)
    assert "hidden" not in found
    assert differences(before, world.image()) == ()


async def test_no_arguments_at_all_are_an_empty_object(world: World) -> None:
    assert await open_shop(world).call(ToolCall(name="notes", arguments="")) == "[]"


async def test_a_reference_to_an_address_is_never_fetched(world: World) -> None:
    async with LoopbackServer() as server:
        remote = spec("notes").model_copy(update={"parameters": {"$ref": f"{server.base_url}/schema.json"}})
        toolbox = open_toolbox(Tools(python="shop_tools", tools=(remote,)), world, (), ALLOWED, "s")
        assert await error(toolbox, a_call("notes")) == "The tool failed."
        assert server.requests == []


async def test_the_first_calls_of_a_faulty_tool_fail_and_change_nothing(world: World) -> None:
    before = world.image()
    toolbox = open_shop(world, ToolFault(tool="take", calls=2, error="Try again."))
    assert (await error(toolbox, a_call("take", sku="wrong"))).startswith("The argument")
    assert await error(toolbox, a_call("take", sku="tent")) == "Try again."
    assert await said(toolbox, "notes") == []
    assert await error(toolbox, a_call("take", sku="tent")) == "Try again."
    assert differences(before, world.image()) == ()
    assert await said(toolbox, "take", sku="tent") == {"sku": "tent", "left": 4}


async def test_calls_made_at_once_are_worked_on_in_order(world: World) -> None:
    toolbox = open_shop(world)
    await asyncio.gather(*(toolbox.call(a_call("note", text=str(number))) for number in range(20)))
    assert await said(toolbox, "notes") == [str(number) for number in range(20)]


async def test_a_cancelled_call_is_waited_for_so_that_nobody_closes_its_world(world: World) -> None:
    shop_tools.started.clear()
    shop_tools.go_on.clear()
    waiting = asyncio.create_task(open_shop(world).call(a_call("waits")))
    await asyncio.to_thread(shop_tools.started.wait, 30)
    waiting.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    shop_tools.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert world.connection.execute("SELECT text FROM notes").fetchall() == [("waited",)]


async def test_tools_without_a_world_are_given_none() -> None:
    tools = Tools(python="shop_tools", tools=(spec("without_world", ["word"], word=TEXT),))
    assert await open_toolbox(tools, None, (), ALLOWED, "s").call(a_call("without_world", word="x")) == '[null, "x"]'


async def test_a_suite_without_tools_has_an_empty_toolbox() -> None:
    toolbox = open_toolbox(Tools(), None, (), Allowed(), "s")
    assert toolbox.specs == ()
    assert await error(toolbox, a_call("take")) == "There is no such tool. The tools are: none."


@pytest.mark.parametrize(
    ("module", "tool", "allowed", "says"),
    [
        ("shop_tools", "take", Allowed(), "does not allow"),
        ("os", "system", ALLOWED, "does not allow"),
        ("no_such_module", "take", Allowed(python=("no_such_module",)), "cannot be imported (ModuleNotFoundError)"),
        ("shop_tools", "fly", ALLOWED, "has no function fly"),
        ("shop_tools", "NOT_A_FUNCTION", ALLOWED, "has no function NOT_A_FUNCTION"),
    ],
)
def test_python_tools_must_be_allowed_and_there(
    world: World, module: str, tool: str, allowed: Allowed, says: str
) -> None:
    with pytest.raises(InvalidInput) as found:
        open_toolbox(Tools(python=module, tools=(spec(tool),)), world, (), allowed, "s")
    assert says in str(found.value)


def http_tools(url: str) -> Tools:
    return Tools(http=url, tools=(spec("find", ["word"], word=TEXT),))


async def test_http_tools_are_posted_session_tool_and_arguments_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", "sk-secret-1234567890")
    async with LoopbackServer() as server:
        server.enqueue({"found": ["帐篷"]})
        toolbox = open_toolbox(http_tools(server.base_url), None, (), Allowed(hosts=("127.0.0.1",)), "session-7")
        assert await toolbox.call(a_call("find", word="tent")) == '{"found": ["帐篷"]}'
        (request,) = server.requests
        assert request.body == {"session": "session-7", "tool": "find", "arguments": {"word": "tent"}}
        assert "sk-secret" not in json.dumps(request.headers)
        assert request.headers.keys() <= {
            "host", "accept", "accept-encoding", "content-type", "content-length", "user-agent",
        }  # fmt: skip


async def test_wrong_arguments_are_never_posted() -> None:
    async with LoopbackServer() as server:
        toolbox = open_toolbox(http_tools(server.base_url), None, (), Allowed(hosts=("127.0.0.1",)), "s")
        assert (await error(toolbox, a_call("find", word=1))).startswith('The argument "word"')
        assert server.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        {"body": "not JSON"},
        {"body": "[" * 100_000},
        {"body": '{"found": NaN}'},
        {"body": '"' + "x" * (2 * MOST_BYTES) + '"'},
    ],
    ids=["text", "deep", "nan", "large"],
)
async def test_an_answer_of_tools_that_cannot_be_read_is_a_tool_that_failed(answer: dict[str, Any]) -> None:
    async with LoopbackServer() as server:
        server.enqueue(answer.pop("body"), **answer)
        toolbox = open_toolbox(http_tools(server.base_url), None, (), Allowed(hosts=("127.0.0.1",)), "s")
        assert await error(toolbox, a_call("find", word="x")) == "The tool failed."
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"body": {"found": 1}, "status": 500},
        {"body": "", "status": 302, "headers": {"Location": "/elsewhere"}},
        {"body": {"found": 1}, "cut": "mid_body"},
        {"body": {"found": 1}, "cut": "reset"},
    ],
    ids=["500", "redirect", "mid_body", "reset"],
)
async def test_a_server_of_tools_that_is_away_is_no_answer_to_the_agent(answer: dict[str, Any]) -> None:
    async with LoopbackServer() as server:
        server.enqueue(answer.pop("body"), **answer)
        toolbox = open_toolbox(http_tools(server.base_url), None, (), Allowed(hosts=("127.0.0.1",)), "s")
        with pytest.raises(ToolsAway, match=r"The server of the tools gave no result\. It"):
            await toolbox.call(a_call("find", word="x"))
        assert len(server.requests) == 1


async def test_a_server_of_tools_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbox_module, "HTTP_LIMIT_S", 0.05)
    async with LoopbackServer() as server:
        server.enqueue({"found": 1}, hold=asyncio.Event())
        toolbox = open_toolbox(http_tools(server.base_url), None, (), Allowed(hosts=("127.0.0.1",)), "s")
        assert await error(toolbox, a_call("find", word="x")) == "The tool failed."


def test_http_tools_of_a_host_that_is_not_allowed_are_not_opened() -> None:
    with pytest.raises(InvalidInput, match="not of an allowed host"):
        open_toolbox(http_tools("http://127.0.0.1:9/"), None, (), Allowed(hosts=("example.org",)), "s")


@pytest.mark.parametrize(
    ("url", "hosts", "allowed"),
    [
        ("http://tools.example/x", ("tools.example",), True),
        ("https://TOOLS.example:8443/x", ("Tools.Example",), True),
        ("http://tools.example:81/x", ("tools.example:81",), True),
        ("http://tools.example/x", ("tools.example:80",), True),
        ("http://tools.example:82/x", ("tools.example:81",), False),
        ("http://[::1]:81/x", ("[::1]:81",), True),
        ("http://[::1]:81/x", ("::1",), True),
        ("http://tools.example.evil.example/x", ("tools.example",), False),
        ("http://evil.example/tools.example", ("tools.example",), False),
        ("http://tools.example@evil.example/x", ("tools.example",), False),
        ("http://user:pass@tools.example/x", ("tools.example",), False),
        ("http://evil.example#@tools.example/", ("tools.example",), False),
        ("http://evil.example\\@tools.example/", ("tools.example",), False),
        ("file:///etc/passwd", ("",), False),
        ("ftp://tools.example/x", ("tools.example",), False),
        ("http://tools.example:port/x", ("tools.example",), False),
        ("//tools.example/x", ("tools.example",), False),
        ("", ("",), False),
    ],
)
def test_a_host_is_allowed_by_its_whole_name(url: str, hosts: tuple[str, ...], allowed: bool) -> None:
    assert host_allowed(url, hosts) is allowed
