"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AuditOption = Annotated[str, typer.Option("--audit", help="Name of the audit.")]
JudgeOption = Annotated[
    str | None, typer.Option("--judge", help="Model of the gateway, profile, 'local' or 'simulated'.")
]
PromptOption = Annotated[
    str | None, typer.Option("--prompt", help="File with an own judge prompt (see docs/judging.md).")
]
TruncateOption = Annotated[
    str | None, typer.Option("--truncate", help="middle: cut transcripts that the judge's context cannot take.")
]
PanelOption = Annotated[list[str] | None, typer.Option("--panel", help="One more judge; may be repeated.")]
CascadeOption = Annotated[
    bool | None,
    typer.Option("--cascade", help="Ask the panel only where the judge is not clear, or the pair is declared near."),
]
MarginOption = Annotated[
    float | None, typer.Option("--margin", help="cascade: a lead in scores below it is close. Default: 1.")
]
OrdersOption = Annotated[
    str | None, typer.Option("--orders", help="both (default), random (one a pair, balanced) or fixed.")
]
StopWidth = Annotated[
    float | None, typer.Option(help="Stop asking about a bucket of pairs once its interval is this narrow, as 0.2.")
]
StopThreshold = Annotated[
    float | None, typer.Option(help="Stop once a bucket's interval lies above or below this rate, as 0.1.")
]
LabelOption = Annotated[str | None, typer.Option("--judge", help="Only this judge, by its label in the summary.")]
PanelLabels = Annotated[
    list[str] | None,
    typer.Option("--panel", help="Label of a judge of the panel; repeat it. Default: those of most pairs."),
]
MaxUsd = Annotated[float | None, typer.Option(help="Most USD, overshot by one call at most; needs the model's price.")]
MaxCalls = Annotated[int | None, typer.Option(help="Most calls; this or --max-usd is needed above 200 paid ones.")]
MaxTokens = Annotated[int | None, typer.Option(help="Most tokens, in and out.")]
MaxUsdPerTask = Annotated[float | None, typer.Option(help="Most USD for one task.")]
DeadlineS = Annotated[float | None, typer.Option(help="Begin no more calls after so many seconds.")]


def stop_of(width: float | None, threshold: float | None) -> dict[str, float] | None:
    """What a request has of both options; None where neither was given."""
    given = {"width": width, "threshold": threshold}
    return {name: value for name, value in given.items() if value is not None} or None
