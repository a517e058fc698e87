"""Summaries where little is known: silence is no verdict, and one task says nothing of others."""

from __future__ import annotations

from pathlib import Path

from builders import episode, lone, messages, pair, passed, satisfied, verdict
from misjudge_storage.types import Episode, Order, Record, Trajectory, Verdict
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize_audit
from misjudge_tools.summary.values import AuditSummary
from operations import opened, stored


async def summary(path: Path, records: list[Record]) -> AuditSummary:
    async with opened(path / "s.db") as deps:
        stored(deps.store, records)
        return await summarize_audit(SummarizeRequest(audit="a"), deps)


def unscored(order: Order) -> Verdict:
    return verdict(None, order, unscored_reason="timeout")


async def test_a_judge_that_said_nothing_was_neither_right_nor_wrong(tmp_path: Path) -> None:
    records = [pair("p1", episode("x", passed(True)), episode("y", passed(False)), unscored("AB"), unscored("BA"))]
    found = await summary(tmp_path, records)
    assert found.pairs is not None and (found.pairs.decidable, found.pairs.unscored) == (1, 1)
    assert found.misselection is not None and found.consistency is not None
    assert (found.misselection.rate, found.misselection.decided.rate, found.misselection.all_pairs_rate) == (None,) * 3
    assert (found.consistency.accuracy, found.consistency.vote_accuracy) == (None, None)
    assert found.unscored == {"timeout": 2}


def session(task: str, number: int, success: bool) -> Record:
    said = Trajectory(task_id=task, agent=f"agent {number}", messages=messages("Hi", f"{task} {number}"))
    return lone(Episode(trajectory=said, checks=(passed(success),), satisfaction=(satisfied(0.9),)), number)


async def test_sessions_of_one_task_count_as_one_cluster_of_satisfaction(tmp_path: Path) -> None:
    found = await summary(tmp_path, [session("t", number, number % 2 == 0) for number in range(1, 41)])
    assert found.satisfaction is not None
    for name in ("base_fail", "p_fail_given_satisfied"):
        rate = found.satisfaction.intervals[name]
        assert (rate.rate, rate.k, rate.n, rate.low, rate.high) == (0.5, 20, 40, 0.0, 1.0)


async def test_tasks_that_decide_success_widen_the_interval_of_satisfaction(tmp_path: Path) -> None:
    by_task = [session(f"t{n % 4}", n, n % 4 < 2) for n in range(1, 41)]
    apart = [session(f"t{n}", n, n % 4 < 2) for n in range(1, 41)]
    (tmp_path / "x").mkdir()
    clustered, single = await summary(tmp_path, by_task), await summary(tmp_path / "x", apart)
    assert clustered.satisfaction is not None and single.satisfaction is not None
    wide, narrow = clustered.satisfaction.intervals["base_fail"], single.satisfaction.intervals["base_fail"]
    assert (wide.rate, wide.n) == (narrow.rate, narrow.n) == (0.5, 40)
    assert wide.low is not None and narrow.low is not None and wide.low < narrow.low / 2
