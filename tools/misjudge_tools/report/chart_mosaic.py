"""A mosaic: sessions by whether they satisfied the judge and failed, in areas that are their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from misjudge_tools.report.chart_data import Cell, Mosaic
from misjudge_tools.report.chart_labels import width
from misjudge_tools.report.chart_marks import INK, MUTED, PAPER, SIZE, WIDTH, data, layer, row, row_id, title_lines

if TYPE_CHECKING:
    import altair as alt

    from misjudge_tools.report.chart_marks import Part

CELLS = {(True, True): "#f4b183", (True, False): "#cfe3f1", (False, True): "#e4e5ea", (False, False): "#f3e3b3"}
_MOSAIC_HEIGHT = 150


def mosaic(panel: Mosaic) -> Part:
    """The areas, with the counts of those that have room for them. Vega works the areas out of the counts."""
    import altair as alt

    filled = [cell for cell in panel.cells if cell.sessions]
    rows = [_cell(cell, panel) for cell in filled]
    base = (
        alt.Chart()
        .transform_stack(
            stack="sessions", as_=["from", "to"], groupby=[], offset="normalize", sort=_by("column", "row")
        )
        .transform_window(x="min(from)", x2="max(to)", frame=[None, None], groupby=["column"])
        .transform_stack(stack="sessions", as_=["y", "y2"], groupby=["column"], offset="normalize", sort=_by("row"))
        .transform_calculate(xc="(datum.x + datum.x2) / 2", yc="(datum.y + datum.y2) / 2")
    )
    whole = alt.Scale(domain=[0, 1], nice=False)
    area = base.mark_rect(stroke=PAPER, strokeWidth=3).encode(
        x=alt.X("x:Q", axis=None, scale=whole),
        x2="x2:Q",
        y=alt.Y("y:Q", axis=None, scale=whole),
        y2="y2:Q",
        color=_fills("kind:N"),
    )
    text = (
        base.transform_filter("datum.roomy")
        .mark_text(color=INK, fontSize=SIZE)
        .encode(x=alt.X("xc:Q", axis=None, scale=whole), y=alt.Y("yc:Q", axis=None, scale=whole), text="sessions:N")
    )
    title = alt.Title(title_lines(panel.title), offset=18)
    parts = (area, text, *_captions(panel))
    return alt.layer(*parts, data=data(rows), width=WIDTH, height=_MOSAIC_HEIGHT, title=title)


def _captions(panel: Mosaic) -> list[alt.Chart]:
    """What the two columns are, above the ends of the mosaic: a column may be too narrow for its name."""
    import altair as alt

    left, right = (
        alt.Chart(data([{"text": text}])).encode(text="text:N") for text in (panel.satisfied, panel.unsatisfied)
    )
    return [
        left.mark_text(align="left", color=MUTED, fontSize=SIZE).encode(x=alt.value(0), y=alt.value(-9)),
        right.mark_text(align="right", color=MUTED, fontSize=SIZE).encode(x=alt.value(WIDTH), y=alt.value(-9)),
    ]


def _cell(cell: Cell, panel: Mosaic) -> dict[str, Any]:
    """`roomy`: the cell has room for its count."""
    column = sum(other.sessions for other in panel.cells if other.satisfied == cell.satisfied)
    wide = WIDTH * column / sum(other.sessions for other in panel.cells)
    high = _MOSAIC_HEIGHT * cell.sessions / column
    return {
        "column": "a" if cell.satisfied else "b",
        "row": "a" if cell.failed else "b",
        "sessions": cell.sessions,
        "kind": _kind(cell.satisfied, cell.failed),
        "roomy": wide > width(str(cell.sessions), SIZE) + 8 and high > SIZE + 6,
    }


def _kind(satisfied: bool, failed: bool) -> str:
    return f"{'satisfied' if satisfied else 'unsatisfied'}_{'failed' if failed else 'succeeded'}"


def cells(panel: Mosaic) -> Part:
    """The counts in words, each beside the colour of its area, and the rate that matters."""
    import altair as alt

    rows = [
        {"id": row_id(number), "label": cell.label, "figures": cell.figures, "kind": _kind(cell.satisfied, cell.failed)}
        for number, cell in enumerate(panel.cells)
    ]
    rows.append({"id": row_id(len(rows)), **panel.rate._asdict(), "kind": "rate"})
    swatch = row(x=alt.value(6), color=_fills("kind:N")).mark_square(size=110, opacity=1, stroke=MUTED, strokeWidth=0.5)
    name = row(x=alt.value(18), text=alt.Text("label:N")).mark_text(align="left", color=INK, fontSize=SIZE)
    figures = row(x=alt.value(WIDTH), text=alt.Text("figures:N")).mark_text(align="right", color=MUTED, fontSize=SIZE)
    return layer(rows, [swatch.transform_filter("datum.kind != 'rate'"), name, figures], "", 18)


def _fills(field: str) -> alt.Color:
    import altair as alt

    scale = alt.Scale(domain=[_kind(*key) for key in CELLS], range=list(CELLS.values()))
    return alt.Color(field, legend=None, scale=scale)


def _by(*fields: str) -> list[alt.SortField]:
    import altair as alt

    return [alt.SortField(field, order="ascending") for field in fields]
