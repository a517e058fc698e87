"""The fault matrix: whatever a gateway does, what `judge` asks, how long it takes, what it stores and what it says.

Each row judges one pair, in both orders, one call at a time. Canaries stand for all that must reach no log line,
error or wrong column.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copy2
from typing import Any, Literal, NamedTuple

import pytest

from loopback import LoopbackServer, Received, VirtualClock, completion
from misjudge_storage.engine import Store, open_store
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest
from misjudge_tools.results import JudgeResult
from operations import TABLES, keyed, opened, pair_record, rows, stored, with_judge

KEY = "sk-canary-key-0123456789"
PROXY_USER = "canary-proxy"
ENVIRONMENT = {
    "TAOTOKEN_API_KEY": KEY,
    "OPENAI_API_KEY": "canary-openai",
    "OPENAI_ORG_ID": "canary-organisation",
    "SOME_SECRET": "canary-secret",
}
TENANT = "canary-tenant"
GATEWAY = f"{{server}}/{TENANT}/v1"
TASK = "canary-task"
SAID = ("canary-left", "canary-right")
REPLY = "canary-reply"
THOUGHT = "canary-thought"
ANSWERED = "canary-answered"
ECHO = " ".join((*ENVIRONMENT.values(), TASK, *SAID, ANSWERED))
"""What an error answer repeats."""

BELONGS = {
    "tasks.prompt": {TASK},
    "trajectories.messages_json": set(SAID),
    "judge_logs.raw_output": {REPLY},
    "judge_logs.parsed_json": {REPLY},
    "verdicts.reasons": {REPLY},
}
"""The canaries that a column may hold."""

HTML = f"<!doctype html><title>Welcome {ECHO}</title>"
VERDICT = json.dumps({"reasons": f"{REPLY} {KEY}", "score_a": 4, "score_b": 2, "winner": "A"})
PRICE = Price(input=1.0, output=2.0)
PRICED = 17e-6
"""USD for the 11 and 3 tokens of every reply that states them."""
ATTEMPT_S, CALL_S, CALLS_OF_A_CELL = 60.0, 180.0, 3
NEVER = math.inf
PACED = 60 / 36
"""Seconds to the next request once a 429 has halved the rate to 30 a minute, and a reply won 6 back."""
PLENTY = 40
"""More answers than any row takes, so that one attempt too many is seen."""


class Answer(NamedTuple):
    """One answer of the gateway; as it stands, a good verdict. `late`: seconds until it comes, or until the rest of
    it does (`cut="stall"`); NEVER is until the attempt is given up."""

    body: Any = completion(VERDICT)
    status: int = 200
    headers: Mapping[str, str] = {}
    cut: Literal["reset", "mid_body", "stall"] | None = None
    late: float = 0.0


class Fault(NamedTuple):
    """A row. After `answers` all is well.

    `errors`: of each attempt that is stored, in order. `cells`: what became of the orders AB and BA: scored, the
    reason why not, or None where no verdict is stored. `says`: a pattern in the reason of the run, which then failed;
    None: it is done. `took`: the least and most virtual seconds. `changed`: parameters of the last request that are
    not as in the first, None for one left out. `paths`: of the requests, where they tell.
    """

    name: str
    answers: Sequence[Answer]
    errors: Sequence[str | None]
    cells: tuple[str | None, str | None]
    says: str | None = None
    took: tuple[float, float] = (0.0, 0.0)
    changed: Mapping[str, Any] = {}
    paths: Sequence[str] | None = None
    address: str = GATEWAY


GOOD = Answer()
SCORED = ("scored", "scored")
FIRST_WAIT = (0.25, 0.5)
SIX_CALLS = (6 * 1.75, 6 * 3.5)
"""Two cells of three calls, each with waits of 0.25-0.5, 0.5-1 and 1-2 s between its four attempts."""


def failing(status: int, message: str = "", **error: Any) -> Answer:
    return Answer({"error": {"message": f"{message} {ECHO}", **error}}, status)


def passes(name: str, error: str, answer: Answer, took: tuple[float, float] = FIRST_WAIT) -> Fault:
    return Fault(f"{name}, then well", [answer], [error, None, None], SCORED, took=took)


def lost(name: str, error: str, attempts: int, says: str, answer: Answer, took: tuple[float, float]) -> Fault:
    """A fault for ever that is tried again: both cells are lost after three calls each."""
    gone = "timeout" if error == "CallTimeout" else "provider_error"
    said = f"^no call got a usable reply, the last one: .*{says}"
    return Fault(f"{name}, for ever", [answer] * PLENTY, [error] * attempts, (gone, gone), said, took)


def transient(name: str, error: str, says: str, answer: Answer) -> Iterator[Fault]:
    yield passes(name, error, answer)
    yield lost(name, error, 24, says, answer, SIX_CALLS)


def final(name: str, error: str, says: str, answer: Answer) -> Iterator[Fault]:
    """A fault of the request, which is not tried again but when the run is resumed."""
    gone, said = "provider_error", f"usable reply, the last one: .*{says}"
    yield Fault(f"{name}, then well", [answer], [error, None], (gone, "scored"), f"^1 call got no {said}")
    yield Fault(f"{name}, for ever", [answer] * PLENTY, [error] * 2, (gone, gone), f"^no call got a {said}")


def stops(name: str, error: str, says: str, answer: Answer, attempts: int = 1) -> Fault:
    """A fault that every cell would meet: it ends the run at once."""
    return Fault(name, [answer] * PLENTY, [error] * attempts, (None, None), says)


def refuses(name: str, says: str, answer: Answer) -> Iterator[Fault]:
    """The key or account is refused, from the start or after a reply."""
    yield stops(name, "AuthRefused", says, answer)
    yield Fault(f"{name}, after a reply", [GOOD, answer], [None, "AuthRefused"], ("scored", None), says)


def unscored(name: str, reason: str, answer: Answer, error: str | None = None) -> Iterator[Fault]:
    """What comes again however often it is asked, so that it is a result: the run is done."""
    yield Fault(f"{name}, then well", [answer], [error, None], (reason, "scored"))
    yield Fault(f"{name}, for ever", [answer] * PLENTY, [error] * 2, (reason, reason))


def cut(name: str, text: str | None) -> Iterator[Fault]:
    """A truncated reply is asked for once more, with four times the limit."""
    answer, larger = Answer(completion(text, finish_reason="length")), {"max_tokens": 4096}
    yield Fault(f"{name}, then whole", [answer], [None] * 3, SCORED)
    yield Fault(f"{name}, twice", [answer] * 2, [None] * 3, ("truncated", "scored"))
    yield Fault(f"{name}, for ever", [answer] * PLENTY, [None] * 4, ("truncated", "truncated"), changed=larger)
    refused = [answer, failing(400, "max_tokens is too large")]
    yield Fault(f"{name}, and more is refused", refused, [None, "RequestRefused", None], ("truncated", "scored"))


def adapting(parameter: str, message: str, changed: Mapping[str, Any], status: int = 400) -> Fault:
    """The one parameter is adapted, and the second cell asked so at once: the model is remembered."""
    refused = [failing(status, message)]
    return Fault(f"{status} for {parameter}", refused, ["RequestRefused", None, None], SCORED, changed=changed)


def other_form(given: str) -> Fault:
    """An address with or without /v1 that works in its other form, which the second cell is asked at."""
    fault = Fault(f"404 at an address that ends in {given}", [failing(404)], ["WrongAddress", None, None], SCORED)
    return fault._replace(address=f"{{server}}{given}", paths=[f"/{TENANT}/v1", f"/{TENANT}", f"/{TENANT}"])


def limited(**headers: str) -> Answer:
    return failing(429)._replace(headers={name.replace("_", "-"): value for name, value in headers.items()})


ADDRESS = "Set TAOTOKEN_BASE_URL"
REDIRECT = Answer(HTML, 302, {"Location": f"/login?{ANSWERED}"})
ELSEWHERE = Answer(HTML, 301, {"Location": f"https://h.invalid/?{ANSWERED}"})
SECONDS = limited(Retry_After="17")
DATE = limited(Retry_After="Fri, 15 Jan 2027 08:02:10 GMT", Date="Fri, 15 Jan 2027 08:00:00 GMT")
TOO_LONG = limited(Retry_After="600")
LONGER = "longer than the deadline of 180 s"
PAUSES = (5 * CALL_S, 5 * CALL_S)
TOLD = "limits the rate of requests .429.. Lower the concurrency"
PROXY = "The local proxy failed: HTTP_PROXY.* unset the variable, or set MISJUDGE_TRUST_ENV=0"
TIMED_OUT = "did not answer within [0-9.]+ s. Try again later, or allow more time"
LATE, STALLED = Answer(late=NEVER), Answer(late=NEVER, cut="stall")
UNMETERED = Answer({**completion(VERDICT), "usage": None})
AWAY = r"failed to answer \({}\). Try again later"
BROKE = "broke before its answer was whole. Try again later"

FAULTS: Sequence[Fault] = [
    Fault("no fault", [], [None, None], SCORED),
    *refuses("401", r"\(401\). Check that TAOTOKEN_API_KEY holds", failing(401)),
    *refuses("403", r"\(403\). Check which models the key may use", Answer(HTML, 403)),
    *refuses("402", "no credit left .* Top it up", failing(402)),
    *refuses("429 for want of credit", "no credit left .* Top it up", failing(429, code="insufficient_quota")),
    *refuses("401 with status 200", r"\(401\). Check that TAOTOKEN_API_KEY holds", failing(200, code=401)),
    stops("a web page", "WrongAddress", f"a web page. {ADDRESS}", Answer(HTML)),
    stops("a redirect to a web page", "WrongAddress", f"302 .* {ADDRESS}", REDIRECT),
    stops("a redirect to another host", "WrongAddress", f"301 .* {ADDRESS}", ELSEWHERE),
    stops("404 in both forms", "WrongAddress", rf"\(404\). {ADDRESS}", Answer(HTML, 404), attempts=2),
    stops("405", "WrongAddress", rf"\(405\). {ADDRESS}", failing(405)),
    stops("/v1/v1", "", f"twice, as in /v1/v1; keep one. {ADDRESS}", GOOD, attempts=0)._replace(
        address=f"{GATEWAY}/v1"
    ),
    other_form(f"/{TENANT}"),
    other_form(f"/{TENANT}/v1"),
    Fault(
        "a web page and a 404 after a reply",
        [GOOD, Answer(HTML), failing(404)],
        [None, "ProviderFailed", "ProviderFailed", None],
        SCORED,
        took=(0.75, 1.5),
    ),
    Fault(
        "web pages after a reply, for ever",
        [GOOD, *[Answer(HTML)] * PLENTY],
        [None, *["ProviderFailed"] * 12],
        ("scored", "provider_error"),
        "^1 call got no usable reply, the last one: .*has answered before.* Try again later",
        (SIX_CALLS[0] / 2, SIX_CALLS[1] / 2),
    ),
    *final("400", "RequestRefused", r"\(400\). Check the model name and its parameters", failing(400)),
    stops("an unknown model", "ModelNotOffered", "does not offer this model .*spelling", failing(404, "Unknown model")),
    *unscored("413", "context_overflow", failing(413), "ContextOverflow"),
    *unscored("400 for the length", "context_overflow", failing(400, "maximum context length"), "ContextOverflow"),
    adapting("temperature", "Unsupported value: 'temperature' does not support 0.0", {"temperature": None}),
    adapting(
        "max_tokens",
        "'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
        {"max_tokens": None, "max_completion_tokens": 1024},
    ),
    adapting("response_format", "This response_format type is unavailable now", {"response_format": "json_object"}),
    adapting("json_schema", "json_schema is not supported", {"response_format": "json_object"}, 422),
    Fault(
        "400 for the schema, then for JSON too",
        [failing(400, "no json_schema"), failing(400, "no response_format")],
        ["RequestRefused", "RequestRefused", None, None],
        SCORED,
        changed={"response_format": None},
    ),
    Fault(
        "400 for whatever is sent, for ever",
        [failing(400, "no temperature, max_tokens, max_completion_tokens, response_format")] * PLENTY,
        ["RequestRefused"] * 7,
        ("provider_error", "provider_error"),
        r"^no call got .*\(400\). Check the model name and its parameters",
        changed={"temperature": None, "max_tokens": None, "response_format": None},
    ),
    *transient("407", "Unreachable", "The local proxy failed", failing(407)),
    *transient("408", "CallTimeout", r"\(408\). Try again later", failing(408)),
    *transient("409", "ProviderFailed", AWAY.format(409), failing(409)),
    *transient("425", "ProviderFailed", AWAY.format(425), failing(425)),
    *transient("500", "ProviderFailed", AWAY.format(500), failing(500)),
    *transient("502", "ProviderFailed", AWAY.format(502), Answer(HTML, 502)),
    *transient("503", "ProviderFailed", AWAY.format(503), failing(503)),
    *transient("504", "ProviderFailed", AWAY.format(504), Answer("", 504)),
    *transient("529", "ProviderFailed", AWAY.format(529), failing(529)),
    *transient("an error with 200", "ProviderFailed", "an error in place of a reply", failing(200)),
    *transient("junk for JSON", "ProviderFailed", "not JSON. Try again later", Answer(f"{{choices: {ECHO}")),
    *transient("choices missing", "ProviderFailed", "no choices. Try again later", Answer({"object": ECHO})),
    *transient("choices null", "ProviderFailed", "no choices", Answer({"choices": None, "note": ECHO})),
    *transient("choices empty", "ProviderFailed", "no choices", Answer({"choices": [], "note": ECHO})),
    *transient("a reset before the body", "Unreachable", BROKE, Answer(cut="reset")),
    *transient("a reset inside the body", "Unreachable", BROKE, Answer(cut="mid_body")),
    *transient("broken compression", "Unreachable", BROKE, Answer(ECHO.encode(), headers={"Content-Encoding": "gzip"})),
    lost("a dead proxy", "Unreachable", 24, PROXY, GOOD, SIX_CALLS)._replace(address="http://gateway.invalid/api"),
    passes("429", "RateLimited", limited(), (0.25 + PACED, 0.5 + PACED)),
    # The rate halves at each: they come 0.25-0.5 s apart, then 4, then 8, then 10, the lowest.
    lost("429", "RateLimited", 24, TOLD, limited(), (212.25, 212.5)),
    passes("429 with Retry-After in seconds", "RateLimited", SECONDS, (17 + PACED, 17 + PACED)),
    lost("429 with Retry-After in seconds", "RateLimited", 24, TOLD, SECONDS, (23 * 17, 23 * 17)),
    passes("429 with Retry-After as a date", "RateLimited", DATE, (130 + PACED, 130 + PACED)),
    lost("429 with Retry-After as a date", "RateLimited", 12, f"{TOLD}.* wait 130 s, {LONGER}", DATE, (1430, 1430)),
    # The call ends at once, the other cell waits for as long as a call may take, then the first is asked again.
    passes("429 with Retry-After beyond the deadline", "RateLimited", TOO_LONG, (CALL_S + PACED, CALL_S + PACED)),
    lost(
        "429 with Retry-After beyond the deadline", "RateLimited", 6, f"{TOLD}.* wait 600 s, {LONGER}", TOO_LONG, PAUSES
    ),
    passes("503 with Retry-After zero", "ProviderFailed", failing(503)._replace(headers={"Retry-After": "0"})),
    Fault("a slow first byte in time", [Answer(late=59)], [None, None], SCORED, took=(59, 59)),
    Fault("a slow stream in time", [Answer(late=59, cut="stall")], [None, None], SCORED, took=(59, 59)),
    passes("a slow first byte", "CallTimeout", LATE, (60.25, 60.5)),
    lost("a slow first byte", "CallTimeout", 18, TIMED_OUT, LATE, (6 * CALL_S, 6 * CALL_S)),
    passes("a stalled stream", "CallTimeout", STALLED, (60.25, 60.5)),
    lost("a stalled stream", "CallTimeout", 18, TIMED_OUT, STALLED, (6 * CALL_S, 6 * CALL_S)),
    Fault(
        "failing in four ways, then well",
        [failing(500), Answer(cut="reset"), Answer("{"), failing(408)],
        ["ProviderFailed", "Unreachable", "ProviderFailed", "CallTimeout", None, None],
        SCORED,
        took=(1.75, 3.5),
    ),
    *cut("cut at the limit", VERDICT[:30]),
    *cut("cut before the first word", None),
    *unscored("a refusal", "refused", Answer(completion(None, refusal=f"{REPLY}: I will not."))),
    *unscored("a filtered reply", "refused", Answer(completion(REPLY, finish_reason="content_filter"))),
    *unscored("a filtered prompt", "refused", failing(400, code="content_filter")),
    *unscored("nothing but reasoning", "parse_error", Answer(completion(None, reasoning_content=THOUGHT))),
    Fault("reasoning beside the reply", [Answer(completion(VERDICT, reasoning_content=THOUGHT))], [None, None], SCORED),
    Fault("usage missing", [UNMETERED], [None, None], SCORED),
    Fault("usage missing, for ever", [UNMETERED] * PLENTY, [None, None], SCORED),
    passes("the key as request id", "ProviderFailed", failing(503)._replace(headers={"X-Request-Id": f"of {KEY}"})),
]


class _Clock(VirtualClock):
    """Knows when what is under way will be given up."""

    def __init__(self) -> None:
        super().__init__()
        self.began = self.now()
        self.limit = 0.0

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        self.limit = self.now() + seconds
        async with super().within(seconds):
            yield


@pytest.fixture(scope="module")
def one_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the pair, for copies."""
    path = tmp_path_factory.mktemp("matrix") / "s.db"
    store = open_store(path)
    stored(store, [pair_record("p", TASK, SAID, "A")])
    store.close()
    return path


@pytest.fixture
def dead_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment: canaries, and a proxy at a port that refuses connections."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://{PROXY_USER}:canary-password@127.0.0.1:{bound.getsockname()[1]}")
        yield


@pytest.fixture
def everything_logged(logged: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    # At DEBUG it logs the rows that a query finds; nothing but an explicit wish brings it there.
    logged.set_level(logging.INFO, logger="sqlalchemy.engine")
    # After it, since the level of the last is also that of all that is caught.
    for library in ("openai", "openai._base_client", "httpx2", "httpcore2", "aiohttp", "asyncio"):
        logged.set_level(logging.DEBUG, logger=library)
    return logged


# openai hands aiohttp the login of a proxy in a form that aiohttp wants no more.
@pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The 'proxy_auth' parameter is deprecated:DeprecationWarning")
@pytest.mark.usefixtures("dead_proxy")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_costs_bounded_attempts_and_time_and_is_stored_without_a_leak(
    fault: Fault, one_pair: Path, tmp_path: Path, everything_logged: pytest.LogCaptureFixture
) -> None:
    clock = _Clock()
    copy2(one_pair, tmp_path)
    async with LoopbackServer() as server:
        models = keyed(fault.address.format(server=server.base_url.removesuffix("/v1")), KEY)
        async with opened(tmp_path / "s.db", with_judge(models, price=PRICE), concurrency=1, clock=clock) as deps:
            answers = [*fault.answers, *[GOOD] * PLENTY]
            gates = _enqueue(server, answers)
            passing = asyncio.create_task(_pass_time(server, clock, answers, gates))
            result = await judge(JudgeRequest(audit="a"), deps)
            passing.cancel()
            took = clock.now() - clock.began
            logs = rows(deps.store, "SELECT * FROM judge_logs ORDER BY rowid")
            _check_attempts(fault, logs, server.requests, answers)
            _check_verdicts(fault, deps.store, logs)
            _check_run(fault, deps.store, result)
            _check_store(deps.store)
    low, high = fault.took
    assert low - 1e-3 <= took <= high + 1e-3
    _check_logs(everything_logged)
    kept = (tmp_path / "s.db").read_bytes().decode("latin-1")
    assert not [one for one in (*ENVIRONMENT.values(), PROXY_USER, TENANT, ANSWERED, THOUGHT) if one in kept]


def _enqueue(server: LoopbackServer, answers: Sequence[Answer]) -> list[asyncio.Event]:
    """The gates of the answers that are late."""
    gates = [asyncio.Event() for _ in answers]
    for number, (answer, gate) in enumerate(zip(answers, gates, strict=True), 1):
        usual = {"X-Request-Id": f"req-{number}", "X-Note": ECHO, "Set-Cookie": f"session={ANSWERED}"}
        headers, hold = {**usual, **answer.headers}, gate if answer.late else None
        server.enqueue(answer.body, status=answer.status, headers=headers, hold=hold, cut=answer.cut)
    return gates


async def _pass_time(
    server: LoopbackServer, clock: _Clock, answers: Sequence[Answer], gates: Sequence[asyncio.Event]
) -> None:
    for number, (answer, gate) in enumerate(zip(answers, gates, strict=True), 1):
        await server.received(number)
        if not answer.late:
            continue
        for _ in range(20):  # so that a stalled answer has begun
            await asyncio.sleep(0)
        clock.advance(min(answer.late, clock.limit - clock.now()))
        if answer.late < NEVER:
            gate.set()


def _check_attempts(
    fault: Fault, logs: Sequence[dict[str, Any]], requests: Sequence[Received], answers: Sequence[Answer]
) -> None:
    assert [log["error"] for log in logs] == list(fault.errors)
    assert len(requests) == (0 if "invalid" in fault.address else len(logs))
    for number, (log, request, answer) in enumerate(zip(logs, requests, answers, strict=False), 1):
        assert json.loads(log["params"]) == _params(request)
        answered = (log["error"] != "Unreachable" or answer.status == 407) and answer.late < NEVER
        wanted = answer.headers.get("X-Request-Id", f"req-{number}").replace(KEY, "[key removed]")
        assert log["request_id"] == (wanted if answered else None)
        stated = log["error"] is None and answer.status == 200 and answer.body["usage"] is not None
        assert log["est_cost"] == (pytest.approx(PRICED) if stated else None)
        assert log["price_source"] == (PRICE.source if log["error"] is None else None)
        told_to_wait = answered and log["error"] is not None and "Retry-After" in answer.headers
        assert (log["retry_after_s"] is not None) == told_to_wait
    assert all(0 <= log["latency_ms"] <= ATTEMPT_S * 1000 for log in logs)
    sent = [json.loads(log["params"]) for log in logs]
    assert all(params["model"] == "judge-m" for params in sent)
    if sent:
        assert {name: value for name, value in {**sent[0], **fault.changed}.items() if value is not None} == sent[-1]
    if fault.paths is not None:
        assert [request.path.removesuffix("/chat/completions") for request in requests] == fault.paths
    _check_numbers(logs)


def _params(request: Received) -> dict[str, Any]:
    """The parameters that were really sent, as a log states them."""
    params = {name: value for name, value in request.body.items() if name != "messages"}
    form = params.get("response_format")
    return params if form is None else {**params, "response_format": form["type"]}


def _check_numbers(logs: Sequence[dict[str, Any]]) -> None:
    """Attempts count up from 1 within a call, and a cell takes three calls at most."""
    for order in ("AB", "BA"):
        numbers = [log["attempt"] for log in logs if log["order_shown"] == order]
        assert all(number in {1, before + 1} for before, number in zip([0, *numbers], numbers, strict=False))
        assert numbers.count(1) <= CALLS_OF_A_CELL


def _check_verdicts(fault: Fault, store: Store, logs: Sequence[dict[str, Any]]) -> None:
    verdicts = rows(store, "SELECT * FROM verdicts ORDER BY order_shown")
    wanted = [(order, became) for order, became in zip(("AB", "BA"), fault.cells, strict=True) if became is not None]
    assert [verdict["order_shown"] for verdict in verdicts] == [order for order, _ in wanted]
    for verdict, (order, became) in zip(verdicts, wanted, strict=True):
        last = [log for log in logs if log["order_shown"] == order][-1]
        reason = None if became == "scored" else became
        assert (verdict["log_id"], last["unscored_reason"]) == (last["log_id"], reason)
        stated = (verdict["status"], verdict["winner"], verdict["unscored_reason"])
        assert stated == (("scored", order[0], None) if reason is None else ("unscored", None, reason))
        assert (last["reply_key"] is None) == (reason is not None), "nothing else may be served again"
    assert sum(log["reply_key"] is not None for log in logs) == fault.cells.count("scored")


def _check_run(fault: Fault, store: Store, result: JudgeResult) -> None:
    (run,) = rows(store, "SELECT state, reason FROM runs")
    done = fault.says is None
    assert (run["state"], result.run.state) == (("done",) * 2 if done else ("failed",) * 2)
    assert result.run.done == (2 if done else fault.cells.count("scored"))
    assert result.run.reason == run["reason"]
    assert run["reason"] is None if fault.says is None else re.search(fault.says, run["reason"])
    events = rows(store, "SELECT event, detail FROM run_events")
    assert (events[-1]["event"], events[-1]["detail"]) == (run["state"], run["reason"] or "")
    told = {seen.error: seen.attempts for seen in result.run.errors}
    assert told == Counter(error for error in fault.errors if error is not None)
    # Where it asked, it says on purpose, for the person who configured that.
    assert "canary" not in f"{run} {events} {result.model_dump_json(exclude={'asked_at'})}"


def _check_store(store: Store) -> None:
    everywhere = set()
    for table in TABLES:
        for row in rows(store, f"SELECT * FROM {table}"):
            for column, value in row.items():
                found = set(re.findall(r"canary-[a-z]+", str(value)))
                assert found <= BELONGS.get(f"{table}.{column}", set()), f"{table}.{column}"
                everywhere |= found
    assert everywhere >= {TASK, *SAID}


def _check_logs(logged: pytest.LogCaptureFixture) -> None:
    assert {"misjudge_tools", "sqlalchemy"} <= {record.name.partition(".")[0] for record in logged.records}
    for record in logged.records:
        assert "canary" not in record.getMessage() + repr(record.__dict__), record.name
    assert "canary" not in logged.text
