"""What a reply says of single rules: read as it is stated, or not at all, and never at the cost of the verdict."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.types import Preference, Scale
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.judging.choice import JudgingSpec, RubricSource, choose_judge, reply_schema
from misjudge_tools.judging.forms import FORMS, asked_form
from misjudge_tools.judging.prompts import Language, load_prompt
from misjudge_tools.judging.rule_verdicts import RuleVerdict, read_rules
from misjudge_tools.judging.verdicts import (
    PairReading,
    ReplyForm,
    SatisfactionReading,
    pair_schema,
    read_pair,
    read_satisfaction,
    satisfaction_schema,
)
from misjudge_tools.profiles import ModelSettings, Profile

FIVE = Scale(low=0, high=5)
JSON = ReplyForm()
RUBRIC = FORMS["rubric"]
HUMAN = RubricSource(kind="human", name="human")


def of_pair(rules: Any, winner: str = "A") -> PairReading:
    """The reading of a pairwise reply about three rules."""
    reply = {"rules": rules, "reasons": "So.", "score_a": 4, "score_b": 2, "winner": winner}
    return read_pair(json.dumps(reply), JSON, scale=FIVE, rules=3)


def of_one(rules: Any, passed: Any = True) -> SatisfactionReading:
    reply = {"rules": rules, "reason": "So.", "passed": passed}
    return read_satisfaction(json.dumps(reply), JSON, RUBRIC, rules=3)


def entry(rule: Any, a: Any = "meets", b: Any = "fails", reason: Any = "r") -> dict[str, Any]:
    return {"rule": rule, "reason": reason, "a": a, "b": b}


def met(rule: int, a: bool | None = True, b: bool | None = False, reason: str = "r") -> RuleVerdict:
    return RuleVerdict(rule, met_a=a, met_b=b, reason=reason)


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        ([entry(1), entry(2, "fails", "meets"), entry(3)], (met(1), met(2, False, True), met(3))),
        ([entry(3), entry(1)], (met(1), met(3))),
        ([entry(1, "Meets", "ＦＡＩＬＳ"), entry(2, " meets ", "FAILS")], (met(1), met(2))),
        ([entry(1, "满足", "不满足")], (met(1),)),
        ([entry(1), entry(1, reason="again")], (met(1, reason="again"),)),
        ([entry(1), entry(1, "fails"), entry(2)], (RuleVerdict(1), met(2))),
        ([entry(1), entry(1, "fails"), entry(1)], (RuleVerdict(1),)),
        ([entry(1), {"rule": 1}], (RuleVerdict(1),)),
        ([entry(1, True, "fails"), entry(2, "meets", None)], (met(1, None), met(2, b=None))),
        ([entry(1, "mostly meets", "does not meet"), {"rule": 2}], (met(1, None, None), RuleVerdict(2))),
        ([entry(1, "meets" * 50, ["fails"])], (met(1, None, None),)),
        (
            [entry(1, reason=7), entry(2, reason="a\0b")],
            (met(1, reason=""), met(2, reason="a\N{REPLACEMENT CHARACTER}b")),
        ),
        ([entry(-1), entry(4), entry(10**30), entry(1.5)], ()),
        ([entry(0), entry(1, "fails", "meets"), entry(2)], ()),
        ([entry(1), entry(2), entry(0)], ()),
        ([entry("1"), entry(True), entry(None), entry([1]), {"a": "meets"}], ()),
        (["1. meets", "A meets all", ["meets"], 1, None], ()),
        ({"1": entry(1), "2": {"a": "meets", "b": "fails"}}, ()),
        ("All rules are met by A.", ()),
        (None, ()),
        (True, ()),
    ],
)
def test_what_is_said_of_the_rules_of_a_pair_is_read_as_offered_or_not_at_all(stated: Any, read: Any) -> None:
    reading = of_pair(stated)
    assert (reading.winner, reading.score_a, reading.unscored_reason) == ("A", 4, None), "the verdict stands"
    assert reading.rules == read


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        (True, True),
        (False, False),
        (None, None),
        (1, None),
        (0, None),
        ("true", None),
        ("meets", None),
        ([True], None),
    ],
)
def test_one_response_meets_a_rule_by_true_and_false_alone(stated: Any, read: bool | None) -> None:
    assert of_one([{"rule": 2, "reason": "r", "met": stated}]).rules == (RuleVerdict(2, met=read, reason="r"),)


@pytest.mark.parametrize(
    ("passed", "score"),
    [
        (True, 1.0),
        (False, 0.0),
        (1, None),
        (0, None),
        (0.5, None),
        ("true", None),
        ("pass", None),
        (None, None),
        ([True], None),
    ],
)
def test_whether_a_response_passes_is_true_or_false_and_no_number(passed: Any, score: float | None) -> None:
    reading = of_one([{"rule": 1, "reason": "r", "met": True}], passed)
    assert (reading.score, reading.unscored_reason) == (score, None if score is not None else "parse_error")
    assert len(reading.rules) == (score is not None)


def test_two_answers_of_one_reply_are_a_conflict_and_the_rules_of_equal_ones_are_the_last() -> None:
    first, second = (json.dumps({"rules": [entry(n)], "winner": "A"}) for n in (1, 2))
    assert read_pair(f"{first}\n{second}", JSON, scale=FIVE, rules=3).rules == (met(2),)
    opposed = second.replace('"A"', '"B"')
    assert read_pair(f"{first}\n{opposed}", JSON, scale=FIVE, rules=3).unscored_reason == "conflict"
    twice = '{"rules": [], "passed": true, "passed": false}'
    assert read_satisfaction(twice, JSON, RUBRIC, rules=3).unscored_reason == "conflict"


def test_rules_that_are_stated_twice_are_not_read() -> None:
    reply = f'{{"rules": [{json.dumps(entry(1))}], "rules": [{json.dumps(entry(2))}], "winner": "B"}}'
    assert read_pair(reply, JSON, scale=FIVE, rules=3) == PairReading("B")
    sides = '{"rules": [{"rule": 1, "a": "meets", "a": "fails", "b": "fails"}], "winner": "B"}'
    assert read_pair(sides, JSON, scale=FIVE, rules=3).rules == (met(1, None, reason=""),)


@pytest.mark.parametrize(
    ("reply", "winner"),
    [
        ('{"rules": [{"rule": 1, "reason": "r", "a": "meets", "b": "fails"}], "reasons": "r", "winner": "B",}', "B"),
        ("{rules: [{rule: 1, reason: 'r', a: 'meets', b: 'fails'}], reasons: 'r', winner: 'A'}", "A"),
    ],
)
def test_the_verdict_of_a_repaired_reply_counts_and_its_rules_do_not(reply: str, winner: Preference) -> None:
    assert read_pair(reply, JSON, scale=FIVE, rules=3) == PairReading(winner, reasons="r", repaired=True)


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"rules": [{"rule": 1, "reason": "r", "met": true}], "reason": "r", "passed": true,}', 1.0),
        ("{'rules': [], 'reason': 'r', 'passed': False}", 0.0),
        ('{"rules": [], "reason": "r", "passed": true', None),
        ('{"rules": [], "reason": "r", "passed": true or false}', None),
        ('{"rules": [], "reason": "passed: false", "passed": true,}', None),
    ],
)
def test_a_repair_never_decides_whether_a_response_passes(reply: str, score: float | None) -> None:
    reading = read_satisfaction(reply, JSON, RUBRIC, rules=3)
    assert (reading.score, reading.rules, reading.repaired) == (score, (), score is not None)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_echo_of_the_instructions_says_nothing(language: Language) -> None:
    pair = load_prompt("judge_pair_rubric", language).system
    assert read_pair(pair, JSON, scale=FIVE, rules=3).unscored_reason == "parse_error"
    forced = load_prompt("judge_forced_rubric", language).system
    assert read_pair(forced, JSON, scale=FIVE, ties=False, rules=3).unscored_reason == "parse_error"
    one = load_prompt("judge_rubric", language).system
    assert read_satisfaction(one, JSON, RUBRIC, rules=3).unscored_reason == "parse_error"


def test_verdicts_on_rules_without_one_on_the_whole_leave_the_reply_unscored() -> None:
    reply = json.dumps({"rules": [entry(1), entry(2), entry(3)]})
    assert read_pair(reply, JSON, scale=FIVE, rules=3) == PairReading(unscored_reason="parse_error")
    assert read_pair(reply[:-20], JSON, scale=FIVE, rules=3, truncated=True).unscored_reason == "truncated"
    listed = json.dumps([entry(1), entry(2), entry(3)])
    assert read_pair(listed, JSON, scale=FIVE, rules=3).unscored_reason == "parse_error"


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        (JSON, '{"reasons": "r", "score_a": 3, "score_b": 3, "winner": "tie"}'),
        (ReplyForm(kind="letter"), "tie"),
        (ReplyForm(kind="tag"), "[[C]]"),
        (ReplyForm(kind="tag"), "[[A=B]]"),
        (ReplyForm(kind="letter", labels=(("both", "tie"),)), "both"),
    ],
)
def test_a_tie_of_a_judge_that_must_name_one_is_unscored(form: ReplyForm, reply: str) -> None:
    assert read_pair(reply, form, scale=FIVE).winner == "tie"
    assert read_pair(reply, form, scale=FIVE, ties=False).unscored_reason == "parse_error"


@pytest.mark.parametrize("forced", ["A", "B"])
def test_a_judge_that_must_name_one_is_read_as_another(forced: str) -> None:
    assert read_pair(forced, ReplyForm(kind="letter"), scale=FIVE, ties=False).winner == forced


@pytest.mark.parametrize(
    ("form", "reply", "score"),
    [
        (ReplyForm(kind="letter"), "PASS", 1.0),
        (ReplyForm(kind="letter"), "fail", 0.0),
        (ReplyForm(kind="tag"), "It does. [[pass]]", 1.0),
        (ReplyForm(kind="tag"), "[[0]]", 0.0),
        (ReplyForm(kind="letter"), "不通过", 0.0),
        (ReplyForm(kind="letter"), "0.5", None),
        (ReplyForm(kind="letter"), "It passes.", None),
    ],
)
def test_a_text_form_states_pass_or_fail(form: ReplyForm, reply: str, score: float | None) -> None:
    assert read_satisfaction(reply, form, RUBRIC, rules=3).score == score


def test_five_hundred_rules_are_read_and_no_more_than_were_shown() -> None:
    many = [entry(n, "meets" if n % 2 else "fails", "meets") for n in range(1, 1001)]
    read = read_rules(json.loads(json.dumps(many), parse_int=float), 500, compares=True)
    assert [verdict.rule for verdict in read] == list(range(1, 501))
    assert [verdict.met_a for verdict in read] == [bool(n % 2) for n in range(1, 501)]
    assert of_pair(many).rules == (met(1, True, True), met(2, False, True), met(3, True, True))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from(["meets", "fails"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["rule", "a", "b", "met"]), inner),
    max_leaves=12,
)


@given(stated=ANYTHING, number=st.integers(0, 5), compares=st.booleans())
def test_whatever_is_said_of_rules_only_rules_that_were_shown_have_a_verdict(
    stated: Any, number: int, compares: bool
) -> None:
    read = read_rules(stated, number, compares=compares)
    assert [verdict.rule for verdict in read] == sorted({verdict.rule for verdict in read})
    assert all(1 <= verdict.rule <= number for verdict in read)
    assert all((verdict.met is None) if compares else (verdict.met_a is verdict.met_b is None) for verdict in read)


def test_the_schemas_ask_for_rules_first_and_take_what_is_read() -> None:
    pair = pair_schema(FIVE, rules=True)
    one = satisfaction_schema(RUBRIC)
    assert list(pair["properties"]) == ["rules", "reasons", "score_a", "score_b", "winner"] == pair["required"]
    assert list(one["properties"]) == ["rules", "reason", "passed"] == one["required"]
    reply = {"rules": [entry(1), entry(2)], "reasons": "r", "score_a": 1, "score_b": 2, "winner": "tie"}
    jsonschema.validate(reply, pair)
    with pytest.raises(jsonschema.ValidationError, match="'tie'"):
        jsonschema.validate(reply, pair_schema(FIVE, ties=False, rules=True))
    jsonschema.validate({"rules": [{"rule": 1, "reason": "", "met": True}], "reason": "r", "passed": False}, one)
    for wrong in (entry(0), entry(1, "yes"), {"rule": 1, "a": "meets", "b": "fails"}, {**entry(1), "more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**reply, "rules": [wrong]}, pair)
    for wrong_passed in (1, "true", None):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"rules": [], "reason": "r", "passed": wrong_passed}, one)
    assert (
        pair_schema(FIVE) == pair_schema(FIVE, ties=True, rules=False) and "rules" not in pair_schema(FIVE)["required"]
    )


def spec(name: str, form: Any = "pairwise", **values: Any) -> JudgingSpec:
    models = ModelSettings(roles={"judge": Profile(model="m", endpoint=Endpoint(base_url="http://127.0.0.1:9"))})
    return choose_judge(name, form, "en", models, to_ask=False, **values)


@pytest.mark.parametrize("form", ["pairwise", "rubric"])
def test_only_the_local_model_is_held_to_the_number_of_rules(form: Any) -> None:
    wide, narrow = (json.loads(reply_schema(spec(name, form, rubrics=HUMAN), 3) or "") for name in ("m", "local"))
    assert wide == json.loads(reply_schema(spec("m", form, rubrics=HUMAN), 7) or ""), "one schema for all calls"
    assert list(wide["properties"])[:2] == ["rules", "reasons" if form == "pairwise" else "reason"], "verdicts follow"
    assert list(narrow["properties"]) == list(wide["properties"]) and narrow["required"] == wide["required"]
    assert list(wide["properties"]["rules"]["items"]["properties"])[:2] == ["rule", "reason"]
    listed = narrow["properties"]["rules"]
    assert (listed["minItems"], listed["maxItems"]) == (3, 3)
    fields = listed["items"]["properties"]
    assert fields["rule"]["enum"] == [1, 2, 3] and fields["reason"]["maxLength"] == 60
    assert "maxLength" in narrow["properties"]["reasons" if form == "pairwise" else "reason"]


def test_a_forced_judge_is_asked_by_another_prompt_and_a_schema_without_a_tie() -> None:
    forced = spec("m", forced=True)
    assert json.loads(reply_schema(forced) or "")["properties"]["winner"]["enum"] == ["A", "B"]
    assert "rules" not in json.loads(reply_schema(forced) or "")["properties"]
    both = json.loads(reply_schema(spec("local", forced=True, rubrics=HUMAN), 2) or "")
    assert both["properties"]["winner"]["enum"] == ["A", "B"] and "rules" in both["properties"]
    prompts = {
        asked_form("pairwise", ties=ties, rules=rules).prompt for ties in (True, False) for rules in (True, False)
    }
    assert len(prompts) == 4
