"""What a report calls failure, and what it opens with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import JUDGE, episode, label, pair, passed, verdict
from misjudge_storage.types import Record
from operations import opened, stored
from report_parts import written

OTHER = JUDGE.model_copy(update={"label": "other", "model": "other-m"})


def wrong(tasks: int, *, success: bool, judges: Sequence[Any] = (JUDGE,), **key: Any) -> list[Record]:
    """Pairs whose side A did its task, or is merely called better; the judges are wrong about every second one."""

    def record(n: int) -> Record:
        task = f"{key.get('ability_bucket')}{n}"
        checks = ([passed(True)], [passed(False)]) if success else ((), ())
        a, b = (episode(agent, *some, task=task) for agent, some in zip("xy", checks, strict=True))
        said = [verdict("AB"[n % 2], order, judge=one) for one in judges for order in ("AB", "BA")]  # type: ignore[arg-type]
        return pair(f"p {task}", a, b, *said, line=n + 1, gold=[] if success else [label("A")], **key)

    return [record(n) for n in range(tasks)]


async def texts(records: Sequence[Record], tmp_path: Path, **asked: Any) -> dict[str, str]:
    """File name → what a report of these says."""
    async with opened(tmp_path / "store.db") as deps:
        stored(deps.store, records)
        found = await written(deps, tmp_path / "r", formats=["markdown", "guides", "html"], **asked)
    names = ("report.md", "guides/conclusion.md", "report.html")
    return {"answer": found.verdict, **{name: (tmp_path / "r" / name).read_text(encoding="utf-8") for name in names}}


@pytest.mark.parametrize("judges", [[JUDGE], [JUDGE, OTHER]], ids=["one judge", "several judges"])
async def test_nobody_is_said_to_have_failed_where_gold_is_a_preference(judges: list[Any], tmp_path: Path) -> None:
    records = wrong(40, success=False, judges=judges, ability_bucket="near")
    for name, text in (await texts(records, tmp_path)).items():
        assert "the side that failed" not in text and (name == "answer" or "the side that gold calls worse" in text)


async def test_a_chinese_report_says_so_in_chinese(tmp_path: Path) -> None:
    found = await texts(wrong(40, success=False, ability_bucket="near"), tmp_path, language="zh")
    said = re.compile("失败的?一方(?!，而?另一方也没有更好)")  # that is of pairs of which both sides failed
    assert not any(said.search(text) for text in found.values())
    assert "选中标准答案认为较差的一方" in found["report.md"]


async def test_where_success_is_known_failure_is_called_so(tmp_path: Path) -> None:
    found = await texts(wrong(40, success=True, ability_bucket="near"), tmp_path)
    assert all("the side that failed" in found[name] for name in ("answer", "report.md", "guides/conclusion.md"))
    assert not any("gold calls worse" in text for text in found.values())


async def test_a_judge_that_is_of_no_use_is_said_to_be_so_wholly_wherever_a_report_opens(tmp_path: Path) -> None:
    near = wrong(40, success=True, ability_bucket="near")
    wide = [
        one.model_copy(update={"line": 100 + n}) for n, one in enumerate(wrong(60, success=True, ability_bucket="wide"))
    ]
    found = await texts([*near, *wide], tmp_path)
    begins = "Do not use this judge: it picked the side that failed in 40 of 80 "
    assert found["answer"].startswith(begins) and " and in 60 of 120 " in found["answer"]
    assert f"\n# {begins}" in found["report.md"]
    assert f"**{begins}" in found["guides/conclusion.md"]
    assert begins in found["report.html"]
