"""Reports that were written before are found again, and told from other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_tools.deps import Deps
from misjudge_tools.file_requests import ReportRequest
from misjudge_tools.read_record import read_record
from misjudge_tools.report_files import MIME_TYPES, MOST_FILES, NOT_ALL, read_report, report_files
from misjudge_tools.requests import RecordRequest
from misjudge_tools.write_report import MARKDOWN_HEAD, SINGLE, write_report
from operations import pair_records, stored


async def written(deps: Deps, *places: str) -> None:
    stored(deps.store, pair_records(2), "a")
    for place in places:
        await write_report(ReportRequest(audit="a", out=place), deps)


def test_every_kind_of_single_report_has_its_type() -> None:
    assert MIME_TYPES.keys() == SINGLE.keys()


async def test_each_kind_is_found_and_read_whole(deps: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").mkdir()
    places = ["a.html", "b.MD", "one/c.csv", "one/d.json"]
    await written(deps, *places)
    for name in ("a.html", "b.MD"):
        (tmp_path / f"not {name}").write_text("something else", encoding="utf-8")
    assert [report.path for report in report_files(None).reports] == places
    for report in report_files([tmp_path]).reports:
        found = read_report(report.path, [tmp_path])
        assert found.file == report and report.size == (tmp_path / report.path).stat().st_size
        assert found.text == (tmp_path / report.path).read_bytes().decode("utf-8-sig")


async def test_a_folder_of_reports_is_looked_into_but_no_deeper_one(
    deps: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    await written(deps, "folder", "deep/down/r.html")
    found = [report.path for report in report_files([tmp_path, tmp_path / "gone"]).reports]
    assert found == ["folder/figures.csv", "folder/report.html", "folder/report.md", "folder/summary.json"]
    assert read_report("deep/down/r.html", [tmp_path]).file.mime_type == "text/html"


async def test_a_place_that_holds_no_report_is_refused(
    deps: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.md").write_text("<!-- Written by hand -->", encoding="utf-8")
    (tmp_path / "page.html").mkdir()
    for place in ("note.md", "page.html", "gone.md", "note.txt"):
        with pytest.raises(NotFound, match="No report of misjudge"):
            read_report(place, [tmp_path])
        with pytest.raises(NotFound, match="No report of misjudge"):
            read_report(place, None)
    with pytest.raises(NotFound, match="No report of misjudge"):
        read_report("no\0name.md", None)
    with pytest.raises(InvalidInput, match="outside the folders"):
        read_report("../note.md", [tmp_path])


async def test_a_report_elsewhere_is_named_from_the_root_on(
    deps: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    await written(deps, str(tmp_path / "there" / "r.md"), "r.md")
    roots = [tmp_path / "here", tmp_path / "there", tmp_path / "here"]
    places = [report.path for report in report_files(roots).reports]
    assert places == ["r.md", (tmp_path / "there" / "r.md").as_posix()]
    assert [read_report(place, roots).file.path for place in places] == places


async def test_lists_and_texts_are_read_page_by_page(
    deps: Deps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await written(deps, *(f"r{n}.md" for n in range(4)))
    seen, cursor = list[str](), 0
    while True:
        page = await read_record(RecordRequest(uri="misjudge://reports", cursor=cursor, max_bytes=500), deps)
        seen += [row["path"] for row in page.record["reports"]]
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
    assert seen == [f"r{n}.md" for n in range(4)]
    text, uri = "", "misjudge://reports/r0.md"
    while uri:
        page = await read_record(RecordRequest(uri=uri, fields=["text"]), deps)
        text += page.record["text"]
        uri = f"misjudge://reports/r0.md?cursor={page.next_cursor}" if page.next_cursor else ""
    assert text == (tmp_path / "r0.md").read_text(encoding="utf-8")


async def test_a_summary_is_read_by_its_address(deps: Deps) -> None:
    stored(deps.store, pair_records(2), "a b")
    whole = await read_record(RecordRequest(uri="misjudge://audits/a%20b/summary"), deps)
    assert (whole.record["audit"], whole.record["pairs"]["n"], whole.next_cursor) == ("a b", 2, None)
    part = await read_record(RecordRequest(uri="misjudge://audits/a b/summary", fields=["pairs"]), deps)
    assert part.record["pairs"] == whole.record["pairs"] and part.record["misselection"] is None
    with pytest.raises(NotFound, match="No audit is called 'c'"):
        await read_record(RecordRequest(uri="misjudge://audits/c/summary"), deps)
    with pytest.raises(InvalidInput, match="A summary has no pages"):
        await read_record(RecordRequest(uri="misjudge://audits/a b/summary", cursor=1), deps)


def test_other_files_and_full_folders_take_no_reports_place(tmp_path: Path) -> None:
    """`reports` comes after a folder of more files than are looked at, and beside others that are as full."""
    for name in ("data", "reports", "zz"):
        (tmp_path / name).mkdir()
    for n in range(MOST_FILES + 1):
        (tmp_path / f"{n}.txt").touch()
    for n in range(3):
        (tmp_path / "reports" / f"r{n}.md").write_text(MARKDOWN_HEAD, encoding="utf-8")
    found = report_files([tmp_path])
    assert (len(found.reports), found.note) == (3, None)
    for folder in (tmp_path, tmp_path / "data"):
        for n in range(MOST_FILES):
            (folder / f"{n}.json").touch()
    crowded = report_files([tmp_path])
    assert crowded.reports == found.reports and crowded.note == NOT_ALL


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_FOLDERS", "MOST_ENTRIES"])
def test_where_a_limit_was_met_it_is_said_and_else_not(
    tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "r.md").write_text(MARKDOWN_HEAD, encoding="utf-8")
    monkeypatch.setattr(f"misjudge_tools.report_files.{limit}", 3)
    assert (len(report_files([tmp_path]).reports), report_files([tmp_path]).note) == (3, None)
    assert report_files([tmp_path, tmp_path]).note == (NOT_ALL if limit == "MOST_FOLDERS" else None)
    monkeypatch.setattr(f"misjudge_tools.report_files.{limit}", 2)
    assert (len(report_files([tmp_path]).reports), report_files([tmp_path]).note) == (2, NOT_ALL)
