from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import aiohttp
import pytest
from pydantic import SecretStr

from loopback import LoopbackServer, VirtualClock
from misjudge_storage import errors
from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.gateway.simulated import MODELS, SimulatedServer, Trouble
from misjudge_tools.gateway.simulated_bias import SimulatedBias, Truth

KEY = "simulated"
MARK = "0123456789abcdef"
MADE, NOT_MADE = template_hash("made"), template_hash("not made")


def _call(a: str = "not made", b: str = "made", model: str = "simulated-judge") -> Call:
    shown = "\n".join(
        f"=== BEGIN RESPONSE {label} {MARK} ===\n{text}\n=== END RESPONSE {label} {MARK} ==="
        for label, text in (("A", a), ("B", b))
    )
    return Call(model=model, messages=(ChatTurn(role="user", content=shown),), json_schema='{"type":"object"}')


def _truth(**success: bool) -> dict[str, Truth]:
    return {template_hash(text.replace("_", " ")): Truth(success=done) for text, done in success.items()}


class Answered(NamedTuple):
    status: int
    body: Any
    headers: Mapping[str, str]


async def _send(server: SimulatedServer, path: str, body: str | None, key: str | None = KEY) -> Answered:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    url = server.base_url.replace("/v1", path)
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.request("GET" if body is None else "POST", url, data=body) as response,
    ):
        return Answered(response.status, await response.json(), response.headers)


async def _ask(server: SimulatedServer, call: Call, **options: Any) -> Exchange:
    gateway = HttpGateway(server.base_url, KEY, simulated=True, **options)
    try:
        return await gateway.ask(call)
    finally:
        await gateway.aclose()


async def test_the_judge_answers_from_the_truth_that_the_gateway_was_told() -> None:
    async with SimulatedServer() as server:
        gateway = HttpGateway(server.base_url, KEY, simulated=True)
        await gateway.tell_truth(_truth(made=True))
        server.learn(_truth(not_made=False))
        call = _call()
        exchange, again = await gateway.ask(call), await gateway.ask(call)
        await gateway.aclose()
    assert json.loads(exchange.text or "") == {
        "reasons": "SIMULATED: a made-up verdict.",
        "score_a": 2,
        "score_b": 4,
        "winner": "B",
    }
    assert again.text == exchange.text
    (attempt,) = exchange.attempts
    assert attempt.input_tokens == len(call.messages[0].content.split())
    assert attempt.output_tokens == len((exchange.text or "").split())
    assert (attempt.finish_reason, (attempt.request_id or "")[:10]) == ("stop", "simulated-")
    assert gateway.simulated


@pytest.mark.parametrize(
    "truth",
    [
        {MADE: {"success": True, "skill": 0.6, "family": "qwen"}, NOT_MADE: {"success": False, "skill": None}},
        {MADE: {"success": True}, NOT_MADE: {"success": False}},
    ],
)
async def test_the_truth_is_taken_with_or_without_a_skill_and_added_to_what_is_known(truth: dict[str, Any]) -> None:
    async with SimulatedServer() as server:
        told = [await _send(server, "/truth", json.dumps({known: one})) for known, one in truth.items()]
        exchange = await _ask(server, _call())
    assert [(one.status, one.body) for one in told] == [(200, {"known": 1}), (200, {"known": 2})]
    assert json.loads(exchange.text or "")["winner"] == "B"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", "{"),
        ("/v1/chat/completions", "[]"),
        ("/v1/chat/completions", '{"model": "m", "messages": [{"role": "robot", "content": ""}]}'),
        ("/v1/chat/completions", '{"model": "m", "messages": [{"role": "assistant", "tool_calls": [7]}]}'),
        ("/truth", "{"),
        ("/truth", '{"abc": true}'),
        ("/truth", '{"abc": {"success": 1}}'),
        ("/truth", '{"abc": {"success": null}}'),
        ("/truth", '{"abc": {"success": true, "skill": 1.5}}'),
        ("/truth", '{"abc": {"success": true, "agent": "x"}}'),
    ],
)
async def test_a_body_that_it_cannot_read_is_refused(path: str, body: str) -> None:
    async with SimulatedServer() as server:
        answered = await _send(server, path, body)
    assert answered.status == 400
    assert answered.body["error"]["message"].startswith("The body must")


@pytest.mark.parametrize("key", [None, "", "sk-canary-key", "Simulated"])
@pytest.mark.parametrize(("path", "body"), [("/v1/chat/completions", "{}"), ("/truth", "{}"), ("/v1/models", None)])
async def test_no_key_but_its_own_is_taken(path: str, body: str | None, key: str | None) -> None:
    async with SimulatedServer() as server:
        answered = await _send(server, path, body, key)
    assert answered.status == 401
    assert "simulated gateway. Its key is the word simulated" in answered.body["error"]["message"]
    assert "canary" not in json.dumps(answered.body)


async def test_its_models_are_listed() -> None:
    async with SimulatedServer() as server:
        answered = await _send(server, "/v1/models", None)
    assert answered.status == 200
    assert [model["id"] for model in answered.body["data"]] == list(MODELS)
    assert all("SIMULATED" in model["owned_by"] for model in answered.body["data"])


async def test_a_latency_is_added_to_each_reply_without_holding_up_the_others() -> None:
    async with SimulatedServer(trouble=Trouble(latency_s=0.05)) as server:
        gateway = HttpGateway(server.base_url, KEY, simulated=True)
        exchanges = await asyncio.gather(*(gateway.ask(_call(f"a{i}", "b")) for i in range(30)))
        await gateway.aclose()
    assert all(exchange.attempts[0].latency_ms >= 49 for exchange in exchanges)


async def test_only_so_many_requests_a_minute_are_taken_and_the_wait_is_told() -> None:
    clock = VirtualClock()
    async with SimulatedServer(trouble=Trouble(requests_per_minute=2), clock=clock) as server:
        body = _call().model_dump_json(include={"model", "messages"})

        async def status() -> int:
            return (await _send(server, "/v1/chat/completions", body)).status

        first = await status()
        clock.advance(20)
        assert [first, await status(), await status()] == [200, 200, 429]
        refused = await _send(server, "/v1/chat/completions", body)
        assert (refused.headers["Retry-After"], "SIMULATED" in refused.body["error"]["message"]) == ("40", True)
        clock.advance(40)
        assert [await status(), await status()] == [200, 429]
        clock.advance(20)
        started = clock.now()
        exchanges = [await _ask(server, _call(str(number)), clock=clock) for number in range(4)]
    assert [exchange.error for exchange in exchanges] == [None] * 4
    assert clock.now() - started >= 60


async def _statuses(seed: int, share: float, requests: int) -> list[int]:
    body = _call().model_dump_json(include={"model", "messages"})
    async with SimulatedServer(SimulatedBias(seed=seed), trouble=Trouble(errors=share)) as server:
        return [(await _send(server, "/v1/chat/completions", body)).status for _ in range(requests)]


async def test_the_planted_share_of_requests_fails_by_seed_and_a_retry_is_a_draw_of_its_own() -> None:
    statuses = await _statuses(1, 0.3, 200)
    assert statuses == await _statuses(1, 0.3, 200)
    assert statuses != await _statuses(2, 0.3, 200)
    assert set(statuses) == {200, 500}
    assert abs(statuses.count(500) / 200 - 0.3) < 0.1
    assert await _statuses(1, 1.0, 3) == [500] * 3
    async with SimulatedServer(trouble=Trouble(errors=0.3)) as server:
        asked = (_ask(server, _call(str(number)), clock=VirtualClock(), max_attempts=12) for number in range(30))
        exchanges = await asyncio.gather(*asked)
    assert {exchange.error for exchange in exchanges} == {None}
    assert max(len(exchange.attempts) for exchange in exchanges) > 1


async def test_a_request_of_no_known_kind_is_answered_with_a_sentence() -> None:
    async with SimulatedServer() as server:
        exchange = await _ask(server, Call(model="m", messages=(ChatTurn(role="user", content="Say OK."),)))
    assert (exchange.text or "").startswith("SIMULATED")


async def test_a_port_that_is_taken_is_one_sentence() -> None:
    async with SimulatedServer() as server:
        port = int(server.base_url.split(":")[2].removesuffix("/v1"))
        with pytest.raises(InvalidInput, match=f"Port {port} cannot be had: another program uses it"):
            await SimulatedServer(port=port).__aenter__()
        assert (await _send(server, "/v1/models", None)).status == 200


async def test_a_real_gateway_is_never_told_who_did_the_job() -> None:
    async with LoopbackServer() as server:
        gateway = HttpGateway(server.base_url, "sk-canary-key-0123456789")
        with pytest.raises(InvalidInput, match="Only a simulated gateway"):
            await gateway.tell_truth(_truth(made=True))
        await gateway.aclose()
    assert server.requests == []


async def test_the_truth_is_posted_once_to_the_root_of_the_address() -> None:
    async with LoopbackServer() as server:
        server.enqueue({"known": 1})
        server.enqueue(status=404)
        gateway = HttpGateway(server.base_url, KEY, simulated=True)
        await gateway.tell_truth({"h": Truth(success=True, skill=0.5, family="qwen"), "i": Truth(success=False)})
        with pytest.raises(errors.WrongAddress, match=r"did not take who did the job \(404\)"):
            await gateway.tell_truth(_truth(made=True))
        await gateway.aclose()
    assert [request.path for request in server.requests] == ["/truth", "/truth"]
    assert server.requests[0].body == {
        "h": {"success": True, "skill": 0.5, "family": "qwen"},
        "i": {"success": False, "skill": None, "family": None},
    }


async def test_a_truth_that_reaches_nobody_is_an_error() -> None:
    async with SimulatedServer() as server:
        gateway = HttpGateway(server.base_url, KEY, simulated=True)
    with pytest.raises(errors.Unreachable):
        await gateway.tell_truth(_truth(made=True))
    await gateway.aclose()


@pytest.mark.parametrize(
    ("key", "simulated"), [("simulated", True), (" simulated\n", True), ("sk-1", False), ("Simulated", False)]
)
def test_an_endpoint_is_simulated_by_its_key(key: str, simulated: bool) -> None:
    assert Endpoint(key=SecretStr(key)).simulated is simulated
    assert not Endpoint().simulated


async def test_the_pool_marks_a_simulated_gateway_and_takes_it_on_this_machine_only() -> None:
    async with SimulatedServer() as server:
        gateways = Gateways()
        gateway = gateways.at(Endpoint(base_url=server.base_url, key=SecretStr(KEY)))
        exchange = await gateway.ask(_call())
        real = gateways.at(Endpoint(base_url=server.base_url, key=SecretStr("sk-1")))
        refused = await real.ask(_call())
        await gateways.aclose()
    assert (gateway.simulated, exchange.error) == (True, None)
    assert (real.simulated, type(refused.error)) == (False, errors.AuthRefused)
    for address in ("https://taotoken.net/api", "http://10.0.0.7:8787/v1", "http://localhost.example/v1"):
        with pytest.raises(InvalidInput, match="The key in MY_KEY is that of a simulated gateway"):
            gateways.at(Endpoint(base_url=address, key=SecretStr(KEY), key_variable="MY_KEY"))
