from __future__ import annotations

from typing import Any

import pytest

from misjudge_storage.types import Message, RecordError, ToolCall
from misjudge_tools.interchange.messages import read_messages, system_message


def test_openai_messages_with_string_content_keep_their_roles_and_text() -> None:
    read = read_messages(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi", "name": "ann"},
            {"role": "assistant", "content": "Hello"},
        ]
    )
    assert read == (
        Message(role="system", content="Be brief."),
        Message(role="user", content="Hi", name="ann"),
        Message(role="assistant", content="Hello"),
    )


def test_a_developer_message_is_a_system_message() -> None:
    assert read_messages([{"role": "developer", "content": "Rules"}]) == (Message(role="system", content="Rules"),)


def test_openai_tool_calls_and_their_results_are_kept_as_written() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a":1}'}}
    read = read_messages(
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "found"},
        ]
    )
    assert read == (
        Message(role="assistant", tool_calls=(ToolCall(name="find", arguments='{"a":1}', id="c1"),)),
        Message(role="tool", content="found", tool_call_id="c1", name="find"),
    )


def test_tool_arguments_given_as_an_object_become_json_text() -> None:
    call = {"id": "c1", "function": {"name": "find", "arguments": {"city": "Köln"}}}
    (read,) = read_messages([{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert read.tool_calls == (ToolCall(name="find", arguments='{"city": "Köln"}', id="c1"),)


def test_a_tool_call_without_arguments_has_empty_ones() -> None:
    (read,) = read_messages([{"role": "assistant", "tool_calls": [{"function": {"name": "now"}}]}])
    assert read.tool_calls == (ToolCall(name="now", arguments="{}"),)


def test_legacy_function_calls_and_custom_tool_calls_are_read() -> None:
    custom = {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    read = read_messages(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": "{}"}},
            {"role": "function", "name": "find", "content": "found"},
            {"role": "assistant", "tool_calls": [custom]},
        ]
    )
    assert [message.role for message in read] == ["assistant", "tool", "assistant"]
    assert read[0].tool_calls == (ToolCall(name="find"),)
    assert read[2].tool_calls == (ToolCall(name="shell", arguments="ls", id="c2"),)


def test_text_parts_are_joined_and_other_parts_are_named() -> None:
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {}},
        {"type": "file", "file": {}},
        {"type": "hologram"},
        "and tell",
    ]
    (read,) = read_messages([{"role": "user", "content": parts}])
    assert read.content == "Look:\n[image]\n[audio]\n[file]\n[other content]\nand tell"


def test_a_refusal_part_counts_as_text() -> None:
    (read,) = read_messages([{"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}])
    assert read.content == "I cannot."


def test_anthropic_blocks_become_tool_calls_and_hidden_thinking_is_left_out() -> None:
    blocks = [
        {"type": "thinking", "thinking": "secret", "signature": "x"},
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "t1", "name": "find", "input": {"a": 1}},
    ]
    (read,) = read_messages([{"role": "assistant", "content": blocks}])
    assert read.content == "One moment."
    assert read.tool_calls == (ToolCall(name="find", arguments='{"a": 1}', id="t1"),)


def test_anthropic_tool_results_become_tool_messages_in_the_order_written() -> None:
    blocks = [
        {"type": "text", "text": "first"},
        {"type": "tool_result", "tool_use_id": "t1", "content": "plain"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "in"}, {"type": "image"}]},
        {"type": "text", "text": "last"},
    ]
    assert read_messages([{"role": "user", "content": blocks}]) == (
        Message(role="user", content="first"),
        Message(role="tool", content="plain", tool_call_id="t1"),
        Message(role="tool", content="in\n[image]", tool_call_id="t2"),
        Message(role="user", content="last"),
    )


def test_a_user_message_of_tool_results_alone_adds_no_empty_user_message() -> None:
    block = {"type": "tool_result", "tool_use_id": "t1"}
    assert read_messages([{"role": "user", "content": [block]}]) == (Message(role="tool", tool_call_id="t1"),)


def test_an_empty_list_of_parts_is_an_empty_message() -> None:
    assert read_messages([{"role": "user", "content": []}]) == (Message(role="user"),)


def test_the_separate_system_prompt_is_text_or_blocks_or_absent() -> None:
    assert system_message(None) == ()
    assert system_message("Rules") == (Message(role="system", content="Rules"),)
    assert system_message([{"type": "text", "text": "Rules"}]) == (Message(role="system", content="Rules"),)
    with pytest.raises(RecordError, match=r"^system has content"):
        system_message(3)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("Hello", "messages must be a list"),
        ([3], "message 1 is not an object"),
        ([{"role": "user", "content": "x"}, {"role": "judge"}], "message 2 has a role other than system"),
        ([{"role": ["user"]}], "message 1 has a role other than"),
        ([{"role": "user", "content": 3}], "has content that is neither text nor a list"),
        ([{"role": "user", "content": [3]}], "has a part that is neither text nor an object"),
        ([{"role": "user", "content": [{"text": "x"}]}], "has a part without a type"),
        ([{"role": "user", "content": [{"type": "text"}]}], "has a text part without text"),
        ([{"role": "assistant", "tool_calls": {}}], "has tool_calls that are not a list of objects"),
        ([{"role": "assistant", "tool_calls": [{"function": {}}]}], "has a tool call without a name"),
        ([{"role": "assistant", "tool_calls": [{"function": "find"}]}], "has a tool call without a name"),
        ([{"role": "assistant", "function_call": "find"}], "has a tool call without a name"),
        ([{"role": "tool", "tool_call_id": 7, "content": ""}], "has a tool_call_id that is not text"),
    ],
)
def test_what_is_not_a_chat_message_is_refused_with_its_number(value: Any, problem: str) -> None:
    with pytest.raises(RecordError, match=problem):
        read_messages(value)


def test_a_refusal_never_repeats_the_text_of_the_transcript() -> None:
    with pytest.raises(RecordError) as caught:
        read_messages([{"role": "SECRET", "content": "SECRET"}])
    assert "SECRET" not in str(caught.value)
