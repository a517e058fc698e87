"""Queries and rules on a final world: what they may not do, and what they tell."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from misjudge_tools.episodes.rules import RULE, SqlRule, WorldRule
from misjudge_tools.episodes.state_checks import sql, world
from misjudge_tools.episodes.told import Told
from misjudge_tools.episodes.world import QueryFailed, World, build_image, select
from misjudge_tools.episodes.world_queries import MOST_ANSWER, MOST_ROWS

SHOP = """
CREATE TABLE orders (order_id TEXT PRIMARY KEY, status TEXT, total REAL, updated_at TEXT);
CREATE TABLE refunds (refund_id INTEGER PRIMARY KEY, order_id TEXT, cents INTEGER, reason TEXT, created_at TEXT);
CREATE TABLE log (text TEXT);
INSERT INTO orders VALUES ('O-1', 'paid', 129.5, 'd1'), ('O-2', 'paid', 20, 'd1');
INSERT INTO log VALUES ('SECRET-TEXT');
"""
SHOP_IMAGE = build_image(SHOP, None)
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
READ_ONLY, TOO_LONG, TOO_BIG, INVALID, TOO_MUCH = (
    "may only read",
    "took too long",
    "too long, or",
    "not one valid",
    "too much",
)
WIDE = f"replace(replace('{'x' * 60}', 'x', '{'y' * 50}'), 'y', '{'z' * 20}')"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("INSERT INTO log VALUES ('x')", READ_ONLY),
        ("UPDATE orders SET status = 'x'", READ_ONLY),
        ("DELETE FROM orders", READ_ONLY),
        ("DELETE FROM orders RETURNING *", READ_ONLY),
        ("WITH a AS (SELECT 1) INSERT INTO log SELECT * FROM a", READ_ONLY),
        ("REPLACE INTO log VALUES (1)", READ_ONLY),
        ("DROP TABLE orders", READ_ONLY),
        ("CREATE TABLE t (a)", READ_ONLY),
        ("CREATE TEMP TABLE t AS SELECT 1", READ_ONLY),
        ("CREATE TEMP VIEW v AS SELECT 1", READ_ONLY),
        ("CREATE VIRTUAL TABLE f USING fts5 (a)", READ_ONLY),
        ("CREATE VIRTUAL TABLE r USING rtree (a, b, c)", READ_ONLY),
        ("ALTER TABLE orders ADD COLUMN x", READ_ONLY),
        ("ATTACH 'out.db' AS out", READ_ONLY),
        ("ATTACH ':memory:' AS out", READ_ONLY),
        ("DETACH main", READ_ONLY),
        ("VACUUM", READ_ONLY),
        ("VACUUM INTO 'out.db'", READ_ONLY),
        ("REINDEX", READ_ONLY),
        ("ANALYZE", READ_ONLY),
        ("BEGIN", READ_ONLY),
        ("COMMIT", READ_ONLY),
        ("SAVEPOINT a", READ_ONLY),
        ("PRAGMA writable_schema = ON", READ_ONLY),
        ("PRAGMA query_only = OFF", READ_ONLY),
        ("PRAGMA temp_store_directory = '.'", READ_ONLY),
        ("PRAGMA table_info(orders)", READ_ONLY),
        ("SELECT * FROM pragma_table_info('orders')", READ_ONLY),
        ("SELECT load_extension('./evil.so')", READ_ONLY),
        ("SELECT LOAD_EXTENSION('./evil.so', 'main')", READ_ONLY),
        ("SELECT random()", READ_ONLY),
        ("SELECT hex(randomblob(10))", READ_ONLY),
        ("SELECT length(zeroblob(2000000000))", READ_ONLY),
        ("SELECT readfile('/etc/passwd')", INVALID),
        ("SELECT writefile('out.db', 'x')", INVALID),
        ("SELECT fts3_tokenizer('simple')", ""),
        (f"{FOREVER} SELECT i FROM n WHERE i < 0", TOO_LONG),
        (f"{FOREVER} SELECT count(*) FROM n", TOO_LONG),
        (f"{FOREVER} SELECT i FROM n ORDER BY i", TOO_LONG),
        (f"{FOREVER} SELECT count(DISTINCT {WIDE} || i) FROM n", TOO_LONG),
        (f"{FOREVER} SELECT sum(i) OVER (PARTITION BY {WIDE} || i) FROM n", TOO_LONG),
        (f"{FOREVER} SELECT group_concat(i || {WIDE}) FROM (SELECT i FROM n LIMIT 3)", TOO_BIG),
        (f"{FOREVER} SELECT i FROM n", TOO_MUCH),
        (f"{FOREVER} SELECT {WIDE} FROM n", TOO_MUCH),
        ("SELECT printf('%.*c', 2000000000, 'x')", READ_ONLY),
        ("SELECT format('%2000000000d', 1)", READ_ONLY),
        (f"SELECT trim({WIDE}, {WIDE})", READ_ONLY),
        ("SELECT rtrim('xx', 'x')", READ_ONLY),
        ("SELECT " + "replace(" * 8 + "'xx'" + ", 'x', 'xxxxxxxxxx')" * 8, TOO_BIG),
        (f"SELECT {WIDE} || {WIDE}", TOO_BIG),
        (f"SELECT 'x' LIKE {WIDE}", INVALID),
        ("SELECT 1; SELECT 2", INVALID),
        ("SELECT 1; DROP TABLE orders", INVALID),
        ("SELECT 1\0; DROP TABLE orders", INVALID),
        ("\0", INVALID),
        ("", "is empty"),
        ("-- nothing", "is empty"),
        ("/* nothing", "is empty"),
        (";", "is empty"),
        ("SELECT '" + "x" * 1_000_000 + "'", INVALID),
        ("SELECT " + "(" * 2000 + "1" + ")" * 2000, INVALID),
        ("SELECT " + "1+" * 3000 + "1", INVALID),
        (" UNION ALL ".join(["SELECT 1"] * 100), INVALID),
        ("SELECT ?", INVALID),
        ("SELECT :a", INVALID),
        ("SELECT '\ud800'", INVALID),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT shape FROM orders", "no such column: shape"),
        ("SELECT 1 FROM nowhere", "no such table: nowhere"),
    ],
)
def test_a_query_reads_in_bounds_or_fails(
    query: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryFailed) as failed:
        select(SHOP_IMAGE, query, limit_s=0.1)
    assert told in str(failed.value)
    assert "SECRET" not in str(failed.value)
    assert list(tmp_path.iterdir()) == []
    assert select(SHOP_IMAGE, "SELECT count(*) FROM orders") == [(2,)]


def test_an_error_of_the_data_does_not_quote_it() -> None:
    with pytest.raises(QueryFailed) as failed:
        select(SHOP_IMAGE, "SELECT json_extract('{}', text) FROM log")
    assert str(failed.value) == "The query is not one valid SELECT for this world."


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT total FROM orders ORDER BY total;", [(20.0,), (129.5,)]),
        ("SELECT 1 -- ;", [(1,)]),
        ("WITH a AS (SELECT 1 AS b) SELECT b FROM a", [(1,)]),
        ("VALUES (1, NULL)", [(1, None)]),
        ("SELECT count(*) FROM json_each('[1,2]')", [(2,)]),
        ("SELECT json_extract('{\"a\": 3}', '$.a'), date('2026-03-14', '+1 day')", [(3, "2026-03-15")]),
        ("SELECT group_concat(order_id, ' ') FROM orders", [("O-1 O-2",)]),
        ("SELECT trim('  x '), round(2.345, 1)", [("x", 2.3)]),
        ("SELECT row_number() OVER (ORDER BY total) FROM orders", [(1,), (2,)]),
        ("SELECT x'00ff', CAST(x'ff41' AS TEXT)", [(b"\x00\xff", "\ufffdA")]),
        (
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {MOST_ROWS}) SELECT max(i) FROM n",
            [(1000,)],
        ),
    ],
)
def test_a_query_that_reads_is_answered(query: str, rows: list[Any]) -> None:
    assert select(SHOP_IMAGE, query) == rows


def test_an_answer_has_an_end() -> None:
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT {} FROM n"
    assert len(select(SHOP_IMAGE, rows.format(MOST_ROWS, "i"))) == MOST_ROWS
    wide = MOST_ANSWER // 60_000
    assert len(select(SHOP_IMAGE, rows.format(wide, WIDE))) == wide
    for too_many, cell in ((MOST_ROWS + 1, "i"), (wide + 1, WIDE)):
        with pytest.raises(QueryFailed, match="too much"):
            select(SHOP_IMAGE, rows.format(too_many, cell))


def test_a_lack_of_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_rows: object) -> object:
        raise MemoryError

    monkeypatch.setattr("misjudge_tools.episodes.world_queries._bounded", full)
    with pytest.raises(QueryFailed, match="too much memory"):
        select(SHOP_IMAGE, "SELECT 1")


def test_a_query_does_without_json_where_sqlite_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = build_image("CREATE TABLE json_each (a); CREATE TABLE json_tree (a);", None)
    assert select(plain, "SELECT count(*) FROM json_each") == [(0,)]


def sql_told(query: str, equals: object) -> Told:
    rule = RULE.validate_python({"kind": "sql", "query": query, "equals": equals})
    assert isinstance(rule, SqlRule)
    return sql(rule, SHOP_IMAGE)


@pytest.mark.parametrize(
    ("query", "equals", "passed"),
    [
        ("SELECT status FROM orders WHERE order_id = 'O-1'", "paid", True),
        ("SELECT status FROM orders WHERE order_id = 'O-1'", "open", False),
        ("SELECT total FROM orders WHERE order_id = 'O-2'", 20, True),
        ("SELECT total FROM orders WHERE order_id = 'O-2'", "20", False),
        ("SELECT 0.1 + 0.2", 0.3, True),
        ("SELECT 0.1 + 0.2", 0.30001, False),
        ("SELECT count(*) > 1 FROM orders", True, True),
        ("SELECT count(*) > 1 FROM orders", 1.0, True),
        ("SELECT NULL", None, True),
        ("SELECT status FROM orders WHERE order_id = 'O-9'", None, True),
        ("SELECT status FROM orders WHERE order_id = 'O-9'", "paid", False),
        ("SELECT NULL", 0, False),
        ("SELECT status FROM orders", "paid", False),
        ("SELECT status, total FROM orders LIMIT 1", "paid", False),
        ("SELECT order_id, total FROM orders ORDER BY 1", [["O-1", 129.5], ["O-2", 20]], True),
        ("SELECT order_id, total FROM orders ORDER BY 1", [["O-2", 20], ["O-1", 129.5]], False),
        ("SELECT order_id, total FROM orders ORDER BY 1", [["O-1", 129.5]], False),
        ("SELECT order_id FROM orders ORDER BY 1", [["O-1", 129.5], ["O-2", 20]], False),
        ("SELECT 1 WHERE 0", [], True),
        ("SELECT x'41'", "A", False),
    ],
)
def test_the_answer_of_a_query_is_compared_by_value_and_type(query: str, equals: object, passed: bool) -> None:
    told = sql_told(query, equals)
    assert told.passed is passed
    assert "paid" not in told.why


def test_a_query_that_fails_is_unknown() -> None:
    assert sql_told("DELETE FROM orders", None) == Told(None, told_read_only())
    assert sql_told("SELECT shape", 1).passed is None


def told_read_only() -> str:
    with pytest.raises(QueryFailed) as failed:
        select(SHOP_IMAGE, "DELETE FROM orders")
    return str(failed.value)


def test_a_world_that_is_not_known_tells_nothing() -> None:
    rule = RULE.validate_python({"kind": "sql", "query": "SELECT 1", "equals": 1})
    assert isinstance(rule, SqlRule)
    assert sql(rule, None).passed is None
    whole = WorldRule(kind="world")
    assert {world(whole, None, SHOP_IMAGE).passed, world(whole, SHOP_IMAGE, None).passed} == {None}


CANCEL = "UPDATE orders SET status = 'cancelled', updated_at = 'd2' WHERE order_id = 'O-1';"
REFUND = "INSERT INTO refunds VALUES (1, 'O-1', 12950, 'as asked', 'd2');"
CANCELLED = {"table": "orders", "key": {"order_id": "O-1"}, "set": {"status": "cancelled"}}
REFUNDED = {"table": "refunds", "added": {"order_id": "O-1", "cents": 12950}}


def world_told(script: str, *changes: object, ignore: tuple[str, ...] = ()) -> Told:
    rule = RULE.validate_python({"kind": "world", "changes": changes, "ignore": ignore})
    assert isinstance(rule, WorldRule)
    with World.from_image(SHOP_IMAGE) as changed:
        changed.connection.executescript(script)
        return world(rule, SHOP_IMAGE, changed.image())


@pytest.mark.parametrize(
    ("script", "changes", "passed", "why"),
    [
        ("", [], True, "0 changes, all as expected"),
        ("UPDATE orders SET updated_at = 'd2'", [], True, "0 changes, all as expected"),
        (CANCEL + REFUND, [CANCELLED, REFUNDED], True, "2 changes, all as expected"),
        (CANCEL + REFUND, [REFUNDED, {**CANCELLED, "table": "ORDERS", "key": {"ORDER_ID": "O-1"}}], True, "2 changes"),
        (CANCEL, [CANCELLED, REFUNDED], False, "refunds: 1 change missing"),
        (CANCEL + REFUND, [CANCELLED], False, "refunds: 1 change too many"),
        ("", [CANCELLED], False, "orders: 1 change missing"),
        (CANCEL, [], False, "orders: 1 change too many"),
        (CANCEL.replace("'O-1'", "'O-2'"), [CANCELLED], False, "orders: 1 change too many; orders: 1 change missing"),
        (
            CANCEL.replace("cancelled", "canceled"),
            [CANCELLED],
            False,
            "orders: 1 change too many; orders: 1 change missing",
        ),
        (CANCEL + "UPDATE orders SET total = 0 WHERE order_id = 'O-1'", [CANCELLED], False, "too many"),
        (CANCEL, [{**CANCELLED, "set": {"status": "cancelled", "total": 0}}], False, "missing"),
        (REFUND * 1 + REFUND.replace("(1,", "(2,"), [REFUNDED], False, "refunds: 1 change too many"),
        (REFUND + REFUND.replace("(1,", "(2,"), [REFUNDED, REFUNDED], True, "2 changes"),
        (REFUND.replace("12950", "'12950x'"), [REFUNDED], False, "refunds: 1 change too many"),
        (REFUND, [{**REFUNDED, "added": {"order_id": "O-1", "shape": 1}}], False, "missing"),
        (REFUND, [{**REFUNDED, "added": {"order_id": "O-1", "created_at": "never seen"}}], True, "1 changes"),
        (
            "DELETE FROM orders WHERE order_id = 'O-2'",
            [{"table": "orders", "key": {"order_id": "O-2"}, "removed": True}],
            True,
            "",
        ),
        (
            "DELETE FROM orders",
            [{"table": "orders", "key": {"order_id": "O-2"}, "removed": True}],
            False,
            "1 change too many",
        ),
        (CANCEL, [{"table": "orders", "key": {"order_id": "O-1"}, "removed": True}], False, "missing"),
        (
            "DELETE FROM orders WHERE total = 20",
            [{"table": "orders", "key": {"order_id": "O-2"}, "set": {"total": 1}}],
            False,
            "",
        ),
        ("CREATE TABLE t (a)", [], False, "t: 1 change too many"),
        ("CREATE TABLE t (a)", [{"table": "t", "added": {}}], False, "t: 1 change too many; t: 1 change missing"),
        ("DROP TABLE log", [{"table": "log", "key": {"text": "SECRET-TEXT"}, "removed": True}], False, "log: 1 change"),
        ("INSERT INTO log VALUES ('x'), ('y'), ('z')", [], False, "log: 3 changes too many"),
    ],
)
def test_only_the_stated_rows_may_change(script: str, changes: list[Any], passed: bool, why: str) -> None:
    told = world_told(script, *changes)
    assert told.passed is passed
    assert why in told.why
    assert "SECRET" not in told.why


def test_tables_to_ignore_are_left_out() -> None:
    noise = "INSERT INTO log VALUES ('x'); CREATE TABLE t (a);"
    assert world_told(noise, ignore=("LOG", "t")).passed is True
    assert world_told(noise, ignore=("log",)).passed is False


def test_a_vague_change_leaves_the_row_that_a_precise_one_needs() -> None:
    rows = "INSERT INTO refunds VALUES (1, 'O-1', 5, 'a', ''), (2, 'O-1', 5, 'b', ''), (3, 'O-1', 7, 'b', '');"
    vague = {"table": "refunds", "added": {"order_id": "O-1"}}
    changes = [vague, {**vague, "added": {"cents": 5}}, {**vague, "added": {"reason": "a"}}]
    assert world_told(rows, *changes).passed is True
    assert world_told(rows, *changes[1:], changes[2]).passed is False


def test_a_state_rule_says_what_is_wrong_with_it() -> None:
    for change in ({"table": "t"}, {"table": "t", "key": {"a": 1}, "added": {"a": 1}}, {"table": "t", "removed": True}):
        with pytest.raises(ValueError, match=r"change has exactly one|key finds the row"):
            RULE.validate_python({"kind": "world", "changes": [change]})


def test_sqlite_is_recent_enough_for_the_images() -> None:
    assert sqlite3.sqlite_version_info >= (3, 31)
