"""pair_results.jsonl of a double-blind re-evaluation: one row per judged order, as in our `pairwise` view.

The left agent is side A. `judge_choice` is the letter shown, traced back through blind_order (`A=left`,
`A=right`), or left, right or tie. task_success and user_sat are those of the side that was chosen, so a row
that chose none tells nothing of them. selected_reward and lower_reward_selected follow and are not read;
total_tokens cannot be told apart into input and output and is not kept.
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
from misjudge_tools.interchange.pair_verdict import ORDERS, UNSCORED_REASONS
from misjudge_tools.interchange.scales import bounds, read_scale

_CHOICES: dict[str, Preference] = {"A": "A", "B": "B", "tie": "tie", "left": "A", "right": "B"}
_OTHER: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}


def read_replay(path: Path, *, scale: str = "0-1") -> Iterator[Record | BadRecord]:
    """One record with one verdict per row. `scale` is that of user_sat. Raises InvalidInput for another format."""
    rows = expect(read_rows(path), path, "replay", "pair_id", "judge_choice")
    return parse_rows(rows, partial(_record, scale=read_scale(scale)))


def _record(row: Row, scale: Scale) -> Record:
    fields = row.fields
    pair_id = required(fields, "pair_id")
    task_id = text(fields, "task_id") or pair_id
    left, right = text(fields, "agent_left") or "agent_left", text(fields, "agent_right") or "agent_right"
    if left == right:
        raise RecordError("both sides are the same trajectory: agent_left and agent_right name one agent")
    verdict = _verdict(fields)
    trial = whole(fields, "trial")

    def episode(side: Side, agent: str) -> Episode:
        chosen = verdict.winner == side
        return Episode(
            trajectory=Trajectory(task_id=task_id, agent=agent, trial=trial),
            checks=_checks(fields, side, chosen),
            satisfaction=user_satisfaction(number(fields, "user_sat", *bounds(scale)) if chosen else None, scale),
        )

    return Record(
        line=row.line,
        task=Task(task_id=task_id, category=text(fields, "category")),
        episodes=(episode("A", left), episode("B", right)),
        pair=PairKey(pair_id=pair_id, trial=trial),
        verdicts=(verdict,),
        logs=_logs(fields, verdict.order),
    )


def _verdict(fields: Fields) -> Verdict:
    order = choice(fields, "blind_order", ORDERS)
    winner = _winner(fields, order)
    reason = choice(fields, "unscored_reason", UNSCORED_REASONS) or "parse_error"
    return Verdict(
        judge=pairwise_judge(text(fields, "judge") or text(fields, "judge_model") or "judge"),
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


def _logs(fields: Fields, order: Order | None) -> tuple[Log, ...]:
    cost = number(fields, "est_cost", low=0)
    if cost is None:
        return ()
    repeat = whole(fields, "repeat") or 0
    return (Log(role="judge", order_shown=order, repeat=repeat, est_cost=cost, price_source="imported"),)
