"""An agent replaces only what misjudge wrote in the same format; a person in a shell replaces what they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.export_records import export_records
from misjudge_tools.file_requests import ExportRequest, ReportRequest
from misjudge_tools.write_report import write_report
from operations import opened, stored
from report_parts import judged_records

PLACES = {
    "audit_pairs": "out.csv",
    "gauge_runs": "sessions.csv",
    "judge_logs": "out.jsonl",
    "sarif": "out.sarif.json",
    "html": "out.html",
    "markdown": "out.md",
    "csv": "figures.csv",
    "json": "out.json",
}
THEIRS = {
    ".csv": "name,value\na,1\n",
    ".jsonl": '{"prompt": "Hello"}\n',
    ".json": '{"name": "my-package", "version": "1.0.0"}\n',
    ".html": "<!doctype html>\n<html><head><title>Mine · misjudge</title></head></html>\n",
    ".md": "# How to work here\n",
}


async def write(deps: Deps, kind: str, out: Path, *, force: bool = True) -> None:
    asked = {"audit": "a", "out": str(out), "force": force}
    if kind in {"html", "markdown", "csv", "json"}:
        await write_report(ReportRequest.model_validate(asked), deps)
    else:
        await export_records(ExportRequest.model_validate({**asked, "format": kind}), deps)


@pytest.mark.parametrize("kind", PLACES)
async def test_what_was_written_before_is_replaced_by_an_agent(kind: str, tmp_path: Path) -> None:
    out = tmp_path / PLACES[kind]
    async with opened(tmp_path / "store.db", roots=(tmp_path,)) as deps:
        stored(deps.store, list(judged_records(3)))
        await write(deps, kind, out, force=False)
        before = out.read_bytes()
        with pytest.raises(InvalidInput, match="is there already"):
            await write(deps, kind, out, force=False)
        await write(deps, kind, out)
        assert out.read_bytes() == before


@pytest.mark.parametrize("kind", PLACES)
async def test_a_file_of_somebody_else_is_replaced_by_a_person_alone(kind: str, tmp_path: Path) -> None:
    out = tmp_path / PLACES[kind]
    theirs = THEIRS[out.suffix]
    out.write_text(theirs, encoding="utf-8")
    async with opened(tmp_path / "store.db", roots=(tmp_path,)) as deps:
        stored(deps.store, list(judged_records(3)))
        for force in (True, False):
            with pytest.raises(InvalidInput, match="only a person may replace it"):
                await write(deps, kind, out, force=force)
        assert out.read_text(encoding="utf-8") == theirs
    async with opened(tmp_path / "store.db") as deps:
        await write(deps, kind, out)
    assert out.read_text(encoding="utf-8") != theirs


async def test_an_export_of_one_format_does_not_replace_one_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db", roots=(tmp_path,)) as deps:
        stored(deps.store, list(judged_records(3)))
        await write(deps, "audit_pairs", tmp_path / "out.csv")
        for kind in ("gauge_runs", "csv"):
            with pytest.raises(InvalidInput, match="is no file of this kind"):
                await write(deps, kind, tmp_path / "out.csv")
