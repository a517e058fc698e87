"""The small local model writes, matches and applies rules. What it says is mostly nonsense, and that is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import Misjudge
from misjudge_tools.gateway.local import local_available
from rubricbench_rows import rows

pytestmark = [
    pytest.mark.localmodel,
    pytest.mark.slow,
    pytest.mark.timeout(500),
    pytest.mark.skipif(local_available() is not None, reason="the local model is not installed"),
]

SAMPLES = 5


def test_five_samples_run_to_the_end_and_what_cannot_be_read_is_counted(misjudge: Misjudge, folder: Path) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(SAMPLES))
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    assert misjudge("import", "rubricbench", "rows.jsonl", "--audit", "small").code == 0
    done = misjudge("rubrics", "gap", "--judge", "local", "--official", "--batch", "--json")
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    assert (result["run"]["state"], result["run"]["done"], result["samples"]) == ("done", SAMPLES * 5, SAMPLES)
    [writer] = result["rubrics"]["writers"]
    assert writer["drafts"] == SAMPLES
    assert writer["samples"] + writer["incomplete"] + writer["unscored_drafts"] == SAMPLES
    for row in result["rubrics"]["accuracy"]:
        ended = [row[name] for name in ("right", "wrong", "tie", "inconsistent", "unscored")]
        assert (row["pairs"], sum(ended), row["tie"]) == (SAMPLES, SAMPLES, 0)
    stages = {stage["stage"]: stage["done"] for stage in result["run"]["stages"]}
    assert stages == {"rubric_generate": SAMPLES, "rubric_match": SAMPLES, "pairwise": 3 * SAMPLES}
