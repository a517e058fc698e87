"""Labels and corrections counted in the store: the same on SQLite and on Postgres, and nothing of it stays."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, starmap

import pytest
from sqlalchemy import Connection, inspect

from builders import SATISFACTION, episode, label, lone, pair, passed, satisfied, verdict
from misjudge_storage import agreement_counts as counted
from misjudge_storage import correction_counts as corrections
from misjudge_storage.agreement_counts import SAID, Couple, Labeller
from misjudge_storage.correction_counts import Basis
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.summary_records import reduce_audit
from misjudge_storage.task_moments import Moments, moment_columns, read_moments, width
from misjudge_storage.types import Judge, Preference, Record, Scale

JUDGES = tuple(Judge(label=name, form="pairwise", model=name, scale=Scale(low=0, high=5)) for name in "abc")
IDS = [judge_fingerprint(judge) for judge in JUDGES]
PREFS: tuple[Preference, ...] = ("A", "B", "tie")
ANN, *BY = (Labeller("human", "ann", True), *(Labeller("judge", name, name != "c") for name in "abc"))


def records(draw: random.Random, number: int) -> list[Record]:
    """Pairs of five tasks and three agents that three judges and a person label, most of them."""
    found = []
    for n in range(number):
        said = []
        for judge in JUDGES:
            winner = draw.choice(PREFS)
            a, b = {"A": (4.0, 1.0), "B": (2.0, 3.0), "tie": (3.0, 3.0)}[winner]
            if draw.random() < 0.9:
                said.append(verdict(winner, "AB", judge=judge, score_a=a, score_b=b))
        one, other = draw.sample("xyz", 2)
        sides = [episode(side, task=f"t{n % 5}", trial=n) for side in (one, other)]
        gold = [label(draw.choice(PREFS), "ann")] if draw.random() < 0.6 else []
        found.append(pair(f"p{n}", sides[0], sides[1], *said, gold=gold, line=n + 1))
    return found


def reduced(connection: Connection, found: Sequence[Record]) -> str:
    audit_id = ensure_audit(connection, "demo")
    ingest(connection, audit_id, "file", found)
    reduce_audit(connection, audit_id)
    return audit_id


def said_of(record: Record) -> dict[str, str]:
    """Labeller → label."""
    people = {one.labeller: one.pref for one in record.gold}
    return {**people, **{one.judge.label: one.winner or "" for one in record.verdicts}}


def moments(rows: Sequence[tuple[str, Sequence[float]]]) -> Moments:
    """By task, of rows of counts; tasks without a count do not count."""
    tasks: dict[str, list[float]] = {}
    for task, counts in rows:
        before = tasks.get(task, [0.0] * len(counts))
        tasks[task] = [a + b for a, b in zip(before, counts, strict=True)]
    seen = [one for one in tasks.values() if any(one)]
    number = len(rows[0][1])
    products = [sum(one[j] * one[k] for one in seen) for j in range(number) for k in range(j, number)]
    return Moments(len(seen), tuple(sum(one[j] for one in seen) for j in range(number)), tuple(products))


def task_of(record: Record) -> str:
    assert record.task is not None
    return record.task.task_id


def cell(place: int, number: int) -> list[float]:
    return [float(place == k) for k in range(number)]


def test_couples_and_groups_are_counted_by_task(any_store: Store) -> None:
    found = records(random.Random(5), 60)
    with any_store.write() as connection:
        audit_id = reduced(connection, found)
        counted.hold_labels(connection, audit_id, aside=[IDS[2]])
        assert counted.labellers(connection) == [ANN, *BY]
        couples = counted.couples(connection)
        assert couples.labelled == [*starmap(Couple, combinations([ANN, *BY], 2))]
        assert couples.decided == [*starmap(Couple, combinations(BY, 2))]
        for couple in couples.labelled:
            a, b = couple.first.name, couple.second.name
            both = [(task_of(one), said_of(one)) for one in found if {a, b} <= said_of(one).keys()]
            cells = moments([(task, cell(3 * SAID.index(said[a]) + SAID.index(said[b]), 9)) for task, said in both])
            assert couples.cells(couple) == cells
            assert couples.table(couple) == [*cells.totals]
            wrong = [
                (task, cell(2 * (said[a] == said["ann"]) + (said[b] == said["ann"]), 4))
                for task, said in both
                if a != "ann" and {said[a], said[b], said.get("ann")} <= {"A", "B"}
            ]
            assert couples.wrong(couple) == (moments(wrong) if wrong else Moments(0, (0.0,) * 4, (0.0,) * 10))
        judges = counted.couples(connection, only_judges=True)
        assert judges.labelled == judges.decided == couples.decided
        assert all(judges.cells(couple) == couples.cells(couple) for couple in judges.labelled)
        mine = counted.couples_with(connection, BY[1])
        assert mine.labelled == couples.labelled_with("b") == [one for one in couples.labelled if BY[1] in one]
        assert mine.decided == couples.decided_with("b")
        for couple in mine.labelled:
            assert mine.cells(couple) == couples.cells(couple)
            assert mine.wrong(couple) == couples.wrong(couple)
        assert couples.labelled_with("ann") == []
        groups = {one.group: one for one in counted.group_labels(connection)}
        assert {*groups} == {"judges", "all"}
        for name, members in {"judges": "ab", "all": ("ann", "a", "b")}.items():
            units = []
            for record in found:
                labels = [label for who, label in said_of(record).items() if who in members]
                counts = [labels.count(one) for one in SAID]
                if len(labels) > 1:
                    agreed = sum(n * (n - 1) for n in counts) / (len(labels) - 1)
                    units.append((task_of(record), [agreed, *map(float, counts)]))
            assert groups[name].pairs == len(units)
            assert groups[name].moments == moments(units)


def test_labels_are_counted_a_few_tasks_at_a_time(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with any_store.write() as connection:
        audit_id = reduced(connection, records(random.Random(9), 40))
        counted.hold_labels(connection, audit_id)
        at_once = counted.couples(connection)
        monkeypatch.setattr(counted, "_LABELS_AT_A_TIME", 1)
        monkeypatch.setattr(counted, "_ROWS_AT_A_TIME", 7)
        by_task = counted.couples(connection)
        assert by_task.labelled == at_once.labelled
        for couple in by_task.labelled:
            assert by_task.cells(couple) == at_once.cells(couple)


def test_scores_are_added_up_by_task(any_store: Store) -> None:
    gates = [SATISFACTION.model_copy(update={"label": name, "model": name}) for name in "fg"]
    given = [(0.5, 0.25), (1.0, 1.0), (0.0, 0.5)]
    found = [
        lone(episode("x", task=f"t{n}", satisfaction=[satisfied(s, j) for s, j in zip(two, gates, strict=True)]), n + 1)
        for n, two in enumerate(given)
    ]
    with any_store.write() as connection:
        audit_id = reduced(connection, [*found, *records(random.Random(6), 20)])
        ids = [judge_fingerprint(judge) for judge in gates]
        scored = counted.scored_trajectories(connection, audit_id, ids)
        units = [(f"t{n}", [(a - b) ** 2, 2.0, a + b, a * a + b * b]) for n, (a, b) in enumerate(given)]
        assert (scored.units, scored.moments) == (3, moments(units))
        assert counted.scored_leads(connection, audit_id, IDS[:2]).units > 10
        assert counted.scored_leads(connection, audit_id, ids) == counted.ScoredUnits(0, Moments(0, (), ()))


def test_win_rates_are_counted_by_agent_and_by_couple(any_store: Store) -> None:
    found = records(random.Random(8), 80)
    known = pair("v", episode("x", passed(True), task="v"), episode("y", passed(False), task="v"), line=99)
    known = known.model_copy(update={"verdicts": (verdict("A", "AB", judge=JUDGES[0]),)})
    with any_store.write() as connection:
        audit_id = reduced(connection, [*found, known])
        assert corrections.has_human_labels(connection, audit_id)
        mine = [one for one in found if "a" in said_of(one)]
        labelled = sum("ann" in said_of(one) for one in mine)
        basis = corrections.pair_basis(connection, audit_id, IDS[0])
        assert basis == Basis(labelled, len(mine) - labelled, 1)
        by_agent = {one.agent: one for one in corrections.agent_wins(connection, audit_id, IDS[0])}
        couples = corrections.couple_wins(connection, audit_id, IDS[0])
        assert {(one.agent, one.other) for one in couples} == {("x", "y"), ("x", "z"), ("y", "z")}
        for agent in "xyz":
            rows = [(task_of(one), six(one, agent)) for one in mine if agent in agents(one)]
            assert by_agent[agent].cells == moments(rows)
            assert tasks_of(by_agent[agent]) == tasks_with(rows)
        for couple in couples:
            assert couple.agent is not None
            rows = [
                (task_of(one), six(one, couple.agent)) for one in mine if agents(one) == {couple.agent, couple.other}
            ]
            assert couple.cells == moments(rows)


def agents(record: Record) -> set[str]:
    return {one.trajectory.agent for one in record.episodes}


def six(record: Record, agent: str) -> list[float]:
    side = "A" if record.episodes[0].trajectory.agent == agent else "B"
    said = said_of(record)
    f, y = said["a"] == side, said.get("ann")
    return cell(4 + (not f) if y is None else 2 * (y != side) + (not f), 6)


def tasks_with(rows: Sequence[tuple[str, Sequence[float]]]) -> list[int]:
    kinds: tuple[Sequence[int], ...] = ((2, 3), (0, 1), (0, 1, 2, 3), (4, 5))
    return [len({task for task, counts in rows if any(counts[k] for k in kind)}) for kind in kinds]


def tasks_of(one: corrections.Corrections) -> list[int]:
    return [one.negative_tasks, one.positive_tasks, one.labelled_tasks, one.unlabelled_tasks]


def test_success_by_models_checks_is_counted_of_all_and_by_agent(any_store: Store) -> None:
    draw = random.Random(4)
    rows: dict[str, list[tuple[str, list[float]]]] = {"x": [], "y": []}
    found = []
    for n in range(60):
        agent, said, truth = draw.choice("xy"), draw.random() < 0.6, draw.random() < 0.5
        labelled = draw.random() < 0.5
        checks = [passed(said, "model")]
        if n % 5 == 0:
            # A second opinion: both must pass.
            checks.append(passed(True, "model").model_copy(update={"verifier": "other"}))
        if labelled:
            checks.append(passed(truth, "human"))
        task = f"t{n % 7}"
        found.append(lone(episode(agent, *checks, task=task, trial=n), n + 1))
        rows[agent].append((task, cell(2 * (not truth) + (not said) if labelled else 4 + (not said), 6)))
    by_data = lone(episode("x", passed(True, "model"), passed(True, "label"), task="t1", trial=99), 99)
    unsure = passed(True, "model").model_copy(update={"passed": None})
    no_answer = lone(episode("y", unsure, task="t1", trial=98), 98)
    with any_store.write() as connection:
        audit_id = reduced(connection, [*found, by_data, no_answer])
        assert corrections.has_candidates(connection, audit_id)
        labelled_ones = sum(sum(counts[:4]) for one in rows.values() for _, counts in one)
        assert corrections.episode_basis(connection, audit_id) == Basis(int(labelled_ones), 60 - int(labelled_ones), 1)
        everybody, *each = corrections.checked_successes(connection, audit_id)
        assert everybody.agent is None and everybody.cells == moments([*rows["x"], *rows["y"]])
        assert {one.agent: one.cells for one in each} == {agent: moments(mine) for agent, mine in rows.items()}
        assert all(tasks_of(one) == tasks_with(rows[str(one.agent)]) for one in each)


def test_where_nobody_labelled_nothing_is_counted(any_store: Store) -> None:
    with any_store.write() as connection:
        audit_id = reduced(connection, [pair("p", None, None, verdict("A", "AB", judge=JUDGES[0]))])
        assert not counted.has_labels(connection, audit_id)
        assert not corrections.has_human_labels(connection, audit_id)
        assert not corrections.has_candidates(connection, audit_id)
        counted.hold_labels(connection, audit_id)
        assert counted.labellers(connection) == [Labeller("judge", "a", True)]
        assert not counted.couples(connection).labelled and not counted.group_labels(connection)
        assert corrections.episode_basis(connection, audit_id) == Basis(0, 0, 0)
        assert corrections.checked_successes(connection, audit_id) == []


def test_labels_that_were_counted_leave_no_table(store: Store) -> None:
    with store.write() as connection:
        audit_id = ensure_audit(connection, "demo")
        ingest(connection, audit_id, "file", records(random.Random(7), 5))
    with store.read() as connection:
        reduce_audit(connection, audit_id)
        counted.hold_labels(connection, audit_id)
        counted.hold_labels(connection, audit_id)
        assert counted.LABELS in inspect(connection).get_temp_table_names()
    with store.read() as connection:
        assert inspect(connection).get_temp_table_names() == []


def test_moments_are_read_as_they_are_written() -> None:
    assert moment_columns(["a", "b"]).count("SUM(") == width(2) == 6
    assert read_moments([2, 3, 4, 5, 6, 7, "more"], 2) == Moments(2, (3, 4), (5, 6, 7))
