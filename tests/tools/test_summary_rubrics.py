"""The section on rubrics: against pandas on random stores, and on small ones whose numbers are known."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import text

from builders import episode, label, pair
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import NotFound
from misjudge_storage.rubric_rows import DraftCounts
from misjudge_storage.types import NO_REPLY
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK_IN_PART
from misjudge_tools.stats.probes import Differences, paired_effect, paired_sums
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.rubric_values import (
    AccuracyRow,
    GapRow,
    InversionRow,
    RubricsSection,
    WriterDifference,
    WriterRow,
    WriterScores,
)
from misjudge_tools.summary.rubrics import NO_RUBRICS, NOTHING_YET, rubrics_section
from misjudge_tools.summary.values import AuditSummary
from rubric_store import (
    HUMAN,
    MATCHER,
    PLAIN,
    SECOND,
    UNANSWERED,
    WRITER,
    Draft,
    Said,
    actor,
    pair_of,
    rules,
    store_at_random,
    store_drafts,
    store_judges,
    store_pairs,
    store_verdicts,
    with_own,
)

GOLD = rules("Every case can be converted.", "Losses are named.", "It agrees with itself.")
OWN = rules("It uses a tool.", "It names a library.", "It shows a command.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "misjudge.db")
    yield opened
    opened.close()


def section(store: Store) -> RubricsSection:
    found = rubrics_section(store, "a")
    assert isinstance(found, RubricsSection)
    return found


def summary(store: Store, **asked: object) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **asked}), store)


def drafted(store: Store, *hits: list[int | None], matchers: tuple[str, ...] = ("matcher",)) -> RubricsSection:
    """A task for each list of hits, with three gold rules, one generated rule a hit, every matcher saying the same."""
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(len(hits))])
    drafts = [
        Draft(f"t{n}", rules(*(f"own {n} {k}" for k in range(len(found)))), dict.fromkeys(matchers, found))
        for n, found in enumerate(hits)
    ]
    store_drafts(store, audit, WRITER, drafts)
    return section(store)


# What the guide works out by hand


def test_three_rules_on_tools_hit_none_of_three_on_feasibility(store: Store) -> None:
    audit = store_pairs(store, [pair_of("convert SQL to Mongo, all cases", "A", GOLD)])
    store_drafts(store, audit, WRITER, [Draft("convert SQL to Mongo, all cases", OWN, {"matcher": [None] * 3})])
    found = section(store)
    (row,) = found.writers
    assert (row.writer, row.matcher, row.samples) == ("writer", "matcher", 1)
    assert (row.recall.rate, row.hallucination_rate.rate, row.structural_f1.value) == (0, 1, 0)
    assert (row.matched_gold, row.total_gold, row.total_generated) == (0, 3, 3)
    assert found.advice == (
        "Do not trust rules that writer writes yet: recall 0.0 % (0 of 3, 95 % 0–100 %), 1 sample, matched by matcher, "
        "is below 0.5, but its interval spans 0.5. At least 19 more samples would be needed to tell (samples=20, "
        "--samples 20).",
    )


# Against pandas, from the stored rows


@pytest.mark.parametrize("seed", range(3))
def test_every_count_is_that_of_pandas_on_the_stored_rows(store: Store, seed: int) -> None:
    made = store_at_random(store, random.Random(seed), tasks=60)
    found = section(store)
    tables = Tables(store)
    assert len(found.writers) == 4
    for row in found.writers:
        check_writer(row, tables.writer(row))
    for scores in found.writers_by_domain:
        check_scores(scores, tables.writer(scores))
    assert len(found.writers_by_domain) == 12
    assert len(found.accuracy) == len(made.judges) and len(found.accuracy_by_domain) == 3 * len(made.judges)
    for one in (*found.accuracy, *found.accuracy_by_domain):
        check_accuracy(one, tables)
    assert {(gap.protocol, gap.first, gap.second) for gap in found.gaps} == {
        ("both_orders", "human", "self[writer]"),
        ("both_orders", "human", "self[other writer]"),
        ("both_orders", "human", "none"),
        ("both_orders", "self[writer]", "none"),
        ("both_orders", "self[other writer]", "none"),
        ("official", "self[writer]", "none"),
    }
    for gap in (*found.gaps, *found.gaps_by_domain):
        check_gap(gap, tables)
    assert len(found.writer_differences) == 2
    for difference in found.writer_differences:
        check_difference(difference, found, tables)
    assert len(found.inversions) == 4
    for inversion in found.inversions:
        check_inversion(inversion, tables)
    assert found.simulated == ("other writer",)


NAMES = (
    *("rubric_drafts", "rubric_matchings", "rubric_matches", "rubric_sets", "rubric_rules", "task_rubrics"),
    *("judges", "tasks", "pairs", "verdicts", "gold_labels"),
)


class Tables:
    """The stored rows as data frames."""

    def __init__(self, store: Store) -> None:
        with store.read() as connection:
            found = {name: pd.read_sql(text(f"SELECT * FROM {name}"), connection) for name in NAMES}
        judges = found["judges"].set_index("judge_id")
        sizes = found["rubric_sets"].set_index("rubric_id")["number"]
        drafts = found["rubric_drafts"].merge(found["tasks"][["task_id", "subset"]], on="task_id")
        drafts["writer"] = drafts["writer_id"].map(judges["label"])
        drafts["generated"] = drafts["rubric_id"].map(sizes).fillna(0).astype(int)
        drafts["gold"] = drafts["task_id"].map(found["task_rubrics"].set_index("task_id")["rubric_id"].map(sizes))
        self.drafts = drafts
        matches = found["rubric_matches"].merge(found["rubric_matchings"][["matching_id", "matcher_id", "draft_id"]])
        matches["matcher"] = matches["matcher_id"].map(judges["label"])
        self.matches = matches[matches["status"] == "scored"]
        self.matched = found["rubric_matchings"].assign(
            matcher=found["rubric_matchings"]["matcher_id"].map(judges["label"])
        )
        gold = found["gold_labels"].set_index("pair_id")["pref"]
        verdicts = found["verdicts"].merge(found["pairs"][["pair_id", "task_id"]], on="pair_id")
        verdicts = verdicts.merge(found["tasks"][["task_id", "subset"]], on="task_id")
        verdicts["gold"] = verdicts["pair_id"].map(gold)
        verdicts["label"] = verdicts["judge_id"].map(judges["label"])
        self.verdicts = verdicts[verdicts["gold"].isin(["A", "B"])]
        high = found["rubric_rules"].groupby("rubric_id")["high_level"].any()
        self.high_level = found["task_rubrics"].set_index("task_id")["rubric_id"].map(high).fillna(False).astype(bool)

    def writer(self, row: WriterScores) -> pd.DataFrame:
        """The samples of a row, with what its matcher says of each."""
        mine = self.samples(row.writer, row.matcher)
        return mine if row.domain is None else mine[mine["subset"] == row.domain]

    def samples(self, writer: str, matcher: str | None) -> pd.DataFrame:
        """The rubrics of a writer, with what this matcher says of each."""
        mine = self.drafts[self.drafts["writer"] == writer]
        by = self.matches[self.matches["matcher"] == matcher]
        hits = by[by["gold_rule"].notna()]
        mine = mine.assign(
            answered=mine["draft_id"].map(by.groupby("draft_id").size()).fillna(0).astype(int),
            matched=mine["draft_id"].map(hits.groupby("draft_id").size()).fillna(0).astype(int),
            hit=mine["draft_id"].map(hits.groupby("draft_id")["gold_rule"].nunique()).fillna(0).astype(int),
        )
        there = mine["draft_id"].isin(self.matched[self.matched["matcher"] == matcher]["draft_id"])
        return mine[there | (mine["generated"] == 0)]

    def whole(self, row: WriterDifference, writer: str) -> pd.DataFrame:
        """Task → number of its gold rules and those that are hit, of the samples that recall is known of."""
        mine = self.samples(writer, row.matcher)
        mine = mine[(mine["status"] == "scored") & mine["gold"].notna() & (mine["answered"] == mine["generated"])]
        by = self.matches[(self.matches["matcher"] == row.matcher) & self.matches["gold_rule"].notna()]
        hits = by.groupby("draft_id")["gold_rule"].agg(set)
        found = mine.assign(hits=[hits.get(draft_id, set()) for draft_id in mine["draft_id"]])
        return found.set_index("task_id")[["gold", "hits"]]

    def ended(self, row: AccuracyRow | GapRow | InversionRow, label: str) -> dict[str, str]:
        """Pair → how it ended for this judge, in the domain of the row."""
        mine = self.verdicts[self.verdicts["label"] == label]
        if not isinstance(row, InversionRow) and row.domain is not None:
            mine = mine[mine["subset"] == row.domain]
        return {str(pair): ending(rows, row.protocol) for pair, rows in mine.groupby("pair_id")}


def ending(rows: pd.DataFrame, protocol: str) -> str:
    gold = rows["gold"].iloc[0]
    if protocol == "official":
        (winner,) = rows[rows["order_shown"] == "AB"]["winner"]
        if pd.isna(winner):
            silent = rows["unscored_reason"].isin(NO_REPLY).all()
            return "silent" if silent else "unscored"
        return "right" if winner == gold else "tie" if winner == "tie" else "wrong"
    if rows["winner"].isna().any():
        return "unscored"
    sides = set(rows["winner"]) - {"tie"}
    if len(sides) != 1:
        return "inconsistent" if sides else "tie"
    return "right" if gold in sides else "wrong"


def check_scores(row: WriterScores, mine: pd.DataFrame) -> None:
    scored = mine[(mine["status"] == "scored") & mine["gold"].notna()]
    whole = scored[scored["answered"] == scored["generated"]]
    assert row.samples == len(whole)
    assert (row.matched_gold, row.total_gold) == (whole["hit"].sum(), whole["gold"].sum())
    assert row.recall.rate == pytest.approx(whole["hit"].sum() / whole["gold"].sum())
    assert row.total_generated == scored["generated"].sum()
    assert row.unscored_rules == (scored["generated"] - scored["answered"]).sum()
    assert row.precision == pytest.approx(scored["matched"].sum() / scored["answered"].sum())
    assert row.hallucination_rate.n == scored["answered"].sum()
    assert row.precision is not None and row.recall.rate is not None
    both = row.precision + row.recall.rate
    assert row.structural_f1.value == pytest.approx(2 * row.precision * row.recall.rate / both)


def check_writer(row: WriterRow, mine: pd.DataFrame) -> None:
    check_scores(row, mine)
    scored = mine[mine["status"] == "scored"]
    whole = scored[scored["answered"] == scored["generated"]]
    assert row.unscored_drafts == (mine["status"] == "unscored").sum()
    assert row.nothing_generated == (scored["generated"] == 0).sum()
    assert (row.duplicates, row.compound) == (scored["duplicates"].sum(), scored["compound"].sum())
    assert row.incomplete == len(scored) - len(whole)
    assert row.asked_matches + row.equal_matches == scored["answered"].sum()
    shares = whole["hit"] / whole["gold"]
    assert row.macro_recall.value == pytest.approx(shares.mean())
    precise = whole["matched"] / whole["answered"].where(whole["answered"] > 0, 1)
    f1 = (2 * shares * precise / (shares + precise)).fillna(0)
    assert row.macro_structural_f1.value == pytest.approx(f1.mean())
    if not row.incomplete:
        assert (row.recall_at_least, row.recall_at_most) == (None, None)
        return
    assert row.recall_at_least == pytest.approx(scored["hit"].sum() / scored["gold"].sum())
    reach = (scored["hit"] + scored["generated"] - scored["answered"]).clip(upper=scored["gold"])
    assert row.recall_at_most == pytest.approx(reach.sum() / scored["gold"].sum())


def check_accuracy(row: AccuracyRow, tables: Tables) -> None:
    ended = [*tables.ended(row, row.label).values()]
    for name in ("right", "wrong", "tie", "inconsistent"):
        assert getattr(row, name) == ended.count(name), (row.label, name)
    silent, unscored = ended.count("silent"), ended.count("unscored")
    assert (row.pairs, row.unscored) == (len(ended), silent + unscored)
    mine = tables.verdicts[tables.verdicts["label"] == row.label]
    without = set(mine[mine["unscored_reason"] == "no_rubric"]["pair_id"])
    found = {pair for pair, how in tables.ended(row, row.label).items() if how in {"silent", "unscored"}}
    assert row.no_rubric == len(found & without)
    counted = row.pairs - silent - (unscored if row.protocol == "both_orders" else 0)
    assert row.accuracy.rate == pytest.approx(row.right / counted)
    assert row.decided_accuracy.rate == pytest.approx(row.right / (row.right + row.wrong))


def check_gap(gap: GapRow, tables: Tables) -> None:
    first, second = (pd.Series(tables.ended(gap, label)) for label in (gap.first_label, gap.second_label))
    both = pd.concat({"first": first, "second": second}, axis=1, join="inner")
    left_out = ["silent", "unscored"] if gap.protocol == "both_orders" else ["silent"]
    both = both[~both.isin(left_out).any(axis=1)]
    both = both == "right"
    assert gap.n == len(both)
    assert gap.only_first == (both["first"] & ~both["second"]).sum()
    assert gap.only_second == (both["second"] & ~both["first"]).sum()
    assert gap.difference == pytest.approx(both["first"].mean() - both["second"].mean())


def check_difference(row: WriterDifference, found: RubricsSection, tables: Tables) -> None:
    recall = {scores.writer: scores.recall.rate or 0 for scores in found.writers if scores.matcher == row.matcher}
    assert [row.best, row.writer] == sorted(recall, key=lambda writer: -recall[writer])
    writer, best = tables.whole(row, row.writer).add_suffix("_w"), tables.whole(row, row.best).add_suffix("_b")
    both = writer.join(best, how="inner")
    only_writer = [len(w - b) for w, b in zip(both["hits_w"], both["hits_b"], strict=True)]
    only_best = [len(b - w) for w, b in zip(both["hits_w"], both["hits_b"], strict=True)]
    assert (row.tasks, row.recall_difference.n) == (len(both), both["gold_w"].sum())
    assert (row.only_writer, row.only_best) == (sum(only_writer), sum(only_best))
    by_task = zip(both["gold_w"], only_writer, only_best, strict=True)
    sums = paired_sums(Differences(int(n), writer - best, writer + best) for n, writer, best in by_task)
    assert row.recall_difference == paired_effect(sums)


def check_inversion(row: InversionRow, tables: Tables) -> None:
    ended = tables.ended(row, row.label)
    tasks = tables.verdicts.drop_duplicates("pair_id").set_index("pair_id")["task_id"]
    high = [pair for pair in ended if tables.high_level.get(tasks[pair], default=False)]
    assert (row.pairs, row.with_high_level) == (len(ended), len(high))
    assert row.decided == sum(ended[pair] in {"right", "wrong"} for pair in high) == row.inverted.n + row.untold
    assert row.of_wrong.n <= sum(ended[pair] == "wrong" for pair in high)


# Writers and matchers


def test_writers_stand_side_by_side_the_best_recall_first(store: Store) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(3)])
    for name, hits in (("poor", [None, None]), ("good", [1, 2]), ("fair", [1, 1])):
        writer = actor(name, "rubric_generate")
        store_drafts(
            store, audit, writer, [Draft(f"t{n}", rules("x", f"y {name}"), {"matcher": hits}) for n in range(3)]
        )
    found = section(store)
    assert [(row.writer, row.matched_gold) for row in found.writers] == [("good", 6), ("fair", 3), ("poor", 0)]
    assert [row.precision for row in found.writers] == [1, 1, 0]


def test_nothing_generated_is_recall_0_and_an_unreadable_rubric_is_none(store: Store) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(3)])
    counts = DraftCounts(written=4, duplicates=2, compound=1)
    drafts = [Draft("t0", rules("a", "b"), {"matcher": [1, 2]}, counts), Draft("t1", ()), Draft("t2", None)]
    store_drafts(store, audit, WRITER, drafts)
    (row,) = section(store).writers
    assert (row.drafts, row.samples, row.nothing_generated, row.unscored_drafts) == (3, 2, 1, 1)
    assert (row.recall.k, row.recall.n, row.duplicates, row.compound) == (2, 6, 2, 1)
    assert any(said.startswith("1 of 3 rubrics by writer could not be read") for said in section(store).advice)


def test_of_a_writer_that_nobody_matched_only_its_rules_are_counted(store: Store) -> None:
    audit = store_pairs(store, [pair_of("t0", "A", GOLD), pair_of("t1", "A", GOLD), pair_of("t2")])
    store_drafts(store, audit, WRITER, [Draft("t0", rules("a", "b")), Draft("t1", ()), Draft("t2", rules("c"))], ())
    (row,) = section(store).writers
    assert (row.matcher, row.samples, row.recall.rate, row.unscored_rules) == (None, 0, None, 0)
    assert (row.total_generated, row.drafts, row.without_gold, row.nothing_generated) == (3, 3, 1, 1)
    assert section(store).advice == ()


def test_a_writer_that_writes_nothing_at_all_needs_no_matcher(store: Store) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(3)])
    store_drafts(store, audit, WRITER, [Draft(f"t{n}", ()) for n in range(3)], ())
    (row,) = section(store).writers
    assert (row.recall.k, row.recall.n, row.precision, row.structural_f1.value) == (0, 9, None, 0)


def test_unanswered_rules_are_told_and_bounded(store: Store) -> None:
    found = drafted(store, [1, 2, None], [1, UNANSWERED, UNANSWERED], [UNANSWERED, None, None])
    (row,) = found.writers
    assert (row.samples, row.incomplete, row.unscored_rules) == (1, 2, 3)
    assert (row.recall.k, row.recall.n) == (2, 3)
    assert row.recall_at_least == pytest.approx(3 / 9)
    assert row.recall_at_most == pytest.approx(6 / 9)
    assert (
        "3 of 9 rules by writer have no readable answer of matcher, so recall is known of 1 sample only."
        in " ".join(found.advice)
    )


def test_two_matchers_that_differ_by_more_than_a_fifth_list_the_rules(store: Store) -> None:
    gold = rules(*(f"gold {n}" for n in range(1, 6)))
    audit = store_pairs(store, [pair_of(f"t{n}", "A", gold) for n in range(3)])
    own = [rules(*(f"own {n} {k}" for k in range(5))) for n in range(3)]
    apart = {"matcher": [1, 2, 3, None, None], "second": [1, None, None, None, None]}
    just_a_fifth = {"matcher": [1, 2, None, None, None], "second": [1, None, None, None, None]}
    alike = {"matcher": [1, 2, None, 1, None], "second": [1, 2, None, 1, None]}
    drafts = [Draft("t0", own[0], just_a_fifth), Draft("t1", own[1], apart), Draft("t2", own[2], alike)]
    store_drafts(store, audit, WRITER, drafts, (MATCHER, SECOND))
    found = section(store)
    (check,) = found.checks
    turned = check.first == "second"
    assert {check.first, check.second} == {"matcher", "second"}
    assert (check.samples, check.agreement.k, check.agreement.n, check.disputed) == (3, 12, 15, 1)
    assert check.recall_difference.value == pytest.approx(-0.2 if turned else 0.2)
    (sample,) = check.examples
    assert (sample.task, sample.more_rules) == ("t1", 0)
    assert sorted((sample.first_recall, sample.second_recall)) == [0.2, 0.6]
    told = [(one.rule, one.second_gold if turned else one.first_gold) for one in sample.rules]
    assert told == [("own 1 1", "gold 2"), ("own 1 2", "gold 3")]
    assert any("differ by more than 0.20 in recall on 1 of 3 samples by writer" in said for said in found.advice)


def test_long_rules_and_many_disputes_are_cut_and_counted(store: Store) -> None:
    gold = rules(*(f"gold {n} {'x' * 300}" for n in range(1, 13)))
    audit = store_pairs(store, [pair_of(f"t{n:02}", "A", gold) for n in range(12)])
    drafts = [
        Draft(
            f"t{n:02}",
            rules(*(f"own {n} {k} {'y' * 300}" for k in range(12))),
            {"matcher": [*range(1, 13)], "second": [None] * 12},
        )
        for n in range(12)
    ]
    store_drafts(store, audit, WRITER, drafts, (MATCHER, SECOND))
    (check,) = section(store).checks
    assert (check.disputed, len(check.examples), check.examples[0].more_rules) == (12, 10, 4)
    assert {len(one.rule) for one in check.examples[0].rules} == {200}


# Judges


def judged(store: Store, right: dict[str, list[bool]], **facts: Any) -> RubricsSection:
    """Judges by label of one order each, and on which of the pairs they are right."""
    number = len(next(iter(right.values())))
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD, **facts) for n in range(number)])
    store_drafts(store, audit, WRITER, [Draft(f"t{n}", rules(f"own {n}"), {"matcher": [1]}) for n in range(number)])
    judges = {judge.label: judge for judge in (PLAIN, HUMAN, with_own())}
    for name, found in right.items():
        store_verdicts(store, audit, judges[name], [Said(f"t{n}", "A" if ok else "B") for n, ok in enumerate(found)])
    return section(store)


def test_the_rubric_gap_comes_first_and_says_what_to_do(store: Store) -> None:
    found = judged(
        store,
        {
            "judge": [n < 15 for n in range(30)],
            "judge+rules:human": [n < 27 for n in range(30)],
            "judge+rules:self": [n < 12 for n in range(30)],
        },
    )
    gap, human, own = found.gaps
    assert (gap.first, gap.second, gap.rubric_gap) == ("human", "self[writer]", True)
    assert (gap.n, gap.difference, gap.only_first, gap.only_second) == (30, 0.5, 15, 0)
    assert gap.mcnemar_p == pytest.approx(2 * 0.5**15)
    assert human.difference == pytest.approx(0.4)
    assert own.difference == pytest.approx(-0.1)
    assert [(row.judge, row.source, row.right) for row in found.accuracy] == [
        ("judge", "none", 15),
        ("judge", "self[writer]", 12),
        ("judge", "human", 27),
    ]
    assert found.advice[1].startswith("Rubric gap of judge: with human rules it is right 50.0 points more often than")
    assert "30 pairs, McNemar p below .001" in found.advice[1]


def test_a_gap_that_is_not_seen_says_what_would_be(store: Store) -> None:
    found = judged(store, {name: [n % 3 > 0 for n in range(24)] for name in ("judge+rules:human", "judge+rules:self")})
    (gap,) = found.gaps
    assert gap.smallest_seen is not None
    assert found.advice[1] == (
        f"No rubric gap of judge is seen (human − self[writer]: +0.0 points, 95 % {100 * (gap.low or 0):+.1f} to "
        f"{100 * (gap.high or 0):+.1f}, 24 pairs); one below {100 * gap.smallest_seen:.0f} points would probably be "
        "missed with so few tasks."
    )


def test_one_task_is_no_ground_for_advice_on_a_gap_and_few_tasks_say_so(store: Store) -> None:
    found = judged(store, {name: [True] for name in ("judge+rules:human", "judge+rules:self")})
    assert not any("gap" in said for said in found.advice)
    few = judged(store, {name: [True] * 3 for name in ("judge+rules:human", "judge+rules:self")})
    assert any(said.endswith("3 pairs); so few tasks would show none.") for said in few.advice)


def test_a_test_that_counts_pairs_of_one_task_is_not_believed(store: Store) -> None:
    """Nine pairs, all but one of two tasks: McNemar's test takes them as nine observations."""
    records = [
        pair(f"p_{task}_{n}", episode("x", task=task, trial=n), episode("y", task=task, trial=n), gold=[label("A")])
        for task, number in (("t0", 8), ("t1", 1), ("t2", 1))
        for n in range(number)
    ]
    audit = store_pairs(store, records)
    named = [str(record.pair.pair_id)[2:] for record in records if record.pair]
    store_verdicts(store, audit, HUMAN, [Said(name, "A") for name in named])
    store_verdicts(store, audit, with_own(), [Said(name, "B" if name[:2] == "t0" else "A") for name in named])
    (gap,) = section(store).gaps
    assert gap.mcnemar_p is not None and gap.low is not None
    assert gap.mcnemar_p < 0.05 and gap.low < 0
    assert "takes pairs of one task as independent, says otherwise" in " ".join(section(store).advice)


def test_matchers_that_were_never_asked_agree_on_nothing(store: Store) -> None:
    gold = rules("one", "two")
    audit = store_pairs(store, [pair_of("t0", "A", gold)])
    hits: dict[str, list[int | None]] = {"matcher": [1, 2], "second": [1, None]}
    drafts = [Draft("t0", rules("One.", "Two."), hits, equal=frozenset({1, 2}))]
    store_drafts(store, audit, WRITER, drafts, (MATCHER, SECOND))
    found = section(store)
    assert found.checks[0].agreement.rate is None
    assert "(rules answered alike: none known)" in found.advice[1]


def test_own_rules_that_harm_are_told(store: Store) -> None:
    found = judged(store, {"judge": [True] * 24, "judge+rules:self": [n < 8 for n in range(24)]})
    assert any(said.startswith("judge is right 66.7 points less often with self[writer] than") for said in found.advice)


def test_in_the_official_protocol_what_cannot_be_parsed_is_wrong_and_told_apart(store: Store) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(4)])
    said = [Said("t0", "A"), Said("t1", "A"), Said("t2", "B"), Said("t3", None)]
    store_verdicts(store, audit, actor("judge+forced", forced=True), said)
    store_verdicts(store, audit, PLAIN, [Said("t0", "A"), Said("t0", "B", "BA")])
    found = section(store)
    (row,) = found.accuracy
    assert (row.judge, row.source, row.protocol) == ("judge", "none", "official")
    assert (row.accuracy.rate, row.unscored) == (0.5, 1)
    assert row.decided_accuracy.rate == pytest.approx(2 / 3)


def test_without_any_condition_the_plain_judges_stand_for_themselves(store: Store) -> None:
    found = judged(store, {"judge": [True, False]})
    assert [(row.judge, row.right, row.wrong) for row in found.accuracy] == [("judge", 1, 1)]
    assert found.gaps == ()


def test_value_inversion_has_examples_and_its_denominator(store: Store) -> None:
    gold = rules("^It can be done.", "It is polite.")
    audit = store_pairs(store, [pair_of(f"t{n}", "A", gold) for n in range(8)])
    store_drafts(store, audit, WRITER, [Draft(f"t{n}", rules(f"own {n}"), {"matcher": [2]}) for n in range(8)])
    store_verdicts(store, audit, with_own(), [Said(f"t{n}", "B" if n < 6 else "A") for n in range(8)])
    met = {1: (True, False), 2: (True, True)}
    store_verdicts(store, audit, HUMAN, [Said(f"t{n}", "A", "AB", met, "A") for n in range(8)])
    (row,) = section(store).inversions
    assert (row.judge, row.writer, row.matcher, row.protocol) == ("judge", "writer", "matcher", "both_orders")
    assert (row.inverted.k, row.inverted.n, row.of_wrong.k, row.of_wrong.n, row.untold) == (6, 8, 6, 6, 0)
    assert [one.pair for one in row.examples] == [f"p_t{n}" for n in range(5)]
    assert (row.examples[0].rule, row.examples[0].hits) == ("It can be done.", ("It is polite.",))


def test_conflicts_are_shares_of_the_rulings_that_say_something(store: Store) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(5)])
    met = {1: (True, True)}
    said = [
        Said("t0", "A", "AB", met, "A"),
        Said("t1", "B", "AB", met, "A", "soft_over_hard", left_out=1),
        Said("t2", "B", "AB", met, "tie", "reweighted"),
        Said("t3", "B", "AB", met, None, None, unscored=2),
        Said("t4", None, "AB", met, "A"),
    ]
    store_verdicts(store, audit, HUMAN, said)
    (row,) = section(store).conflicts
    assert row.form == "pairwise"
    assert (row.label, row.source, row.rulings, row.left_out, row.unscored_rules) == (HUMAN.label, "human", 5, 1, 2)
    assert (row.soft_over_hard.k, row.soft_over_hard.n) == (1, 3)
    assert (row.reweighted.k, row.reweighted.n) == (1, 3)


# In the summary


def test_an_audit_without_rubric_work_says_how_to_begin(store: Store) -> None:
    audit = store_pairs(store, [pair_of("t0")])
    store_verdicts(store, audit, PLAIN, [Said("t0", "A")])
    assert rubrics_section(store, "a") == NO_RUBRICS
    assert (summary(store).rubrics, summary(store).why["rubrics"]) == (None, NO_RUBRICS.why)
    store_judges(store, audit, [WRITER])
    found = rubrics_section(store, "a")
    assert isinstance(found, RubricsSection) and found.writers == ()
    with pytest.raises(NotFound):
        rubrics_section(store, "b")


def test_planned_work_of_which_nothing_is_stored_is_none_yet(store: Store) -> None:
    store_judges(store, store_pairs(store, [pair_of("t0")]), [WRITER, HUMAN])
    assert rubrics_section(store, "a") == NOTHING_YET


def test_rubrics_stand_once_in_a_summary_and_their_writers_are_no_judges(store: Store) -> None:
    found = judged(store, {"judge": [True, False], "judge+rules:human": [True, True]})
    whole = summary(store)
    assert whole.rubrics == found
    assert whole.judges is not None and set(whole.judges) == {"judge", "judge+rules:human"}
    assert all(one.rubrics is None and "top" in one.why["rubrics"] for one in whole.judges.values())
    assert summary(store, judge="judge").rubrics is None
    assert summary(store, sections=["rubrics"]).rubrics == found
    assert summary(store, sections=["rubric"]).rubrics is None


def test_a_single_judge_or_none_has_the_rubrics_of_its_audit(store: Store) -> None:
    audit = store_pairs(store, [pair_of("t0", "A", GOLD)])
    made_up = actor("made up", "rubric_generate", simulated=True)
    store_drafts(store, audit, made_up, [Draft("t0", rules("own"), {"matcher": [1]})])
    nobody = summary(store)
    assert nobody.rubrics == section(store)
    assert (nobody.marked, nobody.simulated) == (MARK_IN_PART, True)
    store_verdicts(store, audit, PLAIN, [Said("t0", "A")])
    alone = summary(store)
    assert (alone.judge, alone.rubrics, alone.marked) == ("judge", section(store), MARK_IN_PART)
    assert summary(store, sections=["pairs"]).marked == MARK_IN_PART
