"""How a table would be imported, as people see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Misjudge
from misjudge_server.console import console
from misjudge_tools.interchange.table_mapping import PAIR_ROLES, RESPONSE_ROLES

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
    assert done.code == 2 and max(map(len, done.out.splitlines())) <= width
    text = " ".join(done.out.replace("│", " ").split())
    for said in ("log.csv: csv, one pair a row", "winner gpt", "Columns not read: note"):
        assert said in text
    assert "line 4: column 'success_b' must hold true or false" in done.err
    assert "nothing was imported" in done.err and "Right?" not in text
    assert "response a long response a long response a long response a" not in text
    assert len(done.out.splitlines()) < 40


def test_json_of_a_dry_run_is_as_before(misjudge: Misjudge, folder: Path) -> None:
    (folder / "log.csv").write_text(ROWS, encoding="utf-8")
    done = misjudge(*DRY, "--json")
    assert done.code == 2 and json.loads(done.out)["refused"] in done.err
    shown = json.loads(done.out)["preview"]["log.csv"]
    assert shown["unread_columns"] == ["note"] and len(shown["rows"]) == 3


def test_cells_that_are_not_understood_are_marked_and_a_good_dry_run_says_the_way_on(
    misjudge: Misjudge, folder: Path
) -> None:
    (folder / "log.csv").write_text("q,a,b,gpt\n1,x,y,A\n2,x,y,left?\n3,x,y,tie\n4,x,y,B\n", encoding="utf-8")
    done = misjudge(*DRY)
    assert done.code == 0 and done.err == ""
    text = " ".join(done.out.replace("│", " ").split())
    assert "winner gpt A left? → ? tie" in text
    assert "log.csv: 4 records; 1 verdict unscored Not understood" in text and "'left?' (1)" in text
    assert "Nothing was imported. Right? The same again without --dry-run." in text and "added" not in text
    done = misjudge(*DRY[:-1])
    assert "1 verdict unscored" in done.out and "'left?' (1)" in done.out and "Next: misjudge summarize a" in done.out


def test_the_help_of_an_import_lists_the_roles_of_a_table(misjudge: Misjudge) -> None:
    text = " ".join(misjudge("import", "--help").out.split())
    assert all(role in text for role in (*PAIR_ROLES, *RESPONSE_ROLES))
    assert "order:yes=BA,no=AB" in text
