"""What a judge call costs: a run with its store against a bare openai script, with bare aiohttp as the floor.

    python benchmarks/calls.py [calls]

A server on loopback, in a process of its own, answers every call after 200 ms with the same verdict. Each way asks
it in a fresh process: imports and a first call come before the clock starts. The clock of a run goes from its
start, before the first request, to the commit of its last row; the other ways store nothing. CPU is that of the
asking process, all threads. One table is printed; machines are noisy, so read the ratios of one run.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, NamedTuple

# Each way imports its own libraries: what others import would be walked over by its garbage collector.
if TYPE_CHECKING:
    from aiohttp import web

    from misjudge_storage.engine import Store
    from misjudge_storage.run_records import RunRow
    from misjudge_storage.types import Episode, Record
    from misjudge_tools.deps import Deps
    from misjudge_tools.runs.run_session import RunSession

LATENCY_S = 0.2
LOADS = {64: 10_000, 1: 100, 32: 2_000, 256: 10_000, 1_000: 10_000}
"""Calls by concurrency: few where they take long."""
OPEN_FILES = 4_096
AUDIT = "benchmark"
KEY = "sk-benchmark-0123456789"
MODEL = "judge-m"
REASONS = "A cancelled the order with a tool call and its result; B only promised to do so. " * 3
VERDICT = {"reasons": REASONS, "score_a": 5, "score_b": 1, "winner": "A"}
SAID = "I looked up the order and its delivery window, and the policy allows a refund to the original card. " * 3
RULES = "Compare two responses to one task. Judge only what the evidence shows, never what a response claims. " * 10
REPLY_FORM = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}}}

Body = dict[str, Any]
Ask = Callable[[Body], Awaitable[str | None]]


class Clock(NamedTuple):
    """Wall time and CPU time of this process, in seconds."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Clock:
        return cls(perf_counter(), process_time())

    def since(self) -> Clock:
        return Clock(perf_counter() - self.wall, process_time() - self.cpu)


class Load(NamedTuple):
    """What is asked: so many calls of the server at this address, so many at once."""

    base_url: str
    calls: int
    concurrency: int


def serve(port: Connection) -> None:
    """The server, until its process is ended."""
    asyncio.run(_serve(port))


async def _serve(port: Connection) -> None:
    from aiohttp import web

    message = {"role": "assistant", "content": json.dumps(VERDICT)}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960},
    }
    body = json.dumps(completion).encode()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        await asyncio.sleep(LATENCY_S)
        return web.Response(body=body, content_type="application/json")

    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=OPEN_FILES).start()
    port.send(runner.addresses[0][1])
    await asyncio.Event().wait()


@contextmanager
def served() -> Iterator[str]:
    """The address of the server, in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(there,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}/v1"
    finally:
        process.terminate()
        process.join()


async def bare_aiohttp(load: Load) -> Clock:
    """JSON out, JSON in."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=load.concurrency)
    async with aiohttp.ClientSession(connector=connector, headers={"Authorization": f"Bearer {KEY}"}) as session:

        async def ask(body: Body) -> str | None:
            async with session.post(f"{load.base_url}/chat/completions", json=body) as response:
                reply = await response.json()
            return str(reply["choices"][0]["message"]["content"])

        return await scripted(load, ask)


async def openai_script(load: Load) -> Clock:
    """What people write first: AsyncOpenAI as it comes, behind a semaphore."""
    from openai import AsyncOpenAI

    async with AsyncOpenAI(api_key=KEY, base_url=load.base_url) as client:

        async def ask(body: Body) -> str | None:
            reply = await client.chat.completions.create(**body)
            return str(reply.choices[0].message.content)

        return await scripted(load, ask)


async def scripted(load: Load, ask: Ask) -> Clock:
    """The time that a script without a store takes."""
    bodies = [request_body(number) for number in range(load.calls + 1)]
    slots = asyncio.Semaphore(load.concurrency)

    async def ask_in_turn(body: Body) -> None:
        async with slots:
            content = await ask(body)
        if content is None or json.loads(content) != VERDICT:
            raise RuntimeError("The server did not give its verdict.")

    await ask_in_turn(bodies.pop())
    start = Clock.now()
    await asyncio.gather(*map(ask_in_turn, bodies))
    return start.since()


def request_body(number: int) -> Body:
    """What a script sends: as long as what a run sends for a pair."""
    sides = ("\n".join(f"[assistant] {text}" for text in said(number, side)) for side in "AB")
    user = "\n\n".join([f"Task:\nCancel order {number}.", *sides])
    turns = [{"role": "system", "content": RULES}, {"role": "user", "content": user}]
    return {"model": MODEL, "messages": turns, "temperature": 0, "max_tokens": 1024, "response_format": REPLY_FORM}


def said(number: int, side: str) -> list[str]:
    """The five messages of one side of a pair, 1.6 kB."""
    return [f"{side} on order {number}, step {step}: {SAID}" for step in range(5)]


async def misjudge_run(load: Load) -> Clock:
    """The operation `judge` on stored pairs, in both orders, until the run is done."""
    from misjudge_storage.engine import open_store
    from misjudge_storage.ingest import ensure_audit, ingest
    from misjudge_tools.judge import judge
    from misjudge_tools.requests import JudgeRequest

    starts: list[Clock] = []
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store.db")
        with store.write() as connection:
            ingest(connection, ensure_audit(connection, AUDIT), "benchmark", map(pair_record, range(load.calls // 2)))
        async with deps_on(store, load, starts) as deps:
            first = {"task_prompt": "Cancel it.", "response_a": "It is cancelled.", "response_b": "I promise to."}
            await judge(JudgeRequest(audit="first call", **first), deps)
            result = await judge(JudgeRequest(audit=AUDIT, max_calls=load.calls, wait_s=0), deps)
            await deps.worker.wait(result.run.run, 3_600)
            taken = starts[-1].since()
            check_all_scored(store, result.run.run, load.calls)
    return taken


def pair_record(number: int) -> Record:
    from misjudge_storage.types import PairKey, Record, Task

    task = Task(task_id=f"t{number}", prompt=f"Cancel order {number}.", success_criteria="The order is cancelled.")
    episodes = tuple(episode(number, side) for side in "AB")
    return Record(line=number + 1, task=task, episodes=episodes, pair=PairKey(pair_id=f"p{number}"))


def episode(number: int, side: str) -> Episode:
    from misjudge_storage.types import Episode, Message, Trajectory

    messages = tuple(Message(role="assistant", content=text) for text in said(number, side))
    return Episode(trajectory=Trajectory(task_id=f"t{number}", agent=f"agent {side}", messages=messages))


@asynccontextmanager
async def deps_on(store: Store, load: Load, starts: list[Clock]) -> AsyncIterator[Deps]:
    """Deps as the server makes them; each run that opens its judge adds a start."""
    from pydantic import SecretStr

    from misjudge_tools.deps import Deps
    from misjudge_tools.episodes.settings import EpisodeSettings
    from misjudge_tools.gateway.pool import Gateways
    from misjudge_tools.gateway.settings import Endpoint
    from misjudge_tools.profiles import ModelSettings, Profile
    from misjudge_tools.runs.sessions import session_opener
    from misjudge_tools.runs.worker import Worker

    endpoint = Endpoint(base_url=load.base_url, key=SecretStr(KEY), concurrency=load.concurrency)
    models, gateways = ModelSettings(roles={"judge": Profile(model=MODEL, endpoint=endpoint)}), Gateways()
    open_session = session_opener(store, models, gateways)

    @asynccontextmanager
    async def timed(run: RunRow) -> AsyncIterator[RunSession]:
        starts.append(Clock.now())
        async with open_session(run) as session:
            yield session

    deps = Deps(store, models, EpisodeSettings(), gateways, Worker(store, timed), None)
    try:
        yield deps
    finally:
        await deps.worker.aclose()
        await gateways.aclose()
        store.close()


def check_all_scored(store: Store, run_id: str, calls: int) -> None:
    from misjudge_storage import run_progress

    with store.read() as connection:
        progress = run_progress.progress(connection, run_id)
        unscored = run_progress.unscored(connection, run_id)
    if progress.done != calls or unscored:
        raise RuntimeError(f"{progress.done} of {calls} calls are stored, unscored: {unscored}.")


WAYS: dict[str, Callable[[Load], Awaitable[Clock]]] = {
    "bare aiohttp (floor)": bare_aiohttp,
    "openai script": openai_script,
    "misjudge run, stored": misjudge_run,
}


def measure(way: str, load: Load) -> Clock:
    """The time that a way takes in this process."""

    async def taken() -> Clock:
        return await WAYS[way](load)

    return asyncio.run(taken())


def in_fresh_process(way: str, load: Load) -> Clock:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, way, load).result()


def allow_open_files() -> None:
    """A thousand connections are more files than many systems allow unasked; processes started later inherit it."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES if most < 0 else min(OPEN_FILES, most), most))


def rows(load: Load, taken: Sequence[Clock]) -> Iterator[str]:
    """A line of the table for each way."""
    script = taken[list(WAYS).index("openai script")]
    for way, (wall, cpu) in zip(WAYS, taken, strict=True):
        rate = load.calls / wall
        share = rate * LATENCY_S / load.concurrency
        numbers = f"{rate:,.0f} | {share:.0%} | {cpu / load.calls * 1e3:.2f} | {cpu / script.cpu:.2f}"
        yield f"| {load.concurrency} | {load.calls} | {way} | {numbers} |"


def main(calls: int) -> None:
    allow_open_files()
    print("| at once | calls | way | calls/s | of the ideal | CPU ms per call | of the script's |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    with served() as base_url:
        for concurrency, most in LOADS.items():
            load = Load(base_url, min(most, calls) // 2 * 2, concurrency)
            for line in rows(load, [in_fresh_process(way, load) for way in WAYS]):
                print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
