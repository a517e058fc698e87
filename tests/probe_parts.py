"""What tests of probes share: pairs of episodes with tools, in both languages, that every probe can change."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_storage.types import Check, Episode, Message, PairKey, Record, Task, ToolCall, Trajectory

CRITERIA = {"en": "The order is cancelled. The customer is told.", "zh": "订单已取消。已告知客户。"}
ASKED = {"en": "Cancel order {n}.", "zh": "取消订单{n}。"}
DID = {"en": "Order {n} is cancelled. It was cancelled in full.", "zh": "订单{n}已经取消，全部完成。"}
DID_NOT = {"en": "The order {n} is not cancelled, it was shipped.", "zh": "订单{n}没有取消，已经发货了。"}


def probed_records(number: int, start: int = 0, *, pairs: int = 1, language: str | None = None) -> Iterator[Record]:
    """Tasks `t0`, `t1`, …, by turns in English and Chinese, each with so many pairs `t0.0`, `t0.1`, …

    Side A did the job in every second task, side B in the others.
    """
    for n in range(start, start + number):
        spoken = language or ("en", "zh")[n % 2]
        task = Task(
            task_id=f"t{n}",
            prompt=ASKED[spoken].format(n=n),
            success_criteria=CRITERIA[spoken],
            language=spoken,
        )
        for trial in range(pairs):
            sides = tuple(
                Episode(
                    trajectory=Trajectory(
                        task_id=task.task_id, agent=agent, trial=trial, messages=_said(n, spoken, did)
                    ),
                    checks=(Check(verifier="state", source="verifier", passed=did),),
                )
                for agent, did in (("left", n % 4 < 2), ("right", n % 4 >= 2))
            )
            yield Record(line=1, task=task, episodes=sides, pair=PairKey(pair_id=f"t{n}.{trial}", trial=trial))


def _said(n: int, language: str, did: bool) -> tuple[Message, ...]:
    return (
        Message(role="user", content=ASKED[language].format(n=n)),
        Message(role="assistant", tool_calls=(ToolCall(name="cancel", arguments=f'{{"order": {n}}}'),)),
        Message(role="tool", content=f'{{"cancelled": {str(did).lower()}}}', name="cancel"),
        Message(role="assistant", content=(DID if did else DID_NOT)[language].format(n=n)),
    )
