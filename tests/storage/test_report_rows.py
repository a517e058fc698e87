"""What a report reads of single pairs and episodes."""

from __future__ import annotations

from pathlib import Path

from builders import JUDGE, episode, messages, pair, passed, satisfied, verdict
from misjudge_storage import report_rows as rows
from misjudge_storage.engine import open_store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.types import Judge, Log, Record

OTHER = Judge(label="other", form="pairwise", model="other-m")
LONG = "x" * 10_000


def records() -> list[Record]:
    x = episode("x", passed(True), task="t1", said=messages("Hello.", "Done."), satisfaction=[satisfied(0.9)])
    y = episode("y", passed(False), task="t1", satisfaction=[satisfied(0.2)])
    logs = [Log(model="judge-m", raw_output=LONG, order_shown="AB"), Log(role="agent", raw_output="said")]
    judged = (verdict("B", "AB", reasons="Nicer."), verdict("A", "AB", judge=OTHER), verdict(None, "BA"))
    return [pair("p1", x, y, *judged, logs=logs), pair("p0", episode("x", task="t0"), episode("y", task="t0"), line=2)]


def test_pairs_episodes_and_replies_are_read(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    with store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "test", records())
    with store.read() as connection:
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
        assert rows.read_task(connection, audit, "t1").prompt == "Book a table."
        told = rows.replies(connection, audit, "pair_id", "p1", JUDGE.label)
        assert [(one.winner, one.unscored_reason, one.reasons, one.call) for one in told] == [
            ("B", None, "Nicer.", None),
            (None, "parse_error", "", None),
        ]
        [call] = rows.other_calls(connection, audit, "pair_id", "p1", None, 5)
        assert (call.model, len(call.raw_output or ""), call.length) == ("judge-m", rows.EXCERPT, len(LONG))
        scored = rows.report_sessions(connection, audit, None, 9)
        assert [(one.agent, one.success, one.score, one.satisfied) for one in scored] == [
            ("y", False, 0.2, False),
            ("x", True, 0.9, True),
        ]
        assert rows.count_sessions(connection, audit, None) == 2
        assert rows.count_sessions(connection, audit, "nobody") == 0
        assert [row["judge"] for row in rows.pairwise_rows(connection, audit, "other", 5)] == ["other"]
    store.close()
