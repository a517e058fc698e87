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
    address: str = f"{{server}}/{TENANT}/v1"


GOOD = Answer()
SCORED = ("scored", "scored")
FIRST_WAIT = (0.25, 0.5)
SIX_CALLS = (6 * 1.75, 6 * 3.5)
"""Two cells of three calls, each with waits of 0.25-0.5, 0.5-1 and 1-2 s between its four attempts."""


def failing(status: int, message: str = "", **error: Any) -> Answer:
    return Answer({"error": {"message": f"{message} {ECHO}", **error}}, status)


def passes(name: str, error: str, answer: Answer, took: tuple[float, float] = FIRST_WAIT) -> Fault:
    return Fault(f"{name}, then well", [answer], [error, None, None], SCORED, took=took)


def transient(name: str, error: str, says: str, answer: Answer) -> Iterator[Fault]:
    """A fault that is tried again: once, and for ever, when both cells are lost after three calls of four attempts."""
    lost = "timeout" if error == "CallTimeout" else "provider_error"
    reason = rf"^2 calls got no usable reply, the last one: .*{says}"
    yield passes(name, error, answer)
    yield Fault(f"{name}, for ever", [answer] * PLENTY, [error] * 24, (lost, lost), reason, SIX_CALLS)


def final(name: str, error: str, says: str, answer: Answer) -> Iterator[Fault]:
    """A fault of the request, which is not tried again but when the run is resumed."""
    lost, reason = "provider_error", "calls got no usable reply, the last one: .*"
    yield Fault(f"{name}, then well", [answer], [error, None], (lost, "scored"), f"^1 {reason}{says}")
    yield Fault(f"{name}, for ever", [answer] * PLENTY, [error] * 2, (lost, lost), f"^2 {reason}{says}")


def stopping(name: str, error: str, says: str, answer: Answer) -> Iterator[Fault]:
    """A fault that every cell would meet: it ends the run at once, whether or not a cell was scored before."""
    yield Fault(name, [answer] * PLENTY, [error], (None, None), says)
    yield Fault(f"{name}, after a reply", [GOOD, *[answer] * PLENTY], [None, error], ("scored", None), says)


def unscored(name: str, reason: str, answer: Answer, error: str | None = None, attempts: int = 1) -> Iterator[Fault]:
    """What comes again however often it is asked, so that it is a result: the run is done."""
    seen, took = [error] * attempts, (0.0, 0.0)
    yield Fault(f"{name}, then well", [answer] * attempts, [*seen, None], (reason, "scored"), took=took)
    larger = {"max_tokens": 4096} if attempts == 2 else {}
    yield Fault(f"{name}, for ever", [answer] * PLENTY, seen * 2, (reason, reason), took=took, changed=larger)


def adapting(parameter: str, message: str, changed: Mapping[str, Any], status: int = 400) -> Fault:
    """The one parameter is adapted, and the second cell asked so at once: the model is remembered."""
    refused = [failing(status, message)]
    return Fault(f"{status} for {parameter}", refused, ["RequestRefused", None, None], SCORED, changed=changed)


def other_form(address: str) -> Fault:
    paths = [f"/{TENANT}/v1", f"/{TENANT}", f"/{TENANT}"]
    errors = ["WrongAddress", None, None]
    return Fault(
        f"404 at {address}", [failing(404)], errors, SCORED, paths=paths, address=f"{{server}}/{TENANT}{address}"
    )


def limited(**headers: str) -> Answer:
    return failing(429)._replace(headers={name.replace("_", "-"): value for name, value in headers.items()})


SECONDS = limited(Retry_After="17")
DATE = limited(Retry_After="Fri, 15 Jan 2027 08:02:10 GMT", Date="Fri, 15 Jan 2027 08:00:00 GMT")
TOO_LONG = limited(Retry_After="600")
TOLD = "limits the rate of requests .429.. Lower the concurrency"
LOST_CALLS = "^2 calls got no usable reply, the last one: .*"
CUT = Answer(completion(VERDICT[:30], finish_reason="length"))
EMPTY_CUT = Answer(completion(None, finish_reason="length"))
UNMETERED = Answer({**completion(VERDICT), "usage": None})
AWAY = r"failed to answer \({}\). Try again later"
BROKE = "broke before its answer was whole. Try again later"

FAULTS: Sequence[Fault] = [
    Fault("no fault", [], [None, None], SCORED),
    *stopping("401", "AuthRefused", r"\(401\). Check that TAOTOKEN_API_KEY holds", failing(401)),
    *stopping("403", "AuthRefused", r"\(403\). Check which models the key may use", Answer(HTML, 403)),
    *stopping("402", "AuthRefused", "no credit left .* Top it up", failing(402)),
    *stopping("429 for want of credit", "AuthRefused", "Top it up", failing(429, code="insufficient_quota")),
    *stopping("401 with status 200", "AuthRefused", "TAOTOKEN_API_KEY", failing(200, code=401)),
    Fault("a web page", [Answer(HTML)] * PLENTY, ["WrongAddress"], (None, None), "web page. Set TAOTOKEN_BASE_URL"),
    passes("a web page after a reply", "ProviderFailed", Answer(HTML))._replace(
        answers=[GOOD, Answer(HTML)], errors=[None, "ProviderFailed", None]
    ),
    Fault(
        "web pages after a reply, for ever",
        [GOOD, *[Answer(HTML)] * PLENTY],
        [None, *["ProviderFailed"] * 12],
        ("scored", "provider_error"),
        "^1 calls got no usable reply, the last one: .*has answered before.* Try again later",
        (SIX_CALLS[0] / 2, SIX_CALLS[1] / 2),
    ),
    Fault(
        "a redirect to a web page",
        [Answer(HTML, 302, {"Location": f"/login?{ANSWERED}"})] * PLENTY,
        ["WrongAddress"],
        (None, None),
        "status 302 .* Set TAOTOKEN_BASE_URL",
    ),
    Fault(
        "a redirect to another host",
        [Answer(HTML, 301, {"Location": f"https://h.invalid/?{ANSWERED}"})] * PLENTY,
        ["WrongAddress"],
        (None, None),
        "status 301 .* Set TAOTOKEN_BASE_URL",
    ),
    other_form(""),
    other_form("/v1"),
    Fault(
        "404 in both forms",
        [Answer(HTML, 404)] * PLENTY,
        ["WrongAddress"] * 2,
        (None, None),
        r"base URL \(404\). Set TAOTOKEN_BASE_URL",
    ),
    Fault("405", [failing(405)] * PLENTY, ["WrongAddress"], (None, None), r"\(405\). Set TAOTOKEN_BASE_URL"),
    Fault(
        "/v1/v1",
        [],
        [],
        (None, None),
        "a version twice, as in /v1/v1; keep one. Set TAOTOKEN_BASE_URL",
        address=f"{{server}}/{TENANT}/v1/v1",
    ),
    *final("400", "RequestRefused", r"\(400\). Check the model name and its parameters", failing(400)),
    *final("an unknown model", "RequestRefused", "does not offer this model .*spelling", failing(404, "Unknown model")),
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
        ("provider_error",) * 2,
        LOST_CALLS + r"\(400\). Check the model name and its parameters",
        changed={"temperature": None, "max_tokens": None, "response_format": None},
    ),
    *transient("408", "CallTimeout", r"\(408\). Try again later", failing(408)),
    *transient("409", "ProviderFailed", AWAY.format(409), failing(409)),
    *transient("425", "ProviderFailed", AWAY.format(425), failing(425)),
    *transient("500", "ProviderFailed", AWAY.format(500), failing(500)),
    *transient("502", "ProviderFailed", AWAY.format(502), Answer(HTML, 502)),
    *transient("503", "ProviderFailed", AWAY.format(503), failing(503)),
    *transient("504", "ProviderFailed", AWAY.format(504), Answer("", 504)),
    *transient("529", "ProviderFailed", AWAY.format(529), failing(529)),
    *[
        passes(str(status), "ProviderFailed", failing(status))
        for status in range(501, 529)
        if status not in {502, 503, 504}
    ],
    *transient("an error with 200", "ProviderFailed", "an error in place of a reply", failing(200)),
    *transient("junk for JSON", "ProviderFailed", "not JSON. Try again later", Answer(f"{{choices: {ECHO}")),
    *transient("choices missing", "ProviderFailed", "no choices. Try again later", Answer({"object": ECHO})),
    *transient("choices null", "ProviderFailed", "no choices", Answer({"choices": None, "note": ECHO})),
    *transient("choices empty", "ProviderFailed", "no choices", Answer({"choices": [], "note": ECHO})),
    *transient("a reset before the body", "Unreachable", BROKE, Answer(cut="reset")),
    *transient("a reset inside the body", "Unreachable", BROKE, Answer(cut="mid_body")),
    *transient(
        "broken compression", "Unreachable", BROKE, Answer(ECHO.encode(), headers={"Content-Encoding": "gzip"})
    ),
    Fault(
        "a dead proxy, for ever",
        [],
        ["Unreachable"] * 24,
        ("provider_error",) * 2,
        LOST_CALLS + "The local proxy failed: HTTP_PROXY.*unset the variable, or set MISJUDGE_TRUST_ENV=0",
        SIX_CALLS,
        address="http://gateway.invalid/api",
    ),
    passes("429", "RateLimited", limited()),
    # The rate halves at each: 4 s apart, then 8, then the lowest, 10.
    Fault(
        "429, for ever", [limited()] * PLENTY, ["RateLimited"] * 24, ("provider_error",) * 2, LOST_CALLS + TOLD, (212.2, 212.6)
    ),
    passes("429 with Retry-After in seconds", "RateLimited", SECONDS, (17, 17)),
    Fault(
        "429 with Retry-After in seconds, for ever",
        [SECONDS] * PLENTY,
        ["RateLimited"] * 24,
        ("provider_error",) * 2,
        LOST_CALLS + TOLD,
        (23 * 17, 23 * 17),
    ),
    passes("429 with Retry-After as a date", "RateLimited", DATE, (130, 130)),
    Fault(
        "429 with Retry-After as a date, for ever",
        [DATE] * PLENTY,
        ["RateLimited"] * 12,
        ("provider_error",) * 2,
        LOST_CALLS + TOLD + ".*asks to wait 130 s, longer than the deadline of 180 s",
        (11 * 130, 11 * 130),
    ),
    Fault("429 with Retry-After beyond the deadline, then well", [TOO_LONG], ["RateLimited", None, None], SCORED, None, (180, 182)),
    Fault(
        "429 with Retry-After beyond the deadline, for ever",
        [TOO_LONG] * PLENTY,
        ["RateLimited"] * 6,
        ("provider_error",) * 2,
        LOST_CALLS + TOLD + ".*asks to wait 600 s, longer than the deadline of 180 s",
        (5 * CALL_S, 5 * CALL_S),
    ),
    passes("503 with Retry-After zero", "ProviderFailed", failing(503)._replace(headers={"Retry-After": "0"})),
    Fault("a slow first byte in time", [Answer(late=59)], [None, None], SCORED, None, (59, 59)),
    passes("a slow first byte", "CallTimeout", Answer(late=NEVER), (60.25, 60.5)),
    passes("a stalled stream", "CallTimeout", Answer(late=NEVER, cut="stall"), (60.25, 60.5)),
    *[
        Fault(
            f"{name}, for ever",
            [answer] * PLENTY,
            ["CallTimeout"] * 18,
            ("timeout",) * 2,
            LOST_CALLS + "did not answer within [0-9.]+ s. Try again later, or allow more time",
            (6 * CALL_S, 6 * CALL_S),
        )
        for name, answer in (
            ("a slow first byte", Answer(late=NEVER)),
            ("a stalled stream", Answer(late=NEVER, cut="stall")),
        )
    ],
    Fault(
        "failing in four ways, then well",
        [failing(500), Answer(cut="reset"), Answer("{"), failing(408)],
        ["ProviderFailed", "Unreachable", "ProviderFailed", "CallTimeout", None, None],
        SCORED,
        None,
        (1.75, 3.5),
    ),
    Fault("cut at the limit, then whole", [CUT], [None, None, None], SCORED),
    *unscored("cut at four times the limit too", "truncated", CUT, attempts=2),
    Fault("cut before its first word, then whole", [EMPTY_CUT], [None, None, None], SCORED),
    *unscored("cut before its first word", "truncated", EMPTY_CUT, attempts=2),
    Fault(
        "cut at the limit, and more is refused",
        [CUT, failing(400, "max_tokens is too large")],
        [None, "RequestRefused", None],
        ("truncated", "scored"),
    ),
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
    for library in ("openai", "openai._base_client", "httpx2", "httpcore2", "aiohttp", "asyncio"):
        logged.set_level(logging.DEBUG, logger=library)
    # At DEBUG it logs the rows that a query finds; nothing but an explicit wish brings it there.
    logged.set_level(logging.INFO, logger="sqlalchemy.engine")
    return logged


@pytest.mark.usefixtures("dead_proxy")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_costs_bounded_attempts_and_time_is_stored_as_it_was_and_shows_nothing_secret(
    fault: Fault, one_pair: Path, tmp_path: Path, everything_logged: pytest.LogCaptureFixture
) -> None:
    clock = _Clock()
    copy2(one_pair, tmp_path)
    async with LoopbackServer() as server:
        models = keyed(fault.address.format(server=server.base_url.removesuffix("/v1")), KEY)
        async with opened(tmp_path / "s.db", with_judge(models, price=PRICE), concurrency=1, clock=clock) as deps:
            answers = [*fault.answers, *[GOOD] * PLENTY]
            held = _enqueue(server, answers)
            passing = asyncio.create_task(_pass_time(server, clock, answers, held))
            result = await judge(JudgeRequest(audit="a"), deps)
            passing.cancel()
            took = clock.now() - clock.began
            print("REASON", result.run.reason)
            logs = rows(deps.store, "SELECT * FROM judge_logs ORDER BY rowid")
            _check_attempts(fault, logs, server.requests, answers)
            _check_verdicts(fault, deps.store, logs)
            _check_run(fault, deps.store, result)
            _check_store(deps.store)
    low, high = fault.took
    assert low - 1e-3 <= took <= high + 1e-3
    _check_logs(everything_logged)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes(), file.name


def _enqueue(server: LoopbackServer, answers: Sequence[Answer]) -> list[asyncio.Event]:
    """The gates of the answers that are late."""
    gates = [asyncio.Event() for _ in answers]
    for number, (answer, gate) in enumerate(zip(answers, gates, strict=True), 1):
        headers = {"X-Request-Id": f"req-{number}", "X-Note": ECHO, "Set-Cookie": f"session={ANSWERED}"}
        server.enqueue(
            answer.body,
            status=answer.status,
            headers={**headers, **answer.headers},
            hold=gate if answer.late else None,
            cut=answer.cut,
        )
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
        answered = log["error"] != "Unreachable" and answer.late < NEVER
        wanted = answer.headers.get("X-Request-Id", f"req-{number}").replace(KEY, "[key removed]")
        assert log["request_id"] == (wanted if answered else None)
        stated = log["error"] is None and answer.status == 200 and answer.body["usage"] is not None
        assert log["est_cost"] == (pytest.approx(PRICED) if stated else None)
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
    found = {verdict["order_shown"]: verdict for verdict in rows(store, "SELECT * FROM verdicts")}
    wanted = {order: became for order, became in zip(("AB", "BA"), fault.cells, strict=True) if became is not None}
    assert found.keys() == wanted.keys()
    for order, became in wanted.items():
        verdict, last = found[order], [log for log in logs if log["order_shown"] == order][-1]
        scored = became == "scored"
        stated = [verdict[name] for name in ("status", "winner", "unscored_reason", "log_id")]
        reason = None if scored else became
        assert stated == ["scored" if scored else "unscored", order[0] if scored else None, reason, last["log_id"]]
        assert last["unscored_reason"] == reason
        assert (last["reply_key"] is not None) == scored, "nothing else may be served again"
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
    assert "sqlalchemy.engine.Engine" in {record.name for record in logged.records}
    for record in logged.records:
        assert "canary" not in record.getMessage() + repr(record.__dict__), record.name
    assert "canary" not in logged.text
