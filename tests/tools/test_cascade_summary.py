"""The row of the latest cascade in a summary: the pairs that its own run escalated, whatever else asked its panel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cascade_parts import MIXED, PANEL, Desk, Says, Table, asked, declared, desk, replies
from misjudge_tools.judge import judge
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import CascadeReport
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import CascadeOutcome
from operations import PromptJudge, stored

TEN = 10
WRONG: Table = {number: Says("B", 1, 5) for number in range(TEN)}
"""What the panel says of every pair: gold is A."""

Step = dict[str, Any]
CASCADE: Step = {}
STRICT: Step = {"judge": "strict", "panel": ["stern"], "cascade": False}
EVERYONE: Step = {"cascade": False}


class Row(NamedTuple):
    """What a summary says of a cascade: the pairs, those escalated, and those decided wrongly of those decided."""

    n: int
    escalated: int
    wrong: int
    decided: int


MIXED_ROW = Row(10, 5, 5, 9)
"""p1, p2, p3, p6 and p7 are escalated, and wrong; the first judge calls p5 a tie, and is right of the others."""


@asynccontextmanager
async def wrong_panel(where: Path, **values: Any) -> AsyncIterator[Desk]:
    async with AsyncExitStack() as stack:
        panel = {name: await stack.enter_async_context(PromptJudge(replies(WRONG))) for name in PANEL}
        at = await stack.enter_async_context(desk(where, MIXED, panel=panel, **values))
        stored(at.deps.store, declared(TEN))
        yield at


async def told(at: Desk, *steps: Step) -> CascadeReport:
    """What the run of the last cascade says of itself, after these calls."""
    found: CascadeReport | None = None
    for step in steps:
        run = (await judge(asked(**step), at.deps)).run
        assert run.state in {"done", "cancelled"}
        found = run.cascade or found
    assert found is not None
    return found


def summarized(at: Desk) -> CascadeOutcome:
    found = summarize(SummarizeRequest(audit="a"), at.deps.store).panel
    assert found is not None and found.cascade is not None
    return found.cascade


@pytest.mark.parametrize(
    ("steps", "row"),
    [
        pytest.param([CASCADE], MIXED_ROW, id="alone"),
        pytest.param([CASCADE, STRICT], MIXED_ROW, id="then the panel on all pairs"),
        pytest.param([STRICT, CASCADE], MIXED_ROW, id="behind the panel on all pairs"),
        pytest.param([EVERYONE, CASCADE], MIXED_ROW, id="behind everyone on all pairs"),
        pytest.param([CASCADE, {**STRICT, "repeats": 2}], MIXED_ROW, id="then the panel more often"),
        pytest.param([CASCADE, {**STRICT, "orders": "fixed"}, CASCADE], MIXED_ROW, id="twice"),
        pytest.param([CASCADE, {"margin": 2.5}], Row(10, 7, 7, 10), id="another margin"),
        pytest.param([{"margin": 2.5}, CASCADE], MIXED_ROW, id="a smaller margin"),
        pytest.param([CASCADE, {"margin": 0}], Row(10, 4, 5, 9), id="no margin"),
        pytest.param([CASCADE, {"orders": "fixed"}], Row(10, 4, 4, 7), id="other orders"),
        pytest.param([STRICT, {"pair_ids": [f"p{n}" for n in range(6)]}], Row(6, 3, 3, 5), id="part of the pairs"),
        pytest.param([EVERYONE, {"pair_ids": ["p0", "p1"]}], Row(2, 1, 1, 2), id="two of the pairs"),
        pytest.param([EVERYONE, {"panel": ["stern"]}, STRICT], MIXED_ROW, id="another panel"),
    ],
)
async def test_the_row_is_of_the_pairs_that_the_latest_cascade_escalated(
    tmp_path: Path, steps: Sequence[Step], row: Row
) -> None:
    async with wrong_panel(tmp_path / "s.db") as at:
        report = await told(at, *steps)
        found = summarized(at)
        assert (found.n, found.escalated) == (report.pairs, sum(report.escalated.values())) == row[:2]
        assert (found.misselection.k, found.misselection.n) == row[2:]


async def test_an_escalated_pair_that_the_panel_has_not_judged_has_the_first_judges_verdict(tmp_path: Path) -> None:
    async with wrong_panel(tmp_path / "s.db", concurrency=1) as at:
        report = await told(at, EVERYONE | {"panel": None}, {"max_calls": 1})
        found = summarized(at)
        assert found.escalated == sum(report.escalated.values()) == 5
        assert (found.n, found.misselection.k, found.misselection.n) == (10, 1, 7), "p0, p4 and p6 to p9 are right"
        assert (found.inconsistent, found.tie, found.unscored) == (1, 1, 1)
