"""The command `gate`: whether a judge may be used, as an exit code."""

from __future__ import annotations

from typing import Annotated

import typer

from misjudge_server.carrying import carry_out, request_of, show
from misjudge_server.cli_options import AsJson, LabelOption
from misjudge_tools import requests


def gate(
    audit: Annotated[str, typer.Argument(help="Name of the audit.")],
    max_misselection: Annotated[
        float, typer.Option(help="The limit: how often the judge may pick the side that failed, as a share.")
    ] = 0.05,
    judge: LabelOption = None,
    at: Annotated[
        str | None, typer.Option(help="near or wide: only pairs of agents of about equal, or clearly other ability.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Only what this policy decides, as both_orders; see the section policies.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="An earlier audit: fail where the judge got worse on the pairs of both.")
    ] = None,
    min_coverage: Annotated[float, typer.Option(help="Share of the decidable pairs that must be decided.")] = 0.9,
    as_json: AsJson = False,
) -> None:
    """Whether a judge may be used. Exit code 0 yes, 1 no, 3 too few pairs to tell, 4 it decides too few of them; 2 no
    answer, as for an audit that there is not.
    """
    from misjudge_server import gate_printing
    from misjudge_tools.gate_audit import gate_audit

    request = request_of(
        requests.GateRequest,
        audit=audit, max_misselection=max_misselection, judge=judge, at=at, policy=policy, baseline=baseline,
        min_coverage=min_coverage,
    )  # fmt: skip
    result = carry_out(lambda deps: gate_audit(request, deps))
    if as_json:
        show(result, as_json)
    else:
        gate_printing.print_gate(result)
    raise typer.Exit(result.exit_code)
