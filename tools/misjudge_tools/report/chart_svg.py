"""The SVG of a chart: one picture for light, dark and paper, that holds no script and nothing from elsewhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree as ET

_SVG = "http://www.w3.org/2000/svg"
SYSTEM_FONTS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'PingFang SC', 'Microsoft YaHei', "
    "'Noto Sans CJK SC', sans-serif"
)
WATERMARK_EVERY = 420
"""Pixels of height for each watermark."""


class Colour(NamedTuple):
    """A colour by the name of its CSS variable, on light and on dark ground."""

    variable: str
    light: str
    dark: str


class Words(NamedTuple):
    """What readers that do not see the picture get, and what stands across it (empty: nothing)."""

    title: str
    alt: str
    watermark: str


def themed(svg: str, name: str, colours: Mapping[str, Colour], words: Words, language: str) -> str:
    """The SVG that vl-convert drew in light colours, with colours by CSS variables, and fit for a page.

    `colours` are by the colour as drawn. Ids begin with `chart-{name}`, and the one style rule is for that id only, at
    the lowest weight: a page sets the variables to change a colour.
    """
    root = _plain(ET.fromstring(svg))
    own = f"chart-{name}"
    drawn_width, drawn_height = float(root.get("width", "0")), float(root.get("height", "0"))
    _rename(root, own)
    for element in root.iter():
        _recolour(element, colours)
        _bare(element)
    root.attrib.clear()
    root.attrib.update({"xmlns": _SVG, "id": own, "class": "misjudge-chart", "width": "100%"})
    root.attrib.update({"viewBox": f"0 0 {drawn_width:g} {drawn_height:g}", "lang": language})
    root.attrib.update({"role": "img", "aria-labelledby": f"{own}-title {own}-alt"})
    for place, element in enumerate(_head(own, colours, words)):
        root.insert(place, element)
    if words.watermark:
        root.extend(_watermarks(words.watermark, drawn_width, drawn_height))
    return ET.tostring(root, encoding="unicode")


def on_paper(svg: str, fonts: str) -> str:
    """The themed SVG in its light colours on white, of its own size, for a renderer that knows no CSS."""
    root = _plain(ET.fromstring(svg))
    *_, drawn_width, drawn_height = root.get("viewBox", "0 0 0 0").split()
    root.attrib.update({"xmlns": _SVG, "width": drawn_width, "height": drawn_height})
    for element in root.iter():
        for name in ("fill", "stroke"):
            light = re.fullmatch(r"var\([\w-]+, ?(#\w+)\)", element.get(name, ""))
            if light:
                element.set(name, light[1])
        if element.tag == "text":
            element.set("font-family", fonts)
    for style in root.findall("style"):
        root.remove(style)
    root.insert(0, ET.Element("rect", {"width": drawn_width, "height": drawn_height, "fill": "#ffffff"}))
    return ET.tostring(root, encoding="unicode")


def _plain(root: ET.Element) -> ET.Element:
    """The tree with names that need no prefix."""
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    return root


def _recolour(element: ET.Element, colours: Mapping[str, Colour]) -> None:
    for name in ("fill", "stroke"):
        colour = colours.get(element.get(name, "").lower())
        if colour is not None:
            element.set(name, f"var({colour.variable}, {colour.light})")
    if element.tag == "text":
        element.set("font-family", SYSTEM_FONTS)


def _rename(root: ET.Element, own: str) -> None:
    """Ids, and what points to them, are the chart's name and their number: several charts stand in one page, and the
    renderer counts on from one chart to the next.
    """
    found = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    names = {name: f"{own}-{number}" for number, name in enumerate(dict.fromkeys(found), start=1)}
    for element in root.iter():
        if "id" in element.attrib:
            element.set("id", names[element.attrib["id"]])
        for attribute, value in element.attrib.items():
            pointed = re.fullmatch(r"url\(#([^)]*)\)", value)
            if pointed:
                element.set(attribute, f"url(#{names[pointed[1]]})")


def _bare(element: ET.Element) -> None:
    """Without what only tells the parts of a picture apart, which is one to readers: `alt` says what is in it."""
    for name in [name for name in element.attrib if name.startswith("aria-") or name in {"class", "role"}]:
        del element.attrib[name]


def _head(own: str, colours: Mapping[str, Colour], words: Words) -> Iterator[ET.Element]:
    title = ET.Element("title", {"id": f"{own}-title"})
    title.text = words.title
    described = ET.Element("desc", {"id": f"{own}-alt"})
    described.text = words.alt
    style = ET.Element("style")
    dark = ";".join(f"{one.variable}:{one.dark}" for one in colours.values())
    # `screen`: what is printed is on white paper. `:where`: any rule of a page wins.
    style.text = (
        f":where(#{own}){{background:var(--chart-paper,#ffffff)}}"
        f"@media screen and (prefers-color-scheme:dark){{:where(#{own}){{{dark}}}}}"
    )
    yield from (title, described, style)


def _watermarks(text: str, drawn_width: float, drawn_height: float) -> Iterator[ET.Element]:
    number = max(1, round(drawn_height / WATERMARK_EVERY))
    for place in range(number):
        x, y = drawn_width / 2, drawn_height * (2 * place + 1) / (2 * number)
        mark = ET.Element(
            "text",
            {
                "x": f"{x:g}",
                "y": f"{y:g}",
                "transform": f"rotate(-24 {x:g} {y:g})",
                "text-anchor": "middle",
                "font-size": f"{drawn_width / 7:g}",
                "font-weight": "bold",
                "font-family": SYSTEM_FONTS,
                "fill": "var(--chart-ink, #1b1b1f)",
                "fill-opacity": "0.1",
                "pointer-events": "none",
            },
        )
        mark.text = text
        yield mark
