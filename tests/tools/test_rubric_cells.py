"""Runs whose cells write and match rubrics: in order, within limits, through trouble, and never paid for twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import count as numbered
from pathlib import Path
from typing import Any

import pytest

from fault_server import NO_FAULTS, USUAL, FaultServer
from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import run_progress
from misjudge_storage.errors import InvalidInput
from misjudge_storage.ingest import ensure_audit
from misjudge_storage.run_records import PlannedCell
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judging.choice import RubricSource, choose_judge, judge_of
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.requests import RunsRequest
from misjudge_tools.results import RunReport
from misjudge_tools.rubrics.plan import draft_id, with_drafts
from misjudge_tools.runs.plan import both_orders, pair_cells
from misjudge_tools.runs.planning import Plan
from misjudge_tools.runs.reply_warnings import reply_warnings
from misjudge_tools.runs.request_sizes import OF_REPLIES, OF_RUBRICS, USUAL_RUBRIC, USUAL_RULES
from misjudge_tools.runs.spec import RubricWork
from operations import Messages, PromptJudge, count, keyed, opened, rows, stored, verdict_text, with_judge
from rubric_cell_parts import (
    MATCHED,
    WRITTEN,
    Protocol,
    blocks,
    done,
    dry,
    ids_of,
    match_text,
    plan_of,
    rubric_records,
    rules_text,
    spec_of,
    spent_by,
    tasks_of,
    work_of,
    writes_and_matches,
)

ASKED_A_TASK = 4
"""A rubric, and three of its rules, since the fourth says a gold one."""
PRICE = Price(input=1000, output=1000)
CALL_USD = 0.014
UNSTATED: dict[str, Any] = {"usage": None}
MATCHES = "SELECT matching_id, rule, gold_rule, status, unscored_reason FROM rubric_matches ORDER BY matching_id, rule"


async def ask_runs(deps: Deps, action: str, run: str, **values: Any) -> RunReport:
    request = RunsRequest.model_validate({"action": action, "run": run, **values})
    (report,) = (await manage_runs(request, deps)).runs
    return report


@asynccontextmanager
async def writing(
    where: Path,
    number: int = 3,
    reply: Callable[[Messages], str] = writes_and_matches,
    *,
    concurrency: int = 1,
    price: Price | None = None,
    down: Callable[[], bool] = lambda: False,
) -> AsyncIterator[tuple[Deps, PromptJudge]]:
    """So many tasks with gold rules, and a model that writes and matches."""
    async with PromptJudge(reply, down=down) as server:
        settings = with_judge(keyed(server.base_url), price=price)
        async with opened(where, settings, concurrency=concurrency, clock=VirtualClock()) as deps:
            stored(deps.store, list(rubric_records(number)))
            yield deps, server


def kinds(server: PromptJudge) -> list[str]:
    """What each request was, in the order in which they came."""
    names = {"GOLD": "match", "RESPONSE A": "judge"}
    return [next((name for label, name in names.items() if label in blocks(turns)), "write") for turns in server.asked]


def self_judging(deps: Deps, work: RubricWork, number: int) -> Plan:
    """The work, and a judge that applies what its one writer wrote."""
    (writer_id,) = ids_of(work.writers)
    source = RubricSource(kind="self", name="self", writer_id=writer_id)
    judge = choose_judge(None, "pairwise", "en", deps.models, rubrics=source)
    audit = "SELECT audit_id FROM audits"
    (found,) = rows(deps.store, audit)
    pairs = pair_cells(found["audit_id"], ids_of([judge]), [f"p{n}" for n in range(number)], 1, both_orders)
    drafts = {f"p{n}": draft_id(found["audit_id"], writer_id, task) for n, task in enumerate(tasks_of(number))}
    return plan_of(work, number, [judge], list(with_drafts(pairs, drafts)))


async def test_a_matching_and_a_judge_that_applies_a_rubric_wait_until_it_is_written(tmp_path: Path) -> None:
    def applied(messages: Messages) -> str:
        if "RESPONSE A" not in blocks(messages):
            return writes_and_matches(messages)
        said = [{"rule": n, "reason": "", "a": "meets", "b": "fails"} for n in range(1, 5)]
        return json.dumps({"rules": said, **json.loads(verdict_text("A"))})

    async with writing(tmp_path / "s.db", 3, applied, concurrency=4) as (deps, server):
        report = await done(deps, self_judging(deps, work_of(deps), 3))
        assert (report.state, report.done, report.total, report.unscored) == ("done", 12, 12, {})
        assert [(stage.stage, stage.done) for stage in report.stages] == [
            *(("rubric_generate", 3), ("rubric_match", 3)),
            ("pairwise", 6),
        ]
        assert spent_by(report) == {"rubric_generate": 3, "rubric_match": 9, "rubric_apply": 6}
        assert count(deps.store, "rubric_rulings") == 6
    order = kinds(server)
    assert Counter(order) == {"write": 3, "match": 9, "judge": 6}
    for turns in server.asked:
        task = blocks(turns).get("RULES", "")
        assert not task or WRITTEN[2] in task


async def test_what_a_rubric_is_written_for_goes_before_further_rubrics(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 2) as (deps, server):
        await done(deps, plan_of(work_of(deps), 2))
    assert kinds(server) == ["write", "match", "match", "match"] * 2


async def test_a_second_call_for_the_same_asks_nothing(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 2) as (deps, server):
        first = await done(deps, plan_of(work_of(deps), 2))
        again = await done(deps, plan_of(work_of(deps), 2))
        assert (first.state, again.state, again.total) == ("done", "done", 0)
        assert len(server.asked) == 2 * ASKED_A_TASK


@pytest.mark.parametrize("most", range(1, 2 * ASKED_A_TASK))
async def test_a_limit_in_the_middle_of_a_matching_keeps_what_was_paid_for(tmp_path: Path, most: int) -> None:
    async with writing(tmp_path / "s.db", 2) as (deps, server):
        cut = await done(deps, plan_of(work_of(deps), 2), max_calls=most)
        assert (cut.state, len(server.asked)) == ("cancelled", most)
        assert cut.done < cut.total == 4
        assert (cut.reason or "").startswith(f"limit reached: max_calls={most} is used up ({most} calls asked).")
        assert "episodes were cut off" not in (cut.reason or "")
        ended = await ask_runs(deps, "resume", cut.run, max_calls=2 * ASKED_A_TASK)
        assert (ended.state, ended.done, len(server.asked)) == ("done", 4, 2 * ASKED_A_TASK)
        matched = rows(deps.store, MATCHES)
    assert [(row["rule"], row["gold_rule"]) for row in matched] == [*MATCHED.items()] * 2


async def test_a_process_that_ends_in_the_middle_pays_again_for_no_reply_that_came(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 4, concurrency=2) as (deps, server):
        server.gate.clear()
        run = (await done(deps, plan_of(work_of(deps), 4), wait_s=0)).run
        await server.received(2)
        server.gate.set()
        await server.received(7)
        server.gate.clear()
        await server.received(9)
        await deps.worker.aclose(grace_s=0)
        in_flight = 2
        server.gate.set()
        kept = count(deps.store, "judge_logs")
        assert kept >= 9 - in_flight
        async with opened(tmp_path / "s.db", deps.models) as other:
            ended = await ask_runs(other, "resume", run)
            assert (ended.state, ended.done) == ("done", 8)
            assert len(server.asked) <= 4 * ASKED_A_TASK + in_flight
            asked = Counter(turns[-1].content for turns in server.asked)
            assert len(asked) == 4 * ASKED_A_TASK and asked.total() == len(server.asked)
            assert [(row["rule"], row["gold_rule"]) for row in rows(other.store, MATCHES)] == [*MATCHED.items()] * 4


async def test_an_outage_is_waited_out_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    calls = numbered(1)
    async with writing(tmp_path / "s.db", 12, concurrency=3, down=lambda: 9 <= next(calls) <= 80) as (deps, server):
        report = await done(deps, plan_of(work_of(deps), 12))
        assert (report.state, report.done) == ("done", 24)
        assert max(Counter(turns[-1].content for turns in server.asked).values()) == 1
        assert len(server.asked) == 12 * ASKED_A_TASK
        assert sum(spent_by(report).values()) > 12 * ASKED_A_TASK, "the attempts that failed"


async def test_a_bad_connection_changes_no_result_and_pays_for_no_reply_twice(tmp_path: Path) -> None:
    outcomes = []
    for name, rates in (("clean", NO_FAULTS), ("faulty", USUAL._replace(stalled=0))):
        async with FaultServer(seed=5, rates=rates) as server:
            async with opened(tmp_path / name, keyed(server.base_url), concurrency=4, clock=VirtualClock()) as deps:
                with deps.store.write() as connection:
                    ensure_audit(connection, "a", secret="of both")  # the draws of the model go by the fences, too
                stored(deps.store, list(rubric_records(12)))
                report = await done(deps, plan_of(work_of(deps), 12))
                assert (report.state, report.done) == ("done", 24)
                outcomes.append(rows(deps.store, MATCHES))
            counts = server.counts()
    assert outcomes[0] == outcomes[1] != []
    assert sum(counts.faults.values()) >= 3 and max(counts.billed.values()) == 1


async def test_a_rubric_that_is_lost_leaves_what_waits_for_it_and_resuming_goes_on(tmp_path: Path) -> None:
    away = [True]

    def down() -> bool:
        return away[0]

    async with writing(tmp_path / "s.db", 2, down=down) as (deps, server):
        lost = await done(deps, plan_of(work_of(deps), 2))
        assert (lost.state, lost.done, lost.failed) == ("failed", 0, 2)
        assert (lost.reason or "").startswith("no call got a usable reply")
        away[0] = False
        retried = await ask_runs(deps, "retry", lost.run)
        assert (retried.state, retried.done, retried.failed) == ("cancelled", 2, 0)
        assert retried.reason == "the cells that had failed are done; resume it for the others"
        ended = await ask_runs(deps, "resume", lost.run)
        assert (ended.state, ended.done, len(server.asked)) == ("done", 4, 2 * ASKED_A_TASK)


async def test_a_run_that_needs_the_rubrics_of_another_one_says_so(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 2) as (deps, server):
        server.gate.clear()
        first_work = work_of(deps)
        first = (await done(deps, plan_of(first_work, 2), wait_s=0)).run
        await server.received(1)
        other = spec_of(deps, "rubric_match_batch")
        second = await done(deps, plan_of(RubricWork(writers=first_work.writers, matchers=(other,)), 2))
        assert (second.state, second.done, second.total) == ("cancelled", 0, 2)
        assert second.reason == ("what is left waits for rubrics that another run makes; resume it after that one")
        server.gate.set()
        assert (await ask_runs(deps, "wait", first)).state == "done"
        ended = await ask_runs(deps, "resume", second.run)
        assert (ended.state, len(server.asked)) == ("done", 2 * ASKED_A_TASK + 2)
        per_matcher = rows(deps.store, "SELECT COUNT(*) AS n FROM rubric_matchings GROUP BY matcher_id")
        assert [row["n"] for row in per_matcher] == [2, 2]


async def test_a_writer_whose_first_replies_hold_no_rules_ends_the_run(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 25, lambda _: "I would rather not.") as (deps, server):
        report = await done(deps, plan_of(RubricWork(writers=work_of(deps).writers), 25))
        assert (report.state, len(server.asked), report.unscored) == ("failed", 20, {"parse_error": 20})
        reason = report.reason or ""
        assert reason.startswith(
            "20 of the first 20 replies of judge-m hold no readable rules, so the run was stopped."
        )
        logs = {row["log_id"] for row in rows(deps.store, "SELECT log_id FROM judge_logs")}
        assert sum(log_id in reason for log_id in logs) == 3
        ended = await ask_runs(deps, "resume", report.run)
        assert (ended.state, ended.done) == ("done", 25), "who resumes has seen it"
        (warning,) = reply_warnings(deps.store, ended)
        assert warning == (
            "25 of 25 replies of judge-m hold no readable rules (parse_error): check its prompt, or ask another model."
        )


async def test_a_matcher_whose_first_answers_cannot_be_read_ends_the_run_and_is_warned_of_by_rule(
    tmp_path: Path,
) -> None:
    def unsure(messages: Messages) -> str:
        if "GOLD" not in blocks(messages):
            return rules_text(*WRITTEN)
        return match_text(None) if WRITTEN[2] in messages[-1].content else "Hard to say."

    async with writing(tmp_path / "s.db", 21, unsure) as (deps, _):
        report = await done(deps, plan_of(work_of(deps), 21))
        assert report.state == "failed"
        assert "20 of the first 20 replies of judge-m hold no readable matches" in (report.reason or "")
        ended = await ask_runs(deps, "resume", report.run)
        assert (ended.state, ended.unscored) == ("done", {})
        (warning,) = reply_warnings(deps.store, ended)
        assert warning.startswith("42 of 63 answers of judge-m ")
        assert warning.endswith("hold no readable match (parse_error): check its prompt, or ask another model.")


async def test_what_did_not_fit_is_warned_of(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 2) as (deps, server):
        report = await done(deps, plan_of(work_of(deps, context_tokens=1_030), 2))
        assert (report.state, report.unscored, server.asked) == (
            *("done", {"context_overflow": 2, "no_rubric": 2}),
            [],
        )
        assert reply_warnings(deps.store, report) == (
            "2 tasks do not fit the context of judge-m (1,030 tokens): ask a model that takes more.",
        )


async def test_replies_without_usage_count_as_the_most_that_they_can_have_taken_also_after_a_resume(
    tmp_path: Path,
) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        stored(deps.store, list(rubric_records(1)))
        server.enqueue({**completion(rules_text(*WRITTEN)), **UNSTATED})
        server.always({**completion(match_text(1)), **UNSTATED})
        cut = await done(deps, plan_of(work_of(deps), 1), max_tokens=8_000)
        used = len(server.requests)
        assert (cut.state, cut.spent[0].input_tokens) == ("cancelled", None) and 1 <= used < ASKED_A_TASK
        again = await ask_runs(deps, "resume", cut.run)
        assert (again.state, len(server.requests)) == ("cancelled", used), "what it took before still counts"
        assert "tokens counted" in (again.reason or "")
        ended = await ask_runs(deps, "resume", cut.run, max_tokens=100_000)
        assert (ended.state, len(server.requests)) == ("done", ASKED_A_TASK)


async def test_money_for_a_task_is_kept_apart_and_remembered(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 2, price=PRICE) as (deps, server):
        cut = await done(deps, plan_of(work_of(deps), 2), max_usd_per_task=2 * CALL_USD)
        assert (cut.state, len(server.asked)) == ("cancelled", 4)
        assert "max_usd_per_task is used up for 2 of the tasks" in (cut.reason or "")
        with deps.store.read() as connection:
            spent = run_progress.spent_by_task(connection, cut.run)
        assert spent == pytest.approx(dict.fromkeys(tasks_of(2), 2 * CALL_USD))
        again = await ask_runs(deps, "resume", cut.run)
        assert (again.state, len(server.asked)) == ("cancelled", 4)
        ended = await ask_runs(deps, "resume", cut.run, max_usd_per_task=1)
        assert (ended.state, len(server.asked)) == ("done", 2 * ASKED_A_TASK)


async def test_a_dry_run_says_what_writing_matching_and_applying_takes_before_and_after_rubrics_are_there(
    tmp_path: Path,
) -> None:
    async with writing(tmp_path / "s.db", 3, price=PRICE) as (deps, _):
        work = work_of(deps)
        plan = self_judging(deps, work, 3)
        report = dry(deps, plan)
        write, match, apply = report.plan
        assert [one.role for one in (write, match, apply)] == ["rubric_generate", "rubric_match", "rubric_apply"]
        assert (write.calls, match.calls, apply.calls) == (3, 3 * USUAL_RULES, 6)
        assert [one.estimated for one in report.plan] == [False, True, False]
        assert [one.most_cost is None for one in report.plan] == [False, True, True]
        assert [one.assumes for one in report.plan] == [(OF_RUBRICS,)] * 3
        assert report.most_cost is None and report.about_cost == total(one.about_cost for one in report.plan)
        await done(deps, plan_of(RubricWork(writers=work.writers), 3))
        report = dry(deps, plan)
        write, match, apply = report.plan
        assert (write.calls, match.calls, apply.calls) == (0, 3 * (ASKED_A_TASK - 1), 6)
        assert (write.most_cost, write.about_cost) == (0, 0)
        for one in (match, apply):
            assert not one.estimated and one.assumes == (OF_REPLIES,)
            assert one.about_cost is not None and one.calls * CALL_USD < one.about_cost
            assert one.most_cost is not None and one.about_cost < one.most_cost
        assert report.most_cost == total(one.most_cost for one in report.plan)
        assert report.about_cost == total(one.about_cost for one in report.plan)
        batch = dry(deps, plan_of(work_of(deps, "rubric_match_batch"), 3)).plan[1]
        assert (batch.calls, batch.form, batch.estimated) == (3, "rubric_match_batch", False)
        assert batch.most_cost is not None and match.most_cost is not None and batch.most_cost < match.most_cost


def total(costs: Iterable[float | None]) -> object:
    """So many USD, all of them known."""
    return pytest.approx(sum(cost for cost in costs if cost is not None))


@pytest.mark.parametrize("protocol", ["rubric_match", "rubric_match_batch"])
async def test_rubrics_that_are_written_as_usual_cost_what_was_estimated(tmp_path: Path, protocol: Protocol) -> None:
    def writes(messages: Messages) -> str:
        return rules_text(*(rule.text for rule in USUAL_RUBRIC))

    async with writing(tmp_path / "s.db", 3, writes, price=PRICE) as (deps, _):
        work = work_of(deps, protocol)
        plan = self_judging(deps, work, 3)
        _, match, apply = dry(deps, plan).plan
        await done(deps, plan_of(RubricWork(writers=work.writers), 3))
        _, known, applied = dry(deps, plan).plan
    assert (match.calls, apply.calls) == (known.calls, applied.calls)
    assert match.about_cost == pytest.approx(known.about_cost)
    assert apply.about_cost == pytest.approx(applied.about_cost, rel=0.01)
    assert match.most_cost is None is apply.most_cost and known.most_cost and applied.most_cost


async def test_where_some_rubrics_are_written_and_others_not_the_plan_stays_an_estimate(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 3, price=PRICE) as (deps, _):
        work = work_of(deps)
        await done(deps, plan_of(RubricWork(writers=work.writers), 1))
        report = dry(deps, self_judging(deps, work, 3))
    assert [one.calls for one in report.plan] == [2, ASKED_A_TASK - 1 + 2 * USUAL_RULES, 6]
    assert [one.estimated for one in report.plan] == [False, True, False]
    assert report.most_cost is None and report.about_cost


async def test_a_dry_run_of_a_batch_that_is_not_written_yet_is_one_call_a_task(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 3, price=PRICE) as (deps, _):
        plan = plan_of(work_of(deps, "rubric_match_batch"), 3)
        assert [one.calls for one in dry(deps, plan).plan] == [3, 3]
        new = [cell._replace(task_id="not stored") for cell in plan.cells]
        unknown = dry(deps, plan._replace(cells=new))
        assert [(one.calls, one.most_cost, one.about_cost, one.assumes) for one in unknown.plan] == [
            *((3, None, None, ()), (3, None, None, ()))
        ]
        assert (unknown.most_cost, unknown.about_cost) == (None, None)
        each = plan_of(work_of(deps), 3)
        new = [cell._replace(task_id="not stored") for cell in each.cells]
        unknown = dry(deps, each._replace(cells=new))
        assert [(one.calls, one.estimated) for one in unknown.plan] == [(3, False), (3 * USUAL_RULES, True)]


async def test_a_large_plan_at_a_gateway_that_may_cost_money_needs_a_limit(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 101) as (deps, server):
        plan = plan_of(work_of(deps), 40)
        about = r"This takes about 280 calls .* \(with rubrics of about 6 rules\)\. .* max_calls=280 .* be resumed\.$"
        with pytest.raises(InvalidInput, match=about):
            await done(deps, plan, max_calls=None)
        with pytest.raises(InvalidInput, match="max_usd cannot be kept: the price of 'judge-m' is not known"):
            dry(deps, plan, max_usd=1)
        assert server.asked == []
        work = work_of(deps)
        await done(deps, plan_of(RubricWork(writers=work.writers), 101))
        with pytest.raises(InvalidInput, match=r"This takes 303 calls to a gateway .* to see the plan\.$"):
            await done(deps, plan_of(work, 101), max_calls=None)


async def test_judges_that_write_or_match_are_stored_under_their_label_and_form(tmp_path: Path) -> None:
    async with writing(tmp_path / "s.db", 1) as (deps, _):
        work = work_of(deps)
        await done(deps, plan_of(work, 1))
        found = rows(deps.store, "SELECT judge_id, form, label FROM judges ORDER BY form")
    assert [(row["form"], row["judge_id"]) for row in found] == [
        ("rubric_generate", ids_of(work.writers)[0]),
        ("rubric_match", ids_of(work.matchers)[0]),
    ]
    assert judge_of(work.writers[0]).label == "judge-m"


@pytest.mark.parametrize("kind", ["rubric_generate", "rubric_match"])
async def test_a_run_whose_stored_plan_was_changed_fails_with_a_sentence(tmp_path: Path, kind: str) -> None:
    async with writing(tmp_path / "s.db", 1) as (deps, server):
        work = work_of(deps)
        cells: Sequence[PlannedCell] = plan_of(work, 1).cells
        changed = [cell._replace(actor_id="jdg_other") if cell.kind == kind else cell for cell in cells]
        report = await done(deps, plan_of(work, 1)._replace(cells=changed))
        assert report.state == "failed" and "Begin it anew." in (report.reason or "")
        judges_only = plan_of(work, 1)
        bare = judges_only._replace(spec=judges_only.spec.model_copy(update={"rubrics": None}), cells=cells)
        report = await done(deps, bare)
        assert report.state == "failed" and "names rubrics that its specification does not have" in (
            report.reason or ""
        )
        assert len(server.asked) <= 1
