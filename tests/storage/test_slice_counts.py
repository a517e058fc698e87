"""Near and farther pairs, and slices: against a count in plain Python, on both data bases."""

from __future__ import annotations

import pytest

from builders import JUDGE
from misjudge_storage.bucket_counts import GapOf
from misjudge_storage.counted_pairs import CountedPairs
from misjudge_storage.engine import Store
from misjudge_storage.gap_counts import gap_tasks
from misjudge_storage.summary_records import has_graded_rewards, reduce_audit
from misjudge_storage.summary_values import CrossSums
from misjudge_tools.stats.gaps import JointSums, JointTally, against_rest, joint_sums
from misjudge_tools.stats.rates import ClusterSums, Tally, cluster_sums
from operations import rows, stored
from sliced_audits import near_and_far, sliced, slices

ALL = 100


@pytest.mark.parametrize("seed", range(6))
def test_slices_and_the_rest_are_counted_by_task(any_store: Store, seed: int) -> None:
    records = sliced(seed, models=seed % 3 > 0)
    audit_id = stored(any_store, records)
    with any_store.read() as connection:
        reduce_audit(connection, audit_id)
        found = CountedPairs(connection, everything=False).slices(ALL)
    expected = slices(records)
    assert {(one.dimension, one.value) for one in found} == expected.keys()
    for one in found:
        counted = expected[one.dimension, one.value]
        whole = cluster_sums(Tally(task.k1 + task.k2, task.n1 + task.n2) for task in counted.tasks)
        both = against_rest(ClusterSums(*one.calls), whole, CrossSums(*one.cross))
        assert both == joint_sums(counted.tasks)
        assert (one.pairs, one.decidable) == (counted.pairs, counted.decidable)
        of_dimension = {key: other for key, other in expected.items() if key[0] == one.dimension}
        assert one.values == len(of_dimension)
        assert one.all_pairs == sum(other.pairs for other in of_dimension.values())


def test_only_the_largest_values_are_read_and_the_others_counted(any_store: Store) -> None:
    audit_id = stored(any_store, sliced(3))
    with any_store.read() as connection:
        reduce_audit(connection, audit_id)
        counts = CountedPairs(connection, everything=True)
        every, largest = counts.slices(ALL), counts.slices(2)
    for dimension in {one.dimension for one in every}:
        whole = [one for one in every if one.dimension == dimension]
        assert [one for one in largest if one.dimension == dimension] == whole[:2]
        assert [one.calls.n for one in whole] == sorted((one.calls.n for one in whole), reverse=True)


@pytest.mark.parametrize("seed", range(6))
def test_near_and_farther_pairs_are_counted_by_task(any_store: Store, seed: int) -> None:
    records = sliced(seed)
    audit_id = stored(any_store, records)
    (judge_id,) = {row["judge_id"] for row in rows(any_store, "SELECT judge_id FROM judges")}
    with any_store.read() as connection:
        reduce_audit(connection, audit_id)
        graded = has_graded_rewards(connection, audit_id)
        found = CountedPairs(connection, everything=False).gaps(graded_rewards=graded)
        tasks = {gap: gap_tasks(connection, GapOf(judge_id, gap)) for gap in ("ability", "reward", "judge_score")}
    expected = near_and_far(records)
    compared = {gap for gap, tallies in expected.items() if any(t.n1 for t in tallies) and any(t.n2 for t in tallies)}
    assert JUDGE.form == "pairwise" and compared
    assert {gap for _, gap in found} == compared
    for (_, gap), sums in found.items():
        summed = JointSums(ClusterSums(*sums.near), ClusterSums(*sums.far), CrossSums(*sums.cross))
        assert summed == joint_sums(expected[gap])
        read = [JointTally(*row[:4]) for row in tasks[gap] for _ in range(row.tasks) if row.near_n or row.far_n]
        assert sorted(read) == sorted(expected[gap])


def test_binary_rewards_are_no_gap(any_store: Store) -> None:
    audit_id = stored(any_store, sliced(1))
    with any_store.read() as connection:
        reduce_audit(connection, audit_id)
        assert {gap for _, gap in CountedPairs(connection, everything=False).gaps(graded_rewards=False)} == {
            "ability",
            "judge_score",
        }
