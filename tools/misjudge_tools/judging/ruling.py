"""What rules come to once each has a verdict, whether the judge's own verdict follows from them, and the rows of it.
Pure.

Hard rules veto, soft ones weigh: a side that fails a hard rule which the other meets loses, and only where the hard
ones tell nothing apart do the soft ones count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from misjudge_storage import tables
from misjudge_storage.judging_records import NewRow
from misjudge_storage.rows import Row
from misjudge_storage.rubric_rows import rule_verdict_row, ruling_row
from misjudge_storage.types import Order, Preference, Rule
from misjudge_tools.gateway.simulated_bias import Brief
from misjudge_tools.judging.rule_verdicts import RuleVerdict
from misjudge_tools.rubrics.rules import cites_response

RULE_TOKENS = 60
"""What a judge may write of one rule beside its verdict on the whole."""
Conflict = Literal["soft_over_hard", "reweighted"]


class Applied(NamedTuple):
    """The rules of a set that a judge is shown, numbered from 1 in this order; `numbers` are theirs in the set.

    `left_out` rules cite a response by its label, which changes places with the order.
    """

    rules: tuple[Rule, ...] = ()
    numbers: tuple[int, ...] = ()
    left_out: int = 0


class TaskRules(NamedTuple):
    """The rules that are applied to the responses to one task; none are `applied` where there are none to be had.

    `rubric_id` is the stored set that they are of. `brief` is what a simulated gateway is told of the task.
    """

    rubric_id: str | None = None
    applied: Applied = Applied()
    brief: Brief | None = None


class Ruling(NamedTuple):
    """What the rules come to: A, B or tie of a pair, pass or fail of one response; None where the verdict of a rule is
    missing, as it is of `unscored` ones, and where there are no rules.

    `conflict` with the judge's own verdict, where both are known and differ: `soft_over_hard` goes for what fails a
    hard rule (of a pair one that the other side meets), `reweighted` weighs the rules otherwise than by their number.
    """

    says: str | None
    conflict: Conflict | None
    unscored: int


class _Tally(NamedTuple):
    """Rules of one kind that only side A meets, and that only side B does."""

    a: int
    b: int


def shown_rules(rules: Sequence[Rule]) -> Applied:
    """The rules of a stored set that a judge may see."""
    shown = [(number, rule) for number, rule in enumerate(rules, 1) if not cites_response(rule.text)]
    numbers = tuple(number for number, _ in shown)
    return Applied(tuple(rule for _, rule in shown), numbers, len(rules) - len(shown))


def of_stored_rules(applied: Applied, verdicts: Sequence[RuleVerdict]) -> tuple[RuleVerdict, ...]:
    """A verdict for each rule that was shown, under its number in the stored set; with None where none was given."""
    said = {verdict.rule: verdict for verdict in verdicts}
    return tuple(
        said.get(place, RuleVerdict(place))._replace(rule=number) for place, number in enumerate(applied.numbers, 1)
    )


def sides_swapped(verdicts: Sequence[RuleVerdict]) -> tuple[RuleVerdict, ...]:
    """The verdicts of a reply that saw side B under the label A, in terms of the pair's sides."""
    return tuple(verdict._replace(met_a=verdict.met_b, met_b=verdict.met_a) for verdict in verdicts)


def pair_ruling(
    rules: Sequence[Rule], verdicts: Sequence[RuleVerdict], winner: Preference | None, *, ties: bool = True
) -> Ruling:
    """What these rules come to on a pair; a verdict names a rule by its place from 1, and `winner` is the judge's own.

    Both are in terms of the same labels. Whoever may not name a tie (`ties`) contradicts no rules that come to one.
    """
    said = {verdict.rule: verdict for verdict in verdicts}
    given = [said.get(place, RuleVerdict(place)) for place in range(1, len(rules) + 1)]
    unscored = sum(None in (verdict.met_a, verdict.met_b) for verdict in given)
    if unscored or not rules:
        return Ruling(None, None, unscored)
    hard, soft = (_tally(rules, given, hard=hard) for hard in (True, False))
    says = _more(*hard) if hard.a != hard.b else _more(*soft)
    if winner is None or winner == says or (says == "tie" and not ties):
        return Ruling(says, None, 0)
    vetoed = (winner == "A" and hard.b > 0) or (winner == "B" and hard.a > 0)
    return Ruling(says, "soft_over_hard" if vetoed else "reweighted", 0)


def single_ruling(rules: Sequence[Rule], verdicts: Sequence[RuleVerdict], passed: bool | None) -> Ruling:
    """What these rules come to on one response, as `pair_ruling`: it fails with any hard rule, else passes with more
    than half of the soft ones, or where all are hard.
    """
    said = {verdict.rule: verdict.met for verdict in verdicts}
    met = [said.get(place) for place in range(1, len(rules) + 1)]
    unscored = met.count(None)
    if unscored or not rules:
        return Ruling(None, None, unscored)
    soft = [bool(one) for rule, one in zip(rules, met, strict=True) if not rule.hard]
    vetoed = any(rule.hard and not one for rule, one in zip(rules, met, strict=True))
    passes = not vetoed and (not soft or 2 * sum(soft) > len(soft))
    says = "pass" if passes else "fail"
    if passed is None or passed == passes:
        return Ruling(says, None, 0)
    return Ruling(says, "soft_over_hard" if passed and vetoed else "reweighted", 0)


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


def _tally(rules: Sequence[Rule], verdicts: Sequence[RuleVerdict], *, hard: bool) -> _Tally:
    """A rule that both sides meet, or both fail, tells nothing apart."""
    mine = [verdict for rule, verdict in zip(rules, verdicts, strict=True) if rule.hard is hard]
    return _Tally(
        sum(bool(verdict.met_a) and not verdict.met_b for verdict in mine),
        sum(bool(verdict.met_b) and not verdict.met_a for verdict in mine),
    )


def _more(a: int, b: int) -> Preference:
    if a == b:
        return "tie"
    return "A" if a > b else "B"
