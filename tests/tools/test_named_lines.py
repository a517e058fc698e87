"""The lines that a sentence about a file names."""

from __future__ import annotations

import pytest

from misjudge_tools.interchange.named_lines import named_lines


@pytest.mark.parametrize(
    ("lines", "number", "said"),
    [
        ([2], 1, "line 2"),
        ([2, 5], 2, "lines 2 and 5"),
        ([2, 3, 4], 3, "lines 2, 3 and 4"),
        ([2, 3, 4], 4, "lines 2, 3, 4 and 1 more"),
        (range(2, 1_062), 1_060, "lines 2, 3, 4 and 1,057 more"),
    ],
)
def test_the_first_lines_are_named_and_the_rest_counted(lines: list[int], number: int, said: str) -> None:
    assert named_lines(lines, number) == said
