"""The command `label`: a page, or a sheet, on which a person says which of two responses was better."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misjudge_server.carrying import carry_out, request_of, show
from misjudge_server.cli_options import AsJson
from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps

if TYPE_CHECKING:
    from misjudge_tools.labelling.page_requests import LabelPageRequest


def label(
    audit: Annotated[str, typer.Argument(help="Name of the audit.")],
    reviewer: Annotated[
        str | None, typer.Option(help="Needed: the id of the person who labels, such as initials; always the same.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Of the page: en or zh. Default: en.")] = None,
    port: Annotated[int | None, typer.Option(help="Of the page. Default: a free one.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    out: Annotated[str | None, typer.Option(help="In place of a page, write a sheet: a new .csv or .jsonl.")] = None,
    pairs: Annotated[int | None, typer.Option(help="--out: how many pairs. Default: 20.")] = None,
    only: Annotated[str | None, typer.Option(help="--out: of one stream, random or chosen. Default: of both.")] = None,
    force: Annotated[bool, typer.Option("--force", help="--out: replace the file.")] = False,
    in_: Annotated[str | None, typer.Option("--in", help="Store the answers of a sheet that was filled in.")] = None,
    as_json: AsJson = False,
) -> None:
    """Have a person label pairs, blind: on a page of this machine, until Ctrl-C or nothing is left, or in a sheet."""
    of_page = language is not None or port is not None or open_
    of_sheet = pairs is not None or only is not None or force
    if out is not None and in_ is not None:
        raise InvalidInput("A sheet is written with --out or read with --in. Give one of them.")
    if out is None and of_sheet:
        raise InvalidInput("--pairs, --only and --force say what a sheet is to be. Give --out FILE, too.")
    if (out is not None or in_ is not None) and of_page:
        raise InvalidInput("--language, --port and --open are of the page, and a sheet has none. Leave them out.")
    if out is not None:
        _write_sheet(as_json, audit=audit, reviewer=reviewer, path=out, pairs=pairs, only=only, force=force)
    elif in_ is not None:
        _read_sheet(as_json, audit=audit, reviewer=reviewer, path=in_)
    else:
        _serve(as_json, open_, audit=audit, reviewer=reviewer, language=language, port=port)


def _write_sheet(as_json: bool, **given: Any) -> None:
    from misjudge_server.label_printing import print_written
    from misjudge_tools.labelling.review_requests import SheetOutRequest
    from misjudge_tools.review import sheet_out

    result = carry_out(partial(sheet_out, request_of(SheetOutRequest, **given)))
    if as_json:
        show(result, as_json)
    else:
        print_written(result)


def _read_sheet(as_json: bool, **given: Any) -> None:
    from misjudge_server.label_printing import print_read
    from misjudge_tools.labelling.review_requests import SheetInRequest
    from misjudge_tools.review import sheet_in

    result = carry_out(partial(sheet_in, request_of(SheetInRequest, **given)))
    if as_json:
        show(result, as_json)
    else:
        print_read(result)


def _serve(as_json: bool, in_browser: bool, **given: Any) -> None:
    from misjudge_tools.labelling.page_requests import LabelPageRequest

    request = request_of(LabelPageRequest, **given)
    carry_out(lambda deps: _served(request, deps, as_json, in_browser))


async def _served(request: LabelPageRequest, deps: Deps, as_json: bool, in_browser: bool) -> None:
    """Serve the page until nothing is left; Ctrl-C ends it as it ends any command."""
    from misjudge_server import label_printing
    from misjudge_tools.labelling.page import label_page

    async with label_page(request, deps) as page:
        if as_json:
            show(page.result, as_json)
            sys.stdout.flush()
        else:
            label_printing.print_page(page.result)
        if page.result.address is None:
            return
        if in_browser:
            await asyncio.to_thread(webbrowser.open, page.result.address)
        await page.over.wait()
    if not as_json:
        print("Nothing is left to label. Every answer is stored.")
