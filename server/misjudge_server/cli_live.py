"""The commands of live comparisons: `run` and `simulate`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from misjudge_server.carrying import TO_THE_END_S, carry_out, fail_unless_done, request_of, show
from misjudge_server.cli_options import (
    AsJson,
    CascadeOption,
    DeadlineS,
    JudgeOption,
    MarginOption,
    MaxCalls,
    MaxTokens,
    MaxUsd,
    MaxUsdPerTask,
    OrdersOption,
    PanelOption,
    PromptOption,
    StopThreshold,
    StopWidth,
    TruncateOption,
    stop_of,
)
from misjudge_server.logs import announce
from misjudge_server.progress import with_progress
from misjudge_tools import requests
from misjudge_tools.deps import Deps
from misjudge_tools.results import RunPairResult


def run(
    spec: Annotated[Path | None, typer.Argument(help="TOML file with the options below; flags override it.")] = None,
    suite: Annotated[str | None, typer.Option(help="support_desk (default) or the folder of a suite.")] = None,
    agents: Annotated[
        str | None, typer.Option(help="Models, profiles, agents of misjudge.toml, scripted ones; a,b,c.")
    ] = None,
    judge: JudgeOption = None,
    pairings: Annotated[
        str | None, typer.Option(help="Who is compared: a|b or a|b=near, by commas. Default: all.")
    ] = None,
    tasks: Annotated[str | None, typer.Option(help="Only these tasks, by commas. Default: all.")] = None,
    trials: Annotated[int | None, typer.Option(help="How often each agent does each task. Default: 1.")] = None,
    user: Annotated[str | None, typer.Option(help="Simulated user: scripted, local, a profile or a model.")] = None,
    audit: Annotated[str | None, typer.Option(help="Name of the audit.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a new audit.")] = None,
    language: Annotated[str | None, typer.Option(help="Language of tasks and prompts: en or zh.")] = None,
    repeats: Annotated[int | None, typer.Option(help="How often each order is judged. Default: 1.")] = None,
    signals: Annotated[
        str | None,
        typer.Option(help="How each trajectory is scored, too: satisfaction (default), gate, proxy, or none."),
    ] = None,
    prompt: PromptOption = None,
    panel: PanelOption = None,
    cascade: CascadeOption = None,
    margin: MarginOption = None,
    orders: OrdersOption = None,
    truncate: TruncateOption = None,
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    stop_width: StopWidth = None,
    stop_threshold: StopThreshold = None,
    reuse: Annotated[
        bool | None, typer.Option("--reuse", help="Take other audits' replies to the same question.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is asked of whom, at what cost.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run agents on the tasks of a suite with a simulated user, check who did the job, judge the pairs blind."""
    from misjudge_server.spec_file import read_spec

    given: dict[str, Any] = {
        "suite": suite, "agents": _parts(agents), "judge": judge, "pairings": _parts(pairings), "tasks": _parts(tasks),
        "trials": trials, "user": user, "audit": audit, "seed": seed, "language": language, "repeats": repeats,
        "signals": [] if signals == "none" else _parts(signals), "prompt": prompt, "panel": panel, "cascade": cascade,
        "margin": margin, "orders": orders, "truncate": truncate, "max_usd": max_usd, "max_calls": max_calls,
        "max_tokens": max_tokens, "max_usd_per_task": max_usd_per_task, "deadline_s": deadline_s, "reuse": reuse,
        "stop": stop_of(stop_width, stop_threshold),
    }  # fmt: skip
    stated = {} if spec is None else read_spec(spec)
    fields = {**stated, **{name: value for name, value in given.items() if value is not None}, "dry_run": dry_run}
    request = request_of(requests.RunPairRequest, **fields).model_copy(update={"wait_s": TO_THE_END_S})
    result = carry_out(partial(_compared, request))
    show(result, as_json)
    fail_unless_done(result.run)


async def _compared(request: requests.RunPairRequest, deps: Deps) -> RunPairResult:
    """Check everything, say what is asked of whom, then do it."""
    from misjudge_server.run_printing import plan_lines
    from misjudge_tools import run_pair

    compared = await run_pair.compare(request, deps)
    planned = await run_pair.planned(request, deps, compared)
    if request.dry_run:
        return planned
    for line in plan_lines(planned):
        announce(line)
    for name in deps.models.leftovers:
        announce(f"{name} is set and has no say here")
    return await with_progress(deps, partial(run_pair.conduct, request, compared=compared))


def _parts(text: str | None) -> list[str] | None:
    """What stands between commas."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def simulate(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.")] = 8787,
    suite: Annotated[str, typer.Option(help="Suite whose tasks its agents and users know.")] = "support_desk",
    skill: Annotated[float, typer.Option(help="Share of tasks that agents without a scripted name get right.")] = 1.0,
    latency_ms: Annotated[float, typer.Option(help="Added to every reply.")] = 0.0,
    noise: Annotated[float, typer.Option(help="Judge: share of calls answered against the truth.")] = 0.0,
    near_noise: Annotated[float | None, typer.Option(help="The same for agents closer than 0.1 in skill.")] = None,
    position: Annotated[float, typer.Option(help="Judge: share answering A whatever it holds.")] = 0.0,
    obedience: Annotated[float, typer.Option(help="Judge: share obeying a side that says to choose it.")] = 0.0,
    length: Annotated[float, typer.Option(help="Judge: share preferring the side that is longer by a fifth.")] = 0.0,
    politeness: Annotated[float, typer.Option(help="Judge: share preferring the side with more polite words.")] = 0.0,
    self_preference: Annotated[float, typer.Option(help="Judge: share preferring models of its own family.")] = 0.0,
    family: Annotated[str, typer.Option(help="Judge: its family, such as qwen; for --self-preference.")] = "",
    lenience: Annotated[float, typer.Option(help="Judge: share of polite failures called satisfied.")] = 0.0,
    parse_failure: Annotated[float, typer.Option(help="Judge: share of replies that hold no verdict.")] = 0.0,
    hits: Annotated[float, typer.Option(help="Writer of rules: share of the gold rules that it names.")] = 1.0,
    invents: Annotated[float, typer.Option(help="Writer of rules: share of its rules that are made up.")] = 0.0,
    misses: Annotated[float, typer.Option(help="Matcher: share of rules that hit and are said to match none.")] = 0.0,
    overmatches: Annotated[float, typer.Option(help="Matcher: share that hit none and are said to match one.")] = 0.0,
    rule_following: Annotated[float, typer.Option(help="Judge with rules: share decided as they come out.")] = 1.0,
    requests_per_minute: Annotated[int | None, typer.Option(help="More are answered with 429.")] = None,
    errors: Annotated[float, typer.Option(help="Share of requests answered with 500.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of all that is made up.")] = 0,
) -> None:
    """Serve a SIMULATED gateway on this machine: agents of set skill, users, judges with planted faults; no key."""
    from misjudge_server.settings import load_settings
    from misjudge_server.simulate import SimulateRequest, serve_simulated

    request = request_of(
        SimulateRequest,
        port=port, suite=suite, skill=skill, latency_ms=latency_ms, noise=noise, near_noise=near_noise,
        position=position, obedience=obedience, length=length, politeness=politeness, self_preference=self_preference,
        family=family, lenience=lenience, parse_failure=parse_failure, hits=hits, invents=invents, misses=misses,
        overmatches=overmatches, rule_following=rule_following, requests_per_minute=requests_per_minute,
        errors=errors, seed=seed,
    )  # fmt: skip
    serve_simulated(request, load_settings().episodes.allowed)
