"""Training files: evidence chooses and judges are metadata, no task is in both files, and TRL can read the rows."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builders import episode, label, lone, pair, passed, rewarded, verdict
from generated import fresh
from live_parts import request
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Judge, Message, Record
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.export_records import export_records
from misjudge_tools.exporting.splitting import split_of
from misjudge_tools.exporting.writing import MARKER
from misjudge_tools.file_requests import ExportRequest
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import ExportResult
from misjudge_tools.run_pair import run_pair
from misjudge_tools.suites.loading import load_suite
from misjudge_tools.summarize_audit import summarize
from operations import opened, stored
from training_parts import DONE, DPO, KTO, LATE, SORRY, USER, said


def test_tasks_are_split_by_seed_into_shares_that_are_never_empty() -> None:
    tasks = [f"t{n}" for n in range(40)]
    split = split_of(tasks, 7, 0.25)
    test = {task for task in tasks if split.is_test(task)}
    assert len(test) == 10
    assert test == {task for task in tasks if split_of([*tasks, *tasks], 7, 0.25).is_test(task)}
    assert test != {task for task in tasks if split_of(tasks, 8, 0.25).is_test(task)}
    assert sum(map(split_of(tasks[:2], 0, 0.01).is_test, tasks[:2])) == 1
    assert not any(map(split_of(tasks[:1], 0, 0.5).is_test, tasks))
    assert not any(map(split_of(tasks, 0, 0.0).is_test, tasks))


def test_no_task_is_in_both_files() -> None:
    with fresh() as (store, folder):
        records = [one(n, task=f"t{n % 5}") for n in range(20)]
        stored(store, records, "first")
        result = export(store, folder / "dpo", "dpo", test_share=0.4, seed=3)
        train, test = (
            {row["metadata"]["task_id"] for row in lines(folder / "dpo" / name)}
            for name in ("train.jsonl", "test.jsonl")
        )
    assert (len(train), len(test), train & test) == (3, 2, set())
    assert sum(file.rows for file in result.files) == 20


ONE_JUDGE = Judge(label="j", form="pairwise", model="m")


def one(n: int, picks: str = "A", bucket: str | None = None, task: str | None = None) -> Record:
    name = task or f"t{n}"
    return pair(
        f"p{n:03}",
        episode("x", passed(True), rewarded(1), task=name, trial=n, said=(USER, DONE)),
        episode("y", passed(False), rewarded(0), task=name, trial=n, said=(USER, SORRY)),
        verdict(picks, "AB", judge=ONE_JUDGE),  # type: ignore[arg-type]
        verdict(picks, "BA", judge=ONE_JUDGE),  # type: ignore[arg-type]
        line=n + 1,
        prompt=f"Task {name}.",
        ability_bucket=bucket,
    )


def export(store: Store, out: Path, kind: str, **options: Any) -> ExportResult:
    async def run() -> ExportResult:
        async with opened(Path(store.location)) as deps:
            given = {"audit": "first", "format": kind, "out": str(out), **options}
            return await export_records(ExportRequest.model_validate(given), deps)

    return asyncio.run(run())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_default_keeps_every_pair_that_evidence_decides_whatever_the_judge_says() -> None:
    with fresh() as (store, folder):
        stored(store, [one(n, picks="AB"[n % 2], bucket="near" if n < 4 else "wide") for n in range(10)], "first")
        result = export(store, folder / "dpo", "dpo")
        found = lines(folder / "dpo" / "train.jsonl") + lines(folder / "dpo" / "test.jsonl")
        decided = summarize(SummarizeRequest(audit="first"), store).misselection
    assert len(found) == 10 and result.kept == ()
    assert all(said(row["chosen"]) == ["It is cancelled."] for row in found)
    assert {row["metadata"]["judges"][0]["picked"] for row in found} == {"chosen", "rejected"}
    (alone,) = result.judge_only
    assert decided is not None
    assert (alone.judge, alone.mislabelled.k, alone.mislabelled.n) == ("j", 5, 10)
    assert (alone.mislabelled.low, alone.mislabelled.high) == (decided.decided.low, decided.decided.high)


@pytest.mark.parametrize(
    ("keep", "near", "wide"), [("judge_right", 2, 3), ("judge_wrong", 2, 2), ("judge_decided", 4, 5)]
)
def test_a_filter_by_the_judge_says_what_it_took(keep: str, near: int, wide: int) -> None:
    with fresh() as (store, folder):
        records = [one(n, picks="AB"[n % 2], bucket="near" if n < 4 else "wide") for n in range(9)]
        stored(store, [*records, one(9, picks="tie")], "first")
        result = export(store, folder / "dpo", "dpo", keep=keep, judge="j")
    assert [(row.ability, row.before, row.after) for row in result.kept] == [
        ("near", 4, near), ("unknown", 1, 0), ("wide", 5, wide),
    ]  # fmt: skip
    assert sum(file.rows for file in result.files) == near + wide


def test_a_models_check_never_chooses() -> None:
    with fresh() as (store, folder):
        checked = pair(
            "p1",
            episode("x", passed(True, "model"), said=(USER, DONE)),
            episode("y", passed(False, "model"), said=(USER, SORRY)),
        )
        stored(store, [checked], "first")
        for kind in ("dpo", "kto"):
            with pytest.raises(InvalidInput, match=r"No row can be made.*(undecidable 1|no_evidence 2)"):
                export(store, folder / kind, kind)
            assert not (folder / kind).exists()


def test_a_human_label_never_makes_a_failure_the_chosen_one() -> None:
    with fresh() as (store, folder):
        failed = pair(
            "p1",
            episode("x", passed(False), said=(USER, DONE)),
            episode("y", passed(False), said=(USER, SORRY)),
            gold=[label("A")],
        )
        stored(store, [failed, one(2)], "first")
        result = export(store, folder / "dpo", "dpo")
    assert result.left_out == {"chosen_failed": 1}
    assert [file.name for file in result.files] == ["train.jsonl"], "one task cannot be split"


def test_pairs_that_diverge_before_the_agents_do_are_rows_of_kto() -> None:
    with fresh() as (store, folder):
        apart = pair(
            "p1",
            episode("x", passed(True), said=(USER, SORRY, LATE, DONE)),
            episode("y", passed(False), said=(USER, SORRY, USER, SORRY)),
        )
        stored(store, [apart, one(2)], "first")
        result = export(store, folder / "dpo", "dpo")
        other = export(store, folder / "kto", "kto", test_share=0.0)
        found = lines(folder / "kto" / "train.jsonl")
    assert result.left_out == {"others_diverge_first": 1} and "kto" in (result.next or "")
    assert other.files[0].rows == 4 and {row["label"] for row in found} == {True, False}
    for row in found:
        jsonschema.validate(row, KTO)


AGAIN = Message(role="user", content="Why not?")


def _goes_on(n: int) -> Record:
    """A pair whose loser goes on when the customer has spoken again."""
    return pair(
        f"p{n:03}",
        episode("x", passed(True), task=f"t{n}", said=(USER, DONE)),
        episode("y", passed(False), task=f"t{n}", said=(USER, SORRY, AGAIN, SORRY)),
        verdict("A", "AB", judge=ONE_JUDGE),
        verdict("A", "BA", judge=ONE_JUDGE),
        line=n + 1,
    )


@pytest.mark.parametrize("keep", [None, "judge_right"])
@pytest.mark.parametrize("whole", [0, 2])
@pytest.mark.parametrize("cut", [0, 3])
def test_the_answer_counts_what_the_rows_hold_and_names_no_field_that_none_has(
    whole: int, cut: int, keep: str | None
) -> None:
    filtered = {"keep": keep, "judge": "j"} if keep else {}
    with fresh() as (store, folder):
        records = [*(one(n) for n in range(whole)), *(_goes_on(50 + n) for n in range(cut)), one(30)]
        lost = [one(n, picks="B") for n in range(9, 12)] if keep else []
        stored(store, [*records, *lost], "first")
        told = export(store, folder / "dpo", "dpo", **filtered)
        found = [row for file in told.files for row in lines(folder / "dpo" / file.name)]
        (other,) = {export(store, folder / "kto", "kto").notes}
    (note,) = told.notes
    here = [row["metadata"]["completion"] for row in found]
    assert (here.count("whole"), here.count("first_divergent_turn")) == (whole + 1, cut)
    assert ("first_divergent_turn" in note) == bool(cut)
    assert note.startswith(f"{cut} of {whole + 1 + cut} rows" if cut else f"All {whole + 1} rows")
    assert other == ()


def test_hostile_transcripts_are_data() -> None:
    evil = "<|im_end|>\x1b[31m\u202e\u2028</s> {% raise %} \x00"
    with fresh() as (store, folder):
        hostile = pair(
            "p1",
            episode("x", passed(True), said=(USER, Message(role="assistant", content=evil))),
            episode("y", passed(False), said=(USER, SORRY)),
        )
        stored(store, [hostile], "first")
        export(store, folder / "dpo", "dpo")
        (row,) = lines(folder / "dpo" / "train.jsonl")
    assert said(row["chosen"]) == [evil]


SUITE = load_suite("support_desk", Allowed(), None)


def test_tasks_of_the_shipped_suite_are_refused_unless_they_are_allowed() -> None:
    task = SUITE.tasks[0]
    by_goal = lone(episode("x", passed(True), said=(USER, DONE)), prompt=task.goal)
    opening = Message(role="user", content=f"  {task.opening.upper()}\n")
    by_words = pair(
        "p1",
        episode("x", passed(True), said=(opening, DONE)),
        episode("y", passed(False), said=(opening, SORRY)),
    )
    for kind, record in (("kto", by_goal), ("dpo", by_words), ("kto", by_words)):
        with fresh() as (store, folder):
            stored(store, [record], "first")
            with pytest.raises(InvalidInput, match=r"shipped suite support_desk.*--allow-eval-tasks"):
                export(store, folder / "out", kind)
            assert sorted(path.name for path in folder.iterdir() if "out" in path.name) == []
            assert export(store, folder / "out", kind, allow_eval_tasks=True).files[0].rows
            assert (folder / "out" / MARKER).is_file()


@pytest.mark.slow
async def test_the_planted_audit_gives_rows_that_trl_reads_and_chooses_no_failure(tmp_path: Path) -> None:
    async with opened(tmp_path / "planted.db") as deps:
        asked = request(wait_s=40, agents=["diligent", "hasty", "smooth_talker"], judge="simulated")
        result = await run_pair(asked, deps)
        while result.run.state == "running":
            result = await run_pair(asked, deps)
        for kind, schema in (("dpo", DPO), ("kto", KTO)):
            await _check(deps, asked.audit, tmp_path / kind, kind, schema)


async def _check(deps: Deps, audit: str, out: Path, kind: str, schema: dict[str, Any]) -> None:
    given = {"audit": audit, "format": kind, "out": str(out), "allow_eval_tasks": True}
    result = await export_records(ExportRequest.model_validate(given), deps)
    found = [row for file in result.files for row in lines(out / file.name)]
    assert len(found) > 50 and result.marked is not None
    for row in found:
        jsonschema.validate(row, schema)
        assert row["metadata"]["simulated"] is True
        if kind == "dpo":
            assert row["metadata"]["success_chosen"] is True and row["metadata"]["success_rejected"] is False
            assert row["chosen"] != row["rejected"]
