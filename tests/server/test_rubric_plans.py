"""What the rubric gap would cost with a model that has a price, as it is printed and as JSON."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from command import Misjudge
from misjudge_storage.engine import open_store
from operations import KEY, stored
from rubric_cell_parts import rubric_records

PROFILE = """
[profiles.strong]
model = "judge-m"
price_in = 2.5
price_out = 10
"""
GAP = ("rubrics", "gap", "a", "--judge", "strong")


@pytest.fixture
def priced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 31 pairs of tasks with gold rules, and a profile with a price, at a gateway that nobody answers."""
    monkeypatch.setenv("TAOTOKEN_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TAOTOKEN_API_KEY", KEY)
    (folder / "misjudge.toml").write_text(PROFILE, encoding="utf-8")
    with closing(open_store(folder / ".misjudge" / "misjudge.db")) as store:
        stored(store, rubric_records(31))
    return folder


def test_the_gap_with_a_price_says_what_each_role_and_all_of_it_costs_about(priced: Path, misjudge: Misjudge) -> None:
    planned = misjudge(*GAP, "--samples", "20", "--dry-run")
    assert planned.code == 0
    said = " ".join(planned.out.split())
    usd, rubrics, replies = r"\d\.\d{4} USD", r"\(with rubrics of about 6 rules\)", r"\(replies of usual length\)"
    most = rf", at most {usd} \(longest replies, no second tries\)"
    assert "20 pairs, 160 cells to do" in said
    for line in (
        rf"rubric_generate strong, rubric_generate: 20 calls, about {usd} {rubrics}{most}",
        rf"rubric_match strong, rubric_match: about 120 calls, about {usd} {rubrics} ",
        rf"judge strong, pairwise: 40 calls, about {usd} {replies}{most}",
        rf"rubric_apply strong\+rules:self, pairwise: 40 calls, about {usd} {rubrics} rubric",
        rf"rubric_apply strong\+rules:human, pairwise: 40 calls, about {usd} {replies}{most}",
        rf"160 cells, about 260 calls, about {usd} in all$",
    ):
        assert re.search(line, said), line


def test_json_has_one_basis_for_all_roles_by_which_applying_rules_costs_more_than_applying_none(
    priced: Path, misjudge: Misjudge
) -> None:
    run = json.loads(misjudge(*GAP, "--dry-run", "--json").out)["run"]
    about = {role["model"]: role["about_cost"] for role in run["plan"] if role["form"] == "pairwise"}
    assert about["strong"] < min(about["strong+rules:human"], about["strong+rules:self"])
    assert run["about_cost"] == pytest.approx(sum(role["about_cost"] for role in run["plan"]))
    assert run["most_cost"] is None
    assert [role["role"] for role in run["plan"] if role["estimated"]] == ["rubric_match"]


def test_without_a_limit_the_gap_is_refused_with_about_as_many_calls_as_its_plan_has(
    priced: Path, misjudge: Misjudge
) -> None:
    refused = misjudge(*GAP)
    assert refused.code == 2
    said = " ".join(refused.err.split())
    number = re.search(r"This takes about (\d+) calls to a .* \(with rubrics of about 6 rules\)\.", said)
    assert number is not None and f"--max-calls {number[1]})" in said
    assert f"about {number[1]} calls" in misjudge(*GAP, "--dry-run").out
