"""What `score_rubrics` answers. Key facts first; rates are shares 0 to 1."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from misjudge_storage.types import Value
from misjudge_tools.results import RunReport, VerdictShown
from misjudge_tools.summary.rubric_values import RubricsSection


class RuleShown(Value):
    """One rule of a rubric. A `hard` one vetoes; a `high_level` one asks for feasibility or logical consistency."""

    text: str
    hard: bool = False
    high_level: bool = False


class DraftShown(Value):
    """A rubric that a model wrote for a task.

    Of the `written` rules, `duplicates` repeated another one, `left_out` were too many or none, `split` became several
    rules, `compound` may hold several constraints and stand as they were written.
    """

    task_id: str
    writer: str
    unscored_reason: str | None = None
    rules: tuple[RuleShown, ...] = ()
    written: int = 0
    duplicates: int = 0
    left_out: int = 0
    split: int = 0
    compound: int = 0
    repaired: bool = False
    log: str | None = None


class RuleVerdictShown(Value):
    """What a judge said of one rule: met by side A and by side B, or (`met`) by one response. None: not said."""

    rule: int
    text: str
    met_a: bool | None = None
    met_b: bool | None = None
    met: bool | None = None
    reason: str = ""


class RulingShown(Value):
    """A verdict with the rules that were applied for it; none where the judge was given none.

    `passed` is that of one response. `says` is what the verdicts on the rules come to (A, B or tie; pass or fail), None
    where one is missing; `conflict` how the verdict disagrees with that: `soft_over_hard` or `reweighted`. `left_out`
    rules cite a response by its label and were not shown; `unscored` ones got no readable verdict.
    """

    verdict: VerdictShown
    passed: bool | None = None
    says: str | None = None
    conflict: Literal["soft_over_hard", "reweighted"] | None = None
    rules: tuple[RuleVerdictShown, ...] = ()
    left_out: int = 0
    unscored: int = 0


class RubricsResult(Value):
    """A piece of rubric work: its run, and what it came to.

    `samples` are the tasks, or of a judging its pairs or trajectories; `not_taken` counts by reason what could not be
    taken. `asked_at` says, by role, which model is asked where. `rubrics` are the numbers (see `summary.rubric_values`)
    of those who were asked, over all that is stored of them, `drafts` and `rulings` the first results themselves.
    """

    simulated: bool
    marked: str | None
    action: str
    judges: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()
    matchers: tuple[str, ...] = ()
    asked_at: dict[str, str] = Field(default_factory=dict)
    run: RunReport
    already_stored: int
    samples: int
    samples_are: str
    not_taken: dict[str, int] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    rubrics: RubricsSection | None = None
    drafts: tuple[DraftShown, ...] = ()
    drafts_left_out: int = 0
    rulings: tuple[RulingShown, ...] = ()
    rulings_left_out: int = 0
    next: str | None = None
