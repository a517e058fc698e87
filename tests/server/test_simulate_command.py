from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from command import ROOTS, Misjudge, command, environment, launcher
from misjudge_server.simulate import SimulateRequest, serve_simulated
from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.gateway.simulated import SimulatedServer
from misjudge_tools.gateway.simulated_bias import Brief, SimulatedBias
from misjudge_tools.gateway.simulated_judge import simulated_reply
from misjudge_tools.judging.pairing import fence

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
OPENING = "Write a haiku about rain."
# A shell that starts the tests in the background would let them, and what they start, ignore it.
HEEDED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
SERVE = f"""
import sys
sys.path[len(sys.path):] = {ROOTS!r}
{HEEDED}
from misjudge_server.simulate import SimulateRequest, serve_simulated
from misjudge_tools.episodes.settings import Allowed
serve_simulated(SimulateRequest.model_validate_json(sys.argv[1]), Allowed())
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder with one task of text and its solution."""
    folder = tmp_path / "haiku"
    folder.mkdir()
    task = {
        "task_id": "rain", "category": "text", "opening": OPENING, "goal": "You want a haiku about rain.",
        "success_criteria": "It is one.", "checks": [{"kind": "contains", "value": "rain"}],
    }  # fmt: skip
    solution = {"task_id": "rain", "steps": [{"say": "Rain on the roof"}]}
    folder.joinpath("tasks.jsonl").write_text(json.dumps(task) + "\n", encoding="utf-8")
    folder.joinpath("solutions.jsonl").write_text(json.dumps(solution) + "\n", encoding="utf-8")
    return folder


async def started(suite: Path, **request: Any) -> Process:
    given = json.dumps({"port": 0, "suite": str(suite), **request})
    program = (sys.executable, "-c", SERVE, given)
    return await asyncio.create_subprocess_exec(*program, cwd=suite.parent, env=environment(), stdout=PIPE, stderr=PIPE)


async def said_by(process: Process) -> list[str]:
    """The five lines that it begins with."""
    assert process.stdout is not None
    async with asyncio.timeout(60):
        return [(await process.stdout.readline()).decode().rstrip() for _ in range(5)]


async def end_of(process: Process) -> tuple[int | None, str]:
    async with asyncio.timeout(60):
        _, err = await process.communicate()
    return process.returncode, err.decode()


async def ask(base_url: str, model: str, max_attempts: int = 4) -> Exchange:
    gateways = Gateways()
    gateway = gateways.at(Endpoint(base_url=base_url, key=SecretStr("simulated"), max_attempts=max_attempts))
    exchange = await gateway.ask(Call(model=model, messages=(ChatTurn(role="user", content=OPENING),)))
    await gateways.aclose()
    return exchange


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_what_to_set_answers_and_ends_once_on_a_signal(suite: Path, number: signal.Signals) -> None:
    process = await started(suite)
    try:
        first, address, key, models, agents = await said_by(process)
        base_url = address.removeprefix("TAOTOKEN_BASE_URL=")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", base_url)
        assert first.startswith(f"SIMULATED gateway at {base_url}")
        assert key == "TAOTOKEN_API_KEY=simulated"
        assert models == "CANDIDATE_MODEL=diligent SIM_USER_MODEL=simulated-user TAOTOKEN_JUDGE_MODEL=simulated-judge"
        assert "haiku" in agents and agents.endswith("any other name is right in all of the tasks.")
        diligent, refuser = await ask(base_url, "diligent"), await ask(base_url, "refuser")
        assert (diligent.text, (refuser.text or "")[:10]) == ("Rain on the roof", "I am sorry")
        process.send_signal(number)
        assert await end_of(process) == (0, "misjudge: the simulated gateway has ended.\n")
    finally:
        with suppress(ProcessLookupError):
            process.kill()


@posix
@pytest.mark.parametrize(("skill", "share"), [(0.6, "60 %"), (0.995, "99.5 %"), (0.0, "none")])
async def test_it_says_how_skilled_agents_without_a_script_are(suite: Path, skill: float, share: str) -> None:
    process = await started(suite, skill=skill)
    try:
        assert (await said_by(process))[-1].endswith(f"any other name is right in {share} of the tasks.")
    finally:
        process.terminate()
        await end_of(process)


@posix
async def test_judges_writers_and_matchers_have_the_faults_that_are_planted(suite: Path) -> None:
    faults = {"position": 0.1, "obedience": 0.2, "length": 0.3, "politeness": 0.4, "self_preference": 0.5}
    rest = {"family": "qwen", "noise": 0.15, "near": 0.35, "parse_failure": 0.05, "lenience": 0.6, "seed": 3}
    of_rules = {"hits": 0.6, "invents": 0.5, "misses": 0.3, "overmatches": 0.4, "rule_following": 0.7}
    planted = {**faults, **rest, **of_rules}
    bias = SimulatedBias.model_validate(planted)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in planted.items() if name != "near"]
    program = (*launcher(HEEDED), "simulate", "--port=0", f"--suite={suite.name}", "--near-noise=0.35", *options)
    process = await asyncio.create_subprocess_exec(
        *program, cwd=suite.parent, env=environment(), stdout=PIPE, stderr=PIPE
    )
    blocks = {
        label: fence(label, "0" * 16, text).text
        for label, text in (
            ("RESPONSE A", "x"), ("RESPONSE B", "please y"), ("TASK", "z"), ("RULES", "1. Is it x?\n2. Is it y?"),
            ("GOLD", "1. Is it y?"),
        )
    }  # fmt: skip
    pair = ("RESPONSE A", "RESPONSE B")
    kinds = (pair, ("RULES", *pair), ("TASK",), ("TASK", "GOLD", "RULES"))
    asked = [
        (
            ChatTurn(role="system", content="You judge."),
            ChatTurn(role="user", content="\n\n".join((f"{n}", *(blocks[label] for label in kind)))),
        )
        for kind in kinds
        for n in range(30)
    ]
    truth = {template_hash(blocks[label]): Brief(rules=("Is it y?", "Is it z?")) for label in ("TASK", "RULES")}
    try:
        base_url = (await said_by(process))[1].removeprefix("TAOTOKEN_BASE_URL=")
        gateways = Gateways()
        gateway = gateways.at(Endpoint(base_url=base_url, key=SecretStr("simulated")))
        await gateway.tell_truth(truth)
        said = [(await gateway.ask(Call(model="m", messages=turns))).text for turns in asked]
        await gateways.aclose()
    finally:
        process.terminate()
        await end_of(process)
    assert said == [simulated_reply(bias, truth, "m", turns) for turns in asked]
    for name in of_rules:
        without = bias.model_copy(update={name: SimulatedBias.model_fields[name].default})
        assert said != [simulated_reply(without, truth, "m", turns) for turns in asked], name
    assert said[:30] != [simulated_reply(SimulatedBias(seed=3), {}, "m", turns) for turns in asked[:30]]


@posix
async def test_what_is_planted_is_in_force(suite: Path) -> None:
    process = await started(suite, errors=1.0, skill=0.0)
    try:
        base_url = (await said_by(process))[1].removeprefix("TAOTOKEN_BASE_URL=")
        exchange = await ask(base_url, "m", max_attempts=1)
        assert type(exchange.error).__name__ == "ProviderFailed"
    finally:
        process.terminate()
        await end_of(process)


async def test_a_port_that_is_taken_is_one_sentence(suite: Path) -> None:
    async with SimulatedServer() as server:
        port = int(server.base_url.split(":")[2].removesuffix("/v1"))
        request = SimulateRequest(port=port, suite=str(suite))
        with pytest.raises(InvalidInput, match=f"Port {port} cannot be had"):
            await asyncio.to_thread(serve_simulated, request, Allowed())


def test_a_suite_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such suite"):
        serve_simulated(SimulateRequest(port=0, suite=str(tmp_path / "none")), Allowed())


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": -1}, {"port": 65_536}, {"noise": 1.1}, {"near_noise": -0.1}, {"skill": 2}, {"latency_ms": -1},
        {"requests_per_minute": 0}, {"errors": 1.5}, {"politness": 0.1}, {"length": 1.1}, {"obedience": -0.1},
        {"self_preference": 0.4}, {"family": "qwen,openai"},
    ],
)  # fmt: skip
def test_what_cannot_be_planted_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SimulateRequest.model_validate(wrong)


# ---- the command line


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_command_plants_what_its_options_say_in_a_suite_of_one_s_own(
    suite: Path, number: signal.Signals
) -> None:
    options = ("--port", "0", "--suite", suite.name, "--skill", "0", "--requests-per-minute", "1", "--seed", "3")
    program = (*launcher(HEEDED), "simulate", *options)
    process = await asyncio.create_subprocess_exec(
        *program, cwd=suite.parent, env=environment(), stdout=PIPE, stderr=PIPE
    )
    try:
        lines = await said_by(process)
        assert "on the suite haiku" in lines[4] and lines[4].endswith("any other name is right in none of the tasks.")
        base_url = lines[1].removeprefix("TAOTOKEN_BASE_URL=")
        first, second = await ask(base_url, "gpt-x"), await ask(base_url, "diligent", max_attempts=1)
        assert first.text and "rain" not in (first.text or "").lower()
        assert type(second.error).__name__ == "RateLimited"
        process.send_signal(number)
        assert await end_of(process) == (0, "misjudge: the simulated gateway has ended.\n")
    finally:
        with suppress(ProcessLookupError):
            process.kill()


BAD_OPTIONS: dict[str, tuple[list[str], str]] = {
    "a share above 1": (["--noise", "1.5"], "'noise' cannot be used"),
    "a share below 0": (["--near-noise=-0.1"], "'near_noise' cannot be used"),
    "no number": (["--skill", "nan"], "'skill' cannot be used"),
    "a fault of more than all calls": (["--obedience", "1.5"], "'obedience' cannot be used"),
    "a preference without a family": (["--self-preference", "0.4"], "self_preference needs the family"),
    "a port": (["--port", "65536"], "'port' cannot be used"),
    "no requests at all": (["--requests-per-minute", "0"], "'requests_per_minute' cannot be used"),
    "endless latency": (["--latency-ms", "inf"], "'latency_ms' cannot be used"),
    "a suite that is not there": (["--suite", "nowhere"], "There is no such suite."),
    "a folder without tasks": (["--suite", "empty"], "There is no such suite."),
    "a suite that cannot be read": (["--suite", "broken"], "tasks.jsonl, line 1: "),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_an_option_that_cannot_be_used_is_one_sentence(misjudge: Misjudge, folder: Path, case: str) -> None:
    options, said = BAD_OPTIONS[case]
    for name, content in (("empty", None), ("broken", "{}\n")):
        folder.joinpath(name).mkdir()
        if content is not None:
            folder.joinpath(name, "tasks.jsonl").write_text(content, encoding="utf-8")
    failed = misjudge("simulate", *options)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith("misjudge: ") and failed.err.count("\n") == 1
    assert said in failed.err


async def test_a_taken_port_fails_the_command_with_one_sentence(suite: Path) -> None:
    async with SimulatedServer() as server:
        port = server.base_url.split(":")[2].removesuffix("/v1")
        program = command("simulate", "--port", port, "--suite", suite.name)
        process = await asyncio.create_subprocess_exec(
            *program, cwd=suite.parent, env=environment(), stdout=PIPE, stderr=PIPE
        )
        code, err = await end_of(process)
    assert code == 2
    assert err.startswith(f"misjudge: Port {port} cannot be had") and err.count("\n") == 1
