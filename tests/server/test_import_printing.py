"""How a table would be imported, as people see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Misjudge
from misjudge_server.console import console

ROWS = "task,gpt,a,b,success_a,success_b,note\n" + "".join(
    f"t{n},{'tie' if n else 'left?'},{'a long response ' * 9},short {n},1,{'maybe' if n == 2 else 0},x\n"
    for n in range(3)
)
DRY = ("import", "table", "log.csv", "--audit", "a", "--map", "winner=gpt", "--dry-run")


@pytest.mark.parametrize("width", [60, 80, 118])
def test_a_dry_run_shows_each_role_with_its_column_and_first_cells(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    (folder / "log.csv").write_text(ROWS, encoding="utf-8")
    monkeypatch.setattr(console, "width", width)
    done = misjudge(*DRY)
    assert done.code == 0 and max(map(len, done.out.splitlines())) <= width
    text = " ".join(done.out.replace("│", " ").split())
    for said in ("log.csv: csv, one pair a row", "winner gpt", "Columns not read: note", "Nothing was imported."):
        assert said in text
    assert "line 4: column 'success_b' must hold true or false" in text
    assert "response a long response a long response a long response a" not in text
    assert len(done.out.splitlines()) < 40


def test_json_of_a_dry_run_is_as_before(misjudge: Misjudge, folder: Path) -> None:
    (folder / "log.csv").write_text(ROWS, encoding="utf-8")
    shown = json.loads(misjudge(*DRY, "--json").out)["preview"]["log.csv"]
    assert shown["unread_columns"] == ["note"] and len(shown["rows"]) == 3
