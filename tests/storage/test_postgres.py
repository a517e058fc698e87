"""The same store on Postgres: the same rows in every view, the same conflicts, and a writer that keeps its word."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from builders import JUDGE, episode, label, lone, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import Conflict
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.rows import audit_id
from misjudge_storage.types import Check, Episode, Judge, Log, Order, Preference, Record, Verdict

WINNERS: tuple[Preference | None, ...] = ("A", "B", "tie", None)
ORDERS: tuple[Order | None, ...] = ("AB", "BA", None)
pytestmark = pytest.mark.postgres

OTHER = Judge(label="other", form="pairwise", origin="imported", simulated=True)
VIEWS = {
    "audit_pairs": ("pair_id", "judge_fingerprint"),
    "pairwise": ("pair_id", "judge", "blind_order", "repeat"),
    "pair_gold": ("pair_id",),
    "reduced_verdicts": ("pair_id", "judge_id"),
    "trajectory_outcomes": ("trajectory_id",),
    "trajectory_costs": ("trajectory_id",),
    "label_votes": ("pair_id", "source", "labeller"),
}


@pytest.fixture
def postgres(postgres_store: Callable[[], str]) -> Iterator[Store]:
    """A fresh store on Postgres."""
    opened = open_store(postgres_store())
    yield opened
    opened.close()


def random_checks(draw: random.Random) -> list[Check]:
    return [
        Check(
            verifier=f"v{n}",
            source=draw.choice(("human", "verifier", "label", "reward", "model", "order")),
            passed=draw.choice((None, True, False)),
            reward=draw.choice((None, 0.0, 0.3, 1.0)),
            scope=draw.choice(("outcome", "outcome", "part")),
        )
        for n in range(draw.randrange(4))
    ]


def random_verdicts(draw: random.Random, judge: Judge) -> Iterator[Verdict]:
    for order in ORDERS:
        for repeat in range(draw.randrange(3)):
            yield verdict(
                draw.choice(WINNERS),
                order,
                repeat,
                judge,
                score_a=draw.choice((None, 1, 4)),
                score_b=draw.choice((None, 2, 5)),
                flip=draw.choice((None, True, False)),
            )
    if draw.random() < 0.2:
        yield Verdict(judge=judge, status=draw.choice(("weak", "scored")), winner="B", reduced=True)
    elif draw.random() < 0.1:
        yield Verdict(judge=judge, status="inconsistent", reduced=True)


def random_records(seed: int) -> list[Record]:
    """Pairs of few tasks, agents and trials, so that trajectories are shared, with facts of every kind."""
    draw = random.Random(seed)
    agents = {
        (agent, task): episode(
            agent,
            *random_checks(draw),
            task=task,
            said=draw.choice((None, messages("hi", f"{agent} \u2028 {task}"))),
            simulated=draw.choice((True, False, False)),
            satisfaction=[satisfied(draw.choice((None, 0.5, 0.9)))],
            logs=[Log(role="agent", est_cost=0.125 * draw.randrange(5)), Log(role="user_sim", est_cost=0.5)],
        )
        for agent in "wxyz"
        for task in ("t1", "t2", "t3")
    }
    return [random_pair(draw, n, agents) for n in range(1, 41)]


def random_pair(draw: random.Random, number: int, episodes: Mapping[tuple[str, str], Episode]) -> Record:
    task, (a, b) = f"t{draw.randrange(1, 4)}", draw.sample("wxyz", 2)
    return pair(
        f"p{number}",
        episodes[a, task],
        episodes[b, task],
        *random_verdicts(draw, JUDGE),
        *random_verdicts(draw, OTHER),
        line=number,
        gold=[label(draw.choice(("A", "B", "tie")), who) for who in "abc"[: draw.randrange(4)]],
        logs=[Log(est_cost=0.25, input_tokens=draw.choice((None, 7)), output_tokens=2)],
    )


def put(store: Store, *records: Record) -> dict[str, int]:
    with store.write() as connection:
        return ingest(connection, ensure_audit(connection, "demo"), "file", records).added


def rows(store: Store, view: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    with store.read() as connection:
        query = text(f"SELECT * FROM {view} WHERE audit_id = :audit")
        found = [dict(row) for row in connection.execute(query, {"audit": audit_id("demo")}).mappings()]
    by_key = {tuple(row[key] for key in VIEWS[view]): row for row in found}
    assert len(by_key) == len(found)
    return by_key


@pytest.mark.parametrize("seed", [1, 2])
def test_every_view_gives_the_rows_that_it_gives_on_sqlite(store: Store, postgres: Store, seed: int) -> None:
    records = random_records(seed)
    assert put(postgres, *records) == put(store, *records)
    for view in VIEWS:
        here, there = rows(store, view), rows(postgres, view)
        assert here.keys() == there.keys()
        assert here
        for key, row in here.items():
            assert list(there[key]) == list(row)
            for name, value in row.items():
                other = there[key][name]
                if name == "created_at":
                    assert isinstance(other, datetime)
                elif isinstance(value, float):
                    assert math.isclose(other, value, rel_tol=1e-9), (view, key, name)
                else:
                    assert (other, type(other)) == (value, type(value)), (view, key, name)


def test_the_same_records_again_add_nothing_on_postgres(postgres: Store) -> None:
    records = random_records(3)
    assert put(postgres, *records)["pairs"] == 40
    assert set(put(postgres, *records).values()) == {0}


@pytest.mark.parametrize(
    "record",
    [
        pair("p1", episode("x", passed(False)), line=7),
        pair("p1", None, None, verdict("B", "AB"), line=7),
        lone(episode("x", said=messages("hi")), line=7),
    ],
)
def test_a_conflict_on_postgres_names_its_line_and_changes_nothing(postgres: Store, record: Record) -> None:
    put(postgres, pair("p1", episode("x", passed(True)), None, verdict("A", "AB")))
    with pytest.raises(Conflict, match="file, line 7: "):
        put(postgres, pair("p2", episode("v"), episode("w"), line=6), record)
    assert [key for key in rows(postgres, "pair_gold")] == [("p1",)]


def test_text_that_postgres_refuses_is_replaced(postgres: Store) -> None:
    record = pair("p1", None, None, verdict("A", reasons="a\0b\ud800c"), prompt="a\0b\ud800c")
    put(postgres, record)
    assert set(put(postgres, record).values()) == {0}
    with postgres.read() as connection:
        assert connection.scalar(text("SELECT reasons FROM verdicts")) == "a\ufffdb\ufffdc"


def test_a_small_reward_is_not_rounded(postgres: Store) -> None:
    put(postgres, pair("p1", episode("x", rewarded(1e-17 + 0.1)), episode("y", rewarded(0.30000000000000004))))
    assert rows(postgres, "pair_gold")[("p1",)]["reward_b"] == 0.30000000000000004


def test_many_threads_write_to_postgres_at_once(postgres: Store) -> None:
    failures: list[BaseException] = []

    def use(worker: int) -> None:
        try:
            for n in range(10):
                postgres.writer.submit(partial(ensure_audit, name=f"audit {worker}.{n}")).result(30)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert failures == []
    with postgres.read() as connection:
        assert connection.scalar(text("SELECT COUNT(*) FROM audits")) == 80


def test_stores_that_open_a_fresh_database_at_once_all_succeed(new_postgres: Callable[[], str]) -> None:
    url, opened, failures = new_postgres(), list[Store](), list[BaseException]()
    start = threading.Barrier(4)

    def open_it() -> None:
        start.wait(30)
        try:
            opened.append(open_store(url))
        except BaseException as error:
            failures.append(error)

    openers = [threading.Thread(target=open_it) for _ in range(4)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join(60)
    assert failures == []
    assert len(opened) == 4
    for store in opened:
        store.close()
