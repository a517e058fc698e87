"""Sums by task and key against plain dictionaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_storage.reduced_audit import PER_JUDGE
from misjudge_storage.row_chunks import NOTHING
from misjudge_storage.task_cells import Cells, GroupedSums, WholeUnits, summed

Row = tuple[int, int, int]
"""Unit, key, and what is counted."""


def rows_of_units(most_key: int) -> st.SearchStrategy[list[Row]]:
    """Rows in the order of their units."""
    row = st.tuples(st.sampled_from((0, 1, 7, PER_JUDGE + 3)), st.integers(NOTHING, most_key), st.integers(0, 9))
    return st.lists(row, max_size=40).map(lambda rows: sorted(rows, key=lambda one: one[0]))


def by_hand(rows: Sequence[Row]) -> dict[tuple[int, int], int]:
    found: defaultdict[tuple[int, int], int] = defaultdict(int)
    for unit, key, counted in rows:
        if key != NOTHING:
            found[unit, key] += counted
    return dict(sorted(found.items()))


def columns(rows: Sequence[Row]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(rows, dtype=np.int64).reshape(len(rows), 3).T


def as_dict(cells: Cells) -> dict[tuple[int, int], int]:
    units_and_keys = zip(cells.unit.tolist(), cells.key.tolist(), strict=True)
    return dict(zip(units_and_keys, map(int, cells.sums[0]), strict=True))


@pytest.mark.parametrize("most_key", [2, 30_000_000])
def test_cells_are_what_their_rows_come_to_few_keys_or_many(most_key: int) -> None:
    @given(rows_of_units(most_key))
    def each(rows: list[Row]) -> None:
        unit, key, counted = columns(rows)
        found = as_dict(summed(unit, key, [counted]))
        assert list(found.items()) == list(by_hand(rows).items())

    each()


@given(rows_of_units(3), st.integers(1, 7))
def test_rows_that_come_in_chunks_come_to_the_same(rows: list[Row], at_a_time: int) -> None:
    adding, found = WholeUnits(1), list[Cells]()
    for first in range(0, len(rows), at_a_time):
        unit, key, counted = columns(rows[first : first + at_a_time])
        found.append(adding.add(unit, key, [counted], int(unit[-1])))
    nothing = np.zeros(0, dtype=np.int64)
    found.append(adding.add(nothing, nothing, [nothing], 1 << 62))
    together = [one for cells in found for one in as_dict(cells).items()]
    assert together == list(by_hand(rows).items())


@given(rows_of_units(3), st.integers(1, 7))
def test_groups_add_up_over_chunks_and_take_what_is_not_known_alone(rows: list[Row], at_a_time: int) -> None:
    adding, expected = GroupedSums(), defaultdict[tuple[int, ...], int](int)
    for first in range(0, len(rows), at_a_time):
        unit, key, counted = columns(rows[first : first + at_a_time])
        adding.add([unit % 5, key], [counted])
    for unit_no, key_no, number in rows:
        expected[unit_no % 5, key_no] += number
    assert {group: int(total) for group, (total,) in adding.groups.items()} == expected


def test_many_judges_and_couples_of_many_agents_in_one_chunk_are_told_apart() -> None:
    """A couple of 5,000 agents is a key of up to 25 million, and a judge 2 ** 32 units from the next one."""
    rows = [(judge * PER_JUDGE + task, 24_999_999 - judge, 1 + task) for judge in range(256) for task in range(2)]
    unit, key, counted = columns(rows)
    assert as_dict(summed(unit, key, [counted])) == by_hand(rows)
