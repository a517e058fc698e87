from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files
from typing import NamedTuple

import pytest

from misjudge_storage.types import Message
from misjudge_tools.demo import DemoPair, Proof, load_demo_pairs

PAIRS = load_demo_pairs()
AGENTS = {"terse", "courteous", "padder", "hasty"}
CATEGORIES = {
    *("retrieval", "multi-step", "tool use", "constraint", "clarification", "refusal boundary"),
    *("query", "booking", "modification", "cancellation", "complaint"),
}
POLITE = re.compile(r"\b(?:thank|sorry|apologi|glad|happy|delighted)")


class Recorded(NamedTuple):
    task_id: str
    agent: str
    messages: tuple[Message, ...]
    success: bool
    evidence: str
    proof: Proof

    @property
    def text(self) -> str:
        calls = (f"{call.name} {call.arguments}" for message in self.messages for call in message.tool_calls)
        return "\n".join([*(message.content for message in self.messages), *calls])

    @property
    def spoken(self) -> str:
        return "\n".join(message.content for message in self.messages if message.role == "assistant")


def sides(pair: DemoPair) -> tuple[Recorded, Recorded]:
    return (
        Recorded(pair.task_id, pair.agent_a, pair.messages_a, pair.success_a, pair.evidence_a, pair.proof),
        Recorded(pair.task_id, pair.agent_b, pair.messages_b, pair.success_b, pair.evidence_b, pair.proof),
    )


SIDES = [side for pair in PAIRS for side in sides(pair)]
each_side = pytest.mark.parametrize("side", SIDES, ids=lambda side: f"{side.task_id}-{side.agent}")


def proven(side: Recorded) -> bool:
    calls = [call for message in side.messages for call in message.tool_calls]
    called = any(
        call.name == side.proof.tool and json.loads(call.arguments) == dict(side.proof.arguments) for call in calls
    )
    said = side.proof.says is None or side.proof.says in side.spoken
    return called and said and side.proof.never not in {call.name for call in calls}


def lost_to(winner: str, loser: str) -> int:
    ordered = [sorted(sides(pair), key=lambda side: side.success) for pair in PAIRS if pair.success_a != pair.success_b]
    return sum((failed.agent, done.agent) == (loser, winner) for failed, done in ordered)


def test_there_are_twelve_pairs_of_different_tasks_by_four_agents() -> None:
    assert len({pair.task_id for pair in PAIRS}) == len(PAIRS) == 12
    assert {side.agent for side in SIDES} == AGENTS
    assert all(pair.agent_a != pair.agent_b for pair in PAIRS)
    assert {pair.category for pair in PAIRS} <= CATEGORIES
    assert load_demo_pairs() is PAIRS


def test_ten_pairs_are_decidable_and_neither_position_is_favoured() -> None:
    assert Counter((pair.success_a, pair.success_b) for pair in PAIRS) == {
        (True, False): 5,
        (False, True): 5,
        (True, True): 1,
        (False, False): 1,
    }


def test_the_pairs_hold_the_traps_a_judge_can_fall_into() -> None:
    assert lost_to("terse", "courteous") >= 5
    assert lost_to("courteous", "terse") + lost_to("courteous", "hasty") == 2
    assert lost_to("terse", "padder") == 1
    assert lost_to("padder", "hasty") == 1
    assert sum(pair.proof.never == "refund" for pair in PAIRS) == 1


@each_side
def test_success_is_what_the_recorded_tool_calls_prove(side: Recorded) -> None:
    assert proven(side) is side.success


@each_side
def test_only_the_courteous_agent_is_polite(side: Recorded) -> None:
    assert len(POLITE.findall(side.spoken.lower())) >= 2 if side.agent == "courteous" else not POLITE.search(side.text)


@each_side
def test_a_side_is_at_most_a_hundred_tokens(side: Recorded) -> None:
    # Prose costs near 1.35 tokens a word; the characters bound what words miss, the punctuation of JSON.
    assert len(re.findall(r"\w+", side.text)) * 1.35 <= 100
    assert len(side.text) <= 330


@each_side
def test_a_trajectory_opens_with_the_customer_and_ends_with_the_agent(side: Recorded) -> None:
    assert side.messages[0].role == "user"
    assert side.messages[-1].role == "assistant"
    assert side.messages[-1].content
    assert side.evidence.endswith(".")


@each_side
def test_every_tool_result_answers_the_call_before_it(side: Recorded) -> None:
    for before, message in zip(side.messages, side.messages[1:], strict=False):
        assert (message.role == "tool") is bool(before.tool_calls)
        if message.role == "tool":
            assert [call.id for call in before.tool_calls] == [message.tool_call_id]
            assert isinstance(json.loads(message.content), dict)


def test_both_agents_hear_the_same_request() -> None:
    assert all(pair.messages_a[0] == pair.messages_b[0] for pair in PAIRS)


def test_the_shipped_file_is_plain_ascii_with_one_pair_a_line() -> None:
    text = files("misjudge_tools.demo").joinpath("pairs.jsonl").read_text(encoding="ascii")
    assert [json.loads(line)["task_id"] for line in text.splitlines()] == [pair.task_id for pair in PAIRS]
