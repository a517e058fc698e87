"""What tests of live runs share: a desk with a small suite, its models, and a relay that sees every request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web
from pydantic import SecretStr

import shop_tools
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import Allowed, EpisodeSettings
from misjudge_tools.gateway.settings import SIMULATED_KEY, Endpoint, Price
from misjudge_tools.gateway.simulated_agent import Repertoire
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.profiles import ModelSettings, Profile
from misjudge_tools.requests import RunPairRequest, RunsRequest
from misjudge_tools.results import RunPairResult, RunReport
from misjudge_tools.run_pair import run_pair
from misjudge_tools.suites.loading import load_suite
from suite_folders import write

ALLOWED = Allowed(python=("shop_tools",))
SHOP = EpisodeSettings(allowed=ALLOWED)
TEXT = {"type": "string"}
TOOLS = {
    "python": "shop_tools",
    "tools": [
        {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {argument: TEXT},
                "required": [argument],
                "additionalProperties": False,
            },
        }
        for name, argument in (("take", "sku"), ("note", "text"))
    ],
}


def shop_task(number: int, language: str = "en", **values: Any) -> dict[str, Any]:
    """A task: one tent is taken for an order, and the order is noted."""
    zh = language == "zh"
    return {
        "task_id": f"{language}{number}",
        "language": language,
        "category": "order",
        "opening": f"我想要一顶帐篷，第{number}单。" if zh else f"I want a tent, my visit {number}.",
        "goal": f"你想为第{number}单要一顶帐篷。" if zh else f"You want one tent for order {number}.",
        "facts": [
            {"asks": ["订单号"], "says": f"第{number}单。"}
            if zh
            else {"asks": ["order number"], "says": f"It is order {number}."}
        ],
        "success_criteria": "One tent is taken and the order is noted.",
        "checks": [
            {"kind": "sql", "query": "SELECT left_over FROM stock WHERE sku = 'tent'", "equals": 4},
            {"kind": "sql", "query": "SELECT text FROM notes", "equals": f"order {number}"},
        ],
        **values,
    }


def shop_solution(number: int, language: str = "en") -> dict[str, Any]:
    """How it is done: four replies of the agent, two of the customer. The hasty way with odd numbers notes nothing."""
    zh = language == "zh"
    asks, take = {"say": "请问订单号是多少？" if zh else "What is the order number?"}, {"call": "take"}
    done = {"say": "帐篷是您的了。" if zh else "The tent is yours."}
    steps = [asks, {**take, "args": {"sku": "tent"}}, {"call": "note", "args": {"text": f"order {number}"}}, done]
    hasty = {"hasty": [steps[0], steps[1], done]} if number % 2 else {}
    return {"task_id": f"{language}{number}", "steps": steps, **hasty}


def shop(folder: Path, number: int = 2, zh: int = 0, **files: Any) -> str:
    """A suite of so many tasks (`en0`, `en1`, …; `zh0`, …) in the shop; `files` takes the place of its own."""
    numbered = [(order, "en") for order in range(number)] + [(order, "zh") for order in range(zh)]
    given = {
        "tasks": [shop_task(order, language) for order, language in numbered],
        "solutions": [shop_solution(order, language) for order, language in numbered],
        "tools": TOOLS,
        "world": shop_tools.WORLD,
        "agent": "You are the desk of a shop for tents.",
        **files,
    }
    return write(folder, **{name: content for name, content in given.items() if content is not None})


def known(folder: str) -> Repertoire:
    """What a simulated gateway knows of the suite."""
    suite = load_suite(folder, ALLOWED, None)
    return Repertoire(suite.tasks, suite.solutions)


def request(**values: Any) -> RunPairRequest:
    """A live comparison, by default of two scripted agents and judged by a simulated judge."""
    given = {"audit": "a", "agents": ["diligent", "smooth_talker"], "judge": "simulated"}
    return RunPairRequest.model_validate({**given, **values})


async def ran(deps: Deps, **values: Any) -> RunPairResult:
    """The result of `request`."""
    return await run_pair(request(**values), deps)


async def on_run(deps: Deps, action: str, run: str, **values: Any) -> RunReport:
    """What `runs` says of one run."""
    given = RunsRequest.model_validate({"action": action, "run": run, **values})
    (found,) = (await manage_runs(given, deps)).runs
    return found


ROLES = {"agent": "diligent", "user_sim": "simulated-user", "judge": "simulated-judge"}
PRICE = Price(input=1.0, output=2.0)


def desk_models(
    base_url: str | Mapping[str, str], key: str | None = SIMULATED_KEY, price: Price | None = PRICE, **endpoint: Any
) -> ModelSettings:
    """Three roles with three models, and profiles `strong` and `weak` for agents; `base_url` may differ by role."""

    def there(role: str) -> Endpoint:
        url = base_url if isinstance(base_url, str) else base_url[role]
        # A clock that others move on must not time out what is under way.
        patient = {"timeout_s": 3600, "deadline_s": 36_000, **endpoint}
        return Endpoint(base_url=url, key=None if key is None else SecretStr(key), **patient)

    def profile(role: str, model: str, name: str | None = None) -> Profile:
        return Profile(name=name, model=model, endpoint=there(role), price=price)

    return ModelSettings(
        roles={
            "agent": profile("agent", ROLES["agent"]),
            "user_sim": profile("user_sim", ROLES["user_sim"]),
            "judge": profile("judge", ROLES["judge"]),
        },
        profiles={
            "strong": profile("agent", "diligent", "strong"),
            "weak": profile("agent", "smooth_talker", "weak"),
        },
    )


class Seen(NamedTuple):
    """A request for a completion as it came."""

    role: str
    body: dict[str, Any]
    authorization: str


Refuse = Callable[[Seen], web.Response | None]


def status(number: int, message: str = "down for maintenance") -> web.Response:
    """An error answer."""
    return web.json_response({"error": {"message": message}}, status=number)


class Relay:
    """Passes requests on to a simulated gateway, under whatever key; `refuse` may answer a completion instead.

    `passed` holds what was asked and answered by the gateway, `refused` what was not. While `gate` is not set the
    calls of agents are held.
    """

    def __init__(self, target: str, refuse: Refuse = lambda _: None) -> None:
        self.base_url = ""
        self.passed: list[Seen] = []
        self.refused: list[Seen] = []
        self.refuse = refuse
        self.gate = asyncio.Event()
        self.gate.set()
        self._target = target.removesuffix("/v1")
        self._arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def asked(self) -> list[str]:
        """The roles of all that was passed on, in order."""
        return [seen.role for seen in self.passed]

    async def received(self, number: int) -> None:
        """Wait until this many calls came in all."""
        async with asyncio.timeout(30), self._arrived:
            await self._arrived.wait_for(lambda: len(self.passed) + len(self.refused) >= number)

    async def __aenter__(self) -> Relay:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/{path:.*}", self._pass_on)
        self._session = aiohttp.ClientSession()
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.set()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _pass_on(self, request: web.Request) -> web.Response:
        body = await request.json()
        if request.path.endswith("/chat/completions"):
            role = "agent" if "tools" in body else "user_sim" if body["model"] == ROLES["user_sim"] else "judge"
            seen = Seen(role, body, request.headers["Authorization"])
            refusal = self.refuse(seen)
            async with self._arrived:
                (self.passed if refusal is None else self.refused).append(seen)
                self._arrived.notify_all()
            if role == "agent":
                await self.gate.wait()
            if refusal is not None:
                return refusal
        assert self._session is not None
        headers = {"Authorization": f"Bearer {SIMULATED_KEY}"}
        async with self._session.post(f"{self._target}{request.path}", json=body, headers=headers) as answer:
            return web.Response(status=answer.status, body=await answer.read(), content_type="application/json")
