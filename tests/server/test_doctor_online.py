"""`misjudge doctor --online`: what the models of the roles answer, against gateways on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from command import Misjudge
from doctor_homes import CANARY, KEY
from fault_server import NO_FAULTS, FaultServer, Rates
from loopback import LoopbackServer, completion
from misjudge_server.doctor import online
from misjudge_tools.gateway.simulated import SimulatedServer

OBEYED = completion('{"ok": true}')
LISTED = {"object": "list", "data": [{"id": "judge-m"}, {"id": "judge-mini"}]}


@pytest.fixture
async def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackServer]:
    """A gateway that the environment names, with one judge."""
    async with LoopbackServer() as made:
        configure(monkeypatch, folder, made.base_url, KEY)
        yield made


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, base_url: str, key: str) -> None:
    values = {"TAOTOKEN_BASE_URL": base_url, "TAOTOKEN_API_KEY": key, "TAOTOKEN_JUDGE_MODEL": "judge-m"}
    for name, value in {**values, "HOME": str(folder / "home"), "USERPROFILE": str(folder / "home")}.items():
        monkeypatch.setenv(name, value)


async def doctor(misjudge: Misjudge, *, code: int = 0) -> dict[str, Any]:
    """The report; in a thread, since the server needs this one's loop."""
    said = await asyncio.to_thread(misjudge, "doctor", "--online", "--json")
    assert said.code == code
    assert CANARY not in said.out + said.err
    report: dict[str, Any] = json.loads(said.out)
    return {**report, "said": said.err}


def ids(report: dict[str, Any]) -> list[str]:
    return [found["id"] for found in report["findings"]]


async def test_without_online_nothing_is_asked(misjudge: Misjudge, server: LoopbackServer) -> None:
    said = await asyncio.to_thread(misjudge, "doctor", "--json")
    report = json.loads(said.out)
    assert (said.code, server.requests, report["online"], report["requests"]) == (0, [], None, 0)
    assert "--online" in report["next"]


async def test_a_model_that_does_all_has_no_finding_and_its_requests_are_counted_and_said_before(
    misjudge: Misjudge, server: LoopbackServer
) -> None:
    server.enqueue()
    server.enqueue(OBEYED)
    server.enqueue(LISTED)
    report = await doctor(misjudge)
    assert (report["findings"], report["requests"], report["next"]) == ([], 2, None)
    assert "at most 2 small completions, which are paid" in report["said"]
    (seen,) = report["online"]
    assert (seen["ping"]["model"], seen["ping"]["input_tokens"], seen["listed"]) == ("judge-m", 22, True)
    assert abs(seen["skew_s"]) < 60
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2 + ["/v1/models"]
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (401, {"error": {"message": f"bad key {KEY}"}}, "key-refused"),
        (402, {"error": {"message": "no credit"}}, "key-refused"),
        (404, "not here", "address-wrong"),
        (200, "<!doctype html><title>Welcome</title>", "address-wrong"),
        (404, {"error": {"message": "The model does not exist", "code": "model_not_found"}}, "model-not-offered"),
        (400, {"error": {"message": "messages must be a list"}}, "request-refused"),
        (429, {"error": {"message": "slow down"}}, "rate-limited"),
        (503, "down", "gateway-failed"),
        (200, {"id": "x", "choices": []}, "gateway-failed"),
        (200, completion(None), "no-answer"),
        (413, {"error": {"message": "too large"}}, "no-answer"),
    ],
)
async def test_what_a_gateway_answers_in_place_of_a_reply_is_one_error(
    misjudge: Misjudge, server: LoopbackServer, status: int, body: Any, found: str
) -> None:
    server.always(body, status=status)
    report = await doctor(misjudge, code=1)
    assert ids(report) == [found]
    assert report["findings"][0]["fix"] and report["online"][0]["ping"]["ok"] is False
    asked = [request for request in server.requests if request.path.endswith("completions")]
    assert report["requests"] == len(asked) <= 2, "nothing is tried again, but for the address without /v1"


async def test_a_misspelt_model_is_told_with_the_nearest_that_is_listed(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAOTOKEN_JUDGE_MODEL", "judge-n")
    server.enqueue({"error": {"message": "The model does not exist", "code": "model_not_found"}}, status=404)
    server.enqueue(LISTED)
    report = await doctor(misjudge, code=1)
    assert ids(report) == ["model-not-offered"]
    assert "The nearest is 'judge-m'." in report["findings"][0]["fix"]


async def test_a_model_that_answers_but_is_not_listed_is_a_note(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAOTOKEN_JUDGE_MODEL", "other")
    server.enqueue()
    server.enqueue(OBEYED)
    server.enqueue(LISTED)
    assert ids(await doctor(misjudge)) == ["model-not-listed"]


@pytest.mark.parametrize(
    ("refused", "found"),
    [
        (["json_schema"], ["schema-not-supported"]),
        (["json_schema", "json_object"], ["json-not-supported"]),
    ],
)
async def test_a_form_of_json_that_is_refused_is_told(
    misjudge: Misjudge, server: LoopbackServer, refused: list[str], found: list[str]
) -> None:
    server.enqueue()
    for form in refused:
        message = f"response_format of type {form} is not supported"
        server.enqueue({"error": {"message": message, "param": "response_format"}}, status=400)
    server.always(OBEYED)
    assert ids(await doctor(misjudge)) == found


async def test_a_reply_that_breaks_its_schema_and_a_temperature_that_is_refused_are_told(
    misjudge: Misjudge, server: LoopbackServer
) -> None:
    server.enqueue({"error": {"message": "Unsupported parameter: temperature", "param": "temperature"}}, status=400)
    server.always(completion("OK"))
    assert ids(await doctor(misjudge)) == ["json-not-supported", "temperature-refused"]


async def test_usage_that_is_not_stated_and_a_clock_that_is_off_are_told(
    misjudge: Misjudge, server: LoopbackServer
) -> None:
    server.enqueue({**completion(), "usage": None})
    server.enqueue(OBEYED)
    server.enqueue(LISTED, headers={"Date": formatdate(1_000_000_000, usegmt=True)})
    report = await doctor(misjudge)
    assert ids(report) == ["clock-skew", "usage-not-stated"]
    assert "ahead of the gateway's" in report["findings"][0]["evidence"]


@pytest.mark.parametrize("body", ["no json", "[" * 100_000, {"data": "x"}, {"data": [{"id": 5}, 7]}, ["x"]])
async def test_a_list_of_models_that_cannot_be_read_is_no_finding(
    misjudge: Misjudge, server: LoopbackServer, body: Any
) -> None:
    server.enqueue()
    server.enqueue(OBEYED)
    server.enqueue(body, headers={"Date": "yesterday"})
    report = await doctor(misjudge)
    assert (ids(report), report["online"][0]["listed"], report["online"][0]["skew_s"]) == ([], None, None)


async def test_of_one_address_with_two_keys_each_key_is_asked_for_its_own_list(
    misjudge: Misjudge, server: LoopbackServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAOTOKEN_JUDGE_MODEL")
    monkeypatch.setenv("CANDIDATE_MODEL", "agent-m")
    monkeypatch.setenv("JUDGES_API_KEY", f"{KEY}b")
    profile = f'model = "judge-m"\nkey_env = "JUDGES_API_KEY"\nbase_url = "{server.base_url}"\n'
    (folder / "home").mkdir()
    (folder / "home" / "misjudge.toml").write_text(f'[roles]\njudge = "strict"\n[profiles.strict]\n{profile}', "utf-8")
    monkeypatch.setenv("MISJUDGE_CONFIG", "~/misjudge.toml")
    server.enqueue(OBEYED, times=4)
    server.enqueue({"data": [{"id": "agent-m"}]})
    server.enqueue(LISTED)
    report = await doctor(misjudge)
    assert [(one["ping"]["model"], one["listed"]) for one in report["online"]] == [("agent-m", True), ("judge-m", True)]
    asked = [request.headers["authorization"] for request in server.requests if request.path == "/v1/models"]
    assert asked == [f"Bearer {KEY}", f"Bearer {KEY}b"]


async def test_a_gateway_that_is_away_is_told(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with LoopbackServer() as gone:
        address = gone.base_url
    configure(monkeypatch, folder, address, KEY)
    report = await doctor(misjudge, code=1)
    assert ids(report) == ["unreachable"]


async def test_faults_of_a_bad_connection_are_told_and_cost_one_request_each(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rates, found in ((Rates(1, 0, 0, 0, 0), "rate-limited"), (Rates(0, 1, 0, 0, 0), "gateway-failed")):
        async with FaultServer(rates=rates) as faulty:
            configure(monkeypatch, folder, faulty.base_url, KEY)
            report = await doctor(misjudge, code=1)
            assert (ids(report), report["requests"], faulty.counts().requests) == ([found], 1, 1)
    async with FaultServer(rates=NO_FAULTS) as sound:
        configure(monkeypatch, folder, sound.base_url, KEY)
        assert ids(await doctor(misjudge)) == ["json-not-supported"], "it writes verdicts only"


async def test_a_model_that_takes_too_long_is_told(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISJUDGE_TIMEOUT_S", "0.2")
    server.enqueue(hold=asyncio.Event())
    server.enqueue(LISTED)
    assert ids(await doctor(misjudge, code=1)) == ["no-answer-in-time", "timeout-short"]


async def test_a_model_that_goes_on_and_on_is_told_when_its_time_is_up(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(online, "DEADLINE_S", 1.5)
    monkeypatch.setattr(online, "MARGIN_S", -0.5)  # so that it comes before the limit of the call
    server.enqueue(hold=asyncio.Event(), cut="stall")
    server.enqueue(LISTED)
    report = await doctor(misjudge, code=1)
    assert (ids(report), report["requests"]) == (["no-answer-in-time"], 1)
    assert "did not answer whole within 1 s" in report["findings"][0]["evidence"]


async def test_an_answer_that_takes_long_for_its_size_is_told(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(online, "SLOW_SHARE", 1e-9)
    server.always(OBEYED)
    assert ids(await doctor(misjudge)) == ["slow-answers"]


async def test_a_proxy_that_fails_is_told_as_such(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, folder, "http://gate.example/v1", KEY)
    async with LoopbackServer() as proxy:
        proxy.always("who are you?", status=407)
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url.removesuffix("/v1"))
        report = await doctor(misjudge, code=1)
    assert ids(report) == ["proxy-failed", "base-url-plain-http"]


async def test_a_simulated_gateway_is_marked_and_not_said_to_break_a_schema(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SimulatedServer() as made_up:
        configure(monkeypatch, folder, made_up.base_url, "simulated")
        report = await doctor(misjudge)
        assert (ids(report), report["requests"]) == ([], 2)
        assert report["marked"].startswith("SIMULATED")
        shown = await asyncio.to_thread(misjudge, "doctor", "--online")
        assert "SIMULATED" in shown.out and "Asked: 2 completions" in shown.out


async def test_without_a_key_no_model_is_asked_and_that_is_said(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAOTOKEN_API_KEY")
    report = await doctor(misjudge, code=1)
    assert (ids(report), report["online"], report["requests"], report["said"]) == (["key-missing"], [], 0, "")
    assert server.requests == []
    shown = await asyncio.to_thread(misjudge, "doctor", "--online")
    assert "no model was asked" in shown.out
