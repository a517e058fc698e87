"""Text of records in a report: what would be obeyed, or not be seen, is made visible; the rest stays as it is."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hostile_records import LONG, MARKUP, UNSEEN
from misjudge_tools.report.document import Table
from misjudge_tools.report.drill_down import anchor
from misjudge_tools.report.markdown import escaped, table_lines
from misjudge_tools.report.plain_text import cut, one_line, visible

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a␛[31mb"),
        ("\u202egnp", "⟦U+202E⟧gnp"),
        ("nul\x00", "nul␀"),
        ("\x7f\x9b", "␡⟦U+009B⟧"),
        ("\ud800", "⟦U+D800⟧"),
        ("one\r\ntwo\rthree\tfour", "one\ntwo␍three\tfour"),
        ("\U000e0041", "⟦U+E0041⟧"),
        ("ann a\u00adnn", "ann a⟦U+00AD⟧nn"),
        ("\u3164\U000e0101", "⟦U+3164⟧⟦U+E0101⟧"),
        ("naïve 中文 👩‍🚀 עברית", "naïve 中文 👩‍🚀 עברית"),
    ],
)
def test_controls_become_signs_and_words_stay(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_format_character_is_unseen() -> None:
    """But the joiners of words and emoji, and signs of Arabic and Syriac numbers, which are seen."""
    seen = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x200C, 0x200D}
    hidden = [code for code in range(0x10000) if unicodedata.category(chr(code)) == "Cf" and code not in seen]
    assert len(hidden) > 20
    assert [f"U+{code:04X}" for code in hidden if visible(f"a{chr(code)}b") != f"a⟦U+{code:04X}⟧b"] == []


def test_marks_that_are_stacked_up_are_four_at_most() -> None:
    assert visible("z" + "\u0335" * 200 + "e\u0301") == "z" + "\u0335" * 4 + "e\u0301"


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_nothing_that_would_be_obeyed_is_left(text: str) -> None:
    assert OBEYED.search(visible(text)) is None
    assert visible(visible(text)) == visible(text)


def test_a_cut_says_how_much_is_left_out() -> None:
    assert cut("abcdef", 4) == ("abcd", 2)
    assert cut("abc", 4) == ("abc", 0)


@pytest.mark.parametrize("text", [*MARKUP, *UNSEEN, *(one[:3_000] for one in LONG)])
def test_no_text_is_markup_in_markdown(text: str) -> None:
    """Rendered by a reader that takes HTML, it is its own text again."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    [paragraph] = [token for token in reader.parse(f"- {escaped(text)}") if token.type == "inline"]
    assert [child.type for child in paragraph.children or [] if child.type not in {"text", "text_special"}] == []
    assert paragraph.children is None or "".join(child.content for child in paragraph.children) == one_line(text)


@pytest.mark.parametrize(
    "text", ["http://evil.example/", "see https://evil.example", "ftp://x.example", "www.evil.example", "WWW.Evil.org"]
)
def test_no_address_becomes_a_link_of_its_own(text: str) -> None:
    """GitHub makes a link of what it reads as `://` or `www.`, unless a backslash stands in it."""
    written = escaped(f"agent {text} is")
    assert re.search(r"(?i)(?<!\\)://|www\.", written) is None
    assert written.replace("\\", "") == f"agent {text} is"


@pytest.mark.parametrize("text", [*MARKUP, *UNSEEN])
def test_no_text_makes_another_cell_or_row(text: str) -> None:
    lines = "\n".join(table_lines(Table(("a", "b"), ((text, text), ("last", "row")))))
    tokens = MarkdownIt("commonmark").enable("table").parse(lines)
    assert [token.type for token in tokens].count("td_open") == 4


def test_a_plain_id_is_an_anchor_and_any_other_has_one() -> None:
    assert anchor("pair", "p-1_x") == "pair-p-1_x"
    made = {anchor("pair", name) for name in ("a b", "a/b", 'a"b', "a<b", "x" * 65)}
    assert len(made) == 5 and all(re.fullmatch(r"pair-[0-9a-f]{24}", one) for one in made)
