"""Charts of a summary: SVG for pages, PNG for everything else, and the Vega-Lite specification of each.

They need the extra `report` (altair and vl-convert), which is imported only when a chart is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_tools.report import chart_marks as style
from misjudge_tools.report.chart_data import Picture, alt
from misjudge_tools.report.chart_drawing import spec_of
from misjudge_tools.report.chart_mosaic import CELLS
from misjudge_tools.report.chart_pictures import pictures
from misjudge_tools.report.chart_svg import Colour, Words, on_paper, themed
from misjudge_tools.report.chart_words import SIMULATED
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.values import AuditSummary

NEEDED: Final = 'Charts need the extra report: pip install "misjudge[report]".'
_CHINESE_FONTS: Final = (
    "'Noto Sans CJK SC', 'Noto Sans SC', 'Source Han Sans SC', 'PingFang SC', 'Microsoft YaHei', 'WenQuanYi Micro "
    "Hei', 'Liberation Sans', sans-serif"
)
_PNG_FONTS: Final[Mapping[Language, str]] = {"en": "'Liberation Sans', sans-serif", "zh": _CHINESE_FONTS}
"""A renderer takes the first of these that it has, so Chinese text needs its fonts in front."""
_LANG: Final[Mapping[Language, str]] = {"en": "en", "zh": "zh-Hans"}
_DARK: Final = ("#6cb8ee", "#ff9a5c", "#4fd3a8", "#e09bdb", "#e0c04a", "#c4c5cf")
_DARK_CELLS: Final = ("#8a4318", "#1f4561", "#3f414b", "#5c4d14")
_COLOURS: Final = {
    style.INK: Colour("--chart-ink", style.INK, "#ececf1"),
    style.MUTED: Colour("--chart-muted", style.MUTED, "#b7b8c2"),
    style.GRID: Colour("--chart-grid", style.GRID, "#3a3b44"),
    style.PAPER: Colour("--chart-paper", style.PAPER, "#16171c"),
    style.TRUST: Colour("--chart-trust", style.TRUST, "#1d4a39"),
    **{
        light: Colour(f"--chart-series-{number}", light, dark)
        for number, (light, dark) in enumerate(zip(style.SERIES, _DARK, strict=True), start=1)
    },
    **{
        light: Colour(f"--chart-cell-{number}", light, dark)
        for number, (light, dark) in enumerate(zip(CELLS.values(), _DARK_CELLS, strict=True), start=1)
    },
}


class Chart(NamedTuple):
    """A chart: `alt` says its numbers in one sentence, `spec` is its Vega-Lite specification, `svg` stands in a page
    or in a file, light or dark as the reader has it.
    """

    name: str
    title: str
    alt: str
    spec: dict[str, Any]
    svg: str
    language: Language = "en"


def charts(summary: AuditSummary, language: Language) -> dict[str, Chart]:
    """The charts by name for which the summary has data, in the order of a report; the same summary, the same bytes.

    Every number in them is one of the summary. Raises InvalidInput where the extra `report` is not installed.
    """
    return {picture.name: _chart(picture, language) for picture in pictures(summary, language)}


def png(chart: Chart, scale: float = 2) -> bytes:
    """The chart in light colours on white, `scale` pixels for each of its own."""
    try:
        import vl_convert
    except ImportError:
        raise InvalidInput(NEEDED) from None
    return vl_convert.svg_to_png(on_paper(chart.svg, _PNG_FONTS[chart.language]), scale=scale)


def png_shows_chinese() -> bool:
    """Whether this machine has a font with Chinese characters; PNG files have none of their own, SVG files take the
    reader's.
    """
    try:
        import vl_convert
    except ImportError:
        raise InvalidInput(NEEDED) from None
    # Characters that no font has are all drawn as the same box.
    drawn = {
        vl_convert.svg_to_png(
            '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
            f'<text x="5" y="30" font-size="24" font-family="{_CHINESE_FONTS}">{character}</text></svg>'
        )
        for character in "判定"
    }
    return len(drawn) > 1


def _chart(picture: Picture, language: Language) -> Chart:
    try:
        import altair  # noqa: F401 - asked for first, so that one sentence says what is missing
        import vl_convert
    except ImportError:
        raise InvalidInput(NEEDED) from None
    spec = spec_of(picture, language)
    words = Words(picture.title, alt(picture, language), SIMULATED if picture.simulated else "")
    drawn = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    svg = themed(drawn, picture.name, _COLOURS, words, _LANG[language])
    return Chart(picture.name, picture.title, words.alt, spec, svg, language)
