"""The commands `report` and `export`: what they write, what they print, and what they refuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from command import Misjudge
from misjudge_server.carrying import OPTIONS
from misjudge_tools.file_requests import ExportFormat, ReportFormat

ROWS = [f"task {n},Do order {n},Order {n} is done.,No.,1,0,{'B' if n < 3 else 'A'},A" for n in range(30)]


@pytest.fixture
def audited(misjudge: Misjudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Misjudge:
    """The command line on an audit `a` of thirty pairs, of which the judge gets three wrong."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(
        "\n".join(["task,prompt,a,b,success_a,success_b,winner,gold", *ROWS]), encoding="utf-8"
    )
    done = misjudge("import", "table", "pairs.csv", "--audit", "a")
    assert done.code == 0, done.err
    return misjudge


def test_a_report_is_written_and_its_verdict_printed(audited: Misjudge, tmp_path: Path) -> None:
    done = audited("report", "a", "--out", "r")
    assert done.code == 0, done.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text(encoding="utf-8"))
    assert "3 of 30" in done.out and "report.html" in done.out
    assert summary["misselection"]["k"] == 3
    assert (tmp_path / "r" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_report_is_not_written_over_what_stands_there(audited: Misjudge, tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("mine", encoding="utf-8")
    refused = audited("report", "a", "--out", "r.html")
    assert refused.code == 2 and "r.html" in refused.err and "force" in refused.err
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == "mine"
    assert audited("report", "a", "--out", "r.html", "--force").code == 0


def test_an_export_says_where_it_is_and_how_many_rows_it_has(audited: Misjudge, tmp_path: Path) -> None:
    done = audited("export", "a", "--format", "audit_pairs", "--out", "p.csv")
    assert done.code == 0, done.err
    assert "30 rows" in done.out
    with (tmp_path / "p.csv").open(encoding="utf-8-sig", newline="") as file:
        assert sum(1 for _ in csv.DictReader(file)) == 30


def test_preference_data_say_what_the_judge_alone_would_have_got_wrong(audited: Misjudge) -> None:
    done = audited("export", "a", "--format", "dpo", "--out", "dpo")
    assert done.code == 0, done.err
    assert "3 of 30" in done.out
    told = audited("export", "a", "--format", "dpo", "--out", "dpo", "--force", "--json")
    assert json.loads(told.out)["judge_only"][0]["mislabelled"]["k"] == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "xml", "--out", "p.xml"), "format"),
        (("--format", "audit-pairs", "--out", "p.csv"), "Did you mean 'audit_pairs'?"),
        (("--format", "dpo", "--out", "dpo.jsonl"), "a folder (its name has no ending)"),
        (("--format", "audit_pairs", "--out", "p.txt"), ".csv"),
        (("--format", "sarif", "--out", "p.sarif", "--keep", "judge_right"), "--keep"),
    ],
)
def test_an_export_that_cannot_be_says_what_is_allowed(audited: Misjudge, options: tuple[str, ...], said: str) -> None:
    refused = audited("export", "a", *options)
    assert refused.code == 2 and said in refused.err and not refused.out


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        (
            ("report", "a"),
            ("--format", "htlm"),
            "Argument '--format' cannot be used: Input should be 'html', 'markdown'",
        ),
        (("report", "a"), ("--format", "htlm"), "Did you mean 'html'?"),
        (
            ("rubrics", "match", "a"),
            ("--matcher", "x", "--matcher", "y", "--matcher", "z"),
            "Argument '--matcher' cannot",
        ),
        (("rubrics", "match", "a"), ("--writer", ""), "Argument '--writer' cannot"),
        (("rubrics", "apply", "a"), ("--rubric", ""), "Argument '--rubric' cannot"),
    ],
)
def test_a_complaint_names_the_option_as_it_is_typed(
    audited: Misjudge, command: tuple[str, ...], given: tuple[str, ...], said: str
) -> None:
    refused = audited(*command, *given)
    assert refused.code == 2 and said in refused.err
    assert not any(f"Argument '{name}'" in refused.err for name in OPTIONS)


@pytest.mark.parametrize(("command", "values"), [("report", ReportFormat), ("export", ExportFormat)])
def test_the_help_lists_every_format(misjudge: Misjudge, command: str, values: Any) -> None:
    told = misjudge(command, "--help").out
    assert all(value in told for value in get_args(values))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("report", "a"), "x3.exe"),
        (("report", "a"), "AGENTS.md"),
        (("report", "a"), "misjudge.toml"),
        (("export", "a", "--format", "parquet"), "out.parquet"),
        (("export", "a", "--format", "dpo"), ".dpo"),
        (("label", "a", "--reviewer", "ann"), ".sheet.csv"),
    ],
)
def test_nothing_is_written_under_a_name_that_others_load_or_that_is_no_output_of_ours(
    audited: Misjudge, tmp_path: Path, command: tuple[str, ...], name: str
) -> None:
    refused = audited(*command, "--out", name, "--force")
    assert refused.code == 2 and not refused.out
    assert not (tmp_path / name).exists()
    assert audited("summarize", "a").code == 0


def test_an_export_does_not_take_the_place_of_a_report(audited: Misjudge, tmp_path: Path) -> None:
    assert audited("report", "a", "--out", "r", "--format", "json").code == 0
    refused = audited("export", "a", "--format", "dpo", "--out", "r", "--force")
    assert refused.code == 2 and "remove that one yourself" in refused.err
    assert (tmp_path / "r" / "summary.json").exists()
    assert audited("report", "a", "--out", "r", "--format", "json", "--force").code == 0
