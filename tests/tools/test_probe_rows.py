"""What stands in a row of a probing: drawn and failed sides apart, unreadable replies, and no reply of it elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import text

from misjudge_storage.types import GoldLabel
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.probe_judge import probe_judge
from misjudge_tools.requests import JudgeRequest, ProbeRequest
from misjudge_tools.results import ProbeResult
from operations import Messages, PromptJudge, keyed, labelled, opened, pair_record, rows, stored, verdict_text
from probe_parts import probed_records


def asked(**values: Any) -> ProbeRequest:
    return ProbeRequest.model_validate({"audit": "a", **values})


async def probe(deps: Deps, **values: Any) -> ProbeResult:
    return await probe_judge(asked(**values), deps)


async def test_a_drawn_and_a_failed_side_are_asked_apart_and_share_their_baselines(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    stored(judged.store, probed_records(4))
    first = await probe(judged, probes=["padding", "swapped_order"])
    assert (first.run.total, first.already_stored) == (4 * 4, 0)
    second = await probe(judged, probes=["padding", "swapped_order"], side="failed")
    assert (second.run.total, second.already_stored, len(prompt_judge.asked)) == (4, 4 * 3, 5 * 4)
    assert second.probes is not None
    assert {(row.probe, row.aim, row.n) for row in second.probes.rows} == {
        ("padding", None, 4),
        ("padding", "failed", 4),
        ("swapped_order", None, 4),
    }
    assert (await probe(judged, probes=["padding"])).run.total == 0
    assert (await probe(judged, probes=["padding"], side="failed")).run.total == 0


async def test_a_pair_whose_gold_is_corrected_counts_once_by_the_side_that_failed_then(
    judged: Deps, prompt_judge: PromptJudge
) -> None:
    label = GoldLabel(labeller="h", pref="B", source="human")
    stored(judged.store, [labelled(pair_record("g", "Do it.", ("It is done here.", "It is done there.")), label)])
    for better in ("B", "A"):
        with judged.store.write() as connection:
            connection.execute(text("UPDATE gold_labels SET pref = :better"), {"better": better})
        result = await probe(judged, probes=["padding"], side="failed")
        assert result.probes is not None
        assert [(row.probe, row.aim, row.n) for row in result.probes.rows] == [("padding", "failed", 1)]
    found = rows(judged.store, "SELECT side FROM probe_verdicts WHERE probe = 'padding' ORDER BY side")
    assert found == [{"side": "A"}, {"side": "B"}]


async def test_an_injection_that_breaks_every_reply_is_told_as_that(tmp_path: Path) -> None:
    """The server answers in prose, or not at all, where the prompt holds what is injected."""

    def broken(turns: Messages) -> str:
        return "I will not." if any("choose this response" in turn.content for turn in turns) else verdict_text("A")

    async with PromptJudge(broken) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, probed_records(20, language="en"))
        result = await probe(deps, probes=["injected_user", "padding"])
    assert result.probes is not None and result.run.state == "done"
    row, other = result.probes.rows
    assert (row.probe, row.unreadable, row.fooled) == ("injected_user", True, False)
    assert (row.n, row.replied, row.unscored, row.baseline_unscored) == (0, 20, 20, 0)
    assert (other.unreadable, other.unscored, other.replied) == (False, 0, 20)


def test_a_probing_cuts_nothing() -> None:
    """A change that was cut away would be none."""
    with pytest.raises(ValidationError, match="truncate"):
        asked(truncate="middle")
    assert JudgeRequest(audit="a", truncate="middle").truncate == "middle"


@pytest.mark.parametrize("audit", ["a", "b"])
async def test_no_reply_of_a_probing_is_taken_for_a_verdict(
    judged: Deps, prompt_judge: PromptJudge, audit: str
) -> None:
    """An unchanged call of a probing asks just what a judging asks, and its reply is one of a probed judge."""
    for name in ("a", "b"):
        stored(judged.store, probed_records(3), name)
    before = (await probe(judged, probes=["padding", "swapped_order"])).run.done
    assert rows(judged.store, "SELECT reply_key FROM judge_logs WHERE reply_key IS NOT NULL") == []
    for repeats in (1, 2):
        result = await judge(JudgeRequest(audit=audit, reuse=True, repeats=repeats), judged)
        assert (result.run.state, result.run.from_cache) == ("done", 0)
    assert len(prompt_judge.asked) == before + 3 * 2 * 2


async def test_no_reply_of_a_judging_is_taken_for_a_probe(judged: Deps, prompt_judge: PromptJudge) -> None:
    stored(judged.store, probed_records(2))
    await judge(JudgeRequest(audit="a", reuse=True, repeats=2), judged)
    before = len(prompt_judge.asked)
    result = await probe(judged, probes=["padding"])
    assert (result.run.total, len(prompt_judge.asked) - before) == (6, 6)
