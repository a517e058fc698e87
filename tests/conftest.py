"""What all tests share."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run: a failure seen once is seen again.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("ci")

# Tables are as wide as it says, whoever runs the tests in whatever terminal; the tests state the widths that they mean.
os.environ.pop("COLUMNS", None)

# Behind all others: benchmarks/coverage.py must not stand for the package of that name.
sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

MARKED = ("slow", "postgres", "browser", "localmodel")
SERVER = Path(__file__).parent / "server"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first: at the end none is left that the others would wait for.

    Coverage is what the rooms' own everyday tests reach, each in its first case and without drawn examples. Traced, a
    test takes half as long again, so the others run untraced, and what they alone reach does not count.
    """
    items.sort(key=lambda item: not _has(item, *MARKED))
    seen = set[str]()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in seen or SERVER in item.path.parents or _has(item, *MARKED, "hypothesis"):
            item.add_marker("no_cover")
        seen.add(test)


def _has(item: pytest.Item, *marks: str) -> bool:
    return any(item.get_closest_marker(mark) for mark in marks)


def pytest_runtest_teardown() -> None:
    """A gateway freezes what is there when it is opened, which would never be freed in a process of so many tests."""
    gc.unfreeze()
