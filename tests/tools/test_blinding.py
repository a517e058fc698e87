"""What is masked of a transcript, what stays, and that both hold for the bytes that leave."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.judging_records import messages_from
from misjudge_storage.types import Episode, Form, Message, PairKey, Record, Task, ToolCall, Trajectory
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.judging.blinding import blind, blinder
from misjudge_tools.read_record import read_record
from misjudge_tools.requests import JudgeRequest, RecordRequest
from misjudge_tools.results import record_uri
from operations import PromptJudge, keyed, opened, rows, stored

FORMS = [
    json.loads(line)
    for line in Path(__file__).with_name("blinding_forms.jsonl").read_text(encoding="utf-8").splitlines()
]
MASKS = ("[agent]", "[model]", "[vendor]")
NAMES = ("GPT-4", "Claude 3.5 Sonnet", "OpenAI", "通义千问", "hasty", "I'm Claude.", "ＧＰＴ－４", "DeepSeek-V3")


def shown(text: str, role: Any = "assistant", names: frozenset[str] = frozenset(), known: str = "") -> str:
    return blind([Message(role=role, content=text)], names, known).messages[0].content


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["text"][:40])
def test_each_form_is_masked_or_stays(form: dict[str, Any]) -> None:
    found = blind(
        [Message(role=form.get("role", "assistant"), content=form["text"])],
        frozenset(form.get("names", ())),
        form.get("known", ""),
    )
    assert found.messages[0].content == form["shown"]
    masks = sum(form["shown"].count(mask) - form["text"].count(mask) for mask in MASKS)
    assert sum(found.masked.values()) == masks
    assert all(name in form["text"] for name in found.masked)


def test_the_forms_are_many_and_in_both_languages() -> None:
    masked = [form for form in FORMS if form["shown"] != form["text"]]
    assert len(masked) >= 30 and len(FORMS) - len(masked) >= 30
    for forms in (masked, [form for form in FORMS if form not in masked]):
        assert sum(any("\u4e00" <= char <= "\u9fff" for char in form["text"]) for form in forms) >= 8


def test_a_text_that_is_seen_again_is_counted_again() -> None:
    said = [Message(role="assistant", content="GPT-4 by OpenAI")] * 2
    again = blinder(frozenset(), "")
    assert again(said) == again(said) == blind(said, frozenset(), "")
    assert again(said).masked == {"GPT-4": 2, "OpenAI": 2}
    as_user = again([Message(role="user", content="I am Kimi.")])
    assert blinder(frozenset(), "Kimi")([Message(role="user", content="I am Kimi.")]) != as_user


def test_the_map_counts_what_stood_there() -> None:
    said = [Message(role="assistant", content="GPT-4, gpt-4, GPT-4"), Message(role="user", content="OpenAI?")]
    assert blind(said, frozenset(), "").masked == Counter({"GPT-4": 2, "gpt-4": 1, "OpenAI": 1})


def test_tools_their_arguments_and_results_are_masked_names_of_messages_left_out_and_system_messages_stay() -> None:
    call = ToolCall(name="ask_gpt-4", arguments='{"model": "gpt-4o", "n": 4}', id="gpt-4")
    said = (
        Message(role="system", content="You are GPT-4."),
        Message(role="assistant", content="Wait.", tool_calls=(call,), name="gpt-4o"),
        Message(role="tool", content='["hasty", "Claude 3"]', tool_call_id="gpt-4"),
    )
    system, asked, result = blind(said, frozenset({"hasty"}), "").messages
    assert system == said[0]
    assert asked.name is None
    assert asked.tool_calls == (ToolCall(name="ask_[model]", arguments='{"model": "[model]", "n": 4}', id="gpt-4"),)
    assert result == Message(role="tool", content='["[agent]", "[model]"]', tool_call_id="gpt-4")


@pytest.mark.parametrize(
    ("data", "masked"),
    [
        ('{"v4": true, "x": "v4"}', '{"v4": true, "x": "v4"}'),
        ('{"a1": a1}', '{"[agent]": [agent]}'),
        ('{"a": nan9, "b": "nan9"', '{"a": [agent], "b": "[agent]"'),
        ("true", "true"),
        ('"say \\"hi\\" true"', '"say \\"hi\\" [agent]"'),
        ('{"true": true, "d": {"true": [true, "true"]}}', '{"[agent]": true, "d": {"[agent]": [true, "[agent]"]}}'),
        ("[" * 200_000 + "true", "[" * 200_000 + "[agent]"),
        ('{"n": ' + "9" * 5000 + ', "true": true}', '{"n": ' + "9" * 5000 + ', "[agent]": true}'),
    ],
)
def test_json_is_masked_inside_its_strings_only(data: str, masked: str) -> None:
    names = frozenset({"a1", "true", "nan9"})
    assert shown(data, "tool", names) == masked
    call = Message(role="assistant", tool_calls=(ToolCall(name="t", arguments=data),))
    assert blind([call], names, "").messages[0].tool_calls[0].arguments == masked


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(NAMES) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON, st.booleans(), st.text(max_size=5))
def test_what_was_json_is_json_of_the_same_shape(value: Any, ascii_only: bool, name: str) -> None:
    def shape(part: Any) -> Any:
        if isinstance(part, dict):
            return [shape(one) for one in part.values()]
        if isinstance(part, list):
            return list(map(shape, part))
        return type(part) if isinstance(part, str) else part

    found = shown(json.dumps(value, ensure_ascii=ascii_only), "tool", frozenset({name, "true", "hasty"}))
    # Of two keys with one name a reader sees the last, so values are compared where no key was masked.
    pairs = json.loads(
        found, object_pairs_hook=lambda items: {str(number): one for number, (_, one) in enumerate(items)}
    )
    assert shape(pairs) == shape(value)


@given(st.lists(st.sampled_from(NAMES) | st.text(max_size=20), max_size=8), st.text(max_size=6))
def test_all_but_the_names_stays_as_it_is(parts: list[str], name: str) -> None:
    text = " ".join(parts)
    found = blind([Message(role="assistant", content=text)], frozenset({name, "hasty"}), "")
    rest = text
    for piece in (
        found.messages[0]
        .content.replace("[agent]", "\0")
        .replace("[model]", "\0")
        .replace("[vendor]", "\0")
        .split("\0")
    ):
        assert piece.replace("\0", "") in rest
        rest = rest[rest.index(piece) + len(piece) :]


def test_a_name_with_a_broken_character_inside_can_still_be_counted_and_stored() -> None:
    found = blind([Message(role="assistant", content="G\ud800PT-4")], frozenset(), "")
    assert (found.messages[0].content, dict(found.masked)) == ("[model]", {"G?PT-4": 1})


@pytest.mark.parametrize(
    "text",
    [
        "gpt-1 " * 20_000,
        "i am " * 20_000,
        "我是由" * 30_000,
        "\\" * 100_000,
        "由开发" * 30_000,
        "as an ai made " * 9_000,
        "I am a language model made by " * 5_000,
        "e\u0301" * 50_000,
    ],
    ids=lambda text: text[:12],
)
def test_text_made_to_be_slow_is_masked_in_bounded_time(text: str) -> None:
    # No clock: a pattern that backtracks without bound would meet the suite's time limit here.
    assert shown(text).count("[model]") == (20_000 if text.startswith("gpt") else 0)


AGENT, BASE = "initech/zorblax-9", "claude-3-5-sonnet-20241022"
TASK = Task(task_id="t", prompt="Cancel order 7 of the customer Kimi.", success_criteria="Say that OpenClaw did it.")
SAID = (
    Message(role="system", content=f"You are {AGENT}."),
    Message(role="user", content="My name is Kimi. Are you ChatGPT?"),
    Message(
        role="assistant",
        content=f"I'm Claude, made by Anthropic ({BASE}); zorblax-9 to friends. 我是由阿里云开发的。",
        tool_calls=(ToolCall(name="cancel", arguments=json.dumps({"by": AGENT, "通义千问": "通义千问"})),),
    ),
    Message(role="tool", content='{"agent": "INITECH/zorblax-9", "order": 7}', name=AGENT),
)
SECRETS = ("zorblax", "claude", "anthropic", "chatgpt", "阿里云", "通义千问", "\\u901a\\u4e49", "gpt-4")


def blind_record() -> Record:
    sides = ((AGENT, BASE, SAID), ("other-one", "gpt-4", (Message(role="assistant", content="No. other-one won't."),)))
    return Record(
        line=1,
        task=TASK,
        episodes=tuple(
            Episode(trajectory=Trajectory(task_id="t", agent=agent, trial=0, messages=said, base_model=base))
            for agent, base, said in sides
        ),
        pair=PairKey(pair_id="p", trial=0),
    )


async def judged(deps: Deps, form: Form) -> list[dict[str, Any]]:
    stored(deps.store, [blind_record()])
    done = await judge(JudgeRequest(audit="a", form=form), deps)
    assert done.run.state == "done"
    return rows(deps.store, "SELECT log_id, trajectory_id, order_shown, shown_json FROM judge_logs ORDER BY log_id")


async def test_the_bytes_that_leave_name_nobody_and_the_log_keeps_the_map(tmp_path: Path) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        logs = await judged(deps, "pairwise")
        sent = [turn.content for turns in server.asked for turn in turns]
        assert len(server.asked) == len(logs) == 2
        assert [name for name in (*SECRETS, "other-one", "initech") for text in sent if name in text.casefold()] == []
        assert all("customer Kimi" in text and "My name is Kimi." in text for text in sent[1::2]), "as the task has it"
        masked = json.loads(logs[0]["shown_json"])["masked"]
        assert masked == {
            **{"Anthropic": 1, "ChatGPT": 1, "Claude": 1, BASE: 1, "阿里云": 1},
            **{AGENT: 1, "INITECH/zorblax-9": 1, "zorblax-9": 1, "other-one": 1},
            **{"\\u901a\\u4e49\\u5343\\u95ee": 2},
        }
        assert logs[1]["shown_json"] == logs[0]["shown_json"]
        record = (await read_record(RecordRequest(uri=record_uri("a", "logs", logs[0]["log_id"])), deps)).record
        assert record["shown_json"]["masked"] == masked
        (kept,) = rows(deps.store, "SELECT messages_json FROM trajectories WHERE agent = :agent", agent=AGENT)
        assert messages_from(kept["messages_json"]) == SAID


async def test_a_judge_that_sees_no_tools_is_told_of_no_mask_in_them(tmp_path: Path) -> None:
    async with PromptJudge(lambda turns: '{"reason": "r", "score": 4}') as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
            logs = await judged(deps, "proxy")
            sent = [turns[1].content for turns in server.asked]
            found = [json.loads(log["shown_json"])["masked"] for log in logs]
    masks = [sum(text.count(mask) for mask in MASKS) for text in sent]
    assert sorted(sum(one.values()) for one in found) == sorted(masks) == [1, 6]
    assert not {name for one in found for name in one} & {AGENT, "INITECH/zorblax-9"}


async def test_a_session_is_judged_as_blind_as_a_pair(tmp_path: Path) -> None:
    def reply(turns: Any) -> str:
        return '{"reason": "So it is.", "satisfaction": 0.5}'

    async with PromptJudge(reply) as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        logs = await judged(deps, "satisfaction")
        sent = "".join(turn.content for turns in server.asked for turn in turns).casefold()
        assert [name for name in SECRETS if name in sent] == []
        assert sorted(log["shown_json"] is not None for log in logs) == [True, True]
