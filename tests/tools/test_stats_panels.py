"""What judges come to together, over every combination of what two to five of them may say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.summary_values import Ballot, Favoured, Outcomes, Sums
from misjudge_tools.stats.panels import RULES, majority, mean_score, panel_outcome, unanimity
from misjudge_tools.stats.rates import ClusterSums, clustered_rate

READ = ("A", "B", "tie", "inconsistent")
SAID = (*READ, "unscored")
EVERY = [panel for judges in range(1, 6) for panel in combinations_with_replacement(SAID, judges)]


def ballot(panel: Sequence[str], lead: Favoured = "unknown") -> Ballot:
    votes = Counter(panel)
    return Ballot(votes["A"], votes["B"], votes["tie"], votes["inconsistent"], votes["unscored"], lead)


def completions(panel: Sequence[str]) -> list[tuple[str, ...]]:
    """What the panel would say if those that could not be read had said something."""
    choices = [READ if said == "unscored" else (said,) for said in panel]
    return [*product(*choices)]


def ruled(panel: Sequence[str], share_of: float) -> str:
    """The verdict that holds whatever the unread judges had said; unscored where it depends on them."""
    possible = set()
    for complete in completions(panel):
        agreed = {said for said in READ if complete.count(said) > share_of * len(complete)}
        assert len(agreed) < 2
        possible |= agreed or {"split"}
    return possible.pop() if len(possible) == 1 else "unscored"


@pytest.mark.parametrize("judges", [2, 3, 4, 5])
def test_a_majority_is_what_more_than_half_say_whatever_the_unread_ones_had_said(judges: int) -> None:
    panels = [panel for panel in EVERY if len(panel) == judges]
    assert {panel: majority(ballot(panel)) for panel in panels} == {panel: ruled(panel, 1 / 2) for panel in panels}


@pytest.mark.parametrize("judges", [2, 3, 4, 5])
def test_unanimity_is_what_all_say_whatever_the_unread_ones_had_said(judges: int) -> None:
    panels = [panel for panel in EVERY if len(panel) == judges]
    nearly_all = (judges - 0.5) / judges
    assert {panel: unanimity(ballot(panel)) for panel in panels} == {p: ruled(p, nearly_all) for p in panels}


def test_tie_inconsistent_split_and_unscored_are_kept_apart() -> None:
    assert majority(ballot(["tie", "tie", "A"])) == "tie"
    assert majority(ballot(["inconsistent", "inconsistent", "A"])) == "inconsistent"
    assert majority(ballot(["A", "B", "tie"])) == "split"
    assert majority(ballot(["A", "B"])) == "split", "half is no majority"
    assert majority(ballot(["A", "unscored", "unscored"])) == "unscored"
    assert majority(ballot(["A", "B", "tie", "inconsistent", "unscored"])) == "split", "one more vote makes no majority"
    assert unanimity(ballot(["A", "A", "unscored"])) == "unscored"
    assert unanimity(ballot(["A", "B", "unscored"])) == "split"


def test_one_judge_alone_is_a_panel_that_says_what_it_says() -> None:
    assert [majority(ballot([said])) for said in SAID] == [unanimity(ballot([said])) for said in SAID] == [*SAID]


def test_the_mean_score_decides_by_the_lead_alone() -> None:
    leads: dict[Favoured, str] = {"A": "A", "B": "B", "tie": "tie", "unknown": "unscored"}
    for panel in EVERY:
        assert {lead: mean_score(ballot(panel, lead)) for lead in leads} == leads


@given(st.lists(st.sampled_from(SAID), min_size=1, max_size=20), st.randoms())
def test_swapping_the_sides_swaps_the_verdict(panel: list[str], random: object) -> None:
    swap = {"A": "B", "B": "A"}
    mirrored = [swap.get(said, said) for said in panel]
    for rule in (majority, unanimity):
        verdict = rule(ballot(panel))
        assert rule(ballot(mirrored)) == swap.get(verdict, verdict)


def test_an_outcome_has_the_clustered_interval_of_its_wrong_pairs_and_the_share_that_was_decided() -> None:
    wrong = ClusterSums(2, 2, 5, 2, 5, 13)
    found = panel_outcome(Outcomes(9, 1, 2, 3, 4, Sums(*wrong)), decidable=10)
    assert (found.decided, found.tie, found.inconsistent, found.split, found.unscored) == (9, 1, 2, 3, 4)
    assert found.misselection.model_dump() == {**clustered_rate(wrong).model_dump(), "coverage": 0.5}


def test_of_no_pairs_nothing_is_known() -> None:
    found = panel_outcome(Outcomes(0, 0, 0, 0, 0, Sums(0, 0, 0, 0, 0, 0)), decidable=0)
    assert (found.misselection.rate, found.misselection.coverage) == (None, None)
    assert [*RULES] == ["majority", "unanimity", "mean_score"]
