"""What each operation takes. A request model is the input schema of its tool and the options of its command.

Kept apart from the operations so that listing the tools imports neither openai nor sqlalchemy.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from misjudge_tools.interchange.json_records import storable_value
from misjudge_tools.probing.variants import ProbeName

AUDIT_PATTERN = r"^[^\s/\\%\x00-\x1f\x7f-\x9f-]([^/\\%\x00-\x1f\x7f-\x9f]*[^\s/\\%\x00-\x1f\x7f-\x9f])?$"
"""No slash or % (a URI means something else by them), no control character, and no option of a command."""
AuditName = Annotated[
    str,
    Field(min_length=1, max_length=120, pattern=AUDIT_PATTERN),
]
PLAIN_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""No control character: the name of a model or judge is printed, and stands in logs."""
WaitSeconds = Annotated[float, Field(ge=0, le=40, description="Seconds to wait for the result.")]
JudgeName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=PLAIN_PATTERN,
        description="Model, profile, local, simulated.",
    ),
]
RubricRef = Annotated[str, Field(min_length=1, max_length=400)]
"""A set of rules: its name in the library, or its id or the start of it."""
RuleTexts = Annotated[list[str], Field(min_length=1, max_length=500)]
JudgedForm = Literal["pairwise", "satisfaction", "gate", "proxy"]
"""The forms of judging that need no rubric."""
Orders = Literal["both", "random", "fixed"]
Format = Literal[
    "table",
    "pairs",
    "replay",
    "gauge-runs",
    "judge-logs",
    "trajectories",
    "llmbar",
    "simulatorarena",
    "tau-bench",
    "gauge-table",
    "judgebench",
    "rubricbench",
]


class Request(BaseModel):
    """Base of all requests: unknown arguments are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _hold_what_a_store_can_hold(cls, given: Any) -> Any:
        return storable_value(given)


class Stop(BaseModel):
    """When enough is known of a bucket of pairs: its interval is at most this wide, or leaves the threshold out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: Annotated[float | None, Field(gt=0, lt=1, description="Of the interval, a share as 0.2.")] = None
    threshold: Annotated[float | None, Field(gt=0, lt=1, description="A rate, a share as 0.1.")] = None


StopOption = Annotated[
    Stop | None,
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "null"}], "description": "Early end: {width, threshold}."}),
]


class Limits(Request):
    """What a run may use. At a limit it ends with what it has: tasks come in random order, so that is a sample."""

    max_usd: Annotated[float | None, Field(gt=0, le=1e9)] = None
    max_calls: Annotated[int | None, Field(ge=1, description="This or max_usd is needed above 200 paid calls.")] = None
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    max_usd_per_task: Annotated[float | None, Field(gt=0, le=1e9)] = None
    deadline_s: Annotated[float | None, Field(gt=0)] = None


class AskingRequest(Limits):
    """What every operation takes that asks a judge: which one, how, and how its run is watched."""

    audit: AuditName
    judge: JudgeName | None = None
    prompt: Annotated[
        str | None,
        Field(min_length=1, max_length=400, description="File: own judge prompt."),
    ] = None
    language: Literal["en", "zh"] = "en"
    dry_run: Annotated[bool, Field(description="Only count calls and cost.")] = False
    wait_s: WaitSeconds = 40
    request_key: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="The same key attaches to the same run."),
    ] = None


class JudgingRequest(AskingRequest):
    """What every operation takes that asks for verdicts."""

    panel: Annotated[
        list[JudgeName] | None, Field(min_length=1, max_length=20, description="More judges, asked the same.")
    ] = None
    cascade: Annotated[
        bool,
        Field(description="Ask the panel only where the judge is unclear or the pair near."),
    ] = False
    margin: Annotated[float, Field(ge=0, le=100, description="cascade: a smaller lead is close.")] = 1
    orders: Annotated[Orders, Field(description="random: one a pair, balanced. fixed: A first.")] = "both"
    repeats: Annotated[int, Field(ge=1, le=20, description="How often each order is asked.")] = 1
    reuse: Annotated[bool, Field(description="Take other audits' replies to the same question.")] = False
    truncate: Annotated[Literal["middle"] | None, Field(description="Cut what the judge's context cannot take.")] = None
    stop: StopOption = None


Transcript = Annotated[
    str | list[dict[str, Any]],
    Field(description="Text or chat messages."),
]


class JudgeRequest(JudgingRequest):
    """Judge stored pairs or trajectories, or two responses given here."""

    form: Annotated[
        JudgedForm,
        Field(
            description="pairwise: which of two was better. Of one: satisfaction 0-1; gate 1-7, sees tool calls; "
            "proxy 1-7, sees what was said."
        ),
    ] = "pairwise"
    pair_ids: Annotated[list[str] | None, Field(min_length=1, description="Only these stored pairs. Default: all.")] = (
        None
    )
    task_prompt: Annotated[str | None, Field(description="The task of responses given here.")] = None
    success_criteria: Annotated[str, Field(description="What counts as done.")] = ""
    response_a: Transcript | None = None
    response_b: Transcript | None = None


class RunPairRequest(JudgingRequest):
    """Agents on tasks, compared: run live on a suite, or two recorded trajectories of one task."""

    suite: Annotated[
        str | None,
        Field(min_length=1, max_length=1000, description="Live: support_desk (default) or a suite's folder."),
    ] = None
    agents: Annotated[
        list[Annotated[str, Field(pattern=PLAIN_PATTERN)]] | None,
        Field(
            min_length=2,
            max_length=50,
            description="Live: models, profiles, agents of misjudge.toml, or scripted: diligent, hasty, smooth_talker, "
            "padder, refuser, flaky:0.9.",
        ),
    ] = None
    tasks: Annotated[list[str] | None, Field(min_length=1, description="Live: only these. Default: all.")] = None
    pairings: Annotated[
        list[str] | None,
        Field(min_length=1, description="Live: as a|b, a|b=near or a|b=wide. Default: all."),
    ] = None
    trials: Annotated[int, Field(ge=1, le=100, description="Live: per agent and task.")] = 1
    user: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=400,
            pattern=PLAIN_PATTERN,
            description="Live: scripted, or the model of the customer.",
        ),
    ] = None
    seed: Annotated[int | None, Field(ge=0, lt=2**31, description="Live: seed of a new audit.")] = None
    signals: Annotated[
        list[Literal["satisfaction", "gate", "proxy"]], Field(description="Live: how each trajectory is scored, too.")
    ] = ["satisfaction"]
    task_id: Annotated[str | None, Field(min_length=1, max_length=400)] = None
    agent_a: Annotated[str | None, Field(min_length=1, max_length=400, description="Hidden from the judge.")] = None
    agent_b: Annotated[str | None, Field(min_length=1, max_length=400, description="Hidden from the judge.")] = None
    trajectory_a: Transcript | None = None
    trajectory_b: Transcript | None = None
    task_prompt: Annotated[str | None, Field(min_length=1, description="Recorded: what the customer wants.")] = None
    success_criteria: str = ""
    hard_constraints: str = ""
    category: str | None = None
    trial: Annotated[int, Field(ge=0, description="Recorded: the attempt.")] = 0
    checks: Annotated[
        list[dict[str, Any]],
        Field(
            max_length=50,
            description="Recorded: success = all hold; {kind, value}, kind such as contains, tool_called, regex.",
        ),
    ] = []
    success_a: Annotated[bool | None, Field(description="Recorded: known success, without checks.")] = None
    success_b: bool | None = None
    success_source: Annotated[
        Literal["verifier", "human", "label"], Field(description="Recorded: of the known success.")
    ] = "verifier"


class ProbeRequest(AskingRequest):
    """What a judge can be fooled by: stored pairs, changed in ways that must not matter."""

    probes: Annotated[list[ProbeName] | None, Field(min_length=1, description="Only these. Default: all.")] = None
    items: Annotated[int, Field(ge=1, le=2000, description="How many pairs; each is asked twice unchanged, too.")] = 60
    pair_ids: Annotated[list[str] | None, Field(min_length=1, description="Only these stored pairs.")] = None
    side: Annotated[
        Literal["random", "failed"], Field(description="Which side is changed; failed: the one that is worse by gold.")
    ] = "random"


class ScoreRubricsRequest(AskingRequest):
    """Rubrics: write rules from instructions, match them with gold rules, apply them, measure the rubric gap.

    Left out, `audit` is the only one with gold rules. The library of rubrics belongs to no audit.
    """

    audit: Annotated[AuditName, Field(description="Default: the only one with gold rules.")] = ""
    action: Annotated[
        Literal["generate", "match", "apply", "gap", "library"],
        Field(
            description="generate: write rules for tasks. match: and match them with gold rules. apply: judge by "
            "rules. gap: all of it, with no, own and human rules. library: list it; show rubrics=[REF], or how two "
            "differ; keep gold_rules as rubrics=[NAME]."
        ),
    ] = "gap"
    samples: Annotated[int | None, Field(ge=1, le=100_000, description="How many. Default: all.")] = None
    writers: Annotated[
        list[JudgeName] | None, Field(min_length=1, max_length=20, description="Default: the judge.")
    ] = None
    matchers: Annotated[
        list[JudgeName] | None,
        Field(min_length=1, max_length=2, description="A second checks the first. Default: the judge."),
    ] = None
    batch: Annotated[bool, Field(description="match: one call a task, not one a rule.")] = False
    rubrics: Annotated[
        list[RubricRef] | None,
        Field(min_length=1, max_length=20, description="apply: none, self, human, or a library rubric."),
    ] = None
    form: Annotated[
        Literal["pairwise", "rubric"], Field(description="apply: to pairs, or to single responses (PASS or FAIL).")
    ] = "pairwise"
    official: Annotated[bool, Field(description="As RubricBench: A first, no ties. Default: both orders.")] = False
    pair_ids: Annotated[list[str] | None, Field(min_length=1)] = None
    task_prompt: Annotated[str | None, Field(min_length=1, description="A task given here.")] = None
    gold_rules: Annotated[RuleTexts | None, Field(description="Its gold rules.")] = None
    response_a: Transcript | None = None
    response_b: Transcript | None = None


class RubricLibraryRequest(Request):
    """Look after the library of rubrics."""

    action: Annotated[
        Literal["list", "show", "add", "diff", "export"],
        Field(description="diff: two rubrics, or the last two versions of one name."),
    ] = "list"
    rubric: Annotated[RubricRef | None, Field(description="A name, or an id.")] = None
    other: Annotated[RubricRef | None, Field(description="diff: the later one.")] = None
    path: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=1000,
            description="add: file with rules, JSONL or text, one a line. export: a new .jsonl or .txt file.",
        ),
    ] = None
    rules: Annotated[RuleTexts | None, Field(description="add: the rules themselves, in place of a file.")] = None


class SuiteRequest(Request):
    """Try a suite without asking a model."""

    suite: Annotated[
        str, Field(min_length=1, max_length=1000, description="support_desk, which is shipped, or a suite's folder.")
    ]
    language: Annotated[
        Literal["en", "zh"] | None, Field(description="Only the tasks of this language. Default: all.")
    ] = None


class SummarizeRequest(Request):
    """Summarise an audit."""

    audit: AuditName
    judge: Annotated[str | None, Field(description="Only this judge: a label listed under `judges`.")] = None
    panel: Annotated[
        list[str] | None, Field(description="Labels of the judges of the panel. Default: those of most pairs.")
    ] = None
    sections: Annotated[
        list[str] | None, Field(description="Only these, as misselection, or parts, as rubrics.writers. Default: all.")
    ] = None
    baseline: Annotated[AuditName | None, Field(description="An earlier audit, for drift.")] = None
    language: Annotated[Literal["en", "zh"], Field(description="Of its sentences.")] = "en"
    since: Annotated[str | None, Field(description="three_way: from YYYY-MM-DD.")] = None
    by: Annotated[Literal["day", "week", "month"], Field(description="three_way: periods.")] = "week"
    bill: Annotated[str | None, Field(description="cost: a bill, CSV with model and cost.")] = None


class GateRequest(Request):
    """Whether a judge may be used: its misselection against a limit."""

    audit: AuditName
    judge: Annotated[str | None, Field(description="A label of the audit; the only one by default.")] = None
    max_misselection: Annotated[float, Field(ge=1e-4, le=0.9999, description="The limit, a share.")] = 0.05
    at: Annotated[Literal["near", "wide"] | None, Field(description="Only pairs of this ability gap.")] = None
    policy: Annotated[str | None, Field(description="A policy of the section policies, by its name.")] = None
    baseline: Annotated[AuditName | None, Field(description="An earlier audit; being worse than it fails.")] = None
    min_coverage: Annotated[float, Field(ge=0, le=1, description="Share of decidable pairs to be decided.")] = 0.9


class ImportRequest(Request):
    """Import files into an audit."""

    audit: AuditName
    format: Format
    paths: Annotated[list[str], Field(min_length=1, max_length=100, description="Files, or folders for llmbar.")]
    skip_bad: Annotated[bool, Field(description="Import the good records only.")] = False
    dry_run: Annotated[bool, Field(description="table: only show what is read.")] = False
    map: Annotated[
        list[str],
        Field(description="table: role=column, as winner=gpt+llama."),
    ] = []
    values: Annotated[list[str], Field(description="table: cells, as 1=A,2=B,0=tie.")] = []
    per_response: Annotated[bool, Field(description="table: one row a response with a score.")] = False
    agent: Annotated[str | None, Field(description="tau-bench: the agent's name.")] = None
    gap_source: Annotated[
        Literal["ability", "reward", "judge_score"] | None,
        Field(description="pairs: what reward_gap is a gap of."),
    ] = None
    scale: Annotated[str | None, Field(description="Of satisfaction, LOW-HIGH:THRESHOLD, as 1-5:4.")] = None
    score_range: Annotated[str | None, Field(description="pairs, table: range of the judge's scores.")] = None
    reward_col: Annotated[str | None, Field(description="gauge-table: column of the mean reward.")] = None
    order_col: Annotated[str | None, Field(description="gauge-table: order of equal rewards.")] = None
    gate_col: Annotated[list[str], Field(description="gauge-table: name or name:rank (1 = best).")] = []


class RecordRequest(Request):
    """Read one stored thing."""

    uri: Annotated[str, Field(min_length=1, max_length=1000, description="Such as misjudge://audits/NAME/pairs/ID.")]
    fields: Annotated[list[str] | None, Field(description="Only these fields.")] = None
    cursor: Annotated[int, Field(ge=0, description="next_cursor of the last answer.")] = 0
    max_bytes: Annotated[int, Field(ge=500, le=7_000, description="Size of a page.")] = 7_000


class RunsRequest(Limits):
    """Look after background work. Limits: new ones for resume and retry."""

    action: Annotated[
        Literal["list", "status", "wait", "cancel", "resume", "retry"],
        Field(description="resume: ask what is missing. retry: only the cells whose calls failed."),
    ] = "list"
    run: Annotated[str | None, Field(description="The run's id; not for list.")] = None
    audit: AuditName | None = None
    wait_s: WaitSeconds = 40
