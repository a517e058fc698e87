"""docs/suites.md against the code."""

from __future__ import annotations

import re
from pathlib import Path

from misjudge_tools.episodes.rules import RULE, SqlRule
from misjudge_tools.suites.model import SuiteTask
from misjudge_tools.suites.sentences import RULES

PAGE = Path(__file__).parents[2].joinpath("docs", "suites.md").read_text(encoding="utf-8")


def test_the_page_has_an_example_of_every_rule() -> None:
    examples = [RULE.validate_json(found) for found in re.findall(r'^\| `\w+` \| .* \| `({"kind.*})` \|$', PAGE, re.M)]
    assert [rule.kind for rule in examples] == list(RULES)
    [rows] = [RULE.validate_json(found) for found in re.findall(r'^`({"kind.*})`\.$', PAGE, re.M)]
    assert isinstance(rows, SqlRule) and isinstance(rows.equals, list)


def test_the_page_names_every_field_of_a_task() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE.split("## A task")[1].split("## Rules")[0], re.M)
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == list(SuiteTask.model_fields)
