"""Tables, logs, the replay folder and Parquet: what is exported and imported again says the same."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from builders import episode, lone, messages, pair, passed, rewarded, satisfied, verdict
from generated import audits, fresh
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.types import Judge, Log, Message, Record, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import EpisodeSettings
from misjudge_tools.export_records import SUFFIXES, export_records
from misjudge_tools.exporting import parquet_files
from misjudge_tools.exporting.gauge_replay import file_names
from misjudge_tools.exporting.json_lines import write_jsonl
from misjudge_tools.exporting.spreadsheets import write_csv
from misjudge_tools.file_requests import ExportFormat, ExportRequest
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.import_records import import_records
from misjudge_tools.interchange.formula_guard import guarded, unguarded
from misjudge_tools.requests import ImportRequest
from misjudge_tools.results import ExportResult
from misjudge_tools.runs.sessions import session_opener
from misjudge_tools.runs.worker import Worker
from operations import NOWHERE, opened, rows, stored

HOSTILE = (
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx=1", "\r=1", "a;=1+1", "'=1", "''-1", "\uff1d1", "a\nb,\"c\"",
    "\u202eevil", "<script>alert(1)</script>", "\u2028", "甲",
)  # fmt: skip
NOT_OF_VALUE = {"audit_id", "created_at", "judge_fingerprint"}


def export(store: Store, out: Path, kind: str, audit: str = "first", **options: Any) -> ExportResult:
    async def run() -> ExportResult:
        return await export_records(
            ExportRequest.model_validate({"audit": audit, "format": kind, "out": str(out), **options}), _deps(store)
        )

    return asyncio.run(run())


def bring(store: Store, path: Path, audit: str, kind: str, **options: Any) -> str:
    async def run() -> None:
        given = {"audit": audit, "format": kind, "paths": [str(path)], **options}
        await import_records(ImportRequest.model_validate(given), _deps(store))

    asyncio.run(run())
    return str(rows(store, "SELECT audit_id FROM audits WHERE name = :name", name=audit)[0]["audit_id"])


def _deps(store: Store) -> Deps:
    gateways = Gateways()
    worker = Worker(store, session_opener(store, NOWHERE, gateways))
    return Deps(store, NOWHERE, EpisodeSettings(), gateways, worker, None)


def view(store: Store, audit_id: str) -> list[dict[str, Any]]:
    found = rows(store, "SELECT * FROM audit_pairs WHERE audit_id = :audit ORDER BY pair_id, judge", audit=audit_id)
    return [{name: value for name, value in row.items() if name not in NOT_OF_VALUE} for row in found]


@settings(max_examples=15)
@given(audits())
def test_pairs_that_are_exported_and_imported_again_are_the_same(records: list[Record]) -> None:
    with fresh() as (store, folder):
        first = stored(store, records, "first")
        export(store, folder / "audit_pairs.csv", "audit_pairs")
        second = bring(store, folder / "audit_pairs.csv", "second", "pairs")
        assert [known(row) for row in view(store, second)] == [known(row) for row in view(store, first)]


def known(row: dict[str, Any]) -> dict[str, Any]:
    """Whether repeats of one order or both orders disagreed is not in the file."""
    return {**row, "blind_order": "?", "judge_flip": "?"} if row["judge_status"] in {"weak", "inconsistent"} else row


def hostile_audit() -> list[Record]:
    return [
        pair(
            f"{name}p",
            episode(f"{name}x", passed(True), rewarded(-0.5), task=f"{name}t"),
            episode(f"{name}y", passed(False), rewarded(-1.5), task=f"{name}t"),
            verdict("B", "AB", judge=Judge(label=f"{name}j", form="pairwise", model="m")),
            line=line,
        )
        for line, name in enumerate((one.strip() for one in HOSTILE if one.strip()), 1)
    ]


def test_hostile_names_are_data_there_and_back() -> None:
    with fresh() as (store, folder):
        first = stored(store, hostile_audit(), "first")
        result = export(store, folder / "audit_pairs.csv", "audit_pairs")
        assert result.guarded > 20 and "quote in front" in result.notes[0]
        assert view(store, bring(store, folder / "audit_pairs.csv", "second", "pairs")) == view(store, first)
        with (folder / "audit_pairs.csv").open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.DictReader(file))
    for row in table:
        for name, cell in row.items():
            is_number = name.startswith("reward") or name == "selected_reward"
            assert is_number or not re.search(r"(\A|[;\t\r\n])[=+\-@\t\r\uff1d]", cell), (name, cell)
    assert {row["reward_a"] for row in table} == {"-0.5"}, "numbers stay numbers"


@given(st.text(alphabet="'=+-@\t\r\n;a\uff1d", max_size=12))
@example("'=x")
@example("\t=x")
def test_a_guarded_text_is_no_formula_and_comes_back(text: str) -> None:
    assert unguarded(guarded(text)) == text
    for cell in re.split("[;\t\r\n]", guarded(text)):
        assert not cell.startswith(("=", "+", "-", "@", "\uff1d"))


def test_plain_text_is_not_touched() -> None:
    for text in ("", "x", "a-b", "a=b", "it's", "'quoted'", "甲, 乙"):
        assert guarded(text) == unguarded(text) == text


def test_a_table_opens_in_pandas_with_its_types() -> None:
    with fresh() as (store, folder):
        stored(store, hostile_audit(), "first")
        export(store, folder / "t.csv", "audit_pairs")
        table = pd.read_csv(folder / "t.csv")
    assert table.columns[0] == "pair_id"
    assert table["reward_a"].dtype == "float64" and table["misselected"].sum() == len(table)


def test_a_spreadsheet_is_told_that_it_is_utf_8(tmp_path: Path) -> None:
    written = write_csv(tmp_path / "t.csv", ["a"], ({"a": text} for text in ("甲", "=1")))
    assert (tmp_path / "t.csv").read_bytes() == "\ufeffa\r\n甲\r\n'=1\r\n".encode()
    assert written == (2, 1)


LOGS = [
    Log(role="judge", model="m", pair_id="p", raw_output='{"winner": "A"}\n甲\u2028', parsed_json='{"winner":"A"}',
        params='{"temperature":0}', input_tokens=3, output_tokens=1, est_cost=0.25, price_source="list",
        created_at="2025-01-31T12:00:00.123456+00:00", order_shown="AB", repeat=2, attempt=3, latency_ms=1.5),
    Log(role="agent", model="=m", raw_output="", parsed_json="not { json", error="timeout", simulated=True, turn=4,
        params='{ "spaced": 1e999 }', finish_reason="stop", request_id="r", prompt_hash="ab", prompt_version="v",
        rendered_hash="cd", unscored_reason="timeout", created_at="2025-01-30T12:00:00+00:00"),
]  # fmt: skip
GIVEN_BY_THE_STORE = {"log_id", "audit_id"}


def logs(store: Store, audit_id: str) -> list[dict[str, Any]]:
    found = rows(store, "SELECT * FROM judge_logs WHERE audit_id = :audit ORDER BY created_at", audit=audit_id)
    return [{name: value for name, value in row.items() if name not in GIVEN_BY_THE_STORE} for row in found]


def test_logs_that_are_exported_and_imported_again_are_the_same() -> None:
    with fresh() as (store, folder):
        first = stored(store, [Record(line=n, logs=(log,)) for n, log in enumerate(LOGS, 1)], "first")
        result = export(store, folder / "judge_logs.jsonl", "judge_logs")
        assert [file.rows for file in result.files] == [2]
        assert logs(store, bring(store, folder / "judge_logs.jsonl", "second", "judge-logs")) == logs(store, first)
        text = (folder / "judge_logs.jsonl").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) == 2 and "甲" in text, "one object a line, unescaped"
    assert json.loads(lines[1])["parsed_json"] == {"winner": "A"}
    assert json.loads(lines[0])["parsed_json"] == "not { json"


def sessions(store: Store, audit_id: str) -> list[dict[str, Any]]:
    query = """
        SELECT t.task_id, t.agent, t.trial, t.input_tokens, t.output_tokens, t.simulated, o.success, o.success_source,
            j.label, v.score, v.status, v.flip, k.category
        FROM verdicts v JOIN trajectories t USING (trajectory_id) JOIN judges j ON j.judge_id = v.judge_id
            AND j.audit_id = v.audit_id
        JOIN trajectory_outcomes o USING (trajectory_id) JOIN tasks k ON k.audit_id = t.audit_id
            AND k.task_id = t.task_id
        WHERE v.audit_id = :audit ORDER BY t.task_id, t.agent, t.trial, j.label
    """
    return rows(store, query, audit=audit_id)


def test_sessions_that_are_exported_and_imported_again_are_the_same() -> None:
    other = Judge(label="=other", form="satisfaction", model="n", scale=Scale(low=0, high=1, threshold=0.8))
    records = [
        lone(episode("x", passed(True), satisfaction=[satisfied(0.5), satisfied(None, other)], input_tokens=3)),
        lone(episode("@y", passed(False), satisfaction=[satisfied(0.9)], trial=1, simulated=True), line=2),
    ]
    with fresh() as (store, folder):
        first = stored(store, records, "first")
        result = export(store, folder / "gauge_runs.csv", "gauge_runs")
        assert (result.files[0].rows, result.guarded) == (3, 2)
        second = bring(store, folder / "gauge_runs.csv", "second", "gauge-runs")
        assert sessions(store, second) == sessions(store, first)
        assert export(store, folder / "one.csv", "gauge_runs", judge="gate").files[0].rows == 2


CALLS = """
    SELECT pair_id, task_id, agent_left, agent_right, blind_order, judge_choice, reward_left, reward_right,
        selected_reward, lower_reward_selected, task_success, judge, repeat, simulated
    FROM pairwise WHERE audit_id = :audit ORDER BY pair_id, judge, repeat, blind_order
"""


@settings(max_examples=15)
@given(audits())
def test_the_replay_folder_holds_what_can_be_imported_again(records: list[Record]) -> None:
    with fresh() as (store, folder):
        first = stored(store, records, "first")
        result = export(store, folder / "replay", "gauge_replay")
        names = {file.name: file.rows for file in result.files}
        assert names["tasks.jsonl"] == rows(store, "SELECT COUNT(*) AS n FROM tasks")[0]["n"]
        reports = {path.name for path in (folder / "replay" / "reports").iterdir()}
        assert reports == {"pairwise_table.md", "token_cost.md", "conclusion.md"}
        assert {f"reports/{name}" for name in reports} < set(names)
        if names["pairs/pair_results.jsonl"]:
            file = folder / "replay" / "pairs" / "pair_results.jsonl"
            second = bring(store, file, "second", "replay")
            assert rows(store, CALLS, audit=second) == rows(store, CALLS, audit=first)
        for name in names:
            if name.startswith("agents/"):
                bring(store, folder / "replay" / name, "third", "trajectories")
        query = """
            SELECT task_id, agent, trial, messages_json, simulated, success, success_source, reward
            FROM trajectories JOIN trajectory_outcomes USING (trajectory_id, audit_id, task_id, agent, trial)
            WHERE audit_id = :audit AND trial IS NOT NULL ORDER BY 1, 2, 3
        """
        third = rows(store, "SELECT audit_id FROM audits WHERE name = 'third'")
        if third:
            assert rows(store, query, audit=third[0]["audit_id"]) == rows(store, query, audit=first)


def test_agents_have_files_that_every_system_takes() -> None:
    names = ["plain", "Plain", "../../etc/passwd", "con", "nul.txt", "a/b", ".hidden", "dot.", "甲", "x" * 300, "a:b"]
    files = file_names(names)
    assert files["plain"] == "plain.jsonl"
    assert len({file.lower() for file in files.values()}) == len(names)
    for file in files.values():
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,90}\.jsonl", file)
        assert file.partition(".")[0].lower() not in {"con", "nul"}


def test_parquet_holds_both_tables_with_their_types() -> None:
    with fresh() as (store, folder):
        records = [*hostile_audit(), Record(line=99, logs=(LOGS[0],))]
        stored(store, records, "first")
        result = export(store, folder / "tables", "parquet")
        pairs = pq.read_table(folder / "tables" / "audit_pairs.parquet")
        found = pq.read_table(folder / "tables" / "judge_logs.parquet")
        assert [file.rows for file in result.files] == [pairs.num_rows, found.num_rows]
    types = {name: str(pairs.schema.field(name).type) for name in ("trial", "reward_a", "judge", "created_at")}
    assert types == {"trial": "int64", "reward_a": "double", "judge": "string", "created_at": "timestamp[us, tz=UTC]"}
    assert "=cmd|' /C calc'!A0p" in pairs["pair_id"].to_pylist(), "nothing is guarded where nothing is calculated"
    assert found["raw_output"][0].as_py() == LOGS[0].raw_output
    assert found["simulated"].to_pylist() == [False]


@pytest.mark.parametrize(
    ("rows_", "bytes_", "groups"),
    [(65_536, 32_000_000, [450]), (400, 32_000_000, [400, 50]), (65_536, 1, [200, 200, 50])],
)
def test_row_groups_are_as_large_as_memory_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_: int, bytes_: int, groups: list[int]
) -> None:
    monkeypatch.setattr(parquet_files, "GROUP_ROWS", rows_)
    monkeypatch.setattr(parquet_files, "GROUP_BYTES", bytes_)
    numbers = ({"n": number, "text": "x"} for number in range(450))
    assert parquet_files.write_parquet(tmp_path / "t.parquet", {"n": "whole", "text": "text"}, numbers) == 450
    with pq.ParquetFile(tmp_path / "t.parquet") as file:
        assert [file.metadata.row_group(n).num_rows for n in range(file.metadata.num_row_groups)] == groups
        assert file.read()["n"].to_pylist() == list(range(450))


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    def nothing() -> Generator[dict[str, Any], None, None]:
        yield from ()

    assert parquet_files.write_parquet(tmp_path / "t.parquet", {"n": "whole"}, nothing()) == 0
    assert pq.read_table(tmp_path / "t.parquet").column_names == ["n"]


@pytest.mark.parametrize(
    ("kind", "reduces"),
    [
        *(("audit_pairs", False), ("judge_logs", False), ("gauge_runs", False), ("parquet", False), ("kto", False)),
        *(("gauge_replay", True), ("sarif", True), ("dpo", True)),
    ],
)
def test_only_formats_that_state_numbers_of_a_summary_reduce_the_audit(kind: ExportFormat, reduces: bool) -> None:
    with fresh() as (store, folder):
        said = [Message(role="user", content="Hi"), Message(role="assistant", content="Yes")]
        others = [said[0], Message(role="assistant", content="No")]
        stored(
            store,
            [pair("p", episode("x", passed(True), said=(*said,)), episode("y", passed(False), said=(*others,)))],
            "first",
        )
        out = folder / ("out" + "".join(SUFFIXES[kind][:1]))
        opened_: list[object] = []
        asked: list[str] = []
        event.listen(store.engine, "checkout", lambda *given: opened_.append(given))
        event.listen(store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
        export(store, out, kind)
    assert any("CREATE TEMPORARY TABLE" in statement for statement in asked) == reduces
    assert len(opened_) == 1, "numbers and rows are read over one connection"


def test_without_the_extra_it_is_said_which_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with fresh() as (store, folder):
        stored(store, [pair()], "first")
        with pytest.raises(InvalidInput, match=r"pip install 'misjudge\[parquet\]'"):
            export(store, folder / "tables", "parquet")
        assert not (folder / "tables").exists()


def test_no_line_of_jsonl_is_cut_by_what_it_holds(tmp_path: Path) -> None:
    def told() -> Generator[dict[str, Any], None, None]:
        yield {"text": "a\nb\r\u2028\u2029\x85\x0b"}
        yield {"text": "\x00"}

    assert write_jsonl(tmp_path / "t.jsonl", told()) == 2
    text = (tmp_path / "t.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["text"] for line in text.splitlines()] == ["a\nb\r\u2028\u2029\x85\x0b", "\x00"]
    assert len(io.StringIO(text).readlines()) == 2


async def test_an_export_stays_under_the_roots(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    async with opened(tmp_path / "misjudge.db", roots=(inside,)) as deps:
        stored(deps.store, [pair()], "first")
        with pytest.raises(InvalidInput, match="outside the folders that may be written to"):
            await export_records(ExportRequest(audit="first", format="audit_pairs", out=str(tmp_path / "a.csv")), deps)
        asked = ExportRequest(audit="first", format="audit_pairs", out=str(inside / "a.csv"))
        assert (await export_records(asked, deps)).path == str(inside / "a.csv")
        with pytest.raises(InvalidInput, match="is there already"):
            await export_records(asked, deps)
        await export_records(asked.model_copy(update={"force": True}), deps)


def test_a_missing_audit_or_judge_is_named() -> None:
    with fresh() as (store, folder):
        stored(store, [lone(episode("x", satisfaction=[satisfied(0.5)]))], "first")
        stored(store, [pair()], "second")
        with pytest.raises(NotFound, match="No audit is called"):
            export(store, folder / "a.csv", "audit_pairs", audit="no")
        with pytest.raises(NotFound, match="Its labels are: gate"):
            export(store, folder / "a.csv", "gauge_runs", judge="no")
        with pytest.raises(NotFound, match="It has no judge yet"):
            export(store, folder / "a.csv", "gauge_runs", audit="second", judge="no")
        assert not list(folder.glob("*.csv"))


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("audit_pairs", {"judge": "x"}, "--judge belongs to dpo and gauge_runs and sarif"),
        ("kto", {"keep": "judge_right"}, "--keep belongs to dpo"),
        ("sarif", {"allow_eval_tasks": True}, "--allow-eval-tasks belongs to dpo and kto"),
        ("dpo", {"keep": "judge_right"}, "A filter needs both"),
        ("dpo", {"judge": "x"}, "A filter needs both"),
    ],
)
def test_an_option_of_another_format_is_refused(kind: str, options: dict[str, Any], said: str) -> None:
    with fresh() as (store, folder), pytest.raises(InvalidInput, match=said):
        export(store, folder / "out", kind, **options)


def test_an_export_says_what_is_made_up() -> None:
    with fresh() as (store, folder):
        made_up = Judge(label="s", form="pairwise", simulated=True)
        stored(store, [pair("p", episode("x", said=messages("Hi")), None, verdict("A", "AB", judge=made_up))], "first")
        result = export(store, folder / "a.csv", "audit_pairs")
    assert result.marked is not None and result.marked.startswith("SIMULATED")
