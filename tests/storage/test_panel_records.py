"""A panel counted in the store: the same on SQLite and on Postgres, and nothing of it stays."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from sqlalchemy import Connection, inspect

from builders import episode, label, pair, verdict
from misjudge_storage import panel_records as panels
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.summary_records import REDUCED, reduce_audit
from misjudge_storage.summary_values import Ballot, Outcomes, PanelSize, Sums
from misjudge_storage.types import Judge, Preference, Record, Scale

JUDGES = tuple(Judge(label=name, form="pairwise", model=name, scale=Scale(low=0, high=5)) for name in "abc")
IDS = [judge_fingerprint(judge) for judge in JUDGES]
SAID: tuple[Preference | None, ...] = ("A", "B", "tie", None)
SCORES = {"A": (4.0, 1.0), "B": (2.0, 3.0), "tie": (3.0, 3.0)}


def records(draw: random.Random, number: int) -> list[Record]:
    """Pairs of five tasks that the judges judged once, in one order, most of them all three."""
    found = []
    for n in range(number):
        said = []
        for judge in JUDGES:
            winner = draw.choice(SAID)
            a, b = SCORES[winner] if winner else (None, None)
            if draw.random() < 0.9:
                said.append(verdict(winner, "AB", judge=judge, score_a=a, score_b=b))
        sides = [episode(f"{side}{n}", task=f"t{n % 5}") for side in "xy"]
        gold = [label(draw.choice(("A", "B", "tie")))]
        found.append(pair(f"p{n}", sides[0], sides[1], *said, gold=gold, line=n + 1))
    return found


def reduced(connection: Connection, found: Sequence[Record]) -> str:
    audit_id = ensure_audit(connection, "demo")
    ingest(connection, audit_id, "file", found)
    reduce_audit(connection, audit_id)
    return audit_id


def winners(record: Record) -> dict[str, Preference | None]:
    return {one.judge.label: one.winner for one in record.verdicts}


def pair_id(record: Record) -> str:
    assert record.pair is not None
    return str(record.pair.pair_id)


def ballot(record: Record) -> Ballot:
    votes = Counter(winners(record).values())
    leads = [None if winner is None else SCORES[winner] for winner in winners(record).values()]
    known = [a - b for a, b in filter(None, leads)]
    total = sum(known)
    lead = "unknown" if len(known) < len(leads) else "A" if total > 0 else "B" if total < 0 else "tie"
    return Ballot(votes["A"], votes["B"], votes["tie"], 0, votes[None], lead)  # type: ignore[arg-type]


def wrong(said: Sequence[tuple[Record, str | None]]) -> Sums:
    tasks: dict[str, list[bool]] = {}
    for record, winner in said:
        gold = record.gold[0].pref
        if {gold, winner} <= {"A", "B"}:
            assert record.task is not None
            tasks.setdefault(record.task.task_id, []).append(gold != winner)
    k, n = [sum(one) for one in tasks.values()], [len(one) for one in tasks.values()]
    squares = [sum(a * b for a, b in zip(*two, strict=True)) for two in ((k, k), (k, n), (n, n))]
    return Sums(len(tasks), sum(k), sum(n), *squares)


def outcomes(said: Sequence[tuple[Record, str | None]]) -> Outcomes:
    counts = Counter(winner or "unscored" for _, winner in said)
    return Outcomes(counts["A"] + counts["B"], counts["tie"], 0, counts["split"], counts["unscored"], wrong(said))


def test_pairs_that_all_judged_are_counted_by_ballot_by_rule_and_by_judge(any_store: Store) -> None:
    found = records(random.Random(5), 120)
    whole = [record for record in found if len(record.verdicts) == 3]
    with any_store.write() as connection:
        audit_id = reduced(connection, found)
        panels.hold_panel(connection, audit_id, IDS)
        decidable = sum(record.gold[0].pref != "tie" for record in whole)
        assert panels.panel_size(connection) == PanelSize(len(whole), decidable)
        ballots = panels.ballots(connection)
        assert set(ballots) == {ballot(record) for record in whole}
        assert len(ballots) == len(set(ballots)) > 15
        rulings = {
            "a or split": {one: "A" if one.a else "split" for one in ballots},
            "by score": {one: "unscored" if one.lead == "unknown" else one.lead for one in ballots},
        }
        ruled = panels.rule_outcomes(connection, rulings)  # type: ignore[arg-type]
        assert ruled == {
            name: outcomes([(record, by[ballot(record)]) for record in whole]) for name, by in rulings.items()
        }
        alone = {judge.label: [(record, winners(record)[judge.label]) for record in whole] for judge in JUDGES}
        assert panels.judge_outcomes(connection, audit_id, IDS) == {
            judge_id: outcomes(alone[judge.label]) for judge_id, judge in zip(IDS, JUDGES, strict=True)
        }
        pooled = panels.pooled_outcomes(connection, audit_id, IDS)
        assert pooled == outcomes([one for said in alone.values() for one in said])
        assert panels.judges_with_scores(connection, audit_id, IDS) == set(IDS)


def test_a_cascade_holds_the_panel_where_it_is_asked_and_has_judged_and_else_its_first_judge(any_store: Store) -> None:
    found = records(random.Random(6), 60)
    drawn = random.Random(7)
    asked = {f"p{n}": drawn.random() < 0.6 for n in range(60) if drawn.random() < 0.9}
    with any_store.write() as connection:
        audit_id = reduced(connection, found)
        escalated = panels.hold_cascade(connection, audit_id, IDS[0], IDS[1:], asked)
        firsts = [record for record in found if "a" in winners(record) and pair_id(record) in asked]
        to_panel = [record for record in firsts if asked[pair_id(record)]]
        whole = [record for record in to_panel if len(record.verdicts) == 3]
        elsewhere = [record for record in firsts if record not in to_panel and len(record.verdicts) == 3]
        assert elsewhere and len(whole) < escalated == len(to_panel) < len(firsts)
        assert panels.panel_size(connection).pairs == len(firsts)
        expected = Counter(
            sum(winner == "A" for label, winner in winners(record).items() if (label != "a") is (record in whole))
            for record in firsts
        )
        held = {one: "A" for one in panels.ballots(connection)}
        by_number = {f"{number}": {one: "A" if one.a == number else "split" for one in held} for number in range(3)}
        ruled = panels.rule_outcomes(connection, by_number)  # type: ignore[arg-type]
        assert {int(name): one.decided for name, one in ruled.items()} == {n: expected[n] for n in range(3)}
        assert panels.hold_cascade(connection, audit_id, IDS[0], IDS[1:], {}) == 0
        assert panels.panel_size(connection) == PanelSize(0, 0)


def test_where_no_pair_was_judged_by_all_nothing_is_counted(any_store: Store) -> None:
    one = pair("p", None, None, verdict("A", "AB", judge=JUDGES[0]))
    with any_store.write() as connection:
        audit_id = reduced(connection, [one])
        panels.hold_panel(connection, audit_id, IDS)
        assert panels.panel_size(connection) == PanelSize(0, 0)
        assert panels.ballots(connection) == []
        assert panels.rule_outcomes(connection, {"majority": {}}) == {}
        assert panels.judge_outcomes(connection, audit_id, IDS) == {}
        assert panels.pooled_outcomes(connection, audit_id, IDS) is None
        assert panels.judges_with_scores(connection, audit_id, IDS) == set()


def test_a_panel_that_was_counted_leaves_no_table(store: Store) -> None:
    with store.write() as connection:
        audit_id = ensure_audit(connection, "demo")
        ingest(connection, audit_id, "file", records(random.Random(7), 5))
    with store.read() as connection:
        reduce_audit(connection, audit_id)
        panels.hold_panel(connection, audit_id, IDS)
        panels.rule_outcomes(connection, {"majority": {one: "A" for one in panels.ballots(connection)}})
        assert {panels.PANEL, panels.RULINGS} <= {*inspect(connection).get_temp_table_names()}
        assert inspect(connection).get_temp_view_names() == [REDUCED]
    with store.read() as connection:
        assert inspect(connection).get_temp_table_names() == inspect(connection).get_temp_view_names() == []
