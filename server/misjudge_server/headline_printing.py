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

MARKS = {"yes": "yes", "partly": "in part", "no": "no", "not_needed": "–"}


def headline_lines(found: HeadlineSection) -> Iterator[RenderableType]:
    """The sentences, the first of them in bold, then what would change them and what is missing."""
    first, *others = found.verdict
    yield Text(first, style="bold")
    yield from map(Text, others)
    for sentence in found.would_change:
        yield Text(f"→ {sentence}")
    if found.stopping is not None:
        saved = f"{found.stopping.pairs_saved} pairs and {found.stopping.calls_saved} calls by then"
        yield Text(f"interval: anytime. Runs ended where enough was known, and spared {saved}.", style="dim")
    for arm in found.missing:
        if arm.arm in found.asymmetric:
            share = f"{arm.unscored} of {arm.calls} calls ({percent(arm.share)})"
            yield Text(
                f"Replies are missing unevenly: {arm.arm} in {share}. What is left is no fair sample.",
                style="yellow",
            )


def checklist_table(found: ChecklistSection) -> Table:
    """The eight points, and what is left to do."""
    table = Table(title=f"Before a release: {found.done} of {len(found.items)} points hold", title_justify="left")
    for heading in ("", "point", "to do"):
        table.add_column(heading, overflow="fold")
    for item in found.items:
        table.add_row(MARKS[item.state], Text(item.said), Text(item.to_do or ""))
    return table


def recommendation_lines(found: RecommendationsSection) -> Iterator[RenderableType]:
    """What to do, and why."""
    for row in found.rows:
        between = "" if row.advice.endswith("。") else " "
        yield Text.assemble("- ", (row.advice, "bold"), f"{between}{row.because}")
