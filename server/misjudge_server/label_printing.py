"""Label pages and sheets as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from misjudge_server.console import console
from misjudge_server.terminal import plain
from misjudge_tools.labelling.page_requests import LabelPageResult
from misjudge_tools.labelling.values import ReviewStanding
from misjudge_tools.results import SheetResult


def print_page(result: LabelPageResult) -> None:
    """Where the page is; or that nothing is left."""
    if result.address is None:
        print(result.note, flush=True)
        return
    # Not by the console, which would fold it: it is to be clicked on and copied.
    print(f"Open this page to label as {plain(result.reviewer)} ({standing_words(result.standing)}):", flush=True)
    print(f"  {result.address}", flush=True)
    print(
        "The address holds a key: give it to nobody else. Ctrl-C ends the page; every answer is stored as it is given."
    )


def print_sheet(result: SheetResult, said: str) -> None:
    """What became of a sheet."""
    console.print(Text(said, "bold"))
    for line in (result.note, standing_words(result.standing) + ".", result.next):
        if line:
            console.print(Text(line))


def print_written(result: SheetResult) -> None:
    """What was written, and what to do with it."""
    print_sheet(result, f"Written: {result.path} ({_counted(result.pairs, 'pair')} for {result.reviewer})")


def print_read(result: SheetResult) -> None:
    """What was stored of a sheet."""
    counts = {
        "new": result.new,
        "corrections": result.corrections,
        "already stored": result.same,
        "empty": result.empty,
    }
    print_sheet(result, f"Read: {result.path} ({', '.join(_stated(counts)) or 'nothing in it'})")


def standing_words(standing: ReviewStanding) -> str:
    """`12 labelled, 8 left`"""
    return f"{standing.labelled} labelled, {standing.open + standing.left} left"


def _stated(counts: Mapping[str, int]) -> Iterator[str]:
    return (f"{number} {name}" for name, number in counts.items() if number)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
