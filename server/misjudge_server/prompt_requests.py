"""What each prompt takes. Clients give every value as text, and an empty one where there is none."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from misjudge_tools.requests import PLAIN_PATTERN, AuditName, Request

Label = Annotated[str, Field(min_length=1, max_length=400, pattern=PLAIN_PATTERN)]
Audit = Annotated[AuditName, Field(description="Name of the audit, new or stored.")]
Stored = Annotated[AuditName, Field(description="Name of a stored audit.")]
OneOf = Annotated[Label | None, Field(description="Label of one of its judges. Default: all, or the only one.")]
Asked = Annotated[Label | None, Field(description="Model, profile, local or simulated. Default: the configured judge.")]


class AuditJudge(Request):
    """Arguments of audit_judge."""

    audit: Audit
    judge: Asked = None
    data: Annotated[
        Annotated[str, Field(min_length=1, max_length=1000, pattern=PLAIN_PATTERN)] | None,
        Field(
            description="Where the audit has no pairs: a suite (support_desk) or a file of this folder (.csv, .jsonl)."
        ),
    ] = None


class ExplainMisselection(Request):
    """Arguments of explain_misselection."""

    audit: Stored
    judge: OneOf = None
    pair: Annotated[Label | None, Field(description="Id of one pair. Default: where the judge was surest.")] = None


class ReleaseGate(Request):
    """Arguments of release_gate."""

    audit: Stored
    judge: OneOf = None
    limit: Annotated[float, Field(ge=1e-4, le=0.9999, description="Most misselection allowed, a share.")] = 0.05
    baseline: Annotated[AuditName | None, Field(description="An earlier audit that it must not fall behind.")] = None


class RubricBaseline(Request):
    """Arguments of rubric_baseline."""

    audit: Annotated[AuditName, Field(description="Name of an audit with gold rules (RubricBench).")]
    judge: Asked = None
    samples: Annotated[int, Field(ge=1, le=100_000, description="How many tasks.")] = 20


class LabelSession(Request):
    """Arguments of label_session."""

    audit: Stored
    reviewer: Annotated[Label, Field(description="The person's id, such as initials.")]
    pairs: Annotated[int, Field(ge=1, le=2000, description="How many pairs.")] = 10
