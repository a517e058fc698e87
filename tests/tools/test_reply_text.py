"""Where a reply states a verdict, how it is repaired, and that neither can be made to take long."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misjudge_storage.types import Scale
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.reply_text import (
    BROKEN_LIMIT,
    REPAIR_LIMIT,
    TWICE,
    Claim,
    claims_in,
    is_whole,
    repaired,
    without_reasoning,
)
from misjudge_tools.judging.verdicts import ReplyForm, read_pair, read_satisfaction

KEYS = ("reasons", "score_a", "score_b", "winner")
MEGABYTE = 1_000_000


def stated(reply: str) -> list[object]:
    """The winner of each claim, None for a claim that is not strict JSON."""
    return [claim.fields and claim.fields["winner"] for claim in claims_in(reply, KEYS)]


def mended(reply: str) -> object:
    claim = repaired(reply, claims_in(reply, KEYS)[-1], KEYS)
    return claim.fields and claim.fields["winner"]


def test_reasoning_is_left_out_in_each_of_its_spellings() -> None:
    assert without_reasoning("<think>a</think>b<Reasoning>c</REASONING>d") == "bd"
    assert without_reasoning("a</thinking>b") == "b"
    assert without_reasoning("a<think>b") == "a"
    assert without_reasoning("a<thinks>b") == "a<thinks>b"


def test_claims_are_found_in_order_with_their_place() -> None:
    reply = 'x {"winner": "A"} {"other": 1} {"reasons": oops} y'

    assert claims_in(reply, KEYS) == [Claim({"winner": "A"}, 2, 17), Claim(None, 31, 48)]


def test_a_key_outside_any_object_is_a_claim_that_cannot_be_read() -> None:
    assert stated('{"winner": "A"} then "winner": "B"') == ["A", None]


def test_objects_within_a_claim_are_part_of_it() -> None:
    assert stated('{"winner": {"winner": "A"}}') == [{"winner": "A"}]
    assert stated('{\'reasons\': \'{"winner": "B"}\'} {"winner": "A"}') == [None, "A"]


def test_a_key_stated_twice_differently_is_marked() -> None:
    assert stated('{"winner": "A", "winner": "B", "winner": "B"}') == [TWICE]


def test_a_claim_is_whole_if_only_reasoning_and_spaces_surround_it() -> None:
    for reply, whole in (
        (' {"winner": "A"}\n', True),
        ('<think>x</think>{"winner": "A"}', True),
        ('So {"winner": "A"}', False),
        ('{"winner": "A"} <think>x</think>', False),
    ):
        assert is_whole(reply, claims_in(reply, KEYS)[0]) is whole


@pytest.mark.parametrize(
    "reply",
    [
        '{"winner": "A",}',
        "{'winner': 'A'}",
        "{winner: 'A'}",
        '{"reasons": "x" "winner": "A"}',
        '{"winner": "A", "score_a": 2.5, }',
        '{"winner": "A", "score_a": 3',
        '{"winner": "A" "score_a": 3}',
        '{"winner": A}',
        '{"winner": "A", "winner": "B",}',
        '{"winner": "A", "score_a": 1, "score_a": 2,}',
        '{"reasons": "winner: B", "winner": "A",}',
        '{"winner": "A", "score_a": four}',
        '{"winner": "A", "score_a": [1],}',
        '{"reasons": {"winner": "A"}, ',
        "｛winner",
    ],
)
def test_a_repair_takes_only_what_is_written(reply: str) -> None:
    written = {'{"winner": "A",}', "{'winner': 'A'}", "{winner: 'A'}"}
    written |= {'{"reasons": "x" "winner": "A"}', '{"winner": "A", "score_a": 2.5, }'}

    assert mended(reply) == ("A" if reply in written else None)


def test_a_long_object_is_not_repaired() -> None:
    reply = '{"reasons": "' + "x" * REPAIR_LIMIT + '", "winner": "A",}'

    assert mended(reply) is None
    assert mended(reply.replace("x" * 100, "")) == "A"


def test_an_object_nested_too_deeply_to_repair_stays_broken() -> None:
    assert mended('{"reasons": ' + "[" * (REPAIR_LIMIT - 100)) is None


def test_a_reply_that_the_repair_trips_over_stays_broken() -> None:
    # json-repair 0.64 fails an assertion of its own here.
    assert mended('{"winner": "A", "```json{```') is None


SCRAPS = (
    *(
        "{",
        '{"',
        '{"a":',
        '{"winner":',
        '{"winner": "',
        "{'winner",
        '"winner":',
        '{"a\\',
        '{"a":[',
        '{"a":1}',
        "{ ",
        "｛winner",
    ),
    *('"', "<think>", "<think></think>", "</think>", "[[", "[[a", "\u0301\u0316", "9", '{"winner": "A"}', "```{"),
)


@pytest.mark.parametrize("scrap", SCRAPS)
@pytest.mark.parametrize("before", ["", '{"reasons": "'])
def test_a_megabyte_of_one_scrap_is_read_in_linear_time(scrap: str, before: str) -> None:
    # Quadratic reading would take minutes here; the time limit of the suite ends it.
    reply = before + scrap * (MEGABYTE // len(scrap))

    for kind in ("json", "letter", "tag"):
        form = ReplyForm.model_validate({"kind": kind})
        pair, one = read_pair(reply, form, scale=Scale()), read_satisfaction(reply, form, FORMS["satisfaction"])
        assert (pair.winner is None) == (pair.unscored_reason is not None)
        assert (one.score is None) == (one.unscored_reason is not None)


def test_a_reply_of_broken_objects_without_end_is_given_up() -> None:
    broken = '{"a" 1} '

    assert stated(broken * BROKEN_LIMIT + '{"winner": "A"}') == ["A"]
    assert stated('{"winner": "A"}' + broken * (BROKEN_LIMIT + 1)) == [None]


def test_an_object_nested_beyond_the_parser_is_a_claim_that_cannot_be_read() -> None:
    assert stated('{"winner": "A"} ' + '{"a":' * 200_000) == [None]


@pytest.mark.parametrize(
    "whole",
    [
        '{"reasons": "x", "score_a": 3.25, "score_b": 4.5, "winner": "tie"}',
        '{"winner": "tie", "score_b": 4.5, "score_a": 3.25, "reasons": "x"}',
    ],
)
def test_a_reply_cut_anywhere_gives_what_it_said_whole_or_nothing(whole: str) -> None:
    readings = [read_pair(whole[:cut], ReplyForm(), scale=Scale()) for cut in range(len(whole))]

    assert {reading.winner for reading in readings} == {"tie", None}
    assert {reading.score_a for reading in readings} == {3.25, None}
    assert {reading.score_b for reading in readings} == {4.5, None}


@settings(deadline=None, max_examples=200)
@given(
    cut=st.integers(0, 66),
    scraps=st.lists(st.sampled_from(['"', "'", "{", "}", ",", ":", "“", "：", "x", "A", '"A"', "|"]), max_size=6),
)
def test_a_repair_never_makes_up_a_winner(cut: int, scraps: list[str]) -> None:
    whole = '{"reasons": "x", "score_a": 3.25, "score_b": 4.5, "winner": "tie"}'
    reply = whole[:cut] + "".join(scraps)

    winner = read_pair(reply, ReplyForm(), scale=Scale()).winner

    assert winner is None or f'"winner":"{winner}"' in reply.replace(" ", "").translate(str.maketrans("'“：", '"":'))


def test_reading_sound_replies_does_not_import_the_repair() -> None:
    program = (
        "import sys; from misjudge_storage.types import Scale; "
        "from misjudge_tools.judging.verdicts import ReplyForm, read_pair; "
        """read_pair('{"winner": "A"}', ReplyForm(), scale=Scale()); sys.exit('json_repair' in sys.modules)"""
    )

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0
