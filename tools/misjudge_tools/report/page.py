"""The report as one HTML file that needs nothing else: no network, no script to be read, no font but the reader's."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from misjudge_tools.report.charts import Chart
from misjudge_tools.report.document import Document, Section, Table
from misjudge_tools.report.drill_down import anchor
from misjudge_tools.report.facts import ReportFacts
from misjudge_tools.report.figures import Figure
from misjudge_tools.report.plain_text import visible
from misjudge_tools.report.wording import said
from misjudge_tools.summary.deciding.phrases import Language

_FIGURE: Final = re.compile(
    r"(?P<main>.*?)(?P<interval> \[[^\]]*\])?(?P<counts> (?:\d\S*/\d\S*|n=\d\S*)(?: anytime)?)?"
)


class Pieces(NamedTuple):
    """The text of a figure in the parts that are set apart: together they are the text."""

    main: str
    interval: str
    counts: str


class Span(NamedTuple):
    """Where a share and its interval lie on a bar from 0 to 100."""

    value: float
    low: float
    high: float


def page(facts: ReportFacts, charts: Mapping[str, Chart]) -> str:
    """The whole file. What comes from records is escaped, and what a reader would not see is made visible."""
    language = facts.document.language
    style, script = _asset("style.css"), _asset("filter.js")
    return (
        _environment(language)
        .get_template("page.html")
        .render(
            facts=facts,
            document=facts.document,
            charts=charts,
            rest=_rest(facts.document, charts),
            language=language,
            style=Markup(style),
            script=Markup(script),
            policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{_digest(script)}'",
            whole={one.anchor for one in facts.conflicts.rows},
        )
    )


@cache
def _environment(language: Language) -> Environment:
    """Templates whose every expression is escaped and made visible."""
    made = Environment(
        loader=PackageLoader("misjudge_tools.report"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def say(english: str, **named: object) -> str:
        return said(english, language, **named)

    made.globals.update(say=say, anchor=anchor, pieces=pieces, span=span, is_figure=_is_figure, drawn=_drawn)
    made.globals.update(layout_of=layout_of)
    return made


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def pieces(figure: Figure) -> Pieces:
    """A figure's text, cut before its interval and before its counts."""
    found = _FIGURE.fullmatch(figure.text)
    if found is None:
        return Pieces(figure.text, "", "")
    return Pieces(*(found[name] or "" for name in ("main", "interval", "counts")))


def span(figure: Figure) -> Span | None:
    """The bar of a share with its interval; None for what is no share."""
    if figure.value is None or figure.low is None or figure.high is None or "%" not in figure.text:
        return None
    return Span(*(round(100 * part, 2) for part in (figure.value, figure.low, figure.high)))


def layout_of(table: Table) -> str:
    """How a narrow screen shows a table: `prose` of words only, `wide` of more columns than fit there; both stand there
    one row below the other, each cell with its heading.
    """
    found = [cell for cell in chain.from_iterable(table.rows) if isinstance(cell, Figure)]
    most = 2 if any(one.low is not None for one in found) else 3
    return "prose" if not found else "wide" if len(table.headings) > most else ""


def _is_figure(cell: object) -> bool:
    return isinstance(cell, Figure)


def _drawn(section: Section, charts: Mapping[str, Chart]) -> list[Markup]:
    """The pictures of a section's charts that have data; each says in itself what it shows."""
    return [Markup(charts[name].svg) for name in section.charts if name in charts]


def _rest(document: Document, charts: Mapping[str, Chart]) -> list[Markup]:
    """Charts that no section shows, as of several judges: they stand behind the first section."""
    taken = {name for section in document.sections for name in section.charts}
    return [Markup(chart.svg) for name, chart in charts.items() if name not in taken]


def _asset(name: str) -> str:
    return files("misjudge_tools.report").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
