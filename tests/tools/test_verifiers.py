"""Hard checks of an episode: one a rule, what they come to, and that nothing of a rule or an episode can stop them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from misjudge_storage.types import Message, ToolCall
from misjudge_tools.episodes import json_answers, text_checks
from misjudge_tools.episodes.rules import RULE, Rule
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.tool_checks import calls_of
from misjudge_tools.episodes.verifiers import Evidence, Outside, verify
from misjudge_tools.episodes.world import World, build_image
from misjudge_tools.judging.patterns import first_match

NOTHING = Outside(Allowed())


def rule(**values: Any) -> Rule:
    return RULE.validate_python(values)


def user(text: str) -> Message:
    return Message(role="user", content=text)


def agent(text: str = "", *calls: tuple[str, str] | tuple[str, str, str | None]) -> Message:
    made = tuple(ToolCall(name=call[0], arguments=call[1], id=call[2] if len(call) == 3 else None) for call in calls)
    return Message(role="assistant", content=text, tool_calls=made)


def tool(text: str, call_id: str | None = None) -> Message:
    return Message(role="tool", content=text, tool_call_id=call_id)


def evidence(*messages: Message) -> Evidence:
    return Evidence(messages, None, None, None)


async def checked(messages: Sequence[Message], **values: Any) -> bool | None:
    part, outcome = await verify([rule(**values)], "all", evidence(*messages), NOTHING)
    assert (part.scope, outcome.scope, part.source, outcome.source) == ("part", "outcome", "verifier", "verifier")
    assert part.passed is outcome.passed
    return part.passed


CONVERSATION = (
    user("Cancel O-1, please."),
    agent("One moment.", ("get_order", '{"order_id": "O-1"}', "c1")),
    tool('{"status": "paid"}', "c1"),
    agent("Shall I cancel it?"),
    user("Yes."),
    agent("", ("cancel_order", '{"order_id": "O-1", "cents": 100, "full": true, "lines": [{"n": 1}]}', "c2")),
    tool('{"error": "try again"}', "c2"),
    agent("", ("cancel_order", '{"order_id": "O-1", "cents": 100, "full": true, "lines": [{"n": 1}]}', "c2")),
    tool('{"refund": "$129.50"}', "c2"),
    agent("Done:  your refund of $129.50\nis due on March 14."),
)


@pytest.mark.parametrize(
    ("values", "passed"),
    [
        ({"kind": "tool_called", "value": "cancel_order"}, True),
        ({"kind": "tool_called", "value": "cancel_order", "at_most": 1}, False),
        ({"kind": "tool_called", "value": "cancel_order", "at_most": 1, "succeeded": True}, True),
        ({"kind": "tool_called", "value": "cancel_order", "at_least": 2}, True),
        ({"kind": "tool_called", "value": "cancel_order", "at_least": 2, "succeeded": True}, False),
        ({"kind": "tool_called", "value": "cancel"}, False),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"order_id": "O-1"}}, True),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"order_id": "o-1"}}, False),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"cents": 100.0}}, True),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"cents": "100"}}, False),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"full": True}}, True),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"full": 1}}, False),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"lines": [{"n": 1}]}}, True),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"lines": [{"n": True}]}}, False),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"lines": [{}]}}, False),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"lines": []}}, False),
        ({"kind": "tool_called", "value": "cancel_order", "arguments": {"reason": None}}, False),
        ({"kind": "tool_not_called", "value": "cancel_order"}, False),
        ({"kind": "tool_not_called", "value": "cancel_order", "arguments": {"cents": 5}}, True),
        ({"kind": "tool_not_called", "value": "refund"}, True),
        ({"kind": "tool_order", "values": ["get_order", "cancel_order"]}, True),
        ({"kind": "tool_order", "values": ["get_order", "cancel_order", "cancel_order"]}, True),
        ({"kind": "tool_order", "values": ["cancel_order", "get_order"]}, False),
        ({"kind": "tool_order", "values": ["get_order", "get_order"]}, False),
        ({"kind": "asked_first", "value": "cancel_order"}, True),
        ({"kind": "asked_first", "value": "cancel_order", "turns": 2}, False),
        ({"kind": "asked_first", "value": "get_order"}, False),
        ({"kind": "asked_first", "value": "refund", "turns": 3}, True),
        ({"kind": "says", "facts": [129.5, "2026-03-14"]}, True),
        ({"kind": "says", "facts": [129.5, "2026-03-15"]}, False),
        ({"kind": "says", "facts": [[1, "2026-03-14"], [129.5]]}, True),
        ({"kind": "says", "facts": [[1, 2], [129.5]]}, False),
        ({"kind": "says", "facts": ["One moment"]}, True),
        ({"kind": "says", "facts": ["One moment"], "where": "answer"}, False),
        ({"kind": "says", "facts": ["paid"]}, False),
        ({"kind": "says", "facts": ["O-1"]}, False),
        ({"kind": "not_says", "facts": [129, 29.5, "2026-04-14"]}, True),
        ({"kind": "not_says", "facts": [129, 129.5]}, False),
        ({"kind": "not_says", "facts": ["moment"], "where": "answer"}, True),
        ({"kind": "contains", "value": "done: your REFUND"}, True),
        ({"kind": "contains", "value": "ｄｏｎｅ"}, True),
        ({"kind": "contains", "value": ["sorry", "refund"]}, True),
        ({"kind": "contains", "value": "try again"}, False),
        ({"kind": "contains", "value": "moment", "where": "answer"}, False),
        ({"kind": "not_contains", "value": ["sorry", "refund"]}, False),
        ({"kind": "not_contains", "value": ["sorry", "paid"]}, True),
        ({"kind": "regex", "value": r"\$\d+\.\d\d$", "absent": True}, True),
        ({"kind": "regex", "value": r"(?m)\$\d+\.\d\d$"}, True),
        ({"kind": "regex", "value": "^One"}, False),
        ({"kind": "regex", "value": "^One", "where": "any"}, True),
        ({"kind": "number_range", "value": r"refund of (\S+)", "low": 129.5, "high": 129.5}, True),
        ({"kind": "number_range", "value": r"refund of (\S+)", "low": 130}, False),
        ({"kind": "number_range", "value": r"refund of (\S+)", "high": 129}, False),
        ({"kind": "number_range", "value": r"\d+\.\d+", "low": 1}, True),
        ({"kind": "number_range", "value": r"your (\w+)"}, False),
        ({"kind": "number_range", "value": r"costs (\S+)"}, False),
        ({"kind": "number_range", "value": r"(x)?refund"}, False),
    ],
)
async def test_a_rule_holds_or_does_not(values: dict[str, Any], passed: bool) -> None:
    assert await checked(CONVERSATION, **values) is passed


def listing(start: int, number: int) -> list[Message]:
    """Two messages that name so many numbers in a row."""
    half = start + number // 2
    ranges = range(start, half), range(half, start + number)
    return [agent(f"Your refund is either {', '.join(map(str, numbers))}.") for numbers in ranges]


DAYS = [agent(", ".join(f"2026-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}" for n in range(300)))]


@pytest.mark.parametrize(
    ("messages", "facts", "holds"),
    [
        (listing(100, 199), [129], True),
        (listing(100, 200), [129], False),
        (listing(100, 200), ["O-129"], False),
        (listing(100, 200), [["Rome", 129]], False),
        (DAYS, ["2026-03-14"], False),
        ([*DAYS, agent("It is 2026-03-14.")], ["2026-03-14"], False),
        (listing(100, 200), ["your refund"], True),
        (listing(100, 200), [["your refund", 129]], True),
    ],
)
async def test_who_lists_hundreds_of_numbers_tells_none_of_them(
    messages: list[Message], facts: list[Any], holds: bool
) -> None:
    assert await checked([*messages, agent("O-129: five.")], kind="says", facts=facts) is holds
    assert await checked(messages, kind="not_says", facts=[129, "2026-03-14"]) is False


async def test_how_many_numbers_there_are_is_asked_of_the_text_that_is_looked_at() -> None:
    told = [*listing(100, 300), agent("Your refund is 129.")]
    assert await checked(told, kind="says", facts=[129], where="answer") is True
    part, _ = await verify([rule(kind="says", facts=[129])], "all", evidence(*told), NOTHING)
    assert (part.passed, part.evidence) == (False, "so many numbers that none of them is told")


async def test_an_agent_that_did_nothing_says_and_calls_nothing() -> None:
    for messages in ((), (user("Hello?"),), (user("Hello?"), agent("  "))):
        assert await checked(messages, kind="contains", value="Hello") is False
        assert await checked(messages, kind="not_contains", value="Hello") is True
        assert await checked(messages, kind="not_says", facts=[1]) is True
        assert await checked(messages, kind="length", unit="words", at_most=0) is True
        assert await checked(messages, kind="format", value="one_line") is False
        assert await checked(messages, kind="json_schema", value={}) is False
        assert await checked(messages, kind="tool_called", value="a") is False


async def test_the_opening_is_no_answer_to_the_agent() -> None:
    call = agent("", ("cancel", "{}"))
    asked: dict[str, Any] = {"kind": "asked_first", "value": "cancel"}
    assert await checked((user("a"), user("b"), call), **asked) is False
    assert await checked((user("a"), agent("Sure?"), user("b"), user("c"), call), **asked, turns=2) is False
    assert await checked((user("a"), agent("Sure?"), agent(" "), user("b"), call), **asked) is True
    assert await checked((agent("Sure?"), user("b"), agent("Sure?"), user("c"), call), **asked, turns=2) is True
    assert await checked((agent("Sure?"), agent("I cancel.", ("cancel", "{}")), user("b")), **asked) is False


def successes(*messages: Message) -> list[bool]:
    return [call.succeeded for call in calls_of(messages)]


def test_a_call_is_paired_with_its_answer_by_id_or_else_by_order() -> None:
    fine, bad = '{"ok": 1}', '{"error": "no"}'
    two = agent("", ("a", "{}", "x"), ("b", "{}", "y"))
    assert successes(two, tool(bad, "y"), tool(fine, "x")) == [True, False]
    assert successes(two, tool(bad), tool(fine)) == [False, True]
    assert successes(two, tool(bad, "unknown"), tool(fine, "y")) == [False, True]
    assert successes(two, tool(fine, "x")) == [True, False]
    same = agent("", ("a", "{}", "x"), ("b", "{}", "x"))
    assert successes(same, tool(bad, "x"), tool(fine, "x")) == [False, True]
    bare = agent("", ("a", "{}"), ("b", "{}"))
    assert successes(bare, tool(fine, "z"), tool(bad, None)) == [True, False]
    assert successes(bare, agent("", ("c", "{}")), tool(fine)) == [False, False, True]
    assert successes(tool(fine), bare, tool(fine), tool(fine), tool(bad)) == [True, True]


@pytest.mark.parametrize(
    ("answer", "succeeded"),
    [
        ('{"error": null}', False),
        ('{"errors": 1}', True),
        ('["error"]', True),
        ("error", True),
        ("", True),
        ("[" * 9999, True),
    ],
)
def test_an_answer_is_an_error_by_its_key(answer: str, succeeded: bool) -> None:
    assert successes(agent("", ("a", "{}", "x")), tool(answer, "x")) == [succeeded]


async def test_arguments_that_are_no_object_are_none() -> None:
    for arguments in ("", "[1]", "{", "null", "[" * 9999):
        messages = (agent("", ("a", arguments)),)
        assert await checked(messages, kind="tool_called", value="a") is True
        assert await checked(messages, kind="tool_called", value="a", arguments={"x": 1}) is False


LIST = "- one\n- two\n  more of two\n\n- three"
TABLE = "| a | b |\n|---|:-:|\n| 1 | 2 |"


@pytest.mark.parametrize(
    ("answer", "unit", "count"),
    [
        ("One two-three, it's 3.5 kg.", "words", 5),
        ("您好，世界 hello", "words", 5),
        ("3月14日 OK", "words", 5),
        ("  ab \n", "characters", 2),
        ("您好。", "characters", 3),
        ('It costs 3.50. Really?! "Yes." Fine', "sentences", 4),
        ("一句。两句！三句", "sentences", 3),
        ("A line\nanother", "sentences", 2),
        ("... !", "sentences", 0),
        ("a\n\n b\n", "lines", 2),
        (LIST, "items", 3),
        ("1. one\n2) two\n（3）three\n3、four\n* five\n-six\n**seven**", "items", 5),
    ],
)
async def test_the_length_of_an_answer_is_counted(answer: str, unit: str, count: int) -> None:
    messages = (agent("Before."), agent(answer))
    for low, high, passed in ((count, count, True), (count + 1, None, False), (None, count - 1, False)):
        bounds = {"at_least": low, "at_most": high}
        if high is None or high >= 0:
            assert await checked(messages, kind="length", unit=unit, **bounds) is passed


async def test_the_length_of_all_messages_is_their_sum() -> None:
    messages = (agent("one two"), user("x y z"), agent("three"))
    assert await checked(messages, kind="length", unit="words", at_least=3, at_most=3, where="any") is True
    assert await checked(messages, kind="length", unit="words", at_least=1, at_most=1) is True


@pytest.mark.parametrize(
    ("form", "answer", "passed"),
    [
        ("json", '{"a": [1, NULL]}', False),
        ("json", '{"a": [1, null]}', True),
        ("json", '```json\n{"a": 1}\n```', True),
        ("json", "```\n[1]\n```\n", True),
        ("json", "```json\n```", False),
        ("json", '{"a": NaN}', False),
        ("json", "42", False),
        ("json", 'Here: {"a": 1}', False),
        ("json", "[" * 100_000, False),
        ("list", LIST, True),
        ("list", f"Here it is:\n\n{LIST}", True),
        ("list", f"这是清单：\n{LIST}", True),
        ("list", f"{LIST}\nThat is all.", False),
        ("list", f"Here it is\n{LIST}", False),
        ("list", "Here:", False),
        ("list", "  more", False),
        ("list", "**bold** text", False),
        ("numbered_list", "1. a\n2. b\n   - c\n3. d", True),
        ("numbered_list", "一览：\n1、甲\n2、乙", True),
        ("numbered_list", "1. a\n3. b", False),
        ("numbered_list", LIST, False),
        ("numbered_list", "1. a\nb", False),
        ("table", TABLE, True),
        ("table", f"The table:\n\n{TABLE}", True),
        ("table", "a | b\n--|--\n1 | 2", True),
        ("table", "| a | b |\n| 1 | 2 |\n| 3 | 4 |", False),
        ("table", "| a |\n|---|", False),
        ("table", f"{TABLE}\nDone.", False),
        ("iso_date", "2026-03-14", True),
        ("iso_date", "It comes on 2026-03-14, not on 2026-03-15.", True),
        ("iso_date", "It comes on 2026-03-14 (March 14).", False),
        ("iso_date", "It comes on 2026-3-14.", False),
        ("iso_date", "3月14日", False),
        ("iso_date", "2026-13-14 or so", True),
        ("iso_date", "soon", False),
        ("one_line", "a line", True),
        ("one_line", "two\nlines", False),
    ],
)
async def test_the_form_of_an_answer_is_told(form: str, answer: str, passed: bool) -> None:
    assert await checked((agent("Before."), agent(answer)), kind="format", value=form) is passed


async def test_json_that_is_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_answers, "MOST_CHARACTERS", 5)
    assert await checked((agent("[1,2]"),), kind="format", value="json") is True
    assert await checked((agent("[1,23]"),), kind="format", value="json") is False


SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": "^O-\\d+$"}, "n": {"type": "integer"}},
    "required": ["id"],
}


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        ('{"id": "O-1", "n": 2}', True),
        ('```json\n{"id": "O-1"}\n```', True),
        ('{"id": "X-1"}', False),
        ('{"id": 1}', False),
        ('{"n": 2}', False),
        ('{"id": "O-1", "n": "2"}', False),
        ("no JSON", False),
    ],
)
async def test_json_fits_its_schema(answer: str, passed: bool) -> None:
    assert await checked((agent(answer),), kind="json_schema", value=SCHEMA) is passed


async def test_an_older_draft_of_a_schema_is_read_as_that() -> None:
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    assert await checked((agent("1"),), kind="json_schema", value=old) is False
    assert await checked((agent("2"),), kind="json_schema", value=old) is True


async def test_nothing_is_fetched_for_a_schema(caplog: pytest.LogCaptureFixture) -> None:
    elsewhere = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    assert await checked((agent('{"a": 1}'),), kind="json_schema", value=elsewhere) is None
    assert await checked((agent('{"b": 1}'),), kind="json_schema", value=elsewhere) is True
    assert "SECRET" not in caplog.text


async def test_a_schema_without_end_is_unknown() -> None:
    assert await checked((agent("{}"),), kind="json_schema", value={"$ref": "#"}) is None


ENDLESS = "^(a|aa)+$"


async def test_a_pattern_that_takes_too_long_is_unknown() -> None:
    messages = (agent("a" * 50_000 + "b"),)
    for values in (
        {"kind": "regex", "value": ENDLESS},
        {"kind": "regex", "value": ENDLESS, "absent": True},
        {"kind": "number_range", "value": ENDLESS},
    ):
        assert await checked(messages, **values) is None
    quoted = (agent(f'"{"a" * 50_000}b"'),)
    assert await checked(quoted, kind="json_schema", value={"pattern": ENDLESS}) is None


def test_the_first_match_is_labelled_with_its_group_or_itself() -> None:
    assert first_match(r"(\d)x", "1x 2x") == ("1", 0, 2)
    assert first_match(r"\dx", "1x 2x") == ("1x", 0, 2)
    assert first_match(r"(\d)?x", "x") == ("", 0, 1)
    assert first_match(r"y", "x") is None


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "regex", "value": "("},
        {"kind": "regex", "value": ""},
        {"kind": "number_range", "value": "a{5000}{5000}"},
        {"kind": "json_schema", "value": {"type": "nothing"}},
        {"kind": "json_schema", "value": {"items": {"pattern": "("}}},
        {"kind": "json_schema", "value": deep(2000)},
        {"kind": "json_schema", "value": {"allOf": [{"patternProperties": {"a": {}}}]}},
        {"kind": "says", "facts": []},
        {"kind": "says", "facts": [[]]},
        {"kind": "says", "facts": [None]},
        {"kind": "says", "facts": [[True]]},
        {"kind": "not_says", "facts": [" "]},
        {"kind": "weird", "value": "a"},
        {"kind": "contains", "value": "a", "weight": 0},
    ],
)
def test_a_rule_that_can_never_be_told_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        rule(**values)


async def test_without_rules_there_is_no_check() -> None:
    assert await verify([], "all", evidence(), NOTHING) == ()


async def test_a_rule_is_named_by_itself_or_by_what_it_looks_for() -> None:
    rules = [
        rule(kind="contains", value="a", name="says a"),
        rule(kind="contains", value="a"),
        rule(kind="contains", value="a"),
        rule(kind="contains", value="a", where="answer"),
        rule(kind="world"),
        rule(kind="says", facts=[1, ["b", 2]], name="  "),
        rule(kind="sql", query="SELECT 1", equals=1),
        rule(kind="contains", value="x" * 900),
        rule(kind="contains", value="y\0"),
        rule(kind="tool_order", values=["a", "b"]),
        rule(kind="length", unit="words", at_most=5),
        rule(kind="human"),
        rule(kind="human"),
    ]
    *parts, last = await verify(rules, "all", evidence(agent("b")), NOTHING)
    names = [part.verifier for part in parts]
    assert names[:7] == [
        "says a",
        "contains: a",
        "contains: a (2)",
        "contains: a (3)",
        "world",
        "says: [1, ['b', 2]]",
        "sql: SELECT 1",
    ]
    assert (len(names[7]), names[7][-1], names[8]) == (300, "…", "contains: y\ufffd")
    assert names[9:] == ["tool_order: ['a', 'b']", "length: words, 5", "human", "human (2)"]
    assert last.verifier == "success"


async def test_a_rule_of_the_name_success_is_still_a_part() -> None:
    part, last = await verify([rule(kind="not_contains", value="x", name="success")], "all", evidence(), NOTHING)
    assert (part.scope, last.scope) == ("part", "outcome")


async def test_evidence_holds_no_text_of_the_transcript() -> None:
    spoken = (user("SECRET"), agent("SECRET 129 [SECRET]", ("SECRET", '{"SECRET": 1}')), tool("SECRET"))
    rules = [
        rule(kind="contains", value="a"),
        rule(kind="not_says", facts=[129]),
        rule(kind="says", facts=[128, "x", 129]),
        rule(kind="regex", value="S"),
        rule(kind="number_range", value=r"\w+"),
        rule(kind="tool_called", value="a"),
        rule(kind="tool_order", values=["a", "b"]),
        rule(kind="format", value="json"),
        rule(kind="json_schema", value={"type": "string"}),
        rule(kind="length", unit="words", at_least=50),
    ]
    checks = await verify(rules, "all", evidence(*spoken), NOTHING)
    assert not [check for check in checks if "SECRET" in check.evidence or not check.evidence]
    assert "fact 1, 2 of the rule" in checks[2].evidence
    assert "fact 1 of the rule" in checks[1].evidence


async def test_a_check_that_crashes_is_unknown_and_quotes_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(_rule: object, messages: Sequence[Message]) -> None:
        raise RuntimeError(messages[0].content)

    monkeypatch.setattr(text_checks, "contains", crash)
    with caplog.at_level(logging.DEBUG):
        crashed, held, last = await verify(
            [rule(kind="contains", value="a"), rule(kind="not_says", facts=[1])],
            "all",
            evidence(agent("SECRET")),
            NOTHING,
        )
    assert (crashed.passed, crashed.evidence, held.passed, last.passed) == (None, "the check crashed", True, None)
    assert "RuntimeError" in caplog.text
    assert "SECRET" not in caplog.text


async def test_a_person_is_asked_later() -> None:
    part, last = await verify([rule(kind="human", question="Was it kind?")], "all", evidence(), NOTHING)
    assert (part.verifier, part.passed, last.passed, last.reward) == ("human: Was it kind?", None, None, None)


async def test_a_model_has_an_opinion_that_does_not_count() -> None:
    asked: list[str] = []

    async def model(question: str) -> bool | None:
        asked.append(question)
        return False

    rules = [rule(kind="model", question="Was it kind?"), rule(kind="not_contains", value="x")]
    held, opinion, last = await verify(rules, "all", evidence(), Outside(Allowed(), model))
    assert asked == ["Was it kind?"]
    assert (opinion.source, opinion.scope, opinion.passed) == ("model", "part", False)
    assert (held.source, last.passed, last.reward) == ("verifier", True, 1.0)
    opinion, last = await verify(rules[:1], "all", evidence(), NOTHING)
    assert (opinion.passed, last.passed, last.reward, last.evidence) == (None, None, None, "no rule can tell success")


async def test_a_call_that_is_lost_ends_the_checks() -> None:
    class Lost(Exception):
        pass

    async def model(_question: str) -> bool | None:
        raise Lost

    with pytest.raises(Lost):
        await verify([rule(kind="model", question="?")], "all", evidence(), Outside(Allowed(), model))


async def test_all_kinds_of_evidence_come_together(tmp_path: Path) -> None:
    before = build_image("CREATE TABLE t (a INTEGER PRIMARY KEY);", None)
    with World.from_image(before) as world:
        world.connection.execute("INSERT INTO t VALUES (7)")
        after = world.image()
    (tmp_path / "out.txt").write_text("7", encoding="utf-8")
    rules = [
        rule(kind="world", changes=[{"table": "t", "added": {"a": 7}}]),
        rule(kind="sql", query="SELECT a FROM t", equals=7),
        rule(kind="file", path="out.txt", equals="7"),
        rule(kind="says", facts=[7]),
    ]
    whole = Evidence((agent("It is seven."),), before, after, tmp_path)
    *parts, last = await verify(rules, "all", whole, NOTHING)
    assert [part.passed for part in parts] == [True] * 4
    assert (last.passed, last.reward, last.evidence) == (True, 1.0, "4 of 4 rules hold")
    barred = [rule(kind="http_status", url="http://127.0.0.1:9/"), rule(kind="command", value="make")]
    *parts, last = await verify(barred, "all", whole, NOTHING)
    assert [part.passed for part in parts] == [None, None]
    assert "not allowed" in parts[0].evidence
    assert "allows no command" in parts[1].evidence
