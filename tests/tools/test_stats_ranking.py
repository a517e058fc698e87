from __future__ import annotations

from itertools import permutations

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.errors import InvalidInput
from misjudge_tools.stats.agent_pairs import AgentScore
from misjudge_tools.stats.ranking import Disagreement, Ranking, ranking
from misjudge_tools.stats.rates import NoData


def ranked(scores: list[AgentScore], better: str = "higher", cut: float = 0.1) -> Ranking:
    result = ranking(scores, "higher" if better == "higher" else "lower", cut)
    assert isinstance(result, Ranking)
    return result


def agents(*rows: tuple[float, float]) -> list[AgentScore]:
    return [AgentScore(f"agent {number}", reward, gate) for number, (reward, gate) in enumerate(rows)]


hundredths = st.integers(0, 100).map(lambda value: value / 100)
tables = st.lists(st.tuples(hundredths, hundredths), min_size=3, max_size=12).map(lambda rows: agents(*rows))


def test_a_gate_that_puts_the_worse_agent_first_disagrees() -> None:
    result = ranked(agents((0.50, 3.0), (0.55, 2.0), (0.90, 4.0)))
    assert result.near == Disagreement(rate=1.0, k=1, n=1)
    assert result.wide == Disagreement(rate=0.0, k=0, n=2)


def test_a_gap_of_exactly_the_cut_is_wide_in_spite_of_binary_fractions() -> None:
    assert 0.4 - 0.3 > 0.1 > 0.3 - 0.2
    result = ranked(agents((0.2, 1), (0.3, 2), (0.4, 3)))
    assert (result.near.n, result.wide.n) == (0, 3)


def test_the_cut_can_be_moved() -> None:
    table = agents((0.50, 1), (0.58, 2), (0.70, 3))
    assert [ranked(table, cut=cut).near.n for cut in (0.05, 0.10, 0.15)] == [0, 1, 2]


def test_equal_rewards_without_a_stated_order_are_left_out_and_counted() -> None:
    result = ranked(agents((0.5, 1), (0.5, 2), (0.55, 3)))
    assert result.reward_ties == 1
    assert result.near.n == 2


def test_equal_rewards_are_ordered_by_the_stated_rank() -> None:
    table = [AgentScore("a", 0.5, 1, order_rank=1), AgentScore("b", 0.5, 2, order_rank=2), AgentScore("c", 0.9, 3)]
    result = ranked(table)
    assert result.reward_ties == 0
    assert result.near == Disagreement(rate=1.0, k=1, n=1)


def test_the_reward_outweighs_the_stated_rank() -> None:
    table = [AgentScore("a", 0.5, 1, order_rank=1), AgentScore("b", 0.6, 2, order_rank=2), AgentScore("c", 0.1, 0)]
    assert ranked(table).wide.k == 0


def test_equal_gate_scores_are_no_disagreement_and_are_counted() -> None:
    result = ranked(agents((0.1, 0.1 + 0.2), (0.5, 0.3), (0.9, 5)))
    assert result.gate_ties == 1
    assert result.wide == Disagreement(rate=0.0, k=0, n=3)


def test_a_range_without_pairs_has_no_rate() -> None:
    assert ranked(agents((0.1, 1), (0.5, 2), (0.9, 3))).near == Disagreement(rate=None, k=0, n=0)


def test_a_perfect_gate_has_rho_1_whichever_way_it_counts() -> None:
    assert ranked(agents((0.1, 1), (0.5, 2), (0.9, 3))).spearman == 1
    assert ranked(agents((0.1, 3), (0.5, 2), (0.9, 1)), better="lower").spearman == 1
    assert ranked(agents((0.1, 3), (0.5, 2), (0.9, 1))).spearman == -1


def test_rho_is_against_the_stated_ranks_when_every_agent_has_one() -> None:
    table = [
        AgentScore("a", 0.5, 4, order_rank=1),
        AgentScore("b", 0.5, 3, order_rank=2),
        AgentScore("c", 0.4, 1, order_rank=3),
        AgentScore("d", 0.1, 2, order_rank=4),
    ]
    result = ranked(table)
    assert result.against == "order_rank"
    assert result.spearman == pytest.approx(0.8)
    partly = ranked([*table[:3], table[3]._replace(order_rank=None)])
    assert partly.against == "reward"
    assert partly.spearman == pytest.approx(scipy.stats.spearmanr([4, 3, 1, 2], [0.5, 0.5, 0.4, 0.1]).statistic)


def test_a_constant_gate_has_no_rho() -> None:
    assert ranked(agents((0.1, 2), (0.5, 2), (0.9, 2))).spearman is None


def test_fewer_than_three_agents_say_why_there_is_no_ranking() -> None:
    result = ranking(agents((0.1, 1), (0.9, 2)))
    assert isinstance(result, NoData)
    assert "at least 3 agents" in result.why


@pytest.mark.parametrize("cut", [0.0, -0.1, float("nan")])
def test_a_cut_that_separates_nothing_is_refused(cut: float) -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        ranking(agents((0.1, 1), (0.5, 2), (0.9, 3)), cut=cut)


@given(tables)
def test_rho_and_the_rates_are_those_of_brute_force(table: list[AgentScore]) -> None:
    result = ranked(table)
    ordered = [(worse, best) for worse, best in permutations(table, 2) if worse.reward < best.reward]
    near = [(worse, best) for worse, best in ordered if round(best.reward - worse.reward, 9) < 0.1]
    wide = [pair for pair in ordered if pair not in near]
    assert (result.near.k, result.near.n) == (sum(worse.gate > best.gate for worse, best in near), len(near))
    assert (result.wide.k, result.wide.n) == (sum(worse.gate > best.gate for worse, best in wide), len(wide))
    assert result.gate_ties == sum(worse.gate == best.gate for worse, best in ordered)
    assert result.reward_ties + len(ordered) == len(table) * (len(table) - 1) // 2
    rewards, gates = [score.reward for score in table], [score.gate for score in table]
    if len(set(rewards)) > 1 and len(set(gates)) > 1:
        assert result.spearman == pytest.approx(scipy.stats.spearmanr(rewards, gates).statistic, abs=1e-12)


@given(tables)
def test_the_order_and_the_names_of_agents_do_not_matter(table: list[AgentScore]) -> None:
    renamed = [score._replace(agent=score.agent[::-1]) for score in reversed(table)]
    assert ranked(renamed) == ranked(table)


@given(tables)
def test_turning_the_gate_round_swaps_agreement_and_disagreement(table: list[AgentScore]) -> None:
    straight, turned = ranked(table), ranked(table, better="lower")
    decided = straight.near.n + straight.wide.n - straight.gate_ties
    assert straight.near.k + straight.wide.k + turned.near.k + turned.wide.k == decided
    if straight.spearman is not None:
        assert turned.spearman == pytest.approx(-straight.spearman)
