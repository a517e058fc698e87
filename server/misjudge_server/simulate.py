"""`misjudge simulate`: the simulated gateway on this machine, to try everything without a key."""

from __future__ import annotations

import asyncio
import signal
import sys
from types import FrameType
from typing import Annotated

from pydantic import Field

from misjudge_server.terminal import plain
from misjudge_storage.types import Value
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.gateway.settings import SIMULATED_KEY
from misjudge_tools.gateway.simulated import SimulatedServer, Trouble
from misjudge_tools.gateway.simulated_agent import Repertoire
from misjudge_tools.gateway.simulated_bias import Family, Share, SimulatedBias
from misjudge_tools.suites.loading import load_suite

SAID = """\
SIMULATED gateway at {base_url}: all that it says is made up. Ctrl-C ends it. To use it, set:
TAOTOKEN_BASE_URL={base_url}
TAOTOKEN_API_KEY={key}
CANDIDATE_MODEL=diligent SIM_USER_MODEL=simulated-user TAOTOKEN_JUDGE_MODEL=simulated-judge
Agents of set skill on the suite {suite}: diligent, hasty, smooth_talker, padder, refuser, flaky:0.6; \
any other name is right in {share} of the tasks."""


class SimulateRequest(Value):
    """What is planted. Shares are from 0 to 1; `port` 0 takes a free one."""

    port: Annotated[int, Field(ge=0, le=65_535)] = 8787
    suite: Annotated[str, Field(min_length=1, description="The tasks that its agents and users know.")] = "support_desk"
    skill: Annotated[Share, Field(description="Share of tasks that agents without a scripted name get right.")] = 1.0
    latency_ms: Annotated[float, Field(ge=0, le=600_000)] = 0.0
    noise: Share = 0.0
    near_noise: Share | None = None
    position: Share = 0.0
    obedience: Share = 0.0
    length: Share = 0.0
    politeness: Share = 0.0
    self_preference: Share = 0.0
    family: Family = ""
    lenience: Share = 0.0
    parse_failure: Share = 0.0
    hits: Share = 1.0
    invents: Share = 0.0
    misses: Share = 0.0
    overmatches: Share = 0.0
    rule_following: Share = 1.0
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    errors: Share = 0.0
    seed: int = 0


def serve_simulated(request: SimulateRequest, allowed: Allowed) -> None:
    """Serve until Ctrl-C or SIGTERM; a second one ends it at once.

    Raises InvalidInput for a suite that cannot be read and a port that cannot be had.
    """
    suite = load_suite(request.suite, allowed, None)
    asyncio.run(_serve(request, suite.name, Repertoire(suite.tasks, suite.solutions)))


async def _serve(request: SimulateRequest, suite: str, known: Repertoire) -> None:
    async with SimulatedServer(
        SimulatedBias(
            position=request.position,
            obedience=request.obedience,
            length=request.length,
            politeness=request.politeness,
            self_preference=request.self_preference,
            family=request.family,
            noise=request.noise,
            near=request.near_noise,
            parse_failure=request.parse_failure,
            lenience=request.lenience,
            hits=request.hits,
            invents=request.invents,
            misses=request.misses,
            overmatches=request.overmatches,
            rule_following=request.rule_following,
            seed=request.seed,
        ),
        known=known,
        skill=request.skill,
        trouble=Trouble(
            latency_s=request.latency_ms / 1000,
            requests_per_minute=request.requests_per_minute,
            errors=request.errors,
        ),
        port=request.port,
    ) as server:
        told = asyncio.Event()
        _stop_on_signals(told)
        said = SAID.format(base_url=server.base_url, key=SIMULATED_KEY, suite=suite, share=_share(request.skill))
        print(plain(said), flush=True)
        await told.wait()
    print("misjudge: the simulated gateway has ended.", file=sys.stderr)


def _share(skill: float) -> str:
    return {0.0: "none", 1.0: "all"}.get(skill, f"{100 * skill:g} %")


def _stop_on_signals(told: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(told.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
