"""What the operations answer. Key facts first; rates are shares 0 to 1; costs in USD, None where unknown."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field

from misjudge_storage.types import AskedForm, Value
from misjudge_tools.labelling.values import ReviewPair, ReviewRecorded, ReviewStanding
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.stopping_values import StoppedBucket
from misjudge_tools.summary.values import AgentOutcome, ProbesSection

SCHEME = "misjudge://"

MARK = "SIMULATED: made up by a simulated judge, no real model was asked"
MARK_EPISODES = "SIMULATED: scripted or simulated agents and customers made these episodes"
MARK_IN_PART = "SIMULATED in part: what simulated judges say is made up, no real model was asked for it"


def marks(*found: str | None) -> str | None:
    """The marks that hold as one text, None where none does."""
    return "; ".join(mark for mark in found if mark) or None


def judged_mark(simulated: int, judges: int) -> str | None:
    """The mark of what so many judges say, of whom so many are simulated."""
    if not simulated:
        return None
    return MARK if simulated == judges else MARK_IN_PART


LIMIT_REACHED = "limit reached: "
"""How the reason of a run begins that ended at a limit that its caller had set."""


def record_uri(audit: str, kind: str, identity: str) -> str:
    """The URI of a stored thing, as `read_record` takes it; names and ids may hold any character."""
    return f"{SCHEME}audits/{quote(audit, safe='')}/{kind}/{quote(identity, safe='')}"


class RoleUse(Value):
    """What one role used: attempts, tokens, USD (None where no price is known), and replies without a price."""

    role: str
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    without_price: int = 0


class StageDone(Value):
    """How far one kind of cell is."""

    stage: str
    done: int
    total: int


class ErrorSeen(Value):
    """Attempts that ended in one kind of error, and when the last did."""

    error: str
    attempts: int
    last_at: str


class RolePlan(Value):
    """What a role is going to do: `calls` at most, or about so many where that is `estimated`, since rubrics are to be
    matched that are not written yet.

    `most_cost` is USD with the longest replies and no second tries, None where what is sent is not known beforehand.
    `about_cost` is USD at four bytes a token and usual replies, without hidden reasoning; `assumes` says what else it
    takes for given. Both are None where the price is not known. `form` is that of a judge.
    """

    role: str
    model: str
    form: AskedForm | None = None
    calls: int
    estimated: bool = False
    most_cost: float | None = None
    about_cost: float | None = None
    assumes: tuple[str, ...] = ()


class CascadeReport(Value):
    """What a cascade saved. `escalated` counts pairs by why the panel is asked about them; a pair is under one reason.

    `judge` is the first one, who decided `decided` of the pairs alone so far. `calls_saved` are those of the panel that
    this made needless, `usd_saved` what they would have cost at the mean price of those that were made in the audit,
    None where that is not known.
    """

    judge: str
    pairs: int
    decided: int
    escalated: dict[str, int]
    calls_saved: int
    usd_saved: float | None = None


class RunReport(Value):
    """How a run stands. `unscored` counts its verdicts that could not be read, by reason; `failed` the cells that
    were asked and are without a result; `eta_s` is the time for what is left at the pace of the last minute, in
    seconds. A running run with a `reason` is paused. `total` counts cells, of which some take several calls.
    `most_cost` and `about_cost` are those of all roles of a planned run, None where that of one is not known.
    `stopped` are the buckets of which enough was known before their end, `…_saved` what the run was spared by that:
    pairs that it asks nobody about, calls of judges, and episodes; None where it does not stop early.

    `next` is the call that goes on from here, None when there is nothing to do.
    """

    run: str
    audit: str
    operation: str
    judge: str
    started_at: str | None = None
    state: Literal["queued", "running", "done", "failed", "cancelled", "lost", "planned"]
    done: int
    total: int
    stages: tuple[StageDone, ...] = ()
    spent: tuple[RoleUse, ...] = ()
    from_cache: int = 0
    limits: dict[str, int | float] = Field(default_factory=dict)
    plan: tuple[RolePlan, ...] = ()
    most_cost: float | None = None
    about_cost: float | None = None
    eta_s: float | None = None
    unscored: dict[str, int] = Field(default_factory=dict)
    failed: int = 0
    errors: tuple[ErrorSeen, ...] = ()
    cascade: CascadeReport | None = None
    stopped: tuple[StoppedBucket, ...] = ()
    pairs_saved: int | None = None
    calls_saved: int | None = None
    episodes_saved: int | None = None
    simulated: bool = False
    reason: str | None = None
    next: str | None = None


class VerdictShown(Value):
    """One stored verdict on a pair (in terms of its sides) or on a trajectory (its `score`, on the scale of the judge's
    form). `judge` is the judge's label.
    """

    judge: str
    pair_id: str | None = None
    trajectory_id: str | None = None
    order: str | None = None
    repeat: int = 0
    winner: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    score: float | None = None
    unscored_reason: str | None = None
    log: str | None = None


class JudgeResult(Value):
    """A judging: its run, and the first verdicts once it is done. `simulated` marks made-up results.

    `asked_at` says which model is asked where, and where both were configured; `warnings` what is wrong with a prompt
    or with the replies, or that judges share a model or family.
    """

    simulated: bool
    marked: str | None
    judge: str
    asked_at: str
    form: AskedForm
    run: RunReport
    already_stored: int
    warnings: tuple[str, ...] = ()
    verdicts: tuple[VerdictShown, ...] = ()
    verdicts_left_out: int = 0
    next: str | None = None


class ProbeResult(Value):
    """A probing of one judge: its run, and what moved its verdicts once it is done (see `summary.values`).

    `items` are the pairs that it is asked about; `not_applicable` counts, by probe, those that it cannot change.
    """

    simulated: bool
    marked: str | None
    judge: str
    asked_at: str
    run: RunReport
    already_stored: int
    items: int
    not_applicable: dict[str, int] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    probes: ProbesSection | None = None
    next: str | None = None


class SideOutcome(Value):
    """One side of a pair: how its episode ended, and what each check found. `flags`: what its simulated user did wrong.

    `success` and a check's `passed` are None where they are not known; `trouble` is the error that ended it, if any.
    """

    agent: str
    trajectory: str | None = None
    end_reason: str | None
    success: bool | None
    trouble: str | None = None
    flags: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    checks: tuple[dict[str, Any], ...] = ()


class PairOutcome(Value):
    """One checked and judged pair: its row of `audit_pairs`, both sides and the verdicts."""

    row: dict[str, Any] | None
    a: SideOutcome
    b: SideOutcome
    verdicts: tuple[VerdictShown, ...] = ()


class RunPairResult(Value):
    """A comparison of agents: the run, the agents, and the pair where it is a single one.

    `asked_at` says, by role, which model is asked where, and where both were configured; `warnings` what is wrong with
    a prompt or with the replies, or that judges share a model or family.
    """

    simulated: bool
    marked: str | None
    asked_at: dict[str, str]
    run: RunReport
    pairs: int
    warnings: tuple[str, ...] = ()
    pair: PairOutcome | None = None
    agents: tuple[AgentOutcome, ...] = ()
    next: str | None = None


class FileReport(Value):
    """What one file brought: records read, rows added by table, unscored verdicts, records left out and why.

    `warnings` say what is to be known of the records that were read.
    """

    source: str
    records: int
    added: dict[str, int]
    unscored: int = 0
    left_out: int = 0
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class ImportResult(Value):
    """An import, or for a dry run (`preview`) what it would be: `refused` is then what the import would end with."""

    audit: str
    format: str
    files: tuple[FileReport, ...] = ()
    preview: dict[str, Any] | None = None
    refused: str | None = None
    next: str | None = None


class ReviewResult(Value):
    """The next pair for a person, or the answer of one that was stored. `note` says what is to be known of either."""

    audit: str
    reviewer: str
    marked: str | None = None
    pair: ReviewPair | None = None
    recorded: ReviewRecorded | None = None
    standing: ReviewStanding
    note: str | None = None
    next: str | None = None


class SheetResult(Value):
    """A sheet of pairs that was written, or the answers of one that were stored.

    `pairs` are its rows; of those read, `empty` have no answer yet. `cut`: pairs too long for the cells of a
    spreadsheet, of which the middle is left out; `guarded`: cells with a quote before what reads as a formula.
    """

    audit: str
    reviewer: str
    path: str
    pairs: int
    new: int = 0
    corrections: int = 0
    same: int = 0
    empty: int = 0
    cut: int = 0
    guarded: int = 0
    standing: ReviewStanding
    note: str | None = None
    next: str | None = None


class WrittenFile(Value):
    """A file of a report: its path below the folder, and its size."""

    name: str
    bytes: int


class ReportResult(Value):
    """A report that was written. `left_out` says what the page does not show of longer lists."""

    audit: str
    judge: str | None
    marked: str | None = None
    verdict: str
    out: str
    files: tuple[WrittenFile, ...]
    left_out: tuple[str, ...] = ()


class RecordPage(Value):
    """One stored thing, or a list of them. `next_cursor` where it goes on; `marked` where some of it is made up."""

    uri: str
    marked: str | None = None
    record: dict[str, Any]
    next_cursor: int | None = None


class RunList(Value):
    """The latest runs. Of a single run, `warnings` say what is wrong with its replies, and `pair` is what it came to
    where it is one of `run_pair` that made or judged a single one.
    """

    runs: tuple[RunReport, ...]
    warnings: tuple[str, ...] = ()
    runs_left_out: int = 0
    pair: PairOutcome | None = None


class ExportedFile(Value):
    """A file that was written: its path, below that of the export where this is a folder, and its rows."""

    name: str
    rows: int


class KeptRows(Value):
    """Rows of one ability gap (near, wide, unknown) before and after a filter by what a judge says."""

    ability: str
    before: int
    after: int


class JudgeOnly(Value):
    """What an export by this judge alone would have got wrong: `k` of the `n` decidable pairs that it decided. Whether
    it is right on pairs that evidence does not decide, nobody knows.
    """

    judge: str
    mislabelled: Rate


class ExportResult(Value):
    """An export. `left_out` counts pairs or episodes without a row, by reason (see `exporting.preference`); `guarded`
    the cells of a CSV that got a quote so that no spreadsheet calculates them. `notes` say what to know of the files.
    """

    audit: str
    format: str
    marked: str | None = None
    path: str
    files: tuple[ExportedFile, ...]
    guarded: int = 0
    left_out: dict[str, int] = Field(default_factory=dict)
    kept: tuple[KeptRows, ...] = ()
    judge_only: tuple[JudgeOnly, ...] = ()
    notes: tuple[str, ...] = ()
    next: str | None = None
