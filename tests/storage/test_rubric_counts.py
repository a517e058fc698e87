"""What the data base counts of rubric work is what plain Python counts of the same rows."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest
from sqlalchemy import text

from builders import JUDGE, label, pair, verdict
from misjudge_storage import rubric_counts, ruling_counts
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.ruling_counts import Conditions, VerdictGroup
from misjudge_storage.summary_records import reduce_audit
from misjudge_storage.summary_values import Sums
from misjudge_storage.types import NO_REPLY, UnscoredReason
from misjudge_tools.stats.rates import Tally, cluster_sums
from rubric_store import (
    HUMAN,
    MATCHER,
    PLAIN,
    SECOND,
    UNANSWERED,
    WRITER,
    Draft,
    Said,
    pair_of,
    rules,
    store_at_random,
    store_drafts,
    store_pairs,
    store_verdicts,
    with_own,
)


def table(store: Store, name: str) -> list[dict[str, Any]]:
    with store.read() as connection:
        return [dict(row) for row in connection.execute(text(f"SELECT * FROM {name}")).mappings()]


def sums(tallies: dict[str, list[int]]) -> Sums:
    return Sums(*cluster_sums(Tally(k, n) for k, n in tallies.values()))


@pytest.mark.parametrize("seed", range(3))
def test_drafts_are_counted_as_a_walk_through_their_rules_counts_them(any_store: Store, seed: int) -> None:
    made = store_at_random(any_store, random.Random(seed))
    with any_store.read() as connection:
        found = {
            (one.writer_id, one.task_id, one.matcher_id): one
            for one in rubric_counts.draft_tasks(connection, made.audit)
        }
    sets = {row["rubric_id"]: row["number"] for row in table(any_store, "rubric_sets")}
    gold = {row["task_id"]: row["rubric_id"] for row in table(any_store, "task_rubrics")}
    matchings = defaultdict(list)
    for row in table(any_store, "rubric_matchings"):
        matchings[row["draft_id"]].append(row)
    matches = defaultdict(list)
    for row in table(any_store, "rubric_matches"):
        matches[row["matching_id"]].append(row)
    expected = {}
    for draft in table(any_store, "rubric_drafts"):
        mine: list[dict[str, Any] | None] = [*matchings[draft["draft_id"]]]
        for matching in mine or [None]:
            rows = (
                []
                if matching is None
                else [row for row in matches[matching["matching_id"]] if row["status"] == "scored"]
            )
            hits = [row["gold_rule"] for row in rows if row["gold_rule"] is not None]
            key = (draft["writer_id"], draft["task_id"], matching["matcher_id"] if matching else None)
            expected[key] = (
                sets.get(gold.get(draft["task_id"])),
                sets.get(draft["rubric_id"], 0),
                len(set(hits)),
                len(rows),
                len(hits),
                sum(row["method"] == "equal" for row in rows),
                draft["status"] == "scored",
            )
    assert len(expected) > 60
    assert {
        key: (one.total_gold, one.generated, one.matched_gold, one.answered, one.matched, one.equal, one.scored)
        for key, one in found.items()
    } == expected


@pytest.mark.parametrize("seed", range(3))
def test_two_matchers_are_compared_rule_by_rule(any_store: Store, seed: int) -> None:
    made = store_at_random(any_store, random.Random(seed))
    with any_store.read() as connection:
        found = rubric_counts.matched_twice(connection, made.audit)
    first, second = sorted(judge_fingerprint(judge) for judge in (MATCHER, SECOND))
    answers: dict[tuple[str, str], dict[int, Any]] = defaultdict(dict)
    by_matching = {row["matching_id"]: row for row in table(any_store, "rubric_matchings")}
    for row in table(any_store, "rubric_matches"):
        matching = by_matching[row["matching_id"]]
        if row["status"] == "scored":
            answers[matching["draft_id"], matching["matcher_id"]][row["rule"]] = (row["gold_rule"], row["method"])
    sets = {row["rubric_id"]: row["number"] for row in table(any_store, "rubric_sets")}
    own = {row["draft_id"]: sets.get(row["rubric_id"]) for row in table(any_store, "rubric_drafts")}
    assert len(found) > 20
    assert any(one.whole for one in found) and not all(one.whole for one in found)
    for one in found:
        assert (one.first_id, one.second_id) == (first, second)
        a, b = answers[one.draft_id, first], answers[one.draft_id, second]
        shared = a.keys() & b.keys()
        asked = [rule for rule in shared if "equal" not in (a[rule][1], b[rule][1])]
        hits_a, hits_b = ({side[rule][0] for rule in shared} - {None} for side in (a, b))
        assert one.asked == len(asked)
        assert one.agreed == sum(a[rule][0] == b[rule][0] for rule in asked)
        assert (one.first_gold, one.second_gold, one.both_gold) == (len(hits_a), len(hits_b), len(hits_a & hits_b))
        assert one.whole == (len(shared) == own[one.draft_id])


@pytest.mark.parametrize("seed", range(3))
def test_verdicts_and_differences_are_counted_by_judge_and_domain(any_store: Store, seed: int) -> None:
    made = store_at_random(any_store, random.Random(seed))
    ids = {judge.label: judge_fingerprint(judge) for judge in made.judges}
    official = [judge_id for label, judge_id in ids.items() if "+forced" in label]
    both = [judge_id for label, judge_id in ids.items() if "+forced" not in label]
    with any_store.read() as connection:
        reduce_audit(connection, made.audit)
        ruling_counts.hold_judged(connection, made.audit, both, official)
        verdicts = ruling_counts.verdict_counts(connection)
        human, own = ids[HUMAN.label], ids[with_own().label]
        differences = ruling_counts.difference_counts(connection, human, own)
    ended = _ended(any_store, set(official))
    domains = {row["task_id"]: row["subset"] for row in table(any_store, "tasks")}
    tasks = {row["pair_id"]: row["task_id"] for row in table(any_store, "pairs")}
    groups: dict[VerdictGroup, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (judge_id, pair_id), end in ended.items():
        groups[VerdictGroup(judge_id, domains[tasks[pair_id]])][tasks[pair_id]].append(end)
    assert verdicts.keys() == groups.keys()
    for group, by_task in groups.items():
        counts, everything = verdicts[group], [end for ends in by_task.values() for end in ends]
        assert counts.pairs == len(everything)
        told = ["unscored" if end == "silent" else end for end in everything]
        assert [getattr(counts, end) for end in ruling_counts.ENDS] == [told.count(end) for end in ruling_counts.ENDS]
        left_out = ("silent",) if group.judge_id in official else ("silent", "unscored")
        counted = {task: [end for end in ends if end not in left_out] for task, ends in by_task.items()}
        right = {task: [ends.count("right"), len(ends)] for task, ends in counted.items()}
        decided = {
            task: [ends.count("right"), ends.count("right") + ends.count("wrong")] for task, ends in by_task.items()
        }
        assert (counts.accuracy, counts.decided) == (sums(right), sums(decided))
    assert sum(counts.no_rubric for counts in verdicts.values()) == _without_rules(any_store, ended) > 0
    for one in differences:
        scored = {key: end for key, end in ended.items() if end != "unscored"}
        pairs = [p for (j, p) in scored if j == human and (own, p) in scored and domains[tasks[p]] == one.domain]
        d: dict[str, list[int]] = defaultdict(list)
        for pair_id in pairs:
            d[tasks[pair_id]].append((ended[human, pair_id] == "right") - (ended[own, pair_id] == "right"))
        flat = [each for values in d.values() for each in values]
        assert (one.only_first, one.only_second, one.n, one.clusters) == (
            flat.count(1),
            flat.count(-1),
            len(flat),
            len(d),
        )
        assert one.d == sum(flat)
        assert one.dd == sum(sum(v) ** 2 for v in d.values())
        assert one.dn == sum(sum(v) * len(v) for v in d.values())
        assert one.nn == sum(len(v) ** 2 for v in d.values())


def _ended(store: Store, official: set[str]) -> dict[tuple[str, str], str]:
    """How each decidable pair ended for each judge, from the single verdicts."""
    gold = {row["pair_id"]: row["pref"] for row in table(store, "gold_labels")}
    said: dict[tuple[str, str], list[str | None]] = defaultdict(list)
    unasked: set[tuple[str, str]] = set()
    for row in table(store, "verdicts"):
        if row["pair_id"] in gold:
            said[row["judge_id"], row["pair_id"]].append(row["winner"])
            if row["unscored_reason"] in NO_REPLY:
                unasked.add((row["judge_id"], row["pair_id"]))
    found = {}
    for (judge_id, pair_id), winners in said.items():
        if judge_id in official:
            assert len(winners) == 1
        sides = {"A", "B"} & set(winners)
        if None in winners:
            silent = judge_id in official and (judge_id, pair_id) in unasked
            found[judge_id, pair_id] = "silent" if silent else "unscored"
        elif len(sides) != 1:
            found[judge_id, pair_id] = "inconsistent" if sides else "tie"
        else:
            found[judge_id, pair_id] = "right" if gold[pair_id] in sides else "wrong"
    return found


def _without_rules(store: Store, ended: dict[tuple[str, str], str]) -> int:
    """Pairs of judges that are unscored, and for which there was no rubric."""
    rows = [row for row in table(store, "verdicts") if row["unscored_reason"] == "no_rubric"]
    found = {(row["judge_id"], row["pair_id"]) for row in rows}
    return sum(ended.get(key) in {"unscored", "silent"} for key in found)


@pytest.mark.parametrize("seed", range(3))
def test_two_writers_are_compared_gold_rule_by_gold_rule(any_store: Store, seed: int) -> None:
    made = store_at_random(any_store, random.Random(seed))
    first, second = map(judge_fingerprint, made.writers)
    matcher = judge_fingerprint(MATCHER)
    with any_store.read() as connection:
        found = rubric_counts.recall_difference(connection, made.audit, matcher, first, second)
        turned = rubric_counts.recall_difference(connection, made.audit, matcher, second, first)
    sets = {row["rubric_id"]: row["number"] for row in table(any_store, "rubric_sets")}
    gold = {row["task_id"]: sets[row["rubric_id"]] for row in table(any_store, "task_rubrics")}
    matchings = {
        row["draft_id"]: row["matching_id"]
        for row in table(any_store, "rubric_matchings")
        if row["matcher_id"] == matcher
    }
    matches = [row for row in table(any_store, "rubric_matches") if row["status"] == "scored"]
    hits: dict[tuple[str, str], set[int]] = {}
    for draft in table(any_store, "rubric_drafts"):
        mine = [row for row in matches if row["matching_id"] == matchings.get(draft["draft_id"])]
        if draft["status"] == "scored" and draft["task_id"] in gold and len(mine) == sets.get(draft["rubric_id"], 0):
            hits[draft["writer_id"], draft["task_id"]] = {row["gold_rule"] for row in mine} - {None}
    both = [task for task in gold if (first, task) in hits and (second, task) in hits]
    assert any(not hits[first, task] for task in both), "a task without any rule or hit counts, too"
    gained = [len(hits[first, task] - hits[second, task]) for task in both]
    lost = [len(hits[second, task] - hits[first, task]) for task in both]
    d, n = [g - m for g, m in zip(gained, lost, strict=True)], [gold[task] for task in both]
    assert tuple(found) == (
        *(sum(gained), sum(lost), len(both), sum(n), sum(d)),
        *(sum(x * x for x in d), sum(x * y for x, y in zip(d, n, strict=True)), sum(y * y for y in n)),
    )
    swapped = found._replace(only_first=found.only_second, only_second=found.only_first, d=-found.d, dn=-found.dn)
    assert turned == swapped


def test_writers_without_a_common_task_differ_in_nothing(any_store: Store) -> None:
    audit = store_pairs(any_store, [pair_of("t1", "A", GOLD), pair_of("t2", "A", GOLD)])
    other = WRITER.model_copy(update={"model": "other", "label": "other"})
    store_drafts(any_store, audit, WRITER, [Draft("t1", OWN, {"matcher": [1, None]}), Draft("t2", None)])
    store_drafts(any_store, audit, other, [Draft("t2", OWN, {"matcher": [1, 2]})])
    ids = map(judge_fingerprint, (MATCHER, WRITER, other))
    with any_store.read() as connection:
        assert rubric_counts.recall_difference(connection, audit, *ids) == (0,) * 8


@pytest.mark.parametrize("seed", range(3))
def test_rulings_are_counted_by_judge(any_store: Store, seed: int) -> None:
    made = store_at_random(any_store, random.Random(seed))
    with any_store.read() as connection:
        found = ruling_counts.ruling_counts(connection, made.audit)
    verdicts = {row["verdict_id"]: row for row in table(any_store, "verdicts")}
    tasks = {row["pair_id"]: row["task_id"] for row in table(any_store, "pairs")}
    mine = defaultdict(list)
    for row in table(any_store, "rubric_rulings"):
        mine[row["judge_id"]].append(row)
    assert found.keys() == mine.keys()
    for judge_id, rulings in mine.items():
        kinds: dict[str, dict[str, list[int]]] = {
            kind: defaultdict(lambda: [0, 0]) for kind in ("soft_over_hard", "reweighted")
        }
        for row in rulings:
            verdict = verdicts[row["ruling_id"]]
            if row["says"] is not None and verdict["status"] == "scored":
                for kind, tallies in kinds.items():
                    tallies[tasks[verdict["pair_id"]]][0] += row["conflict"] == kind
                    tallies[tasks[verdict["pair_id"]]][1] += 1
        counts = found[judge_id]
        assert (counts.soft_over_hard, counts.reweighted) == (sums(kinds["soft_over_hard"]), sums(kinds["reweighted"]))
        assert (counts.rulings, counts.left_out, counts.unscored_rules) == (
            len(rulings),
            sum(row["left_out"] for row in rulings),
            sum(row["unscored"] for row in rulings),
        )


# Value inversion


GOLD = rules("^It can be done.", "^It agrees with itself.", "It is polite.")
OWN = rules("It uses tools.", "It is kind.")
FAILS = {1: (True, False), 2: (True, True), 3: (True, True)}
"""With the gold rules: side B, which gold says is worse, fails the first high-level one."""


def inverted(store: Store, own: list[Said], human: list[Said], matched: list[int | None]) -> tuple[int, ...]:
    audit = store_pairs(store, [pair_of("t1", "A", GOLD)])
    store_drafts(store, audit, WRITER, [Draft("t1", OWN, {"matcher": matched})])
    own_id, human_id = store_verdicts(store, audit, with_own(), own), store_verdicts(store, audit, HUMAN, human)
    with store.read() as connection:
        reduce_audit(connection, audit)
        ruling_counts.hold_judged(connection, audit, [own_id, human_id], [])
        assert ruling_counts.own_pairs(connection, audit, own_id) == (1, 1)
        conditions = Conditions(own_id, human_id, judge_fingerprint(WRITER), judge_fingerprint(MATCHER))
        ruling_counts.hold_losers(connection, audit, conditions)
        found = ruling_counts.inversions(connection)
        examples = ruling_counts.inversion_examples(connection, 5)
    assert len(examples) == found.seen.k
    if examples:
        assert examples[0] == ("p_t1", "t1", "It can be done.", tuple(GOLD[n - 1].text for n in matched if n))
    return (found.seen.k, found.seen.n, found.of_wrong.n, found.untold)


WRONG, RIGHT = [Said("t1", "B")], [Said("t1", "A")]
BOTH = [Said("t1", "A", "AB", FAILS), Said("t1", "A", "BA", FAILS)]


@pytest.mark.parametrize(
    ("own", "human", "matched", "expected"),
    [
        pytest.param(
            WRONG, BOTH, [3, None], (1, 1, 1, 0), id="the loser is preferred and fails what the own rules lack"
        ),
        pytest.param(WRONG, BOTH[:1], [3, None], (1, 1, 1, 0), id="one order is enough where there is one"),
        pytest.param(WRONG, BOTH, [1, None], (0, 1, 1, 0), id="the own rules have the rule that fails"),
        pytest.param(RIGHT, BOTH, [3, None], (0, 1, 0, 0), id="the own rules prefer the better side"),
        pytest.param([Said("t1", "tie")], BOTH, [3, None], (0, 0, 0, 0), id="the own rules decide nothing"),
        pytest.param(WRONG, BOTH, [3, UNANSWERED], (0, 0, 0, 1), id="a match has no answer"),
        pytest.param(WRONG, [], [3, None], (0, 0, 0, 1), id="nobody judged by the gold rules"),
        pytest.param(
            WRONG,
            [BOTH[0], Said("t1", "A", "BA", {**FAILS, 1: (True, True)})],
            [3, None],
            (0, 0, 0, 1),
            id="the orders disagree on the rule",
        ),
        pytest.param(
            WRONG,
            [BOTH[0], Said("t1", "A", "BA", {**FAILS, 1: (None, None)})],
            [3, None],
            (1, 1, 1, 0),
            id="one order is silent on the rule",
        ),
        pytest.param(
            WRONG,
            [Said("t1", "A", "AB", {1: (True, True), 2: (False, True), 3: (True, False)})],
            [3, None],
            (0, 1, 1, 0),
            id="the loser fails only a low-level rule and the winner a high-level one",
        ),
    ],
)
def test_value_inversion(
    any_store: Store, own: list[Said], human: list[Said], matched: list[int | None], expected: tuple[int, ...]
) -> None:
    assert inverted(any_store, own, human, matched) == expected


def test_tasks_without_high_level_rules_show_no_inversion(store: Store) -> None:
    audit = store_pairs(store, [pair_of("t1", "A", rules("It is polite."))])
    store_drafts(store, audit, WRITER, [Draft("t1", OWN, {"matcher": [None, None]})])
    own_id = store_verdicts(store, audit, with_own(), WRONG)
    human_id = store_verdicts(store, audit, HUMAN, [Said("t1", "A", "AB", {1: (True, False)})])
    with store.read() as connection:
        reduce_audit(connection, audit)
        ruling_counts.hold_judged(connection, audit, [own_id, human_id], [])
        assert ruling_counts.own_pairs(connection, audit, own_id) == (1, 0)
        conditions = Conditions(own_id, human_id, judge_fingerprint(WRITER), judge_fingerprint(MATCHER))
        ruling_counts.hold_losers(connection, audit, conditions)
        assert ruling_counts.inversions(connection) == (Sums(*[0] * 6), Sums(*[0] * 6), 0)


# Whether there is any


def test_an_audit_of_plain_judges_has_no_rubric_work(any_store: Store) -> None:
    audit = store_pairs(any_store, [pair_of("t1")])
    store_verdicts(any_store, audit, PLAIN, [Said("t1", "A")])
    with any_store.read() as connection:
        assert not rubric_counts.has_rubric_work(connection, audit)
    store_verdicts(any_store, audit, HUMAN, [])
    with any_store.read() as connection:
        assert rubric_counts.has_rubric_work(connection, audit)


def test_another_audits_rubrics_are_not_counted(any_store: Store) -> None:
    made = store_at_random(any_store, random.Random(1))
    other = store_pairs(any_store, [pair_of("t1")], "b")
    with any_store.read() as connection:
        assert rubric_counts.has_rubric_work(connection, made.audit)
        assert not rubric_counts.has_rubric_work(connection, other)
        assert rubric_counts.draft_tasks(connection, other) == []
        assert rubric_counts.matched_twice(connection, other) == []
        assert ruling_counts.ruling_counts(connection, other) == {}


def test_disputed_rules_have_the_texts_of_both_answers(any_store: Store) -> None:
    audit = store_pairs(any_store, [pair_of("t1", "A", GOLD)])
    draft = Draft("t1", rules("one", "two", "three"), {"matcher": [1, 2, None], "second": [1, None, UNANSWERED]})
    store_drafts(any_store, audit, WRITER, [draft], (MATCHER, SECOND))
    with any_store.read() as connection:
        (twice,) = rubric_counts.matched_twice(connection, audit)
        by_id = {judge_fingerprint(MATCHER): MATCHER, judge_fingerprint(SECOND): SECOND}
        (rule,) = rubric_counts.disputed_rules(connection, twice.first_id, twice.second_id, [twice.draft_id])
        assert rubric_counts.disputed_rules(connection, twice.first_id, twice.second_id, []) == []
    texts = (GOLD[1].text, None) if by_id[twice.first_id] == MATCHER else (None, GOLD[1].text)
    assert rule == (twice.draft_id, "two", *texts)


@pytest.mark.parametrize(
    ("reason", "counts"), [("parse_error", 1), ("conflict", 1), ("refused", 1), *[(r, 0) for r in NO_REPLY]]
)
def test_officially_what_cannot_be_read_is_wrong_and_what_nobody_answered_counts_for_nothing(
    any_store: Store, reason: UnscoredReason, counts: int
) -> None:
    judge = JUDGE.model_copy(update={"label": "forced"})
    silent = verdict(None, "AB", judge=judge, unscored_reason=reason)
    with any_store.write() as connection:
        audit = ensure_audit(connection, "official")
        ingest(connection, audit, "rows", [pair("p1", None, None, silent, gold=[label("A")])])
    with any_store.read() as connection:
        reduce_audit(connection, audit)
        ruling_counts.hold_judged(connection, audit, [], [judge_fingerprint(judge)])
        (found,) = ruling_counts.verdict_counts(connection).values()
    assert (found.pairs, found.unscored, found.accuracy.n, found.accuracy.k) == (1, 1, counts, 0)
