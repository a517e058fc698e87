"""What rules come to once each has a verdict: every small case against another way to say the same."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.types import Preference, Rule
from misjudge_tools.judging.rule_verdicts import RuleVerdict
from misjudge_tools.judging.ruling import (
    Applied,
    Ruling,
    of_stored_rules,
    pair_ruling,
    shown_rules,
    sides_swapped,
    single_ruling,
)

Said = bool | None
WINNERS: tuple[Preference | None, ...] = ("A", "B", "tie", None)
OTHER: dict[str | None, str | None] = {"A": "B", "B": "A", "tie": "tie", None: None}


def rules(hard: tuple[bool, ...]) -> list[Rule]:
    return [Rule(text=f"Does it do {n}?", hard=one) for n, one in enumerate(hard, 1)]


def of_pair(*met: tuple[Said, Said]) -> list[RuleVerdict]:
    return [RuleVerdict(n, met_a=a, met_b=b) for n, (a, b) in enumerate(met, 1)]


def of_one(*met: Said) -> list[RuleVerdict]:
    return [RuleVerdict(n, met=one) for n, one in enumerate(met, 1)]


def hard_lists(most: int) -> Iterator[tuple[bool, ...]]:
    for number in range(most + 1):
        yield from product((False, True), repeat=number)


def pair_oracle(hard: tuple[bool, ...], met: tuple[tuple[Said, Said], ...], winner: Preference | None) -> Ruling:
    """Sides are ranked by how many hard rules they meet, then by how many soft ones."""
    unknown = [one for one in met if None in one]
    if unknown or not hard:
        return Ruling(None, None, len(unknown))
    ranks = [
        tuple(
            sum(bool(one[side]) for one, is_hard in zip(met, hard, strict=True) if is_hard is kind)
            for kind in (True, False)
        )
        for side in (0, 1)
    ]
    says = "tie" if ranks[0] == ranks[1] else "A" if ranks[0] > ranks[1] else "B"
    if winner is None or winner == says:
        return Ruling(says, None, 0)
    failed_alone = {(one, is_hard) for one, is_hard in zip(met, hard, strict=True)}
    wrong = {"A": ((False, True), True), "B": ((True, False), True)}.get(winner)
    return Ruling(says, "soft_over_hard" if wrong in failed_alone else "reweighted", 0)


def single_oracle(hard: tuple[bool, ...], met: tuple[Said, ...], passed: Said) -> Ruling:
    unknown = sum(one is None for one in met)
    if unknown or not hard:
        return Ruling(None, None, unknown)
    soft = [one for one, is_hard in zip(met, hard, strict=True) if not is_hard]
    share = Fraction(sum(map(bool, soft)), len(soft)) if soft else Fraction(1)
    all_hard = False not in {one for one, is_hard in zip(met, hard, strict=True) if is_hard}
    says = "pass" if all_hard and share > Fraction(1, 2) else "fail"
    if passed is None or (says == "pass") is passed:
        return Ruling(says, None, 0)
    return Ruling(says, "reweighted" if all_hard or not passed else "soft_over_hard", 0)


def test_every_small_pair_comes_to_what_an_oracle_says() -> None:
    either: tuple[Said, ...] = (True, False, None)
    sides = [(a, b) for a in either for b in either]
    cases = 0
    for hard in hard_lists(3):
        for met in product(sides, repeat=len(hard)):
            for winner in WINNERS:
                assert pair_ruling(rules(hard), of_pair(*met), winner) == pair_oracle(hard, met, winner)
                cases += 1
    assert cases == 4 * sum(2**n * 9**n for n in range(4))


def test_every_small_response_comes_to_what_an_oracle_says() -> None:
    for hard in hard_lists(5):
        for met in product((True, False, None), repeat=len(hard)):
            for passed in (True, False, None):
                assert single_ruling(rules(hard), of_one(*met), passed) == single_oracle(hard, met, passed)


@given(
    hard=st.lists(st.booleans(), max_size=8),
    data=st.data(),
    winner=st.sampled_from(WINNERS),
)
def test_swapping_the_sides_swaps_what_the_rules_say(
    hard: list[bool], data: st.DataObject, winner: Preference | None
) -> None:
    side = st.sampled_from((True, False, None))
    met = data.draw(st.lists(st.tuples(side, side), min_size=len(hard), max_size=len(hard)))
    other: dict[Preference | None, Preference | None] = {"A": "B", "B": "A", "tie": "tie", None: None}
    plain = pair_ruling(rules(tuple(hard)), of_pair(*met), winner)
    swapped = pair_ruling(rules(tuple(hard)), sides_swapped(of_pair(*met)), other[winner])
    assert swapped == plain._replace(says=OTHER[plain.says])


@pytest.mark.parametrize(
    ("hard", "met", "winner", "says", "conflict"),
    [
        ((True, False, False), ((True, False), (False, True), (False, True)), "B", "A", "soft_over_hard"),
        ((True, False, False), ((True, False), (False, True), (False, True)), "tie", "A", "reweighted"),
        ((False, False, False), ((True, False), (False, True), (False, True)), "A", "B", "reweighted"),
        ((True, True, False), ((True, False), (False, True), (True, False)), "A", "A", None),
        ((True, True, False), ((False, True), (False, True), (True, False)), "A", "B", "soft_over_hard"),
        ((True, False), ((False, False), (True, False)), "B", "A", "reweighted"),
    ],
)
def test_hard_rules_veto_and_soft_ones_weigh(
    hard: tuple[bool, ...],
    met: tuple[tuple[bool, bool], ...],
    winner: Preference,
    says: str,
    conflict: str | None,
) -> None:
    assert pair_ruling(rules(hard), of_pair(*met), winner) == (says, conflict, 0)


def test_who_must_name_one_contradicts_no_rules_that_come_to_a_tie() -> None:
    some, alike, better = (
        rules((True, False)),
        of_pair((True, True), (False, False)),
        of_pair((True, True), (True, False)),
    )
    assert pair_ruling(some, alike, "A").conflict == "reweighted"
    assert pair_ruling(some, alike, "A", ties=False) == ("tie", None, 0)
    assert pair_ruling(some, better, "B", ties=False) == ("A", "reweighted", 0)


def test_a_rule_without_a_verdict_leaves_open_what_the_rules_say() -> None:
    some = rules((False, False))
    assert pair_ruling(some, [RuleVerdict(2, met_a=True, met_b=False)], "B") == (None, None, 1)
    assert single_ruling(some, [RuleVerdict(1, met=True)], False) == (None, None, 1)
    assert pair_ruling(some, [], "A") == (None, None, 2)


def test_the_order_of_the_verdicts_does_not_matter_and_numbers_of_no_rule_are_ignored() -> None:
    some, said = rules((True, False)), of_pair((True, False), (False, True))
    assert pair_ruling(some, [RuleVerdict(9, met_a=False, met_b=True), *reversed(said)], "A") == ("A", None, 0)


def test_rules_that_name_a_response_are_not_shown_and_the_others_keep_their_place_in_the_set() -> None:
    texts = ("Is it short?", "Is Response A shorter?", "Does it run?", "回答B是否更好？", "Is it safe?")
    applied = shown_rules([Rule(text=text, hard=text == "Is it safe?") for text in texts])
    assert [rule.text for rule in applied.rules] == ["Is it short?", "Does it run?", "Is it safe?"]
    assert (applied.numbers, applied.left_out) == ((1, 3, 5), 2)
    said = (RuleVerdict(1, met=True, reason="short"), RuleVerdict(3, met=False))
    assert of_stored_rules(applied, said) == (
        RuleVerdict(1, met=True, reason="short"),
        RuleVerdict(3),
        RuleVerdict(5, met=False),
    )
    assert single_ruling(applied.rules, said, True) == (None, None, 1)


def test_a_set_of_which_every_rule_names_a_response_shows_none() -> None:
    assert shown_rules([Rule(text="Is Response B better than Response A?")]) == Applied(left_out=1)
