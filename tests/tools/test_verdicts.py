"""The reply reader against hostile replies: every row says what the labels shown were given, or why nothing was."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from misjudge_storage.types import Preference, Scale, UnscoredReason
from misjudge_tools.judging.forms import FORMS as SPECS
from misjudge_tools.judging.verdicts import (
    TEXT_LIMIT,
    PairReading,
    ReplyForm,
    SatisfactionReading,
    pair_schema,
    read_pair,
    read_satisfaction,
    satisfaction_schema,
)

FIVE = Scale(low=0, high=5)
SHARE = SPECS["satisfaction"]
JSON = ReplyForm()
LETTER = ReplyForm(kind="letter")
TAG = ReplyForm(kind="tag")
FINAL = ReplyForm(kind="regex", pattern=r"(?i)final verdict: *(\w+)")
CHINESE = ReplyForm(
    kind="regex", pattern=r"结论[:：]\s*(甲|乙|平局|丙)", labels=(("甲", "A"), ("乙", "B"), ("平局", "tie"))
)
FORMS = (JSON, LETTER, TAG, FINAL, CHINESE)


class Case(NamedTuple):
    """A pairwise reply and what must be read: a winner, or the reason why there is none."""

    title: str
    form: ReplyForm
    reply: str
    expected: Preference | UnscoredReason
    repaired: bool = False
    contradicts: bool = False


A = '{"reasons": "A asked first.", "score_a": 4, "score_b": 2, "winner": "A"}'
B = '{"reasons": "B refunded.", "score_a": 1, "score_b": 5, "winner": "B"}'
ECHO = '{"reasons": "<short>", "score_a": <0-5>, "score_b": <0-5>, "winner": <"A"|"B"|"tie">}'
MT_BENCH = 'output your final verdict: "[[A]]" if A is better, "[[B]]" if B is better, and "[[C]]" for a tie.'

HOSTILE = (
    Case("plain", JSON, A, "A"),
    Case("tie", JSON, '{"winner": "tie"}', "tie"),
    Case("byte order mark and blank lines", JSON, f"\ufeff\n\n{A}\n\n", "A"),
    Case("fence", JSON, f"```json\n{A}\n```", "A"),
    Case("fence without a language in prose", JSON, f"Here you are:\n```\n{B}\n```\nDone.", "B"),
    Case(
        "backticks inside the reasons", JSON, '```json\n{"reasons": "ran ```rm -rf``` twice", "winner": "B"}\n```', "B"
    ),
    Case(
        "fence inside the reasons",
        JSON,
        '```\n{"reasons": "```json {\\"winner\\": \\"B\\"}```", "winner": "A"}\n```',
        "A",
    ),
    Case("example echoed in reasoning", JSON, f"<think>The format is {B}, fine.</think>{A}", "A"),
    Case("reasoning in capitals", JSON, f"<THINKING>{B}</THINKING>\n{A}", "A"),
    Case("two blocks of reasoning", JSON, f"<think>{B}</think> so <reasoning>{B}</reasoning> {A}", "A"),
    Case("reasoning that never closes", JSON, f"<think>I lean to {A}", "parse_error"),
    Case("reasoning opened in the prompt", JSON, f"Say {B}? No.</think>\n{A}", "A"),
    Case("reasoning only", JSON, f"<think>{A}</think>", "parse_error"),
    Case(
        "a tag of reasoning inside the reasons", JSON, '```\n{"reasons": "leaks <think> tags", "winner": "A"}\n```', "A"
    ),
    Case("two different verdicts", JSON, f"{A}\nOn reflection:\n{B}", "conflict"),
    Case("two different verdicts in fences", JSON, f"```json\n{A}\n```\n```json\n{B}\n```", "conflict"),
    Case("the same verdict twice", JSON, f"{A}\nIn short: {A}", "A"),
    Case("the same winner, other scores", JSON, f'{A} {{"winner": "A"}}', "A"),
    Case("winner stated twice in one object", JSON, '{"winner": "A", "winner": "B"}', "conflict"),
    Case("winner stated twice alike", JSON, '{"winner": "A", "winner": "A"}', "A"),
    Case("score stated twice", JSON, '{"score_a": 1, "score_a": 2, "winner": "A"}', "conflict"),
    Case("a conflict earlier", JSON, f'{{"winner": "A", "winner": "B"}} {A}', "conflict"),
    Case("cut inside the reasons", JSON, '{"reasons": "A asked for the or', "parse_error"),
    Case("cut inside the winner", JSON, '{"reasons": "x", "winner": "A', "parse_error"),
    Case("cut before the winner", JSON, '{"reasons": "x", "score_a": 4, "winner": ', "parse_error"),
    Case("last brace missing", JSON, '{"reasons": "x", "winner": "A"', "A", repaired=True),
    Case("last brace missing in a fence", JSON, '```json\n{"reasons": "x", "winner": "A"\n```', "A", repaired=True),
    Case("a verdict, then a cut one", JSON, f'{A} No: {{"reasons": "in fact', "parse_error"),
    Case("a verdict, then a value not offered", JSON, f'{A} {{"winner": "neither"}}', "parse_error"),
    Case("a value not offered, then a verdict", JSON, f'{{"winner": "A|B|tie"}}\n{A}', "A"),
    Case("commas and braces inside strings", JSON, '{"reasons": "a, b,} and {c,] \\"d\\",", "winner": "B"}', "B"),
    Case("trailing comma", JSON, '{"reasons": "x,}", "winner": "B",}', "parse_error"),
    Case("trailing comma after plain reasons", JSON, '{"reasons": "x, y,", "winner": "B",}', "B", repaired=True),
    Case("single quotes", JSON, "{'reasons': 'x', 'winner': 'A'}", "A", repaired=True),
    Case("quotes not escaped", JSON, '{"reasons": "said "no" twice", "winner": "A"}', "A", repaired=True),
    Case("line break inside a string", JSON, '{"reasons": "one\ntwo", "winner": "A"}', "A", repaired=True),
    Case("comment", JSON, '{"reasons": "x", // short\n "winner": "A"}', "A", repaired=True),
    Case(
        "a quoted verdict, quotes not escaped",
        JSON,
        f'{{"reasons": "it said {B} there", "winner": "A"}}',
        "parse_error",
    ),
    Case("a quoted verdict in single quotes", JSON, f"{{'winner': 'A', 'reasons': 'it said {B}'}}", "parse_error"),
    Case("a quoted verdict that closes early", JSON, f'{{"reasons": "wrote "}} {B} "", "winner": "A"}}', "parse_error"),
    Case("script notation around a quoted verdict", JSON, f"{{reasons: 'wrote {B}', winner: 'A'}}", "parse_error"),
    Case("prose only", JSON, "Response A is clearly better, so the winner is A.", "parse_error"),
    Case("prose with a bare key", JSON, 'I set "winner": "A" here.', "parse_error"),
    Case("prompt echo", JSON, f"Reply with one JSON object:\n{ECHO}", "parse_error"),
    Case("prompt echo, then a verdict", JSON, f"The format is {ECHO}\n{A}", "A"),
    Case("schema echo", JSON, json.dumps(pair_schema(FIVE)), "parse_error"),
    Case("alternatives", JSON, '{"reasons": "x", "winner": "A" | "B"}', "parse_error"),
    Case("curly quotes", JSON, "{“reasons”: “fine”, “winner”: “B”}", "B", repaired=True),
    Case("full-width signs", JSON, "｛＂reasons＂：＂好＂，＂winner＂：＂Ｂ＂｝", "B", repaired=True),
    Case("full-width colon", JSON, '{"reasons": "好", "score_a": 4, "winner"："A"}', "A", repaired=True),
    Case("full-width letter", JSON, '{"winner": "Ａ"}', "A"),
    Case("curly quotes inside the reasons", JSON, '{"reasons": "“好”", "winner": "A"}', "A"),
    Case("NaN", JSON, '{"score_a": NaN, "score_b": 2, "winner": "B"}', "parse_error"),
    Case("infinity", JSON, '{"score_a": 1e999, "score_b": 2, "winner": "A"}', "parse_error"),
    Case("a number of many digits", JSON, f'{{"score_a": {"9" * 5000}, "winner": "A"}}', "parse_error"),
    Case("NaN to repair", JSON, '{"score_a": NaN, "winner": "B",}', "parse_error"),
    Case("score out of the scale", JSON, '{"score_a": 5.01, "score_b": 2, "winner": "A"}', "parse_error"),
    Case("score below the scale", JSON, '{"score_a": 1, "score_b": -1, "winner": "A"}', "parse_error"),
    Case("score as a string", JSON, '{"score_a": "4", "score_b": 2, "winner": "A"}', "parse_error"),
    Case("score as a boolean", JSON, '{"score_a": true, "score_b": 0, "winner": "A"}', "parse_error"),
    Case("score null", JSON, '{"score_a": null, "score_b": 2, "winner": "B"}', "parse_error"),
    Case("cut score to repair", JSON, '{"winner": "A", "score_a": 1', "parse_error"),
    Case("range as a score to repair", JSON, '{"score_a": 0-5, "winner": "A"}', "parse_error"),
    Case("lower-case winner", JSON, '{"winner": " b "}', "B"),
    Case("upper-case tie", JSON, '{"winner": "TIE"}', "tie"),
    Case("winner not offered", JSON, '{"winner": "C"}', "parse_error"),
    Case("winner null", JSON, '{"winner": null}', "parse_error"),
    Case("winner a list", JSON, '{"winner": ["A"]}', "parse_error"),
    Case("winner contradicts the scores", JSON, '{"score_a": 1, "score_b": 4, "winner": "A"}', "A", contradicts=True),
    Case("B contradicts the scores", JSON, '{"score_a": 4, "score_b": 1, "winner": "B"}', "B", contradicts=True),
    Case("a tie never contradicts", JSON, '{"score_a": 4, "score_b": 1, "winner": "tie"}', "tie"),
    Case("equal scores never contradict", JSON, '{"score_a": 4, "score_b": 4, "winner": "B"}', "B"),
    Case("empty", JSON, "", "parse_error"),
    Case("empty object", JSON, "{}", "parse_error"),
    Case("web page", JSON, "<html><body><h1>502 Bad Gateway</h1>{}</body></html>", "parse_error"),
    Case("verdict in a web page", JSON, f"<p>{A}</p>", "A"),
    Case("wrapped in another object", JSON, f'{{"example": {A}}}', "parse_error"),
    Case("an example inside the verdict", JSON, f'{{"example": {B}, "winner": "A"}}', "A"),
    Case("an example inside a broken object", JSON, f'{{"example": {B}, oops', "parse_error"),
    Case("JSON inside a JSON string", JSON, json.dumps(A), "parse_error"),
    Case("braces of prose", JSON, f"In {{A, B}} and \\text{{both {{ sides: {A}", "A"),
    Case("letter", LETTER, "B", "B"),
    Case("letter with spaces, full-width and lower-case", LETTER, "\u3000ａ \n", "A"),
    Case("letter after reasoning", LETTER, "<think>B? No.</think>\n\nA", "A"),
    Case("letter in prose", LETTER, "The answer is A", "parse_error"),
    Case("letter with a full stop", LETTER, "A.", "parse_error"),
    Case("letter, quoted", LETTER, "“A”", "parse_error"),
    Case("two letters", LETTER, "A\nB", "parse_error"),
    Case("letter not offered", LETTER, "C", "parse_error"),
    Case("letter, prompt echo", LETTER, "Answer with A, B or tie.", "parse_error"),
    Case("letter, empty", LETTER, " \n", "parse_error"),
    Case("letter, web page", LETTER, "<html>A</html>", "parse_error"),
    Case("tag in the reasoning and another at the end", TAG, "At first [[A]], but it lied, so [[B]]", "B"),
    Case("tag in a block of reasoning", TAG, "[[A]] <think>or [[B]]", "A"),
    Case("tag of MT-Bench for a tie", TAG, "Both fail. [[C]]", "tie"),
    Case("tag tie", TAG, "[[ Tie ]]", "tie"),
    Case("tag of Arena-Hard", TAG, "My final verdict is: [[A>>B]]", "A"),
    Case("tag of Arena-Hard for B", TAG, "[[B>A]]", "B"),
    Case("tag of Arena-Hard, full-width", TAG, "[[Ａ＝Ｂ]]", "tie"),
    Case("last tag not offered", TAG, "[[A]] … see [[1]]", "parse_error"),
    Case("single brackets", TAG, "[A]", "parse_error"),
    Case("tag cut", TAG, "My final verdict is [[A", "parse_error"),
    Case("tag, prose only", TAG, "A is better.", "parse_error"),
    Case("tag, JSON", TAG, A, "parse_error"),
    Case("last match of a pattern", FINAL, "Final verdict: A. Wait.\nFINAL VERDICT: b", "B"),
    Case("pattern before the end", FINAL, "Final verdict: A, and that is all.", "A"),
    Case("pattern that captures another word", FINAL, "Final verdict: A\nFinal verdict: unclear", "parse_error"),
    Case("pattern without a match", FINAL, "A wins", "parse_error"),
    Case("pattern in reasoning only", FINAL, "<think>Final verdict: A</think> Hm.", "parse_error"),
    Case("group that took no part", ReplyForm(kind="regex", pattern=r"verdict(?:: (A|B))?"), "verdict", "parse_error"),
    Case("Chinese labels", CHINESE, "理由……\n结论：乙", "B"),
    Case("Chinese tie", CHINESE, "结论: 甲？不，结论: 平局", "tie"),
    Case("Chinese label not in the map", CHINESE, "结论：丙", "parse_error"),
    Case("pattern far from the end", FINAL, "Final verdict: A" + " " * TEXT_LIMIT + ".", "parse_error"),
)


def scored(reading: PairReading) -> Preference | UnscoredReason | None:
    return reading.winner or reading.unscored_reason


@pytest.mark.parametrize("case", HOSTILE, ids=[f"{case.form.kind}: {case.title}" for case in HOSTILE])
def test_a_hostile_reply_is_read_as_stated_or_not_at_all(case: Case) -> None:
    reading = read_pair(case.reply, case.form, scale=FIVE)

    assert (scored(reading), reading.repaired, reading.contradicts_scores) == (
        case.expected,
        case.repaired,
        case.contradicts,
    )
    assert (reading.winner is None) == (reading.unscored_reason is not None)


def test_a_reading_holds_scores_and_reasons() -> None:
    assert read_pair(A, JSON, scale=FIVE) == PairReading("A", 4.0, 2.0, "A asked first.")


def test_the_last_of_equal_verdicts_gives_scores_and_reasons() -> None:
    last = '{"reasons": "second", "score_a": 5, "score_b": 0, "winner": "A"}'

    assert read_pair(A + last, JSON, scale=FIVE) == PairReading("A", 5.0, 0.0, "second")


def test_scores_have_no_bounds_where_the_scale_has_none() -> None:
    reading = read_pair('{"score_a": -900, "score_b": 1e6, "winner": "B"}', JSON, scale=Scale())

    assert (reading.winner, reading.score_a, reading.score_b) == ("B", -900.0, 1e6)


def test_a_scale_where_lower_is_better_turns_the_contradiction() -> None:
    ranks = Scale(low=1, high=2, better="lower")

    assert not read_pair('{"score_a": 1, "score_b": 2, "winner": "A"}', JSON, scale=ranks).contradicts_scores
    assert read_pair('{"score_a": 1, "score_b": 2, "winner": "B"}', JSON, scale=ranks).contradicts_scores


def test_reasons_can_be_stored_anywhere() -> None:
    reading = read_pair('{"reasons": "a\\u0000b\\ud800c", "winner": "A"}', JSON, scale=FIVE)

    assert reading.reasons == "a\N{REPLACEMENT CHARACTER}b?c"


def test_reasons_that_are_not_text_are_left_out() -> None:
    assert read_pair('{"reasons": ["x"], "winner": "A"}', JSON, scale=FIVE) == PairReading("A")


def test_what_stands_before_the_last_tag_is_the_reasons() -> None:
    assert read_pair("A paid. \n[[A]] thanks", TAG, scale=FIVE) == PairReading("A", reasons="A paid.")


def test_labels_of_its_own_serve_letters_and_tags() -> None:
    labels: tuple[tuple[str, Preference], ...] = (("Response 1", "A"), ("Response 2", "B"))

    assert read_pair("response １", ReplyForm(kind="letter", labels=labels), scale=FIVE).winner == "A"
    assert read_pair("[[Response 2]]", ReplyForm(kind="tag", labels=labels), scale=FIVE).winner == "B"
    assert read_pair("[[A]]", ReplyForm(kind="tag", labels=labels), scale=FIVE).unscored_reason == "parse_error"


@pytest.mark.parametrize(
    ("form", "reply", "expected"),
    [
        (JSON, A, "A"),
        (JSON, f"<think>{B}</think>\n{A}\n", "A"),
        (JSON, A[:-1], "truncated"),
        (JSON, f"{A} But then", "truncated"),
        (JSON, f"So: {A}", "truncated"),
        (JSON, f"{A} {A}", "truncated"),
        (JSON, '{"winner": "C"}', "truncated"),
        (JSON, "<think>hm", "truncated"),
        (JSON, "", "truncated"),
        (LETTER, "A", "A"),
        (LETTER, "A is", "truncated"),
        (TAG, "[[A]]", "A"),
        (TAG, "so [[A]]", "truncated"),
        (TAG, "[[A]] but", "truncated"),
        (FINAL, "Final verdict: A", "A"),
        (FINAL, "It lied. Final verdict: A", "truncated"),
    ],
)
def test_a_truncated_reply_counts_only_if_it_is_whole(form: ReplyForm, reply: str, expected: str) -> None:
    reading = read_pair(reply, form, scale=FIVE, truncated=True)

    assert (scored(reading), reading.repaired) == (expected, False)


def test_a_refusal_is_what_the_gateway_says_and_never_guessed() -> None:
    prose = "I'm sorry, I can't help with that."

    assert read_pair(prose, JSON, scale=FIVE).unscored_reason == "parse_error"
    assert read_pair(None, JSON, scale=FIVE, refused=True) == PairReading(unscored_reason="refused")
    assert read_pair(A, JSON, scale=FIVE, refused=True, truncated=True) == PairReading(unscored_reason="refused")
    assert read_satisfaction(prose, JSON, SHARE).unscored_reason == "parse_error"
    assert read_satisfaction(None, JSON, SHARE, refused=True) == SatisfactionReading(unscored_reason="refused")


def test_no_reply_is_unscored() -> None:
    assert read_pair(None, JSON, scale=FIVE) == PairReading(unscored_reason="parse_error")
    assert read_satisfaction(None, TAG, SHARE, truncated=True).unscored_reason == "truncated"


@pytest.mark.parametrize(
    ("form", "reply", "expected"),
    [
        (JSON, '{"reason": "r", "satisfaction": 0.9}', SatisfactionReading(0.9, "r")),
        (JSON, '```json\n{"reason": "r", "satisfaction": 1}\n```', SatisfactionReading(1.0, "r")),
        (JSON, '<think>{"satisfaction": 1}</think>{"reason": "r", "satisfaction": 0}', SatisfactionReading(0.0, "r")),
        (JSON, '{"reason": "r", "satisfaction": 0.9,}', SatisfactionReading(0.9, "r", repaired=True)),
        (JSON, "{'reason': 'r', 'satisfaction': 0.9}", SatisfactionReading(0.9, "r", repaired=True)),
        (JSON, '{"reason": "r", "satisfaction": 0.9', "parse_error"),
        (JSON, '{"reason": "r", "satisfaction": 0.', "parse_error"),
        (JSON, '{"reason": "<short>", "satisfaction": <0-1>}', "parse_error"),
        (JSON, '{"satisfaction": 0.2} {"satisfaction": 0.9}', "conflict"),
        (JSON, '{"satisfaction": 0.2, "satisfaction": 0.9}', "conflict"),
        (JSON, '{"satisfaction": 0.5} {"satisfaction": 0.50}', SatisfactionReading(0.5)),
        (JSON, '{"satisfaction": 1.2}', "parse_error"),
        (JSON, '{"satisfaction": "0.9"}', "parse_error"),
        (JSON, '{"satisfaction": true}', "parse_error"),
        (JSON, '{"satisfaction": -Infinity}', "parse_error"),
        (JSON, "0.9", "parse_error"),
        (JSON, A, "parse_error"),
        (LETTER, " 0.9\n", SatisfactionReading(0.9)),
        (LETTER, "０.９", SatisfactionReading(0.9)),
        (LETTER, "9", "parse_error"),
        (LETTER, "90%", "parse_error"),
        (LETTER, "nan", "parse_error"),
        (LETTER, "1e-1", "parse_error"),
        (TAG, "Fine. Rating: [[0.5]]", SatisfactionReading(0.5, "Fine. Rating:")),
        (TAG, "[[0.5]] or [[A]]", "parse_error"),
        (
            ReplyForm(kind="regex", pattern=r"score: ([-\d.]+)"),
            "score: 0.2, then score: 0.4",
            SatisfactionReading(0.4, "score: 0.2, then"),
        ),
        (ReplyForm(kind="regex", pattern=r"score: ([-\d.]+)"), "score: -0.2", "parse_error"),
    ],
)
def test_a_satisfaction_reply_is_a_number_on_the_scale_or_unscored(
    form: ReplyForm, reply: str, expected: SatisfactionReading | UnscoredReason
) -> None:
    if isinstance(expected, str):
        expected = SatisfactionReading(unscored_reason=expected)

    assert read_satisfaction(reply, form, SHARE) == expected


def test_a_truncated_satisfaction_is_unscored_unless_whole() -> None:
    whole, cut = '{"reason": "r", "satisfaction": 0.9}', '{"reason": "r", "satisfaction": 0.9,'

    assert read_satisfaction(whole, JSON, SHARE, truncated=True).score == 0.9
    assert read_satisfaction(cut, JSON, SHARE, truncated=True).unscored_reason == "truncated"


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"kind": "regex"}, "A pattern belongs to the reply form regex"),
        ({"kind": "tag", "pattern": "(A)"}, "A pattern belongs to the reply form regex"),
        ({"kind": "regex", "pattern": "(A"}, "not a valid Python regular expression"),
        ({"kind": "regex", "pattern": "(A){99999999999}"}, "not a valid Python regular expression"),
        ({"kind": "regex", "pattern": "A|B"}, "has 0 capture groups and needs exactly one"),
        ({"kind": "regex", "pattern": "[[(A|B)]]"}, r"literal brackets as \\\( or \\\["),
        ({"kind": "regex", "pattern": "(A)|(B)"}, "has 2 capture groups and needs exactly one"),
        ({"kind": "regex", "pattern": f"(A{'x' * 1000})"}, "at most 1000 characters"),
        ({"kind": "json", "labels": (("A", "A"),)}, "fixed labels"),
        ({"kind": "letter", "labels": (("  ", "A"),)}, "A label is 1 to 100 characters"),
        ({"kind": "letter", "labels": (("x" * 101, "A"),)}, "A label is 1 to 100 characters"),
        ({"kind": "letter", "labels": (("One", "A"), ("ｏｎｅ", "B"))}, "Two labels are the same"),
    ],
)
def test_a_form_that_cannot_be_read_is_refused_with_a_sentence(form: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        ReplyForm(**form)


def test_the_schemas_put_reasons_first_and_accept_what_the_reader_reads() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = pair_schema(FIVE)

    assert list(schema["properties"]) == ["reasons", "score_a", "score_b", "winner"] == schema["required"]
    assert list(satisfaction_schema(SHARE)["properties"]) == ["reason", "satisfaction"]
    jsonschema.validate(json.loads(A), schema)
    for wrong in ('{"winner": "A"}', A.replace("4", "6"), A.replace('"A"', '"C"'), A.replace("{", '{"x": 1, ')):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(wrong), schema)


def test_a_scale_without_bounds_gives_a_schema_without_bounds() -> None:
    assert satisfaction_schema(SHARE._replace(scale=Scale()))["properties"]["satisfaction"] == {"type": "number"}
    assert pair_schema(Scale(low=1))["properties"]["score_a"] == {"type": "number", "minimum": 1.0}


FRAGMENTS = (
    *(A, B, ECHO, MT_BENCH, A[:-1], '{"winner":', '"winner": "A"', "{", "}", '"', "'", "“", "\\", ",", "\n", "```json"),
    *(
        "<think>",
        "</think>",
        "[[A]]",
        "[[",
        "]]",
        "A",
        "tie",
        "Final verdict: A",
        "结论：乙",
        "0.5",
        '{"satisfaction": 1',
    ),
)
REPLIES = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=40), max_size=25).map(
    lambda parts: "".join(parts)[:2000]
)
POINTS = st.floats(0, 5) | st.integers(0, 5)
OTHER: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}


@settings(deadline=None, max_examples=300)
@given(reply=REPLIES | st.text(max_size=2000), form=st.sampled_from(FORMS), truncated=st.booleans())
def test_any_reply_is_either_scored_or_unscored_with_a_reason(reply: str, form: ReplyForm, truncated: bool) -> None:
    pair = read_pair(reply, form, scale=FIVE, truncated=truncated)
    one = read_satisfaction(reply, form, SHARE, truncated=truncated)

    assert (pair.winner is None) == (pair.unscored_reason is not None)
    assert (one.score is None) == (one.unscored_reason is not None)
    assert not (truncated and (pair.repaired or one.repaired))
    assert pair.winner is not None or pair == PairReading(unscored_reason=pair.unscored_reason)


@settings(deadline=None, max_examples=200)
@given(
    reasons=REPLIES,
    winner=st.sampled_from(tuple(OTHER)),
    score_a=POINTS,
    score_b=POINTS,
    around=st.sampled_from([("", ""), ("```json\n", "\n```"), ("Verdict: ", " Done."), (f"<think>{A}{B}</think>", "")]),
    ascii_only=st.booleans(),
)
def test_a_well_formed_verdict_is_read_whatever_its_reasons_quote_and_swaps_with_its_labels(
    reasons: str, winner: Preference, score_a: float, score_b: float, around: tuple[str, str], ascii_only: bool
) -> None:
    def read(winner: Preference, score_a: float, score_b: float) -> PairReading:
        verdict = {"reasons": reasons, "score_a": score_a, "score_b": score_b, "winner": winner}
        return read_pair(around[0] + json.dumps(verdict, ensure_ascii=ascii_only) + around[1], JSON, scale=FIVE)

    reading = read(winner, score_a, score_b)
    swapped = read(OTHER[winner], score_b, score_a)

    assert reading[:3] == (winner, score_a, score_b)
    assert reading.reasons == reasons.replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert swapped == reading._replace(winner=OTHER[winner], score_a=score_b, score_b=score_a)
