"""The verdict on a judge, its checklist and what to do, as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from misjudge_server.console import percent
from misjudge_tools.summary.deciding.checklist_values import ChecklistSection
from misjudge_tools.summary.deciding.headline_values import HeadlineSection
from misjudge_tools.summary.deciding.recommendations_values import RecommendationsSection
from misjudge_tools.summary.words import word

STOPPED = (
    "interval: anytime. Runs ended where enough was known, and spared {pairs} pairs and {calls} calls, of all judges."
)
UNEVEN = "Replies are missing unevenly: {arm} in {unscored} of {calls} calls ({share}). What is left is no fair sample."
MARKS = {"yes": "yes", "partly": "in part", "no": "no", "not_needed": "–"}


def headline_lines(found: HeadlineSection) -> Iterator[RenderableType]:
    """The sentences, the first of them in bold, then what would change them and what is missing."""
    first, *others = found.verdict
    yield Text(first, style="bold")
    yield from map(Text, others)
    for sentence in found.would_change:
        yield Text(f"→ {sentence}")
    if found.stopping is not None:
        saved = {"pairs": found.stopping.pairs_saved, "calls": found.stopping.calls_saved}
        yield Text(word(STOPPED, **saved), style="dim")
    for arm in found.missing:
        if arm.arm in found.asymmetric:
            missing = {"unscored": arm.unscored, "calls": arm.calls, "share": percent(arm.share)}
            yield Text(word(UNEVEN, arm=arm.arm, **missing), style="yellow")


def release_line(found: ChecklistSection) -> str:
    """How many points of the checklist hold."""
    return word("Before a release: {done} of {all} points hold", done=found.done, all=len(found.items))


def checklist_table(found: ChecklistSection) -> Table:
    """The eight points, and what is left to do."""
    table = Table(title=release_line(found), title_justify="left")
    for heading in ("", "point", "to do"):
        table.add_column(word(heading), overflow="fold")
    for item in found.items:
        table.add_row(MARKS[item.state], Text(item.said), Text(item.to_do or ""))
    return table


def recommendation_lines(found: RecommendationsSection) -> Iterator[RenderableType]:
    """What to do, and why."""
    for row in found.rows:
        between = "" if row.advice.endswith("。") else " "
        yield Text.assemble("- ", (row.advice, "bold"), f"{between}{row.because}")
