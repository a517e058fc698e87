"""`reuse`: replies that other audits hold to the very same question are taken instead of asking it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loopback import LoopbackServer, completion
from misjudge_storage.engine import Store
from misjudge_storage.types import Record
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.profiles import ModelSettings, PromptText
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import JudgeRequest, RecordRequest, RunPairRequest, RunsRequest, SummarizeRequest
from misjudge_tools.results import MARK, JudgeResult
from misjudge_tools.run_pair import run_pair
from misjudge_tools.summarize_audit import summarize_audit
from operations import (
    PromptJudge,
    count,
    keyed,
    opened,
    pair_record,
    pair_records,
    rows,
    stored,
    verdict_text,
    with_judge,
)

OTHER_SIDE = {"A": "B", "B": "A", "tie": "tie"}
OWN = PromptText(name="own", text="Be strict.\n---user---\n{task}\n{response_a}\n{response_b}")
SAID = ("It is cancelled.", "I could not do that.")


def asked(audit: str, **values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": audit, "reuse": True, **values})


def judgements(store: Store, audit: str) -> list[dict[str, Any]]:
    """What an audit's judges said, without the ids that hold the audit's name."""
    query = """
        SELECT v.pair_id, t.agent, v.order_shown, v.repeat, v.status, v.winner, v.score_a, v.score_b, v.score, v.reasons
        FROM verdicts v JOIN audits a ON a.audit_id = v.audit_id AND a.name = :audit
        LEFT JOIN trajectories t ON t.trajectory_id = v.trajectory_id
        ORDER BY v.pair_id, t.task_id, t.agent, v.order_shown, v.repeat
    """
    return rows(store, query, audit=audit)


def logs(store: Store, audit: str) -> list[dict[str, Any]]:
    """The logs of an audit, those of equal questions in equal places."""
    query = """
        SELECT l.* FROM judge_logs l JOIN audits a ON a.audit_id = l.audit_id AND a.name = :audit
        ORDER BY l.pair_id, l.order_shown, l.repeat, l.attempt
    """
    return rows(store, query, audit=audit)


def both(store: Store, records: Sequence[Record], others: Sequence[Record] | None = None) -> None:
    """The records in audit a, and the same (or others) in audit b."""
    stored(store, records, "a")
    stored(store, records if others is None else others, "b")


def use(result: JudgeResult) -> tuple[int, int | None, int | None, float | None]:
    (found,) = result.run.spent
    return found.calls, found.input_tokens, found.output_tokens, found.cost


async def test_a_second_audit_of_the_same_pairs_is_served_without_a_call(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    both(judged.store, list(pair_records(6)))
    first = await judge(asked("a"), judged)
    assert (first.run.from_cache, len(prompt_judge.asked)) == (0, 12)
    second = await judge(asked("b"), judged)
    assert (second.run.state, second.run.done, second.run.from_cache) == ("done", 12, 12)
    assert len(prompt_judge.asked) == 12
    assert use(second) == (0, None, None, 0.0)
    assert judgements(judged.store, "b") == judgements(judged.store, "a")
    assert [verdict.winner for verdict in second.verdicts] == [verdict.winner for verdict in first.verdicts]


async def test_a_log_says_that_its_reply_is_of_another_audit_and_was_free(
    tmp_path: Path, prompt_judge: PromptJudge
) -> None:
    dear = with_judge(keyed(prompt_judge.base_url), price=Price(input=1000, output=1000))
    async with opened(tmp_path / "s.db", dear) as deps:
        both(deps.store, list(pair_records(2)))
        await judge(asked("a"), deps)
        result = await judge(asked("b"), deps)
        originals, copies = logs(deps.store, "a"), logs(deps.store, "b")
        page = await read_record(RecordRequest(uri=f"misjudge://audits/b/logs/{copies[0]['log_id']}"), deps)
    assert page.record["cached_from"] == originals[0]["log_id"]
    for original, copy in zip(originals, copies, strict=True):
        assert (original["cached_from"], original["price_source"], original["input_tokens"]) == (
            None,
            "misjudge.toml",
            11,
        )
        assert (copy["cached_from"], copy["price_source"], copy["est_cost"]) == (original["log_id"], "cache", 0.0)
        empty = ("input_tokens", "output_tokens", "latency_ms", "request_id", "error", "reply_key")
        assert {name: copy[name] for name in empty} == dict.fromkeys(empty)
        same = ("raw_output", "parsed_json", "finish_reason", "model", "judge_id", "prompt_hash", "simulated")
        assert {name: copy[name] for name in same} == {name: original[name] for name in same}
        assert copy["run_id"] == result.run.run != original["run_id"]
        assert copy["rendered_hash"] != original["rendered_hash"], "each audit has a fence of its own"


async def test_a_summary_counts_the_replies_that_came_from_other_audits(judged: Deps) -> None:
    both(judged.store, list(pair_records(2)), list(pair_records(3)))
    await judge(asked("a"), judged)
    await judge(asked("b"), judged)
    summary = await summarize_audit(SummarizeRequest(audit="b"), judged)
    assert summary.provenance is not None
    assert (summary.provenance.from_cache, summary.provenance.asked) == (4, 2)


async def test_nothing_is_served_unless_it_is_asked_for(judged: Deps, prompt_judge: PromptJudge) -> None:
    both(judged.store, list(pair_records(3)))
    await judge(asked("a"), judged)
    result = await judge(asked("b", reuse=False), judged)
    assert (result.run.from_cache, result.run.done, len(prompt_judge.asked)) == (0, 6, 12)


async def test_replies_that_were_asked_without_reuse_are_served_too(judged: Deps, prompt_judge: PromptJudge) -> None:
    both(judged.store, list(pair_records(3)))
    await judge(asked("a", reuse=False), judged)
    assert (await judge(asked("b"), judged)).run.from_cache == len(prompt_judge.asked) == 6


async def test_satisfaction_is_served_too_and_not_to_a_pairwise_judge(judged: Deps, prompt_judge: PromptJudge) -> None:
    both(judged.store, list(pair_records(3)))
    await judge(asked("a", form="satisfaction"), judged)
    result = await judge(asked("b", form="satisfaction"), judged)
    assert (result.run.done, result.run.from_cache, len(prompt_judge.asked)) == (6, 6, 6)
    assert judgements(judged.store, "b") == judgements(judged.store, "a")
    assert (await judge(asked("b"), judged)).run.from_cache == 0


async def test_a_third_audit_is_served_from_the_original_and_not_from_the_copy(judged: Deps) -> None:
    both(judged.store, list(pair_records(2)))
    stored(judged.store, pair_records(2), "c")
    for audit in ("a", "b", "c"):
        await judge(asked(audit), judged)
    originals = [log["log_id"] for log in logs(judged.store, "a")]
    for audit in ("b", "c"):
        assert [log["cached_from"] for log in logs(judged.store, audit)] == originals


async def test_what_a_simulated_judge_said_stays_marked_as_made_up(deps: Deps) -> None:
    both(deps.store, list(pair_records(3)))
    await judge(asked("a", judge="simulated"), deps)
    result = await judge(asked("b", judge="simulated"), deps)
    assert (result.simulated, result.marked, result.run.from_cache, result.run.simulated) == (True, MARK, 6, True)
    assert {(log["simulated"], log["price_source"]) for log in logs(deps.store, "b")} == {(1, "cache")}
    assert (await summarize_audit(SummarizeRequest(audit="b"), deps)).simulated


async def test_a_pair_given_with_its_trajectories_is_served_too(judged: Deps, prompt_judge: PromptJudge) -> None:
    given = {
        "task_id": "t",
        "task_prompt": "Cancel order 1.",
        "agent_a": "x",
        "agent_b": "y",
        "trajectory_a": SAID[0],
        "trajectory_b": SAID[1],
    }
    first = await run_pair(RunPairRequest.model_validate({"audit": "a", **given}), judged)
    second = await run_pair(RunPairRequest.model_validate({"audit": "b", "reuse": True, **given}), judged)
    assert (second.run.from_cache, len(prompt_judge.asked)) == (2, 2)
    found = [result.pair.row for result in (first, second) if result.pair is not None and result.pair.row is not None]
    assert [row["judge_pref"] for row in found] == [found[0]["judge_pref"]] * 2


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"judge": "other-model"}, {}),
        ({"language": "zh"}, {}),
        ({"judge": "simulated"}, {}),
        ({}, {"temperature": 0.5}),
        ({}, {"max_tokens": 900}),
        ({}, {"prompt": OWN}),
    ],
    ids=["model", "language", "simulated", "temperature", "max_tokens", "prompt"],
)
async def test_another_judge_is_asked_itself(
    tmp_path: Path, prompt_judge: PromptJudge, values: dict[str, Any], settings: dict[str, Any]
) -> None:
    models = keyed(prompt_judge.base_url)
    async with opened(tmp_path / "s.db", models) as deps:
        both(deps.store, list(pair_records(2)))
        await judge(asked("a"), deps)
    async with opened(tmp_path / "s.db", with_judge(models, **settings)) as deps:
        result = await judge(asked("b", **values), deps)
        assert (result.run.state, result.run.done, result.run.from_cache) == ("done", 4, 0)
        assert use(result)[0] == 4


async def test_the_same_model_at_another_address_is_asked_itself(tmp_path: Path, prompt_judge: PromptJudge) -> None:
    async with PromptJudge() as elsewhere:
        async with opened(tmp_path / "s.db", keyed(prompt_judge.base_url)) as deps:
            both(deps.store, list(pair_records(2)))
            await judge(asked("a"), deps)
        async with opened(tmp_path / "s.db", keyed(elsewhere.base_url)) as deps:
            assert (await judge(asked("b"), deps)).run.from_cache == 0
        assert (len(prompt_judge.asked), len(elsewhere.asked)) == (4, 4)


async def test_another_spelling_of_the_address_is_the_same_gateway(tmp_path: Path, prompt_judge: PromptJudge) -> None:
    async with opened(tmp_path / "s.db", keyed(prompt_judge.base_url)) as deps:
        both(deps.store, list(pair_records(2)))
        await judge(asked("a"), deps)
    async with opened(tmp_path / "s.db", keyed(f" {prompt_judge.base_url}/ ")) as deps:
        assert (await judge(asked("b"), deps)).run.from_cache == 4


async def test_each_repeat_is_a_reply_of_its_own(judged: Deps, prompt_judge: PromptJudge) -> None:
    both(judged.store, list(pair_records(2)))
    await judge(asked("a"), judged)
    result = await judge(asked("b", repeats=2), judged)
    assert (result.run.done, result.run.from_cache, len(prompt_judge.asked)) == (8, 4, 8)
    by_repeat = {(log["repeat"], log["cached_from"] is not None) for log in logs(judged.store, "b")}
    assert by_repeat == {(0, True), (1, False)}


@pytest.mark.parametrize(
    "changed",
    [
        pair_record("p", "Cancel order 2.", SAID),
        pair_record("p", "Cancel order 1.", ("It is cancelled!", SAID[1])),
        pair_record("p", "Cancel order 1.", (SAID[0], "I could not do it.")),
    ],
    ids=["prompt", "side a", "side b"],
)
async def test_another_text_is_another_question(judged: Deps, prompt_judge: PromptJudge, changed: Record) -> None:
    both(judged.store, [pair_record("p", "Cancel order 1.", SAID)], [changed])
    await judge(asked("a"), judged)
    assert (await judge(asked("b"), judged)).run.from_cache == 0
    assert len(prompt_judge.asked) == 4


@pytest.mark.parametrize("field", ["success_criteria", "hard_constraints"])
async def test_other_criteria_make_another_question_and_another_name_of_the_task_does_not(
    judged: Deps, prompt_judge: PromptJudge, field: str
) -> None:
    record = pair_record("p", "Cancel order 1.", SAID)
    assert record.task is not None
    other = record.model_copy(update={"task": record.task.model_copy(update={field: "Be kind."})})
    both(judged.store, [record], [other])
    stored(judged.store, [pair_record("renamed", "Cancel order 1.", SAID, "A")], "c")
    await judge(asked("a"), judged)
    assert (await judge(asked("b"), judged)).run.from_cache == 0
    assert (await judge(asked("c"), judged)).run.from_cache == 2
    assert len(prompt_judge.asked) == 4


async def test_swapped_sides_are_the_same_question_in_the_other_order(judged: Deps, prompt_judge: PromptJudge) -> None:
    one, other = (pair_record("p", "Cancel order 1.", said) for said in (SAID, (SAID[1], SAID[0])))
    both(judged.store, [one], [other])
    await judge(asked("a", max_calls=1), judged)
    (first,) = judgements(judged.store, "a")
    result = await judge(asked("b"), judged)
    assert (result.run.done, result.run.from_cache, len(prompt_judge.asked)) == (2, 1, 2)
    served = {log["order_shown"]: log["cached_from"] is not None for log in logs(judged.store, "b")}
    assert (first["order_shown"], served) == ("AB", {"AB": False, "BA": True})
    (again,) = (found for found in judgements(judged.store, "b") if found["order_shown"] == "BA")
    assert again["winner"] == OTHER_SIDE[first["winner"]]
    assert (again["score_a"], again["score_b"]) == (first["score_b"], first["score_a"])


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({"error": {"message": "no"}}, 400),
        ({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400),
        (completion(verdict_text("A"), finish_reason="length"), 200),
        (completion(None, finish_reason="content_filter"), 200),
        (completion("", refusal="I cannot help with that."), 200),
        (completion("I like both."), 200),
        (completion(verdict_text("A") + verdict_text("B")), 200),
    ],
    ids=["failed", "overflow", "truncated", "filtered", "refused", "unreadable", "conflict"],
)
async def test_what_holds_no_verdict_is_never_served(tmp_path: Path, reply: dict[str, Any], status: int) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        both(deps.store, list(pair_records(1)))
        server.always(reply, status=status)
        await judge(asked("a"), deps)
        assert count(deps.store, "judge_logs") > 0
        before = len(server.requests)
        server.always(completion(verdict_text("B")))
        result = await judge(asked("b"), deps)
        assert (result.run.state, result.run.done, result.run.from_cache) == ("done", 2, 0)
        assert len(server.requests) == before + 2
        assert {found["status"] for found in judgements(deps.store, "b")} == {"scored"}


async def test_a_reply_that_was_whole_only_at_the_second_try_is_served_whole(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        both(deps.store, list(pair_records(1)))
        for _ in range(2):
            server.enqueue(completion('{"reasons": "Well', finish_reason="length"))
            server.enqueue(completion(verdict_text("A")))
        await judge(asked("a"), deps)
        result = await judge(asked("b"), deps)
        assert (result.run.state, result.run.from_cache, len(server.requests)) == ("done", 2, 4)
        assert judgements(deps.store, "b") == judgements(deps.store, "a")
        whole = [log["log_id"] for log in logs(deps.store, "a") if log["attempt"] == 2]
        assert [log["cached_from"] for log in logs(deps.store, "b")] == whole


async def test_served_replies_use_up_no_limit(tmp_path: Path, prompt_judge: PromptJudge) -> None:
    dear: ModelSettings = with_judge(keyed(prompt_judge.base_url), price=Price(input=1000, output=1000))
    async with opened(tmp_path / "s.db", dear, concurrency=1) as deps:
        both(deps.store, list(pair_records(5)), list(pair_records(6)))
        await judge(asked("a"), deps)
        result = await judge(asked("b", max_calls=2, max_usd=0.028, max_tokens=28), deps)
        assert (result.run.state, result.run.done, result.run.from_cache) == ("done", 12, 10)
        assert use(result)[:3] == (2, 22, 6)
        assert use(result)[3] == pytest.approx(0.028)
    assert len(prompt_judge.asked) == 12


async def test_served_replies_of_an_earlier_sitting_use_up_no_limit_either(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    both(judged.store, list(pair_records(10)), list(pair_records(12)))
    await judge(asked("a"), judged)
    run = (await judge(asked("b", max_calls=3), judged)).run
    assert (run.state, len(prompt_judge.asked)) == ("cancelled", 23)
    assert run.from_cache > 0
    (report,) = (await manage_runs(RunsRequest(action="resume", run=run.run, max_calls=4), judged)).runs
    assert (report.state, report.done, report.from_cache, report.spent[0].calls) == ("done", 24, 20, 4)
