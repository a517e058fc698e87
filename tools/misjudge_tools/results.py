"""What the operations answer. Key facts first; rates are shares 0 to 1; costs in USD, None where unknown."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field

from misjudge_storage.types import Form, Value

SCHEME = "misjudge://"

MARK = "SIMULATED: made up by a simulated judge, no real model was asked"
MARK_IN_PART = "SIMULATED in part: what simulated judges say is made up, no real model was asked for it"


def record_uri(audit: str, kind: str, identity: str) -> str:
    """The URI of a stored thing, as `read_record` takes it; names and ids may hold any character."""
    return f"{SCHEME}audits/{quote(audit, safe='')}/{kind}/{quote(identity, safe='')}"


class RoleUse(Value):
    """What one role used: attempts, tokens, USD."""

    role: str
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


class RunReport(Value):
    """How a run stands. `unscored` counts its verdicts that could not be read, by reason.

    `next` is the call that goes on from here, None when there is nothing to do.
    """

    run: str
    audit: str
    operation: str
    state: Literal["queued", "running", "done", "failed", "cancelled", "lost", "planned"]
    done: int
    total: int
    spent: tuple[RoleUse, ...] = ()
    unscored: dict[str, int] = Field(default_factory=dict)
    simulated: bool = False
    reason: str | None = None
    next: str | None = None


class VerdictShown(Value):
    """One stored verdict on a pair (in terms of its sides) or on a trajectory."""

    pair_id: str | None = None
    trajectory_id: str | None = None
    order: str | None = None
    repeat: int = 0
    winner: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    satisfaction: float | None = None
    unscored_reason: str | None = None
    log: str | None = None


class JudgeResult(Value):
    """A judging: its run, and the first verdicts once it is done. `simulated` marks made-up results."""

    simulated: bool
    marked: str | None
    judge: str
    form: Form
    run: RunReport
    already_stored: int
    verdicts: tuple[VerdictShown, ...] = ()
    verdicts_left_out: int = 0
    next: str | None = None


class RunPairResult(Value):
    """One checked and judged pair: the run, the row of `audit_pairs`, and the checks of each side."""

    simulated: bool
    marked: str | None
    run: RunReport
    row: dict[str, Any] | None
    checks_a: tuple[dict[str, Any], ...]
    checks_b: tuple[dict[str, Any], ...]
    verdicts: tuple[VerdictShown, ...] = ()
    next: str | None = None


class FileReport(Value):
    """What one file brought: records read, rows added by table, unscored verdicts, records left out and why."""

    source: str
    records: int
    added: dict[str, int]
    unscored: int = 0
    left_out: int = 0
    problems: tuple[str, ...] = ()


class ImportResult(Value):
    """An import; `preview` instead of `files` for a dry run."""

    audit: str
    format: str
    files: tuple[FileReport, ...] = ()
    preview: dict[str, Any] | None = None
    next: str | None = None


class RecordPage(Value):
    """One stored thing. `next_cursor` where it goes on; `marked` where it, or a part of it, is made up."""

    uri: str
    marked: str | None = None
    record: dict[str, Any]
    next_cursor: int | None = None


class RunList(Value):
    """The latest runs."""

    runs: tuple[RunReport, ...]
    runs_left_out: int = 0
