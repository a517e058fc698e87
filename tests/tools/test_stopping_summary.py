"""The summary of an audit whose runs stop early: intervals that hold whenever they stop, and what that saved."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from cascade_parts import Says, Table, declared, judges, replies
from misjudge_storage.engine import Store
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest, SummarizeRequest
from misjudge_tools.stats.anytime import TaskShares, confidence_sequence, mean_share
from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.stats.rates import Tally
from misjudge_tools.summarize_audit import summarize_audit
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.stopping_facts import stopping_of
from misjudge_tools.summary.stopping_values import StoppingFacts
from operations import PromptJudge, keyed, opened, rows, stored

FORTY = 40
NEAR = frozenset(range(0, FORTY, 2))
TABLE: Table = {n: Says("B", 1, 5) if n in NEAR and n % 10 else Says("A", 5, 1) for n in range(FORTY)}
"""Wrong about most near pairs, right about all the others."""


async def judged(deps: Deps, **values: object) -> None:
    stored(deps.store, declared(FORTY, NEAR))
    await judge(JudgeRequest.model_validate({"audit": "a", **values}), deps)


async def summarized(deps: Deps) -> dict[str, Misselection]:
    """Misselection over all pairs (`all`) and by bucket of ability."""
    request = SummarizeRequest(audit="a", sections=["misselection", "buckets"])
    summary = await summarize_audit(request, deps)
    assert summary.misselection is not None and summary.buckets is not None
    found = {one.bucket: one.misselection for one in summary.buckets if one.gap == "ability"}
    others = [one.misselection.interval for one in summary.buckets if one.gap != "ability"]
    assert set(others) <= {"fixed"}
    return {"all": summary.misselection, **found}


def recounted(store: Store) -> dict[str, list[TaskShares]]:
    """Wrong of the scored calls of each task, over all pairs and by bucket."""
    query = """
        SELECT p.task_id, p.ability_bucket AS bucket, CASE WHEN v.winner = 'B' THEN 1 ELSE 0 END AS wrong
        FROM verdicts v JOIN pairs p USING (audit_id, pair_id) WHERE v.winner IS NOT NULL
    """  # gold says A of every pair
    by_task: defaultdict[tuple[str, str], Tally] = defaultdict(lambda: Tally(0, 0))
    for row in rows(store, query):
        for bucket in ("all", row["bucket"]):
            k, n = by_task[bucket, row["task_id"]]
            by_task[bucket, row["task_id"]] = Tally(k + row["wrong"], n + 1)
    counted: defaultdict[str, Counter[Tally]] = defaultdict(Counter)
    for (bucket, _), tally in by_task.items():
        counted[bucket][tally] += 1
    return {
        bucket: [TaskShares(k, n, tasks) for (k, n), tasks in tallies.items()] for bucket, tallies in counted.items()
    }


async def test_intervals_are_the_confidence_sequence_over_the_shares_of_tasks(tmp_path: Path) -> None:
    async with PromptJudge(replies(TABLE)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        await judged(deps, stop={"threshold": 0.3})
        found, expected = await summarized(deps), recounted(deps.store)
    assert found.keys() == expected.keys() == {"all", "near", "wide"}
    for bucket, wrong in found.items():
        shares = expected[bucket]
        assert wrong.interval == "anytime"
        assert (wrong.low, wrong.high) == pytest.approx(confidence_sequence(shares))
        assert wrong.rate == pytest.approx(mean_share(shares))
        assert (wrong.k, wrong.n) == (sum(s.k * s.tasks for s in shares), sum(s.n * s.tasks for s in shares))
        # Each task is one pair, and both orders agree: so does the rate of pairs.
        assert (wrong.decided.low, wrong.decided.high) == pytest.approx((wrong.low, wrong.high))
        assert wrong.n / 2 <= wrong.decided.n <= wrong.n / 2 + 1 and wrong.decided.coverage == 1


async def test_an_audit_with_a_number_of_tasks_that_was_set_keeps_wilsons_interval(tmp_path: Path) -> None:
    async with PromptJudge(replies(TABLE)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        await judged(deps)
        fixed = await summarized(deps)
        await judged(deps, stop={"width": 0.9})
        anytime = await summarized(deps)
        assert facts(deps.store) is not None
    assert {one.interval for one in fixed.values()} == {"fixed"}
    assert {one.interval for one in anytime.values()} == {"anytime"}, "from then on"
    for bucket, one in anytime.items():
        assert one.rate == pytest.approx(fixed[bucket].rate) and one.k == fixed[bucket].k
        assert bounds(one)[0] <= bounds(fixed[bucket])[0] and bounds(one)[1] >= bounds(fixed[bucket])[1]


def bounds(found: Misselection) -> tuple[float, float]:
    assert found.low is not None and found.high is not None
    return found.low, found.high


async def test_where_nothing_is_decidable_for_pairs_the_rate_of_pairs_is_none(tmp_path: Path) -> None:
    ties: Table = {n: Says("tie", 3, 3) for n in range(FORTY)}
    async with PromptJudge(replies(ties)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        await judged(deps, stop={"width": 0.3})
        found = (await summarized(deps))["all"]
    assert (found.rate, found.low, found.interval) == (0, 0, "anytime")
    assert (found.decided.rate, found.decided.low, found.decided.high, found.decided.n) == (None, None, None, 0)


def facts(store: Store) -> StoppingFacts | None:
    with store.read() as connection:
        return stopping_of(AuditCounts(connection, SummarizeRequest(audit="a")))


async def test_what_was_saved_is_told_once_for_the_same_request(tmp_path: Path) -> None:
    async with PromptJudge(replies(TABLE)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, declared(FORTY, NEAR))
        assert facts(deps.store) is None
        await judged(deps, stop={"threshold": 0.3})
        once = facts(deps.store)
        assert once is not None and once.pairs_saved > 0 and once.episodes_saved == 0
        assert once.calls_saved == 2 * FORTY - len(server.asked) == sum(one.calls for one in once.stopped)
        assert {(one.judge, one.bucket) for one in once.stopped} == {("judge-m", "near"), ("judge-m", "wide")}
        await judged(deps, stop={"threshold": 0.3})
        again = facts(deps.store)
        assert again is not None and set(again.stopped) == set(once.stopped)
        assert again.model_copy(update={"stopped": once.stopped}) == once
        await judged(deps, stop={"threshold": 0.31})
        more = facts(deps.store)
        assert more is not None and {(one.judge, one.bucket) for one in more.stopped} == {
            (one.judge, one.bucket) for one in once.stopped
        }, "each bucket once, as it was decided last"
        assert more.calls_saved == 2 * FORTY - len(server.asked) == sum(one.calls for one in more.stopped)


async def test_a_pair_is_saved_that_no_judge_was_asked_about_and_a_call_of_each_judge_is_one(tmp_path: Path) -> None:
    async with PromptJudge(replies(TABLE)) as server, PromptJudge(replies({})) as other:
        async with opened(tmp_path / "s.db", judges(server, {"strict": other})) as deps:
            await judged(deps, stop={"threshold": 0.3})
            first = facts(deps.store)
            await judged(deps, judge="strict", stop={"threshold": 0.3})
            both = facts(deps.store)
            pairs = rows(deps.store, "SELECT COUNT(DISTINCT pair_id) AS n FROM verdicts")[0]["n"]
    assert first is not None and both is not None
    assert both.pairs_saved == FORTY - pairs < first.pairs_saved + FORTY / 2
    assert both.calls_saved == 4 * FORTY - len(server.asked) - len(other.asked) > first.calls_saved


async def test_what_was_spared_and_asked_later_is_not_saved(tmp_path: Path) -> None:
    async with PromptJudge(replies(TABLE)) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        await judged(deps, stop={"threshold": 0.3})
        await judged(deps)
        assert len(server.asked) == 2 * FORTY
        later = facts(deps.store)
    assert later is not None and len(later.stopped) == 2
    assert (later.pairs_saved, later.calls_saved, {one.calls for one in later.stopped}) == (0, 0, {0})
