"""What is read of a large audit for biases and conflicts, on every kind of store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text

from builders import episode, label, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage import bias_counts as bias
from misjudge_storage import conflict_rows, family_picks, reason_counts
from misjudge_storage.counted_pairs import CountedPairs
from misjudge_storage.engine import Store
from misjudge_storage.summary_records import reduce_audit
from misjudge_storage.summary_values import CrossSums, Sums
from misjudge_storage.types import Judge, Preference, Record
from operations import stored

OTHER = Judge(label="other", form="pairwise", model="other", origin="imported")


def records(tasks: int, pairs: int) -> list[Record]:
    """So many pairs of each task; A is the longer and the failed side and the judge's pick, the other picks B."""
    found = []
    for n in range(tasks * pairs):
        task, trial = f"t{n % tasks}", n // tasks
        a = episode(
            "x",
            passed(False),
            rewarded(0.25),
            task=task,
            trial=trial,
            said=messages("Hi", "long " * 9),
            base_model="m1",
            satisfaction=[satisfied(0.9)],
        )
        b = episode(
            "y", passed(True), rewarded(0.5), task=task, trial=trial, said=messages("Hi", "so"), base_model="m2"
        )
        said = [
            verdict("A", "AB", reasons="MORE DETAILED, 更详细", score_a=1.0, score_b=2.0, contradicts_scores=True),
            verdict("A", "AB", 1, reasons="polite; the refund issued"),
            verdict("B", "AB", judge=OTHER),
        ]
        found.append(pair(f"p{n}", a, b, *said, line=n + 1, prompt=f"Do {task}."))
    return found


@contextmanager
def reduced(store: Store, found: Sequence[Record]) -> Iterator[tuple[Connection, str, dict[str, str]]]:
    """A connection with the reduced audit of these records, its id, and judge ids by label."""
    audit = stored(store, found)
    with store.read() as connection:
        reduce_audit(connection, audit)
        ids = connection.execute(text("SELECT label, judge_id FROM judges"))
        yield connection, audit, {row[0]: row[1] for row in ids}


def rows(connection: Connection, query: str) -> list[Any]:
    return list(connection.execute(text(query)))


def test_every_pick_score_and_word_of_a_small_audit_is_counted(any_store: Store) -> None:
    with reduced(any_store, records(3, 2)) as (connection, audit, ids):
        found = bias.bias_counts(connection, audit)
    assert found.part == bias.PartRead(12, "transcript_characters")
    mine, theirs = found.picks[ids["judge"]], found.picks[ids["other"]]
    each = Sums(clusters=3, k=6, n=6, kk=12, kn=12, nn=12)
    assert (mine.pairs, mine.longer, theirs.longer) == (6, each, Sums(3, 0, 6, 0, 0, 12))
    # x comes first by name: it is longer and picked, and gold is the other side.
    assert mine.by_gold.totals == (0, 0, 0, 6, 0, 0, 0, 0)
    assert theirs.by_gold.totals == (0, 0, 6, 0, 0, 0, 0, 0)
    assert (mine.lower_reward["all"], mine.lower_reward["near"].n, mine.equal_rewards) == (each, 0, 0)
    assert (mine.repeats.clusters, mine.repeats.totals, theirs.repeats.clusters) == (3, (6, 6), 0)
    assert found.contradictions == {ids["judge"]: each}
    words = found.words[ids["judge"]]
    assert [words[group].said.k for group in ("length", "tone", "format", "evidence")] == [6, 6, 0, 6]
    assert words["length"].said.n == 12
    assert (words["length"].wrong_with.k, words["length"].wrong_without.n) == (6, 6)
    assert words["length"].cross == CrossSums(both=3, kk=12, kn=12, nk=12, nn=12)
    assert ids["other"] not in found.words


def test_of_a_large_audit_whole_tasks_are_read_for_each_judge_and_always_the_same(any_store: Store) -> None:
    made = records(8, 3)
    with reduced(any_store, made) as (connection, audit, ids):
        by_digest = [row[0] for row in rows(connection, "SELECT task_id FROM tasks ORDER BY content_hash, task_id")]
        part = bias.read_part(connection, audit, most=10)
        query = f"SELECT judge_id, task_id, COUNT(*), MIN(place) FROM {bias.PAIRS} GROUP BY judge_id, task_id"
        read = {tuple(row) for row in rows(connection, query)}
    # The fourth task is the one that reaches the limit.
    assert part.rows == 24
    assert read == {(ids[judge], by_digest[n], 3, 3 * n) for judge in ("judge", "other") for n in range(4)}


def test_a_judge_of_a_few_tasks_of_a_large_audit_has_all_of_them_read(any_store: Store) -> None:
    few = [
        one.model_copy(update={"verdicts": one.verdicts if one.line == 24 else one.verdicts[:2]})
        for one in records(8, 3)
    ]
    with reduced(any_store, few) as (connection, audit, ids):
        bias.read_part(connection, audit, most=6)
        read = rows(connection, f"SELECT judge_id, COUNT(*) FROM {bias.PAIRS} GROUP BY judge_id")
    assert {row[0]: row[1] for row in read} == {ids["judge"]: 6, ids["other"]: 1}


def test_lengths_are_those_that_more_of_the_episodes_have(any_store: Store) -> None:
    plain = [pair("p", episode("x", said=messages("Hi", "Yes")), episode("y", output_tokens=4), verdict("A", "AB"))]
    plain += [pair("q", episode("x", trial=1, output_tokens=3), episode("y", trial=1), verdict("A", "AB"), line=2)]
    with reduced(any_store, plain) as (connection, audit, _):
        assert bias.read_part(connection, audit).length_by == "output_tokens"
        assert {row[0] for row in rows(connection, f"SELECT longer FROM {bias.PAIRS}")} == {None}


def test_an_audit_whose_episodes_have_no_length_says_so(any_store: Store) -> None:
    with reduced(any_store, [pair("p", None, None, verdict("A", "AB"))]) as (connection, audit, ids):
        found = bias.bias_counts(connection, audit)
    assert found.part.length_by is None
    assert (found.picks[ids["judge"]].unknown, found.contradictions, found.words) == (1, {}, {})


def test_picks_of_a_family_are_counted_beside_every_other_judge(any_store: Store) -> None:
    with reduced(any_store, records(3, 2)) as (connection, audit, ids):
        bias.read_part(connection, audit)
        assert family_picks.side_models(connection) == ["m1", "m2"]
        family_picks.set_families(connection, {"m1": "ours", "m2": "theirs"})
        found = family_picks.family_picks(connection, ids["judge"], "ours")
        assert family_picks.family_picks(connection, ids["judge"], "nobody's") is None
        judges = family_picks.judge_models(connection, audit)
    assert [(one.label, one.model) for one in judges] == [("judge", "judge-m"), ("other", "other")]
    assert found is not None
    assert (found.own.k, found.own_failed.k, found.own_failed.n, found.own_did.n) == (6, 6, 6, 0)
    assert found.beside == {ids["other"]: family_picks.HalfSums(3, 6, 12, 24, 48, 24, 12)}


def test_pairs_of_a_side_of_no_known_family_are_left_out(any_store: Store) -> None:
    with reduced(any_store, records(2, 1)) as (connection, audit, ids):
        bias.read_part(connection, audit)
        family_picks.set_families(connection, {})
        assert family_picks.family_picks(connection, ids["judge"], "ours") is None


def test_conflicts_are_counted_and_named_on_every_store(any_store: Store) -> None:
    with reduced(any_store, records(3, 2)) as (connection, audit, ids):
        found = CountedPairs(connection, everything=False).conflicts
        pairs = conflict_rows.conflict_pairs(connection, ids["judge"], "strict", 4)
        episodes = conflict_rows.satisfied_failures(connection, audit, ids["gate"], 4)
    assert found[ids["judge"]] == {"strict": (6, 6), "unsupported": (0, 0), "missed": (0, 6)}
    assert found[ids["other"]]["strict"] == (0, 6)
    assert [(one.pair_id, one.gold_source) for one in pairs] == [(f"p{n}", "verifier") for n in range(4)]
    assert (pairs[0].score_a, pairs[0].score_b, pairs[0].reward_gap) == (1.0, 2.0, 0.25)
    assert len(episodes) == 4 and {(one.agent, one.score) for one in episodes} == {("x", 0.9)}


def test_gold_that_two_labellers_split_over_is_no_side_to_miss(any_store: Store) -> None:
    prefs: list[Preference] = ["A", "B"]
    gold = [label(pref, f"ann{n}") for n, pref in enumerate(prefs)]
    with reduced(any_store, [pair("p", None, None, verdict("tie", "AB"), gold=gold)]) as (connection, _, ids):
        assert CountedPairs(connection, everything=False).conflicts[ids["judge"]]["missed"] == (0, 0)


def test_words_stand_in_sql_as_they_are() -> None:
    for words in reason_counts.WORDS.values():
        for word in (*words.like, *words.unlike):
            assert word == word.lower() and not set(word) & set("'%_:\\")
