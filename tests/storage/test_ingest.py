"""Records into the store: the same again adds nothing, something else is refused, and what is apart stays apart."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlmodel import SQLModel

from builders import JUDGE, episode, label, lone, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage import ingest as ingesting
from misjudge_storage.engine import Store
from misjudge_storage.errors import Conflict
from misjudge_storage.ingest import Stored, ensure_audit, ensure_judge, ingest
from misjudge_storage.judging_records import messages_from
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.tables import JudgeLog, table
from misjudge_storage.types import Check, Judge, Log, Message, Record, Scale, Task, ToolCall

ONE, TWO = messages("hi", "one"), messages("hi", "two")


def put(store: Store, *records: Record, audit: str = "demo", source: str = "file") -> Stored:
    with store.write() as connection:
        return ingest(connection, ensure_audit(connection, audit), source, records)


def counts(store: Store) -> dict[str, int]:
    with store.read() as connection:
        return {
            table.name: connection.scalar(text(f"SELECT COUNT(*) FROM {table.name}")) or 0
            for table in SQLModel.metadata.sorted_tables
        }


def fetch(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def everything(line: int = 1, pair_id: str | None = "p1", **key: Any) -> Record:
    """A record that has a row for every table an import writes."""
    return pair(
        pair_id,
        episode(
            "x",
            passed(True),
            rewarded(0.5),
            said=ONE,
            satisfaction=[satisfied(0.9)],
            logs=[Log(role="agent", est_cost=1)],
        ),
        episode("y", passed(False), said=TWO, satisfaction=[satisfied(None)]),
        verdict("A", "AB", score_a=4, score_b=2),
        verdict(None, "BA"),
        line=line,
        gold=[label("A"), label("B", "other")],
        logs=[Log(input_tokens=10, created_at="2025-01-31T12:00:00+08:00")],
        **key,
    )


def test_the_same_records_again_add_nothing(store: Store) -> None:
    record, unnamed = everything(), everything(2, None)
    first = put(store, record, unnamed, lone(episode("z", trial=None), 3), Record(line=4, logs=(Log(role="user_sim"),)))
    before = counts(store)
    again = put(store, record, unnamed, lone(episode("z", trial=None), 3), Record(line=4, logs=(Log(role="user_sim"),)))
    assert set(again.added.values()) == {0}
    assert counts(store) == before
    assert {name: number for name, number in before.items() if number and name != "audits"} == first.added


def test_an_import_says_what_it_added(store: Store) -> None:
    assert put(store, everything()).added == {
        "tasks": 1,
        "judges": 2,
        "trajectories": 2,
        "checks": 3,
        "pairs": 1,
        "gold_labels": 2,
        "verdicts": 4,
        "judge_logs": 2,
    }


def test_what_grew_since_the_last_import_is_added(store: Store) -> None:
    put(store, pair("p1", None, None, verdict("A", "AB")))
    grown = put(store, pair("p1", None, None, verdict("A", "AB"), verdict("B", "BA")), pair("p2", line=2))
    assert (grown.added["verdicts"], grown.added["pairs"], grown.added["trajectories"]) == (1, 1, 0)


def test_the_same_file_in_another_audit_is_stored_apart(store: Store) -> None:
    first = put(store, everything())
    assert put(store, everything(), audit="other").added == first.added


def test_an_audit_keeps_its_seed_and_secret(store: Store) -> None:
    with store.write() as connection:
        made = ensure_audit(connection, "demo", seed=7, secret="s3cret")
        assert ensure_audit(connection, "demo", seed=8) == made
        ensure_audit(connection, "other")
    rows = dict((name, (seed, secret)) for name, seed, secret in fetch(store, "SELECT name, seed, secret FROM audits"))
    assert rows["demo"] == (7, "s3cret")
    assert rows["other"][0] == 0
    assert len(rows["other"][1]) == 32


FIRST = pair("p1", episode("x", passed(True)), episode("y"), verdict("A", "AB"), gold=[label("A")])
CONFLICTS = {
    "task": (pair("p1", prompt="Book a room.", line=7), "task 't1' is stored with another prompt"),
    "trajectory": (
        lone(episode("x", said=TWO), line=7),
        "agent 'x' has another trajectory for task 't1' and the same trial",
    ),
    "pair": (pair("p1", episode("x"), episode("z"), line=7), "pair 'p1' is stored with other sides"),
    "gap": (pair("p1", reward_gap=0.5, line=7), "pair 'p1' is stored with other sides or another gap"),
    "verdict": (
        pair("p1", None, None, verdict("B", "AB"), line=7),
        "the verdict on 'p1' is stored with another outcome",
    ),
    "scores": (pair("p1", None, None, verdict("A", "AB", score_a=1), line=7), "stored with another outcome"),
    "check": (pair("p1", episode("x", passed(False)), line=7), "the same check of a trajectory"),
    "gold": (pair("p1", gold=[label("tie")], line=7), "labeller 'ann' already labelled 'p1' differently"),
}


@pytest.mark.parametrize(("record", "problem"), CONFLICTS.values(), ids=CONFLICTS)
@pytest.mark.parametrize("together", [False, True], ids=["in two imports", "in one file"])
def test_something_else_under_the_same_id_is_a_conflict_that_names_its_line(
    store: Store, record: Record, problem: str, together: bool
) -> None:
    other = pair("p9", episode("v", task="t9"), episode("w", task="t9"), line=8)
    if not together:
        put(store, FIRST)
    before = counts(store)
    with pytest.raises(Conflict) as caught:
        put(store, *([FIRST] if together else []), other, record)
    assert str(caught.value).startswith("file, line 7: ")
    assert problem in str(caught.value)
    assert "nothing was imported" in str(caught.value)
    assert counts(store) == before


def test_another_satisfaction_of_the_same_trajectory_is_a_conflict(store: Store) -> None:
    put(store, lone(episode("x", satisfaction=[satisfied(0.9)])))
    with pytest.raises(Conflict, match="line 1: the verdict on 'trj_"):
        put(store, lone(episode("x", satisfaction=[satisfied(0.8)])))


def test_a_conflict_is_found_behind_the_first_batch_and_lookup(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingesting, "BATCH", 3)
    monkeypatch.setattr(ingesting, "LOOKUP", 2)
    records = [pair(f"p{n}", None, None, verdict("A", "AB"), line=n) for n in range(1, 9)]
    put(store, *records)
    assert set(put(store, *records).added.values()) == {0}
    with pytest.raises(Conflict, match="line 8: the verdict on 'p8'"):
        put(store, *records[:7], pair("p8", None, None, verdict("B", "AB"), line=8))


def test_many_verdicts_of_one_batch_are_compared(store: Store) -> None:
    verdicts = [verdict("A", "AB", repeat) for repeat in range(100)]
    records = [pair(f"p{n}", None, None, *verdicts, line=n) for n in range(400)]
    assert put(store, *records).added["verdicts"] == 40_000


def judges(store: Store) -> dict[str, str]:
    return dict(fetch(store, "SELECT label, judge_id FROM judges"))


def test_another_judge_of_the_same_label_gets_a_suffix(store: Store) -> None:
    other = JUDGE.model_copy(update={"model": "judge-l"})
    record = pair("p1", None, None, verdict("A", "AB"), verdict("B", "AB", judge=other))
    put(store, record)
    again = put(store, record)
    fingerprint = judge_fingerprint(other)
    assert judges(store) == {"judge": judge_fingerprint(JUDGE), f"judge@{fingerprint[4:10]}": fingerprint}
    assert again.added["judges"] == 0
    assert fetch(store, "SELECT judge, judge_pref FROM audit_pairs ORDER BY 2") == [
        ("judge", "A"),
        (f"judge@{fingerprint[4:10]}", "B"),
    ]


def test_the_same_label_is_free_for_the_other_form_and_in_another_audit(store: Store) -> None:
    scoring = Judge(label="judge", form="satisfaction")
    with store.write() as connection:
        for audit, judge in (("a", JUDGE), ("a", scoring), ("b", JUDGE.model_copy(update={"model": "other"}))):
            ensure_judge(connection, ensure_audit(connection, audit), judge)
    assert {row[0] for row in fetch(store, "SELECT label FROM judges")} == {"judge"}


def test_a_judge_keeps_its_first_label(store: Store) -> None:
    with store.write() as connection:
        audit = ensure_audit(connection, "demo")
        first = ensure_judge(connection, audit, JUDGE)
        assert ensure_judge(connection, audit, JUDGE.model_copy(update={"label": "renamed"})) == first
    assert judges(store) == {"judge": first}


def test_imported_judges_are_told_apart_by_label_alone(store: Store) -> None:
    one, two = (Judge(label=name, form="pairwise", origin="imported") for name in ("gpt", "llama"))
    assert judge_fingerprint(one) != judge_fingerprint(two)
    gateway = JUDGE.model_copy(update={"label": "renamed"})
    assert judge_fingerprint(gateway) == judge_fingerprint(JUDGE)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "m"},
        {"params": '{"temperature":1}'},
        {"prompt_hash": "0"},
        {"prompt_version": "v2"},
        {"rubric_hash": "0"},
        {"protocol": "2"},
        {"form": "satisfaction"},
        {"scale": Scale(low=0, high=5)},
        {"simulated": True},
    ],
)
def test_everything_that_makes_verdicts_comparable_is_in_the_fingerprint(change: dict[str, Any]) -> None:
    assert judge_fingerprint(JUDGE.model_copy(update=change)) != judge_fingerprint(JUDGE)


def repeated(winners: Iterable[str], order: str | None = "AB") -> list[Record]:
    a, b = episode("x", trial=None, said=ONE), episode("y", trial=None, said=TWO)
    return [pair(None, a, b, verdict(w, order), line=n) for n, w in enumerate(winners, 1)]  # type: ignore[arg-type]


def test_repeats_of_a_pair_known_by_content_are_numbered_in_the_order_of_the_file(store: Store) -> None:
    put(store, *repeated(["A", "B", "A"]), *repeated(["tie"], "BA"))
    assert fetch(store, "SELECT order_shown, repeat, winner FROM verdicts ORDER BY order_shown, repeat") == [
        ("AB", 0, "A"),
        ("AB", 1, "B"),
        ("AB", 2, "A"),
        ("BA", 0, "tie"),
    ]
    assert counts(store)["pairs"] == 1
    assert set(put(store, *repeated(["A", "B", "A"])).added.values()) == {0}


def test_repeats_are_counted_per_judge_and_beside_reduced_verdicts(store: Store) -> None:
    a, b = episode("x", said=ONE), episode("y", said=TWO)
    other = JUDGE.model_copy(update={"label": "other", "model": "m"})
    put(
        store,
        pair(None, a, b, verdict("A"), line=1),
        pair(None, a, b, verdict("A", judge=other), line=2),
        pair(None, a, b, verdict("A", reduced=True), line=3),
        pair(None, a, b, verdict("B"), line=4),
    )
    assert sorted(fetch(store, "SELECT repeat, winner, reduced FROM verdicts")) == [
        (0, "A", 0),
        (0, "A", 0),
        (0, "A", 1),
        (1, "B", 0),
    ]


def test_the_same_pair_twice_by_its_id_is_one_verdict(store: Store) -> None:
    put(store, pair("p1", None, None, verdict("A", "AB"), line=1), pair("p1", None, None, verdict("A", "AB"), line=2))
    assert counts(store)["verdicts"] == 1


def test_another_trial_of_the_same_content_is_another_pair(store: Store) -> None:
    a, b = episode("x", trial=None, said=ONE), episode("y", trial=None, said=TWO)
    put(store, pair(None, a, b), pair(None, a, b, trial=1), pair(None, b, a), line_free())
    assert counts(store)["pairs"] == 3


def line_free() -> Record:
    """A record that says nothing."""
    return Record(line=9)


def test_attempts_without_number_or_transcript_stay_apart(store: Store) -> None:
    bare = episode("x", trial=None), episode("y", trial=None)
    put(store, pair("p1", *bare), pair("p2", *bare), pair(None, *bare, line=3), pair(None, *bare, line=4))
    put(store, lone(bare[0], line=5), lone(bare[0], line=6))
    assert counts(store)["trajectories"] == 2 * 4 + 2
    put(store, lone(bare[0], line=5), source="another file")
    assert counts(store)["trajectories"] == 2 * 4 + 3


def test_rows_of_several_judges_on_one_pair_share_its_attempts(store: Store) -> None:
    bare = episode("x", passed(True), trial=None), episode("y", passed(False), trial=None)
    other = Judge(label="other", form="pairwise", origin="imported")
    put(store, pair("p1", *bare, verdict("A")), pair("p1", *bare, verdict("B", judge=other), line=2))
    assert (counts(store)["trajectories"], counts(store)["pairs"], counts(store)["verdicts"]) == (2, 1, 2)


def test_a_numbered_attempt_is_shared_by_its_pairs(store: Store) -> None:
    x, y, z = episode("x"), episode("y"), episode("z")
    put(store, pair("p1", x, y), pair("p2", x, z), pair("p3", episode("x", trial=1), z))
    assert counts(store)["trajectories"] == 4


def test_unnumbered_attempts_are_told_apart_by_what_was_said(store: Store) -> None:
    put(
        store,
        lone(episode("x", trial=None, said=ONE)),
        lone(episode("x", trial=None, said=TWO)),
        lone(episode("x", trial=None, said=ONE)),
    )
    assert counts(store)["trajectories"] == 2


def test_the_transcript_comes_back_as_it_was(store: Store) -> None:
    said = (
        Message(role="system", content="be kind"),
        Message(role="user", content='甲\n"quoted" \\ \u2028'),
        Message(role="assistant", tool_calls=(ToolCall(name="find", arguments='{"q": 1}', id="c1"),)),
        Message(role="tool", content="none", tool_call_id="c1", name="find"),
    )
    put(store, lone(episode("x", said=said, end_reason="stop", base_model="m", input_tokens=5, output_tokens=0)))
    ((stored, turns, reason, model, used),) = fetch(
        store, "SELECT messages_json, turns, end_reason, base_model, input_tokens FROM trajectories"
    )
    assert messages_from(stored) == said
    assert (turns, reason, model, used) == (1, "stop", "m", 5)


def test_an_empty_transcript_is_not_a_missing_one(store: Store) -> None:
    put(store, lone(episode("x", said=())), lone(episode("y")))
    assert fetch(store, "SELECT messages_json, turns FROM trajectories ORDER BY agent") == [("[]", 0), (None, None)]


def test_text_that_no_database_keeps_is_replaced_and_not_refused(store: Store) -> None:
    broken = "a\0b\ud800c"
    record = pair(
        None,
        episode("x", said=messages(broken, "ok")),
        episode("y", said=messages(broken, "fine")),
        verdict("A", reasons=broken),
        prompt=broken,
        logs=[Log(raw_output=broken)],
    )
    put(store, record, source="bro\udcffken")
    assert fetch(store, "SELECT prompt FROM tasks") == [("a\ufffdb\ufffdc",)]
    assert fetch(store, "SELECT reasons, raw_output FROM verdicts, judge_logs") == [("a\ufffdb\ufffdc",) * 2]
    (stored,) = fetch(store, "SELECT messages_json FROM trajectories WHERE agent = 'x'")[0]
    assert messages_from(stored)[0].content == "a\0b\ufffdc"
    assert set(put(store, record, source="bro\udcffken").added.values()) == {0}


def test_a_file_without_utf8_in_its_name_can_name_pairs(store: Store) -> None:
    bare = episode("x", trial=None), episode("y", trial=None)
    put(store, pair(None, *bare), source="caf\udce9")
    assert set(put(store, pair(None, *bare), source="caf\udce9").added.values()) == {0}
    assert fetch(store, "SELECT pair_id FROM pairs") == [("caf\ufffd:1",)]


@pytest.mark.parametrize(
    ("said", "hour"), [("2025-01-31T12:00:00+08:00", 4), ("2025-01-31T12:00:00", 12), ("2025-01-31T12:00:00Z", 12)]
)
def test_the_time_of_a_log_is_kept_in_utc(store: Store, said: str, hour: int) -> None:
    put(store, Record(line=1, logs=(Log(created_at=said),)))
    with store.read() as connection:
        (at,) = connection.execute(select(table(JudgeLog).c.created_at)).one()
    assert at == datetime(2025, 1, 31, hour, tzinfo=UTC)


def test_equal_calls_of_a_repeated_pair_are_several_calls(store: Store) -> None:
    a, b = episode("x", said=ONE), episode("y", said=TWO)
    records = [pair(None, a, b, verdict("A", "AB"), line=n, logs=[Log(est_cost=1, input_tokens=5)]) for n in (1, 2)]
    put(store, *records)
    put(store, *records)
    assert fetch(store, "SELECT COUNT(*), SUM(est_cost) FROM judge_logs") == [(2, 2.0)]


def test_what_the_agents_of_a_pair_cost_is_said_once_for_all_its_judges(store: Store) -> None:
    costs = [Log(role="agent", est_cost=1), Log(role="judge", est_cost=0.5)]
    other = Judge(label="other", form="pairwise", origin="imported")
    put(
        store,
        pair("p1", None, None, verdict("A"), logs=costs),
        pair("p1", None, None, verdict("B", judge=other), logs=costs, line=2),
    )
    assert fetch(store, "SELECT role, judge_id, est_cost FROM judge_logs ORDER BY role, judge_id") == [
        ("agent", None, 1.0),
        *sorted(("judge", judge_fingerprint(judge), 0.5) for judge in (JUDGE, other)),
    ]
    assert fetch(store, "SELECT judge, agent_cost, judge_cost, total_cost FROM audit_pairs ORDER BY judge") == [
        ("judge", 1.0, 0.5, 1.5),
        ("other", 1.0, 0.5, 1.5),
    ]


def test_a_call_that_several_judges_share_names_none_and_counts_for_each(store: Store) -> None:
    other = JUDGE.model_copy(update={"label": "other", "model": "m"})
    call = Log(est_cost=1, input_tokens=5, output_tokens=3)
    put(store, pair("p1", None, None, verdict("A"), verdict("B", judge=other), logs=[call]))
    assert fetch(store, "SELECT judge_id FROM judge_logs") == [(None,)]
    query = "SELECT judge, judge_cost, input_tokens, output_tokens FROM audit_pairs ORDER BY judge"
    assert fetch(store, query) == [("judge", 1.0, 5, 3), ("other", 1.0, 5, 3)]


def test_logs_of_an_episode_are_those_of_its_trajectory_in_every_pair(store: Store) -> None:
    x = episode("x", logs=[Log(role="agent", est_cost=1), Log(role="agent", est_cost=1)])
    put(store, pair("p1", x, episode("y")), pair("p2", x, episode("z"), line=2))
    assert fetch(store, "SELECT COUNT(*), COUNT(trajectory_id), COUNT(pair_id) FROM judge_logs") == [(2, 2, 0)]


def test_lone_logs_of_two_files_are_apart(store: Store) -> None:
    logs = Record(line=1, logs=(Log(pair_id="p1"),))
    put(store, logs, source="monday")
    put(store, logs, source="tuesday")
    assert fetch(store, "SELECT COUNT(*), MIN(pair_id) FROM judge_logs") == [(2, "p1")]


def test_parts_of_a_check_and_outcomes_are_different_rows(store: Store) -> None:
    part = Check(verifier="verifier check", source="verifier", passed=False, scope="part")
    put(store, lone(episode("x", passed(True), part)))
    assert fetch(store, "SELECT scope, passed FROM checks ORDER BY scope") == [("outcome", 1), ("part", 0)]


def test_a_satisfaction_without_score_is_unscored(store: Store) -> None:
    put(store, lone(episode("x", satisfaction=[satisfied(None, reason="truncated")])))
    query = "SELECT status, score, unscored_reason, pair_id FROM verdicts"
    assert fetch(store, query) == [("unscored", None, "truncated", None)]


def test_an_import_stores_a_batch_before_it_reads_the_next(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingesting, "BATCH", 10)
    stored: list[int] = []
    with store.write() as connection:
        audit = ensure_audit(connection, "demo")

        def records() -> Iterable[Record]:
            for n in range(25):
                stored.append(connection.scalar(text("SELECT COUNT(*) FROM trajectories")) or 0)
                yield lone(episode(f"agent {n}"), line=n)

        assert ingest(connection, audit, "file", records()).added["trajectories"] == 25
    assert stored == [0] * 10 + [10] * 10 + [20] * 5


def test_a_task_may_be_said_once_more(store: Store) -> None:
    put(store, Record(line=1, task=Task(task_id="t1", prompt="Book a table.")), lone(episode("x")))
    assert counts(store)["tasks"] == 1
