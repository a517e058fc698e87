"""What files and folders of ours may be called: one rule for exports, reports, label sheets and rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_tools.export_records import SUFFIXES, export_records
from misjudge_tools.exporting.writing import Roots, new_file, new_folder, target
from misjudge_tools.file_requests import ExportRequest, ReportRequest
from misjudge_tools.interchange.written_names import LOADED
from misjudge_tools.labelling.review_requests import SheetOutRequest
from misjudge_tools.labelling.sheets import SUFFIXES as SHEETS
from misjudge_tools.requests import RubricLibraryRequest
from misjudge_tools.review import sheet_out
from misjudge_tools.rubric_library import rubric_library
from misjudge_tools.write_report import SINGLE, write_report
from operations import opened, stored
from report_parts import judged_records

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows makes no links without leave")
ENDINGS = tuple(sorted({*SINGLE, *SHEETS, *(one for some in SUFFIXES.values() for one in some)}))
ROOTS: tuple[Callable[[Path], Roots], ...] = (lambda _: None, lambda below: (below,))


def at(folder: Path, name: str, roots: Roots = None) -> Path:
    return target(str(folder / name), ENDINGS, roots, folder=True)


@pytest.mark.parametrize("roots", ROOTS)
@pytest.mark.parametrize(
    "name",
    [
        *(
            "CLAUDE.md",
            "claude.MD",
            "Agents.md",
            "GEMINI.md",
            "\uff23\uff2c\uff21\uff35\uff24\uff25.md",
            "CLAUDE.md:a.md",
        ),
        *("package.json", "mcp.json", "Makefile", "makefile", "node_modules"),
        *(".mcp.json", ".cursorrules", ".env", ".csv", ".git", "..html"),
        *("misjudge.toml", "x3.exe", "out.pdf", "out.tar.gz", "out.d", "out.csv.bak"),
        *("con.csv", "NUL", "Com1.html", "out.", "out ", " out", "a.csv "),
        *("a\nb", "a\x1b[2J.csv", "a\u202eb.md", "CLAUDE\u200b.md", "a\ufffdb.html", "a\0b.html", "\ufffd/b.html"),
    ],
)
def test_a_name_that_others_load_or_that_hides_or_that_not_all_systems_take_is_refused(
    tmp_path: Path, name: str, roots: Callable[[Path], Roots]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        at(tmp_path, name, roots(tmp_path))
    assert "\x1b" not in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("roots", ROOTS)
@pytest.mark.parametrize(
    "name",
    [
        "out",
        "report-1.2",
        "v2.0",
        "2026.11.30",
        "my claude.md",
        "claude",
        "a.b.csv",
        "审计.html",
        "O.JSON",
        "a.sarif.json",
    ],
)
def test_any_other_name_is_taken(tmp_path: Path, name: str, roots: Callable[[Path], Roots]) -> None:
    assert at(tmp_path, name, roots(tmp_path)) == tmp_path / name


def test_every_name_that_others_load_is_one_that_could_be_asked_for() -> None:
    assert all(name == name.casefold() for name in LOADED)
    assert all("." not in name or name.endswith((*ENDINGS, ".txt")) for name in LOADED)


def test_an_agent_writes_to_no_hidden_folder_but_a_root_and_a_person_to_any(tmp_path: Path) -> None:
    hidden = tmp_path / ".claude"
    (hidden / "commands").mkdir(parents=True)
    for name in (".claude/out.md", ".claude/commands/out.md"):
        with pytest.raises(InvalidInput, match="begins with a dot or lies in a folder that does"):
            at(tmp_path, name, (tmp_path,))
        assert at(tmp_path, name, (hidden,)) == at(tmp_path, name, (tmp_path, hidden)) == at(tmp_path, name)
    with pytest.raises(InvalidInput, match="begins with a dot"):
        at(hidden, ".out.md", (hidden,))


@posix
def test_a_link_into_a_hidden_folder_is_no_way_around(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / ".git")
    place = tmp_path / "link" / "hooks"
    with pytest.raises(InvalidInput, match="a folder that does"):
        at(tmp_path, "link/hooks", (tmp_path,))
    with (
        pytest.raises(InvalidInput, match="a folder that does"),
        new_folder(place, "dpo", force=False, roots=(tmp_path,)),
    ):
        raise AssertionError
    with pytest.raises(InvalidInput, match="a folder that does"), new_file(place, force=False, roots=(tmp_path,)):
        raise AssertionError
    assert os.listdir(tmp_path / ".git") == []


async def test_all_that_is_written_keeps_to_that_rule(tmp_path: Path) -> None:
    def out(name: str) -> str:
        return str(tmp_path / name)

    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        rules = RubricLibraryRequest(action="add", rubric="r", rules=["Names the price."])
        await rubric_library(rules, deps)
        for kind, endings in SUFFIXES.items():
            suffix = "".join(endings[:1])
            for name in (f".out{suffix}", f"out{suffix}.exe", f"nul{suffix}"):
                with pytest.raises(InvalidInput):
                    await export_records(ExportRequest(audit="a", format=kind, out=out(name)), deps)
        for name in ("CLAUDE.md", ".out.html", "out.exe", "nul.json", "package.json", "a\0b.html"):
            with pytest.raises(InvalidInput):
                await write_report(ReportRequest(audit="a", out=out(name)), deps)
        for name in (".out.csv", "out.exe", "nul.jsonl", "a\0.csv"):
            with pytest.raises(InvalidInput):
                await sheet_out(SheetOutRequest(audit="a", reviewer="ann", path=out(name)), deps)
        for name in (".out.jsonl", "out.exe", "nul.txt", "requirements.txt"):
            with pytest.raises(InvalidInput):
                asked = RubricLibraryRequest(action="export", rubric="r", path=out(name))
                await rubric_library(asked, deps)
    assert {path.stem for path in tmp_path.iterdir()} == {"store"}
