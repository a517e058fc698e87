"""gauge-runs, judge-logs and trajectories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, Check, Log, Message, Record, Scale
from misjudge_tools.interchange.gauge_runs import read_gauge_runs
from misjudge_tools.interchange.judge_logs import read_judge_logs
from misjudge_tools.interchange.trajectories import read_trajectories

RUNS_HEADER = (
    "run_id,sim_user_model,judge_model,agent_model,satisfaction,task_success,prompt_tokens,completion_tokens,"
    "total_tokens,judge_flip"
)
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Done"}]


def gauge_runs(folder: Path, *lines: str, header: str = RUNS_HEADER, **options: Any) -> list[Record | BadRecord]:
    path = folder / "gauge_runs.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return list(read_gauge_runs(path, **options))


def json_lines(
    reader: Callable[..., Iterator[Record | BadRecord]], folder: Path, *rows: dict[str, Any], **options: Any
) -> list[Record | BadRecord]:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(reader(path, **options))


def only(records: list[Record | BadRecord]) -> Record:
    (record,) = records
    assert isinstance(record, Record), record
    return record


def problem(records: list[Record | BadRecord]) -> str:
    (record,) = records
    assert isinstance(record, BadRecord), record
    return record.problem


def test_a_gauge_run_is_a_session_with_its_success_and_the_judges_satisfaction(tmp_path: Path) -> None:
    record = only(gauge_runs(tmp_path, "r1,user-m,judge-m,agent-m,0.85,0,900,100,1000,1"))
    assert record.task is not None
    assert record.task.task_id == "r1"
    (episode,) = record.episodes
    trajectory = episode.trajectory
    assert (trajectory.agent, trajectory.input_tokens, trajectory.output_tokens) == ("agent-m", 900, 100)
    assert episode.checks == (Check(verifier="task_success", source="label", passed=False),)
    (score,) = episode.satisfaction
    assert (score.score, score.flip, score.judge.label, score.judge.model) == (0.85, True, "judge-m", "judge-m")
    assert score.judge.scale == Scale(low=0, high=1, threshold=0.8)
    assert episode.logs == (Log(role="user_sim", model="user-m"),)


def test_a_gauge_run_names_its_task_where_the_table_does(tmp_path: Path) -> None:
    header = "run_id,task_id,satisfaction,task_success"
    record = only(gauge_runs(tmp_path, "r1,t7,0.5,1", header=header))
    assert record.episodes[0].trajectory.task_id == "t7"
    assert record.episodes[0].trajectory.agent == "agent"
    assert record.episodes[0].logs == ()


def test_a_gauge_run_without_satisfaction_is_unscored(tmp_path: Path) -> None:
    (score,) = only(gauge_runs(tmp_path, "r1,u,j,a,,1,,,,")).episodes[0].satisfaction
    assert (score.score, score.unscored_reason) == (None, "parse_error")


def test_satisfaction_above_one_asks_for_its_scale(tmp_path: Path) -> None:
    lines = ("r1,u,j,a,0.9,1,,,,", "r2,u,j,a,6,0,,,,")
    with pytest.raises(InvalidInput, match=r"line 3 has a satisfaction above 1.*--scale 1-7"):
        gauge_runs(tmp_path, *lines)
    first, second = gauge_runs(tmp_path, *lines, scale="0-7:5")
    assert isinstance(first, Record) and isinstance(second, Record)
    (score,) = second.episodes[0].satisfaction
    assert (score.score, score.judge.scale) == (6, Scale(low=0, high=7, threshold=5))


def test_satisfaction_off_its_scale_is_refused(tmp_path: Path) -> None:
    assert problem(gauge_runs(tmp_path, "r1,u,j,a,-0.1,1,,,,")) == "satisfaction must be from 0 to 1"
    assert problem(gauge_runs(tmp_path, "r1,u,j,a,8,1,,,,", scale="1-7")) == "satisfaction must be from 1 to 7"
    assert "finite" in problem(gauge_runs(tmp_path, "r1,u,j,a,nan,1,,,,"))


@pytest.mark.parametrize("written", ["seven", "7", "5-1", "1-1", "1-5", "1-5:9", ""])
def test_a_scale_that_says_no_threshold_or_no_range_is_refused(tmp_path: Path, written: str) -> None:
    with pytest.raises(InvalidInput, match=r"LOW-HIGH:THRESHOLD"):
        gauge_runs(tmp_path, "r1,u,j,a,1,1,,,,", scale=written)


def test_the_usual_scales_bring_their_threshold(tmp_path: Path) -> None:
    for written, threshold in {"0-1": 0.8, "0-5": 4, "1-7": 5, "1-10": 8, "1-7:6": 6, "-1-1:0": 0}.items():
        (score,) = only(gauge_runs(tmp_path, "r1,u,j,a,1,1,,,,", scale=written)).episodes[0].satisfaction
        assert score.judge.scale.threshold == threshold


def test_a_table_of_other_columns_is_not_gauge_runs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is not a gauge-runs file: its first record has no satisfaction"):
        gauge_runs(tmp_path, "r1,1", header="run_id,score")


def test_a_judge_log_keeps_every_column_of_the_table(tmp_path: Path) -> None:
    log = Log(
        pair_id="p1",
        role="judge",
        model="gpt",
        turn=2,
        prompt_hash="0123456789abcdef",
        prompt_version="v1",
        rendered_hash="r",
        order_shown="BA",
        repeat=1,
        attempt=0,
        params='{"temperature": 0}',
        raw_output=' {"winner": "A"}\n',
        parsed_json='{"winner":"A"}',
        unscored_reason="truncated",
        error="e",
        finish_reason="length",
        input_tokens=10,
        output_tokens=5,
        latency_ms=12.5,
        est_cost=0.1,
        price_source="config",
        request_id="q",
        created_at="2025-01-31T12:00:00+00:00",
        simulated=True,
    )
    row = {**log.model_dump(), "log_id": "log_1", "run_id": None}
    assert only(json_lines(read_judge_logs, tmp_path, row)) == Record(line=1, logs=(log,))


def test_a_judge_log_takes_parsed_json_as_an_object_too(tmp_path: Path) -> None:
    row = {"role": "judge", "model": None, "parsed_json": {"winner": "A", "a": 1}, "params": ""}
    assert only(json_lines(read_judge_logs, tmp_path, row)).logs == (Log(parsed_json='{"a":1,"winner":"A"}'),)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"role": None}, "role is missing or empty"),
        ({"role": "oracle"}, "role must be agent, user_sim, judge"),
        ({"raw_output": 3}, "raw_output must be text"),
        ({"input_tokens": -1}, "input_tokens must be from 0 to"),
        ({"created_at": "yesterday"}, "created_at must be a time such as"),
        ({"model": True}, "model must be text"),
    ],
)
def test_a_judge_log_with_a_bad_field_is_refused(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    row = {"role": "judge", "model": "gpt", **fields}
    assert said in problem(json_lines(read_judge_logs, tmp_path, row))


def test_lines_without_a_role_are_not_judge_logs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is not a judge-logs file: its first record has no role"):
        json_lines(read_judge_logs, tmp_path, {"model": "gpt"})


def test_a_trajectory_line_is_an_episode_with_its_checks(tmp_path: Path) -> None:
    row = {
        "task_id": "t1",
        "agent": "alpha",
        "trial": 2,
        "messages": CHAT,
        "reward": 0.5,
        "reward_source": "verifier",
        "success": True,
        "success_source": "human",
        "prompt": " Book it. ",
        "category": "booking",
        "base_model": "m",
        "end_reason": "finished",
        "input_tokens": 5,
        "output_tokens": 7,
    }
    record = only(json_lines(read_trajectories, tmp_path, row))
    assert record.task is not None
    assert (record.task.task_id, record.task.prompt, record.task.category) == ("t1", " Book it. ", "booking")
    (episode,) = record.episodes
    trajectory = episode.trajectory
    assert trajectory.messages == (Message(role="user", content="Hi"), Message(role="assistant", content="Done"))
    assert (trajectory.trial, trajectory.base_model, trajectory.end_reason) == (2, "m", "finished")
    assert (trajectory.input_tokens, trajectory.output_tokens) == (5, 7)
    assert episode.checks == (
        Check(verifier="success", source="human", passed=True),
        Check(verifier="reward", source="verifier", reward=0.5),
    )


def test_a_bare_trajectory_has_no_checks_and_the_agent_may_be_named_for_all(tmp_path: Path) -> None:
    row = {"task_id": 7, "messages": CHAT, "system": [{"type": "text", "text": "Rules"}]}
    (episode,) = only(json_lines(read_trajectories, tmp_path, row, agent="beta")).episodes
    assert (episode.trajectory.task_id, episode.trajectory.agent, episode.checks) == ("7", "beta", ())
    assert episode.trajectory.messages is not None
    assert episode.trajectory.messages[0] == Message(role="system", content="Rules")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"agent": ""}, "agent is missing or empty"),
        ({"messages": []}, "messages is an empty list"),
        ({"messages": "Hi"}, "messages must be a list"),
        ({"messages": [{"role": "user", "content": 3}]}, "message 1 has content"),
        ({"prompt": ["x"]}, "prompt must be text"),
        ({"reward": "NaN"}, "reward must be a finite number"),
        ({"trial": -1}, "trial must be from 0 to"),
        ({"task_id": "t" * 401}, "task_id: string should have at most 400 characters"),
    ],
)
def test_a_bad_trajectory_is_refused_with_what_is_wrong(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    row = {"task_id": "t1", "agent": "alpha", "messages": CHAT, **fields}
    assert said in problem(json_lines(read_trajectories, tmp_path, row))


def test_lines_without_messages_are_not_trajectories(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is not a trajectories file: its first record has no messages"):
        json_lines(read_trajectories, tmp_path, {"task_id": "t1", "agent": "a"})


def test_an_unreadable_first_line_does_not_decide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    good = json.dumps({"task_id": "t1", "agent": "a", "messages": CHAT})
    path.write_text("{broken\n" + good + "\n", encoding="utf-8")
    assert [type(record) for record in read_trajectories(path)] == [BadRecord, Record]
