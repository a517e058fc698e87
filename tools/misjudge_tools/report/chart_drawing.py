"""Pictures as Vega-Lite specifications, by altair. Names stand in them as data and titles, never as expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from misjudge_tools.report import chart_words as say
from misjudge_tools.report.chart_axes import Axis, error_axis, forest_axis, point_marks
from misjudge_tools.report.chart_data import Bars, Forest, Mosaic, Picture, Plane, Row
from misjudge_tools.report.chart_labels import Said, lines
from misjudge_tools.report.chart_marks import (
    FONT,
    GRID,
    INK,
    MUTED,
    PAPER,
    SERIES,
    SHAPES,
    SIZE,
    TITLE_SIZE,
    TRUST,
    WIDTH,
    Lines,
    data,
    ground,
    layer,
    listed,
    row,
    row_id,
    row_lines,
    row_texts,
    title_lines,
)
from misjudge_tools.report.chart_mosaic import cells, mosaic
from misjudge_tools.summary.deciding.phrases import Language

if TYPE_CHECKING:
    import altair as alt

    from misjudge_tools.report.chart_marks import Part

_SHARE = "format(datum.value * 100, '~g') + ' %'"
_CHANGE = "replace(format(datum.value * 100, '+~g'), '+0', '0')"
_USD = "format(datum.value, '~g') + ' USD'"
_PLANE_HEIGHT = 190


def spec_of(picture: Picture, language: Language) -> dict[str, Any]:
    """The Vega-Lite specification of a picture. Raises ImportError where altair is missing."""
    from altair.utils.schemapi import debug_mode

    # Checking each part against the schema would take longer than drawing it; the tests check whole specifications.
    with debug_mode(False):
        spec: dict[str, Any] = _chart(picture, language).to_dict(validate=False)
    return spec


def _chart(picture: Picture, language: Language) -> alt.VConcatChart:
    import altair as alt

    parts = [part for panel in picture.panels for part in _parts(panel, picture, language)]
    mark = (say.SIMULATED,) if picture.simulated else ()
    title = alt.Title(
        lines(picture.title, 15, WIDTH),
        subtitle=[line for text in (*mark, *picture.lines) for line in lines(text, 11, WIDTH)],
        anchor="start",
        frame="bounds",
        fontSize=15,
        subtitleFontSize=11,
        subtitleColor=MUTED,
        subtitlePadding=5,
        offset=12,
    )
    config = alt.Config(
        font=FONT,
        aria=False,
        view=alt.ViewConfig(stroke=None),
        title=alt.TitleConfig(color=INK, fontSize=TITLE_SIZE, anchor="start", frame="group", limit=WIDTH, offset=4),
        axis=alt.AxisConfig(
            labelColor=MUTED,
            titleColor=MUTED,
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
            labelFlush=True,
            labelLimit=WIDTH,
        ),
    )
    return alt.vconcat(*parts, title=title, spacing=10, background=PAPER, padding=10, config=config)


def _parts(panel: Forest | Mosaic | Bars | Plane, picture: Picture, language: Language) -> list[Part]:
    match panel:
        case Forest():
            return [_forest(panel, forest_axis([one for one in picture.panels if isinstance(one, Forest)]))]
        case Mosaic():
            return [mosaic(panel), cells(panel)]
        case Bars():
            return [_bars(panel)]
        case Plane():
            return [_plane(panel, language), *_rules(panel)]


def _axis_of(axis: Axis, written: str, title: str | None = None, **looks: Any) -> dict[str, Any]:
    """Scale and axis of a channel; `written` is the Vega expression of what stands at a tick."""
    import altair as alt

    looks = {"grid": False, **looks}
    return {
        "scale": alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False),
        "axis": alt.Axis(values=list(axis.ticks), labelExpr=written, title=title, domain=False, **looks),
    }


def _forest(panel: Forest, axis: Axis) -> Part:
    import altair as alt

    at = row_lines([Said(one.label, one.figures) for one in panel.rows], WIDTH - 12)
    x = _axis_of(axis, _SHARE if panel.unit == "share" else _CHANGE)
    rows = [{"id": row_id(number), **one._asdict(), "series": _style(one)} for number, one in enumerate(panel.rows)]
    series = sorted({_style(one) for one in panel.rows})
    color = alt.Color("series:N", scale=alt.Scale(domain=series, range=[SERIES[int(n)] for n in series]), legend=None)
    shape = alt.Shape("series:N", scale=alt.Scale(domain=series, range=[SHAPES[int(n)] for n in series]), legend=None)
    whisker = row(x=alt.X("low:Q", **x), x2="high:Q", color=color).mark_rule(strokeWidth=2, yOffset=at.drawn)
    point = row(x=alt.X("value:Q", **x), color=color, shape=shape).mark_point(
        filled=True, opacity=1, size=64, yOffset=at.drawn
    )
    parts = [ground(at), *_upright(panel, x, at), whisker, point, *row_texts(at)]
    return layer(rows, parts, panel.title, at.step)


def _upright(panel: Forest, x: dict[str, Any], at: Lines) -> list[alt.Chart]:
    """The reference, row by row beside the interval, where it crosses no text."""
    import altair as alt

    if panel.line is None:
        return []
    place = alt.X(datum=panel.line, type="quantitative", **x)
    return [row(x=place).mark_tick(thickness=1.5, size=14, color=INK, yOffset=at.drawn)]


def _style(one: Row) -> str:
    return str(one.series % len(SERIES))


def _bars(panel: Bars) -> Part:
    import altair as alt

    at = row_lines([Said(bar.label, bar.figures) for bar in panel.bars], WIDTH - 12)
    axis = alt.Axis(labelExpr=_USD, title=None, domain=False, grid=False, tickCount=4)
    x = alt.X("cost:Q", axis=axis, scale=alt.Scale(zero=True))
    bar = row(x=x).mark_bar(color=SERIES[0], height=10, yOffset=at.drawn)
    rows = [{"id": row_id(number), **bar._asdict()} for number, bar in enumerate(panel.bars)]
    return layer(rows, [ground(at), bar, *row_texts(at)], panel.title, at.step)


def _plane(panel: Plane, language: Language) -> Part:
    import altair as alt

    high = error_axis(panel)
    # Left of 0 there is room for what is written at the axis, and below it for the points that lie on it.
    x = _axis_of(Axis(-0.13, 1.06, (0, 0.25, 0.5, 0.75, 1)), _SHARE, say.COVERAGE_AXIS.say(language))
    inside: dict[str, Any] = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -7, "labelFlush": False}
    y = _axis_of(high._replace(low=-high.high / 12), _SHARE, ticks=False, grid=True, **inside)
    points = alt.Chart().encode(x=alt.X("coverage:Q", **x))
    whisker = points.mark_rule(strokeWidth=2, color=SERIES[0], clip=True).encode(y=alt.Y("low:Q", **y), y2="high:Q")
    bound = points.mark_point(shape="triangle-down", size=60, color=SERIES[1], filled=True, opacity=1, clip=True)
    dot = points.mark_point(size=70, color=SERIES[0], filled=True, opacity=1)
    letters: dict[str, Any] = {"dx": 8, "align": "left", "fontSize": SIZE, "fontWeight": "bold"}
    halo = points.mark_text(color=PAPER, stroke=PAPER, strokeWidth=4, **letters)
    number = points.mark_text(color=INK, **letters)
    value = alt.Y("value:Q", **y)
    parts = [
        *_limit(panel, x, y),
        whisker,
        bound.encode(y=alt.Y("bound:Q", **y)),
        dot.encode(y=value),
        # The number stands out from the limit and from the intervals of its neighbours.
        *(text.encode(y=value, text="mark:N") for text in (halo, number)),
    ]
    # Rules that come to the same are one mark, with the bound where one of them has it.
    drawn = {point.number: point for point in sorted(panel.points, key=lambda point: point.bound is not None)}
    marks = point_marks(list(drawn.values()), high.high)
    rows = [{**point._asdict(), "mark": marks[number]} for number, point in drawn.items()]
    named = title_lines(panel.title or say.RISK_AXIS.say(language))
    title = alt.Title(named, fontWeight="bold" if panel.title else "normal")
    return alt.layer(*parts, data=data(rows), width=WIDTH, height=_PLANE_HEIGHT, title=title)


def _limit(panel: Plane, x: dict[str, Any], y: dict[str, Any]) -> list[alt.Chart]:
    """The limit, and below it the region in which the judge is trusted."""
    import altair as alt

    if panel.limit is None:
        return []
    values = [{"limit": panel.limit, "coverage": panel.coverage}]
    of = alt.Chart(data(values)).encode(y=alt.Y("limit:Q", **y))
    line = of.mark_rule(strokeDash=[4, 3], color=INK, strokeWidth=1)
    area = of.mark_rect(color=TRUST).encode(x=alt.X("coverage:Q", **x), x2=alt.datum(0), y2=alt.datum(0))
    return [line] if panel.coverage is None else [area, line]


def _rules(panel: Plane) -> list[Part]:
    """What the numbers in the plane stand for, and whether a region is trusted."""
    named = [Said(f"{point.number}  {point.label}", point.figures) for point in panel.points]
    noted = [Said(line, "") for line in lines(panel.note, SIZE, WIDTH)]
    return [listed(named), listed(noted)]
