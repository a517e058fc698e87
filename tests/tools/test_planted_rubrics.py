"""Planted truth: what a writer hits and invents, what a matcher gets wrong and what rules are worth is measured so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Record, Rule, Task
from misjudge_tools.deps import Deps
from misjudge_tools.requests import ScoreRubricsRequest
from misjudge_tools.score_rubrics import rubric_run
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.rates import Rate
from misjudge_tools.summary.rubric_values import RubricsSection, WriterRow
from operations import opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SAMPLES = 200
AUDITS = 2
GOLD = tuple(f"Does the answer keep promise {n} of the contract?" for n in ("one", "two", "three", "four", "five"))


class Planted(NamedTuple):
    """A writer that hits a gold rule with probability `hits`, and of whose rules `invents` are made up."""

    hits: float
    invents: float


def records() -> Iterator[Record]:
    rubric = tuple(Rule(text=text) for text in GOLD)
    for n in range(SAMPLES):
        yield Record(line=n + 1, task=Task(task_id=f"t{n}", prompt=f"Write contract {n}."), rubric=rubric)


@pytest.fixture
async def deps(tmp_path: Path) -> AsyncIterator[Deps]:
    async with opened(tmp_path / "planted.db") as found:
        yield found


async def matched(deps: Deps, audit: str, writer: Planted, *matchers: str, batch: bool = True) -> RubricsSection:
    """The numbers of one audit; its secret makes the draws the same every time."""
    with deps.store.write() as connection:
        ingest(connection, ensure_audit(connection, audit, secret=f"secret of {audit}"), "rows", records())
    writes = f"simulated:hits={writer.hits},invents={writer.invents},seed=5"
    given = {"audit": audit, "action": "match", "writers": [writes], "matchers": list(matchers), "batch": batch}
    request = ScoreRubricsRequest.model_validate(given)
    found = await rubric_run(request, deps)
    while found.run.state == "running":
        found = await rubric_run(request, deps)
    assert found.run.state == "done" and found.rubrics is not None
    return found.rubrics


def holds(found: Rate | Effect, truth: float) -> bool:
    assert found.low is not None and found.high is not None
    return found.low <= truth <= found.high


@pytest.mark.parametrize("writer", [Planted(0.25, 0.5), Planted(0.9, 0.05)])
async def test_a_writer_is_measured_as_it_was_planted(deps: Deps, writer: Planted) -> None:
    rows: list[WriterRow] = []
    for number in range(AUDITS):
        [row] = (await matched(deps, f"audit {number}", writer, "simulated:seed=2")).writers
        assert (row.samples, row.total_gold, row.unscored_rules, row.unscored_drafts) == (SAMPLES, SAMPLES * 5, 0, 0)
        rows.append(row)
    assert all(holds(row.recall, writer.hits) for row in rows)
    assert all(holds(row.hallucination_rate, writer.invents) for row in rows)


@pytest.mark.parametrize("batch", [False, True])
async def test_a_matcher_of_known_error_is_reported_with_its_bias(deps: Deps, batch: bool) -> None:
    writer, misses, overmatches = Planted(0.6, 0.3), 0.25, 0.2
    erring = f"simulated:misses={misses},overmatches={overmatches},seed=3"
    section = await matched(deps, "audit", writer, "simulated:seed=2", erring, batch=batch)
    [check] = section.checks
    by_matcher = {row.matcher: row for row in section.writers}
    right, wrong = by_matcher[check.first], by_matcher[check.second]
    # A rule that hits is answered alike where it is not missed; an invented one where it is matched with nothing.
    alike = (1 - writer.invents) * (1 - misses) + writer.invents * (1 - overmatches)
    assert holds(check.agreement, alike)
    # Each gold rule is found by its own rule, or by one of the invented ones, of which each names it in a fifth.
    invented = wrong.total_generated - right.total_generated + right.hallucination_rate.k
    stray = overmatches / len(GOLD)
    per_sample = invented / SAMPLES
    found = writer.hits * (1 - misses)
    assert holds(wrong.recall, 1 - (1 - found) * (1 - stray) ** per_sample)
    assert holds(right.recall, writer.hits)
    assert check.recall_difference.value == pytest.approx(
        (right.matched_gold - wrong.matched_gold) / right.total_gold
    ) and not holds(check.recall_difference, 0)
    assert check.disputed > 0 and check.examples[0].rules
    assert any("differ" in line or "disagree" in line for line in section.advice)
