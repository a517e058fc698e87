"""What each chart draws of a summary: its numbers, untouched, with the texts beside them. Pure.

A picture has panels of one kind: `Forest` (a value with its interval in each row), `Mosaic`, `Bars` or `Plane`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from misjudge_tools.report import chart_words as say
from misjudge_tools.report.chart_labels import Said, shown
from misjudge_tools.report.figures import measure
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.values import AuditSummary, Sections

MOST_JUDGES = 12
MOST_ROWS = 60
"""Rows of one picture: fewer judges are drawn where each has many, but always one."""


class Row(NamedTuple):
    """A value with its interval, in shares (or differences of shares); None where `n` is 0. `series` is its judge."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    figures: str
    series: int = 0


class Forest(NamedTuple):
    """Rows on one axis, shares or differences, with an upright mark at `line`."""

    title: str
    rows: tuple[Row, ...]
    unit: Literal["share", "difference"] = "share"
    line: float | None = None


class Cell(NamedTuple):
    """How many sessions satisfied the judge or not, and failed or not."""

    satisfied: bool
    failed: bool
    sessions: int
    label: str
    figures: str


class Mosaic(NamedTuple):
    """The four cells, the captions of the two columns, and how many of the satisfied ones failed."""

    title: str
    cells: tuple[Cell, ...]
    satisfied: str
    unsatisfied: str
    rate: Said


class Bar(NamedTuple):
    """What a role cost in USD, None where no call has a price."""

    label: str
    cost: float | None
    calls: int
    figures: str


class Bars(NamedTuple):
    """Costs by role, on one axis."""

    title: str
    bars: tuple[Bar, ...]


class Point(NamedTuple):
    """A rule; rules that come to the same share a `number`. `bound` is the one-sided upper one, where it was tested."""

    number: str
    label: str
    coverage: float
    value: float
    low: float | None
    high: float | None
    bound: float | None
    n: int
    trusted: bool
    figures: str


class Plane(NamedTuple):
    """Rules by coverage and error. `coverage` is that of the trusted region, None where there is none."""

    title: str
    points: tuple[Point, ...]
    limit: float | None
    coverage: float | None
    note: str


class Picture(NamedTuple):
    """One chart before it is drawn: `lines` stand below its title."""

    name: str
    title: str
    lines: tuple[str, ...]
    simulated: bool
    panels: tuple[Forest, ...] | tuple[Mosaic, ...] | tuple[Bars, ...] | tuple[Plane, ...]


class Judged(NamedTuple):
    """What is said of one judge; `label` is as shown, empty where there is no other."""

    label: str
    sections: Sections


def judged(summary: AuditSummary) -> tuple[Judged, ...]:
    """The judges of a summary, whether it is of one or of several."""
    if summary.judges is None:
        return (Judged("", summary),)
    return tuple(Judged(shown(label), sections) for label, sections in summary.judges.items())


def is_simulated(summary: AuditSummary) -> bool:
    """Whether anything in it is made up."""
    return summary.simulated or summary.marked is not None or any(of.sections.simulated for of in judged(summary))


class Chosen(NamedTuple):
    """The judges that a picture draws, and a line that says of how many, where not all."""

    judges: tuple[Judged, ...]
    lines: tuple[str, ...]


def chosen(summary: AuditSummary, rows: Callable[[Sections], int], language: Language) -> Chosen:
    """The first judges that have any of these rows, as many as a picture holds."""
    having = [of for of in judged(summary) if rows(of.sections)]
    taken: list[Judged] = []
    total = 0
    for of in having[:MOST_JUDGES]:
        total += rows(of.sections)
        if taken and total > MOST_ROWS:
            break
        taken.append(of)
    left_out = len(having) > len(taken)
    line = say.JUDGES_LEFT_OUT.say(language, shown=len(taken), all=len(having))
    return Chosen(tuple(taken), (line,) if left_out else ())


def row(label: str, found: Rate | Estimate | Effect | PairedDifference, series: int = 0) -> Row:
    """The row of a measure; its text is the one that stands in the report."""
    said = measure(found)
    if said is None or said.value is None:
        return Row(label, None, None, None, found.n, f"n={found.n}", series)
    return Row(label, said.value, said.low, said.high, found.n, said.text, series)


def of_judge(label: str, judge: Judged) -> str:
    """The label of a row; with the judge, where there are several."""
    return f"{label} · {judge.label}" if judge.label else label


def limit_of(judges: Iterable[Judged]) -> float | None:
    """The share of misselected that a usable judge stays under; None where the judges have several or none."""
    limits = {of.sections.headline.limit for of in judges if of.sections.headline is not None}
    return limits.pop() if len(limits) == 1 else None


def filled(panels: Iterable[Forest]) -> tuple[Forest, ...]:
    """The panels that have a value to draw."""
    return tuple(panel for panel in panels if any(row.value is not None for row in panel.rows))


def rows_of(panel: Forest | Mosaic | Bars | Plane, language: Language) -> Iterator[str]:
    """What the panel says in words, row by row."""
    match panel:
        case Forest(rows=parts) | Bars(bars=parts) | Plane(points=parts) | Mosaic(cells=parts):
            texts = [Said(part.label, part.figures) for part in parts]
    if isinstance(panel, Mosaic):
        texts.append(panel.rate)
    yield from (say.ALT_ROW.say(language, label=label, figures=figures) for label, figures in texts)
    if isinstance(panel, Plane):
        yield panel.note.rstrip("。.")


def alt(picture: Picture, language: Language) -> str:
    """The picture in one sentence: every number with n and interval."""
    said: list[str] = []
    for panel in picture.panels:
        first, *more = rows_of(panel, language)
        said += [say.ALT_PANEL.say(language, title=panel.title, row=first) if panel.title else first, *more]
    sentence = say.ALT.say(language, title=picture.title.rstrip("?？"), rows="; ".join(said))
    return say.ALT_MARKED.say(language, alt=sentence) if picture.simulated else sentence
