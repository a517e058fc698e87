"""The command `suite`, which tries a suite without asking anybody."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer

from misjudge_server.carrying import request_of, show
from misjudge_server.cli_options import AsJson
from misjudge_server.signals import exit_code, take_signals
from misjudge_tools import requests

PROBLEMS = 1
"""Exit code where a task is not checked as it must be."""


def suite(
    suite: Annotated[str, typer.Argument(help="support_desk, or the folder of a suite.")],
    language: Annotated[str | None, typer.Option(help="Only the tasks of this language: en or zh.")] = None,
    as_json: AsJson = False,
) -> None:
    """Try a suite without asking a model: its solutions must succeed, wrong ways and doing nothing must fail."""
    from misjudge_server.settings import load_settings
    from misjudge_server.suite_printing import print_suite
    from misjudge_tools.check_suite import SuiteReport, check_suite

    request = request_of(requests.SuiteRequest, suite=suite, language=language)
    allowed = load_settings().episodes.allowed
    taken: list[signal.Signals] = []

    async def tried() -> SuiteReport:
        take_signals(taken)
        return await check_suite(request, allowed, None)

    try:
        report = asyncio.run(tried())
    except asyncio.CancelledError:
        raise SystemExit(exit_code(taken)) from None
    if as_json:
        show(report, as_json)
    else:
        print_suite(report)
    if report.problems:
        raise SystemExit(PROBLEMS)
