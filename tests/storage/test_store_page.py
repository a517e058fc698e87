"""docs/store.md against the store."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import inspect

from misjudge_storage.engine import Store

PAGE = Path(__file__).parents[2].joinpath("docs", "store.md").read_text(encoding="utf-8")


def named(part: str) -> list[str]:
    """The names in the first cells of the tables of a part."""
    rows = re.findall(r"^\| (`.*?) \|", part, re.M)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def columns_by_table(part: str) -> dict[str, list[str]]:
    """Table → the names in the second cells, also of the rows below whose first cell is empty."""
    found: dict[str, list[str]] = {}
    table = ""
    for first, second in re.findall(r"^\| (`\w+`)? ?\| (`.*?) \|", part, re.M):
        table = first.strip("`") or table
        found.setdefault(table, []).extend(re.findall(r"`(\w+)`", second))
    return found


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("view", ["audit_pairs", "pairwise"])
def test_the_page_explains_every_column_of_a_view_in_its_order(store: Store, view: str) -> None:
    assert named(section(f"`{view}`")) == [column["name"] for column in inspect(store.engine).get_columns(view)]


def test_the_page_names_every_table_and_what_only_live_episodes_have(store: Store) -> None:
    tables, live = section("Tables").split("| column | holds |")
    assert sorted(named(tables)) == sorted(inspect(store.engine).get_table_names())
    columns = [column["name"] for column in inspect(store.engine).get_columns("trajectories")]
    assert named(live) == columns[columns.index("created_at") + 1 :]


def test_the_page_explains_every_column_of_the_tables_of_rubrics(store: Store) -> None:
    known = inspect(store.engine)
    rubrics = [name for name in known.get_table_names() if "rubric" in name]
    explained = columns_by_table(section("Rubrics"))
    assert len(rubrics) == 9
    assert {table: sorted(names) for table, names in explained.items()} == {
        table: sorted(column["name"] for column in known.get_columns(table)) for table in rubrics
    }
