"""A judge behind a bad connection: each request is answered, or meets a fault, by its content and a seed alone.

    python tests/fault_server.py --seed 1 --latency 0.2 --limited 0.05

prints its addresses as one line of JSON and serves until its input ends. Asked under `control_url`, GET /counts
says what happened so far, POST /down (or /down?refuse=1) begins an outage and POST /up ends it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from types import TracebackType
from typing import Any, Literal, NamedTuple, get_args

from aiohttp import web
from pydantic import TypeAdapter

from loopback import completion
from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Value
from misjudge_tools.gateway.calls import ChatTurn
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.gateway.simulated_judge import simulated_reply

Fault = Literal["limited", "failed", "reset", "stalled", "garbage"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
MOST_IN_A_ROW = 3
"""Faults that one prompt meets in a row: a client that tries four times gets its reply."""
LIMIT_S = 120.0
_TURNS = TypeAdapter(tuple[ChatTurn, ...])
_HTML = "<!doctype html><title>Welcome</title>"
_GARBAGE: tuple[str | dict[str, Any], ...] = (
    _HTML,
    '{"choices": [{"message": {"content": "{',
    {"id": "chatcmpl-1", "choices": []},
    {"error": {"message": "upstream hiccup"}},
)


class Rates(NamedTuple):
    """The share of requests that meet each fault: a 429 (every other one with Retry-After 0 or 1), a status of
    500 to 529, a connection that breaks before or within the body, a body that never comes, and a 200 that is
    no chat completion."""

    limited: float = 0.05
    failed: float = 0.03
    reset: float = 0.02
    stalled: float = 0.01
    garbage: float = 0.01


USUAL = Rates()
NO_FAULTS = Rates(0, 0, 0, 0, 0)


class Counts(Value):
    """What happened so far. `asked` and `billed` (a 200 with a reply, also when its client was gone by then) are by
    prompt: the hash that judge_logs hold as rendered_hash. `refused`: requests during an outage."""

    requests: int
    faults: dict[Fault, int]
    refused: int
    asked: dict[str, int]
    billed: dict[str, int]
    most_at_once: int

    @property
    def replies(self) -> int:
        """How many replies were billed in all."""
        return sum(self.billed.values())


class FaultServer:
    """Serves chat completions on 127.0.0.1 while its context is open. While `gate` is not set it holds its answers.

    The reply is that of the simulated judge, which knows no truth here. `latency_s` is added to every answer.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        rates: Rates = USUAL,
        bias: SimulatedBias | None = None,
        latency_s: float = 0.0,
    ) -> None:
        self.base_url = ""
        self.control_url = ""
        self.gate = asyncio.Event()
        self.gate.set()
        self._seed = seed
        self._rates = rates
        self._bias = bias or SimulatedBias()
        self._latency_s = latency_s
        self._asked: Counter[str] = Counter()
        self._billed: Counter[str] = Counter()
        self._in_a_row: Counter[str] = Counter()
        self._faults: Counter[Fault] = Counter()
        self._refused = self._at_once = self._most_at_once = 0
        self._outage: Literal["answering", "refusing"] | None = None
        self._arrived = asyncio.Condition()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None

    def counts(self) -> Counts:
        """What happened so far."""
        return Counts(
            requests=self._asked.total(),
            faults=dict(self._faults),
            refused=self._refused,
            asked=dict(self._asked),
            billed=dict(self._billed),
            most_at_once=self._most_at_once,
        )

    async def received(self, number: int) -> None:
        """Wait until this many requests came in all, those of an outage left out."""
        async with asyncio.timeout(LIMIT_S), self._arrived:
            await self._arrived.wait_for(lambda: self._asked.total() >= number)

    async def down(self, *, refuse: bool = False) -> None:
        """Begin an outage: every request gets a 503, or (`refuse`) no connection."""
        self._outage = "refusing" if refuse else "answering"
        if refuse and self._site is not None:
            await self._site.stop()
            self._site = None

    async def up(self) -> None:
        """End the outage."""
        self._outage = None
        if self._site is None:
            await self._listen(int(self.base_url.rsplit(":")[-1].split("/")[0]))

    async def __aenter__(self) -> FaultServer:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/counts", self._tell)
        app.router.add_post("/down", self._begin_outage)
        app.router.add_post("/up", self._end_outage)
        # A client that gives up ends its stalled answer.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
        await self._runner.setup()
        await self._listen(0)
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        answers, controls = (f"http://127.0.0.1:{address[1]}" for address in self._runner.addresses)
        self.base_url, self.control_url = f"{answers}/v1", controls
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self.gate.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _listen(self, port: int) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, "127.0.0.1", port)
        await self._site.start()

    async def _tell(self, _: web.Request) -> web.Response:
        return web.Response(text=self.counts().model_dump_json(), content_type="application/json")

    async def _begin_outage(self, request: web.Request) -> web.Response:
        await self.down(refuse=bool(request.query.get("refuse")))
        return web.Response(status=204)

    async def _end_outage(self, _: web.Request) -> web.Response:
        await self.up()
        return web.Response(status=204)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self._outage is not None:
            self._refused += 1
            if self._outage == "refusing":
                _reset(request)
            return web.json_response({"error": {"message": "down for maintenance"}}, status=503)
        turns = _TURNS.validate_python(body["messages"])
        self._at_once += 1
        self._most_at_once = max(self._most_at_once, self._at_once)
        try:
            draw = await self._note(template_hash("\n".join(turn.content for turn in turns)))
            await self.gate.wait()
            await asyncio.sleep(self._latency_s)
            return await self._answer(request, body["model"], turns, draw)
        finally:
            self._at_once -= 1

    async def _note(self, prompt: str) -> _Draw:
        async with self._arrived:
            self._asked[prompt] += 1
            draw = self._draw(prompt, self._asked[prompt])
            self._in_a_row[prompt] = 0 if draw.fault is None else self._in_a_row[prompt] + 1
            if draw.fault is None:
                self._billed[prompt] += 1
            else:
                self._faults[draw.fault] += 1
            self._arrived.notify_all()
        return draw

    def _draw(self, prompt: str, time: int) -> _Draw:
        share, variety = (
            int(template_hash(f"{self._seed}\0{name}\0{prompt}\0{time}"), 16) / 2**64 for name in ("fault", "variety")
        )
        if self._in_a_row[prompt] < MOST_IN_A_ROW:
            for fault, rate in zip(FAULTS, self._rates, strict=True):
                if share < rate:
                    return _Draw(fault, variety)
                share -= rate
        return _Draw(None, variety)

    async def _answer(
        self, request: web.Request, model: str, turns: tuple[ChatTurn, ...], draw: _Draw
    ) -> web.StreamResponse:
        match draw.fault:
            case None:
                return web.json_response(_verdict(self._bias, model, turns))
            case "limited":
                wait = {"Retry-After": str(int(draw.variety * 4))} if draw.variety < 0.5 else {}
                return web.json_response({"error": {"message": "slow down"}}, status=429, headers=wait)
            case "failed":
                return web.Response(status=500 + int(draw.variety * 30), text="internal error")
            case "garbage":
                garbage = _GARBAGE[int(draw.variety * len(_GARBAGE))]
                if isinstance(garbage, dict):
                    return web.json_response(garbage)
                return web.Response(text=garbage, content_type="text/html" if garbage == _HTML else "application/json")
            case "reset" if draw.variety < 0.5:
                _reset(request)
                return web.Response()
            case _:
                return await self._broken_off(request, draw.fault)

    async def _broken_off(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = 1000
        await response.prepare(request)
        if fault == "stalled":
            await self._closing.wait()
        else:
            await response.write(b'{"id": "chatcmpl-1", "choices": [')
        _reset(request)
        return response


class _Draw(NamedTuple):
    """What a request meets; `variety` from 0 to 1 says in which form."""

    fault: Fault | None
    variety: float


def _verdict(bias: SimulatedBias, model: str, turns: tuple[ChatTurn, ...]) -> dict[str, Any]:
    text = simulated_reply(bias, {}, model, turns)
    sent, received = sum(len(turn.content.split()) for turn in turns), len(text.split())
    usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    return {**completion(text), "usage": usage}


def _reset(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def main() -> None:
    """Serve as the command line says, until stdin ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    for fault, rate in USUAL._asdict().items():
        parser.add_argument(f"--{fault}", type=float, default=rate, help=f"share of requests, by default {rate}")
    given = parser.parse_args()
    rates = Rates(*(getattr(given, fault) for fault in FAULTS))
    async with FaultServer(seed=given.seed, rates=rates, latency_s=given.latency) as server:
        print(json.dumps({"base_url": server.base_url, "control_url": server.control_url}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
