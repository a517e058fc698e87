"""The command `probe`: what a judge can be fooled by."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from misjudge_server.carrying import TO_THE_END_S, announce_judges, carry_out, fail_unless_done, request_of, show
from misjudge_server.cli_options import (
    AsJson,
    DeadlineS,
    JudgeOption,
    MaxCalls,
    MaxTokens,
    MaxUsd,
    MaxUsdPerTask,
    PromptOption,
)
from misjudge_server.progress import with_progress
from misjudge_tools import requests
from misjudge_tools.deps import Deps
from misjudge_tools.probing.variants import PROBES
from misjudge_tools.results import ProbeResult


def probe(
    audit: Annotated[str, typer.Argument(help="Name of the audit whose pairs are changed.")],
    judge: JudgeOption = None,
    prompt: PromptOption = None,
    probes: Annotated[
        list[str] | None, typer.Option("--probe", help=f"Only this one; may be repeated: {', '.join(PROBES)}.")
    ] = None,
    items: Annotated[
        int | None, typer.Option(help="How many pairs, 60 by default; each is asked twice unchanged, too.")
    ] = None,
    pair: Annotated[list[str] | None, typer.Option(help="Only this pair; may be repeated.")] = None,
    side: Annotated[
        str | None, typer.Option(help="Which side is changed: random (default), or failed by gold.")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the judge prompt: en or zh.")] = "en",
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many calls it takes, at what cost.")] = False,
    as_json: AsJson = False,
) -> None:
    """What this judge can be fooled by: pairs changed in ways that must not matter, each in one order."""
    from misjudge_tools.probe_judge import probe_judge

    request = request_of(
        requests.ProbeRequest,
        audit=audit, judge=judge, prompt=prompt, probes=probes, items=items, pair_ids=pair, side=side,
        language=language, max_usd=max_usd, max_calls=max_calls, max_tokens=max_tokens,
        max_usd_per_task=max_usd_per_task, deadline_s=deadline_s, dry_run=dry_run,
    )  # fmt: skip
    patient = request.model_copy(update={"wait_s": TO_THE_END_S})

    async def announced(deps: Deps) -> ProbeResult:
        announce_judges(patient, deps)
        return await with_progress(deps, partial(probe_judge, patient))

    result = carry_out(announced)
    show(result, as_json)
    fail_unless_done(result.run)
