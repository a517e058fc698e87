"""The commands `rubrics`: rules that models write, matched with the ones that people wrote, and applied."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

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
from misjudge_server.cli_rubric_library import library_app
from misjudge_server.progress import with_progress
from misjudge_tools import requests
from misjudge_tools.deps import Deps
from misjudge_tools.rubrics.results import RubricsResult

Action = Literal["generate", "match", "apply", "gap"]
AuditArgument = Annotated[
    str | None, typer.Argument(help="Name of the audit. Default: the only one that holds gold rules.")
]
Writers = Annotated[
    list[str] | None, typer.Option("--writer", help="Who writes rules; may be repeated. Default: the judge.")
]
Matchers = Annotated[
    list[str] | None,
    typer.Option("--matcher", help="Who matches; a second one checks the first. Default: the judge."),
]
Tasks = Annotated[int | None, typer.Option("--samples", help="How many tasks, in random order. Default: all.")]
Pairs = Annotated[int | None, typer.Option("--samples", help="How many pairs, in random order. Default: all.")]
Batch = Annotated[bool, typer.Option("--batch", help="Match with one call a task, not with one a rule.")]
Official = Annotated[
    bool,
    typer.Option("--official", help="As RubricBench asks: A first, no ties, unparsed is wrong. Default: both orders."),
]
Pair = Annotated[list[str] | None, typer.Option("--pair", help="Only this pair; may be repeated.")]
Language = Annotated[str, typer.Option(help="Language of the prompts: en or zh.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how many calls it takes, at what cost.")]

app = typer.Typer(
    help="Rubrics: write rules, match them with gold rules, judge by them, and measure the rubric gap.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(library_app, name="library")


@app.command()
def generate(
    audit: AuditArgument = None,
    judge: JudgeOption = None,
    writer: Writers = None,
    samples: Tasks = None,
    language: Language = "en",
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Let models write yes/no rules for tasks, from the instruction alone."""
    _score(
        "generate", audit, as_json,
        judge=judge, writers=writer, samples=samples, language=language, max_usd=max_usd, max_calls=max_calls,
        max_tokens=max_tokens, max_usd_per_task=max_usd_per_task, deadline_s=deadline_s, dry_run=dry_run,
    )  # fmt: skip


@app.command()
def match(
    audit: AuditArgument = None,
    judge: JudgeOption = None,
    writer: Writers = None,
    matcher: Matchers = None,
    batch: Batch = False,
    samples: Tasks = None,
    language: Language = "en",
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write rules, and find out which gold rules they hit: recall, hallucination rate, structural F1."""
    _score(
        "match", audit, as_json,
        judge=judge, writers=writer, matchers=matcher, batch=batch, samples=samples, language=language,
        max_usd=max_usd, max_calls=max_calls, max_tokens=max_tokens, max_usd_per_task=max_usd_per_task,
        deadline_s=deadline_s, dry_run=dry_run,
    )  # fmt: skip


@app.command()
def apply(
    audit: AuditArgument = None,
    judge: JudgeOption = None,
    rubric: Annotated[
        list[str] | None,
        typer.Option("--rubric", help="none, self, human (default) or one of the library; may be repeated."),
    ] = None,
    form: Annotated[str, typer.Option(help="pairwise, or rubric: single responses, PASS or FAIL.")] = "pairwise",
    prompt: PromptOption = None,
    writer: Writers = None,
    official: Official = False,
    samples: Pairs = None,
    pair: Pair = None,
    language: Language = "en",
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Judge pairs, or single responses, by rules: each rule first, then the verdict."""
    _score(
        "apply", audit, as_json,
        judge=judge, rubrics=rubric, form=form, prompt=prompt, writers=writer, official=official, samples=samples,
        pair_ids=pair, language=language, max_usd=max_usd, max_calls=max_calls, max_tokens=max_tokens,
        max_usd_per_task=max_usd_per_task, deadline_s=deadline_s, dry_run=dry_run,
    )  # fmt: skip


@app.command()
def gap(
    audit: AuditArgument = None,
    judge: JudgeOption = None,
    prompt: PromptOption = None,
    writer: Writers = None,
    matcher: Matchers = None,
    batch: Batch = False,
    official: Official = False,
    samples: Pairs = None,
    pair: Pair = None,
    language: Language = "en",
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd_per_task: MaxUsdPerTask = None,
    deadline_s: DeadlineS = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Can this model write its own rules? Accuracy with none, its own and human ones; --samples 20 is a baseline."""
    _score(
        "gap", audit, as_json,
        judge=judge, prompt=prompt, writers=writer, matchers=matcher, batch=batch, official=official, samples=samples,
        pair_ids=pair, language=language, max_usd=max_usd, max_calls=max_calls, max_tokens=max_tokens,
        max_usd_per_task=max_usd_per_task, deadline_s=deadline_s, dry_run=dry_run,
    )  # fmt: skip


def _score(action: Action, audit: str | None, as_json: bool, **given: Any) -> None:
    """Carry out one action with what was given, print what it came to, and fail where its run did."""
    from misjudge_tools.score_rubrics import rubric_run

    request = request_of(requests.ScoreRubricsRequest, action=action, audit=audit, **given)
    patient = request.model_copy(update={"wait_s": TO_THE_END_S})

    async def scored(deps: Deps) -> RubricsResult:
        announce_judges(patient, deps)
        return await with_progress(deps, partial(rubric_run, patient))

    result = carry_out(scored)
    show(result, as_json)
    fail_unless_done(result.run)
