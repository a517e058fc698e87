"""What tests of reports share: small audits, and the page read as a reader's program reads it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from builders import SATISFACTION, episode, label, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.types import Judge, Record
from misjudge_tools.deps import Deps
from misjudge_tools.file_requests import ReportRequest
from misjudge_tools.interchange.formula_guard import unguarded
from misjudge_tools.results import ReportResult
from misjudge_tools.write_report import write_report

VOID: Final = frozenset({"meta", "input", "br", "img", "link", "hr"})
SECOND: Final = Judge(label="second|judge", form="pairwise", model="second-m")
SCORES: Final = SATISFACTION.model_copy(update={"label": "judge"})
"""The judge of pairs of `builders`, scoring single sessions."""
TASKS: Final = 12


def judged_records(tasks: int = TASKS, *, second: bool = False) -> Iterator[Record]:
    """Pairs of agents x and y: x did every task, y every third; the judge is wrong on every fourth pair."""
    for n in range(tasks):
        both = n % 3 == 0
        x, y = (
            episode(
                agent,
                passed(done),
                rewarded(1.0 if done else 0.25, "verifier"),
                task=f"t{n}",
                said=messages(f"Cancel order {n}, please.", f"Order {n}: {said}."),
                satisfaction=[satisfied(0.9 if agent == "y" else 0.5, SCORES)],
            )
            for agent, done, said in (("x", True, "it is cancelled"), ("y", both, "all is well, dear customer"))
        )
        wrong = n % 4 == 1
        verdicts = [
            verdict("B" if wrong else "A", "AB", reasons="The second is more detailed."),
            verdict("tie" if n % 5 == 4 else "B" if wrong else "A", "BA", reasons="It is so."),
        ]
        if second:
            verdicts += [verdict("A", order, judge=SECOND) for order in ("AB", "BA")]
        key: dict[str, Any] = {"ability_bucket": "near" if n % 2 else "wide"}
        yield pair(f"p{n}", x, y, *verdicts, line=n + 1, prompt=f"Cancel order {n}.", **key)


def labelled_records(tasks: int = TASKS) -> Iterator[Record]:
    """As `judged_records` with two judges, where two people label every pair, too."""
    for number, record in enumerate(judged_records(tasks, second=True)):
        people = [label("A", "ann"), label("B" if number % 6 == 5 else "A", "bob")]
        yield record.model_copy(update={"gold": tuple(people)})


async def written(deps: Deps, out: Path, **asked: Any) -> ReportResult:
    """The report of audit `a`, written there; no charts unless they are asked for."""
    formats = asked.pop("formats", None) if out.suffix else asked.pop("formats", ["html", "markdown", "csv", "json"])
    return await write_report(ReportRequest(audit="a", out=str(out), formats=formats, **asked), deps)


def figures_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a figures.csv, as a reader of CSV sees them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [{name: unguarded(value) for name, value in row.items()} for row in csv.DictReader(file)]


class Page(HTMLParser):
    """A page as read: `figures` by name in the order in which they stand, `tables` of cells, `ids`, text; `problems`
    are tags that do not match and ids that come twice.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.figures: list[tuple[str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.problems: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self._figure: list[str] | None = None
        self._depth = 0
        self.feed(text)
        self.close()
        self.problems += [f"{tag} is never closed" for tag in self._open]
        self.problems += [f"id {one} comes twice" for one in set(self.ids) if self.ids.count(one) > 1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in given.items()]
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag not in VOID:
            self._open.append(tag)
        if "data-figure" in given:
            self._figure, self._depth = [given["data-figure"], ""], len(self._open)
        match tag:
            case "table":
                self.tables.append([])
            case "tr":
                self.tables[-1].append([])
            case "th" | "td":
                self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.problems.append(f"{tag} closes {self._open[-1:]}")
            return
        if self._figure is not None and len(self._open) == self._depth:
            self.figures.append((self._figure[0], self._figure[1]))
            self._figure = None
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._figure is not None:
            self._figure[1] += data
        if {"td", "th"} & {*self._open}:
            self.tables[-1][-1][-1] += data
