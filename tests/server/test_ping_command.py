"""`misjudge ping`: exit code, JSON, and nothing stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from command import Misjudge, Outcome
from loopback import LoopbackServer, completion
from misjudge_tools.gateway.simulated import SimulatedServer
from operations import KEY

OBEYED = completion('{"ok": true}')
FILE = """
[roles]
judge = "strong"
[profiles.strong]
model = "judge-m"
price_in = 1000
price_out = 1000
[profiles.other]
model = "other-m"
"""


@pytest.fixture
async def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackServer]:
    """A gateway that the environment names."""
    async with LoopbackServer() as made:
        monkeypatch.setenv("TAOTOKEN_BASE_URL", made.base_url)
        monkeypatch.setenv("TAOTOKEN_API_KEY", KEY)
        yield made


async def run(misjudge: Misjudge, *arguments: str) -> Outcome:
    """In a thread: the server needs this one's loop."""
    return await asyncio.to_thread(misjudge, *arguments)


async def test_models_that_answer_are_shown_and_nothing_is_stored(
    misjudge: Misjudge, folder: Path, server: LoopbackServer
) -> None:
    folder.joinpath("misjudge.toml").write_text(FILE, encoding="utf-8")
    server.always(OBEYED)
    said = await run(misjudge, "ping", "--json")
    assert (said.code, said.err) == (0, "")
    report = json.loads(said.out)
    assert report["schema"] == 1
    (found,) = report["models"]
    assert (found["roles"], found["model"], found["ok"]) == (["judge"], "judge-m", True)
    assert (found["attempts"], found["input_tokens"], found["output_tokens"]) == (2, 22, 6)
    assert (found["cost"], found["price_source"]) == (pytest.approx(0.028), "misjudge.toml")
    shown = await run(misjudge, "ping")
    assert (shown.code, shown.err) == (0, "")
    assert "judge-m" in shown.out and "json_schema" in shown.out
    assert [entry.name for entry in folder.iterdir()] == ["misjudge.toml"]
    assert KEY not in said.out + shown.out


async def test_a_simulated_gateway_is_shown_as_one(misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SimulatedServer() as made_up:
        monkeypatch.setenv("TAOTOKEN_BASE_URL", made_up.base_url)
        monkeypatch.setenv("TAOTOKEN_API_KEY", "simulated")
        monkeypatch.setenv("JUDGE_MODEL", "simulated-judge")
        shown = await run(misjudge, "ping")
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.startswith("SIMULATED: a simulated gateway made up its replies")
        assert "obeyed" not in shown.out and "json_schema" not in shown.out
        report = json.loads((await run(misjudge, "ping", "--json")).out)
    (found,) = report["models"]
    assert report["marked"].startswith("SIMULATED")
    assert (found["simulated"], found["reply_format"], found["obeyed"]) == (True, "simulated", None)


async def test_the_roles_asked_for_are_pinged_and_those_of_one_model_once(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAOTOKEN_MODEL", "shared-m")
    server.always(OBEYED)
    for arguments, roles in (
        ((), ["agent", "user_sim", "judge"]),
        (("--role", "judge", "--role", "agent"), ["agent", "judge"]),
    ):
        said = await run(misjudge, "ping", *arguments, "--json")
        assert [found["roles"] for found in json.loads(said.out)["models"]] == [roles]
    assert len(server.requests) == 4


@pytest.mark.parametrize("as_json", [(), ("--json",)])
async def test_a_model_that_does_not_answer_fails_the_command_which_shows_all(
    misjudge: Misjudge, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, as_json: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CANDIDATE_MODEL", "agent-m")
    monkeypatch.setenv("JUDGE_MODEL", "judge-m")
    server.enqueue({"error": {"message": "bad key"}}, status=401)
    server.always(OBEYED)
    said = await run(misjudge, "ping", *as_json)
    assert (said.code, said.err) == (1, "")
    for part in ("agent-m", "judge-m", "The gateway refused the key (401). Check that TAOTOKEN_API_KEY holds"):
        assert part in said.out.replace("\n", " ")


def test_a_key_that_is_missing_fails_the_command_without_a_request(
    misjudge: Misjudge, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_MODEL", "judge-m")
    said = misjudge("ping")
    assert (said.code, said.err) == (1, "")
    assert "Set TAOTOKEN_API_KEY" in said.out.replace("\n", " ")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "No model is configured for agent and user_sim and judge. Set TAOTOKEN_MODEL, or see `misjudge config`."),
        (("--role", "judge"), "No model is configured for judge."),
        (("--role", "jury"), "There is no role 'jury'. Roles are: agent, user_sim, judge."),
        (("--role", "\x1b[31m"), "There is no role"),
    ],
)
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_what_cannot_be_pinged_is_one_sentence(
    misjudge: Misjudge, folder: Path, arguments: tuple[str, ...], said: str, as_json: tuple[str, ...]
) -> None:
    outcome = misjudge("ping", *arguments, *as_json)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"misjudge: {said}") and outcome.err.count("\n") == 1
    assert "\x1b" not in outcome.err
    assert list(folder.iterdir()) == []
