"""Agreement and corrected shares as tables, at the width of the terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from builders import episode, label, lone, pair, passed, verdict
from misjudge_server.agreement_printing import agreement_tables, corrected_tables
from misjudge_server.console import console
from misjudge_storage.types import Judge, Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.agreement_values import AgreementSection
from misjudge_tools.summary.deciding.corrected import corrected_section
from misjudge_tools.summary.deciding.corrected_values import CorrectedSection
from misjudge_tools.summary.judged import Judged
from operations import stored

HOSTILE = "ann\x1b[31m"


@pytest.fixture(params=[80, 118])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(console, "width", request.param)
    return int(request.param)


def shown(parts: Iterator[object], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    for part in parts:
        console.print(part)
    return capsys.readouterr().out


def judges(number: int) -> list[Judge]:
    return [Judge(label=f"judge-{n}", form="pairwise", model=f"m{n}", origin="imported") for n in range(number)]


def records(number: int, of_judges: int) -> list[Record]:
    """A person labels one in three; the judges are wrong on the same pairs, and each on some of its own."""
    found = []
    for n in range(number):
        truth: Preference = "A" if n % 2 else "B"
        other: Preference = "B" if n % 2 else "A"
        said = [
            verdict(other if n % 6 == 0 or n % (7 + k) == 0 else truth, "AB", judge=judge)
            for k, judge in enumerate(judges(of_judges))
        ]
        sides = [episode(side, task=f"t{n}") for side in "xy"]
        gold = [label(truth, HOSTILE)] if n % 3 == 0 else []
        found.append(pair(f"p{n}", sides[0], sides[1], *said, gold=gold, line=n + 1))
    return found


def agreement(deps: Deps) -> AgreementSection:
    found = summarize(SummarizeRequest(audit="a", sections=["agreement"]), deps.store).agreement
    assert found is not None
    return found


def test_labellers_and_errors_are_shown_with_counts_and_intervals(
    deps: Deps, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, records(120, 3))
    found = agreement(deps)
    out = shown(agreement_tables(found), capsys)
    assert max(cell_len(line) for line in out.splitlines()) <= columns
    assert "\x1b" not in out
    flat = " ".join(out.split())
    for row in found.rows or ():
        assert f"of {row.observed.n}" in flat
    for error in found.errors or ():
        assert f"{error.both_wrong} of {error.n}" in flat
    assert found.together is not None and found.together.effective_judges is not None
    assert f"worth {found.together.effective_judges:.1f} [" in flat
    assert "Krippendorff's α of labels, judges (3): " in flat


def test_a_long_table_says_how_many_rows_it_leaves_out(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    stored(deps.store, records(12, 9))
    out = shown(agreement_tables(agreement(deps)), capsys)
    assert "and 15 more rows: --json has all" in out and "and 6 more rows: --json has all" in out


def test_what_is_not_known_is_a_dash(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    same = [
        pair(
            f"p{n}",
            episode("x", task=f"t{n}"),
            episode("y", task=f"t{n}"),
            *(verdict("A", "AB", judge=judge, score_a=n, score_b=0) for judge in judges(2)),
            gold=[label("A")],
            line=n + 1,
        )
        for n in range(4)
    ]
    stored(deps.store, same)
    out = " ".join(shown(agreement_tables(agreement(deps)), capsys).split())
    assert "100.0 %" in out and "–" in out
    assert "α of leads on pairs by judge-0, judge-1: 1.00 on 4, 8 scores" in out


def corrected(deps: Deps, judge: str | None) -> CorrectedSection:
    with deps.store.read() as connection:
        if judge is None:
            found = corrected_section(Judged(AuditCounts(connection, SummarizeRequest(audit="a"))))
            assert isinstance(found, CorrectedSection)
            return found
    section = summarize(SummarizeRequest(audit="a", sections=["corrected"], judge=judge), deps.store).corrected
    assert section is not None
    return section


def test_corrected_shares_stand_beside_the_raw_ones_with_what_is_assumed(
    deps: Deps, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(deps.store, records(300, 1))
    found = corrected(deps, "judge-0")
    out = shown(corrected_tables(found), capsys)
    assert max(cell_len(line) for line in out.splitlines()) <= columns
    flat = " ".join(out.split())
    assert "x over all others" in flat and "of 300" in flat and "of 100" in flat
    x = found.rows[0]
    assert x.ppi is not None and x.ppi.value is not None
    assert f"{100 * x.ppi.value:.1f} % [" in flat
    assert "Nothing stored says how the labelled ones were chosen" in flat


def test_why_a_share_is_not_corrected_is_said_once(deps: Deps, capsys: pytest.CaptureFixture[str]) -> None:
    done = [
        lone(episode("x", passed(True, "model"), *([passed(True, "human")] if n < 3 else []), task=f"t{n}"), line=n + 1)
        for n in range(9)
    ]
    stored(deps.store, done)
    flat = " ".join(shown(corrected_tables(corrected(deps, None)), capsys).split())
    assert "success, all agents" in flat and "success, x" in flat
    assert flat.count("Fewer than 20 labels say yes") == 1
