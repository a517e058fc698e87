"""Patterns of a profile: they mean what they mean to `re`, and neither they nor a reply can hold the judge up."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from pydantic import ValidationError

import misjudge_storage
import misjudge_tools
from misjudge_storage.types import Scale
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.patterns import Found, last_match, last_of
from misjudge_tools.judging.verdicts import (
    TEXT_LIMIT,
    PairReading,
    ReplyForm,
    SatisfactionReading,
    read_pair,
    read_satisfaction,
)

FIVE = Scale(low=0, high=5)
LONG = TEXT_LIMIT - 1

ENDLESS = (
    ("^(a|aa)+$", "a" * LONG + "b"),
    ("^(?:(a|aa)+)+$", "a" * LONG + "b"),
    (r"(?:(a)+)+$", "a" * LONG + "b"),
    (r"(?:x+x+)+(y)", "x" * LONG),
    (r"(?:\w+\s?)*(A)$", "aaaa " * (LONG // 5) + "!A!"),
    (r"(?:.*?,){11}(P)", "," * LONG),
    (r"(?s)(?:.*.*.*.*.*)(z)$", "z" + "a" * LONG),
    (r"(?>(?:a|aa)+)(b)", "a" * LONG),
    (r"(?:(?:(?:(a{1,999}){1,999}){1,999}){1,999})b", "a" * LONG),
    (r"(a)(?:(?:(?!\1{0,99}b)a)*)*b$", "b" + "a" * LONG),
    (r"(\s+)$", " " * LONG + "A"),
)

EXPENSIVE = (
    "((((a{1,999}){2,999}){300,999}){9,999})",
    "(a){9999999}",
    r"(?:(?:|a){9999}){9999}(b)",
    r"(?:(?:(?:\b){9999}){99999}){99999}(x)",
    r"(?:(?:a?){99999,}?){99999,}+(b)",
    "(?:" + "a?" * 400 + "){400}(b)",
)

SAME = (
    (r"{(A|B)}", r"\boxed{B}"),
    (r"(A){e}", "B or A{e}"),
    (r"([[:alpha:]])", "h] A"),
    (r"([[:alpha:]]+)", "a] B"),
    (r"[^[:]([:A])", "x:A"),
    (r"(?x) ([AB]) { 2 }  # twice", "A{2} BB"),
    (r"([a-z&&[ab])", "z& b"),
    (r"(A{,2})b", "AAAb"),
    (r"(\N{LEFT CURLY BRACKET}|\{)x", "{x"),
    (r"(?i)(stra\u00dfe|s)", "STRASSE"),
    (r"(?m)^(\w*)$", "A\n\nB\n"),
    (r"(a*?)(?=b|$)", "aab"),
    (r"(?P<label>A|B)(?P=label)", "ABBA"),
)


def scored(pattern: str, reply: str) -> PairReading:
    return read_pair(reply, ReplyForm(kind="regex", pattern=pattern), scale=FIVE)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("pattern", "reply"), ENDLESS, ids=[pattern for pattern, _ in ENDLESS])
def test_a_pattern_that_takes_too_long_leaves_the_reply_unscored(pattern: str, reply: str) -> None:
    form = ReplyForm(kind="regex", pattern=pattern)

    assert read_pair(reply, form, scale=FIVE) == PairReading(unscored_reason="parse_error")
    assert read_satisfaction(reply, form, FORMS["satisfaction"]) == SatisfactionReading(unscored_reason="parse_error")
    assert read_pair(reply, form, scale=FIVE, truncated=True) == PairReading(unscored_reason="truncated")


def test_a_match_before_the_time_was_up_does_not_count() -> None:
    assert scored(r"^(A)|(?:a|aa)+$", "A").winner == "A"
    assert scored(r"^(A)|(?:a|aa)+$", "A" + "a" * (LONG - 1) + "b") == PairReading(unscored_reason="parse_error")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", EXPENSIVE, ids=range(len(EXPENSIVE)))
def test_a_pattern_that_would_fill_the_memory_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match=r"The pattern repeats too much: lower the counts in its braces"):
        ReplyForm(kind="regex", pattern=pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "((?:(?:a{1,999}){1,999}){1,999})",
        r"(?:.{0,500}\n){0,500}(?:.{0,500}\n){0,500}([AB])",
        r"\d{4}-\d{2}-\d{2}T[0-9a-f]{32} verdict: ([AB])",
        r"(A{1000})",
        r"(A\{9999999\})",
    ],
)
def test_counts_that_cost_nothing_are_allowed(pattern: str) -> None:
    assert ReplyForm(kind="regex", pattern=pattern).pattern == pattern


def test_a_pattern_too_deep_for_the_matcher_is_refused_like_one_that_is_none() -> None:
    with pytest.raises(ValidationError, match="not a valid Python regular expression"):
        ReplyForm(kind="regex", pattern="(?:" * 240 + "(a)" + ")" * 240)


@pytest.mark.parametrize(("pattern", "text"), SAME, ids=[pattern for pattern, _ in SAME])
def test_a_pattern_finds_what_it_finds_in_python(pattern: str, text: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        expected = last_of(re.compile(pattern).finditer(text))
        assert ReplyForm(kind="regex", pattern=pattern).pattern == pattern

    assert last_match(pattern, text) == expected


def test_the_last_match_is_found_with_its_place() -> None:
    assert last_match(r"is (\w)", "it is A, no, is B!") == Found("B", 13, 17)
    assert last_match(r"is (\w)?", "it is ") == Found("", 3, 6)
    assert last_match(r"is (\w)", "none") is None


def test_reading_other_forms_does_not_import_the_matcher() -> None:
    program = """
import sys
from misjudge_storage.types import Scale
from misjudge_tools.judging.verdicts import ReplyForm, read_pair
for kind in ("json", "letter", "tag"):
    read_pair("[[A]]", ReplyForm(kind=kind), scale=Scale())
assert "regex" not in sys.modules
ReplyForm(kind="regex", pattern="(A)")
assert "regex" in sys.modules
"""
    path = [str(Path(package.__path__[0]).parent) for package in (misjudge_storage, misjudge_tools)]
    setup = f"import sys; sys.path[:0] = {path!r}\n"
    subprocess.run([sys.executable, "-c", setup + program], check=True, timeout=60)
