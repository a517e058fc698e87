"""pair_results.jsonl of a double-blind re-evaluation: one row per judged order, as in our `pairwise` view.

The left agent is side A. `judge_choice` is the letter shown, traced back through blind_order (`A=left`,
`A=right`), or left, right or tie. task_success and user_sat are those of the side that was chosen, so a row
that chose none tells nothing of them. selected_reward and lower_reward_selected follow and are not read;
total_tokens cannot be told apart into input and output and is not kept. `simulated` is read as `made_up` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from misjudge_storage.types import (
    BadRecord,
    Check,
    Episode,
    Log,
    Order,
    PairKey,
    Preference,
    Record,
    RecordError,
    Scale,
    Side,
    Task,
    Trajectory,
    Verdict,
)
from misjudge_tools.interchange.evidence import (
    REWARD_SOURCES,
    SUCCESS_SOURCES,
    pairwise_judge,
    reward_check,
    success_check,
    user_satisfaction,
)
from misjudge_tools.interchange.fields import Fields, choice, expect, flag, number, required, text, whole
from misjudge_tools.interchange.files import Row, parse_rows, read_rows
from misjudge_tools.interchange.made_up import Part, episode_part, made_up_parts
from misjudge_tools.interchange.pair_verdict import ORDERS, UNSCORED_REASONS, judge_label
from misjudge_tools.interchange.scales import bounds, read_scale

PICKED_ONLY = (
    "task_success and user_sat are those of the picked sides: the success of agents, and satisfaction against success, "
    "will be of picked sides and not of all. A file of the format pairs (export audit_pairs) tells both sides."
)
_CHOICES: dict[str, Preference] = {"A": "A", "B": "B", "tie": "tie", "left": "A", "right": "B"}
_OTHER: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}


def read_replay(path: Path, *, scale: str = "0-1") -> Iterator[Record | BadRecord]:
    """One record with one verdict per row. `scale` is that of user_sat. Raises InvalidInput for another format."""

    def rows() -> Iterator[Row | BadRecord]:
        return expect(read_rows(path), path, "replay", "pair_id", "judge_choice")

    made_up = made_up_parts(rows, _parts)
    return parse_rows(rows(), partial(_record, scale=read_scale(scale), made_up=made_up))


def _parts(fields: Fields) -> Iterator[Part]:
    """The judge of a row, and both its episodes."""
    yield Part("judge", judge_label(fields))
    yield from _sides(fields)


def _sides(fields: Fields) -> tuple[Part, Part]:
    pair_id, trial = required(fields, "pair_id"), whole(fields, "trial")
    task_id = text(fields, "task_id") or pair_id
    left, right = text(fields, "agent_left") or "agent_left", text(fields, "agent_right") or "agent_right"
    return episode_part(task_id, left, trial, pair_id, "A"), episode_part(task_id, right, trial, pair_id, "B")


def _record(row: Row, scale: Scale, made_up: frozenset[Part]) -> Record:
    fields = row.fields
    left, right = _sides(fields)
    if left.name == right.name:
        raise RecordError("both sides are the same trajectory: agent_left and agent_right name one agent")
    flag(fields, "simulated")  # read for all rows together, and to be refused here where it is neither yes nor no
    judge_made_up = Part("judge", judge_label(fields)) in made_up
    verdict = _verdict(fields, simulated=judge_made_up)
    task_id, trial = left.task_id, left.trial

    def episode(side: Side, part: Part) -> Episode:
        chosen = verdict.winner == side
        return Episode(
            trajectory=Trajectory(task_id=task_id, agent=part.name, trial=trial, simulated=part in made_up),
            checks=_checks(fields, side, chosen),
            satisfaction=user_satisfaction(number(fields, "user_sat", *bounds(scale)) if chosen else None, scale),
        )

    return Record(
        line=row.line,
        task=Task(task_id=task_id, category=text(fields, "category")),
        episodes=(episode("A", left), episode("B", right)),
        pair=PairKey(pair_id=required(fields, "pair_id"), trial=trial),
        verdicts=(verdict,),
        logs=_logs(fields, verdict.order, simulated=judge_made_up),
    )


def _verdict(fields: Fields, *, simulated: bool) -> Verdict:
    order = choice(fields, "blind_order", ORDERS)
    winner = _winner(fields, order)
    reason = choice(fields, "unscored_reason", UNSCORED_REASONS) or "parse_error"
    return Verdict(
        judge=pairwise_judge(judge_label(fields), simulated=simulated),
        order=order,
        repeat=whole(fields, "repeat") or 0,
        status="unscored" if winner is None else "scored",
        winner=winner,
        unscored_reason=reason if winner is None else None,
    )


def _winner(fields: Fields, order: Order | None) -> Preference | None:
    chosen = choice(fields, "judge_choice", _CHOICES)
    is_letter = (text(fields, "judge_choice") or "").lower() in {"a", "b"}
    if chosen is None or not is_letter:
        return chosen
    if order is None:
        raise RecordError("blind_order is missing, so the letter in judge_choice cannot be traced to a side")
    return chosen if order == "AB" else _OTHER[chosen]


def _checks(fields: Fields, side: Side, chosen: bool) -> tuple[Check, ...]:
    reward = number(fields, "reward_left" if side == "A" else "reward_right")
    reward_source = choice(fields, "reward_source", REWARD_SOURCES, shown="verifier, external") or "reward"
    passed = flag(fields, "task_success") if chosen else None
    success_source = choice(fields, "success_source", SUCCESS_SOURCES) or "label"
    return (*success_check(passed, success_source), *reward_check(reward, reward_source))


def _logs(fields: Fields, order: Order | None, *, simulated: bool) -> tuple[Log, ...]:
    cost = number(fields, "est_cost", low=0)
    if cost is None:
        return ()
    repeat = whole(fields, "repeat") or 0
    log = Log(order_shown=order, repeat=repeat, est_cost=cost, price_source="imported", simulated=simulated)
    return (log,)
