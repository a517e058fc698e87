"""Judgings, runs and pings as text for people. Importing it teaches `print_result` their forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from misjudge_server.cascade_printing import cascade_lines, is_exact, planned_calls
from misjudge_server.console import console
from misjudge_server.printing import print_result, summarize_next
from misjudge_server.probe_printing import print_probes
from misjudge_server.side_by_side import print_agents
from misjudge_server.stopping_printing import stopping_lines
from misjudge_tools.ping import PingReport, RolePing
from misjudge_tools.results import (
    LIMIT_REACHED,
    JudgeResult,
    PairOutcome,
    ProbeResult,
    RolePlan,
    RoleUse,
    RunList,
    RunPairResult,
    RunReport,
    SideOutcome,
)
from misjudge_tools.rubrics.results import RubricsResult

__all__ = ["print_result"]

HEADINGS = ("audit", "what", "state", "done", "cost", "reason")
NARROW = ("audit", "what, reason", "state")
"""Of a narrow terminal: done and cost stand below the state, the reason below what it is of."""
FROM_WIDTH = 104
"""Columns from which on every fact of a run has its own."""
PING_HEADINGS = ("role", "model", "at", "answer", "ms", "tokens", "USD", "JSON", "refuses")


@print_result.register
def _(result: JudgeResult) -> None:
    print_marks(result)
    run = result.run
    kept = f", {result.already_stored} were stored before" if result.already_stored else ""
    cached = f", {run.from_cache} from other audits" if run.from_cache else ""
    lost = "".join(f", {number} unscored ({reason})" for reason, number in run.unscored.items())
    console.print(Text(f"{result.judge}, {result.form}: {run.state}, {_asked(run)}{kept}{cached}{lost}"))
    for line in (*cascade_lines(run), *stopping_lines(run)):
        console.print(Text(line))
    print_reason(run)
    if run.done or run.state == "done":
        console.print(summarize_next(run.audit))


@print_result.register
def _(result: ProbeResult) -> None:
    print_marks(result)
    run = result.run
    kept = f", {result.already_stored} were stored before" if result.already_stored else ""
    lost = "".join(f", {number} unscored ({reason})" for reason, number in run.unscored.items())
    console.print(Text(f"{result.judge}, probes of {result.items} pairs: {run.state}, {_asked(run)}{kept}{lost}"))
    if result.not_applicable:
        without = ", ".join(f"{probe} {number}" for probe, number in result.not_applicable.items())
        console.print(Text(f"Pairs in which there was nothing to change: {without}"))
    print_reason(run)
    if result.probes is not None:
        print_probes(result.judge, result.probes, simulated=result.simulated)


def print_marks(result: JudgeResult | ProbeResult | RubricsResult | RunPairResult) -> None:
    """What of a result is made up, and what to know before believing it."""
    if result.marked:
        console.print(Text(result.marked, style="bold yellow"))
    for warning in result.warnings:
        console.print(Text(warning, style="yellow"))


def print_reason(run: RunReport) -> None:
    """Why a run ended early, and how it goes on where a limit ended it."""
    if run.reason:
        console.print(Text(run.reason))
    if (run.reason or "").startswith(LIMIT_REACHED):
        console.print(f"Go on with: misjudge runs resume {run.run}, and the higher limit")


def _asked(run: RunReport) -> str:
    if run.state != "planned":
        return f"{run.done} of {run.total} calls stored"
    assumed = dict.fromkeys(one for use in run.plan for one in use.assumes)
    return f"{planned_calls(run)}, {_planned_cost(run, tuple(assumed))}"


@print_result.register
def _(result: RunList) -> None:
    if not result.runs:
        console.print("No runs yet.")
        return
    console.print(_runs_table(result.runs))
    for warning in result.warnings:
        console.print(Text(warning, style="yellow"))
    if len(result.runs) == 1:
        for line in run_details(result.runs[0]):
            console.print(Text(line))
        if result.runs[0].done and result.runs[0].state != "running":
            console.print(summarize_next(result.runs[0].audit))
    if result.runs_left_out:
        console.print(f"and {result.runs_left_out} earlier ones")


def _runs_table(runs: Sequence[RunReport]) -> Table:
    wide = console.width >= FROM_WIDTH
    table = Table(show_lines=not wide)
    table.add_column("run", no_wrap=True)  # to be copied
    for heading in HEADINGS if wide else NARROW:
        table.add_column(heading, overflow="fold")
    for run in runs:
        what, reason = Text(_what(run)), Text(run.reason or "")
        ends = (run.state, f"{run.done} of {run.total}", _cost(run))
        if wide:
            table.add_row(run.run, Text(run.audit), what, *ends, reason)
        else:
            below = Text("\n").join(part for part in (what, reason) if part)
            table.add_row(run.run, Text(run.audit), below, "\n".join(ends))
    return table


def run_details(run: RunReport) -> Iterator[str]:
    """The stages of a run, what each role used, and what is left."""
    if run.started_at:
        yield f"planned at {run.started_at}"
    if len(run.stages) > 1:
        yield "stages: " + ", ".join(f"{stage.stage} {stage.done} of {stage.total}" for stage in run.stages)
    for use in run.spent:
        cost = "cost not known" if use.cost is None else f"{use.cost:.4f} USD"
        yield f"{use.role}: {use.calls} requests, {_tokens(use)}, {cost}"
    yield from cascade_lines(run)
    yield from stopping_lines(run)
    if run.from_cache:
        yield f"{run.from_cache} replies came from other audits, at no cost"
    if run.limits:
        yield "limits: " + ", ".join(f"{name}={value:.15g}" for name, value in run.limits.items())
    for reason, number in run.unscored.items():
        yield f"{number} unscored ({reason})"
    if run.eta_s:
        yield f"about {run.eta_s:.0f} s left at the pace of the last minute"
    yield from _left(run)
    for group in run.errors:
        yield f"{group.error}: {group.attempts} requests, the last at {group.last_at}"


def _left(run: RunReport) -> Iterator[str]:
    if run.state in {"lost", "cancelled"} and run.done < run.total:
        yield f"{run.total - run.done} cells are left: misjudge runs resume {run.run}"
    elif run.failed:
        yield f"{run.failed} cells were asked and got no reply: misjudge runs retry {run.run}"


def _tokens(use: RoleUse) -> str:
    if use.input_tokens is None or use.output_tokens is None:
        return "tokens not stated"
    return f"{use.input_tokens} + {use.output_tokens} tokens"


def _what(run: RunReport) -> str:
    return f"{run.operation} {run.judge}{', SIMULATED' if run.simulated else ''}"


def _cost(run: RunReport) -> str:
    known = [use.cost for use in run.spent if use.cost is not None]
    return f"{sum(known):.4f} USD" if known else "–"


@print_result.register
def _(result: RunPairResult) -> None:
    print_marks(result)
    run = result.run
    if run.state == "planned":
        for line in plan_lines(result):
            console.print(Text(line))
        return
    if result.agents:
        print_agents(result.agents)
    console.print(Text(f"{_pairs(result.pairs)}, judge {run.judge}: {run.state}, {run.done} of {run.total} cells done"))
    for line in run_details(run):
        console.print(Text(line))
    if run.reason:
        console.print(Text(run.reason))
    if result.pair is not None:
        _print_pair(result.pair)
    if (run.reason or "").startswith(LIMIT_REACHED):
        console.print(f"Go on with: misjudge runs resume {run.run}, and the higher limit")
    if run.done or run.state == "done":
        console.print(summarize_next(run.audit))


def plan_lines(planned: RunPairResult) -> Iterator[str]:
    """What a plan asks of whom, at what cost; one line a role."""
    run = planned.run
    yield f"plan: {_pairs(planned.pairs)}, {run.total} cells to do, judge {run.judge}"
    for role, where in planned.asked_at.items():
        yield f"{role}: {where}"
    yield from cascade_lines(run)
    yield from stopping_lines(run)
    yield from role_lines(run)


def role_lines(run: RunReport) -> Iterator[str]:
    """What a plan asks of each role, at what cost; then of all of them."""
    for use in run.plan:
        form = f", {use.form}" if use.form else ""
        calls = _calls(use.calls, estimated=use.estimated, exact=_is_exact(run, use))
        yield f"{use.role} {use.model}{form}: {calls}, {_planned_cost(use, use.assumes)}"
    if len(run.plan) > 1:
        yield _in_all(run)


def _is_exact(run: RunReport, use: RolePlan) -> bool:
    return use.form is not None and is_exact(run, use)


def _in_all(run: RunReport) -> str:
    calls = _calls(
        sum(use.calls for use in run.plan),
        estimated=any(use.estimated for use in run.plan),
        exact=all(_is_exact(run, use) for use in run.plan),
    )
    if run.about_cost:
        most = "" if run.most_cost is None else f", at most {run.most_cost:.4f} USD"
        return f"{run.total} cells, {calls}, about {run.about_cost:.4f} USD in all{most}"
    return f"{run.total} cells, {calls} in all, {_planned_cost(run)}"


def _calls(number: int, *, estimated: bool, exact: bool) -> str:
    return f"about {number} calls" if estimated else f"{number} calls{'' if exact else ' at most'}"


def _planned_cost(use: RolePlan | RunReport, assumed: Sequence[str] = ()) -> str:
    if use.about_cost is None:
        return "cost not known"
    if use.about_cost == 0:
        return "at no cost"
    given = f" ({', '.join(assumed)})" if assumed else ""
    most = "" if use.most_cost is None else f", at most {use.most_cost:.4f} USD (longest replies, no second tries)"
    return f"about {use.about_cost:.4f} USD{given}{most}"


def _pairs(number: int) -> str:
    return "1 pair" if number == 1 else f"{number} pairs"


def _print_pair(pair: PairOutcome) -> None:
    for name, side in (("A", pair.a), ("B", pair.b)):
        console.print(Text(_side(name, side)))
        for check in side.checks:
            found = {True: "holds", False: "does not hold", None: "not known"}[check["passed"]]
            console.print(Text(f"  {check['verifier']}: {found}. {check['evidence']}"))
    if pair.row is not None:
        gold, judged = pair.row["gold_pref"], pair.row["judge_pref"]
        said = judged or pair.row["judge_status"]
        console.print(Text(f"gold {gold or 'not known'}, judge {said}: {_wrong(pair.row)}"))


def _side(name: str, side: SideOutcome) -> str:
    done = {True: "did the task", False: "failed the task", None: "success not known"}[side.success]
    flags = f", flags: {', '.join(side.flags)}" if side.flags else ""
    trouble = f". {side.trouble}" if side.trouble else ""
    return f"{name} {side.agent}: {done}, ended {side.end_reason or 'not stated'}{flags}{trouble}"


def _wrong(row: Mapping[str, Any]) -> str:
    return {1: "misselected", 0: "not misselected", None: "not decidable or not decided"}[row["misselected"]]


@print_result.register
def _(result: PingReport) -> None:
    if result.marked:
        console.print(Text(result.marked, style="bold yellow"))
    table = Table()
    for heading in PING_HEADINGS:
        table.add_column(heading, overflow="fold")
    for found in result.models:
        table.add_row(*map(Text, _ping_row(found)))
    console.print(table)
    for found in result.models:
        if found.problem:
            console.print(Text(f"{', '.join(found.roles)}: {found.problem}"))


def _ping_row(found: RolePing) -> Iterator[str]:
    yield ", ".join(found.roles)
    yield found.model or "–"
    yield found.base_url
    yield f"{'OK' if found.ok else 'failed'}{', SIMULATED' if found.simulated else ''}"
    yield "–" if found.latency_ms is None else f"{found.latency_ms:.0f}"
    yield "–" if found.input_tokens is None else f"{found.input_tokens} + {found.output_tokens}"
    yield "–" if found.cost is None else f"{found.cost:.6f} ({found.price_source})"
    yield f"{found.reply_format or '–'}{', not obeyed' if found.obeyed is False else ''}"
    yield ", ".join(found.left_out) or "–"
