"""What requests cost: at most, and about."""

from __future__ import annotations

from pathlib import Path

import pytest

from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest
from misjudge_tools.runs.request_sizes import OF_PANEL, OF_REPLIES, Costs, Size, costs_of
from operations import keyed, opened, pair_records, stored, with_judge

PRICING = Pricing("m", Price(input=100_000, output=1_000_000))
"""A tenth of a USD a token of input, and one of output."""


def usd(found: Costs) -> tuple[float | None, float | None]:
    most, about = (None if cost is None else round(cost, 6) for cost in found)
    return most, about


def test_the_most_is_a_token_a_byte_and_the_longest_reply_and_about_is_four_bytes_a_token_and_a_usual_one() -> None:
    sizes = [Size(400, 50, 20), Size(401, 50, 20)]
    assert usd(costs_of(PRICING, sizes, certain=True)) == (80.1 + 100, 20.1 + 40)


def test_a_usual_reply_is_never_longer_than_the_longest() -> None:
    assert usd(costs_of(PRICING, [Size(4, 5, 150)], certain=True)) == (0.4 + 5, 0.1 + 5)


def test_there_is_no_most_of_what_is_not_certain_and_no_cost_without_a_price() -> None:
    assert usd(costs_of(PRICING, [Size(400, 50, 20)], certain=False)) == (None, 30)
    assert costs_of(Pricing("no such model"), [Size(400, 50, 20)], certain=True) == Costs(None, None)
    assert costs_of(PRICING, [], certain=True) == Costs(0, 0)


async def test_a_plan_of_stored_pairs_has_both_and_that_of_a_panel_says_that_all_pairs_are_taken(
    tmp_path: Path,
) -> None:
    models = with_judge(keyed("http://127.0.0.1:9"), price=Price(input=1, output=2))
    named = ("first", "second", "third")
    profiles = {name: models.role("judge").model_copy(update={"name": name, "model": name}) for name in named}
    async with opened(tmp_path / "s.db", models.model_copy(update={"profiles": profiles})) as deps:
        stored(deps.store, pair_records(4))
        asked = {"audit": "a", "judge": "first", "panel": ["second", "third"], "dry_run": True}
        planned = (await judge(JudgeRequest.model_validate(asked), deps)).run
        cascade = (await judge(JudgeRequest.model_validate({**asked, "cascade": True}), deps)).run
    assert [role.assumes for role in planned.plan] == [(OF_REPLIES,)] * 3
    for run in (planned, cascade):
        for role in run.plan:
            assert role.about_cost and role.most_cost and role.about_cost < role.most_cost and not role.estimated
        assert run.about_cost == pytest.approx(sum(role.about_cost or 0 for role in run.plan))
        assert run.most_cost == pytest.approx(sum(role.most_cost or 0 for role in run.plan))
    assert [role.assumes for role in cascade.plan] == [(OF_REPLIES,), *[(OF_REPLIES, OF_PANEL)] * 2]


async def test_what_comes_with_the_request_is_counted_and_its_cost_is_not_known(tmp_path: Path) -> None:
    models = with_judge(keyed("http://127.0.0.1:9"), price=Price(input=1, output=2))
    given = {"audit": "new", "task_prompt": "2+2?", "response_a": "4", "response_b": "5", "dry_run": True}
    async with opened(tmp_path / "s.db", models) as deps:
        run = (await judge(JudgeRequest.model_validate(given), deps)).run
    assert [(role.calls, role.about_cost, role.most_cost, role.assumes) for role in run.plan] == [(2, None, None, ())]
    assert (run.about_cost, run.most_cost) == (None, None)
