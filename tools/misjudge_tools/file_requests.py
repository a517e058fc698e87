"""What is written to files is asked for so: reports and exports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from misjudge_tools.requests import AuditName, Request

ReportFormat = Literal["html", "markdown", "csv", "json", "guides", "charts"]


class ReportRequest(Request):
    """Write the report of an audit."""

    audit: AuditName
    out: Annotated[
        str,
        Field(min_length=1, max_length=1000, description="A new folder, or one .html, .md, .csv or .json file."),
    ]
    formats: Annotated[
        list[ReportFormat] | None, Field(min_length=1, description="What a folder holds. Default: all.")
    ] = None
    force: Annotated[bool, Field(description="Replace an earlier report.")] = False
    judge: Annotated[str | None, Field(description="Only this judge, by its label.")] = None
    panel: Annotated[list[str] | None, Field(description="Labels of the judges of the panel.")] = None
    baseline: Annotated[AuditName | None, Field(description="An earlier audit, for drift.")] = None
    language: Annotated[Literal["en", "zh"], Field(description="Of its text.")] = "en"
    since: Annotated[str | None, Field(description="three_way: from YYYY-MM-DD.")] = None
    by: Annotated[Literal["day", "week", "month"], Field(description="three_way: periods.")] = "week"
    bill: Annotated[str | None, Field(description="cost: a bill, CSV with model and cost.")] = None


ExportFormat = Literal["audit_pairs", "judge_logs", "gauge_runs", "gauge_replay", "parquet", "sarif", "dpo", "kto"]


class ExportRequest(Request):
    """Write an audit's records to a file or folder."""

    audit: AuditName
    format: ExportFormat
    out: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="A .csv, .jsonl or .sarif file; a folder for gauge_replay, parquet, dpo, kto.",
        ),
    ]
    force: Annotated[bool, Field(description="Replace an earlier export.")] = False
    judge: Annotated[str | None, Field(description="gauge_runs, sarif: only this one. dpo: that of keep.")] = None
    keep: Annotated[
        Literal["judge_right", "judge_wrong", "judge_decided"] | None,
        Field(description="dpo: only such pairs. Default: all that evidence decides."),
    ] = None
    test_share: Annotated[float, Field(ge=0, le=0.5, description="dpo, kto: tasks kept for testing.")] = 0.1
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="dpo, kto: of that split.")] = 0
    allow_eval_tasks: Annotated[bool, Field(description="dpo, kto: also tasks of the shipped suite.")] = False
