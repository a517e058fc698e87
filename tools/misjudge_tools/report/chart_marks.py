"""The parts that charts have in common: sizes, colours, and rows of label, figures and something drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from misjudge_tools.report.chart_labels import Said, lines, width

if TYPE_CHECKING:
    import altair as alt

    Part: TypeAlias = alt.LayerChart | alt.FacetChart

WIDTH = 345
"""Pixels; with its margins as wide as a phone, so that letters are not shrunk there."""
FONT = "Liberation Sans, Noto Sans CJK SC, sans-serif"
"""The first one comes with vl-convert: text is measured alike everywhere."""
SIZE = 12
TITLE_SIZE = 12.5
INK = "#1b1b1f"
MUTED = "#55565f"
GRID = "#d9dae0"
PAPER = "#ffffff"
TRUST = "#cfe8dc"
SERIES = ("#0072b2", "#c44e00", "#00785a", "#9b4f96", "#7f6200", "#4a4a4a")
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")


class Lines(NamedTuple):
    """Where the texts of a row stand above and below its middle, and what is drawn of it; `step` is its height."""

    step: int
    label: int
    figures: int
    drawn: int
    below: bool


def row_lines(texts: Iterable[Said], room: float) -> Lines:
    """Label and figures on one line where all of them have room there, else the figures on a second one."""
    if all(width(label, SIZE) + width(figures, SIZE) < room for label, figures in texts):
        return Lines(step=36, label=-8, figures=-8, drawn=8, below=False)
    return Lines(step=50, label=-16, figures=-1, drawn=14, below=True)


def layer(rows: Sequence[Mapping[str, Any]], parts: Sequence[alt.Chart], title: str, step: int) -> Part:
    """Marks on the same rows, each `step` pixels high."""
    import altair as alt

    named = {"title": alt.Title(title_lines(title))} if title else {}
    return alt.layer(*parts, data=data(rows), width=WIDTH, height=len(rows) * step, **named)


def title_lines(title: str) -> list[str]:
    """The title of a panel in lines that fit."""
    # Bold letters are about a tenth wider.
    return lines(title, 1.1 * TITLE_SIZE, WIDTH)


def data(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """The rows in the specification itself."""
    import altair as alt

    return alt.InlineData(values=[dict(one) for one in rows])


def row(**channels: Any) -> alt.Chart:
    """Marks that stand one below the other, in the order of their ids."""
    import altair as alt

    y = alt.Y("id:N", sort="ascending", axis=None, scale=alt.Scale(type="band", paddingInner=0, paddingOuter=0))
    marked: alt.Chart = alt.Chart().encode(y=y, **channels)
    return marked


def row_id(number: int) -> str:
    """Ids that sort as numbers do; rows without a value are in some layers only, so the data's order is not enough."""
    return f"r{number:03}"


def row_texts(at: Lines) -> list[alt.Chart]:
    """The label of each row and its figures."""
    import altair as alt

    left, right = alt.value(0), alt.value(WIDTH)
    label = row(x=left, text=alt.Text("label:N")).mark_text(
        align="left", dy=at.label, fontSize=SIZE, color=INK, limit=WIDTH
    )
    figures = row(x=left if at.below else right, text=alt.Text("figures:N")).mark_text(
        align="left" if at.below else "right", dy=at.figures, fontSize=SIZE, color=MUTED, limit=WIDTH
    )
    return [label, figures]


def listed(texts: Sequence[Said]) -> Part:
    """Rows of text: label and figures."""
    narrow = any(width(label, SIZE) + width(figures, SIZE) > WIDTH - 12 for label, figures in texts)
    at = Lines(step=36, label=-9, figures=6, drawn=0, below=True) if narrow else Lines(18, 0, 0, 0, below=False)
    rows = [{"id": row_id(number), **said._asdict()} for number, said in enumerate(texts)]
    return layer(rows, row_texts(at), "", at.step)


def ground(at: Lines) -> alt.Chart:
    """A faint line on which the value of a row stands."""
    import altair as alt

    line: alt.Chart = row(x=alt.value(0), x2=alt.value(WIDTH)).mark_rule(color=GRID, yOffset=at.drawn)
    return line
