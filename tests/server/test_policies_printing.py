"""Policies and the trusted operating region, as people see them."""

from __future__ import annotations

import pytest

from misjudge_server.console import console
from misjudge_server.policies_printing import print_policies
from misjudge_tools.stats.policies import Candidate, certify
from misjudge_tools.stats.rates import clustered_rate, independent
from misjudge_tools.summary.deciding.policies_values import PoliciesSection, PolicyRow
from misjudge_tools.summary.region_words import region_line


def known(policy: str, k: int, n: int, decidable: int, cost: float | None = None, **more: object) -> PolicyRow:
    return PolicyRow.model_validate({
        "policy": policy, "decidable": decidable, "coverage": n / decidable, "tasks": n,
        "misselection": clustered_rate(independent(k, n)), "calls_per_pair": 2, "cost_per_pair": cost,
        "cost_per_right_pair": None if cost is None else cost * decidable / (n - k), **more,
    })  # fmt: skip


ROWS = (
    known("one_call", 30, 400, 400, 0.001, counted="calls"),
    known("both_orders", 2, 170, 200, 0.002),
    PolicyRow(policy="repeats", why="No order was asked twice."),
    PolicyRow(policy="panel_majority", why="There is no other judge."),
    PolicyRow(policy="panel_unanimity", why="There is no other judge."),
    known("cascade", 1, 190, 200, 0.004, source="stored verdicts"),
)
REGION = certify(
    [Candidate("both_orders", independent(2, 170), 0.85), Candidate("one_call", independent(30, 400), 1.0)]
)
SECTION = PoliciesSection(rows=ROWS, region=REGION)


def printed(section: PoliciesSection, capsys: pytest.CaptureFixture[str]) -> str:
    print_policies(section)
    return capsys.readouterr().out


def test_every_policy_has_its_error_with_n_and_interval_its_coverage_and_its_price(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = printed(SECTION, capsys)
    line = next(line for line in said.splitlines() if "both_orders" in line)
    assert [part in line for part in ("1.2 % [0–4] of 170", "85.0 % of 200", "2.0", "0.002")] == [True] * 4
    assert "cascade (stored verdicts)" in said.replace("\n", "")
    assert "one_call counts calls" in said


def test_what_was_not_collected_is_named_once_for_each_reason(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(SECTION, capsys)
    assert "panel_majority, panel_unanimity: There is no other judge." in said
    assert "repeats: No order was asked twice." in said


def test_without_a_price_there_is_no_column_of_costs(capsys: pytest.CaptureFixture[str]) -> None:
    section = PoliciesSection(rows=(known("one_call", 1, 90, 100),), region=REGION, why={"cost": "No price is known."})
    said = printed(section, capsys)
    assert "USD" not in said and "cost: No price is known." in said


def test_the_region_says_what_is_certified_by_which_method() -> None:
    said = region_line(REGION)
    assert "at most 5.0 % wrong: both_orders." in said and "85.0 %" in said and "170 tasks" in said
    assert f"at most {100 * (REGION.bound or 0):.1f} % of that wrongly" in said and "fixed sequence" in said


def test_no_region_is_an_answer_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    bad = certify([Candidate("both_orders", independent(40, 170), 0.85)])
    assert "none. Already both_orders may be wrong in 29." in region_line(bad)
    few = certify([Candidate("both_orders", independent(0, 20), 0.85)])
    assert "none. Even without an error it takes 59 tasks" in region_line(few)
    adaptive = PoliciesSection(rows=ROWS, region=None, why={"region": "It stopped by what it had seen."})
    said = printed(adaptive, capsys)
    assert "Trusted" not in said and "region: It stopped" in said


def test_nothing_but_reasons_is_printed_without_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed(PoliciesSection(rows=ROWS[2:5], region=REGION), capsys)
    assert "Policies" not in said and "repeats" in said


@pytest.mark.parametrize("width", [118, 80, 60])
def test_it_keeps_to_the_width(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console, "width", width)
    assert max(map(len, printed(SECTION, capsys).splitlines())) <= width
