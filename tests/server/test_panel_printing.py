"""A panel from the question to the table: three judges of different planted faults on the demo pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from mcp import Client

from builders import episode, label, pair, verdict
from command import Misjudge
from misjudge_server.app import LazyDeps, build_app
from misjudge_server.console import console, of_decided
from misjudge_server.demo import demo_records
from misjudge_server.fitting import LIMIT, size_of
from misjudge_server.run_printing import print_result
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Judge, Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.judge import judge
from misjudge_tools.requests import JudgeRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import AuditSummary
from operations import rows, stored

FAULTS = ("simulated:noise=0.1", "simulated:position=0.7", "simulated:noise=0.3,parse_failure=0.1")


async def asked(deps: Deps, **values: Any) -> AuditSummary:
    """The demo pairs judged by the three, summarised."""
    with deps.store.write() as connection:
        # A known secret gives the same prompts every time, so the same simulated replies.
        ingest(connection, ensure_audit(connection, "a", secret="demo"), "demo", demo_records())
    first, *others = FAULTS
    result = await judge(JudgeRequest.model_validate({"audit": "a", "judge": first, "panel": others, **values}), deps)
    assert result.run.state == "done"
    return summarize(SummarizeRequest(audit="a"), deps.store)


def judged(deps: Deps) -> dict[str, list[str]]:
    """Pair → what its judges say, as the view has it."""
    found: dict[str, list[str]] = {}
    for row in rows(deps.store, "SELECT pair_id, COALESCE(pref, status) AS said FROM reduced_verdicts"):
        found.setdefault(row["pair_id"], []).append(row["said"])
    return found


def majority_of(said: Sequence[str]) -> str:
    (kind, number), *_ = Counter(said).most_common()
    if number >= 2:
        return kind
    return "unscored" if "unscored" in said else "split"


async def test_three_judges_that_were_asked_are_a_panel_whose_majority_follows_from_their_verdicts(deps: Deps) -> None:
    found = (await asked(deps)).panel
    said = judged(deps)
    assert found is not None
    assert found.judges == tuple(sorted(FAULTS))
    assert (found.n, found.decidable, found.not_judged_by_all) == (12, 10, 0)
    majority = found.rules["majority"]
    assert majority is not None and {len(votes) for votes in said.values()} == {3}
    verdicts = {pair_id: majority_of(votes) for pair_id, votes in said.items()}
    counts = Counter(verdicts.values())
    assert len(set(verdicts.values())) > 2, "the faults show"
    assert majority.decided == counts["A"] + counts["B"]
    assert (majority.inconsistent, majority.split, majority.unscored) == tuple(
        counts[kind] for kind in ("inconsistent", "split", "unscored")
    )
    gold = {row["pair_id"]: row["gold_pref"] for row in rows(deps.store, "SELECT pair_id, gold_pref FROM pair_gold")}
    assert majority.misselection.k == sum(
        {verdict, gold[pair_id]} == {"A", "B"} for pair_id, verdict in verdicts.items()
    )


async def test_people_read_the_rules_beside_a_single_judge(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    found = await asked(deps)
    capsys.readouterr()
    print_result(found)
    out = capsys.readouterr().out
    assert f"Panel of {', '.join(sorted(FAULTS))}: 12 pairs that all judged (95 % intervals" in " ".join(out.split())
    heading, *rows = shown(out, "Panel of")
    assert heading == ["rule", "wrong, of decided/decidable", "decided", "tie", "inconsistent", "split", "unscored"]
    assert found.panel is not None and found.panel.best_judge is not None and found.panel.mean_judge is not None
    names = [
        "majority",
        "unanimity",
        "mean score",
        f"best alone, {found.panel.best_judge.judge}",
        "one alone, on average",
    ]
    assert [row[0].replace(" ", "") for row in rows] == [name.replace(" ", "") for name in names]
    for row, outcome in zip(rows, found.panel.rules.values(), strict=False):
        assert outcome is not None
        assert row[1] == of_decided(outcome.misselection) and row[1].endswith(f"of {outcome.misselection.n}/10")
        ends = (outcome.decided, outcome.tie, outcome.inconsistent, outcome.split, outcome.unscored)
        assert row[2:] == [*map(str, ends)]
        assert sum(ends) == 12
    assert rows[-1][1].endswith(f"of {found.panel.mean_judge.n}/30")
    assert rows[-1][2:] == ["–"] * 5


def shown(out: str, title: str) -> list[list[str]]:
    """The rows of the table with this title, with what stands below each other joined; the headings first."""
    found: list[list[str]] = []
    for line in out.split(title, 1)[1].splitlines():
        cells = [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]
        if line.startswith("└"):
            break
        if cells and found and not cells[1]:
            found[-1][0] += cells[0]
        elif cells:
            found.append(cells)
    return found


def agreed(number: int, *said: tuple[str, Preference | None]) -> Record:
    """A pair that these judges judged in one order."""
    verdicts = [verdict(winner, "AB", judge=Judge(label=name, form="pairwise", model=name)) for name, winner in said]
    sides = [episode(side, task=f"t{number}") for side in "xy"]
    return pair(f"p{number}", sides[0], sides[1], *verdicts, gold=[label("A")], line=number + 1)


def test_a_rule_without_scores_is_a_row_of_dashes_with_its_reason_below(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, [agreed(0, ("a", "A"), ("b", "A")), agreed(1, ("a", "B"), ("b", None)), agreed(2, ("a", "B"))])
    print_result(summarize(SummarizeRequest(audit="a"), deps.store))
    out = capsys.readouterr().out
    assert "Panel of a, b: 2 pairs that all judged, 1 more not (95 % intervals in brackets)" in out
    rows = {row[0]: row[1:] for row in shown(out, "Panel of")}
    assert rows["mean score"] == ["–"] * 6
    assert rows["majority"] == ["0.0 % [0–100] of 1/2", "1", "0", "0", "0", "1"]
    assert "panel.mean_score: No scores, or none on a known scale, were given by a, b." in out


def test_without_a_pair_that_all_judged_there_is_no_table(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, [agreed(0, ("a", "A")), agreed(1, ("b", "B"))])
    print_result(summarize(SummarizeRequest(audit="a"), deps.store))
    out = capsys.readouterr().out
    assert "Panel of" not in out and "panel.rules: No pair was judged by all of these judges." in out


async def test_a_cascade_stands_beside_its_first_judge(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    found = (await asked(deps, cascade=True)).panel
    assert found is not None and found.cascade is not None
    capsys.readouterr()
    print_result(summarize(SummarizeRequest(audit="a"), deps.store))
    out = capsys.readouterr().out
    escalated = found.cascade.escalated
    assert f"Cascade: {FAULTS[0]} first, {', '.join(sorted(FAULTS[1:]))} on {escalated} of 12 pairs" in " ".join(
        out.split()
    )
    rows = shown(out, "Cascade:")[1:]
    assert [row[0] for row in rows] == ["cascade", f"{FAULTS[0]} alone"]


def test_the_command_takes_the_judges_of_the_panel_by_label(
    misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "width", 118)
    assert misjudge("demo", "--no-local").code == 0
    for faults in FAULTS[:2]:
        assert misjudge("judge", "demo", "--judge", faults).code == 0
    chosen = [option for faults in FAULTS[:2] for option in ("--panel", faults)]
    out = misjudge("summarize", "demo", *chosen).out
    assert f"Panel of {FAULTS[0]}, {FAULTS[1]}: 12 pairs that all judged" in out
    assert "Panel of simulated, simulated:noise=0.1, simulated:position=0.7" in misjudge("summarize", "demo").out
    refused = misjudge("summarize", "demo", "--panel", "simulated", "--panel", "nobody")
    assert refused.code == 1 and "has no judge 'nobody' of pairs. Its judges of pairs are: simulated," in refused.err


async def test_a_panel_of_many_judges_fits_in_a_result(deps: Deps) -> None:
    labels = [f"judge {number} 号裁判 " + "x" * 150 for number in range(40)]
    stored(deps.store, [agreed(n, *((name, "A") for name in labels)) for n in range(3)])
    async with Client(build_app(LazyDeps(deps))) as session:
        for arguments in ({}, {"sections": ["panel"]}, {"panel": labels[:20]}):
            result = await session.call_tool("summarize_audit", {"audit": "a", **arguments})
            found = result.structured_content
            assert found is not None and not result.is_error
            assert size_of(found) <= LIMIT
            assert found["panel"]["rules"]["majority"]["misselection"]["n"] == 3
        unknown = await session.call_tool("summarize_audit", {"audit": "a", "panel": ["nobody", labels[0]]})
        assert unknown.is_error and size_of(unknown.content[0].model_dump()) <= LIMIT
