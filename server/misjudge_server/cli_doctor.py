"""The command `doctor`: what is wrong with the set-up."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from misjudge_server.carrying import show
from misjudge_server.cli_options import AsJson


def doctor(
    online: Annotated[
        bool, typer.Option("--online", help="Also ask the model of each role: two small, paid requests each.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What is wrong with keys, addresses, models and the clients' settings, and how to mend it. Changes nothing.

    Exit code 0: nothing, or warnings only. 1: an error.
    """
    from misjudge_server.doctor.check_setup import check_setup
    from misjudge_server.doctor.setup_request import CheckSetupRequest

    report = asyncio.run(check_setup(CheckSetupRequest(online=online)))
    if as_json:
        show(report, as_json)
    else:
        from misjudge_server.doctor_printing import print_setup

        print_setup(report)
    raise typer.Exit(1 if report.errors else 0)
