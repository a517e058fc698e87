"""A store that an older version left behind becomes this version's, with every row that it held."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Connection, DateTime, Engine, MetaData, make_url, text
from sqlalchemy.types import TypeEngine
from sqlmodel import SQLModel

from builders import JUDGE, SATISFACTION, episode, label, messages, pair, passed, satisfied, verdict
from misjudge_storage import leases, rubric_library, run_progress, run_records
from misjudge_storage.columns import utc_now
from misjudge_storage.connections import postgres_engine
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import StoreUnwritable
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.judging_records import read_pair_subjects, read_pair_truths, stored_replies
from misjudge_storage.label_records import Answer, add_answers
from misjudge_storage.migrations import all_migrations
from misjudge_storage.probe_records import probed_judge
from misjudge_storage.review_records import Review, Vote, give_out, imported_votes, votes_of
from misjudge_storage.rubric_counts import draft_tasks
from misjudge_storage.run_progress import Progress, RoleSpend, Stage
from misjudge_storage.run_records import PlannedCell, RunRow
from misjudge_storage.types import Log, Record
from misjudge_storage.upgrading import upgrade

VERSIONS = (2, 3, 4, 5, 6, 7)
NEWEST = all_migrations()[-1].number
OLD_JUDGE = JUDGE.model_copy(update={"origin": "imported"})
OLD_GATE = SATISFACTION.model_copy(update={"origin": "imported"})
LIVE_PAIR = "query_boot_size#0:diligent|flaky:0.5"
PLANTED = '{"planted":{"position":0.2,"politeness":0.4,"noise":0.05,"lenience":0.6,"seed":7},"simulated":true,'
"""What is stored now with a run of a simulated judge; it was the only one that an old version had."""

Row = dict[str, Any]


def dump(version: int) -> str:
    """What sqlite3's dump wrote of a store of this version."""
    return Path(__file__).with_name(f"store_v{version}.sql").read_text(encoding="utf-8")


def imported() -> Iterator[Record]:
    """The records that the stores of the dumps had imported."""
    agent = Log(role="agent", est_cost=0.5)
    x = episode("x", passed(True), said=messages("hi", "done"), satisfaction=[satisfied(0.9, OLD_GATE)], logs=[agent])
    y = episode("y", passed(False), said=messages("hi", "no"), satisfaction=[satisfied(None, OLD_GATE)])
    call = {"model": "judge-m", "raw_output": "A", "input_tokens": 7, "output_tokens": 1, "est_cost": 0.25}
    logs = [Log(**call, price_source="imported")]
    both = (verdict("A", "AB", judge=OLD_JUDGE), verdict(None, "BA", judge=OLD_JUDGE))
    yield pair("p1", x, y, *both, gold=[label("A")], logs=logs)
    yield pair("p2", x, y, verdict("B", "AB", judge=OLD_JUDGE), line=2, logs=logs)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def old(tmp_path: Path, version: int) -> Path:
    """A store of this version."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(dump(version))
    return path


@pytest.fixture
def upgraded(old: Path) -> Iterator[Store]:
    store = open_store(old)
    yield store
    store.close()


def rows_of(path: Path, kind: str = "table") -> dict[str, list[Row]]:
    """The rows of every table or view."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,)).fetchall()
        return {
            row["name"]: sorted((dict(found) for found in connection.execute(f"SELECT * FROM {row['name']}")), key=repr)
            for row in named
        }


def as_today(table: str, row: Row, version: int) -> Row:
    """What an upgrade makes of an old row, without columns that were added."""
    if version > 3:
        return row
    if table == "cells":
        return {"actor_id" if name == "judge_id" else name: value for name, value in row.items()}
    if table == "runs":
        asked = row["request_json"].replace('{"kind":"simulated"', f'{PLANTED}"kind":"simulated"')
        return {**row, "request_json": f'{{"judges":[{asked}],"rollouts":null}}'}
    return row


def test_no_row_is_lost_or_changed_and_a_copy_is_kept(old: Path, version: int) -> None:
    before = rows_of(old)
    open_store(old).close()
    after = rows_of(old)
    assert all(before.values())
    assert rows_of(old.with_name(f"old.db.v{version}.bak")) == before
    applied = after.pop("schema_version")
    assert applied[:version] == before.pop("schema_version")
    assert [row["number"] for row in applied] == list(range(1, NEWEST + 1))
    for table, rows in before.items():
        wanted = [as_today(table, row, version) for row in rows]
        assert [{name: row[name] for name in wanted[0]} for row in after.pop(table)] == wanted, table
    assert not any(after.values())
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_views_of_an_upgraded_store_say_what_they_said_and_what_is_made_up(old: Path, version: int) -> None:
    before = rows_of(old, "view")
    open_store(old).close()
    after = rows_of(old, "view")
    shown = after["audit_pairs"] + after["pairwise"]
    made_up = {(row["judge"], row["pair_id"] == LIVE_PAIR) for row in shown if row["simulated"]}
    if version < 4:  # which did not say what is made up
        for row in shown:
            del row["simulated"]
    assert after | before == after and len(after) == len(before) + 1  # standing_checks, which are new
    assert all(before.values())
    of_live = {("judge-n", True)} if version > 3 else set()
    assert made_up == ({("simulated", False)} if version > 2 else set()) | of_live
    judged = {(row["pair_id"], row["judge_pref"], row["judge"] == "judge") for row in before["audit_pairs"]}
    live = {(LIVE_PAIR, "A", False)} if version > 3 else set()
    by_rules = {("p0", None, False), ("p1", None, False)} if version > 5 else set()
    assert judged == {("p1", "A", False), ("p1", None, True), ("p2", "B", True)} | live | by_rules


def judging_runs(connection: Connection) -> dict[str, RunRow]:
    """The runs that only judge, by state."""
    return {run.state: run for run in run_records.list_runs(connection, None) if run.operation == "judge"}


def test_an_old_run_goes_on_where_it_was_stopped(upgraded: Store, version: int) -> None:
    with upgraded.write() as connection:
        runs = judging_runs(connection)
        stopped, waiting = runs["cancelled"], runs["queued"]
        assert stopped.reason == "stopped; resume it to go on"
        assert stopped.budget_json == (None if version == 2 else '{"max_calls":10,"max_usd":0.5}')
        assert (waiting.budget_json, waiting.note, waiting.stop_requested) == (None, None, False)
        assert run_progress.stages(connection, stopped.run_id) == [Stage("pairwise", 2, 4)]
        assert run_progress.progress(connection, waiting.run_id) == Progress(0, 2)
        assert run_progress.calls_made(connection, stopped.run_id) == (2 if version == 2 else 1)
        left = run_records.pending(connection, stopped.run_id, 0, 10)
        assert [(cell.seq, cell.pair_id, cell.order_shown) for cell in left] == [(3, "p2", "AB"), (4, "p2", "BA")]
        asked = text("SELECT judge_id FROM judges WHERE audit_id = :audit AND origin = 'gateway' AND NOT simulated")
        assert {cell.actor_id for cell in left} == set(connection.scalars(asked, {"audit": stopped.audit_id}))
        assert run_records.run_with_key(connection, "nightly") == stopped.run_id
        lease = leases.claim(connection, stopped.run_id, "one")
        assert lease is not None
        assert lease.epoch == 2


@pytest.mark.parametrize("version", [3, 4, 5, 6, 7], indirect=True)
def test_what_version_3_knew_of_limits_pauses_and_replies_is_kept(upgraded: Store) -> None:
    with upgraded.write() as connection:
        runs = judging_runs(connection)
        killed, stopped = runs["lost"], runs["cancelled"]
        assert (killed.live, killed.note) == (False, "paused until the gateway answers again")
        (failed,) = run_records.pending(connection, killed.run_id, 0, 10, only_failed=True)
        assert run_progress.failed_cells(connection, killed.run_id) == [failed.cell_id]
        assert run_progress.spent(connection, stopped.run_id) == [
            RoleSpend("judge", 2, 1, 100, 9, 0.125, replies_without_price=0)
        ]
        replies = stored_replies(connection, ["rpl_1", "rpl_2"])
        assert {key: reply.model for key, reply in replies.items()} == {"rpl_1": "judge-n"}
        assert leases.claim(connection, killed.run_id, "one") == leases.Lease(killed.run_id, "one", 2)
        assert run_records.read_run(connection, killed.run_id).note is None


@pytest.mark.parametrize("version", [4, 5, 6, 7], indirect=True)
def test_a_live_run_of_version_4_or_later_keeps_its_episodes_and_what_is_left_of_its_plan(upgraded: Store) -> None:
    with upgraded.write() as connection:
        (live,) = [run for run in run_records.list_runs(connection, None) if run.operation == "run_pair"]
        assert (live.audit, live.state, live.budget_json) == ("live", "cancelled", '{"max_calls":1}')
        assert run_progress.stages(connection, live.run_id) == [Stage("rollout", 2, 2), Stage("pairwise", 1, 2)]
        (left,) = run_records.pending(connection, live.run_id, 0, 10)
        assert (left.kind, left.pair_id, left.order_shown, left.variant) == ("pairwise", LIVE_PAIR, "BA", None)
        (pair,) = read_pair_subjects(connection, live.audit_id, [LIVE_PAIR])
        assert pair.names == {"diligent", "flaky:0.5"} and pair.a and pair.b
        truth = read_pair_truths(connection, live.audit_id, [LIVE_PAIR])
        assert [(one.a.success, one.b.success) for one in truth] == [(True, True)]
        assert run_records.run_with_key(connection, "weekly") == live.run_id
        lease = leases.claim(connection, live.run_id, "one")
        assert lease is not None
        probed = PlannedCell("cell_probe", "probe", left.actor_id, LIVE_PAIR, None, "AB", 0, variant="padding.en.v1:A")
        again = run_records.create_run(connection, live.audit_id, "probe_judge", "{}", None, [probed])
        assert run_records.pending(connection, again, 0, 10) == [probed._replace(seq=1)]


@pytest.mark.parametrize("version", [5, 6, 7], indirect=True)
def test_a_probing_of_version_5_or_later_keeps_its_verdicts_and_what_is_left_of_its_plan(upgraded: Store) -> None:
    with upgraded.write() as connection:
        (probing,) = [run for run in run_records.list_runs(connection, None) if run.operation == "probe_judge"]
        assert (probing.audit, probing.state, probing.budget_json) == ("live", "cancelled", '{"max_calls":3}')
        assert run_progress.stages(connection, probing.run_id) == [Stage("probe", 3, 4)]
        (left,) = run_records.pending(connection, probing.run_id, 0, 10)
        assert (left.kind, left.pair_id, left.variant) == ("probe", LIVE_PAIR, "politeness.en.v1:B")
        assert (left.task_id, left.draft_id) == (None, None)
        counted = probed_judge(connection, probing.audit_id, left.actor_id)
        assert counted is not None
        assert [(one.probe, one.items, one.flips) for one in counted.probes] == [("padding", 1, 0)]
        assert run_records.run_with_key(connection, "monthly") == probing.run_id
        drafted = PlannedCell(
            "cell_draft", "rubric_generate", left.actor_id, None, None, None, 0, task_id="query_boot_size"
        )
        again = run_records.create_run(connection, probing.audit_id, "score_rubrics", "{}", None, [drafted])
        assert run_records.pending(connection, again, 0, 10) == [drafted._replace(seq=1)]


@pytest.mark.parametrize("version", [6, 7], indirect=True)
def test_rules_of_version_6_or_later_keep_what_was_written_matched_and_judged_by_them(upgraded: Store) -> None:
    with upgraded.write() as connection:
        (gap,) = [run for run in run_records.list_runs(connection, None) if run.operation == "score_rubrics"]
        assert (gap.audit, gap.state, gap.budget_json) == ("rules", "cancelled", '{"max_calls":14}')
        stages = [Stage("rubric_generate", 2, 2), Stage("rubric_match", 2, 2), Stage("pairwise", 6, 12)]
        assert run_progress.stages(connection, gap.run_id) == stages
        left = run_records.pending(connection, gap.run_id, 0, 10)
        assert [(cell.kind, cell.pair_id, cell.order_shown) for cell in left] == 3 * [
            ("pairwise", "p1", "AB"),
            ("pairwise", "p1", "BA"),
        ]
        drafts = draft_tasks(connection, gap.audit_id)
        assert [(draft.task_id, draft.generated, draft.total_gold) for draft in drafts] == [
            ("task of p0", 4, 3),
            ("task of p1", 4, 3),
        ]
        assert run_records.run_with_key(connection, "by rules") == gap.run_id
        (kept,) = rubric_library.entries(connection)
        assert (kept.name, kept.version, kept.number) == ("orders", 1, 2)
        lease = leases.claim(connection, gap.run_id, "one")
        assert lease is not None


@pytest.mark.parametrize("version", [7], indirect=True)
def test_a_session_of_version_7_keeps_its_time(upgraded: Store) -> None:
    with upgraded.read() as connection:
        times = connection.execute(text("SELECT task_id, occurred_at FROM trajectories WHERE occurred_at IS NOT NULL"))
        assert [(task, str(at)[:16]) for task, at in times] == [("session", "2026-11-03 09:30")]


def test_a_label_of_an_old_store_is_of_no_stream_and_a_reviewer_corrects_it(upgraded: Store) -> None:
    with upgraded.write() as connection:
        audit_id = ensure_audit(connection, "demo")
        assert (imported_votes(connection, audit_id), votes_of(connection, audit_id)) == ([Vote("p1", "ann", "A")], [])
        given = Review("rev_1", "p1", "ann", "random", 2.0, "BA", utc_now())
        give_out(connection, audit_id, [given])
        assert add_answers(connection, audit_id, "ann", [Answer(given, "B")], "page") == ["correction"]
        assert votes_of(connection, audit_id) == [Vote("p1", "ann", "B")]
        streams = connection.execute(text("SELECT pref, stream FROM gold_labels ORDER BY created_at")).all()
        assert streams == [("A", None), ("B", "random")]


def test_importing_the_same_file_into_an_upgraded_store_adds_nothing(upgraded: Store) -> None:
    with upgraded.write() as connection:
        again = ingest(connection, ensure_audit(connection, "demo"), "pairs", imported())
    assert set(again.added.values()) == {0}


def test_an_old_store_is_left_alone_while_a_run_works_on_it(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        until = (utc_now() + timedelta(seconds=20)).strftime("%Y-%m-%d %H:%M:%S.%f")
        working = "UPDATE runs SET state = 'running', owner = 'one', lease_until = ? WHERE state = 'queued'"
        connection.execute(working, (until,))
        connection.commit()
    before = rows_of(old)
    with pytest.raises(StoreUnwritable, match=r"must be upgraded, but run run_[0-9a-f]+ is working on it"):
        open_store(old)
    assert rows_of(old) == before
    assert not list(old.parent.glob("*.bak"))


def typed_rows(store: Store) -> dict[str, list[Row]]:
    """The rows of every table as values of Python."""
    with store.read() as connection:
        return {
            table.name: [
                {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in row.items()}
                for row in connection.execute(table.select().order_by(*table.primary_key.columns)).mappings()
            ]
            for table in SQLModel.metadata.sorted_tables
        }


def typed(kind: TypeEngine[Any], value: Any) -> Any:
    """A value of SQLite as Postgres wants it."""
    if value is None:
        return None
    if isinstance(kind, Boolean):
        return bool(value)
    return datetime.fromisoformat(value).replace(tzinfo=UTC) if isinstance(kind, DateTime) else value


def fill_postgres(engine: Engine, version: int, rows: dict[str, list[Row]]) -> None:
    """Make the tables of the version with its own migrations, which never change, and fill them with its rows."""
    upgrade(engine, "old", all_migrations()[:version])
    made = MetaData()
    made.reflect(engine)
    with engine.begin() as connection:
        for table in made.sorted_tables:
            if table.name != "schema_version":
                given = [{name: typed(table.c[name].type, row[name]) for name in row} for row in rows[table.name]]
                connection.execute(table.insert(), given)


@pytest.mark.postgres
def test_an_old_store_on_postgres_becomes_what_it_becomes_in_a_file(
    old: Path, version: int, new_postgres: Callable[[], str]
) -> None:
    url = new_postgres()
    engine = postgres_engine(make_url(url))
    fill_postgres(engine, version, rows_of(old))
    engine.dispose()
    store, in_a_file = open_store(url), open_store(old)
    assert typed_rows(store) == typed_rows(in_a_file)
    with store.write() as connection:
        runs = judging_runs(connection)
        assert not any(run.stop_requested or run.live for run in runs.values())
        stopped = runs["cancelled"].run_id
        assert run_progress.stages(connection, stopped) == [Stage("pairwise", 2, 4)]
        assert leases.claim(connection, stopped, "one") == leases.Lease(stopped, "one", 2)
        again = ingest(connection, ensure_audit(connection, "demo"), "pairs", imported())
        assert set(again.added.values()) == {0}
    store.close()
    in_a_file.close()
