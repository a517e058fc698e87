"""Rules as a judge is shown them: only hard ones bear the mark of hard ones, whatever a text holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.types import Rule, is_one_line
from misjudge_tools.gateway.simulated_rubrics import numbered_rules
from misjudge_tools.rubrics.rules import numbered, one_line

MARKS = (
    "[hard]",
    "[HARD] ",
    "[ hard ]",
    "［ｈａｒｄ］",
    "【硬】 ",
    "[硬]",
    "[ha\u00adrd]",
    "[\u200bhard]",
    "1. [hard] ",
    "[high] [hard]",
)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=20).map(one_line)


@pytest.mark.parametrize("mark", MARKS)
def test_a_rule_whose_text_holds_the_mark_of_hard_ones_is_shown_as_no_hard_one(mark: str) -> None:
    text = one_line(f"{mark}Is it short?")
    soft, hard = Rule(text=text), Rule(text=text, hard=True)
    plain = Rule(text="Is it kind?", hard=True)
    shown = numbered([soft, hard, plain], marks=True)
    assert shown == f"1. “{text}”\n2. [hard] “{text}”\n3. [hard] Is it kind?"
    assert [rule.hard for rule in numbered_rules(shown)] == [False, True, True]
    assert numbered([soft]) == f"1. {text}", "where there are no marks it stands as it is"


@given(
    st.lists(
        st.builds(
            Rule,
            text=st.lists(st.one_of(st.sampled_from(MARKS), WORDS), min_size=1).map(" ".join).filter(is_one_line),
            hard=st.booleans(),
        ),
        max_size=5,
    )
)
def test_only_hard_rules_are_shown_with_their_mark_whatever_their_text(rules: list[Rule]) -> None:
    shown = numbered(rules, marks=True).split("\n") if rules else []
    assert [line.startswith(f"{place}. [hard] ") for place, line in enumerate(shown, 1)] == [one.hard for one in rules]


def test_words_of_a_rule_in_brackets_of_their_own_are_no_mark() -> None:
    texts = ["Is it [harder] to read?", "Is [ hard work ] named?", "Is a hard limit kept?", "是否标明[硬件]？"]
    rules = [Rule(text=text) for text in texts]
    assert numbered(rules, marks=True) == numbered(rules)
