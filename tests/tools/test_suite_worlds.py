"""Whether the rules of a suite look at a world that its tools can change, and at rows that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from misjudge_tools.episodes.rules import WorldRule
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.episodes.world import build_image
from suite_folders import EVERY_RULE, HTTP, WORLD, checked, complaint, load, write

ITEMS = """
CREATE TABLE items (number INTEGER PRIMARY KEY, price REAL, name TEXT COLLATE NOCASE, note TEXT, created_at TEXT);
INSERT INTO items VALUES (7, 0.3, 'Tent', NULL, 'then'), (8, 2.0, '8', '', 'then'), (-9, 1e15, 'x', 'y', NULL);
"""


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ({"number": 7}, True),
        ({"number": 7.0, "name": "Tent"}, True),
        ({"number": 7, "name": "8"}, False),
        ({"number": "7"}, False),
        ({"number": -9.0}, True),
        ({"number": True}, False),
        ({"number": 10**350}, False),
        ({"number": None}, False),
        ({"name": 8}, False),
        ({"name": "tent"}, False),
        ({"price": 0.1 + 0.2}, True),
        ({"price": 0.31}, False),
        ({"price": 2}, True),
        ({"price": 1e15 + 1}, True),
        ({"note": None, "created_at": "now"}, True),
        ({"note": None, "number": 8}, False),
        ({"note": ""}, True),
    ],
)
async def test_the_row_of_a_change_is_looked_for_as_the_rule_looks_for_it(
    tmp_path: Path, key: dict[str, Any], found: bool
) -> None:
    raw = {"kind": "world", "changes": [{"table": "items", "key": key, "removed": True}]}
    folder = write(tmp_path, tasks=checked(raw), world=ITEMS)
    if found:
        load(folder)
    else:
        assert complaint(folder) == (
            "tasks.jsonl, line 1: checks.0.changes.0.key finds no row of the world, so the rule can never hold."
        )
    rule, before = WorldRule.model_validate(raw), build_image(ITEMS, None)
    ends = [build_image(f"{ITEMS}DELETE FROM items WHERE number = {number};", None) for number in (7, 8, -9)]
    told = [await verify([rule], "all", Evidence((), before, after, None), Outside(Allowed())) for after in ends]
    assert [checks[0].passed for checks in told].count(True) == found


def test_the_row_of_a_change_that_is_not_compared_need_not_be_there(tmp_path: Path) -> None:
    change = {"table": "orders", "key": {"order_id": "O9"}, "removed": True}
    load(write(tmp_path, tasks=checked({"kind": "world", "changes": [change], "ignore": ["orders"]}), world=WORLD))


def test_tools_over_http_have_a_world_of_their_own(tmp_path: Path) -> None:
    said = complaint(write(tmp_path, tools=HTTP, world=WORLD))
    assert said == (
        "tools.json: tools over HTTP have a world of their own and cannot change that of the suite. Remove world.sql "
        "or world.db and check by what was called (tool_called), by http_status or by what was said, or write the "
        "tools in Python."
    )


@pytest.mark.parametrize("rule", [EVERY_RULE[0], EVERY_RULE[2]])
def test_a_rule_of_the_world_is_refused_where_tools_are_over_http(tmp_path: Path, rule: dict[str, Any]) -> None:
    said = complaint(write(tmp_path, tasks=checked(rule), tools=HTTP))
    assert said == (
        "tasks.jsonl, line 1: checks.0.kind asks the world of the suite, which tools over HTTP cannot change. Instead "
        "check by what was called (tool_called), by http_status or by what was said."
    )
