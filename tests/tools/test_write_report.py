"""`write_report`: which files are written where, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_tools import write_report as operation
from misjudge_tools.file_requests import ReportRequest
from misjudge_tools.report.charts import NEEDED
from misjudge_tools.write_report import write_report
from operations import opened, stored
from report_parts import figures_csv, judged_records, written


async def test_a_folder_holds_all_that_is_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        result = await written(deps, tmp_path / "out", formats=["html", "markdown", "csv", "json", "guides"])
    names = [file.name for file in result.files]
    assert names == [
        *("report.html", "report.md", "figures.csv", "summary.json"),
        *("guides/pairwise_table.md", "guides/token_cost.md", "guides/conclusion.md"),
    ]
    assert all((tmp_path / "out" / file.name).stat().st_size == file.bytes > 0 for file in result.files)
    assert result.verdict.startswith(("Do not use", "Whether this judge")) and result.judge == "judge"
    assert result.left_out == () and result.out == str(tmp_path / "out")


async def test_charts_are_pictures_of_both_kinds(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="Charts need the extra report.")
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        result = await written(deps, tmp_path / "out", formats=["charts", "html"])
    names = {file.name for file in result.files}
    assert {"charts/flips_position.svg", "charts/flips_position.png", "report.html"} <= names
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert text.count("<figure>") == sum(name.endswith(".svg") for name in names)


async def test_without_the_extra_a_report_has_no_charts_and_says_so_and_is_refused_where_they_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        result = await write_report(ReportRequest(audit="a", out=str(tmp_path / "out")), deps)
        for formats in (["charts"], ["charts", "html"]):
            with pytest.raises(InvalidInput, match=re.escape(NEEDED)):
                await written(deps, tmp_path / "asked", formats=formats)
    assert "report.html" in {file.name for file in result.files}
    assert result.left_out == (NEEDED,)
    assert [path.name for path in tmp_path.iterdir() if "asked" in path.name] == []


async def test_a_report_without_a_single_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "charts", lambda *_: {})
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        with pytest.raises(InvalidInput, match="nothing was written"):
            await written(deps, tmp_path / "out", formats=["charts"])
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


@pytest.mark.parametrize("name", ["r.pdf", "x3.exe", "misjudge.toml", "CLAUDE.md", ".env", ".mcp.json"])
async def test_a_report_is_a_folder_without_an_ending_or_one_of_four_files(name: str, tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        with pytest.raises(InvalidInput):
            await write_report(ReportRequest(audit="a", out=str(tmp_path / name), force=True), deps)
    assert {path.stem for path in tmp_path.iterdir()} == {"store"}


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("r.html", "<!doctype html>"),
        ("r.md", "<!-- Written by misjudge -->\n\n# "),
        ("r.csv", "\ufeffname,"),
        ("r.json", "{"),
    ],
)
async def test_a_file_name_is_one_file(name: str, starts: str, tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        result = await written(deps, tmp_path / name)
    assert [file.name for file in result.files] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8").lstrip("\n").startswith(starts)


async def test_a_report_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        await written(deps, tmp_path / "out")
        with pytest.raises(InvalidInput, match="is there already"):
            await written(deps, tmp_path / "out")
        await written(deps, tmp_path / "out", formats=["json"], force=True)
        assert sorted(one.name for one in (tmp_path / "out").glob("[!.]*")) == ["summary.json"]


async def test_a_report_is_never_written_over_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep", encoding="utf-8")
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        with pytest.raises(InvalidInput, match="holds other files"):
            await written(deps, tmp_path / "mine", force=True)
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["notes.txt"]


async def test_only_allowed_folders_are_written_to(tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    async with opened(tmp_path / "store.db", roots=(tmp_path / "allowed",)) as deps:
        stored(deps.store, list(judged_records()))
        await written(deps, tmp_path / "allowed" / "r.html")
        with pytest.raises(InvalidInput, match="outside the folders"):
            await written(deps, tmp_path / "r.html")
        with pytest.raises(InvalidInput, match="outside the folders"):
            await written(deps, tmp_path / "allowed" / ".." / "r.html")
    assert not (tmp_path / "r.html").exists()


async def test_one_file_and_several_formats_contradict_each_other(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        with pytest.raises(InvalidInput, match="is one file"):
            await write_report(ReportRequest(audit="a", out=str(tmp_path / "r.html"), formats=["html", "csv"]), deps)


async def test_an_unknown_audit_or_judge_leaves_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        with pytest.raises(NotFound):
            await write_report(ReportRequest(audit="b", out=str(tmp_path / "out")), deps)
        with pytest.raises(NotFound, match="has no judge"):
            await written(deps, tmp_path / "out", judge="nobody")
        with pytest.raises(InvalidInput, match="not both"):
            await written(deps, tmp_path / "out", judge="judge", panel=["judge"])
    assert not (tmp_path / "out").exists()


async def test_a_bill_is_in_the_report(tmp_path: Path) -> None:
    bill = tmp_path / "bill.csv"
    bill.write_text("model,cost\njudge-m,1.25\n", encoding="utf-8")
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        await written(deps, tmp_path / "out", bill=str(bill))
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    billed = summary["cost"]["reconciliation"]["total"]["billed"] if summary["cost"] else None
    assert billed is None or "1.2500 USD" in text


async def test_the_same_audit_gives_the_same_bytes(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, list(judged_records()))
        for name in ("one", "two"):
            await written(deps, tmp_path / name)
    for name in ("report.html", "report.md", "figures.csv", "summary.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert figures_csv(tmp_path / "one" / "figures.csv")[0]["name"].startswith("/")
