"""What tests of rubric cells share: tasks with gold rules, a model that writes and matches as it reads, and runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from misjudge_storage.rows import audit_id, judge_fingerprint
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Record, Rule
from misjudge_tools.deps import Deps
from misjudge_tools.judging.choice import JudgingSpec, choose_judge, judge_of
from misjudge_tools.requests import JudgeRequest
from misjudge_tools.results import RunReport
from misjudge_tools.rubrics.plan import draft_cells, match_cells
from misjudge_tools.runs.planning import Plan, planned_report, store_plan
from misjudge_tools.runs.report import carry_out
from misjudge_tools.runs.spec import RubricWork, RunSpec
from operations import Messages, pair_record, verdict_text

GOLD = ("It can run at all.", "The customer is told.", "No other order is touched.")
WRITTEN = (
    "It does what can run at all.",
    "The Customer is told",
    "It calls a tool.",
    "It leaves no other order touched.",
)
"""What `writes_and_matches` writes: the second rule says a gold one but for case and marks, the third hits none."""
MATCHED = {1: 1, 2: 2, 3: None, 4: 3}
Protocol = Literal["rubric_match", "rubric_match_batch"]
_BLOCK = re.compile(r"=== BEGIN (?P<label>[A-Z ]+) (?P<token>\w{16}) ===\n(?P<inner>.*?)\n=== END", re.DOTALL)


def rubric_records(number: int) -> Iterator[Record]:
    """Pairs `p0`, `p1`, … of tasks of their own, each with the gold rules."""
    for n in range(number):
        said = (f"I cancelled order {n}.", f"I could not cancel order {n}.")
        record = pair_record(f"p{n}", f"Cancel order {n}.", said, "A")
        yield record.model_copy(update={"rubric": tuple(Rule(text=text) for text in GOLD)})


def blocks(messages: Messages) -> dict[str, str]:
    """What stands in the fences of a request, by label."""
    return {found["label"]: found["inner"] for found in _BLOCK.finditer(messages[-1].content)}


def rules_text(*rules: str) -> str:
    """The reply of a writer."""
    return json.dumps({"rules": [{"rule": rule, "hard": False} for rule in rules]})


def match_text(match: int | None) -> str:
    """The reply of a matcher that is asked about one rule."""
    return json.dumps({"reason": "As it reads.", "match": match})


def writes_and_matches(messages: Messages) -> str:
    """Writes WRITTEN of any task, and matches as MATCHED; judges all else to be A."""
    shown = blocks(messages)
    if "RESPONSE A" in shown:
        return verdict_text("A")
    if "GOLD" not in shown:
        return rules_text(*WRITTEN)
    if "RULE" in shown:
        return match_text(match_of(shown["RULE"]))
    numbered = [line.partition(". ") for line in shown["RULES"].splitlines()]
    said = [{"rule": int(number), "reason": "As it reads.", "match": match_of(rule)} for number, _, rule in numbered]
    return json.dumps({"matches": said})


def match_of(rule: str) -> int | None:
    return MATCHED[WRITTEN.index(rule) + 1]


def spec_of(deps: Deps, form: Any, name: str | None = None, **values: Any) -> JudgingSpec:
    """Who writes or matches: the configured judge, or the one that is named."""
    return choose_judge(name, form, "en", deps.models).model_copy(update=values)


def work_of(deps: Deps, protocol: Protocol = "rubric_match", name: str | None = None, **values: Any) -> RubricWork:
    """One writer and one matcher."""
    return RubricWork(
        writers=(spec_of(deps, "rubric_generate", name, **values),), matchers=(spec_of(deps, protocol, name, **values),)
    )


def ids_of(specs: Sequence[JudgingSpec]) -> list[str]:
    return [judge_fingerprint(judge_of(spec)) for spec in specs]


def cells_of(work: RubricWork, tasks: Sequence[str], audit: str = "a") -> list[PlannedCell]:
    """The cells of this work, task by task."""
    writers, matchers = ids_of(work.writers), ids_of(work.matchers)
    return [
        cell
        for task in tasks
        for cell in (
            *draft_cells(audit_id(audit), writers, [task]),
            *match_cells(audit_id(audit), matchers, writers, [task]),
        )
    ]


def tasks_of(number: int) -> list[str]:
    return [f"task of p{n}" for n in range(number)]


def plan_of(
    work: RubricWork, number: int, judges: Sequence[JudgingSpec] = (), more: Sequence[PlannedCell] = ()
) -> Plan:
    """The plan of this work on so many tasks, with `more` cells of judges behind it."""
    spec = RunSpec(rubrics=work, judges=tuple(judges))
    return Plan(spec, [*cells_of(work, tasks_of(number)), *more])


def asking(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", "max_calls": 10_000, **values})


async def done(deps: Deps, plan: Plan, **values: Any) -> RunReport:
    """The plan as a run, worked on until it ends (or for `wait_s`)."""
    request = asking(**values)
    run = store_plan(deps, "score_rubrics", request, plan)
    return await carry_out(deps, run.run_id, request.wait_s)


def dry(deps: Deps, plan: Plan, **values: Any) -> RunReport:
    """What the plan would take."""
    return planned_report(deps, "score_rubrics", asking(**values), plan)


def spent_by(report: RunReport) -> Mapping[str, int]:
    """Calls by role."""
    return {use.role: use.calls for use in report.spent}
