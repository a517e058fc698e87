"""`write_report`: an audit as files to read: one page, Markdown, tables of its numbers, charts, the guides' reports."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.exporting.keys import Hide, key_hider, without_keys
from misjudge_tools.exporting.spreadsheets import begins_with, write_csv
from misjudge_tools.exporting.writing import new_file, new_folder, target
from misjudge_tools.file_requests import ReportFormat, ReportRequest
from misjudge_tools.interchange.bill import read_bill
from misjudge_tools.report.charts import Chart, charts, png
from misjudge_tools.report.facts import ReportFacts, report_facts
from misjudge_tools.report.figures import Figure
from misjudge_tools.report.guide_reports import guide_reports
from misjudge_tools.report.markdown import markdown
from misjudge_tools.report.page import page
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import ReportResult, WrittenFile
from misjudge_tools.summarize_audit import refuse_contradictions, summary_of
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.kinship import stated_families

SINGLE: Final[Mapping[str, ReportFormat]] = {".html": "html", ".md": "markdown", ".csv": "csv", ".json": "json"}
"""What is written where `out` names one file."""
FORMATS: Final[tuple[ReportFormat, ...]] = ("html", "markdown", "csv", "json", "guides", "charts")
NAMES: Final[Mapping[ReportFormat, str]] = {
    "html": "report.html",
    "markdown": "report.md",
    "csv": "figures.csv",
    "json": "summary.json",
}
NOTHING: Final = (
    "This audit has nothing yet that a chart could show, so nothing was written. Choose other formats, or judge its "
    "records first."
)
CSV_COLUMNS: Final = Figure._fields
MARKDOWN_HEAD: Final = "<!-- Written by misjudge -->\n\n"
OURS: Final[Mapping[ReportFormat, re.Pattern[bytes]]] = {
    "html": re.compile(rb'\s*<!doctype html>\s[^\0]{0,200}<meta name="generator" content="misjudge">', re.IGNORECASE),
    "markdown": re.compile(re.escape(MARKDOWN_HEAD.encode())),
    "csv": begins_with(CSV_COLUMNS),
    "json": re.compile(rb'\{\s*"schema": \d+,\s*"audit": "(?:[^"\\]|\\.)*",\s*"marked": (?:null|"SIMULATED)'),
}
"""How a report in one file begins: an agent may replace no other file."""


class _Made(NamedTuple):
    """What a report is written from; `charts_why` says why it has no charts, `hide` takes keys out of its texts."""

    facts: ReportFacts
    charts: Mapping[str, Chart]
    charts_why: str | None
    hide: Hide


async def write_report(request: ReportRequest, deps: Deps) -> ReportResult:
    """Write the report of an audit: one file where `out` ends in .html, .md, .csv or .json, else a folder.

    Raises InvalidInput for a place that is taken or not allowed, NotFound for an audit or judge that there is not.
    """
    return await asyncio.to_thread(_write, request, deps)


def _write(request: ReportRequest, deps: Deps) -> ReportResult:
    path = target(request.out, tuple(SINGLE), deps.roots, folder=True)
    single = SINGLE.get(path.suffix.lower())
    if single is not None and request.formats not in (None, [single]):
        raise InvalidInput(f"{path.name} is one file: leave formats out, or name a folder to write several.")
    formats = request.formats or (FORMATS if single is None else (single,))
    made = _made(request, formats, deps)
    if single is not None:
        with new_file(path, force=request.force, roots=deps.roots, ours=OURS[single]) as place:
            _WRITERS[single](place, made)
            files = [WrittenFile(name=path.name, bytes=place.stat().st_size)]
    else:
        with new_folder(path, "report", force=request.force, roots=deps.roots) as place:
            names = _folder(place, made, formats)
            files = [WrittenFile(name=name, bytes=(place / name).stat().st_size) for name in names]
            if not files:
                raise InvalidInput(NOTHING)
    return _result(request, path, made, files)


def _made(request: ReportRequest, formats: Sequence[ReportFormat], deps: Deps) -> _Made:
    question = SummarizeRequest(**request.model_dump(include=set(SummarizeRequest.model_fields)))
    refuse_contradictions(question)
    bill = None if request.bill is None else read_bill(request.bill, deps.roots)
    hide = key_hider(deps.models)
    with deps.store.read() as connection:
        counts = AuditCounts(connection, question, stated_families(deps.models), bill)
        facts = report_facts(counts, summary_of(counts), request.language, hide)
    if not {"html", "charts"} & {*formats}:
        return _Made(facts, {}, None, hide)
    try:
        return _Made(facts, charts(facts.summary, request.language), None, hide)
    except InvalidInput as missing:
        if request.formats is not None and "charts" in request.formats:
            raise
        return _Made(facts, {}, str(missing), hide)


def _folder(place: Path, made: _Made, formats: Sequence[ReportFormat]) -> Iterator[str]:
    """The names of the files, each written when its name is asked for."""
    for format_ in formats:
        if format_ in NAMES:
            _WRITERS[format_](place / NAMES[format_], made)
            yield NAMES[format_]
    if "guides" in formats:
        yield from _texts(place, "guides", made, _guides(made))
    if "charts" in formats and made.charts:
        (place / "charts").mkdir()
        for name, chart in made.charts.items():
            _put(place / "charts" / f"{name}.svg", made, chart.svg)
            (place / "charts" / f"{name}.png").write_bytes(png(chart))
            yield from (f"charts/{name}.svg", f"charts/{name}.png")


def _texts(place: Path, folder: str, made: _Made, texts: Mapping[str, str]) -> Iterator[str]:
    (place / folder).mkdir()
    for name, text in texts.items():
        _put(place / folder / name, made, text)
        yield f"{folder}/{name}"


def _guides(made: _Made) -> dict[str, str]:
    facts = made.facts
    return guide_reports(facts.summary, facts.figures, facts.calls, facts.document.language)


def _page(place: Path, made: _Made) -> None:
    _put(place, made, page(made.facts, made.charts))


def _markdown(place: Path, made: _Made) -> None:
    _put(place, made, MARKDOWN_HEAD + markdown(made.facts.document))


def _figures(place: Path, made: _Made) -> None:
    write_csv(place, CSV_COLUMNS, (without_keys(figure._asdict(), made.hide) for figure in made.facts.figures.values()))


def _summary(place: Path, made: _Made) -> None:
    dumped = made.facts.summary.model_dump(mode="json", by_alias=True)
    _put(place, made, json.dumps(dumped, ensure_ascii=False, indent=2) + "\n")


def _put(place: Path, made: _Made, text: str) -> None:
    """Write a text, without the keys of this configuration: an agent may have said its own."""
    place.write_text(made.hide(text), encoding="utf-8", newline="\n")


_WRITERS: Final[Mapping[ReportFormat, Callable[[Path, _Made], None]]] = {
    "html": _page,
    "markdown": _markdown,
    "csv": _figures,
    "json": _summary,
}


def _result(request: ReportRequest, path: Path, made: _Made, files: Sequence[WrittenFile]) -> ReportResult:
    facts = made.facts
    left_out = [
        *([made.charts_why] if made.charts_why else []),
        *_left_out("pairs", len(facts.pairs.rows), facts.pairs.total),
        *_left_out("scores of sessions", len(facts.sessions.rows), facts.sessions.total),
        *_left_out("conflicts", len(facts.conflicts.rows), len(facts.conflicts.rows) + facts.conflicts.left_out),
    ]
    return ReportResult(
        audit=request.audit,
        judge=facts.summary.judge,
        marked=facts.summary.marked,
        verdict=facts.document.verdict[0],
        out=str(path),
        files=tuple(files),
        left_out=tuple(left_out),
    )


def _left_out(what: str, shown: int, total: int) -> Iterator[str]:
    if shown < total:
        yield f"The page shows {shown:,} of {total:,} {what}."
