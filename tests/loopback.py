"""A scripted gateway on loopback, and a clock that moves only when it is told or slept on."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Literal, NamedTuple

from aiohttp import web


class Scripted(NamedTuple):
    """One scripted answer. `hold`: it waits for this event, before anything is sent (`cut` None) or in the
    middle of the body (`cut="stall"`). `cut="reset"` breaks the connection before, `"mid_body"` within the body."""

    status: int
    headers: dict[str, str]
    body: bytes
    hold: asyncio.Event | None
    cut: Literal["reset", "mid_body", "stall"] | None


class Received(NamedTuple):
    """One request as it came; header names are lower case. `raw` are the bytes of its body."""

    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes


def completion(text: str | None = "OK", *, finish_reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    """The JSON of a chat completion with 11 prompt and 3 completion tokens."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }


class LoopbackServer:
    """Answers any POST with the next scripted answer and records the request; a real aiohttp server.

    An answer that nobody scripted is a 501, which no test expects.
    """

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.base_url = ""
        self._script: deque[Scripted] = deque()
        self._otherwise: Scripted | None = None
        self._arrived = asyncio.Condition()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    def enqueue(
        self,
        body: Mapping[str, Any] | list[Any] | str | bytes | None = None,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        hold: asyncio.Event | None = None,
        cut: Literal["reset", "mid_body", "stall"] | None = None,
        times: int = 1,
    ) -> None:
        """Scripts the next answer or answers; without a body it is a completion that says OK."""
        self._script.extend([_scripted(body, status, headers, hold, cut)] * times)

    def always(self, body: Mapping[str, Any] | list[Any] | str | bytes | None = None, *, status: int = 200) -> None:
        """Scripts the answer for whenever nothing is enqueued."""
        self._otherwise = _scripted(body, status, None, None, None)

    async def received(self, count: int) -> None:
        """Waits until this many requests have come in all."""
        async with asyncio.timeout(30), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def __aenter__(self) -> LoopbackServer:
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        async with self._arrived:
            self.requests.append(Received(request.path, headers, json.loads(body) if body else None, body))
            self._arrived.notify_all()
        scripted = self._script.popleft() if self._script else self._otherwise
        if scripted is None:
            return web.Response(status=501, text="nothing is scripted")
        if scripted.cut in {"mid_body", "stall"}:
            return await self._broken_off(request, scripted)
        await self._held(scripted.hold)
        if scripted.cut == "reset":
            _reset(request)
        return web.Response(status=scripted.status, headers=scripted.headers, body=scripted.body)

    async def _broken_off(self, request: web.Request, scripted: Scripted) -> web.StreamResponse:
        response = web.StreamResponse(status=scripted.status, headers=scripted.headers)
        response.content_length = len(scripted.body)
        await response.prepare(request)
        half = len(scripted.body) // 2
        await response.write(scripted.body[:half])
        if scripted.cut == "mid_body":
            _reset(request)
            return response
        await self._held(scripted.hold or self._closing)
        # The client may have given up by then.
        with suppress(ConnectionResetError):
            await response.write(scripted.body[half:])
        return response

    async def _held(self, event: asyncio.Event | None) -> None:
        if event is None:
            return
        waits = [asyncio.ensure_future(one.wait()) for one in (event, self._closing)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _scripted(
    body: Mapping[str, Any] | list[Any] | str | bytes | None,
    status: int,
    headers: Mapping[str, str] | None,
    hold: asyncio.Event | None,
    cut: Literal["reset", "mid_body", "stall"] | None,
) -> Scripted:
    if isinstance(body, str | bytes):
        data, kind = body.encode() if isinstance(body, str) else body, "text/plain"
    else:
        data, kind = json.dumps(completion() if body is None else body).encode(), "application/json"
    return Scripted(status, {"Content-Type": kind, **(headers or {})}, data, hold, cut)


def _reset(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


class VirtualClock:
    """A clock for HttpGateway: sleeping moves it at once, and time limits end when `advance` passes them."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.slept: list[float] = []
        self._now = now
        self._limits: list[tuple[float, asyncio.Timeout]] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self._now += seconds
        for end, limit in self._limits:
            if end <= self._now:
                limit.reschedule(asyncio.get_running_loop().time())
        self._limits = [(end, limit) for end, limit in self._limits if end > self._now]

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        async with asyncio.timeout(None) as limit:
            entry = (self._now + seconds, limit)
            self._limits.append(entry)
            try:
                yield
            finally:
                if entry in self._limits:
                    self._limits.remove(entry)
