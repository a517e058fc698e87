"""`ping`: whether the model of each role answers, what it takes, and what that cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.settings import SIMULATED_KEY, Endpoint, Price, RoleName
from misjudge_tools.gateway.simulated import SimulatedServer
from misjudge_tools.ping import EMPTY, MARK_REPLIES, ROLES, PingReport, RolePing, chosen_roles, ping
from misjudge_tools.profiles import ModelSettings, Profile
from operations import KEY

OBEYED = completion('{"ok": true}')


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with LoopbackServer() as made:
        yield made


def endpoint(server: LoopbackServer, **values: Any) -> Endpoint:
    return Endpoint(base_url=server.base_url, key=SecretStr(KEY), **values)


def only_judge(server: LoopbackServer, **values: Any) -> ModelSettings:
    return ModelSettings(roles={"judge": Profile(model="judge-m", endpoint=endpoint(server), **values)})


async def pinged(roles: Mapping[RoleName, Profile], *asked: RoleName) -> PingReport:
    gateways = Gateways(clock=VirtualClock())
    try:
        return await ping(ModelSettings(roles=roles), gateways, asked or ROLES)
    finally:
        await gateways.aclose()


async def judge_pinged(server: LoopbackServer, **values: Any) -> RolePing:
    """What the ping of one judge came to."""
    (found,) = (await pinged(only_judge(server, **values).roles)).models
    return found


def sent(server: LoopbackServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests]


async def test_a_model_that_takes_all_is_asked_twice_and_its_use_is_told(server: LoopbackServer) -> None:
    server.enqueue()
    server.enqueue(OBEYED)
    found = await judge_pinged(server, price=Price(input=1000, output=1000))
    assert (found.roles, found.model, found.base_url) == (("judge",), "judge-m", server.base_url)
    assert (found.ok, found.problem, found.attempts) == (True, None, 2)
    assert (found.input_tokens, found.output_tokens) == (22, 6)
    assert found.cost == pytest.approx(0.028)
    assert found.price_source == "misjudge.toml"
    assert found.latency_ms is not None and found.latency_ms >= 0
    assert (found.reply_format, found.obeyed, found.left_out) == ("json_schema", True, ())
    plain, formed = sent(server)
    assert "response_format" not in plain
    assert formed["response_format"]["type"] == "json_schema"
    assert all(len(json.dumps(body)) < 700 and body["max_tokens"] == 256 for body in (plain, formed)), "small requests"


async def test_the_temperature_that_is_configured_is_tried(server: LoopbackServer) -> None:
    server.always(OBEYED)
    await judge_pinged(server, temperature=0.7)
    assert [body["temperature"] for body in sent(server)] == [0.7, 0.7]


async def test_a_refused_key_is_said_with_the_variable_that_holds_it_and_ends_the_ping(server: LoopbackServer) -> None:
    server.always({"error": {"message": f"bad key {KEY}"}}, status=401)
    there = Endpoint(base_url=server.base_url, key=SecretStr(KEY), key_variable="OTHER_KEY")
    (found,) = (await pinged({"judge": Profile(model="judge-m", endpoint=there)})).models
    assert (found.ok, found.attempts, len(server.requests)) == (False, 1, 1)
    assert found.problem is not None and "OTHER_KEY" in found.problem and KEY not in found.problem
    nothing = (found.latency_ms, found.input_tokens, found.output_tokens, found.cost, found.reply_format, found.obeyed)
    assert nothing == (None,) * 6


async def test_a_key_that_is_not_set_and_an_address_that_cannot_be_are_said_without_a_request() -> None:
    roles: dict[RoleName, Profile] = {
        "judge": Profile(model="judge-m"),
        "agent": Profile(model="agent-m", endpoint=Endpoint(base_url="nowhere", key=SecretStr(KEY))),
    }
    of_agent, of_judge = (await pinged(roles)).models
    assert (of_agent.roles, of_agent.ok, of_agent.attempts) == (("agent",), False, 0)
    assert of_agent.problem is not None and "base URL" in of_agent.problem
    assert (of_judge.roles, of_judge.ok) == (("judge",), False)
    assert of_judge.problem is not None and "Set TAOTOKEN_API_KEY" in of_judge.problem


async def test_a_gateway_that_fails_is_tried_as_often_as_a_call_and_no_more(server: LoopbackServer) -> None:
    server.always("down", status=503)
    found = await judge_pinged(server)
    assert (found.ok, found.attempts, len(server.requests)) == (False, 4, 4)
    assert found.problem is not None and "503" in found.problem


@pytest.mark.parametrize(
    ("refused", "left_out"), [(("temperature",), ("temperature",)), (("max_tokens",), ("max_tokens",))]
)
async def test_a_parameter_that_the_model_refuses_is_named(
    server: LoopbackServer, refused: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    for name in refused:
        server.enqueue({"error": {"message": f"Unsupported parameter: {name}", "param": name}}, status=400)
    server.enqueue()
    server.enqueue(OBEYED)
    found = await judge_pinged(server)
    assert (found.ok, found.attempts, found.left_out) == (True, 3, left_out)
    assert (found.reply_format, found.obeyed) == ("json_schema", True)


@pytest.mark.parametrize(
    ("refused", "reply_format", "attempts"),
    [(["json_schema"], "json_object", 3), (["json_schema", "json_object"], "none", 4)],
)
async def test_a_form_of_json_that_the_model_refuses_is_not_the_one_told(
    server: LoopbackServer, refused: list[str], reply_format: str, attempts: int
) -> None:
    server.enqueue()
    for form in refused:
        message = f"response_format of type {form} is not supported"
        server.enqueue({"error": {"message": message, "param": "response_format"}}, status=400)
    server.enqueue(OBEYED)
    found = await judge_pinged(server)
    assert (found.ok, found.reply_format, found.obeyed, found.attempts) == (True, reply_format, True, attempts)
    assert (found.input_tokens, found.output_tokens) == (22, 6), "only what was answered counts"


async def test_a_model_that_answers_plainly_and_refuses_the_second_request_is_ok_and_takes_no_json(
    server: LoopbackServer,
) -> None:
    server.enqueue()
    server.always({"error": {"message": "no"}}, status=400)
    found = await judge_pinged(server)
    assert (found.ok, found.reply_format, found.obeyed) == (True, "none", False)
    assert (found.input_tokens, found.output_tokens, found.attempts) == (11, 3, 2)


@pytest.mark.parametrize(
    "reply", ["OK", "", '{"ok": 1}', '{"ok": true, "more": 1}', "[true]", 'Sure: {"ok": true}', "[" * 100_000]
)
async def test_a_reply_that_does_not_fit_the_schema_is_told(server: LoopbackServer, reply: str) -> None:
    server.enqueue()
    server.enqueue(completion(reply))
    found = await judge_pinged(server)
    assert (found.ok, found.reply_format, found.obeyed) == (True, "json_schema", False)


async def test_usage_that_is_not_stated_is_not_known_and_costs_an_unknown_sum(server: LoopbackServer) -> None:
    server.enqueue({**completion(), "usage": None})
    server.enqueue(OBEYED)
    found = await judge_pinged(server, price=Price(input=1, output=1))
    assert (found.ok, found.input_tokens, found.output_tokens, found.cost) == (True, None, None, None)


async def test_a_model_without_a_known_price_costs_an_unknown_sum(server: LoopbackServer) -> None:
    server.always(OBEYED)
    found = await judge_pinged(server)
    assert (found.input_tokens, found.cost, found.price_source) == (22, None, None)


async def test_a_simulated_gateway_is_marked_and_never_said_to_break_a_schema() -> None:
    async with SimulatedServer() as made_up, LoopbackServer() as server:
        server.always(OBEYED)
        there = Endpoint(base_url=made_up.base_url, key=SecretStr(SIMULATED_KEY))
        roles: dict[RoleName, Profile] = {
            "judge": Profile(model="simulated-judge", endpoint=there, price=Price(input=1000, output=1000)),
            "agent": Profile(model="agent-m", endpoint=endpoint(server)),
        }
        report = await pinged(roles)
        of_agent, of_judge = report.models
        assert report.marked == MARK_REPLIES and report.marked.startswith("SIMULATED")
        assert (of_judge.ok, of_judge.simulated, of_judge.reply_format, of_judge.obeyed) == (
            True, True, "simulated", None
        )  # fmt: skip
        assert (of_judge.cost, of_judge.price_source) == (0, "simulated")
        assert (of_agent.simulated, of_agent.reply_format, of_agent.obeyed) == (False, "json_schema", True)
        assert (await pinged(roles, "agent")).marked is None


async def test_a_simulated_gateway_that_is_away_is_marked_too() -> None:
    there = Endpoint(base_url="http://192.0.2.1/v1", key=SecretStr(SIMULATED_KEY))
    report = await pinged({"judge": Profile(model="m", endpoint=there)})
    (found,) = report.models
    assert (found.ok, found.simulated, found.reply_format, report.marked) == (False, True, None, MARK_REPLIES)
    assert "runs on this machine only" in (found.problem or "")


async def test_roles_that_share_a_model_share_its_two_requests(server: LoopbackServer) -> None:
    server.always(OBEYED)
    shared = Profile(model="shared-m", endpoint=endpoint(server))
    elsewhere = Profile(model="shared-m", endpoint=endpoint(server, key_variable="OTHER_KEY"))
    report = await pinged({"agent": shared, "user_sim": elsewhere, "judge": shared})
    assert [found.roles for found in report.models] == [("agent", "judge"), ("user_sim",)]
    assert all(found.ok and found.attempts == 2 for found in report.models)
    assert len(server.requests) == 4


async def test_roles_that_share_a_model_with_two_keys_are_asked_with_each(server: LoopbackServer) -> None:
    server.always(OBEYED)
    keyed = [Endpoint(base_url=server.base_url, key=SecretStr(key)) for key in (KEY, f"{KEY}b")]
    report = await pinged({
        "judge": Profile(model="m", endpoint=keyed[0]), "agent": Profile(model="m", endpoint=keyed[1]),
    })  # fmt: skip
    assert [one.roles for one in report.models] == [("agent",), ("judge",)]
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}", f"Bearer {KEY}b"}


async def test_only_the_roles_asked_for_that_have_a_model_are_pinged(server: LoopbackServer) -> None:
    server.always(OBEYED)
    models = {name: Profile(model=f"{name}-m", endpoint=endpoint(server)) for name in ("agent", "judge")}
    roles: dict[RoleName, Profile] = {"agent": models["agent"], "judge": models["judge"], "user_sim": Profile()}
    assert [found.roles for found in (await pinged(roles, "judge")).models] == [("judge",)]
    assert [found.roles for found in (await pinged(roles)).models] == [("agent",), ("judge",)]
    assert [body["model"] for body in sent(server)] == ["judge-m"] * 2 + ["agent-m"] * 2 + ["judge-m"] * 2


async def test_one_model_that_fails_does_not_keep_the_others_from_being_pinged(server: LoopbackServer) -> None:
    server.enqueue({"error": {"message": "The model does not exist", "code": "model_not_found"}}, status=404)
    server.always(OBEYED)
    roles: dict[RoleName, Profile] = {
        "agent": Profile(model="misspelt", endpoint=endpoint(server)),
        "judge": Profile(model="judge-m", endpoint=endpoint(server)),
    }
    report = await pinged(roles)
    assert [found.ok for found in report.models] == [False, True]
    assert "Check the spelling of the model name" in (report.models[0].problem or "")


async def test_without_any_model_the_fix_is_said() -> None:
    with pytest.raises(InvalidInput, match=r"for agent and user_sim and judge\. Set TAOTOKEN_MODEL"):
        await pinged({})
    with pytest.raises(InvalidInput, match=r"No model is configured for judge\."):
        await pinged({"agent": Profile(model="agent-m")}, "judge")


def test_roles_are_chosen_by_name() -> None:
    assert chosen_roles(None) == chosen_roles([]) == ("agent", "user_sim", "judge")
    assert chosen_roles(["judge", "agent", "judge"]) == ("agent", "judge")
    with pytest.raises(InvalidInput, match=r"^There is no role 'jury'. Roles are: agent, user_sim, judge\.$"):
        chosen_roles(["judge", "jury"])


@pytest.mark.parametrize("text", [None, "", " \n"])
async def test_a_reply_without_a_text_is_no_answer(server: LoopbackServer, text: str | None) -> None:
    server.enqueue(completion(text))
    found = await judge_pinged(server)
    assert (found.ok, found.error, found.attempts) == (False, EMPTY, 1)
    assert "no text" in (found.problem or "")


async def test_a_reply_that_was_cut_off_while_it_thought_is_an_answer(server: LoopbackServer) -> None:
    server.enqueue(completion(None, finish_reason="length"), times=2)
    server.enqueue(OBEYED)
    assert (await judge_pinged(server)).ok


@pytest.mark.parametrize("answered", [0, 1])
async def test_all_that_is_asked_of_a_model_ends_a_margin_after_the_limit_of_a_call(
    server: LoopbackServer, answered: int
) -> None:
    server.enqueue(times=answered)
    server.enqueue(hold=asyncio.Event(), cut="stall")
    limited = Profile(model="judge-m", endpoint=endpoint(server, deadline_s=0.5))
    models = ModelSettings(roles={"judge": limited})
    gateways = Gateways(clock=VirtualClock())  # whose limits never come
    try:
        report = await ping(models, gateways, ROLES, margin_s=0.5)
    finally:
        await gateways.aclose()
    (found,) = report.models
    assert (found.ok, found.error, found.attempts) == (False, "CallTimeout", answered + 1)
    assert "did not answer whole within 1 s" in (found.problem or "")
