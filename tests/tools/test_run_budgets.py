"""The limits of a run: kept, said, stored with it, and changed when it goes on."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Episode, Message, PairKey, Record, Task, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.profiles import ModelSettings
from misjudge_tools.requests import JudgeRequest, RunPairRequest, RunsRequest
from misjudge_tools.results import RunReport
from misjudge_tools.run_pair import run_pair
from operations import PromptJudge, count, dump, keyed, opened, pair_records, rows, stored, verdict_text, with_judge

CALL_TOKENS = 14
"""11 in and 3 out: what the judge on loopback states of each call."""
CALL_USD = 0.014
DEAR = Price(input=1000, output=1000)
UNSTATED = {**completion(verdict_text("A")), "usage": None}
PAIR = {
    "audit": "a",
    "task_id": "t1",
    "task_prompt": "Cancel order 7.",
    "agent_a": "blue",
    "agent_b": "green",
    "trajectory_a": "It is cancelled.",
    "trajectory_b": "I could not do that.",
}


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", **values})


async def ask_runs(deps: Deps, action: str, run: str, **values: Any) -> RunReport:
    request = RunsRequest.model_validate({"action": action, "run": run, **values})
    (report,) = (await manage_runs(request, deps)).runs
    return report


def priced(base_url: str, price: Price | None = DEAR) -> ModelSettings:
    return with_judge(keyed(base_url), price=price)


@asynccontextmanager
async def unstated(where: Path) -> AsyncIterator[tuple[Deps, LoopbackServer]]:
    """Three stored pairs, and a priced judge that states no usage and is asked one call at a time."""
    async with LoopbackServer() as server, opened(where, priced(server.base_url), concurrency=1) as deps:
        server.always(UNSTATED)
        stored(deps.store, pair_records(3))
        yield deps, server


@pytest.fixture
async def dear(tmp_path: Path, prompt_judge: PromptJudge) -> AsyncIterator[Deps]:
    """Operations whose gateway is `prompt_judge`, at 0.014 USD a call."""
    async with opened(tmp_path / "misjudge.db", priced(prompt_judge.base_url)) as made:
        yield made


def trials(number: int) -> list[Record]:
    """So many pairs of one task."""
    task = Task(task_id="often tried", prompt="Cancel order 1.")

    def episode(agent: str, trial: int) -> Episode:
        said = (Message(role="assistant", content=f"{agent} tried it, time {trial}."),)
        return Episode(trajectory=Trajectory(task_id=task.task_id, agent=agent, trial=trial, messages=said))

    return [
        Record(
            line=1,
            task=task,
            episodes=(episode("left", trial), episode("right", trial)),
            pair=PairKey(pair_id=f"trial {trial}", trial=trial),
        )
        for trial in range(number)
    ]


def planned_order(store: Store, run: str) -> list[str]:
    return [
        row["cell_id"] for row in rows(store, "SELECT cell_id FROM cells WHERE run_id = :run ORDER BY seq", run=run)
    ]


async def test_max_calls_is_kept_exactly_and_the_run_ends_cleanly_and_says_so(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, pair_records(20))
    result = await judge(asked(max_calls=13), judged)
    assert len(prompt_judge.asked) == 13
    assert (result.run.state, result.run.done, result.run.total) == ("cancelled", 13, 40)
    assert result.run.reason == (
        "limit reached: max_calls=13 is used up (13 calls asked). 13 of 40 cells are done, tasks in random order, "
        "so they are a sample. Go on with a higher limit."
    )
    assert result.run.limits == {"max_calls": 13}
    assert result.run.next == result.next == f"runs(action='resume', run='{result.run.run}')"
    assert result.run.failed == 0
    assert (count(judged.store, "verdicts"), count(judged.store, "judge_logs")) == (13, 13)


async def test_a_limit_that_the_plan_fits_in_is_no_reason_to_end_early(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, pair_records(5))
    result = await judge(asked(max_calls=10), judged)
    assert (result.run.state, result.run.reason, len(prompt_judge.asked)) == ("done", None, 10)


async def test_a_call_counts_once_however_often_it_was_tried_and_also_where_it_was_lost(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(3))
            server.enqueue(status=429)
            server.enqueue(completion(verdict_text("A")))
            server.enqueue({"error": {"message": "no"}}, status=400)
            server.always(completion(verdict_text("B")))
            result = await judge(asked(max_calls=3), deps)
            assert (result.run.state, result.run.done, len(server.requests)) == ("cancelled", 2, 4)
            assert (result.run.reason or "").startswith("limit reached: max_calls=3 is used up (3 calls asked).")
            again = await ask_runs(deps, "resume", result.run.run)
            assert (again.state, len(server.requests)) == ("cancelled", 4)
            higher = await ask_runs(deps, "resume", result.run.run, max_calls=7)
            assert (higher.state, higher.done, len(server.requests)) == ("done", 6, 8)


async def test_max_usd_is_overshot_by_at_most_one_call(dear: Deps, prompt_judge: PromptJudge) -> None:
    stored(dear.store, pair_records(20))
    result = await judge(asked(max_usd=0.1), dear)
    (use,) = result.run.spent
    assert use.cost is not None and 0.1 <= use.cost < 0.1 + CALL_USD
    assert (result.run.state, result.run.done, len(prompt_judge.asked)) == ("cancelled", 8, 8)
    reason = result.run.reason or ""
    assert reason.startswith("limit reached: max_usd=0.1 is used up (0.112 USD counted). 8 of 40 cells are done")


async def test_max_tokens_are_overshot_by_at_most_one_call(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, pair_records(20))
    result = await judge(asked(max_tokens=100), judged)
    (use,) = result.run.spent
    used = (use.input_tokens or 0) + (use.output_tokens or 0)
    assert 100 <= used < 100 + CALL_TOKENS
    assert (result.run.state, result.run.done, len(prompt_judge.asked)) == ("cancelled", 8, 8)
    assert (result.run.reason or "").startswith("limit reached: max_tokens=100 is used up (112 tokens counted).")


async def test_a_limit_that_is_far_off_lets_calls_go_at_once(dear: Deps, prompt_judge: PromptJudge) -> None:
    stored(dear.store, pair_records(20))
    prompt_judge.gate.clear()
    run = (await judge(asked(max_usd=1000, max_tokens=10**7, wait_s=0), dear)).run.run
    await prompt_judge.received(8)
    prompt_judge.gate.set()
    assert (await ask_runs(dear, "wait", run)).state == "done"


async def test_max_usd_per_task_leaves_out_only_that_task(dear: Deps, prompt_judge: PromptJudge) -> None:
    stored(dear.store, [*pair_records(6), *trials(4)])
    result = await judge(asked(max_usd_per_task=2 * CALL_USD), dear)
    assert (result.run.state, result.run.done, result.run.total) == ("cancelled", 14, 20)
    reason = result.run.reason or ""
    assert reason.startswith("limit reached: max_usd_per_task is used up for 1 of the tasks; 14 of 20 cells are done.")
    by_pair = "SELECT pair_id, COUNT(*) AS n FROM verdicts GROUP BY pair_id"
    done = {row["pair_id"]: row["n"] for row in rows(dear.store, by_pair)}
    assert {pair: n for pair, n in done.items() if pair.startswith("p")} == dict.fromkeys(
        [f"p{n}" for n in range(6)], 2
    )
    assert sum(n for pair, n in done.items() if pair.startswith("trial")) == 2
    again = await ask_runs(dear, "resume", result.run.run)
    assert (again.state, again.reason, len(prompt_judge.asked)) == ("cancelled", reason, 14)
    higher = await ask_runs(dear, "resume", result.run.run, max_usd_per_task=1)
    assert (higher.state, higher.done, len(prompt_judge.asked)) == ("done", 20, 20)


async def test_after_its_deadline_a_run_asks_no_more_and_resuming_gives_it_as_much_time_again(tmp_path: Path) -> None:
    clock = VirtualClock()

    def each_call_takes_a_second() -> bool:
        clock.advance(1)
        return False

    async with PromptJudge(down=each_call_takes_a_second) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1, clock=clock) as deps:
            stored(deps.store, pair_records(5))
            result = await judge(asked(deadline_s=5.5), deps)
            assert (result.run.state, result.run.done, len(server.asked)) == ("cancelled", 6, 6)
            reason = result.run.reason or ""
            assert reason.startswith("limit reached: deadline_s=5.5 is over. 6 of 10 cells are done")
            again = await ask_runs(deps, "resume", result.run.run)
            assert (again.state, again.done, len(server.asked)) == ("done", 10, 10)


async def test_at_a_deadline_the_calls_in_flight_are_finished(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with PromptJudge() as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=4, clock=clock) as deps:
            stored(deps.store, pair_records(5))
            server.gate.clear()
            run = (await judge(asked(deadline_s=10, wait_s=0), deps)).run.run
            await server.received(4)
            clock.advance(11)
            server.gate.set()
            report = await ask_runs(deps, "wait", run)
    assert (report.state, report.done, len(server.asked)) == ("cancelled", 4, 4)


@pytest.mark.parametrize(
    ("limit", "higher"),
    [
        ({"max_calls": 5}, {"max_calls": 12}),
        ({"max_usd": 4.5 * CALL_USD}, {"max_usd": 12 * CALL_USD}),
        ({"max_tokens": 5 * CALL_TOKENS}, {"max_tokens": 12 * CALL_TOKENS}),
    ],
)
async def test_a_limit_holds_over_all_sittings_of_a_run_and_a_higher_one_asks_only_the_rest(
    dear: Deps, prompt_judge: PromptJudge, limit: dict[str, float], higher: dict[str, float]
) -> None:
    stored(dear.store, pair_records(10))
    first = await judge(asked(**limit), dear)
    run = first.run.run
    assert (first.run.done, len(prompt_judge.asked)) == (5, 5)
    again = await ask_runs(dear, "resume", run)
    assert (again.state, again.done, again.reason, len(prompt_judge.asked)) == ("cancelled", 5, first.run.reason, 5)
    further = await ask_runs(dear, "resume", run, **higher)
    assert (further.state, further.done, further.limits) == ("cancelled", 12, higher)
    assert len(prompt_judge.asked) == 12, "what was spent before counts"
    whole = await ask_runs(dear, "resume", run, **{name: 100 * value for name, value in limit.items()})
    assert (whole.state, whole.done, whole.reason) == ("done", 20, None)
    assert len(prompt_judge.asked) == count(dear.store, "verdicts") == count(dear.store, "judge_logs") == 20


async def test_new_limits_take_the_place_of_their_own_kind_only(dear: Deps, prompt_judge: PromptJudge) -> None:
    stored(dear.store, pair_records(10))
    run = (await judge(asked(max_calls=3, max_usd=10.0), dear)).run.run
    more = await ask_runs(dear, "resume", run, max_calls=6, max_tokens=10**6)
    assert (more.done, more.limits) == (6, {"max_calls": 6, "max_tokens": 10**6, "max_usd": 10.0})
    cheaper = await ask_runs(dear, "resume", run, max_calls=100, max_usd=7.5 * CALL_USD)
    assert (cheaper.done, len(prompt_judge.asked)) == (8, 8)
    assert (cheaper.reason or "").startswith("limit reached: max_usd=0.105 is used up")
    assert cheaper.limits == {"max_calls": 100, "max_tokens": 10**6, "max_usd": 7.5 * CALL_USD}


async def test_a_run_at_work_takes_no_new_limits_since_it_would_not_keep_them(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, pair_records(10))
    prompt_judge.gate.clear()
    run = (await judge(asked(wait_s=0, max_calls=15), judged)).run.run
    await prompt_judge.received(8)
    for action in ("resume", "retry"):
        with pytest.raises(InvalidInput, match="Cancel it, then resume it with the new limits"):
            await ask_runs(judged, action, run, max_calls=9)
    assert (await ask_runs(judged, "status", run)).limits == {"max_calls": 15}
    assert (await ask_runs(judged, "resume", run, wait_s=0)).state == "running", "without limits it is watched"
    prompt_judge.gate.set()
    assert (await ask_runs(judged, "wait", run)).done == 15


@pytest.mark.parametrize("limit", ["max_usd", "max_usd_per_task"])
async def test_a_limit_in_usd_without_a_known_price_is_refused_before_anything(
    judged: Deps, prompt_judge: PromptJudge, limit: str
) -> None:
    stored(judged.store, pair_records(3))
    before = dump(judged.store)
    said = f"^{limit} cannot be kept: the price of 'judge-m' is not known. Set price_in and price_out"
    for refused in (asked(**{limit: 1}), asked(**{limit: 1}, dry_run=True)):
        with pytest.raises(InvalidInput, match=said):
            await judge(refused, judged)
    with pytest.raises(InvalidInput, match=said):
        await run_pair(RunPairRequest.model_validate({**PAIR, limit: 1}), judged)
    assert dump(judged.store) == before
    run = (await judge(asked(max_calls=1), judged)).run.run
    before = dump(judged.store)
    with pytest.raises(InvalidInput, match=said):
        await ask_runs(judged, "resume", run, **{limit: 1})
    assert dump(judged.store) == before
    assert len(prompt_judge.asked) == 1


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"max_tokens": 100}, r"max_tokens=100 is used up \(\d{4,} tokens counted\)"),
        ({"max_usd": 0.1}, r"max_usd=0.1 is used up \([\d.]+ USD counted\)"),
        ({"max_usd_per_task": 0.1}, r"max_usd_per_task is used up for 3 of the tasks; 3 of 6 cells are done"),
    ],
)
async def test_a_call_whose_usage_is_not_stated_counts_as_its_estimate_also_when_the_run_goes_on(
    tmp_path: Path, limit: dict[str, float], said: str
) -> None:
    async with unstated(tmp_path / "s.db") as (deps, server):
        result = await judge(asked(**limit), deps)
        assert re.search(said, result.run.reason or "")
        done = 3 if "max_usd_per_task" in limit else 1
        (use,) = result.run.spent
        assert (use.calls, use.input_tokens, use.output_tokens, use.cost) == (done, None, None, None)
        again = await ask_runs(deps, "resume", result.run.run)
        for report in (result.run, again):
            assert (report.state, report.done) == ("cancelled", done)
        assert again.reason == result.run.reason
        assert len(server.requests) == done


async def test_more_than_200_paid_calls_need_max_calls_or_max_usd(dear: Deps, prompt_judge: PromptJudge) -> None:
    stored(dear.store, pair_records(101))
    before = dump(dear.store)
    for other in ({}, {"max_tokens": 10**6}, {"deadline_s": 60}, {"max_usd_per_task": 1}):
        with pytest.raises(InvalidInput, match=r"takes 202 calls .* max_calls=202 .*or max_usd, or with dry_run=true"):
            await judge(asked(**other), dear)
    assert dump(dear.store) == before
    planned = await judge(asked(dry_run=True), dear)
    assert (planned.run.state, planned.run.total) == ("planned", 202)
    assert dump(dear.store) == before
    assert (await judge(asked(max_usd=CALL_USD), dear)).run.done == 1
    assert (await judge(asked(max_calls=2), dear)).run.done == 2
    assert len(prompt_judge.asked) == 3


async def test_a_partial_run_is_a_sample_of_the_tasks_and_the_same_one_for_each_judge(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, pair_records(30))
    plans = []
    for name in ("judge-m", "another"):
        run = (await judge(asked(judge=name, max_calls=13), judged)).run.run
        cells = planned_order(judged.store, run)
        done = rows(judged.store, "SELECT verdict_id FROM verdicts WHERE verdict_id IN (SELECT cell_id FROM cells "
                                  "WHERE run_id = :run)", run=run)  # fmt: skip
        assert {row["verdict_id"] for row in done} == set(cells[:13])
        query = "SELECT pair_id, order_shown FROM cells WHERE run_id = :run ORDER BY seq"
        plans.append([tuple(row.values()) for row in rows(judged.store, query, run=run)])
    assert plans[0] == plans[1]
    pairs = [pair for pair, _ in plans[0][::2]]
    assert pairs == [pair for pair, _ in plans[0][1::2]], "both orders of a pair stand side by side"
    assert sorted(pairs) == sorted(f"p{n}" for n in range(30))
    assert pairs not in (sorted(pairs), [f"p{n}" for n in range(30)]), "neither by name nor as imported"


async def test_a_plan_says_its_calls_and_what_they_cost_at_most(dear: Deps, prompt_judge: PromptJudge) -> None:
    stored(dear.store, pair_records(130))
    planned = (await judge(asked(dry_run=True, max_calls=7), dear)).run
    assert (planned.state, planned.total, planned.run, planned.limits) == ("planned", 260, "", {"max_calls": 7})
    assert planned.next == "call again without dry_run"
    # 1024 tokens of reply and a prompt of some hundred bytes, at 0.001 USD a token.
    assert planned.most_cost is not None and 260 * 1.024 < planned.most_cost < 260 * 5
    assert (count(dear.store, "runs"), len(prompt_judge.asked)) == (0, 0)
    result = await judge(asked(max_calls=260), dear)
    (use,) = result.run.spent
    assert use.cost is not None and use.cost < planned.most_cost
    assert use.cost == pytest.approx(260 * CALL_USD)
    nothing_left = (await judge(asked(dry_run=True), dear)).run
    assert (nothing_left.total, nothing_left.most_cost) == (0, 0)


async def test_what_a_plan_costs_is_not_guessed_where_the_price_is_not_known(judged: Deps) -> None:
    stored(judged.store, pair_records(3))
    planned = (await judge(asked(dry_run=True), judged)).run
    assert (planned.total, planned.most_cost) == (6, None)


async def test_each_call_is_logged_with_its_cost_and_whose_price_it_is(dear: Deps) -> None:
    stored(dear.store, pair_records(2))
    result = await judge(asked(), dear)
    logs = rows(dear.store, "SELECT est_cost, price_source FROM judge_logs")
    assert [log["price_source"] for log in logs] == ["misjudge.toml"] * 4
    assert [log["est_cost"] for log in logs] == pytest.approx([CALL_USD] * 4)
    assert result.run.spent[0].cost == pytest.approx(4 * CALL_USD)


async def test_the_costs_of_a_model_without_a_known_price_stay_unknown(judged: Deps) -> None:
    stored(judged.store, pair_records(1))
    result = await judge(asked(), judged)
    assert rows(judged.store, "SELECT DISTINCT est_cost, price_source FROM judge_logs") == [
        {"est_cost": None, "price_source": None}
    ]
    assert result.run.spent[0].cost is None


async def test_a_list_price_is_named_as_one(judged: Deps) -> None:
    stored(judged.store, pair_records(1))
    await judge(asked(judge="gpt-4o-mini", max_usd=1), judged)
    (log,) = rows(judged.store, "SELECT DISTINCT est_cost, price_source FROM judge_logs")
    assert log["price_source"].startswith("genai-prices ") and log["price_source"].endswith("list price")
    assert 0 < log["est_cost"] < 1e-4


async def test_a_call_whose_usage_is_not_stated_has_no_cost(tmp_path: Path) -> None:
    async with unstated(tmp_path / "s.db") as (deps, _):
        await judge(asked(), deps)
        logs = rows(deps.store, "SELECT DISTINCT est_cost, price_source, input_tokens FROM judge_logs")
    assert logs == [{"est_cost": None, "price_source": "misjudge.toml", "input_tokens": None}]


async def test_a_pair_given_with_its_trajectories_takes_the_same_limits(dear: Deps, prompt_judge: PromptJudge) -> None:
    request = RunPairRequest.model_validate({**PAIR, "max_calls": 1, "max_usd": 1})
    result = await run_pair(request, dear)
    assert (result.run.state, result.run.done, result.run.total) == ("cancelled", 1, 2)
    assert (result.run.reason or "").startswith("limit reached: max_calls=1 is used up")
    assert result.run.limits == {"max_calls": 1, "max_usd": 1}
    assert result.next == f"runs(action='resume', run='{result.run.run}')"
    assert result.pair is not None and len(result.pair.verdicts) == len(prompt_judge.asked) == 1
    again = await ask_runs(dear, "resume", result.run.run, max_calls=2)
    assert (again.state, len(prompt_judge.asked)) == ("done", 2)
    planned = await run_pair(request.model_copy(update={"dry_run": True, "repeats": 3}), dear)
    assert (planned.run.state, planned.run.total, planned.run.limits) == ("planned", 4, {"max_calls": 1, "max_usd": 1})


async def test_a_run_whose_price_is_known_no_more_is_not_taken_up_under_a_limit_in_usd(
    tmp_path: Path, prompt_judge: PromptJudge
) -> None:
    async with opened(tmp_path / "s.db", priced(prompt_judge.base_url)) as deps:
        stored(deps.store, pair_records(5))
        run = (await judge(asked(max_usd=2.5 * CALL_USD), deps)).run.run
    async with opened(tmp_path / "s.db", priced(prompt_judge.base_url, None)) as deps:
        report = await ask_runs(deps, "resume", run)
        assert (report.state, report.done) == ("failed", 3)
        assert (report.reason or "").startswith("max_usd cannot be kept: the price of 'judge-m' is not known.")
    assert len(prompt_judge.asked) == 3


async def test_calls_that_wait_for_room_in_a_limit_are_not_made_once_the_run_is_cancelled(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, pair_records(10))
    prompt_judge.gate.clear()
    run = (await judge(asked(max_tokens=10 * CALL_TOKENS, wait_s=0), judged)).run.run
    await prompt_judge.received(1)
    await ask_runs(judged, "cancel", run, wait_s=0)
    prompt_judge.gate.set()
    report = await ask_runs(judged, "wait", run)
    assert (report.state, report.done, report.reason) == ("cancelled", 1, "stopped; resume it to go on")
    assert len(prompt_judge.asked) == 1


async def test_calls_that_wait_for_room_in_a_limit_are_not_made_once_the_key_was_refused(tmp_path: Path) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url, "sk-wrong")) as deps:
        stored(deps.store, pair_records(10))
        result = await judge(asked(max_tokens=10 * CALL_TOKENS), deps)
        assert (result.run.state, result.run.done) == ("failed", 0)
        assert len(server.asked) == 1


async def test_a_dead_gateway_is_a_failure_and_not_a_limit(tmp_path: Path) -> None:
    async with PromptJudge(down=lambda: True) as server:
        gateway = keyed(server.base_url, max_attempts=1)
        async with opened(tmp_path / "s.db", gateway, concurrency=2, clock=VirtualClock()) as deps:
            stored(deps.store, pair_records(10))
            run = (await judge(JudgeRequest(audit="a", max_calls=3), deps)).run
    assert (run.state, run.done) == ("failed", 0)
    assert run.reason is not None and run.reason.startswith(
        "no call got a usable reply, the last one: The gateway failed"
    )


@pytest.mark.parametrize("limit", ["max_usd", "max_usd_per_task"])
def test_a_limit_beyond_all_money_is_refused_as_an_argument(limit: str) -> None:
    with pytest.raises(ValidationError):
        JudgeRequest.model_validate({"audit": "a", limit: 1e12})
