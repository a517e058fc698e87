"""The simulated gateway: a judge with planted faults behind a real HTTP endpoint on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from aiohttp import web
from pydantic import BaseModel, TypeAdapter, ValidationError

from misjudge_storage.hashing import template_hash
from misjudge_tools.gateway.calls import ChatTurn
from misjudge_tools.gateway.simulated_judge import SimulatedBias, simulated_reply

_LARGEST_BODY = 64 * 1024 * 1024


class _Asked(BaseModel):
    model: str
    messages: tuple[ChatTurn, ...]


_TRUTH = TypeAdapter(dict[str, bool])


class SimulatedServer:
    """Serves POST /v1/chat/completions and POST /truth on 127.0.0.1 while its context is open.

    /truth takes `{hash: success}`, the hash being `template_hash` of a transcript as it stands between
    its fence lines; it adds to what is known. `latency_s` is added to every reply. Port 0 takes a free one.
    """

    def __init__(self, bias: SimulatedBias | None = None, *, latency_s: float = 0.0, port: int = 0) -> None:
        self.bias = bias or SimulatedBias()
        self.base_url = ""
        self._latency_s = latency_s
        self._port = port
        self._truth: dict[str, bool] = {}
        self._runner: web.AppRunner | None = None

    def learn(self, truth: Mapping[str, bool]) -> None:
        """Adds successes, by the hash of the transcript."""
        self._truth.update(truth)

    async def __aenter__(self) -> SimulatedServer:
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/truth", self._take_truth)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.Response:
        try:
            asked = _Asked.model_validate_json(await request.read())
        except ValidationError:
            return _refusal("The body must be a chat completion request with a model and text messages.")
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        text = simulated_reply(self.bias, self._truth, asked.model, asked.messages)
        return web.json_response(_completion(asked, text))

    async def _take_truth(self, request: web.Request) -> web.Response:
        try:
            self.learn(_TRUTH.validate_json(await request.read(), strict=True))
        except ValidationError:
            return _refusal("The body must map transcript hashes to true or false.")
        return web.json_response({"known": len(self._truth)})


def _refusal(message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=400)


def _completion(asked: _Asked, text: str) -> dict[str, Any]:
    sent = sum(len(turn.content.split()) for turn in asked.messages)
    received = len(text.split())
    return {
        "id": f"simulated-{template_hash(text)}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received},
    }
