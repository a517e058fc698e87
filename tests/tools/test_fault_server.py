"""The fault server deals what it says, the same to everyone who asks the same."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from command import ROOTS
from fault_server import FAULTS, NO_FAULTS, USUAL, Counts, FaultServer, Rates

TESTS = Path(__file__).resolve().parents[1]
LIMIT = aiohttp.ClientTimeout(total=30)
HALF = Rates(limited=0.2, failed=0.1, reset=0.1, stalled=0, garbage=0.1)


def question(number: int) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": f"Question {number}"}]}


async def outcome(client: aiohttp.ClientSession, server: FaultServer, number: int) -> str:
    """What the asking of a question comes to: a status and body, or a broken connection."""
    try:
        async with client.post(f"{server.base_url}/chat/completions", json=question(number)) as response:
            return f"{response.status} {response.headers.get('Retry-After')} {await response.text()}"
    except aiohttp.ClientError:
        return "broken"


async def outcomes(seed: int, rates: Rates, questions: int, times: int) -> tuple[list[list[str]], Counts]:
    async with FaultServer(seed=seed, rates=rates) as server, aiohttp.ClientSession(timeout=LIMIT) as client:
        rounds = [
            await asyncio.gather(*(outcome(client, server, number) for number in range(questions)))
            for _ in range(times)
        ]
        return rounds, server.counts()


async def test_the_same_seed_deals_the_same_answers_and_another_one_others() -> None:
    first, again, other = [(await outcomes(seed, HALF, 40, 3))[0] for seed in (1, 1, 2)]
    assert first == again != other


async def test_every_fault_comes_about_as_often_as_its_rate_says() -> None:
    answers, counts = await outcomes(0, USUAL._replace(stalled=0), 2000, 1)
    # Four standard deviations of a share of 2000.
    assert {fault: counts.faults.get(fault, 0) / 2000 for fault in FAULTS} == pytest.approx(
        USUAL._replace(stalled=0)._asdict(), abs=0.02
    )
    statuses = Counter(answer.split()[0] for answer in answers[0])
    assert statuses["429"] == counts.faults["limited"]
    assert sum(number for status, number in statuses.items() if status.startswith("5")) == counts.faults["failed"]
    assert statuses["broken"] == counts.faults["reset"]
    assert statuses["200"] == counts.replies + counts.faults["garbage"]


async def test_after_three_faults_in_a_row_a_prompt_gets_its_reply() -> None:
    answers, counts = await outcomes(0, Rates(1, 0, 0, 0, 0), 3, 8)
    assert [[answer[:3] for answer in each] for each in zip(*answers, strict=True)] == [(["429"] * 3 + ["200"]) * 2] * 3
    assert counts.billed == dict.fromkeys(counts.asked, 2)


@pytest.mark.parametrize("refuse", [False, True])
async def test_an_outage_answers_503_or_refuses_connections_until_it_ends(refuse: bool) -> None:
    async with FaultServer(rates=NO_FAULTS) as server, aiohttp.ClientSession(timeout=LIMIT) as client:
        assert (await outcome(client, server, 1)).startswith("200")
        await server.down(refuse=refuse)
        assert (await outcome(client, server, 1))[:6] == ("broken" if refuse else "503 No")
        await server.up()
        assert (await outcome(client, server, 1)).startswith("200")
        assert server.counts().replies == 2


async def test_a_server_in_a_process_of_its_own_is_steered_over_http() -> None:
    path = os.pathsep.join([str(TESTS), *ROOTS])
    program = [sys.executable, str(TESTS / "fault_server.py"), "--limited", "1"]
    process = await asyncio.create_subprocess_exec(
        *program, stdin=PIPE, stdout=PIPE, env={**os.environ, "PYTHONPATH": path}
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        async with aiohttp.ClientSession(timeout=LIMIT, raise_for_status=False) as client:
            where = json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
            chat, control = f"{where['base_url']}/chat/completions", where["control_url"]
            statuses = []
            for step in ("", "/down", "", "/up", ""):
                async with client.post(f"{control}{step}" if step else chat, json=question(1)) as response:
                    statuses.append(response.status)
            async with client.get(f"{control}/counts") as response:
                counts = Counts.model_validate_json(await response.read())
    finally:
        process.stdin.close()
        code = await asyncio.wait_for(process.wait(), 30)
    assert (statuses, code) == ([429, 204, 503, 204, 429], 0)
    assert (counts.requests, counts.refused, counts.faults, counts.replies) == (2, 1, {"limited": 2}, 0)
