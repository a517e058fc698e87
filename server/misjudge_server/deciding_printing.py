"""The sections on which one decides, as text for people: the verdict first, details where they were asked for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import get_args

from rich.text import Text

from misjudge_server.agreement_printing import agreement_tables, corrected_tables
from misjudge_server.bias_printing import bias_tables, conflict_tables
from misjudge_server.console import console
from misjudge_server.cost_printing import print_cost
from misjudge_server.drift_printing import print_drift, print_three_way
from misjudge_server.gap_printing import print_gaps, print_power, print_slices
from misjudge_server.headline_printing import checklist_table, headline_lines, recommendation_lines, release_line
from misjudge_server.policies_printing import print_policies
from misjudge_server.ranking_printing import print_ranking
from misjudge_tools.summary.values import AuditSummary, SectionName, Sections

DETAILS = (
    *("power", "slices", "bias", "conflicts", "agreement", "corrected"),
    *("three_way", "ranking", "cost", "checklist"),
)
"""Sections that are printed where they were asked for by name: all together are longer than a terminal."""


def print_verdicts(summary: AuditSummary) -> None:
    """What one may do with the judge, or with each of several."""
    if summary.headline is not None:
        for line in headline_lines(summary.headline):
            console.print(line)
    for label, sections in _each(summary).items():
        if sections.headline is not None:
            # A label may hold line breaks, and must not look like a sentence of its own.
            console.print(Text(f"{' '.join(label.split())}: {sections.headline.verdict[0]}"))


def print_deciding(summary: AuditSummary) -> None:
    """The sections that were asked for; of a whole summary not the details, but which there are."""
    whole = is_whole(summary)
    if summary.gaps is not None:
        print_gaps(summary.gaps)
    if summary.policies is not None:
        print_policies(summary.policies)
    for drift in (summary.drift, *(one.drift for one in _each(summary).values())):
        if drift is not None:
            print_drift(drift)
    if not whole:
        _print_details(summary)
    if summary.recommendations is not None:
        for line in recommendation_lines(summary.recommendations):
            console.print(line)
    if whole and summary.checklist is not None:
        console.print(Text(release_line(summary.checklist)))
    if whole and (more := [name for name in DETAILS if getattr(summary, name) is not None]):
        sections = " ".join(f"--section {name}" for name in more)
        console.print(Text(f"More: misjudge summarize {shlex.quote(summary.audit)} {sections}", "dim"))


def is_whole(summary: AuditSummary) -> bool:
    """Whether every section was asked for: one that is not there has a reason then."""
    return all(getattr(summary, name) is not None or name in summary.why for name in get_args(SectionName))


def _print_details(summary: AuditSummary) -> None:
    if summary.power is not None:
        print_power(summary.power)
    if summary.slices is not None:
        print_slices(summary.slices)
    parts = [
        *(bias_tables(summary.bias, summary.judge or "the judge") if summary.bias else ()),
        *(conflict_tables(summary.conflicts) if summary.conflicts else ()),
        *(agreement_tables(summary.agreement) if summary.agreement else ()),
        *(corrected_tables(summary.corrected) if summary.corrected else ()),
    ]
    for part in parts:
        console.print(part)
    if summary.three_way is not None:
        print_three_way(summary.three_way)
    if summary.ranking is not None:
        print_ranking(summary.ranking)
    if summary.cost is not None:
        print_cost(summary.cost)
    if summary.checklist is not None:
        console.print(checklist_table(summary.checklist))


def _each(summary: AuditSummary) -> Mapping[str, Sections]:
    return summary.judges or {}
