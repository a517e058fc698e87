"""What the tests of the operations share: a store with a worker, pairs to judge, and a judge that reads its prompt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import web
from pydantic import SecretStr
from sqlalchemy import text

from loopback import completion
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Check, Episode, GoldLabel, Message, PairKey, Preference, Record, Task, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import EpisodeSettings
from misjudge_tools.gateway.calls import ChatTurn
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.gateway.simulated_judge import simulated_reply
from misjudge_tools.profiles import ModelSettings, Profile
from misjudge_tools.runs.sessions import session_opener
from misjudge_tools.runs.worker import OpenSession, Worker

KEY = "sk-test-0123456789"
NOWHERE = ModelSettings(roles={"judge": Profile(endpoint=Endpoint(base_url="http://127.0.0.1:9"))})
"""No key, and an address that nobody answers at."""

Messages = tuple[ChatTurn, ...]


@asynccontextmanager
async def opened(
    where: Path,
    models: ModelSettings = NOWHERE,
    *,
    concurrency: int = 8,
    roots: tuple[Path, ...] | None = None,
    episodes: EpisodeSettings | None = None,
    sessions: Callable[[Store, OpenSession], OpenSession] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Deps]:
    """Deps on the store at `where`, closed at the end. `sessions` may put something between worker and judge."""
    store = open_store(where)
    at_most = with_endpoint(models, concurrency=concurrency)
    gateways = Gateways(clock=clock)
    given = episodes or EpisodeSettings()
    open_session = session_opener(store, at_most, gateways, given, roots, clock)
    worker = Worker(store, sessions(store, open_session) if sessions else open_session, clock)
    deps = Deps(store, at_most, given, gateways, worker, roots)
    try:
        yield deps
    finally:
        await deps.worker.aclose()
        await gateways.aclose()
        store.close()


def keyed(base_url: str, key: str = KEY, **endpoint: Any) -> ModelSettings:
    """A gateway with a key; the judge is called `judge-m`."""
    there = Endpoint(base_url=base_url, key=SecretStr(key), **endpoint)
    return ModelSettings(roles={"judge": Profile(model="judge-m", endpoint=there)})


def with_endpoint(models: ModelSettings, **values: Any) -> ModelSettings:
    """The same settings with other values for the endpoint of the judge."""
    return with_judge(models, endpoint=models.role("judge").endpoint.model_copy(update=values))


def with_judge(models: ModelSettings, **values: Any) -> ModelSettings:
    """The same settings with other values for the judge's profile."""
    return models.model_copy(
        update={"roles": {**models.roles, "judge": models.role("judge").model_copy(update=values)}}
    )


def pair_records(
    number: int, gold: Callable[[int], Preference | None] = lambda n: "A", start: int = 0
) -> Iterator[Record]:
    """Pairs `p0`, `p1`, … of tasks of their own; the gold side succeeded."""
    for n in range(start, start + number):
        said = (f"I cancelled order {n}.", f"I could not cancel order {n}.")
        pref = gold(n)
        yield pair_record(f"p{n}", f"Cancel order {n}.", said, pref)


def pair_record(pair_id: str, prompt: str, said: tuple[str, str], gold: Preference | None = None) -> Record:
    """One pair of a task of its own, each side one message; sides of known gold have a verifier's check."""
    task_id = f"task of {pair_id}"
    passed = {"A": (True, False), "B": (False, True), "tie": (True, True), None: (None, None)}[gold]
    return Record(
        line=1,
        task=Task(task_id=task_id, prompt=prompt, success_criteria="The order is cancelled."),
        episodes=tuple(
            Episode(
                trajectory=Trajectory(
                    task_id=task_id, agent=agent, trial=0, messages=(Message(role="assistant", content=content),)
                ),
                checks=() if done is None else (Check(verifier="state", source="verifier", passed=done),),
            )
            for agent, content, done in zip(("left", "right"), said, passed, strict=True)
        ),
        pair=PairKey(pair_id=pair_id, trial=0),
    )


def labelled(record: Record, *labels: GoldLabel) -> Record:
    """The record with gold labels."""
    return record.model_copy(update={"gold": labels})


def stored(store: Store, records: Sequence[Record] | Iterator[Record], audit: str = "a") -> str:
    """Store the records in an audit; its id."""
    with store.write() as connection:
        audit_id = ensure_audit(connection, audit)
        ingest(connection, audit_id, "test", records)
    return audit_id


def rows(store: Store, query: str, **values: Any) -> list[dict[str, Any]]:
    """The rows of a query."""
    with store.read() as connection:
        return [dict(row) for row in connection.execute(text(query), values).mappings()]


def count(store: Store, table: str, where: str = "1 = 1") -> int:
    """How many rows a table holds."""
    return int(rows(store, f"SELECT COUNT(*) AS n FROM {table} WHERE {where}")[0]["n"])


TABLES = (
    *("audits", "tasks", "trajectories", "checks", "pairs", "judges", "verdicts", "gold_labels", "judge_logs"),
    *("imports", "runs", "cells", "run_events", "planned_pairs"),
)


def dump(store: Store) -> dict[str, list[str]]:
    """Everything that is stored, for comparison."""
    return {table: sorted(map(repr, rows(store, f"SELECT * FROM {table}"))) for table in TABLES}


def verdicts(store: Store) -> list[dict[str, Any]]:
    """What was judged, without times and the ids of logs, in a stable order."""
    query = """
        SELECT verdict_id, judge_id, pair_id, trajectory_id, order_shown, repeat, status, winner, score_a, score_b,
            score, unscored_reason FROM verdicts ORDER BY verdict_id
    """
    return rows(store, query)


def verdict_text(winner: str, score_a: float = 3, score_b: float = 3) -> str:
    """A reply to the pairwise prompt."""
    return json.dumps({"reasons": "So it is.", "score_a": score_a, "score_b": score_b, "winner": winner})


def neutral(messages: Messages) -> str:
    """A judge without bias that knows nothing: the same text wins in both orders."""
    return simulated_reply(SimulatedBias(), {}, "judge-m", messages)


class PromptJudge:
    """A judge on loopback whose reply is a function of its prompt. While `gate` is not set it holds its replies.

    A key other than `key` is refused with 401, and with 503 whatever comes while it is `down`.
    """

    def __init__(
        self, reply: Callable[[Messages], str] = neutral, key: str = KEY, down: Callable[[], bool] = lambda: False
    ) -> None:
        self.base_url = ""
        self.asked: list[Messages] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._reply = reply
        self._key = key
        self._down = down
        self._arrived = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    async def received(self, number: int) -> None:
        """Wait until this many calls came in all."""
        async with asyncio.timeout(30), self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked) >= number)

    async def __aenter__(self) -> PromptJudge:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self._down():
            return web.json_response({"error": {"message": "down"}}, status=503)
        turns = tuple(ChatTurn.model_validate(turn) for turn in body["messages"])
        async with self._arrived:
            self.asked.append(turns)
            self._arrived.notify_all()
        await self.gate.wait()
        if request.headers["Authorization"] != f"Bearer {self._key}":
            return web.json_response({"error": {"message": "bad key"}}, status=401)
        return web.json_response(completion(self._reply(turns)))
