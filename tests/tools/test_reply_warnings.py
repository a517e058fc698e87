"""Judges that cannot be read, or whose context is too small, are named: while a run is at work, and when it is done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count as numbered
from pathlib import Path
from typing import Any

import pytest

from loopback import LoopbackServer, completion
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.probe_judge import probe_judge
from misjudge_tools.profiles import ModelSettings
from misjudge_tools.requests import JudgeRequest, ProbeRequest, RunPairRequest, RunsRequest
from misjudge_tools.results import JudgeResult, RunList
from misjudge_tools.run_pair import run_pair
from operations import Messages, PromptJudge, keyed, opened, pair_record, pair_records, stored, verdict_text, with_judge

NO_VERDICT = "Both are fine, I think."
CONFLICT = f"{verdict_text('A')} or {verdict_text('B')}"
CHECK = "check its prompt and reply_form."
CUT = "judge with truncate=middle (--truncate middle)."
LONG = "\n".join(f"Step {n}: I looked at the order once more." for n in range(700))


def unreadable(
    numbers: Iterable[int], said: str = NO_VERDICT, otherwise: str = verdict_text("A")
) -> Callable[[Messages], str]:
    """A judge whose replies with these numbers, from 0 on, cannot be read."""
    bad, number = frozenset(numbers), numbered()
    return lambda _: said if next(number) in bad else otherwise


@asynccontextmanager
async def two_judges(
    where: Path, pairs: int, one: Callable[[Messages], str], other: Callable[[Messages], str]
) -> AsyncIterator[Deps]:
    """`judge-m`, and `other` in a profile, each at a gateway of its own; asked one call at a time."""
    async with PromptJudge(one) as first, PromptJudge(other) as second:
        settings = keyed(first.base_url)
        theirs = (
            keyed(second.base_url, concurrency=1).role("judge").model_copy(update={"name": "other", "model": "other-m"})
        )
        models = ModelSettings(roles=settings.roles, profiles={"other": theirs})
        async with opened(where, models, concurrency=1) as deps:
            stored(deps.store, pair_records(pairs))
            yield deps


async def judged(deps: Deps, **values: Any) -> JudgeResult:
    return await judge(JudgeRequest.model_validate({"audit": "a", **values}), deps)


async def managed(deps: Deps, action: str, run: str) -> RunList:
    return await manage_runs(RunsRequest.model_validate({"action": action, "run": run}), deps)


@pytest.mark.parametrize("number", [5, 20])
async def test_one_judge_of_a_panel_that_cannot_be_read_stops_the_run_and_is_named(tmp_path: Path, number: int) -> None:
    async with two_judges(tmp_path / "s.db", 15, unreadable(()), unreadable(range(number))) as deps:
        found = await judged(deps, panel=["other"])
        assert found.run.state == "failed" and 39 <= found.run.done <= 41
        reason = found.run.reason or ""
        assert reason.startswith(f"{number} of the first 20 replies of other hold no readable verdict, so the run was")
        assert found.warnings == (), "the reason says it"
        ended = await managed(deps, "resume", found.run.run)
        assert ended.runs[0].state == "done", "who resumes has seen it"


async def test_the_unreadable_replies_of_several_judges_are_not_added_up(tmp_path: Path) -> None:
    async with two_judges(tmp_path / "s.db", 15, unreadable(range(4)), unreadable(range(4))) as deps:
        found = await judged(deps, panel=["other"])
    assert (found.run.state, found.run.done, found.run.unscored) == ("done", 60, {"parse_error": 8})


async def test_a_judge_that_comes_late_has_first_replies_of_its_own(tmp_path: Path) -> None:
    """A cascade asks its panel when the first judge has long been read."""
    tied = unreadable((), otherwise=verdict_text("tie"))
    async with two_judges(tmp_path / "s.db", 20, tied, unreadable(range(40))) as deps:
        found = await judged(deps, panel=["other"], cascade=True)
    assert (found.run.state, found.run.unscored) == ("failed", {"parse_error": 20})
    assert (found.run.reason or "").startswith("20 of the first 20 replies of other hold")


@pytest.mark.parametrize("said", [NO_VERDICT, ""])
async def test_a_run_with_all_calls_in_flight_at_once_says_so_when_it_is_done(tmp_path: Path, said: str) -> None:
    warned = f"24 of 24 replies of judge-m hold no readable verdict (parse_error): {CHECK}"
    async with PromptJudge(lambda _: said) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url), concurrency=32) as deps:
            stored(deps.store, pair_records(12))
            server.gate.clear()
            run = (await judged(deps, wait_s=0)).run.run
            await server.received(24)
            server.gate.set()
            ended = await managed(deps, "wait", run)
            assert (ended.runs[0].state, ended.runs[0].reason, ended.warnings) == ("done", None, (warned,))
            assert (await managed(deps, "status", run)).warnings == (warned,)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (2, ()),
        (3, (f"3 of 10 replies of judge-m hold no readable verdict (parse_error): {CHECK}",)),
    ],
)
async def test_it_is_said_from_more_than_a_fifth_on(tmp_path: Path, number: int, said: tuple[str, ...]) -> None:
    async with two_judges(tmp_path / "s.db", 5, unreadable(range(number)), unreadable(())) as deps:
        assert (await judged(deps, panel=["other"])).warnings == said


async def test_one_reply_and_two_reasons_are_said_as_such(tmp_path: Path) -> None:
    both = unreadable((0, 1), CONFLICT, NO_VERDICT)
    async with two_judges(tmp_path / "s.db", 2, unreadable((0,)), both) as deps:
        found = await judged(deps, panel=["other"])
    assert found.warnings == (
        f"1 of 4 replies of judge-m holds no readable verdict (parse_error): {CHECK}",
        f"4 of 4 replies of other hold no readable verdict (conflict, parse_error): {CHECK}",
    )


async def test_a_comparison_and_a_probing_say_it_too(tmp_path: Path) -> None:
    given = {"audit": "b", "task_id": "t", "task_prompt": "Do it.", "agent_a": "x", "agent_b": "y"}
    request = RunPairRequest.model_validate({**given, "trajectory_a": "Done.", "trajectory_b": "No."})
    async with PromptJudge(lambda _: NO_VERDICT) as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
            stored(deps.store, pair_records(2))
            compared = await run_pair(request, deps)
            assert compared.warnings == (f"2 of 2 replies of judge-m hold no readable verdict (parse_error): {CHECK}",)
            probed = await probe_judge(ProbeRequest(audit="a", probes=["whitespace"]), deps)
            way_on = "see which changes broke them, or check its prompt and reply_form."
            assert probed.warnings == (f"6 of 6 replies of judge-m hold no readable verdict (parse_error): {way_on}",)


@asynccontextmanager
async def small(where: Path, context: int = 4000, long: int = 1) -> AsyncIterator[Deps]:
    """A judge of so many tokens, a short pair and some long ones."""
    async with PromptJudge() as server:
        async with opened(where, with_judge(keyed(server.base_url), context_tokens=context)) as deps:
            said = [("I cancelled it.", "No."), *[(LONG, f"{LONG} {n}") for n in range(long)]]
            stored(deps.store, [pair_record(f"p{n}", "Cancel it.", both, "A") for n, both in enumerate(said)])
            yield deps


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, f"2 pairs do not fit the context of judge-m (4,000 tokens): {CUT}"),
        ({"pair_ids": ["p0", "p1"]}, f"1 pair does not fit the context of judge-m (4,000 tokens): {CUT}"),
        ({"form": "gate"}, f"4 trajectories do not fit the context of judge-m (4,000 tokens): {CUT}"),
    ],
)
async def test_what_does_not_fit_is_counted_and_said_with_the_way_on(
    tmp_path: Path, asked: dict[str, Any], said: str
) -> None:
    async with small(tmp_path / "s.db", long=2) as deps:
        assert [one for one in (await judged(deps, **asked)).warnings if "fit" in one] == [said]
        cut = await judged(deps, truncate="middle", **asked)
        assert (cut.run.state, cut.run.unscored, cut.warnings) == ("done", {}, ())


async def test_what_does_not_fit_even_cut_needs_another_judge(tmp_path: Path) -> None:
    async with small(tmp_path / "s.db", context=1500) as deps:
        found = await judged(deps, truncate="middle", pair_ids=["p1"])
    assert found.warnings == (
        "1 pair does not fit the context of judge-m+truncated (1,500 tokens), even cut: ask a judge that takes more.",
    )


async def test_what_only_the_gateway_finds_too_long_needs_the_context_stated(tmp_path: Path) -> None:
    async with LoopbackServer() as server, opened(tmp_path / "s.db", keyed(server.base_url), concurrency=1) as deps:
        stored(deps.store, pair_records(3))
        server.enqueue({"error": {"message": "maximum context length"}}, status=400, times=2)
        server.always(completion(verdict_text("A")))
        found = await judged(deps)
    assert found.warnings == (
        "1 pair does not fit the context of judge-m: state context_tokens in its profile, then "
        "judge with truncate=middle (--truncate middle).",
    )
