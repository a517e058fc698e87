"""The rows of a verdict that rules were applied for: what was said of each rule, and what that comes to."""

from __future__ import annotations

from misjudge_storage import tables
from misjudge_storage.judging_records import NewRow
from misjudge_storage.rows import Row
from misjudge_storage.ruling_rows import rule_verdict_row, ruling_row
from misjudge_storage.types import Order
from misjudge_tools.judging.rule_verdicts import RuleVerdict
from misjudge_tools.judging.rules_shown import TaskRules
from misjudge_tools.rubrics.apply import of_stored_rules, pair_ruling, sides_swapped, single_ruling


def ruling_rows(
    rubric: TaskRules, said: tuple[RuleVerdict, ...], verdict: Row, order: Order | None, *, ties: bool = True
) -> tuple[NewRow, ...]:
    """The ruling on a verdict and its rules, parents first. `said` is in terms of the labels shown in `order`, None for
    one response; the verdict's row in terms of the pair's sides. `ties`: the judge might have named one.
    """
    applied = rubric.applied
    if order is None:
        ruling = single_ruling(applied.rules, said, None if verdict["score"] is None else verdict["score"] == 1)
    else:
        said = sides_swapped(said) if order == "BA" else said
        ruling = pair_ruling(applied.rules, said, verdict["winner"], ties=ties)
    verdict_id = str(verdict["verdict_id"])
    stored = ruling_row(
        verdict["audit_id"],
        verdict["judge_id"],
        verdict_id,
        rubric.rubric_id,
        says=ruling.says,
        conflict=ruling.conflict,
        left_out=applied.left_out,
        unscored=ruling.unscored,
    )
    rules = [
        NewRow(tables.RubricVerdict, rule_verdict_row(verdict_id, **one._asdict()))
        for one in of_stored_rules(applied, said)
    ]
    return NewRow(tables.RubricRuling, stored), *rules
