"""The commands `report` and `export`: an audit as files."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from misjudge_server.carrying import carry_out, request_of, show
from misjudge_server.cli_options import AsJson, LabelOption, PanelLabels
from misjudge_tools import file_requests
from misjudge_tools.file_requests import ReportFormat

Audit = Annotated[str, typer.Argument(help="Name of the audit.")]
Formats = Annotated[
    list[str] | None,
    typer.Option("--format", help=f"Of a folder: {', '.join(get_args(ReportFormat))}; repeat it. Default: all."),
]
Force = Annotated[bool, typer.Option(help="Replace what stands there.")]


def report(
    audit: Audit,
    out: Annotated[str, typer.Option(help="A new folder, or one .html, .md, .csv or .json file.")] = "misjudge-report",
    formats: Formats = None,
    judge: LabelOption = None,
    panel: PanelLabels = None,
    baseline: Annotated[str | None, typer.Option(help="An earlier audit to compare with.")] = None,
    language: Annotated[str, typer.Option(help="en or zh: of the text.")] = "en",
    since: Annotated[str | None, typer.Option(help="three_way: from this day on, YYYY-MM-DD.")] = None,
    by: Annotated[str, typer.Option(help="three_way: day, week or month.")] = "week",
    bill: Annotated[str | None, typer.Option(help="A provider's bill, CSV with model and cost.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of an audit: one HTML page, Markdown, charts, the numbers as CSV and JSON."""
    from misjudge_server import file_printing
    from misjudge_tools.write_report import write_report

    request = request_of(
        file_requests.ReportRequest,
        audit=audit, out=out, formats=formats, judge=judge, panel=panel, baseline=baseline, language=language,
        since=since, by=by, bill=bill, force=force,
    )  # fmt: skip
    result = carry_out(lambda deps: write_report(request, deps))
    if as_json:
        show(result, as_json)
    else:
        file_printing.print_report(result)


def export(
    audit: Audit,
    format: Annotated[
        str,
        typer.Option(help="audit_pairs, judge_logs, gauge_runs, gauge_replay, parquet, sarif, dpo or kto."),
    ],
    out: Annotated[str, typer.Option(help="The new file, or folder for gauge_replay, parquet, dpo and kto.")],
    judge: LabelOption = None,
    keep: Annotated[
        str | None,
        typer.Option(help="dpo: only pairs of which the judge is judge_right, judge_wrong or judge_decided."),
    ] = None,
    test_share: Annotated[float, typer.Option(help="dpo, kto: share of the tasks that is kept for testing.")] = 0.1,
    seed: Annotated[int, typer.Option(help="dpo, kto: of that split.")] = 0,
    allow_eval_tasks: Annotated[bool, typer.Option(help="dpo, kto: also tasks of the shipped suite.")] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the records of an audit for spreadsheets, code scanning, or training."""
    from misjudge_server import file_printing
    from misjudge_tools.export_records import export_records

    request = request_of(
        file_requests.ExportRequest,
        audit=audit, format=format, out=out, judge=judge, keep=keep, test_share=test_share, seed=seed,
        allow_eval_tasks=allow_eval_tasks, force=force,
    )  # fmt: skip
    result = carry_out(lambda deps: export_records(request, deps))
    if as_json:
        show(result, as_json)
    else:
        file_printing.print_export(result)
