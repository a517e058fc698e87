"""An audit of many pairs, made up in the store itself: what the benchmark of summaries reads. SYNTHETIC.

    python benchmarks/audit_rows.py STORE.db [--pairs N]

Eight agents do each task, every two of them are a pair, and one judge is asked about each pair in both orders: a task
has 28 pairs and 56 verdicts. Pairs are named as runs name theirs. The same number of pairs always gives the same rows.
Nothing of it says anything of a real judge.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from misjudge_storage.engine import open_store

AGENTS = 8
PAIRS_A_TASK = AGENTS * (AGENTS - 1) // 2
AUDIT = "rows"
JUDGE = "drawn"
AUDIT_ID = "audit_rows"
JUDGE_ID = "judge_rows"
CHUNK = 500
"""Tasks that are made at a time."""
SEED = 7
REASONS = (
    '["It did what was asked."]',
    '["It is more detailed and clear about what was done."]',
    '["The longer answer covers more.", "Its tone is friendly."]',
)


class Rows(NamedTuple):
    """Rows by table, each as a mapping of its columns."""

    tasks: list[dict[str, Any]]
    trajectories: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]


class Episode(NamedTuple):
    """An episode that was added."""

    trajectory_id: str
    reward: float


def fill(store: Path, pairs: int) -> int:
    """Make a new store that holds one audit of at least this many pairs; the number that there are."""
    open_store(store).close()
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA synchronous = OFF")
    tasks = -(-pairs // PAIRS_A_TASK)
    with connection:
        insert(connection, "audits", [{"audit_id": AUDIT_ID, "name": AUDIT, "seed": SEED, "secret": "none"}])
        insert(connection, "judges", [_judge()])
        for first in range(0, tasks, CHUNK):
            for table, rows in made(range(first, min(tasks, first + CHUNK)))._asdict().items():
                insert(connection, table, rows)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return tasks * PAIRS_A_TASK


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[dict[str, Any]]) -> None:
    """Add rows of equal columns; they were all made at the same time."""
    columns = [*rows[0], "created_at"]
    places = ", ".join("?" * len(rows[0]))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places}, '2026-01-01 00:00:00.000000')"
    connection.executemany(statement, (tuple(row.values()) for row in rows))


def made(numbers: Iterable[int]) -> Rows:
    """The rows of these tasks."""
    found = Rows([], [], [], [], [])
    for number in numbers:
        draw = Random(SEED * 1_000_003 + number)
        task_id = f"task {number}"
        found.tasks.append(_task(number, task_id))
        sides = list(enumerate(_episodes(number, task_id, draw, found)))
        for (first, a), (second, b) in combinations(sides, 2):
            pair_id = f"{task_id}#0:agent{first}|agent{second}"
            bucket = "near" if draw.random() < 0.4 else "wide"
            found.pairs.append(_pair(pair_id, task_id, a.trajectory_id, b.trajectory_id, bucket))
            found.verdicts.extend(_verdicts(pair_id, a.reward - b.reward, draw))
    return found


def _id(kind: str, *parts: object) -> str:
    return f"{kind}_{sha256(repr(parts).encode()).hexdigest()[:24]}"


def _judge() -> dict[str, Any]:
    return {
        "audit_id": AUDIT_ID, "judge_id": JUDGE_ID, "label": JUDGE, "form": "pairwise", "model": "drawn",
        "params": "{}", "prompt_version": "v1", "prompt_hash": "0", "rubric_hash": "", "protocol": "1",
        "origin": "asked", "scale_low": 0, "scale_high": 10, "better": "higher", "simulated": True,
    }  # fmt: skip


def _task(number: int, task_id: str) -> dict[str, Any]:
    return {
        "audit_id": AUDIT_ID, "task_id": task_id, "prompt": "SYNTHETIC", "success_criteria": "", "hard_constraints": "",
        "category": f"category {number % 6}", "language": ("en", "zh")[number % 2], "content_hash": "",
    }  # fmt: skip


def _episodes(number: int, task_id: str, draw: Random, found: Rows) -> Iterator[Episode]:
    """Add an episode of each agent."""
    for agent in range(AGENTS):
        trajectory_id = _id("traj", number, agent)
        did = draw.random() < 0.3 + 0.06 * agent
        reward = round(0.6 * did + 0.4 * draw.random(), 2)
        found.trajectories.append({
            "trajectory_id": trajectory_id, "audit_id": AUDIT_ID, "task_id": task_id, "agent": f"agent{agent}",
            "trial": 0, "turns": draw.randrange(2, 12), "end_reason": "done", "base_model": f"model{agent // 2}",
            "input_tokens": 900, "output_tokens": 300, "simulated": True,
        })  # fmt: skip
        found.checks.append({
            "check_id": _id("check", number, agent), "audit_id": AUDIT_ID, "trajectory_id": trajectory_id,
            "verifier": "state", "source": "verifier", "scope": "outcome", "passed": did, "reward": reward,
            "evidence": "{}", "content_hash": "",
        })  # fmt: skip
        yield Episode(trajectory_id, reward)


def _pair(pair_id: str, task_id: str, a: str, b: str, bucket: str) -> dict[str, Any]:
    return {
        "audit_id": AUDIT_ID, "pair_id": pair_id, "task_id": task_id, "trial": 0, "trajectory_a": a, "trajectory_b": b,
        "ability_bucket": bucket, "content_hash": "",
    }  # fmt: skip


def _verdicts(pair_id: str, lead: float, draw: Random) -> Iterator[dict[str, Any]]:
    for order in ("AB", "BA"):
        luck = draw.random()
        better = "A" if lead > 0 else "B"
        worse = "B" if lead > 0 else "A"
        first = order[0]
        winner = (
            None if luck < 0.02 else "tie" if luck < 0.1 else worse if luck < 0.25 else first if luck < 0.4 else better
        )
        margin = round(draw.random() * 4, 1)
        yield {
            "verdict_id": _id("cell", pair_id, order), "audit_id": AUDIT_ID, "judge_id": JUDGE_ID, "pair_id": pair_id,
            "order_shown": order, "repeat": 0,
            "status": "unscored" if winner is None else "tie" if winner == "tie" else "decided", "winner": winner,
            "score_a": None if winner is None else 5 + margin * (winner == "A"),
            "score_b": None if winner is None else 5 + margin * (winner == "B"),
            "reasons": REASONS[draw.randrange(3)], "unscored_reason": "parse_error" if winner is None else None,
            "reduced": False, "repaired": False, "contradicts_scores": False, "content_hash": "",
        }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    asked = parser.parse_args()
    print(fill(asked.store, asked.pairs))
