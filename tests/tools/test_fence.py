"""What a transcript says never changes how its judge is asked: outside the fence the request stays the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import pytest
from aiohttp import web

from loopback import completion
from misjudge_storage.hashing import fence_token
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.judging_records import messages_from
from misjudge_storage.types import Episode, Form, Message, PairKey, Record, Task, Trajectory
from misjudge_tools.judge import judge
from misjudge_tools.judging.pairing import transcript
from misjudge_tools.requests import JudgeRequest
from operations import keyed, opened, rows, verdict_text

SECRET = "5ec2e7" * 5
HARMLESS = (Message(role="assistant", content="Your order is cancelled."),)
OTHER = (Message(role="assistant", content="I could not cancel your order."),)
REPLIES: dict[Form, str] = {
    "pairwise": verdict_text("A"),
    "satisfaction": '{"reason": "So it is.", "satisfaction": 0.5}',
    "gate": '{"reason": "So it is.", "score": 4}',
    "proxy": '{"reason": "So it is.", "score": 4}',
}


def _attempts() -> dict[str, tuple[Message, ...]]:
    """The transcripts of injections.jsonl by their names; `times` repeats a content."""
    found = {}
    for line in Path(__file__).with_name("injections.jsonl").read_text(encoding="utf-8").splitlines():
        attempt = json.loads(line)
        for message in attempt["messages"]:
            message["content"] *= message.pop("times", 1)
        found[attempt["name"]] = tuple(Message.model_validate(message) for message in attempt["messages"])
    return found


ATTEMPTS = _attempts()


class Asked(NamedTuple):
    """The requests that were sent, and the ids of the trajectories by task and agent."""

    bodies: list[bytes]
    trajectories: dict[str, str]


class RawJudge:
    """A judge on loopback that keeps the bytes of each request."""

    def __init__(self, reply: str) -> None:
        self.base_url = ""
        self.bodies: list[bytes] = []
        self._reply = reply
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> RawJudge:
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
        assert self._runner is not None
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        return web.json_response(completion(self._reply))


def pairs(said: Callable[[str], Sequence[Message]]) -> list[Record]:
    """A pair for each attempt, under its name: what is said stands against one harmless answer."""
    return [
        Record(
            line=1,
            task=Task(task_id=f"task of {name}", prompt="Cancel my order.", success_criteria="It is cancelled."),
            episodes=tuple(
                Episode(
                    trajectory=Trajectory(task_id=f"task of {name}", agent=agent, trial=0, messages=tuple(messages))
                )
                for agent, messages in (("left", said(name)), ("right", OTHER))
            ),
            pair=PairKey(pair_id=name, trial=0),
        )
        for name in ATTEMPTS
    ]


async def asked(where: Path, records: Sequence[Record], form: Form) -> Asked:
    """What judging these records sends. Checks that the transcripts are stored as they were."""
    async with RawJudge(REPLIES[form]) as server, opened(where, keyed(server.base_url)) as deps:
        with deps.store.write() as connection:
            ingest(connection, ensure_audit(connection, "a", secret=SECRET), "test", records)
        done = await judge(JudgeRequest(audit="a", form=form, wait_s=40), deps)
        assert (done.run.state, done.run.unscored) == ("done", {})
        found = rows(deps.store, "SELECT trajectory_id, task_id, agent, messages_json FROM trajectories")
    stored = {(row["task_id"], row["agent"]): messages_from(row["messages_json"]) for row in found}
    said = [episode.trajectory for record in records for episode in record.episodes]
    assert stored == {(one.task_id, one.agent): one.messages for one in said}
    return Asked(server.bodies, {f"{row['task_id']}, {row['agent']}": row["trajectory_id"] for row in found})


def frames(bodies: Sequence[bytes], tokens: dict[str, str]) -> dict[str, bytes]:
    """By what was asked: the request without what stands between the marks of its own fence."""
    found = {}
    for body in bodies:
        (name, token) = next((name, token) for name, token in tokens.items() if token.encode() in body)
        fenced = re.compile(
            rf"(=== BEGIN (RESPONSE(?: [AB])?) {token} ===\\n).*?(\\n=== END \2 {token} ===)".encode(), re.DOTALL
        )
        frame, sides = fenced.subn(rb"\1\3", body)
        assert frame.count(token.encode()) == 2 * sides, "the mark stands nowhere else"
        found[name] = frame.replace(token.encode(), b"MARK")
    return found


async def test_no_injection_changes_a_byte_outside_the_fence_and_each_is_stored_as_it_was(tmp_path: Path) -> None:
    assert len(ATTEMPTS) >= 30
    harmless = await asked(tmp_path / "harmless.db", pairs(lambda name: HARMLESS), "pairwise")
    hostile = await asked(tmp_path / "hostile.db", pairs(ATTEMPTS.__getitem__), "pairwise")
    tokens = {f"{name} {order}": fence_token(SECRET, name, order, 0) for name in ATTEMPTS for order in ("AB", "BA")}
    expected, found = frames(harmless.bodies, tokens), frames(hostile.bodies, tokens)
    assert expected.keys() == found.keys() == tokens.keys()
    assert [name for name in tokens if expected[name] != found[name]] == []
    assert not {*harmless.bodies} & {*hostile.bodies}, "what was said did arrive"


@pytest.mark.parametrize("form", ["satisfaction", "gate", "proxy"])
async def test_nor_does_one_where_a_single_session_is_judged(tmp_path: Path, form: Form) -> None:
    found: list[dict[str, bytes]] = []
    for records in (pairs(lambda name: HARMLESS), pairs(ATTEMPTS.__getitem__)):
        sent = await asked(tmp_path / f"{len(found)}.db", records, form)
        # A trajectory's id follows from what was said, and its mark from that.
        tokens = {name: fence_token(SECRET, identity, 0) for name, identity in sent.trajectories.items()}
        found.append(frames(sent.bodies, tokens))
    harmless, hostile = found
    assert len(harmless) == 2 * len(ATTEMPTS)
    assert hostile == harmless


FORGED = {
    "a forged tool result": 2,
    "a forged tool result behind another line break": 7,
    "a forged tool result with wide brackets": 2,
    "a forged tool result with invisible characters": 3,
    "a forged tool result with emphasis": 7,
    "a forged tool result, Chinese": 8,
    "a forged cut": 4,
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_mark_is_shown_as_text(name: str) -> None:
    (message,) = ATTEMPTS[name]
    shown = transcript(Task(task_id="t", prompt="Do it."), [message])
    assert shown.count("(text) ") == FORGED[name]
    assert shown.replace("(text) ", "") == f"[assistant] {message.content}"
