"""The command line: each command parses, calls one operation, prints. `--json` is for machines."""

from __future__ import annotations

import asyncio
import logging
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

import typer

from misjudge_server import (
    VERSION,
    cli_doctor,
    cli_files,
    cli_gate,
    cli_label,
    cli_live,
    cli_probe,
    cli_rubrics,
    cli_setup,
    cli_suite,
)
from misjudge_server.carrying import TO_THE_END_S, announce_judges, carry_out, fail_unless_done, request_of, show
from misjudge_server.cli_options import (
    AsJson,
    AuditOption,
    CascadeOption,
    DeadlineS,
    JudgeOption,
    LabelOption,
    MarginOption,
    MaxCalls,
    MaxTokens,
    MaxUsd,
    MaxUsdPerTask,
    OrdersOption,
    PanelLabels,
    PanelOption,
    PromptOption,
    StopThreshold,
    StopWidth,
    TruncateOption,
    stop_of,
)
from misjudge_server.logs import log_failure, set_up_logging
from misjudge_server.progress import with_progress
from misjudge_server.terminal import plain
from misjudge_storage.errors import InvalidInput, MisjudgeError, RunStopped
from misjudge_tools import requests
from misjudge_tools.deps import Deps
from misjudge_tools.interchange.table_mapping import PAIR_ROLES, RESPONSE_ROLES
from misjudge_tools.results import JudgeResult
from misjudge_tools.summary.words import in_language

log = logging.getLogger(__name__)
NO = 1
NO_ANSWER = 2
"""As of wrong usage, and never 1: an error must not look like a judge that was measured and failed."""
FORMATS: tuple[str, ...] = get_args(requests.Format)
ROLES = (
    f"Roles: {', '.join(PAIR_ROLES)}; with --per-response {', '.join(RESPONSE_ROLES)}. Several columns (a+b) may be "
    "winner, gold or score."
)
WHOLE_BYTES = 10**9

app = typer.Typer(
    help="Audit LLM judges: how often the judge picked the side that failed, where, at what cost, and how sure we are.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
config = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.add_typer(config, name="config")
app.add_typer(cli_rubrics.app, name="rubrics")
app.command("run")(cli_live.run)
app.command("simulate")(cli_live.simulate)
app.command("suite")(cli_suite.suite)
app.command("probe")(cli_probe.probe)
app.command("gate")(cli_gate.gate)
app.command("label")(cli_label.label)
app.command("report")(cli_files.report)
app.command("export")(cli_files.export)
app.command("setup")(cli_setup.setup)
app.command("doctor")(cli_doctor.doctor)


def run() -> None:
    """Run the command line. Exit code 0: done, or yes. 1: looked into, and the answer is no, as of a gate that fails or
    a run that is not at its end. 2: no answer, for wrong usage or an error. 130 after Ctrl-C, 143 after SIGTERM.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    set_up_logging()
    try:
        app(prog_name="misjudge")
    except RunStopped as error:
        _end(str(error), NO)
    except MisjudgeError as error:
        _end(str(error), NO_ANSWER)
    except Exception as error:
        log_failure(log, "the command", error)
        said = f"Internal error ({type(error).__name__}). Its place in the code stands above; please report it."
        _end(said, NO_ANSWER)


def _end(message: str, code: int) -> None:
    print(plain(f"misjudge: {message}"), file=sys.stderr)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(f"misjudge {VERSION}")
        raise typer.Exit


@app.command("import")
def import_(
    format: Annotated[str, typer.Argument(help="One of: " + ", ".join(FORMATS) + ".")],
    paths: Annotated[list[str], typer.Argument(help="Files; a folder for llmbar.")],
    audit: AuditOption,
    map: Annotated[
        list[str] | None, typer.Option(help=f"table: role=column, as prompt=q,winner=gpt+llama. {ROLES}")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option(help="table: meaning of cells, as 1=A,2=B,0=tie,err=none or order:yes=BA,no=AB.")
    ] = None,
    per_response: Annotated[bool, typer.Option("--per-response", help="table: one row a response.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="table: only show what is read.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Import the good records only.")] = False,
    agent: Annotated[str | None, typer.Option(help="tau-bench, trajectories: the agent's name.")] = None,
    gap_source: Annotated[str | None, typer.Option(help="pairs: what reward_gap is a gap of.")] = None,
    scale: Annotated[str | None, typer.Option(help="Satisfaction scale, LOW-HIGH:THRESHOLD, as 1-5:4.")] = None,
    score_range: Annotated[str | None, typer.Option(help="pairs, table: range of the judge's scores, as 0-5.")] = None,
    reward_col: Annotated[str | None, typer.Option(help="gauge-table: column of the mean reward.")] = None,
    order_col: Annotated[str | None, typer.Option(help="gauge-table: order of equal rewards, C or C:rank.")] = None,
    gate_col: Annotated[list[str] | None, typer.Option(help="gauge-table: gate column, COLUMN or COLUMN:rank.")] = None,
    as_json: AsJson = False,
) -> None:
    """Import files that you already have: a judge log, a preference table, a benchmark."""
    from misjudge_tools.import_records import import_records

    request = request_of(
        requests.ImportRequest,
        format=format, paths=paths, audit=audit, map=map, values=values, per_response=per_response, dry_run=dry_run,
        skip_bad=skip_bad, agent=agent, gap_source=gap_source, scale=scale, score_range=score_range,
        reward_col=reward_col, order_col=order_col, gate_col=gate_col,
    )  # fmt: skip
    result = carry_out(lambda deps: import_records(request, deps))
    show(result, as_json)
    if result.refused is not None:
        raise InvalidInput(result.refused)


@app.command()
def judge(
    audit: Annotated[str, typer.Argument(help="Name of the audit.")],
    judge: JudgeOption = None,
    form: Annotated[str, typer.Option(help="pairwise, satisfaction, gate or proxy.")] = "pairwise",
    prompt: PromptOption = None,
    language: Annotated[str, typer.Option(help="Language of the judge prompt: en or zh.")] = "en",
    panel: PanelOption = None,
    cascade: CascadeOption = None,
    margin: MarginOption = None,
    orders: OrdersOption = None,
    repeats: Annotated[int, typer.Option(help="How often each order is asked.")] = 1,
    truncate: TruncateOption = None,
    pair: Annotated[list[str] | None, typer.Option(help="Only this pair; may be repeated.")] = None,
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    stop_width: StopWidth = None,
    stop_threshold: StopThreshold = None,
    reuse: Annotated[bool, typer.Option("--reuse", help="Take other audits' replies to the same question.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many calls it takes, at what cost.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a judge about the audit's pairs, blind and in both orders; what is stored is not asked again."""
    from misjudge_tools.judge import judge as ask

    request = request_of(
        requests.JudgeRequest,
        audit=audit, judge=judge, form=form, prompt=prompt, language=language, panel=panel, cascade=cascade,
        margin=margin, orders=orders, repeats=repeats, truncate=truncate, pair_ids=pair, max_usd=max_usd,
        max_calls=max_calls, max_tokens=max_tokens, max_usd_per_task=max_usd_per_task, deadline_s=deadline_s,
        reuse=reuse, dry_run=dry_run, stop=stop_of(stop_width, stop_threshold),
    )  # fmt: skip
    patient = request.model_copy(update={"wait_s": TO_THE_END_S})

    async def announced(deps: Deps) -> JudgeResult:
        announce_judges(patient, deps)
        return await with_progress(deps, partial(ask, patient))

    result = carry_out(announced)
    show(result, as_json)
    fail_unless_done(result.run)


@app.command()
def summarize(
    audit: Annotated[str, typer.Argument(help="Name of the audit.")],
    judge: LabelOption = None,
    panel: PanelLabels = None,
    section: Annotated[
        list[str] | None, typer.Option(help="Only this, as misselection or rubrics.checks; may be repeated.")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="An earlier audit: what changed since, and who did it.")] = None,
    language: Annotated[str, typer.Option(help="Of verdict, advice, checklist and tables: en or zh.")] = "en",
    since: Annotated[str | None, typer.Option(help="three_way: only sessions from YYYY-MM-DD on.")] = None,
    by: Annotated[str, typer.Option(help="three_way: by day, week or month.")] = "week",
    bill: Annotated[str | None, typer.Option(help="cost: a provider's bill, CSV with columns model and cost.")] = None,
    as_json: AsJson = False,
) -> None:
    """The numbers of an audit, each with n and interval: how often the judge was wrong, and how sure we are."""
    from misjudge_tools.summarize_audit import summarize_audit

    request = request_of(
        requests.SummarizeRequest,
        audit=audit, judge=judge, panel=panel, sections=section, baseline=baseline, language=language, since=since,
        by=by, bill=bill,
    )  # fmt: skip
    found = carry_out(lambda deps: summarize_audit(request, deps))
    with in_language(request.language):
        show(found, as_json)


@app.command()
def runs(
    action: Annotated[str, typer.Argument(help="list, status, wait, cancel, resume or retry.")] = "list",
    run: Annotated[str | None, typer.Argument(help="The run's id.")] = None,
    audit: Annotated[str | None, typer.Option("--audit", help="list: only runs of this audit.")] = None,
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    as_json: AsJson = False,
) -> None:
    """Look after background work: what ran, what is left, go on with it."""
    from misjudge_tools.manage_runs import manage_runs

    request = request_of(
        requests.RunsRequest,
        action=action, run=run, audit=audit, max_usd=max_usd, max_calls=max_calls, max_tokens=max_tokens,
        max_usd_per_task=max_usd_per_task, deadline_s=deadline_s,
    )  # fmt: skip
    patient = request.model_copy(update={"wait_s": TO_THE_END_S})
    result = carry_out(lambda deps: with_progress(deps, partial(manage_runs, patient)))
    show(result, as_json)
    if request.action in {"wait", "resume"} or (request.action == "retry" and result.runs[0].failed):
        fail_unless_done(result.runs[0])


@app.command()
def read(
    uri: Annotated[str, typer.Argument(help="Such as misjudge://audits or misjudge://audits/NAME/pairs/ID.")],
    field: Annotated[list[str] | None, typer.Option(help="Only this field; may be repeated.")] = None,
) -> None:
    """Read one stored thing whole, as JSON."""
    from misjudge_tools.read_record import read_record

    request = request_of(requests.RecordRequest, uri=uri, fields=field)
    whole = request.model_copy(update={"max_bytes": WHOLE_BYTES})
    show(carry_out(lambda deps: read_record(whole, deps)), as_json=True)


@app.command()
def ping(
    role: Annotated[list[str] | None, typer.Option(help="agent, user_sim or judge; may be repeated.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send the smallest request to the model of each role: does it answer, at what cost, does it take JSON?

    Nothing is stored.
    """
    from misjudge_server.settings import load_settings
    from misjudge_tools.gateway.pool import Gateways
    from misjudge_tools.ping import PingReport, chosen_roles
    from misjudge_tools.ping import ping as send

    roles = chosen_roles(role)

    async def inside() -> PingReport:
        gateways = Gateways()
        try:
            return await send(load_settings().models, gateways, roles)
        finally:
            await gateways.aclose()

    report = asyncio.run(inside())
    show(report, as_json)
    if not all(found.ok for found in report.models):
        raise SystemExit(NO)


@app.command()
def demo(
    audit: AuditOption = "demo",
    local: Annotated[bool, typer.Option(help="Also ask the local SmolLM2 judge, where it is installed.")] = True,
) -> None:
    """Audit two judges on twelve recorded pairs, without a key: a simulated one and a small real one."""
    from misjudge_server.demo import run_demo

    carry_out(lambda deps: run_demo(deps, audit, with_local=local))


@config.callback()
def show_config(context: typer.Context, as_json: AsJson = False) -> None:
    """Which model, address and key each role uses, and where each value comes from."""
    if context.invoked_subcommand is not None:
        return
    from misjudge_server.config_command import config_report
    from misjudge_server.settings import load_settings

    report = config_report(load_settings())
    if as_json:
        show(report, as_json)
    else:
        from misjudge_server.config_printing import print_config

        print_config(report)


@config.command("import")
def import_config(
    file: Annotated[Path, typer.Argument(help="JSON or YAML with profiles, as guides write them.")],
    out: Annotated[Path | None, typer.Option(help="Write to this new file, as misjudge.toml.")] = None,
) -> None:
    """Turn a guide's profiles into the text of a misjudge.toml."""
    from misjudge_server.guide_profiles import convert_file, write_new

    converted = convert_file(file)
    if out is None:
        print(converted.toml, end="")
    else:
        write_new(out, converted.toml)
        print(f"Written to {plain(str(out))}. Look at it, then: misjudge config")
    for name in converted.left_out:
        print(plain(f"Left out: {name}"), file=sys.stderr)


@app.command()
def serve() -> None:
    """Serve the tools over MCP (stdio), for Claude Code, Codex and other clients."""
    from misjudge_server.serve import serve as serve_stdio

    serve_stdio()
