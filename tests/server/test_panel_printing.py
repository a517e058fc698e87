"""A panel from the question to the table: three judges of different planted faults on the demo pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from mcp import Client
from rich.cells import cell_len

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
    assert "Panel of 3 judges (SIMULATED): 12 pairs that all judged" in out
    assert f"Judges: {', '.join(sorted(FAULTS))}. Best alone: " in " ".join(out.split())
    assert "One alone, on average: the verdicts of all judges pooled, pairs × judges." in " ".join(out.split())
    heading, *rows = shown(out, "Panel of")
    assert heading == ["rule", "wrong, of decided/decidable", "decided", "tie", "inconsistent", "split", "unscored"]
    assert found.panel is not None and found.panel.best_judge is not None and found.panel.mean_judge is not None
    names = ["majority", "unanimity", "mean score", "best alone (SIMULATED)", "one alone, on average"]
    assert [row[0] for row in rows] == names
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
        if cells and found and (not cells[2] or not found[-1][2]):  # every row says how many were decided
            found[-1] = [_joined(*both) for both in zip(found[-1], cells, strict=True)]
        elif cells:
            found.append(cells)
    return found


def _joined(above: str, below: str) -> str:
    return f"{above[:-1]}{below}" if above in {"incon-", "un-"} else f"{above} {below}".strip()


@pytest.mark.parametrize("width", [80, 104, 118])
async def test_a_panel_and_a_cascade_fit_the_terminal_in_rows_of_two_lines(
    deps: Deps, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    found = await asked(deps, cascade=True)
    labels = sorted(FAULTS)
    monkeypatch.setattr(console, "width", width)
    capsys.readouterr()
    print_result(summarize(SummarizeRequest(audit="a", panel=labels, sections=["panel"]), deps.store))
    out = capsys.readouterr().out
    assert max(map(cell_len, out.splitlines())) <= width
    for title in ("Panel of 3 judges (SIMULATED): ", "Cascade (SIMULATED): "):
        heading, *rows = shown(out, title)
        assert heading[1:3] == ["wrong, of decided/decidable", "decided"]
        assert {"inconsistent", "split"} >= set(heading[3:]) - {"tie", "unscored"}
        lines = out.split(title)[1].split("┡")[1].split("└")[0].splitlines()[1:]
        assert len(lines) <= 2 * len(rows)
    assert found.panel is not None


async def test_ends_that_no_pair_had_are_a_sentence_and_no_column(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, [agreed(n, ("a", "A"), ("b", "A" if n else "B"), ("c", "A")) for n in range(4)])
    print_result(summarize(SummarizeRequest(audit="a"), deps.store))
    out = capsys.readouterr().out
    assert shown(out, "Panel of")[0] == ["rule", "wrong, of decided/decidable", "decided", "split"]
    assert "No pair ended as tie, inconsistent or unscored." in " ".join(out.split())


def test_only_the_made_up_judges_of_a_panel_are_marked(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    records = [agreed(n, ("a", "A"), ("b", "B"), ("c", "A")) for n in range(4)]
    made_up = Judge(label="c", form="pairwise", model="c", simulated=True)
    marked = [
        record.model_copy(
            update={
                "verdicts": tuple(
                    one.model_copy(update={"judge": made_up}) if one.judge.label == "c" else one
                    for one in record.verdicts
                )
            }
        )
        for record in records
    ]
    stored(deps.store, marked)
    for chosen, title, judges in (
        (["a", "b", "c"], "Panel of 3 judges (SIMULATED in part)", "a, b, c (SIMULATED)"),
        (["a", "b"], "Panel of 2 judges: 4 pairs", "a, b"),
    ):
        print_result(summarize(SummarizeRequest(audit="a", panel=chosen), deps.store))
        out = capsys.readouterr().out
        assert title in out and f"Judges: {judges}. Best alone: a, chosen by these very pairs." in out
        assert [row[0] for row in shown(out, "Panel of") if "best" in row[0]] == ["best alone"]


def agreed(number: int, *said: tuple[str, Preference | None]) -> Record:
    """A pair that these judges judged in one order."""
    verdicts = [verdict(winner, "AB", judge=Judge(label=name, form="pairwise", model=name)) for name, winner in said]
    sides = [episode(side, task=f"t{number}") for side in "xy"]
    return pair(f"p{number}", sides[0], sides[1], *verdicts, gold=[label("A")], line=number + 1)


def test_a_rule_without_scores_is_a_row_of_dashes_with_its_reason_below(
    deps: Deps, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, [agreed(0, ("a", "A"), ("b", "A")), agreed(1, ("a", "B"), ("b", None)), agreed(2, ("a", "B"))])
    print_result(summarize(SummarizeRequest(audit="a", panel=["a", "b"]), deps.store))
    out = capsys.readouterr().out
    assert "Panel of 2 judges: 2 pairs that all judged, 1 more not" in out
    heading, *found = shown(out, "Panel of")
    rows = {row[0]: row[1:] for row in found}
    assert heading[2:] == ["decided", "unscored"]
    assert rows["mean score"] == ["–"] * 3
    assert rows["majority = unanimity"] == ["0.0 % [0–100] of 1/2", "1", "1"]
    assert "unanimity" not in rows and "A majority of two judges is both." in out
    assert "panel.mean_score: No scores, or none on a known scale, were given by a and b." in out


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
    assert f"Cascade (SIMULATED): panel asked about {escalated} of 12 pairs" in out
    assert f"First: {FAULTS[0]}. Panel: {', '.join(sorted(FAULTS[1:]))}." in " ".join(out.split())
    rows = shown(out, "Cascade")[1:]
    assert [row[0] for row in rows] == ["cascade", "first alone (SIMULATED)"]
    assert f"judged only the {escalated} pairs that a cascade escalated" in " ".join(out.split())


def test_the_command_takes_the_judges_of_the_panel_by_label(
    misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "width", 118)
    assert misjudge("demo", "--no-local").code == 0
    for faults in FAULTS[:2]:
        assert misjudge("judge", "demo", "--judge", faults).code == 0
    chosen = [option for faults in FAULTS[:2] for option in ("--panel", faults)]
    out = misjudge("summarize", "demo", *chosen).out
    assert "Panel of 2 judges (SIMULATED): 12 pairs that all judged" in out
    assert f"Judges: {FAULTS[0]}, {FAULTS[1]}." in out
    assert "Judges: simulated, simulated:noise=0.1, simulated:position=0.7." in misjudge("summarize", "demo").out
    refused = misjudge("summarize", "demo", "--panel", "simulated", "--panel", "nobody")
    assert refused.code == 2 and "has no judge 'nobody' of pairs. Its judges of pairs are: simulated," in refused.err


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
