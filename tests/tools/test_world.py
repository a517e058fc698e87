"""Worlds: made from a script or a file, one copy a rollout, in memory only, and what differs between two images."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_tools.episodes.sqlite_memory import MOST_BYTES
from misjudge_tools.episodes.world import World, build_image, differences
from misjudge_tools.episodes.world_script import run_script

SHOP = """
-- A shop; with a semicolon in a comment
CREATE TABLE orders (order_id TEXT PRIMARY KEY, status TEXT COLLATE NOCASE, total REAL, created_at TEXT);
CREATE TABLE notes (text, stars);  CREATE TABLE seats (row TEXT, place INTEGER, held_by TEXT, PRIMARY KEY (row, place));
INSERT INTO orders VALUES ('O-1', 'open; paid', 10, '2026-03-01'), ('O-2', NULL, 20.5, '2026-03-02');
INSERT INTO notes VALUES ('fine', 5), ('fine', 5), (NULL, 1);
INSERT INTO seats VALUES ('A', 1, NULL), ('A', 2, 'x');
CREATE TRIGGER kept AFTER DELETE ON seats BEGIN SELECT 1; SELECT 2; END;
"""


@pytest.fixture(scope="module")
def shop() -> bytes:
    return build_image(SHOP, None)


def changed_by(image: bytes, sql: str, leave_out: frozenset[str] = frozenset()) -> list[tuple[Any, ...]]:
    with World.from_image(image) as world:
        world.connection.executescript(sql)
        return [tuple(difference) for difference in differences(image, world.image(), leave_out)]


def file_of(path: Path, sql: str = "CREATE TABLE t (a)") -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    return path


def test_worlds_of_one_image_do_not_see_each_other(shop: bytes) -> None:
    with World.from_image(shop) as one, World.from_image(shop) as other:
        one.connection.execute("DELETE FROM orders")
        assert other.connection.execute("SELECT count(*) FROM orders").fetchone() == (2,)
        assert other.image() == shop
        assert one.image() != shop


def test_a_world_is_open_for_as_long_as_its_context(shop: bytes) -> None:
    with World.from_image(shop) as world:
        pass
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        world.image()


def test_what_a_savepoint_takes_back_never_was(shop: bytes) -> None:
    with World.from_image(shop) as world:
        world.connection.execute("SAVEPOINT call")
        world.connection.execute("DELETE FROM orders")
        world.connection.execute("ROLLBACK TO call")
        world.connection.execute("RELEASE call")
        assert differences(shop, world.image()) == ()


@pytest.mark.parametrize("sql", ["ATTACH 'out.db' AS out", "VACUUM INTO 'out.db'"])
def test_a_world_writes_no_file(shop: bytes, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with World.from_image(shop) as world, pytest.raises(sqlite3.OperationalError, match="too many attached"):
        world.connection.execute(sql)
    assert list(tmp_path.iterdir()) == []


def test_a_world_that_grows_too_large_is_full(shop: bytes) -> None:
    with World.from_image(shop) as world, pytest.raises(sqlite3.OperationalError, match="full"):
        world.connection.execute("INSERT INTO notes VALUES (zeroblob(?), 1)", (MOST_BYTES,))


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("CREATE TABLE t (a);\n\n  INSRT INTO t;", 'line 3: near "INSRT": syntax error'),
        ("CREATE TABLE t (a);\nINSERT INTO t VALUES ('\n\n;", "line 2: "),
        ("CREATE TABLE t (a);\nINSERT INTO u VALUES (1);", "line 2: no such table: u"),
        ("ATTACH 'x.db' AS x;", "line 1: a world may not attach files"),
        ("CREATE TABLE t (a); VACUUM INTO 'x.db';", "line 1: a world may not attach files"),
        ("\nPRAGMA writable_schema = ON;", "line 2: a world may not attach files"),
        ("PRAGMA journal_mode = WAL;", "line 1: a world may not attach files"),
        ("SELECT load_extension('x');", "line 1: a world may not attach files"),
        ("CREATE VIRTUAL TABLE f USING fts5 (a);", "line 1: a world may not attach files"),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(20000000));", "line 1: a value has more than 10 MB"),
        ("CREATE TABLE t (a);\nBEGIN; INSERT INTO t VALUES (1);", "a transaction that it does not end"),
        ("CREATE TABLE t (a);\nSELECT '\0';", "line 2: "),
        ("-- nothing", "makes no table"),
        ("", "makes no table"),
    ],
)
def test_a_script_that_cannot_be_a_world_is_told_by_its_line(
    script: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        build_image(script, None)
    assert told in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_script_may_be_a_dump() -> None:
    dump = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT);\n"
    dump += (
        "INSERT INTO t VALUES (7);\nDELETE FROM sqlite_sequence;\nINSERT INTO sqlite_sequence VALUES ('t', 9);\nCOMMIT;"
    )
    with World.from_image(build_image(dump, None)) as world:
        world.connection.execute("INSERT INTO t DEFAULT VALUES")
        assert world.connection.execute("SELECT a FROM t").fetchall() == [(7,), (10,)]


def test_a_script_that_fills_the_world_is_stopped() -> None:
    grow = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO t SELECT zeroblob(9000000) FROM n"
    )
    with pytest.raises(InvalidInput, match="line 2: the world has more than 64 MB"):
        build_image(f"CREATE TABLE t (a);\n{grow};", None)


@pytest.mark.parametrize(
    "script",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;",
        "SELECT '" + ";" * 10_000,
    ],
)
def test_a_script_without_end_is_stopped(script: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with pytest.raises(InvalidInput, match="line 1: the script takes more than"):
            run_script(connection, script, limit_s=0.0)


def test_a_script_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misjudge_tools.episodes.world_script.MOST_SCRIPT", 10)
    with pytest.raises(InvalidInput, match="give a SQLite file"):
        build_image("CREATE TABLE t (a);", None)


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_file_becomes_a_world_and_stays_as_it_is(mode: str, tmp_path: Path) -> None:
    file = file_of(
        tmp_path / "world.db", f"PRAGMA journal_mode = {mode}; CREATE TABLE t (a); INSERT INTO t VALUES (3);"
    )
    content = file.read_bytes()
    with World.from_image(build_image(None, file)) as world:
        assert world.connection.execute("SELECT a FROM t").fetchall() == [(3,)]
        world.connection.execute("DELETE FROM t")
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_file_that_is_in_use_is_refused(ending: str, tmp_path: Path) -> None:
    file = file_of(tmp_path / "world.db")
    (tmp_path / f"world.db{ending}").write_bytes(b"x")
    with pytest.raises(InvalidInput, match="Close it first"):
        build_image(None, file)


def damaged(tmp_path: Path) -> Iterator[tuple[bytes, str]]:
    content = file_of(tmp_path / "sound.db", f"CREATE TABLE t (a); INSERT INTO t VALUES ('{'x' * 9000}');").read_bytes()
    yield b"", "not a SQLite database"
    yield b"a,b\n1,2\n" * 100, "not a SQLite database"
    yield content[:100], "not a SQLite database"
    yield content[:4096] + b"\xff" * (len(content) - 4096), "damaged"
    yield content[:100] + b"\xff" * (len(content) - 100), "damaged"
    yield content[:512], "damaged"


def test_a_file_that_is_no_sound_database_is_refused(tmp_path: Path) -> None:
    for number, (content, told) in enumerate(damaged(tmp_path)):
        file = tmp_path / f"{number}.db"
        file.write_bytes(content)
        with pytest.raises(InvalidInput, match=told):
            build_image(None, file)


@pytest.mark.parametrize("sql", ["CREATE TABLE t (a); DROP TABLE t", "CREATE VIRTUAL TABLE f USING fts5 (a)"])
def test_a_file_without_ordinary_tables_is_refused(sql: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no tables, or virtual ones"):
        build_image(None, file_of(tmp_path / "world.db", sql))


def test_a_file_that_is_too_large_or_missing_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "world.db").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(InvalidInput, match="more than 64 MB"):
        build_image(None, tmp_path / "world.db")
    with pytest.raises(InvalidInput, match=r"none\.db cannot be read"):
        build_image(None, tmp_path / "none.db")


def test_a_world_has_one_source(tmp_path: Path) -> None:
    for script, file in ((None, None), ("CREATE TABLE t (a);", tmp_path)):
        with pytest.raises(InvalidInput, match="give one of them"):
            build_image(script, file)


def test_a_world_that_is_as_it_was_has_no_differences(shop: bytes) -> None:
    assert changed_by(shop, "") == []
    assert changed_by(shop, "UPDATE orders SET total = 10 WHERE total = 10.0; REINDEX") == []


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "UPDATE orders SET total = 9 WHERE order_id = 'O-1'",
            ("orders", "changed", {"order_id": "O-1"}, {"total": 9.0}),
        ),
        (
            "UPDATE orders SET status = 'x' WHERE status IS NULL",
            ("orders", "changed", {"order_id": "O-2"}, {"status": "x"}),
        ),
        (
            "UPDATE orders SET status = upper(status) WHERE order_id = 'O-1'",
            ("orders", "changed", {"order_id": "O-1"}, {"status": "OPEN; PAID"}),
        ),
        (
            "UPDATE seats SET held_by = 'y' WHERE place = 2",
            ("seats", "changed", {"row": "A", "place": 2}, {"held_by": "y"}),
        ),
        ("DELETE FROM seats WHERE place = 1", ("seats", "removed", {"row": "A", "place": 1}, None)),
        (
            "INSERT INTO seats VALUES ('B', 1, NULL)",
            ("seats", "added", {"row": "B", "place": 1}, {"row": "B", "place": 1, "held_by": None}),
        ),
        (
            "INSERT INTO notes VALUES ('fine', 5)",
            ("notes", "added", {"text": "fine", "stars": 5}, {"text": "fine", "stars": 5}),
        ),
        ("DELETE FROM notes WHERE stars = 1", ("notes", "removed", {"text": None, "stars": 1}, None)),
        ("CREATE TABLE new (a)", ("new", "added", {}, None)),
        ("DROP TABLE notes", ("notes", "removed", {}, None)),
    ],
)
def test_a_difference_is_found(shop: bytes, sql: str, expected: tuple[Any, ...]) -> None:
    ((table, kind, key, _, after),) = changed_by(shop, sql)
    assert (table, kind, key, after) == expected


def test_a_row_that_changed_is_shown_as_it_was(shop: bytes) -> None:
    ((_, _, _, before, _),) = changed_by(shop, "UPDATE seats SET held_by = NULL WHERE place = 2")
    assert before == {"row": "A", "place": 2, "held_by": "x"}


def test_a_number_is_not_the_text_that_shows_it(shop: bytes) -> None:
    found = changed_by(shop, "UPDATE notes SET stars = '1' WHERE stars = 1")
    assert [(kind, (before or after)["stars"]) for _, kind, _, before, after in found] == [
        ("removed", 1),
        ("added", "1"),
    ]


def test_a_row_with_another_key_is_another_row(shop: bytes) -> None:
    found = changed_by(shop, "UPDATE orders SET order_id = 'O-3' WHERE order_id = 'O-2'")
    assert sorted((kind, key["order_id"]) for _, kind, key, _, _ in found) == [("added", "O-3"), ("removed", "O-2")]


def test_a_table_that_is_made_anew_with_other_columns_is_another_table(shop: bytes) -> None:
    found = changed_by(shop, "ALTER TABLE notes ADD COLUMN by TEXT")
    assert [(table, kind, before, after) for table, kind, _, before, after in found] == [
        ("notes", "removed", None, None),
        ("notes", "added", None, None),
    ]


def test_rows_that_share_a_key_of_null_are_told_apart() -> None:
    image = build_image("CREATE TABLE t (k TEXT PRIMARY KEY, a); INSERT INTO t VALUES (NULL, 1), (NULL, 2);", None)
    found = changed_by(image, "UPDATE t SET a = a + 10")
    assert sorted((kind, (before or after)["a"]) for _, kind, _, before, after in found) == [
        ("added", 11),
        ("added", 12),
        ("removed", 1),
        ("removed", 2),
    ]


def test_columns_that_are_left_out_differ_unseen(shop: bytes) -> None:
    left_out = frozenset({"created_at"})
    assert changed_by(shop, "UPDATE orders SET created_at = 'now'", left_out) == []
    ((_, _, _, _, after),) = changed_by(
        shop, "UPDATE orders SET created_at = 'now', total = 1 WHERE total = 10", left_out
    )
    assert after == {"total": 1.0}
    only = build_image('CREATE TABLE t ("Created_At"); CREATE TABLE u (created_at PRIMARY KEY);', None)
    assert changed_by(only, "INSERT INTO t VALUES (1)", left_out) == []
    assert len(changed_by(only, "INSERT INTO u VALUES (1)", left_out)) == 1


def test_names_and_text_that_are_hostile_are_compared() -> None:
    image = build_image("""CREATE TABLE "a"";DROP" ("c""1" PRIMARY KEY, "select" TEXT);""", None)
    found = changed_by(image, """INSERT INTO "a"";DROP" VALUES (1, CAST(x'ff00fe' AS TEXT))""")
    assert [(table, kind, key) for table, kind, key, _, _ in found] == [('a";DROP', "added", {'c"1': 1})]


CELLS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, "1", "a", "A", b"a"]))
ROWS = st.dictionaries(st.integers(0, 5), st.tuples(CELLS, CELLS), max_size=5)


def keyed(rows: dict[int, tuple[Any, Any]]) -> bytes:
    with World.from_image(build_image("CREATE TABLE t (k INTEGER PRIMARY KEY, a, b COLLATE NOCASE);", None)) as world:
        world.connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(key, *row) for key, row in rows.items()])
        return world.image()


@given(ROWS, ROWS)
def test_the_differences_are_what_makes_one_world_of_the_other(was: Any, now: Any) -> None:
    made = dict(was)
    for difference in differences(keyed(was), keyed(now)):
        key = difference.key["k"]
        if difference.kind == "removed":
            del made[key]
        else:
            old = dict(zip("ab", made.get(key, (None, None)), strict=True))
            assert (difference.kind == "added") == (key not in made)
            assert difference.after
            new = {**old, **difference.after}
            made[key] = (new["a"], new["b"])
    assert made == now
