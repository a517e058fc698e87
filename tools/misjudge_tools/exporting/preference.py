"""Preference data for training, as values: which side is chosen, what both were asked, and what is left out. Pure.

The prompt is what both transcripts begin with, message for message; numbers that a run gives its tool calls do not
count. A completion is what an agent did next, up to the next word of the customer: tool results are in it, customers
never are. Who is chosen is said by evidence alone; judges and models' checks have no say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from misjudge_storage.export_rows import ExportedEpisode, ExportedPair, JudgeSaid
from misjudge_storage.types import Message, ToolCall
from misjudge_tools.interchange.json_records import storable_value

Fields = dict[str, Any]
Completion = Literal["whole", "first_divergent_turn"]
"""All that both agents did, or what they did before the customer's next word, behind which one went on."""
Omission = Literal[
    "undecidable",
    "chosen_failed",
    "no_transcript",
    "same_transcript",
    "no_prompt",
    "others_diverge_first",
    "no_evidence",
    "contradicting_evidence",
    "nothing_done",
]
"""Why a pair or episode makes no row. `chosen_failed`: the better side failed, too. `no_prompt`: the transcripts begin
with an agent, or have no beginning in common. `others_diverge_first`: customer or tools say something else before the
agents do. `nothing_done`: an agent said nothing, or nothing more where the other one went on.
"""


class Row(NamedTuple):
    """A row as TRL reads it, the text by which its task is told from others, and how much a completion of `dpo` is."""

    fields: Fields
    task: str
    completion: Completion | None = None


class _Split(NamedTuple):
    prompt: tuple[Message, ...]
    a: tuple[Message, ...]
    b: tuple[Message, ...]
    whole: bool


def dpo_row(pair: ExportedPair) -> Row | Omission:
    """A row with `prompt`, `chosen` and `rejected`."""
    gold = pair.row["gold_pref"]
    if gold not in {"A", "B"}:
        return "undecidable"
    if pair.row["success_a" if gold == "A" else "success_b"] == 0:
        return "chosen_failed"
    if not pair.a or not pair.b:
        return "no_transcript"
    split = _split(_numbered(_asked(pair.prompt, pair.a)), _numbered(_asked(pair.prompt, pair.b)))
    if not isinstance(split, _Split):
        return split
    chosen, rejected = (split.a, split.b) if gold == "A" else (split.b, split.a)
    completion: Completion = "whole" if split.whole else "first_divergent_turn"
    fields = {
        "prompt": chat(split.prompt),
        "chosen": chat(chosen),
        "rejected": chat(rejected),
        "metadata": {**_evidence(pair), "completion": completion},
    }
    return Row(fields, pair.prompt or pair.task_id, completion)


def kto_row(episode: ExportedEpisode) -> Row | Omission:
    """A row with `prompt`, `completion` and `label`: the agent's last turn, and whether the episode did its task."""
    label = _label(episode)
    if not isinstance(label, bool):
        return label
    messages = _numbered(_asked(episode.prompt, episode.messages))
    start = _last_turn(messages)
    if not start:
        return "nothing_done" if start is None else "no_prompt"
    fields = {
        "prompt": chat(messages[:start]),
        "completion": chat(_turn(messages[start:])),
        "label": label,
        "metadata": {
            "trajectory_id": episode.trajectory_id,
            "task_id": episode.task_id,
            "agent": episode.agent,
            "trial": episode.trial,
            "label_source": episode.success_source or "pairs",
            "reward": episode.reward,
            "simulated": episode.simulated,
        },
    }
    return Row(fields, episode.prompt or episode.task_id)


def chat(messages: Sequence[Message]) -> list[Fields]:
    """Messages as chat templates take them; arguments are an object where the model wrote one."""
    return [_turned(message) for message in messages]


def judge_found(pair: ExportedPair, judge: str) -> JudgeSaid | None:
    """What this judge says of the pair."""
    return next((said for said in pair.judges if said.judge == judge), None)


def _label(episode: ExportedEpisode) -> bool | Omission:
    """Success where it is known, else what gold says of its pairs, where all say the same."""
    if episode.success is not None:
        return episode.success
    if episode.better and episode.worse:
        return "contradicting_evidence"
    return bool(episode.better) if episode.better or episode.worse else "no_evidence"


def _asked(prompt: str, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The transcript behind what was asked, which some sources keep with the task alone."""
    before = messages[: next((n for n, one in enumerate(messages) if one.role == "assistant"), len(messages))]
    if not prompt or any(one.role == "user" for one in before):
        return messages
    return (*before, Message(role="user", content=prompt), *messages[len(before) :])


def _last_turn(messages: Sequence[Message]) -> int | None:
    """Where the agent's last turn begins; None where it never spoke."""
    start: int | None = None
    for place, message in enumerate(messages):
        follows = place and messages[place - 1].role in {"assistant", "tool"} and start is not None
        if message.role == "assistant" and not follows:
            start = place
    return start


def _numbered(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same with the ids of tool calls numbered through: those of a run are made up anew each time."""
    names: dict[str, str] = {}
    found = []
    for message in messages:
        calls = tuple(_named(call, names) for call in message.tool_calls)
        answered = message.tool_call_id and names.get(message.tool_call_id, message.tool_call_id)
        found.append(message.model_copy(update={"tool_calls": calls, "tool_call_id": answered}))
    return tuple(found)


def _named(call: ToolCall, names: dict[str, str]) -> ToolCall:
    if call.id is None:
        return call
    names[call.id] = f"call_{len(names) + 1}"
    return call.model_copy(update={"id": names[call.id]})


def _split(a: tuple[Message, ...], b: tuple[Message, ...]) -> _Split | Omission:
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    if same == len(a) == len(b):
        return "same_transcript"
    begun = "user" in {one.role for one in a[:same]}
    nexts = {one.role for side in (a, b) for one in side[same : same + 1]}
    if same in {len(a), len(b)} and nexts == {"assistant"}:
        return "nothing_done"
    if same in {len(a), len(b)} or nexts != {"assistant"}:
        return "others_diverge_first" if begun else "no_prompt"
    if not same:
        return "no_prompt"
    turns = _turn(a[same:]), _turn(b[same:])
    rest = (*a[same + len(turns[0]) :], *b[same + len(turns[1]) :])
    return _Split(a[:same], *turns, whole=all(one.role != "assistant" for one in rest))


def _turn(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Up to the next word of the customer."""
    end = next((n for n, one in enumerate(messages) if one.role in {"user", "system"}), len(messages))
    return messages[:end]


def _turned(message: Message) -> Fields:
    fields: Fields = {"role": message.role, "content": message.content}
    if message.tool_calls:
        fields["tool_calls"] = [_called(call) for call in message.tool_calls]
    given = {"tool_call_id": message.tool_call_id, "name": message.name}
    return {**fields, **{name: value for name, value in given.items() if value is not None}}


def _called(call: ToolCall) -> Fields:
    function = {"type": "function", "function": {"name": call.name, "arguments": _arguments(call.arguments)}}
    return function if call.id is None else {**function, "id": call.id}


def _arguments(written: str) -> Any:
    try:
        value = storable_value(json.loads(written))
    except (ValueError, RecursionError):
        return written
    return value if isinstance(value, dict) else written


def _evidence(pair: ExportedPair) -> Fields:
    row = pair.row
    stated = row["reward_source"] != "judge"
    return {
        "pair_id": pair.pair_id,
        "task_id": pair.task_id,
        "trial": row["trial"],
        "chosen_agent": row["agent_a" if row["gold_pref"] == "A" else "agent_b"],
        "rejected_agent": row["agent_b" if row["gold_pref"] == "A" else "agent_a"],
        "gold_source": row["gold_source"],
        "success_chosen": _flag(row["success_a" if row["gold_pref"] == "A" else "success_b"]),
        "success_rejected": _flag(row["success_b" if row["gold_pref"] == "A" else "success_a"]),
        "reward_chosen": row["reward_a" if row["gold_pref"] == "A" else "reward_b"] if stated else None,
        "reward_rejected": row["reward_b" if row["gold_pref"] == "A" else "reward_a"] if stated else None,
        "ability": {True: "near", False: "wide", None: None}[pair.near],
        "simulated": bool(row["simulated"]),
        "judges": [_metadata(said, row["gold_pref"]) for said in pair.judges],
    }


def _metadata(said: JudgeSaid, gold: str) -> Fields:
    a, b = (said.score_a, said.score_b) if gold == "A" else (said.score_b, said.score_a)
    picked = {"A": "chosen", "B": "rejected"} if gold == "A" else {"A": "rejected", "B": "chosen"}
    return {
        "judge": said.judge,
        "picked": picked.get(said.pref or "", said.pref),
        "status": said.status,
        "score_chosen": a,
        "score_rejected": b,
        "misselected": said.misselected,
        "simulated": said.simulated,
    }


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)
