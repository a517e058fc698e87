"""Probes as `read_record` shows them: each call with its log, its mark and its place in the lists."""

from __future__ import annotations

from misjudge_tools.deps import Deps
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.probe_judge import probe_judge
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import ProbeRequest, RecordRequest, RunsRequest
from misjudge_tools.results import MARK, MARK_EPISODES, RecordPage, marks, record_uri
from operations import PromptJudge, rows, stored
from probe_parts import probed_records


async def read(deps: Deps, uri: str) -> RecordPage:
    return await read_record(RecordRequest(uri=uri), deps)


async def probed(deps: Deps, judge: str) -> list[str]:
    """Ids of the calls of one probed pair."""
    request = ProbeRequest.model_validate({"audit": "a", "judge": judge, "probes": ["padding"]})
    await probe_judge(request, deps)
    return [row["probe_verdict_id"] for row in rows(deps.store, "SELECT probe_verdict_id FROM probe_verdicts")]


async def test_each_call_is_read_with_its_variant_and_the_log_that_it_is_from(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, probed_records(1))
    calls = [await read(judged, record_uri("a", "probes", call)) for call in await probed(judged, "judge-m")]
    assert [(call.marked, call.record["simulated"]) for call in calls] == [(None, False)] * 3
    assert {call.record["variant"].partition(":")[0] for call in calls} == {"baseline.en.v1", "padding.en.v1"}
    for call in calls:
        log = await read(judged, call.record["log"])
        assert (log.record["role"], log.record["cell_id"]) == ("probe", call.record["probe_verdict_id"])
        assert (log.record["order_shown"], log.record["repeat"]) == (call.record["order_shown"], call.record["repeat"])


async def test_what_a_simulated_judge_says_of_probes_is_marked_wherever_it_is_shown(deps: Deps) -> None:
    made = [
        record.model_copy(update={"episodes": tuple(one.model_copy(update={"trajectory": one.trajectory.model_copy(
            update={"simulated": True})}) for one in record.episodes)})
        for record in probed_records(1)
    ]  # fmt: skip
    stored(deps.store, made)
    (call, *_) = await probed(deps, "simulated")
    one = await read(deps, record_uri("a", "probes", call))
    listed = await read(deps, "misjudge://audits/a/probes")
    assert one.marked == listed.marked == marks(MARK, MARK_EPISODES)
    assert [row["simulated"] for row in listed.record["probes"]] == [True] * 3
    assert listed.record["total"] == 3
    assert (await read(deps, record_uri("a", "logs", one.record["log_id"]))).marked == MARK


async def test_an_audit_counts_its_probes_apart_from_its_verdicts(deps: Deps) -> None:
    stored(deps.store, probed_records(2))
    await probed(deps, "simulated")
    counts = (await read(deps, "misjudge://audits/a")).record["counts"]
    assert (counts["probe_verdicts"], counts["verdicts"]) == (6, 0)


async def test_a_run_of_probes_is_listed_with_what_it_did(deps: Deps) -> None:
    stored(deps.store, probed_records(2))
    await probed(deps, "simulated")
    listing = await manage_runs(RunsRequest(action="list"), deps)
    (run,) = listing.runs
    assert (run.operation, run.state, run.done, run.total, run.simulated) == ("probe_judge", "done", 6, 6, True)
    assert [(use.role, use.calls, use.cost) for use in run.spent] == [("probe", 6, 0.0)]
    assert listing.pair is None and (await read(deps, f"misjudge://runs/{run.run}")).marked == MARK
