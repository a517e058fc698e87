"""The simulated gateway: agents, users and judges with planted faults behind a real HTTP endpoint on this machine.

Who is asked follows from the request: one that offers tools asks an agent, the simulated user's prompt a user, fenced
responses a judge, fenced gold rules a matcher, and a fenced task alone a writer of rules.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType

from aiohttp import web
from pydantic import TypeAdapter, ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_storage.types import Value
from misjudge_tools.episodes.turns import AgentReply
from misjudge_tools.gateway.calls import ChatTurn
from misjudge_tools.gateway.clock import Clock, SystemClock
from misjudge_tools.gateway.settings import SIMULATED_KEY
from misjudge_tools.gateway.simulated_agent import Ability, Repertoire, simulated_agent
from misjudge_tools.gateway.simulated_bias import SimulatedBias, Told, uniform
from misjudge_tools.gateway.simulated_judge import shown_responses, simulated_reply
from misjudge_tools.gateway.simulated_user import customer_language, simulated_user
from misjudge_tools.gateway.simulated_wire import Asked, completion

MODELS = (
    "diligent", "hasty", "smooth_talker", "padder", "refuser", "flaky:0.6", "simulated-user", "simulated-judge",
)  # fmt: skip
"""What /v1/models lists; any other name is taken too."""
_LARGEST_BODY = 64 * 1024 * 1024
_MINUTE_S = 60.0
_TRUTH = TypeAdapter(dict[str, Told])


class Trouble(Value):
    """How hard a simulated gateway is to work with: seconds that each reply takes, the most completions in any minute
    (None: no limit), and the share of them that fail with status 500.
    """

    latency_s: float = 0.0
    requests_per_minute: int | None = None
    errors: float = 0.0


class SimulatedServer:
    """Serves POST /v1/chat/completions, GET /v1/models and POST /truth on 127.0.0.1 while its context is open.

    /truth takes `{hash: {"success": bool, "skill": number or null, "family": text or null}}`, the hash being
    `template_hash` of a transcript with its fence lines, or as it stands between them, and `{hash: {"rules": [text]}}`,
    the gold rules by the hash of a task or of rules to apply; it adds to what is known. Port 0 takes a free one. The
    seed of `bias` is that of every draw.
    """

    def __init__(
        self,
        bias: SimulatedBias | None = None,
        *,
        known: Repertoire | None = None,
        skill: float = 1.0,
        trouble: Trouble | None = None,
        port: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self.bias = bias or SimulatedBias()
        self.base_url = ""
        self._known = known or Repertoire()
        self._ability = Ability(skill, self.bias.seed)
        self._trouble = trouble or Trouble()
        self._port = port
        self._clock = clock or SystemClock()
        self._truth: dict[str, Told] = {}
        self._taken: deque[float] = deque()
        self._asked: Counter[str] = Counter()
        self._runner: web.AppRunner | None = None

    def learn(self, truth: Mapping[str, Told]) -> None:
        """Adds to what is known, by the hash of the fenced text."""
        self._truth.update(truth)

    async def __aenter__(self) -> SimulatedServer:
        """Raises InvalidInput where the port cannot be had."""
        app = web.Application(client_max_size=_LARGEST_BODY, middlewares=[_with_key])
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", _list_models)
        app.router.add_post("/truth", self._take_truth)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self._port).start()
        except (OSError, OverflowError):
            await runner.cleanup()
            raise InvalidInput(
                f"Port {self._port} cannot be had: another program uses it, or it needs more rights. "
                "Give another one, or 0 for any that is free."
            ) from None
        self._runner = runner
        self.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            asked = Asked.model_validate_json(body)
        except ValidationError:
            return _refusal("The body must be a chat completion request with a model and text messages.")
        wait_s = self._wait()
        if wait_s:
            headers = {"Retry-After": str(wait_s)}
            return _refusal("SIMULATED: too many requests a minute.", status=429, headers=headers)
        fails = self._fails(template_hash(body.decode("utf-8", "replace")))
        if self._trouble.latency_s:
            await self._clock.sleep(self._trouble.latency_s)
        if fails:
            return _refusal("SIMULATED: a planted failure.", status=500)
        try:
            reply = self._reply(asked)
        except InvalidInput as error:
            return _refusal(str(error))
        return web.json_response(completion(asked.model, asked.conversation(), reply))

    def _reply(self, asked: Asked) -> AgentReply:
        messages = asked.conversation()
        turns = tuple(ChatTurn(role=message.role, content=message.content) for message in messages)
        if asked.tools:
            return simulated_agent(self._known, self._ability, asked.model, messages)
        language = customer_language(messages)
        if language is not None:
            return AgentReply(simulated_user(self._known.tasks, language, messages))
        if not shown_responses(turns) and self._known.opened_with(messages) is not None:
            return simulated_agent(self._known, self._ability, asked.model, messages)
        return AgentReply(simulated_reply(self.bias, self._truth, asked.model, turns, as_json=asked.as_json))

    def _wait(self) -> int:
        """The whole seconds until one more request is taken; 0 takes this one."""
        most = self._trouble.requests_per_minute
        if most is None:
            return 0
        now = self._clock.now()
        while self._taken and self._taken[0] <= now - _MINUTE_S:
            self._taken.popleft()
        if len(self._taken) >= most:
            return max(1, math.ceil(self._taken[0] + _MINUTE_S - now))
        self._taken.append(now)
        return 0

    def _fails(self, body: str) -> bool:
        """A draw that belongs to this body and to how often it has come."""
        if not self._trouble.errors:
            return False
        self._asked[body] += 1
        return uniform(f"{self.bias.seed}\0error\0{body}\0{self._asked[body]}") < self._trouble.errors

    async def _take_truth(self, request: web.Request) -> web.Response:
        try:
            self.learn(_TRUTH.validate_json(await request.read(), strict=True))
        except ValidationError:
            return _refusal(
                'The body must map hashes to {"success": true or false, "skill": 0 to 1 or null, "family": text or '
                'null} for a transcript, or to {"rules": [texts of gold rules]} for a task or for rules to apply.'
            )
        return web.json_response({"known": len(self._truth)})


@web.middleware
async def _with_key(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if given != SIMULATED_KEY:
        return _refusal(f"This is a simulated gateway. Its key is the word {SIMULATED_KEY}, no other.", status=401)
    return await handler(request)


async def _list_models(_: web.Request) -> web.Response:
    listed = [{"id": model, "object": "model", "created": 0, "owned_by": "misjudge, SIMULATED"} for model in MODELS]
    return web.json_response({"object": "list", "data": listed})


def _refusal(message: str, *, status: int = 400, headers: Mapping[str, str] | None = None) -> web.Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return web.json_response({"error": {"message": message, "type": kind}}, status=status, headers=headers)
