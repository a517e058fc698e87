"""A run goes on with the models that it was planned with, or it is refused; where they are asked may change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from live_parts import on_run
from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Endpoint, Price
from misjudge_tools.judge import judge
from misjudge_tools.probe_judge import probe_judge
from misjudge_tools.profiles import ModelSettings, Profile
from misjudge_tools.requests import JudgeRequest, ProbeRequest
from misjudge_tools.results import RunReport
from operations import KEY, PromptJudge, keyed, neutral, opened, pair_records, rows, stored, with_judge

Change = Callable[[ModelSettings, str], ModelSettings]
"""The settings as they are later, where the address of another gateway is given."""


def settings(base_url: str) -> ModelSettings:
    """A judge without a profile, and the profile pan."""
    models = keyed(base_url)
    return models.model_copy(update={"profiles": {"pan": Profile(name="pan", model="rand2", endpoint=_at(base_url))}})


def _at(base_url: str) -> Endpoint:
    return Endpoint(base_url=base_url, key=SecretStr(KEY))


def _pan(models: ModelSettings, **values: Any) -> ModelSettings:
    return models.model_copy(update={"profiles": {"pan": models.profiles["pan"].model_copy(update=values)}})


def other_model(models: ModelSettings, _: str) -> ModelSettings:
    return _pan(models, model="rand4")


def no_model(models: ModelSettings, _: str) -> ModelSettings:
    return _pan(models, model=None)


def pan_elsewhere(models: ModelSettings, address: str) -> ModelSettings:
    return _pan(models, endpoint=_at(address))


def model_is_a_profile_now(models: ModelSettings, _: str) -> ModelSettings:
    profiles = {**models.profiles, "judge-m": Profile(name="judge-m", model="rand4")}
    return with_judge(models.model_copy(update={"profiles": profiles}), model="another")


def other_price(models: ModelSettings, _: str) -> ModelSettings:
    return _pan(with_judge(models, price=Price(input=1, output=1)), price=Price(input=2, output=2))


def other_limits(models: ModelSettings, _: str) -> ModelSettings:
    endpoint = models.profiles["pan"].endpoint
    slower = endpoint.model_copy(update={"base_url": f"{endpoint.base_url}/", "concurrency": 1, "max_attempts": 2})
    return _pan(models, endpoint=slower)


BOTH: dict[str, Any] = {"panel": ["pan"]}
NAMED = "when this run was planned and names"


@asynccontextmanager
async def two_gateways() -> AsyncIterator[tuple[PromptJudge, PromptJudge]]:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(PromptJudge(neutral)) for _ in range(2)]
        yield one, other


async def begun(deps: Deps, **values: Any) -> RunReport:
    stored(deps.store, pair_records(3))
    run = (await judge(JudgeRequest.model_validate({"audit": "a", "max_calls": 3, **values}), deps)).run
    assert run.state == "cancelled"
    return run


async def refused(deps: Deps, run: str) -> str:
    """Why a run is not resumed: at once, or as the reason of its end."""
    try:
        report = await on_run(deps, "resume", run, max_calls=100)
    except InvalidInput as error:
        return str(error)
    assert report.state == "failed"
    return report.reason or ""


@pytest.mark.parametrize(
    ("change", "asked", "said"),
    [
        (other_model, {"judge": "pan"}, f"Profile pan named rand2 {NAMED} rand4 now. Put it back, or begin another"),
        (other_model, BOTH, f"Profile pan named rand2 {NAMED} rand4 now."),
        (other_model, {**BOTH, "cascade": True}, f"Profile pan named rand2 {NAMED} rand4 now."),
        (no_model, BOTH, f"Profile pan named rand2 {NAMED} nothing now."),
        (model_is_a_profile_now, {}, f"Profile judge-m named nothing {NAMED} rand4 now."),
    ],
)
async def test_a_run_whose_judge_is_another_by_now_is_refused_and_asks_nobody(
    tmp_path: Path, change: Change, asked: dict[str, Any], said: str
) -> None:
    async with two_gateways() as (one, other):
        models = settings(one.base_url)
        async with opened(tmp_path / "s.db", models, concurrency=1) as deps:
            run = (await begun(deps, **asked)).run
            assert one.base_url not in rows(deps.store, "SELECT request_json FROM runs")[0]["request_json"]
        async with opened(tmp_path / "s.db", change(models, other.base_url), concurrency=1) as deps:
            assert (await refused(deps, run)).startswith(said)
        assert (len(one.asked), len(other.asked)) == (3, 0)
        async with opened(tmp_path / "s.db", models, concurrency=1) as deps:
            assert (await on_run(deps, "resume", run, max_calls=100)).state == "done", "everything is put back"


@pytest.mark.parametrize("change", [other_price, other_limits])
async def test_what_does_not_change_who_answers_may_change(tmp_path: Path, change: Change) -> None:
    async with two_gateways() as (one, other):
        models = settings(one.base_url)
        async with opened(tmp_path / "s.db", models) as deps:
            run = (await begun(deps, **BOTH)).run
        async with opened(tmp_path / "s.db", change(models, other.base_url)) as deps:
            assert (await on_run(deps, "resume", run, max_calls=100)).state == "done"
        assert not other.asked


async def test_a_probe_is_refused_too(tmp_path: Path) -> None:
    async with two_gateways() as (one, other):
        models = settings(one.base_url)
        async with opened(tmp_path / "s.db", models, concurrency=1) as deps:
            stored(deps.store, pair_records(3))
            request = ProbeRequest(audit="a", judge="pan", items=3, probes=["politeness"], max_calls=2)
            run = (await probe_judge(request, deps)).run.run
        async with opened(tmp_path / "s.db", other_model(models, other.base_url)) as deps:
            assert (await refused(deps, run)).startswith(f"Profile pan named rand2 {NAMED} rand4 now.")


async def test_a_gateway_that_moved_is_asked_at_its_new_address(tmp_path: Path) -> None:
    async with two_gateways() as (one, other):
        models = settings(one.base_url)
        async with opened(tmp_path / "s.db", models, concurrency=1) as deps:
            run = (await begun(deps, judge="pan")).run
        async with opened(tmp_path / "s.db", pan_elsewhere(models, other.base_url)) as deps:
            assert (await on_run(deps, "resume", run, max_calls=100)).state == "done"
        assert (len(one.asked), len(other.asked)) == (3, 3)
