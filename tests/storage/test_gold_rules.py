"""Gold rules of tasks in the store: each set once, never changed within an audit, on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from sqlalchemy import Connection, select
from sqlmodel import SQLModel

from builders import episode, pair
from misjudge_storage import rubric_records, tables
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict
from misjudge_storage.ingest import BATCH, ensure_audit, ensure_judge, ingest, insert_new, insert_rubrics
from misjudge_storage.queries import read_audit_facts
from misjudge_storage.rows import rubric_id, rubric_rows
from misjudge_storage.rubric_records import StoredDraft, rules_of, stored_drafts, task_subjects
from misjudge_storage.rubric_rows import draft_row
from misjudge_storage.types import Judge, Record, Rule, Task

DATED, FEASIBLE, SHORT = (
    Rule(text="日期对吗？", hard=True),
    Rule(text="Can it work?", high_level=True),
    Rule(text="Short?"),
)
RULES = (DATED, FEASIBLE)
WRITER = Judge(label="writer", form="rubric_generate", model="writer-m")


def task(task_id: str, *rules: Rule, line: int = 1) -> Record:
    """A task with these gold rules and nothing else."""
    return Record(line=line, task=Task(task_id=task_id, prompt="Book a table."), rubric=rules)


def put(store: Store, records: Iterable[Record], audit: str = "demo") -> dict[str, int]:
    with store.write() as connection:
        return ingest(connection, ensure_audit(connection, audit), "file", records).added


def gold_of(store: Store, audit: str = "demo") -> dict[str, tuple[Rule, ...]]:
    """Task → its gold rules."""
    with store.write() as connection:
        tasks = task_subjects(connection, ensure_audit(connection, audit))
        gold = {task.task_id: task.gold for task in tasks if task.gold is not None}
        rules = rules_of(connection, list(gold.values()))
        return {task_id: rules[identity] for task_id, identity in gold.items()}


def number_of(store: Store, *models: type[SQLModel]) -> list[int]:
    with store.read() as connection:
        return [len(connection.execute(select(tables.table(model))).all()) for model in models]


def test_gold_rules_are_kept_in_order_with_what_is_said_of_them(any_store: Store) -> None:
    added = put(any_store, [task("t1", *RULES), task("t2", *reversed(RULES)), task("t3")])
    assert (added["tasks"], added["task_rubrics"], added["rubric_sets"]) == (3, 2, 2)
    assert gold_of(any_store) == {"t1": RULES, "t2": (FEASIBLE, DATED)}
    with any_store.read() as connection:
        rows = connection.execute(select(tables.table(tables.RubricRule)).order_by("rubric_id", "rule")).mappings()
        first = [dict(row) for row in rows if row["rubric_id"] == rubric_id(RULES)]
    assert first == [
        {"rubric_id": rubric_id(RULES), "rule": 1, "text": "日期对吗？", "hard": True, "high_level": False},
        {"rubric_id": rubric_id(RULES), "rule": 2, "text": "Can it work?", "hard": False, "high_level": True},
    ]


def test_the_same_gold_rules_again_add_nothing(any_store: Store) -> None:
    put(any_store, [task("t1", *RULES), task("t1", *RULES, line=2)])
    before = number_of(any_store, tables.RubricSet, tables.RubricRule, tables.TaskRubric)
    assert before == [1, 2, 1]
    again = put(any_store, [task("t1", *RULES), task("t1", line=2)])
    assert set(again.values()) == {0}
    assert number_of(any_store, tables.RubricSet, tables.RubricRule, tables.TaskRubric) == before


@pytest.mark.parametrize(
    "other",
    [
        (FEASIBLE, DATED),
        (DATED,),
        (*RULES, SHORT),
        (DATED.model_copy(update={"hard": False}), FEASIBLE),
        (DATED, FEASIBLE.model_copy(update={"high_level": False})),
    ],
)
def test_other_gold_rules_of_a_task_are_a_conflict_and_change_nothing(store: Store, other: tuple[Rule, ...]) -> None:
    said = "task 't1' is stored with other gold rules; nothing was imported"
    with pytest.raises(Conflict, match=f"^file, line 2: {said}"):
        put(store, [task("t1", *RULES), task("t1", *other, line=2)])
    assert number_of(store, tables.RubricSet, tables.TaskRubric) == [0, 0]
    put(store, [task("t1", *RULES)])
    with pytest.raises(Conflict, match=said):
        put(store, [task("t2", SHORT), task("t1", *other, line=2)])
    assert gold_of(store) == {"t1": RULES}
    assert number_of(store, tables.RubricSet, tables.Task) == [1, 1]


def test_another_audit_may_have_other_gold_rules_and_shares_the_sets(any_store: Store) -> None:
    put(any_store, [task("t1", *RULES)])
    assert put(any_store, [task("t1", SHORT), task("t2", *RULES, line=2)], "other")["rubric_sets"] == 1
    assert gold_of(any_store) == {"t1": RULES}
    assert gold_of(any_store, "other") == {"t1": (SHORT,), "t2": RULES}


def test_gold_rules_may_come_with_a_pair_or_after_its_task(any_store: Store) -> None:
    bare = pair("p1", episode("x", task="t1"), episode("y", task="t1"))
    put(any_store, [bare])
    assert gold_of(any_store) == {}
    added = put(any_store, [bare.model_copy(update={"rubric": RULES})])
    assert {name for name, number in added.items() if number} == {"task_rubrics", "rubric_sets"}
    assert gold_of(any_store) == {"t1": RULES}


def test_sets_are_stored_over_many_batches_and_each_once(any_store: Store) -> None:
    sets = [(Rule(text=f"Number {n % 300}?"), SHORT) for n in range(BATCH + 50)]
    added = put(any_store, [task(f"t{n}", *rules, line=n) for n, rules in enumerate(sets)])
    assert (added["task_rubrics"], added["rubric_sets"]) == (BATCH + 50, 300)
    assert gold_of(any_store) == {f"t{n}": rules for n, rules in enumerate(sets)}


def test_a_set_is_stored_once_however_often_it_is_given(any_store: Store) -> None:
    with any_store.write() as connection:
        assert insert_rubrics(connection, [RULES, RULES, (SHORT,)]) == 2
        assert insert_rubrics(connection, [RULES]) == 0
        assert rules_of(connection, [rubric_id(RULES), "rub_unknown"]) == {rubric_id(RULES): RULES}
        assert rules_of(connection, []) == {}


def test_the_row_of_a_set_counts_its_rules() -> None:
    made, rules = rubric_rows((DATED, FEASIBLE, SHORT))
    assert (made["rubric_id"], made["number"]) == (rubric_id((DATED, FEASIBLE, SHORT)), 3)
    assert [(row["rubric_id"], row["rule"], row["text"]) for row in rules] == [
        (made["rubric_id"], 1, "日期对吗？"),
        (made["rubric_id"], 2, "Can it work?"),
        (made["rubric_id"], 3, "Short?"),
    ]


def put_drafts(connection: Connection, audit: str, *drafts: StoredDraft) -> None:
    rows = [
        draft_row(
            audit,
            draft.draft_id,
            draft.writer_id,
            draft.task_id,
            draft.rubric_id,
            "refused" if draft.status == "unscored" else None,
        )
        for draft in drafts
    ]
    insert_new(connection, tables.RubricDraft, rows)


def test_drafts_are_found_by_id_whatever_the_number_of_ids(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rubric_records, "LOOKUP", 2)
    put(any_store, [task("t1", *RULES), task("t2"), task("t3", line=2)])
    with any_store.write() as connection:
        audit = ensure_audit(connection, "demo")
        writer = ensure_judge(connection, audit, WRITER)
        drafts = [
            StoredDraft("d1", "t1", writer, "scored", rubric_id(RULES)),
            StoredDraft("d2", "t2", writer, "unscored", None),
            StoredDraft("d3", "t3", writer, "scored", None),
        ]
        put_drafts(connection, audit, *drafts)
        assert stored_drafts(connection, ["d1", "d2", "unknown", "d3"]) == {one.draft_id: one for one in drafts}
        assert rules_of(connection, ["rub_1", "rub_2", rubric_id(RULES)]) == {rubric_id(RULES): RULES}


def test_an_audit_counts_its_rows_of_rubrics_where_there_are_any(any_store: Store) -> None:
    put(any_store, [task("t1", *RULES), task("t2", line=2)])
    with any_store.write() as connection:
        audit = ensure_audit(connection, "demo")
        assert read_audit_facts(connection, audit)["counts"] == {
            **dict.fromkeys(("trajectories", "pairs", "verdicts", "probe_verdicts", "gold_labels", "judge_logs"), 0),
            "tasks": 2,
            "task_rubrics": 1,
        }
        writer = ensure_judge(connection, audit, WRITER)
        put_drafts(connection, audit, StoredDraft("d1", "t1", writer, "unscored", None))
        counts = read_audit_facts(connection, audit)["counts"]
        assert (counts["rubric_drafts"], counts.get("rubric_matchings")) == (1, None)
