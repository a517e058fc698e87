"""The views against a reduction of the same rows in plain Python, and the cases that users will look for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from sqlalchemy import select, text

from builders import JUDGE, episode, label, pair, passed, rewarded, satisfied, verdict
from drawn_audits import OTHER, audits, put, relabel, verdicts
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store, open_store
from misjudge_storage.ingest import insert_new
from misjudge_storage.rows import log_row, satisfaction_row
from misjudge_storage.tables import Check as CheckTable
from misjudge_storage.tables import GoldLabel as GoldTable
from misjudge_storage.tables import Judge as JudgeTable
from misjudge_storage.tables import JudgeLog, Pair, Trajectory, table
from misjudge_storage.tables import Verdict as VerdictTable
from misjudge_storage.types import Check, GoldLabel, Judge, Log, Order, Preference, Record, Verdict
from view_oracle import Facts, Gold, by_order, calls_of, expected_pairs, reduce_verdicts

MIRROR: dict[str | None, Any] = {"A": "B", "B": "A", "AB": "BA", "BA": "AB"}
SAID: dict[str, Preference | None] = {"A": "A", "B": "B", "t": "tie", "-": None}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples, each of which is an audit of its own."""
    store = open_store(tmp_path_factory.mktemp("views") / "misjudge.db")
    yield store
    store.close()


def view(store: Store, name: str, audit: str) -> list[dict[str, Any]]:
    with store.read() as connection:
        rows = connection.execute(text(f"SELECT * FROM {name} WHERE audit_id = :audit"), {"audit": audit}).mappings()
        return [dict(row) for row in rows]


def only(store: Store, name: str, audit: str) -> dict[str, Any]:
    (row,) = view(store, name, audit)
    return row


def facts_of(store: Store, audit: str) -> Facts:
    def rows(model: Any) -> list[dict[str, Any]]:
        found = table(model)
        with store.read() as connection:
            return [dict(row) for row in connection.execute(select(found).where(found.c.audit_id == audit)).mappings()]

    return Facts(*map(rows, (Pair, Trajectory, CheckTable, GoldTable, VerdictTable, JudgeTable)))


def assert_same(found: Sequence[dict[str, Any]], expected: Sequence[dict[str, Any]], *keys: str) -> None:
    """The same rows; of those found only the columns expected, numbers to nine digits."""
    by_key = {tuple(row[key] for key in keys): row for row in found}
    assert len(by_key) == len(found) == len(expected)
    for row in expected:
        shown = by_key[tuple(row[key] for key in keys)]
        for name, value in row.items():
            same = math.isclose(shown[name], value, rel_tol=1e-9) if isinstance(value, float) else shown[name] == value
            assert same, f"{name} is {shown[name]!r} where {value!r} follows from the rows"


@given(audits())
def test_audit_pairs_says_what_follows_from_the_rows(shared: Store, made: tuple[list[Record], list[GoldLabel]]) -> None:
    audit = put(shared, *made[0])
    relabel(shared, audit, *made[1])
    assert_same(
        view(shared, "audit_pairs", audit), expected_pairs(facts_of(shared, audit)), "pair_id", "judge_fingerprint"
    )


@given(audits())
def test_pair_gold_has_one_row_per_pair(shared: Store, made: tuple[list[Record], list[GoldLabel]]) -> None:
    audit = put(shared, *made[0])
    relabel(shared, audit, *made[1])
    columns = ("pair_id", "success_a", "success_b", "success_source", "gold_pref", "gold_source")
    expected = {
        row["pair_id"]: {name: row[name] for name in columns} for row in expected_pairs(facts_of(shared, audit))
    }
    assert_same(view(shared, "pair_gold", audit), list(expected.values()), "pair_id")


@given(verdicts(JUDGE))
def test_reduced_verdicts_count_every_call(shared: Store, given_verdicts: list[Verdict]) -> None:
    audit = put(shared, pair("p1", None, None, *given_verdicts))
    rows = facts_of(shared, audit).verdicts
    if not rows:
        assert view(shared, "reduced_verdicts", audit) == []
        return
    found = only(shared, "reduced_verdicts", audit)
    calls = [call for row in rows for call in calls_of(row)]
    assert [found[f"calls_{name}"] for name in ("a", "b", "tie", "unscored")] == [
        calls.count(said) for said in ("A", "B", "tie", None)
    ]
    orders = by_order(rows)
    for order in ("AB", "BA"):
        said = [call for row in orders.get(order, []) for call in calls_of(row)]
        shown = [found[f"{order.lower()}_{name}"] for name in ("a", "b", "tie")]
        assert shown == ([said.count(winner) for winner in ("A", "B", "tie")] if order in orders else [None] * 3)
    assert (found["status"], found["pref"]) == reduce_verdicts(rows)


@given(verdicts(JUDGE))
def test_pairwise_has_a_row_for_every_single_call(shared: Store, given_verdicts: list[Verdict]) -> None:
    x, y = episode("x", passed(True), rewarded(0.25)), episode("y", passed(False), rewarded(0.75))
    audit = put(shared, pair("p1", x, y, *given_verdicts))
    single = [one for one in given_verdicts if not one.reduced]
    rows = view(shared, "pairwise", audit)
    assert len(rows) == len(single)
    letters = {("AB", "A"): "A", ("AB", "B"): "B", ("BA", "A"): "B", ("BA", "B"): "A"}
    expected = [
        (
            {"AB": "A=left", "BA": "A=right", None: None}[one.order],
            one.repeat,
            "tie" if one.winner == "tie" else letters.get((str(one.order), str(one.winner))),
            {"A": 0.25, "B": 0.75}.get(str(one.winner)),
            {"A": 1, "B": 0}.get(str(one.winner)),
            {"A": 1, "B": 0}.get(str(one.winner)),
        )
        for one in single
    ]
    shown = ("blind_order", "repeat", "judge_choice", "selected_reward", "lower_reward_selected", "task_success")
    found = [tuple(row[name] for name in shown) for row in rows]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def mirrored(record: Record) -> Record:
    """The same pair with its sides exchanged: every winner, score and order turns with them."""
    return record.model_copy(
        update={
            "episodes": record.episodes[::-1],
            "gold": tuple(one.model_copy(update={"pref": MIRROR.get(one.pref, one.pref)}) for one in record.gold),
            "verdicts": tuple(
                one.model_copy(
                    update={
                        "winner": MIRROR.get(one.winner, one.winner),
                        "order": MIRROR.get(one.order),
                        "score_a": one.score_b,
                        "score_b": one.score_a,
                    }
                )
                for one in record.verdicts
            ),
        }
    )


@given(audits())
def test_exchanging_the_sides_exchanges_preferences_and_changes_no_outcome(
    shared: Store, made: tuple[list[Record], list[GoldLabel]]
) -> None:
    rows = view(shared, "audit_pairs", put(shared, *made[0]))
    turned = view(shared, "audit_pairs", put(shared, *map(mirrored, made[0])))
    by_pair = {(row["pair_id"], row["judge"]): row for row in turned}
    assert len(by_pair) == len(rows)
    same = ("misselected", "lower_reward_selected", "selected_reward", "judge_status", "judge_flip", "gold_source")
    for row in rows:
        other = by_pair[row["pair_id"], row["judge"]]
        assert {name: other[name] for name in same} == {name: row[name] for name in same}
        for name in ("judge_pref", "gold_pref"):
            assert other[name] == MIRROR.get(row[name], row[name])
        assert [other[f"{name}_a"] for name in ("agent", "success", "reward", "judge_score")] == [
            row[f"{name}_b"] for name in ("agent", "success", "reward", "judge_score")
        ]
        assert other["blind_order"] == {"A=left": "A=right", "A=right": "A=left"}.get(
            row["blind_order"], row["blind_order"]
        )


@pytest.mark.parametrize(
    ("ab", "ba", "status", "pref"),
    [
        ("A", "A", "decided", "A"),
        ("A", "tie", "weak", "A"),
        ("tie", "B", "weak", "B"),
        ("A", "B", "inconsistent", None),
        ("tie", "tie", "tie", "tie"),
        ("A", None, "unscored", None),
        (None, None, "unscored", None),
    ],
)
def test_two_orders_reduce_as_the_vocabulary_says(
    shared: Store, ab: Preference | None, ba: Preference | None, status: str, pref: str | None
) -> None:
    row = only(shared, "audit_pairs", put(shared, pair("p1", None, None, verdict(ab, "AB"), verdict(ba, "BA"))))
    assert (row["judge_status"], row["judge_pref"], row["blind_order"]) == (status, pref, "both")
    assert row["judge_flip"] == {"unscored": None, "inconsistent": 1}.get(status, 0)


@pytest.mark.parametrize("order", ["AB", "BA", None])
@pytest.mark.parametrize(
    ("said", "status", "pref"),
    [
        ("AAB", "decided", "A"),
        ("ABB", "decided", "B"),
        ("Att", "decided", "A"),
        ("AtB", "inconsistent", None),
        ("tt", "tie", "tie"),
        ("B--", "decided", "B"),
        ("--", "unscored", None),
    ],
)
def test_repeats_in_one_order_decide_by_their_balance(
    shared: Store, order: Order | None, said: str, status: str, pref: str | None
) -> None:
    calls = [verdict(SAID[letter], order, repeat) for repeat, letter in enumerate(said)]
    row = only(shared, "audit_pairs", put(shared, pair("p1", None, None, *calls)))
    assert (row["judge_status"], row["judge_pref"]) == (status, pref)


@pytest.mark.parametrize(
    ("rows", "status", "pref", "flip"),
    [
        ([("scored", "A")], "decided", "A", 0),
        ([("weak", "B")], "weak", "B", 0),
        ([("inconsistent", None)], "inconsistent", None, 1),
        ([("unscored", None)], "unscored", None, None),
        ([("scored", "A"), ("inconsistent", None)], "decided", "A", 0),
        ([("inconsistent", None), ("unscored", None)], "inconsistent", None, 1),
        ([("scored", "tie"), ("inconsistent", None)], "inconsistent", None, 1),
        ([("scored", "A"), ("scored", "B")], "inconsistent", None, 1),
        ([("weak", "A"), ("scored", "B")], "weak", "B", 0),
    ],
)
def test_rows_that_a_source_reduced_count_as_two_calls(
    shared: Store, rows: list[tuple[Any, Any]], status: str, pref: str | None, flip: int | None
) -> None:
    verdicts_given = [
        Verdict(
            judge=JUDGE,
            repeat=repeat,
            status=row_status,
            winner=winner,
            unscored_reason="timeout" if row_status == "unscored" else None,
            reduced=True,
        )
        for repeat, (row_status, winner) in enumerate(rows)
    ]
    audit = put(shared, pair("p1", None, None, *verdicts_given))
    row = only(shared, "audit_pairs", audit)
    assert (row["judge_status"], row["judge_pref"], row["judge_flip"]) == (status, pref, flip)
    assert row["blind_order"] == "both"
    counted = only(shared, "reduced_verdicts", audit)
    assert sum(counted[f"calls_{name}"] for name in ("a", "b", "tie", "unscored")) == 2 * len(rows)
    assert view(shared, "pairwise", audit) == []


def test_a_judge_that_always_says_a_is_inconsistent_and_never_wrong_or_right(shared: Store) -> None:
    records = [
        pair(
            f"p{n}",
            episode("x", passed(n % 2 == 0), trial=n),
            episode("y", passed(n % 2 == 1), trial=n),
            verdict("A", "AB"),
            verdict("B", "BA"),
        )
        for n in range(4)
    ]
    audit = put(shared, *records)
    assert {row["misselected"] for row in view(shared, "audit_pairs", audit)} == {None}
    assert {row["judge_status"] for row in view(shared, "audit_pairs", audit)} == {"inconsistent"}
    assert {row["judge_choice"] for row in view(shared, "pairwise", audit)} == {"A"}


def gold(store: Store, audit: str) -> Gold:
    row = only(store, "pair_gold", audit)
    return Gold(row["gold_pref"], row["gold_source"])


def test_gold_comes_from_the_best_source_there_is(shared: Store) -> None:
    x, y = episode("x", rewarded(1), passed(False, "reward")), episode("y", rewarded(0), passed(True, "reward"))
    assert gold(shared, put(shared, pair("p1", episode("x", rewarded(1)), episode("y", rewarded(0))))) == (
        "A",
        "reward",
    )
    assert gold(shared, put(shared, pair("p1", x, y))) == ("B", "reward")
    assert gold(shared, put(shared, pair("p1", x, y, gold=[label("A", source="label")]))) == ("A", "label")
    x, y = (one.model_copy(update={"checks": (*one.checks, passed(one is x))}) for one in (x, y))
    assert gold(shared, put(shared, pair("p1", x, y, gold=[label("B", source="label")]))) == ("A", "verifier")
    assert gold(shared, put(shared, pair("p1", x, y, gold=[label("B")]))) == ("B", "human")


def test_a_models_opinion_and_a_rank_are_never_gold(shared: Store) -> None:
    x = episode("x", passed(True, "model"), Check(verifier="rank", source="order", reward=1))
    y = episode("y", passed(False, "model"), Check(verifier="rank", source="order", reward=2))
    audit = put(shared, pair("p1", x, y))
    assert gold(shared, audit) == (None, None)
    assert sorted(row["order_rank"] for row in view(shared, "trajectory_outcomes", audit)) == [1, 2]


def test_gold_is_worth_as_much_as_the_weaker_of_two_sources(shared: Store) -> None:
    audit = put(
        shared,
        pair(
            "p1",
            episode("x", passed(True, "human")),
            episode("y", passed(False, "reward")),
            gold=[label("B", source="label")],
        ),
    )
    assert gold(shared, audit) == ("B", "label")
    audit = put(shared, pair("p1", episode("x", passed(True, "label")), episode("y", passed(False, "reward"))))
    assert gold(shared, audit) == ("A", "reward")


@pytest.mark.parametrize(
    ("prefs", "expected"),
    [("A", "A"), ("AAB", "A"), ("ABt", None), ("AB", None), ("ttA", "tie"), ("BBAt", "B"), ("AABB", None)],
)
def test_human_labels_reduce_by_majority_and_a_split_is_undecidable(
    shared: Store, prefs: str, expected: str | None
) -> None:
    labels = [label(SAID[pref] or "tie", f"ann{n}") for n, pref in enumerate(prefs)]
    audit = put(
        shared, pair("p1", episode("x", passed(True)), episode("y", passed(False)), verdict("B", "AB"), gold=labels)
    )
    assert gold(shared, audit) == (expected, "human")
    assert only(shared, "audit_pairs", audit)["misselected"] == {"A": 1, "B": 0}.get(str(expected))


@pytest.mark.parametrize(("prefs", "expected"), [("A", "A"), ("BBA", "B"), ("ABt", None), ("ttA", "tie"), ("AAB", "A")])
def test_labels_of_a_data_set_reduce_by_majority_too(shared: Store, prefs: str, expected: str | None) -> None:
    labels = [label(SAID[pref] or "tie", f"column{n}", "label") for n, pref in enumerate(prefs)]
    audit = put(shared, pair("p1", episode("x", rewarded(1)), episode("y", rewarded(0)), gold=labels))
    assert gold(shared, audit) == (expected, "label")


def test_the_latest_label_of_each_labeller_counts(shared: Store) -> None:
    audit = put(shared, pair("p1", gold=[label("A", "ann"), label("A", "bob")]))
    assert gold(shared, audit) == ("A", "human")
    relabel(shared, audit, label("B", "ann"))
    assert gold(shared, audit) == (None, "human")
    relabel(shared, audit, label("B", "ann"), label("B", "bob"))
    assert gold(shared, audit) == ("B", "human")


@pytest.mark.parametrize(
    ("earlier", "change", "expected"),
    [
        (passed(False), {"passed": True}, ("A", "verifier")),
        (rewarded(0), {"reward": 1.0}, ("A", "reward")),
        (rewarded(0), {"reward": None}, ("tie", "reward")),
    ],
)
def test_a_later_answer_of_the_same_source_replaces_an_earlier_one(
    shared: Store, earlier: Check, change: dict[str, Any], expected: tuple[str, str]
) -> None:
    audit = put(shared, pair("p1", episode("x", earlier), episode("y", earlier)))
    facts = facts_of(shared, audit)
    (first,) = (check for check in facts.checks if check["trajectory_id"] == facts.pairs[0]["trajectory_a"])
    later = {"check_id": f"again {audit}", "created_at": utc_now() + timedelta(minutes=1)}
    with shared.write() as connection:
        insert_new(connection, CheckTable, [{**first, **change, **later}])
    assert gold(shared, audit) == expected


def test_the_judges_own_scores_are_the_rewards_where_there_are_no_others(shared: Store) -> None:
    scored = [
        verdict("A", "AB", score_a=2, score_b=4, contradicts_scores=True),
        verdict("A", "BA", score_a=3, score_b=3),
    ]
    row = only(shared, "audit_pairs", put(shared, pair("p1", None, None, *scored)))
    assert (row["reward_a"], row["reward_b"], row["reward_source"]) == (2.5, 3.5, "judge")
    assert (row["reward_gap"], row["gap_source"]) == (1.0, "judge_score")
    assert (row["lower_reward_selected"], row["selected_reward"]) == (1, 2.5)
    assert (row["gold_pref"], row["misselected"]) == (None, None)


def test_a_reward_of_one_side_only_is_not_set_against_a_score(shared: Store) -> None:
    scored = verdict("A", "AB", score_a=2, score_b=4)
    row = only(shared, "audit_pairs", put(shared, pair("p1", episode("x", rewarded(0.5)), episode("y"), scored)))
    assert (row["reward_a"], row["reward_b"], row["reward_source"]) == (2.0, 4.0, "judge")
    row = only(shared, "audit_pairs", put(shared, pair("p1", None, None, verdict("A", "AB", score_a=2))))
    assert (row["reward_a"], row["reward_source"], row["lower_reward_selected"]) == (None, None, None)


@pytest.mark.parametrize(
    ("sources", "expected"), [(("verifier", "verifier"), "verifier"), (("verifier", "human"), "external")]
)
def test_rewards_say_where_they_come_from(shared: Store, sources: tuple[Any, Any], expected: str) -> None:
    x, y = (episode(name, rewarded(1, source)) for name, source in zip("xy", sources, strict=True))
    row = only(shared, "audit_pairs", put(shared, pair("p1", x, y, verdict("A", "AB"))))
    assert (row["reward_source"], row["gap_source"], row["reward_gap"]) == (expected, "reward", 0.0)
    assert row["lower_reward_selected"] == 0


@pytest.mark.parametrize(("better", "worse"), [("human", "verifier"), ("verifier", "label"), ("label", "reward")])
def test_the_reward_of_the_best_source_counts(shared: Store, better: Any, worse: Any) -> None:
    both = rewarded(1, better), rewarded(0, worse)
    audit = put(shared, pair("p1", episode("x", *both), episode("y", *both[::-1])))
    assert [row["reward"] for row in view(shared, "trajectory_outcomes", audit)] == [1, 1]


def test_a_stated_gap_goes_before_a_computed_one(shared: Store) -> None:
    record = pair("p1", episode("x", rewarded(1)), episode("y", rewarded(0)), reward_gap=0.05, gap_source="ability")
    row = only(shared, "audit_pairs", put(shared, record))
    assert (row["reward_gap"], row["gap_source"]) == (0.05, "ability")


def test_a_flip_that_the_source_states_is_kept_where_the_orders_are_not_known(shared: Store) -> None:
    row = only(shared, "audit_pairs", put(shared, pair("p1", None, None, verdict("A", flip=True))))
    assert (row["judge_flip"], row["judge_pref"], row["blind_order"]) == (1, "A", None)
    both = [verdict("A", "AB", flip=True), verdict("A", "BA")]
    row = only(shared, "audit_pairs", put(shared, pair("p1", None, None, *both)))
    assert (row["judge_flip"], row["blind_order"]) == (0, "both")


def test_a_pair_that_nobody_judged_has_a_row(shared: Store) -> None:
    row = only(shared, "audit_pairs", put(shared, pair("p1", episode("x", passed(True)), episode("y", passed(False)))))
    assert (row["gold_pref"], row["judge"], row["judge_status"], row["misselected"]) == ("A", None, None, None)


def test_satisfaction_is_that_of_the_first_satisfaction_judge(shared: Store) -> None:
    later = Judge(label="a later one", form="satisfaction", model="m")
    x = episode("x", passed(True), satisfaction=[satisfied(0.5), satisfied(7, later)])
    y = episode("y", satisfaction=[satisfied(None), satisfied(3, later)])
    audit = put(shared, pair("p1", x, y, verdict("A", "AB")))
    with shared.write() as connection:
        (row,) = (v for v in facts_of(shared, audit).verdicts if v["score"] == 0.5)
        again = satisfaction_row(
            audit, row["judge_id"], row["trajectory_id"], satisfied(1.0).model_copy(update={"repeat": 1})
        )
        insert_new(connection, VerdictTable, [again])
    row = only(shared, "audit_pairs", audit)
    assert (row["user_sat_a"], row["user_sat_b"]) == (0.75, None)
    assert only(shared, "pairwise", audit)["user_sat"] == 0.75
    assert sorted(row["user_sat"] or 0 for row in view(shared, "trajectory_outcomes", audit)) == [0, 0.75]


def test_pairs_share_the_cost_of_a_trajectory_they_both_use(shared: Store) -> None:
    spent = [Log(role="agent", est_cost=1), Log(role="agent", est_cost=3)]
    simulated = [Log(role="user_sim", est_cost=0.125), Log(role="user_sim", est_cost=0.375)]
    x, y, z = episode("x", logs=[*spent, *simulated]), episode("y", logs=[Log(role="agent", est_cost=2)]), episode("z")
    calls = [
        Log(est_cost=0.25, input_tokens=100, output_tokens=10),
        Log(est_cost=0.5, input_tokens=50, output_tokens=5),
    ]
    audit = put(
        shared,
        pair("p1", x, y, verdict("A", "AB"), logs=calls),
        pair("p2", z, x, verdict("A", "AB"), line=2),
        pair("p3", z, episode("w"), line=3),
        pair("p4", episode("v"), episode("u"), line=4, logs=[*spent, *simulated, Log(est_cost=8)]),
    )
    shares = ("agent_cost", "user_sim_cost", "judge_cost", "total_cost", "input_tokens", "output_tokens")
    assert {row["pair_id"]: tuple(row[name] for name in shares) for row in view(shared, "audit_pairs", audit)} == {
        "p1": (4.0, 0.25, 0.75, 5.0, 150, 15),
        "p2": (2.0, 0.25, None, 2.25, None, None),
        "p3": (None, None, None, None, None, None),
        "p4": (4.0, 0.5, 8.0, 12.5, None, None),
    }
    pairs = {row["agent"]: row["pairs"] for row in joined_costs(shared, audit)}
    assert pairs == {"x": 2, "y": 1, "z": 2, "w": 1, "v": 1, "u": 1}


def joined_costs(store: Store, audit: str) -> list[dict[str, Any]]:
    query = (
        "SELECT * FROM trajectory_costs c JOIN trajectories t USING (audit_id, trajectory_id) WHERE audit_id = :audit"
    )
    with store.read() as connection:
        return [dict(row) for row in connection.execute(text(query), {"audit": audit}).mappings()]


def test_each_judge_of_a_pair_has_its_own_costs(shared: Store) -> None:
    audit = put(
        shared,
        pair("p1", None, None, verdict("A", "AB"), logs=[Log(est_cost=1)]),
        pair("p1", None, None, verdict("A", "AB", judge=OTHER), logs=[Log(est_cost=2)], line=2),
    )
    assert {row["judge"]: row["judge_cost"] for row in view(shared, "audit_pairs", audit)} == {
        "judge": 1.0,
        "other": 2.0,
    }


def test_a_judged_order_counts_every_attempt_made_for_it(shared: Store) -> None:
    audit = put(shared, pair("p1", None, None, verdict("A", "AB"), verdict("B", "BA")))
    ab, ba = sorted(facts_of(shared, audit).verdicts, key=lambda row: str(row["order_shown"]))
    logs = [(ab, 10, None, 0.5), (ab, None, 5, 0.25), (ba, None, None, None)]
    with shared.write() as connection:
        for number, (row, used, made, cost) in enumerate(logs):
            log = Log(input_tokens=used, output_tokens=made, est_cost=cost)
            row_of_log = log_row(audit, log, number, cell_id=row["verdict_id"], pair_id="p1")
            insert_new(connection, JudgeLog, [row_of_log])
    found = {row["blind_order"]: (row["total_tokens"], row["est_cost"]) for row in view(shared, "pairwise", audit)}
    assert found == {"A=left": (15, 0.75), "A=right": (None, None)}
