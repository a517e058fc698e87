"""The commands `rubrics library`: sets of rules that are kept under names."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from misjudge_server.carrying import carry_out, request_of, show
from misjudge_server.cli_options import AsJson
from misjudge_tools import requests

Reference = Annotated[str, typer.Argument(help="A name of the library, or the id of a rubric or its start.")]

library_app = typer.Typer(
    help="The library of rubrics: rules kept under names, with every version.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@library_app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the names, with the current version of each and how often it was applied."""
    _carry_out(as_json, action="list")


@library_app.command("show")
def show_(rubric: Reference, as_json: AsJson = False) -> None:
    """Show the rules of a rubric, its versions, and which judgements applied them."""
    _carry_out(as_json, action="show", rubric=rubric)


@library_app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the rubric; rules that are new become its next version.")],
    path: Annotated[
        str | None, typer.Argument(help="File: JSONL with a rule a line, or text with a rule a line.")
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="A rule, in place of a file; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put rules under a name: those of a file, or those that are given."""
    _carry_out(as_json, action="add", rubric=name, path=path, rules=rule)


@library_app.command()
def diff(
    rubric: Reference,
    other: Annotated[
        str | None, typer.Argument(help="The later one. Default: the last two versions of the name are compared.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which rules were added, removed, or marked otherwise."""
    _carry_out(as_json, action="diff", rubric=rubric, other=other)


@library_app.command()
def export(
    rubric: Reference,
    path: Annotated[str, typer.Argument(help="A new file: .jsonl, or .txt as RubricBench writes rules.")],
    as_json: AsJson = False,
) -> None:
    """Write the rules of a rubric to a new file."""
    _carry_out(as_json, action="export", rubric=rubric, path=path)


def _carry_out(as_json: bool, **given: Any) -> None:
    from misjudge_server.library_printing import print_library
    from misjudge_tools.rubric_library import rubric_library

    request = request_of(requests.RubricLibraryRequest, **given)
    result = carry_out(partial(rubric_library, request))
    if as_json:
        show(result, as_json)
    else:
        print_library(result)
