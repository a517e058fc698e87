"""What a report reads of single pairs and episodes."""

from __future__ import annotations

from builders import JUDGE, episode, messages, pair, passed, satisfied, verdict
from misjudge_storage import report_calls as calls
from misjudge_storage import report_rows as rows
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Judge, Log, Record, Task

OTHER = Judge(label="other", form="pairwise", model="other-m")
LONG = "x" * 10_000


def records() -> list[Record]:
    x = episode("x", passed(True), task="t1", said=messages("Hello.", "Done."), satisfaction=[satisfied(0.9)])
    y = episode("y", passed(False), task="t1", satisfaction=[satisfied(0.2)])
    logs = [Log(model="judge-m", raw_output=LONG, order_shown="AB"), Log(role="agent", raw_output="said")]
    judged = (verdict("B", "AB", reasons="Nicer."), verdict("A", "AB", judge=OTHER), verdict(None, "BA"))
    return [pair("p1", x, y, *judged, logs=logs), pair("p0", episode("x", task="t0"), episode("y", task="t0"), line=2)]


def test_pairs_episodes_and_replies_are_read(any_store: Store) -> None:
    with any_store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "test", records())
    with any_store.read() as connection:
        assert (rows.count_pairs(connection, audit), rows.count_tasks(connection, audit)) == (2, 2)
        assert list(rows.first_pair_ids(connection, audit, 9)) == ["p0", "p1"]
        one, none = rows.report_pairs(connection, audit, ["p1", "p0", "gone"], None)
        assert (one.pair_id, one.gold, one.success_a, one.success_b) == ("p1", "A", True, False)
        assert {(said.judge, said.pref) for said in one.says} == {("judge", None), ("other", "A")}
        assert none.says == ()
        [only] = rows.report_pairs(connection, audit, ["p1"], "other")
        assert [said.judge for said in only.says] == ["other"]
        first, second = rows.sides_of(connection, audit, "p1")
        seen = rows.read_episode(connection, first)
        assert seen.messages is not None and [said.content for said in seen.messages] == ["Hello.", "Done."]
        assert [check.passed for check in seen.checks] == [True]
        assert rows.read_episode(connection, second).messages is None
        assert rows.read_task(connection, audit, "t1").prompt == ("Book a table.", 0)
        told = calls.replies(connection, audit, "pair_id", "p1", JUDGE.label)
        assert [(one.winner, one.unscored_reason, one.reasons, one.call) for one in told.rows] == [
            ("B", None, ("Nicer.", 0), None),
            (None, "parse_error", ("", 0), None),
        ]
        assert told.in_all == 2
        [call] = calls.other_calls(connection, audit, "pair_id", "p1", None, 5)
        assert call.raw_output is not None
        assert (call.model, len(call.raw_output.text)) == ("judge-m", calls.EXCERPT)
        assert call.raw_output.unread == len(LONG) - calls.EXCERPT
        scored = rows.report_sessions(connection, audit, None, 9)
        assert [(one.agent, one.success, one.score, one.satisfied) for one in scored] == [
            ("y", False, 0.2, False),
            ("x", True, 0.9, True),
        ]
        assert rows.count_sessions(connection, audit, None) == 2
        assert rows.count_sessions(connection, audit, "nobody") == 0
        assert [row["judge"] for row in rows.pairwise_rows(connection, audit, "other", 5)] == ["other"]


def test_of_long_and_many_texts_the_start_is_read_and_the_rest_is_counted(any_store: Store) -> None:
    most, many = calls.EXCERPT, calls.MOST_REPLIES + 5
    checks = tuple(passed(True).model_copy(update={"verifier": f"v{n:03}", "evidence": LONG}) for n in range(40))
    task = Task(task_id="t1", prompt=LONG, success_criteria=LONG, hard_constraints=LONG)
    x, y = (episode(agent, *checks) for agent in "xy")
    judged = [verdict("A", "AB", repeat=n, reasons=LONG) for n in range(many)]
    with any_store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "test", [pair("p1", x, y, *judged).model_copy(update={"task": task})])
    with any_store.read() as connection:
        (first, _) = rows.sides_of(connection, audit, "p1")
        seen = rows.read_episode(connection, first)
        assert (len(seen.checks), seen.checks_in_all) == (rows.MOST_CHECKS, 40)
        told = calls.replies(connection, audit, "pair_id", "p1", None)
        assert (len(told.rows), told.in_all) == (calls.MOST_REPLIES, many)
        texts = (*rows.read_task(connection, audit, seen.task_id), seen.checks[0].evidence, told.rows[0].reasons)
        assert {(len(one.text), one.unread) for one in texts} == {(most, len(LONG) - most)}
