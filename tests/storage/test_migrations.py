"""Migrations: they make the tables of the models, and an older store is upgraded whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.exc import OperationalError
from sqlmodel import SQLModel

from builders import pair, verdict
from misjudge_storage import upgrading
from misjudge_storage.columns import utc_now
from misjudge_storage.connections import write_transaction
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import StoreUnwritable
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.migrations import Migration, all_migrations, split_statements
from misjudge_storage.tables import Run, columns
from misjudge_storage.upgrading import upgrade

NEWEST = all_migrations()[-1].number
NEXT = Migration(
    NEWEST + 1, ("ALTER TABLE audits ADD COLUMN note VARCHAR", "CREATE VIEW notes AS SELECT note FROM audits")
)
BROKEN = Migration(NEWEST + 1, ("ALTER TABLE audits ADD COLUMN note VARCHAR", "CREATE VIEW notes AS nonsense"))
VIEWS = {
    "audit_pairs",
    "label_votes",
    "pair_gold",
    "pairwise",
    "reduced_verdicts",
    "standing_checks",
    "trajectory_costs",
    "trajectory_outcomes",
}


def fill(store: Store) -> None:
    with store.write() as connection:
        ingest(connection, ensure_audit(connection, "demo"), "pairs", [pair("p1", None, None, verdict("A", "AB"))])


def start_run(store: Store, lease_s: float) -> None:
    with store.write() as connection:
        run = {
            "run_id": "run_1",
            "audit_id": ensure_audit(connection, "demo"),
            "operation": "judge",
            "request_json": "{}",
            "state": "running",
            "lease_until": utc_now() + timedelta(seconds=lease_s),
            "epoch": 1,
            "created_at": utc_now(),
        }
        insert_new(connection, Run, [run])


def versions(store: Store) -> list[int]:
    with store.read() as connection:
        return list(connection.scalars(text("SELECT number FROM schema_version ORDER BY number")))


def shape(engine: Engine) -> dict[str, Any]:
    """Everything that a database knows of its tables, in a form that does not depend on the order of definitions."""
    found = inspect(engine)
    return {
        table: {
            "columns": {
                column["name"]: (str(column["type"]), column["nullable"], column["default"])
                for column in found.get_columns(table)
            },
            "key": found.get_pk_constraint(table)["constrained_columns"],
            "links": sorted(
                (link["constrained_columns"], link["referred_table"], link["referred_columns"])
                for link in found.get_foreign_keys(table)
            ),
            "unique": sorted(unique["column_names"] for unique in found.get_unique_constraints(table)),
            "indexes": sorted(
                (str(index["name"]), index["column_names"], bool(index["unique"]))
                for index in found.get_indexes(table)
                if not index.get("duplicates_constraint")
            ),
        }
        for table in found.get_table_names()
        if table != "schema_version"
    }


def test_the_migrations_make_the_tables_of_the_models(store: Store, tmp_path: Path) -> None:
    fresh = create_engine(f"sqlite:///{(tmp_path / 'models.db').as_posix()}")
    SQLModel.metadata.create_all(fresh)
    migrated, modelled = shape(store.engine), shape(fresh)
    fresh.dispose()
    # SQLite keeps the type as it was written; the models say DATETIME, which Postgres does not know.
    for table in migrated.values():
        for name, (kind, *rest) in table["columns"].items():
            table["columns"][name] = ("DATETIME" if name.endswith(("_at", "_until")) else kind, *rest)
    assert migrated == modelled
    with store.read() as connection:
        written = connection.scalars(text("SELECT sql FROM sqlite_master WHERE type = 'table'")).all()
    moments = sum(
        column.name.endswith(("_at", "_until")) for table in SQLModel.metadata.sorted_tables for column in table.c
    )
    assert sum(sql.count("TIMESTAMP WITH TIME ZONE") for sql in written) == moments


def test_the_migrations_make_the_views(store: Store) -> None:
    assert set(inspect(store.engine).get_view_names()) == VIEWS


@pytest.mark.postgres
def test_the_migrations_make_the_tables_of_the_models_on_postgres(new_postgres: Callable[[], str]) -> None:
    store = open_store(new_postgres())
    other = open_store(new_postgres())
    with other.engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    SQLModel.metadata.create_all(other.engine)
    assert shape(store.engine) == shape(other.engine)
    assert set(inspect(store.engine).get_view_names()) == VIEWS
    store.close()
    other.close()


def test_the_columns_of_a_model_come_in_order() -> None:
    assert [column.name for column in columns(Run)][:3] == ["run_id", "audit_id", "operation"]


def test_statements_end_at_a_semicolon_that_ends_a_line() -> None:
    script = "-- Why; this.\nCREATE TABLE a (x VARCHAR DEFAULT 'a;b');\n\n-- Then.\nINSERT INTO a\nVALUES ('c');"
    assert split_statements(script) == ("CREATE TABLE a (x VARCHAR DEFAULT 'a;b')", "INSERT INTO a\nVALUES ('c')")


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in all_migrations()] == list(range(1, NEWEST + 1))


def test_a_store_remembers_what_was_applied_and_by_which_version(store: Store) -> None:
    with store.read() as connection:
        rows = connection.execute(text("SELECT number, program, applied_at FROM schema_version ORDER BY number")).all()
    assert [row.number for row in rows] == list(range(1, NEWEST + 1))
    assert all(row.program and row.applied_at.endswith("+00:00") for row in rows)


def test_an_upgrade_keeps_the_rows_and_a_copy_of_the_store_before_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    fill(store)
    # Still open, so that the latest rows are in the write-ahead log and not yet in the file.
    upgrade(store.engine, store.location, (*all_migrations(), NEXT))
    assert versions(store)[-1] == NEXT.number
    with store.read() as connection:
        assert connection.execute(text("SELECT pair_id, judge_pref FROM audit_pairs")).all() == [("p1", "A")]
        assert connection.execute(text("SELECT note FROM notes")).all() == [(None,)]
    store.close()
    copy = open_store(tmp_path / f"store.db.v{NEWEST}.bak")
    assert versions(copy)[-1] == NEWEST
    with copy.read() as connection:
        assert connection.execute(text("SELECT pair_id, judge_pref FROM audit_pairs")).all() == [("p1", "A")]
    copy.close()


def test_a_fresh_store_leaves_no_copy(store: Store, tmp_path: Path) -> None:
    fill(store)
    assert not list(tmp_path.glob("*.bak"))


def test_an_upgrade_that_fails_changes_nothing(store: Store) -> None:
    fill(store)
    with pytest.raises(OperationalError):
        upgrade(store.engine, store.location, (*all_migrations(), BROKEN))
    assert versions(store)[-1] == NEWEST
    assert "note" not in {column["name"] for column in inspect(store.engine).get_columns("audits")}
    fill(store)


def test_an_upgrade_is_refused_while_a_run_is_working(store: Store, tmp_path: Path) -> None:
    start_run(store, lease_s=30)
    with pytest.raises(StoreUnwritable, match="must be upgraded, but run run_1 is working on it"):
        upgrade(store.engine, store.location, (*all_migrations(), NEXT))
    assert versions(store)[-1] == NEWEST
    assert not list(tmp_path.glob("*.bak"))


def test_a_lease_that_ran_out_does_not_hold_an_upgrade(store: Store) -> None:
    start_run(store, lease_s=-1)
    upgrade(store.engine, store.location, (*all_migrations(), NEXT))
    assert versions(store)[-1] == NEXT.number


def test_a_second_upgrade_finds_nothing_to_do(store: Store, tmp_path: Path) -> None:
    upgrade(store.engine, store.location, (*all_migrations(), NEXT))
    before = (tmp_path / f"misjudge.db.v{NEWEST}.bak").read_bytes()
    fill(store)
    upgrade(store.engine, store.location, (*all_migrations(), NEXT))
    assert (tmp_path / f"misjudge.db.v{NEWEST}.bak").read_bytes() == before


def test_another_process_may_be_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    slow = create_engine(f"sqlite:///{path.as_posix()}")

    def begin_late(engine: Engine) -> AbstractContextManager[Connection]:
        monkeypatch.undo()
        open_store(path).close()
        return write_transaction(engine)

    monkeypatch.setattr(upgrading, "write_transaction", begin_late)
    upgrade(slow, "store", all_migrations())
    slow.dispose()
    store = open_store(path)
    assert versions(store) == list(range(1, NEWEST + 1))
    store.close()


@pytest.mark.parametrize("older", range(1, NEWEST))
def test_a_store_of_any_older_version_gets_the_tables_of_this_one(store: Store, tmp_path: Path, older: int) -> None:
    path = tmp_path / "older.db"
    made = create_engine(f"sqlite:///{path.as_posix()}")
    upgrade(made, "older", all_migrations()[:older])
    made.dispose()
    upgraded = open_store(path)
    assert shape(upgraded.engine) == shape(store.engine)
    assert set(inspect(upgraded.engine).get_view_names()) == VIEWS
    assert versions(upgraded) == list(range(1, NEWEST + 1))
    fill(upgraded)
    upgraded.close()
    assert path.with_name(f"older.db.v{older}.bak").exists()


@pytest.mark.postgres
def test_a_postgres_store_is_upgraded_too(new_postgres: Callable[[], str]) -> None:
    url = new_postgres()
    store = open_store(url)
    fill(store)
    store.close()
    again = open_store(url)
    start_run(again, lease_s=30)
    with pytest.raises(StoreUnwritable, match="must be upgraded"):
        upgrade(again.engine, again.location, (*all_migrations(), NEXT))
    with again.write() as connection:
        connection.execute(text("UPDATE runs SET state = 'done'"))
    upgrade(again.engine, again.location, (*all_migrations(), NEXT))
    assert versions(again)[-1] == NEXT.number
    with again.read() as connection:
        assert connection.execute(text("SELECT pair_id, judge_pref FROM audit_pairs")).all() == [("p1", "A")]
    again.close()
