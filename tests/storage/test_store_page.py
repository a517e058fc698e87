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
