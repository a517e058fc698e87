"""Preference data: evidence chooses, judges are metadata, and TRL can read it.

The shapes are those of TRL's documentation, "Dataset formats and types": preference rows of lists of messages under
`prompt`, `chosen` and `rejected`; unpaired ones under `prompt`, `completion` and a boolean `label`.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builders import episode, label, lone, messages, pair, passed, rewarded, verdict
from generated import fresh
from live_parts import request
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.export_rows import ExportedEpisode, ExportedPair
from misjudge_storage.types import Judge, Message, Record, ToolCall
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.export_records import export_records
from misjudge_tools.exporting.preference import Row, dpo_row, kto_row
from misjudge_tools.exporting.splitting import split_of
from misjudge_tools.exporting.writing import MARKER
from misjudge_tools.file_requests import ExportRequest
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import ExportResult
from misjudge_tools.run_pair import run_pair
from misjudge_tools.suites.loading import load_suite
from misjudge_tools.summarize_audit import summarize
from operations import opened, stored

USER = Message(role="user", content="Cancel order 1.")
DONE = Message(role="assistant", content="It is cancelled.")
SORRY = Message(role="assistant", content="I could not.")
MESSAGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["role", "content"],
    "properties": {
        "role": {"enum": ["system", "user", "assistant", "tool"]},
        "content": {"type": "string"},
        "name": {"type": "string"},
        "tool_call_id": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["type", "function"],
                "properties": {
                    "type": {"const": "function"},
                    "id": {"type": "string"},
                    "function": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["name", "arguments"],
                        "properties": {"name": {"type": "string"}, "arguments": {"type": ["object", "string"]}},
                    },
                },
            },
        },
    },
}
CHAT = {"type": "array", "minItems": 1, "items": MESSAGE}
ANSWER = {**CHAT, "prefixItems": [{"properties": {"role": {"const": "assistant"}}}]}
DPO = {
    "type": "object",
    "additionalProperties": False,
    "required": ["prompt", "chosen", "rejected", "metadata"],
    "properties": {"prompt": CHAT, "chosen": ANSWER, "rejected": ANSWER, "metadata": {"type": "object"}},
}
KTO = {
    "type": "object",
    "additionalProperties": False,
    "required": ["prompt", "completion", "label", "metadata"],
    "properties": {
        "prompt": CHAT,
        "completion": ANSWER,
        "label": {"type": "boolean"},
        "metadata": {"type": "object"},
    },
}


def exported(
    a: tuple[Message, ...] | None, b: tuple[Message, ...] | None, prompt: str = "", **facts: Any
) -> ExportedPair:
    row = {
        **dict.fromkeys(("trial", "reward_a", "reward_b", "reward_source")),
        **{"agent_a": "x", "agent_b": "y", "gold_pref": "A", "gold_source": "verifier", "simulated": 0},
        **{"success_a": 1, "success_b": 0},
        **facts,
    }
    return ExportedPair("p", "t", prompt, row, None, a, b, ())


def fields(found: Any) -> dict[str, Any]:
    assert isinstance(found, Row), found
    return found.fields


def said(chat: list[dict[str, Any]]) -> list[str]:
    return [one["content"] for one in chat]


def test_the_prompt_is_what_both_begin_with_and_the_better_side_is_chosen() -> None:
    row = fields(dpo_row(exported((USER, DONE), (USER, SORRY))))
    assert (said(row["prompt"]), said(row["chosen"]), said(row["rejected"])) == (
        ["Cancel order 1."], ["It is cancelled."], ["I could not."],
    )  # fmt: skip
    assert row["metadata"]["completion"] == "whole"
    turned = fields(dpo_row(exported((USER, SORRY), (USER, DONE), gold_pref="B", success_a=0, success_b=1)))
    assert (said(turned["chosen"]), turned["metadata"]["chosen_agent"]) == (["It is cancelled."], "y")


def test_a_turn_ends_before_the_customer_speaks_again() -> None:
    a = (*messages("Hi", "Which one?", "Number 1.", "Cancelled."),)
    b = (*messages("Hi", "All done!", "Thanks."),)
    row = fields(dpo_row(exported(a, b)))
    assert (said(row["chosen"]), said(row["rejected"])) == (["Which one?"], ["All done!"])
    assert row["metadata"]["completion"] == "first_divergent_turn"
    later = fields(dpo_row(exported(a, (*a[:3], SORRY, *messages("Bye")))))
    assert (said(later["prompt"]), said(later["rejected"])) == (["Hi", "Which one?", "Number 1."], ["I could not."])
    assert later["metadata"]["completion"] == "whole", "the customer's last word is no turn of the agent"


def called(name: str, identity: str, arguments: str = "{}") -> tuple[Message, Message]:
    call = ToolCall(name=name, arguments=arguments, id=identity)
    return (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content="ok", tool_call_id=identity, name=name),
    )


def test_the_ids_of_tool_calls_make_no_difference() -> None:
    a = (USER, *called("find", "call_x1"), *called("cancel", "call_x2", '{"order": 1}'), DONE)
    b = (USER, *called("find", "call_y1"), SORRY)
    row = fields(dpo_row(exported(a, b)))
    assert len(row["prompt"]) == 3
    assert row["chosen"][0]["tool_calls"] == [
        {"type": "function", "id": "call_2", "function": {"name": "cancel", "arguments": {"order": 1}}}
    ]
    assert row["chosen"][1] == {"role": "tool", "content": "ok", "tool_call_id": "call_2", "name": "cancel"}
    jsonschema.validate(row, DPO)


@pytest.mark.parametrize("written", ["not json", "[1]", '{"a": 1e999}', '{"a": NaN}', '{"a":' * 200 + "1" + "}" * 200])
def test_arguments_that_are_no_object_stay_text(written: str) -> None:
    row = fields(dpo_row(exported((USER, *called("f", "c", written), DONE), (USER, SORRY))))
    assert row["chosen"][0]["tool_calls"][0]["function"]["arguments"] == written


def test_a_prompt_that_only_the_task_holds_is_asked() -> None:
    row = fields(dpo_row(exported((DONE,), (SORRY,), "Cancel order 1.")))
    assert row["prompt"] == [{"role": "user", "content": "Cancel order 1."}]


SYSTEM = Message(role="system", content="Be kind.")
OTHER = Message(role="system", content="Be quick.")
LATE = Message(role="user", content="Well?")


@pytest.mark.parametrize(
    ("pair_", "why"),
    [
        (exported((USER, DONE), (USER, SORRY), gold_pref="tie"), "undecidable"),
        (exported((USER, DONE), (USER, SORRY), gold_pref=None), "undecidable"),
        (exported((USER, DONE), (USER, SORRY), success_a=0), "chosen_failed"),
        (exported((USER, DONE), None), "no_transcript"),
        (exported((USER, DONE), ()), "no_transcript"),
        (exported((USER, DONE), (USER, DONE)), "same_transcript"),
        (exported((DONE,), (SORRY,)), "no_prompt"),
        (exported((SYSTEM, USER, DONE), (OTHER, USER, SORRY)), "no_prompt"),
        (exported((SYSTEM, USER, DONE), (SYSTEM, LATE, SORRY)), "no_prompt"),
        (exported((USER, SORRY, LATE, DONE), (USER, SORRY, USER, SORRY)), "others_diverge_first"),
        (exported((USER, SORRY, LATE, DONE), (USER, SORRY)), "others_diverge_first"),
        (exported((USER, DONE), (USER,)), "nothing_done"),
    ],
)
def test_a_pair_without_a_fair_row_is_left_out_with_its_reason(pair_: ExportedPair, why: str) -> None:
    assert dpo_row(pair_) == why


def lone_episode(*told: Message, **facts: Any) -> ExportedEpisode:
    known = {"success": True, "success_source": "verifier", "better": 0, "worse": 0, **facts}
    return ExportedEpisode(
        trajectory_id="i", task_id="t", prompt="", agent="x", trial=0, reward=None, simulated=False, messages=told,
        **known,
    )  # fmt: skip


def test_an_episode_is_labelled_by_its_success_and_ends_with_the_agents_last_turn() -> None:
    told = (*messages("Hi", "Which?", "This."), *called("cancel", "c1"), DONE, *messages("Bye"))
    row = fields(kto_row(lone_episode(*told)))
    assert said(row["prompt"]) == ["Hi", "Which?", "This."]
    assert [one["role"] for one in row["completion"]] == ["assistant", "tool", "assistant"]
    assert row["label"] is True
    assert fields(kto_row(lone_episode(USER, SORRY, success=False)))["label"] is False
    jsonschema.validate(row, KTO)


def test_a_label_comes_from_pairs_only_where_success_is_not_known_and_all_agree() -> None:
    unknown: dict[str, Any] = {"success": None, "success_source": None}
    assert fields(kto_row(lone_episode(USER, DONE, better=2, **unknown)))["label"] is True
    assert fields(kto_row(lone_episode(USER, DONE, worse=1, **unknown)))["label"] is False
    assert fields(kto_row(lone_episode(USER, DONE, better=1, success=False)))["label"] is False
    assert kto_row(lone_episode(USER, DONE, better=1, worse=1, **unknown)) == "contradicting_evidence"
    assert kto_row(lone_episode(USER, DONE, **unknown)) == "no_evidence"
    assert kto_row(lone_episode(USER)) == "nothing_done"
    assert kto_row(lone_episode(DONE, USER)) == "no_prompt"


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
