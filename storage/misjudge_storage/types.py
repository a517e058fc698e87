"""Values that cross the rooms. Frozen; an invalid one cannot be made.

An importer yields `Record`s (one per record of the source) or `BadRecord`s. A `Record` holds what that
record says: the task, one or two episodes (trajectory, checks, satisfaction scores), the pair, gold labels,
verdicts and raw logs. Ids are given by the store, never by an importer.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

Side = Literal["A", "B"]
Preference = Literal["A", "B", "tie"]
Done = Literal["yes", "no", "unsure"]
Order = Literal["AB", "BA"]
"""Which side was shown first: in `BA` the judge saw side B under the label "Response A"."""
UnscoredReason = Literal[
    "parse_error",
    "conflict",
    "truncated",
    "refused",
    "context_overflow",
    "provider_error",
    "timeout",
    "budget",
    "no_rubric",
]
"""`no_rubric`: the rules that were to be matched or applied could not be had, so nothing was asked."""
NO_REPLY: tuple[UnscoredReason, ...] = ("context_overflow", "provider_error", "timeout", "budget", "no_rubric")
"""Why a verdict is unscored that no reply came for."""
LOST: tuple[UnscoredReason, ...] = ("provider_error", "timeout", "budget")
"""Those of them that say nothing of the question: it can be asked again."""
VerdictStatus = Literal["scored", "weak", "inconsistent", "unscored"]
CheckSource = Literal["human", "verifier", "label", "reward", "model", "order"]
GoldSource = Literal["human", "label"]
Role = Literal[
    "agent", "user_sim", "judge", "probe", "success_check", "rubric_generate", "rubric_match", "rubric_apply"
]  # fmt: skip
"""`probe` is a judge that is asked about something changed on purpose, to see whether its verdict moves."""
Form = Literal["pairwise", "satisfaction", "gate", "proxy", "rubric"]
"""What a judge is asked for: which of two was better, a score of one trajectory, or whether one passes a rubric."""
Craft = Literal["rubric_generate", "rubric_match", "rubric_match_batch"]
"""What else a model is asked for: to write a rubric, or to match its rules with those of another one, by one or all."""
AskedForm = Form | Craft
RunState = Literal["queued", "running", "done", "failed", "cancelled", "lost"]


def _storable(name: str) -> str:
    # No database keeps these as they are, and an id that changed on the way could not be found again.
    if re.search("[\0\ud800-\udfff]", name):
        raise ValueError("it must not hold NUL or broken characters")
    return name


def utc_time(written: str) -> datetime:
    """The UTC time that is written in ISO 8601, without a zone in UTC. Raises ValueError, OverflowError."""
    moment = datetime.fromisoformat(written)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _moment(text: str) -> str:
    try:
        utc_time(text)
    except (ValueError, OverflowError):
        raise ValueError("it must be a time such as 2025-01-31T12:00:00+00:00") from None
    return text


Name = Annotated[str, Field(min_length=1, max_length=400), AfterValidator(_storable)]
RuleText = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_storable)]
Moment = Annotated[str, AfterValidator(_moment)]
"""A time in ISO 8601; without a zone it is UTC."""


Measure = Annotated[float, Field(ge=-1e15, le=1e15)]
"""A score or reward: no larger than that sums, differences and squares of millions of them can be held."""


class Value(BaseModel):
    """Base of all values: frozen, no unknown fields, no NaN or infinity; its errors do not show what was given."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


class ToolCall(Value):
    """One tool call of an assistant message; `arguments` is JSON text as the model wrote it."""

    name: str
    arguments: str = "{}"
    id: str | None = None


class Message(Value):
    """One message of a trajectory, in the shape of OpenAI chat messages with text content."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


class Task(Value):
    """What the customer wants. `subset` is the data set's own split, reported apart."""

    task_id: Name
    prompt: str = ""
    success_criteria: str = ""
    hard_constraints: str = ""
    category: str | None = None
    language: str | None = None
    subset: str | None = None


class Trajectory(Value):
    """One agent's episode on a task.

    `trial` is None where the source does not number attempts; `messages` is None where the source kept
    no transcript. Token counts are as the source states them, None where it does not, and so is `occurred_at`, when it
    took place. Only of an episode that was made here: its `seed`; `trouble`, one sentence of what an error was that
    ended it; `flags`, what its simulated user did wrong; `setup`, JSON of what made it; `changes`, JSON of what became
    of its world.
    """

    task_id: Name
    agent: Name
    trial: Annotated[int, Field(ge=0)] | None = None
    messages: tuple[Message, ...] | None = None
    end_reason: str | None = None
    base_model: str | None = None
    input_tokens: Annotated[int, Field(ge=0)] | None = None
    output_tokens: Annotated[int, Field(ge=0)] | None = None
    simulated: bool = False
    seed: int | None = None
    trouble: str | None = None
    flags: tuple[str, ...] = ()
    setup: str | None = None
    changes: str | None = None
    occurred_at: AwareDatetime | None = None


class Check(Value):
    """What one source says of a trajectory's success (`passed`) or reward.

    `scope` is `outcome` for the source's whole answer, `part` for one check among several that were
    combined. `source="model"` is a candidate label and never gold; `source="order"` holds a stated rank
    (1 = best) as `reward`, used only to order agents of equal reward.
    """

    verifier: Name
    source: CheckSource
    passed: bool | None = None
    reward: Measure | None = None
    scope: Literal["outcome", "part"] = "outcome"
    evidence: str = ""


class Scale(Value):
    """Raw scale of a judge's scores. `threshold` is the lowest satisfied score (None: no such notion)."""

    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    better: Literal["higher", "lower"] = "higher"


class Judge(Value):
    """A judge, or who writes or matches rubrics: what makes two results comparable. All fields but `label` enter the
    fingerprint.
    """

    label: Name
    form: AskedForm
    model: str = ""
    params: str = "{}"
    prompt_version: str = ""
    prompt_hash: str = ""
    rubric_hash: str = ""
    protocol: str = "1"
    origin: Literal["gateway", "imported"] = "gateway"
    scale: Scale = Scale()
    simulated: bool = False


_WINNERS: dict[VerdictStatus, tuple[Preference | None, ...]] = {
    "scored": ("A", "B", "tie"),
    "weak": ("A", "B"),
    "inconsistent": (None,),
    "unscored": (None,),
}


class Verdict(Value):
    """One parsed reply, in terms of the pair's sides (un-swapped), or *unscored* with a reason.

    `reduced=True` marks a row that stands for both orders because the source kept only the outcome: its
    status may then be `weak` or `inconsistent`. `order` is None where the source does not say it. `flip`
    is the source's own statement that the verdict turned with the order.
    """

    judge: Judge
    order: Order | None = None
    repeat: Annotated[int, Field(ge=0)] = 0
    status: VerdictStatus = "scored"
    winner: Preference | None = None
    score_a: Measure | None = None
    score_b: Measure | None = None
    reasons: str = ""
    unscored_reason: UnscoredReason | None = None
    reduced: bool = False
    repaired: bool = False
    contradicts_scores: bool = False
    flip: bool | None = None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.winner not in _WINNERS[self.status]:
            allowed = ", ".join(winner or "empty" for winner in _WINNERS[self.status])
            raise ValueError(f"winner must be {allowed} in a verdict that is {self.status}")
        if (self.status == "unscored") != (self.unscored_reason is not None):
            raise ValueError("unscored_reason belongs to every unscored verdict and to no other")
        if self.status in {"weak", "inconsistent"} and not self.reduced:
            raise ValueError(f"only a verdict that stands for both orders can be {self.status}")
        if self.reduced and self.order is not None:
            raise ValueError("a verdict that stands for both orders has no order")
        return self


class Satisfaction(Value):
    """One satisfaction score of a trajectory on the judge's raw scale, or *unscored* with a reason."""

    judge: Judge
    score: Measure | None = None
    repeat: Annotated[int, Field(ge=0)] = 0
    reasons: str = ""
    unscored_reason: UnscoredReason | None = None
    repaired: bool = False
    flip: bool | None = None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if (self.score is None) != (self.unscored_reason is not None):
            raise ValueError("a satisfaction has either a score or an unscored_reason")
        return self


class GoldLabel(Value):
    """What one labeller says was truly better. Several human labels of a pair reduce by majority.

    `split` stands for several labellers without a majority, where the source kept no more than that.
    """

    labeller: Name
    pref: Preference | Literal["split"]
    source: GoldSource


class Log(Value):
    """One attempt of one model call, billed or failed. Costs in USD, latency in milliseconds, waits in seconds.

    `reply_key` names what was asked, in a row whose reply may be served again; `cached_from` is the log whose reply
    this row repeats, so that no model was asked; `retry_after_s` the wait that a failed one was told; `shown_json` how
    what was shown differs from what is stored: names masked, characters left out. An importer sets none of them.
    """

    role: Role = "judge"
    model: str = ""
    pair_id: Name | None = None
    turn: int | None = None
    prompt_hash: str | None = None
    prompt_version: str | None = None
    rendered_hash: str | None = None
    order_shown: Order | None = None
    repeat: int = 0
    attempt: int = 1
    params: str | None = None
    raw_output: str | None = None
    parsed_json: str | None = None
    unscored_reason: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    input_tokens: Annotated[int, Field(ge=0)] | None = None
    output_tokens: Annotated[int, Field(ge=0)] | None = None
    latency_ms: float | None = None
    est_cost: Annotated[float, Field(ge=0, le=1e12)] | None = None
    price_source: str | None = None
    request_id: str | None = None
    created_at: Moment | None = None
    simulated: bool = False
    reply_key: str | None = None
    cached_from: str | None = None
    retry_after_s: float | None = None
    shown_json: str | None = None


class Episode(Value):
    """A trajectory with what is known of it."""

    trajectory: Trajectory
    checks: tuple[Check, ...] = ()
    satisfaction: tuple[Satisfaction, ...] = ()
    logs: tuple[Log, ...] = ()


class PairKey(Value):
    """A pair of the record's two episodes: the first is side A.

    `pair_id` None lets the store derive one from the content. `reward_gap` is a gap that the source
    states itself and `gap_source` what it is a gap of; `ability_bucket` is declared by the pairing. `repeats`: further
    records of this pair with a verdict of the same judge and order are repeats, also where the pair has an id.
    """

    pair_id: Name | None = None
    repeats: bool = False
    trial: int | None = None
    ability_bucket: Literal["near", "wide"] | None = None
    reward_gap: Measure | None = None
    gap_source: Literal["ability", "reward", "judge_score"] | None = None


def is_one_line(text: str) -> bool:
    """Whether it is a line of text, and not a blank one."""
    return text.splitlines() == [text] and bool(text.strip())


def _one_line(text: str) -> str:
    if not is_one_line(text):
        raise ValueError("a rule is one line of text")
    return text


class Rule(Value):
    """One yes/no item of a rubric. A `hard` one vetoes, others weigh; a `high_level` one asks whether the answer can
    work at all or agrees with itself (feasibility, logical consistency).
    """

    text: Annotated[RuleText, AfterValidator(_one_line)]
    hard: bool = False
    high_level: bool = False


class Record(Value):
    """All that one record of a source says, of one task. Two episodes where `pair` is set, else one or none.

    `rubric` is what people say a good answer to the task must meet: its gold rules.
    """

    line: int
    task: Task | None = None
    episodes: tuple[Episode, ...] = ()
    pair: PairKey | None = None
    gold: tuple[GoldLabel, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    logs: tuple[Log, ...] = ()
    rubric: tuple[Rule, ...] = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        trajectories = [episode.trajectory for episode in self.episodes]
        tasks = {trajectory.task_id for trajectory in trajectories}
        if tasks and (self.task is None or tasks != {self.task.task_id}):
            raise ValueError("all episodes of a record are of its task")
        if self.pair is None and (len(trajectories) > 1 or self.gold or self.verdicts):
            raise ValueError("two episodes, gold labels and verdicts belong to a pair")
        if self.pair is not None and len(trajectories) != 2:
            raise ValueError("a pair has two episodes")
        if self.rubric and self.task is None:
            raise ValueError("gold rules belong to a task")
        if self.pair is not None and _same(*trajectories):
            raise ValueError("both sides are the same trajectory, so neither can be better")
        return self


def _same(a: Trajectory, b: Trajectory) -> bool:
    known = a.trial is not None or a.messages is not None
    return known and (a.agent, a.trial, a.messages) == (b.agent, b.trial, b.messages)


class BadRecord(NamedTuple):
    """A record that cannot be read: its line (or index, from 1) and one sentence without its text."""

    line: int
    problem: str


class RecordError(ValueError):
    """Raised by a parser for one bad record; the message becomes the `BadRecord`."""
