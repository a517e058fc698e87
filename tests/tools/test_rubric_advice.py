"""What is advised on writers, judges and rubrics, by the intervals of what was counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from misjudge_storage import rubric_library
from misjudge_storage.engine import Store, open_store
from misjudge_storage.rows import rubric_id
from misjudge_storage.rubric_counts import DraftTask
from misjudge_storage.types import Judge
from misjudge_tools.summary.rubric_samples import best_first, matched
from misjudge_tools.summary.rubric_trust import few_sentences, samples_needed, trust_of, trust_sentences
from misjudge_tools.summary.rubric_values import RubricsSection, WriterRow
from misjudge_tools.summary.rubric_writers import writer_rows
from misjudge_tools.summary.rubrics import rubrics_section
from rubric_store import (
    HUMAN,
    MATCHER,
    PLAIN,
    SECOND,
    WRITER,
    Draft,
    Said,
    actor,
    pair_of,
    rules,
    store_drafts,
    store_pairs,
    store_verdicts,
    with_own,
)

GOLD = rules("Every case can be converted.", "Losses are named.", "It agrees with itself.", "It is short.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "misjudge.db")
    yield opened
    opened.close()


def section(store: Store) -> RubricsSection:
    found = rubrics_section(store, "a")
    assert isinstance(found, RubricsSection)
    return found


def rows(hits: Mapping[tuple[str, str], Sequence[int]]) -> list[WriterRow]:
    """The rows of writers and matchers: of four gold rules, how many are hit in each sample by four generated ones."""
    drafts = [
        DraftTask(writer, matcher, f"t{n}", None, True, 4, 4, hit, 4, hit, 0, 0, 0)
        for (writer, matcher), found in hits.items()
        for n, hit in enumerate(found)
    ]
    written = matched(drafts)
    return writer_rows(written, best_first(written, {}), {})


def trust(hits: Mapping[tuple[str, str], Sequence[int]], simulated: Sequence[str] = ()) -> list[str]:
    return list(trust_sentences(rows(hits), simulated))


# Whether to trust a writer


def test_a_writer_whose_whole_interval_is_below_one_half_is_not_to_be_trusted() -> None:
    (said,) = trust({("w", "m"): [1, 0, 1, 1] * 10})
    assert said == (
        "Do not trust rules that w writes: recall 18.8 % (30 of 160, 95 % 13–26 %), 40 samples, matched by m, is below "
        "0.5. Judge with human rules or a rubric of the library instead, try another writer, and review the gold rules "
        "that nothing hits."
    )


def test_below_one_half_with_an_interval_that_spans_it_is_not_yet() -> None:
    (said,) = trust({("w", "m"): [4, 0, 3, 0, 1] * 5})
    assert said.startswith("Do not trust rules that w writes yet: recall 40.0 % (40 of 100, 95 % ")
    assert ", 25 samples, matched by m, is below 0.5, but its interval spans 0.5. About " in said


def test_above_one_half_with_an_interval_that_spans_it_cannot_be_told_yet() -> None:
    (said,) = trust({("w", "m"): [4, 1, 3, 0, 4] * 5})
    assert said.startswith(
        "It cannot be told yet whether to trust rules that w writes: recall 60.0 % (60 of 100, 95 % "
    )
    assert ", 25 samples, matched by m, spans 0.5. About " in said


def test_a_writer_whose_whole_interval_is_above_one_half_is_told_as_such() -> None:
    (said,) = trust({("w", "m"): [3, 4] * 10})
    assert said == "The recall of w is at or above 0.5: 87.5 % (70 of 80, 95 % 78–93 %), 20 samples, matched by m."


@pytest.mark.parametrize("pattern", [[4, 0, 3, 0, 1], [4, 1, 3, 0, 4], [2, 1, 3, 1], [3, 2, 1, 3, 2]])
def test_so_many_more_samples_of_the_kind_would_tell(pattern: list[int]) -> None:
    now = pattern * 6
    (row,) = rows({("w", "m"): now})
    more = samples_needed(row)
    assert trust_of(row.recall) in ("low_yet", "open") and more is not None and more % 10 == 0
    (then,) = rows({("w", "m"): (now * 40)[: len(now) + more]})
    assert trust_of(then.recall) in ("low", "enough")
    (before,) = rows({("w", "m"): (now * 40)[: len(now) + more - 30]})
    assert more <= 30 or trust_of(before.recall) in ("low_yet", "open"), "not many more than needed"


def test_the_number_of_samples_to_ask_for_is_that_of_all() -> None:
    (row,) = rows({("w", "m"): [4, 0, 3, 0, 1] * 5})
    more = samples_needed(row)
    (said,) = trust({("w", "m"): [4, 0, 3, 0, 1] * 5})
    assert more is not None
    assert said.endswith(
        f"About {more} more samples would be needed to tell (samples={25 + more}, --samples {25 + more})."
    )


def test_few_samples_tell_nothing_of_how_many_are_needed_but_that_there_are_fewer_than_twenty() -> None:
    (said,) = trust({("w", "m"): [1, 3, 2]})
    assert said.endswith("At least 17 more samples would be needed to tell (samples=20, --samples 20).")
    (row,) = rows({("w", "m"): [1, 3, 2]})
    assert list(few_sentences([row], ())) == [], "it is said once"


def test_exactly_one_half_is_told_by_no_number_of_samples() -> None:
    (said,) = trust({("w", "m"): [1, 3, 4, 0] * 6})
    assert said.endswith("It is so near 0.5 that 1,000 more samples would hardly tell.")


def test_a_clear_recall_of_few_samples_is_told_to_rest_on_them() -> None:
    (row,) = rows({("w", "m"): [0, 1, 0, 0, 0, 0, 1, 0]})
    assert trust_of(row.recall) == "low"
    (said,) = few_sentences([row], ["w"])
    assert said.startswith("The recall of w (SIMULATED) rests on 8 samples (95 % ") and "--samples 20" in said


def test_two_matchers_that_lead_to_one_advice_are_named_in_one_sentence() -> None:
    (said,) = trust({("w", "m"): [0, 1] * 10, ("w", "n"): [1, 1] * 10})
    assert "25.0 % (20 of 80, 95 % 16–36 %), 20 samples, matched by n; 12.5 % (10 of 80" in said
    assert said.count("Do not trust") == 1 and said.count("matched by") == 2


def test_two_matchers_that_lead_to_different_advice_have_a_sentence_each() -> None:
    one, other = trust({("w", "m"): [0, 1] * 10, ("w", "n"): [4, 3] * 10})
    assert one.startswith("The recall of w is at or above 0.5: ") and other.startswith("Do not trust rules that w")


def test_the_made_up_are_marked_behind_their_names() -> None:
    (said,) = trust({("w", "m"): [0, 1] * 10}, ["m", "w", "others"])
    assert said.startswith("Do not trust rules that w (SIMULATED) writes: recall ")
    assert "matched by m (SIMULATED), is below" in said


def test_writers_stand_as_in_the_table_and_none_is_dropped() -> None:
    found: dict[tuple[str, str], list[int]] = {(f"w{n}", "m"): [n % 2, 1] * 10 for n in range(6)}
    found["good", "m"] = [4, 3] * 10
    said = trust(found, ["w4"])
    starts = ("The recall of good is", *(f"Do not trust rules that w{n} writes:" for n in (1, 3, 5)))
    assert [sentence[: len(start)] for sentence, start in zip(said, starts, strict=False)] == [*starts]
    assert said[4:] == ["Do not trust rules that w0, w2 and w4 (SIMULATED) write, either."]


def test_of_a_writer_whose_recall_is_not_known_nothing_is_said(store: Store) -> None:
    audit = store_pairs(store, [pair_of("t0", "A", GOLD)])
    store_drafts(store, audit, WRITER, [Draft("t0", rules("a"))], ())
    assert section(store).advice == ()


# Which of two writers


def written(store: Store, hits: Mapping[str, Sequence[Sequence[int] | None]], matchers: Sequence[Judge]) -> None:
    """Writers by name: the gold rules that each hits in each task, as all matchers see it; None: it wrote nothing."""
    number = max(map(len, hits.values()))
    audit = store_pairs(store, [pair_of(f"t{n:02}", "A", GOLD) for n in range(number)])
    for name, found in hits.items():
        drafts = [
            Draft(f"t{n:02}", ())
            if hit is None
            else Draft(
                f"t{n:02}",
                rules(*(f"{name} {n} {k}" for k in range(4))),
                {matcher.label: [*hit, *[None] * (4 - len(hit))] for matcher in matchers},
            )
            for n, hit in enumerate(found)
        ]
        store_drafts(store, audit, actor(name, "rubric_generate", simulated=name == "made up"), drafts, matchers)


def test_the_better_of_two_writers_is_named_with_interval_and_tasks(store: Store) -> None:
    written(store, {"poor": [[1], [2]] * 10, "made up": [[1, 2, 3], [2, 3, 4]] * 10}, [MATCHER])
    found = section(store)
    (row,) = found.writer_differences
    assert (row.writer, row.best, row.matcher, row.tasks) == ("poor", "made up", "matcher", 20)
    assert (row.recall_difference.value, row.recall_difference.n, row.only_writer, row.only_best) == (-0.5, 80, 0, 40)
    low, high = row.recall_difference.low or 0, row.recall_difference.high or 0
    assert -1 < low < -0.5 < high < 0
    assert (
        f"Of the writers, made up (SIMULATED) hits more gold rules than poor: +50.0 points, 95 % {-100 * high:+.1f} to "
        f"{-100 * low:+.1f}, 20 tasks."
    ) in found.advice


def test_writers_that_cannot_be_told_apart_are_told_so(store: Store) -> None:
    written(store, {"one": [[1], [2, 3], [4]] * 8, "other": [[2], [1], [4, 3]] * 8}, [MATCHER])
    (said,) = [sentence for sentence in section(store).advice if sentence.startswith("Of the writers")]
    assert said.startswith("Of the writers, one cannot be told apart from other: +0.0 points, 95 % ")
    assert said.endswith(", 24 tasks.")


def test_several_writers_stand_beside_the_best_one_by_each_matcher(store: Store) -> None:
    hits: dict[str, list[list[int]]] = {f"w{n}": [[1]] * 20 for n in range(4)}
    written(store, {"best": [[1, 2, 3]] * 20, "like it": [[1, 2, 4], [1, 3]] * 10, **hits}, [MATCHER, SECOND])
    found = section(store)
    assert len(found.writer_differences) == 10
    first, second = [sentence for sentence in found.advice if sentence.startswith("Of the writers")]
    assert first.startswith("Of the writers, as matcher matches, best hits more gold rules than ")
    assert second.startswith("Of the writers, as second matches, best hits more gold rules than ")
    assert "; than w1: +50.0 points" in first and "; than 1 more writer, see writer_differences" in first


def test_a_writer_that_writes_nothing_is_beside_the_others_with_every_matcher(store: Store) -> None:
    written(store, {"one": [[1, 2]] * 6, "silent": [None] * 6}, [MATCHER, SECOND])
    found = section(store)
    assert [(row.writer, row.best, row.matcher) for row in found.writer_differences] == [
        ("silent", "one", "matcher"),
        ("silent", "one", "second"),
    ]
    assert {row.recall_difference.value for row in found.writer_differences} == {-0.5}


def test_the_best_writer_of_all_tasks_may_be_the_worse_one_of_those_that_both_have(store: Store) -> None:
    shared: list[list[int]] = [[1]] * 10
    written(store, {"many": [*shared, *[[1, 2, 3, 4]] * 30], "few": [[1, 2]] * 10}, [MATCHER])
    (said,) = [sentence for sentence in section(store).advice if sentence.startswith("Of the writers")]
    assert said.startswith("Of the writers, many hits fewer gold rules of their common tasks than few: -25.0 points")


def test_writers_that_no_task_has_both_of_or_no_matcher_are_not_compared(store: Store) -> None:
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(2)])
    for n, name in enumerate(("one", "other")):
        draft = Draft(f"t{n}", rules(name), {"matcher": [1]})
        store_drafts(store, audit, actor(name, "rubric_generate"), [draft])
    store_drafts(store, audit, actor("unmatched", "rubric_generate"), [Draft("t0", rules("x"))], ())
    assert section(store).writer_differences == ()


def test_one_common_task_is_no_ground_to_tell_writers_apart(store: Store) -> None:
    written(store, {"one": [[1, 2]], "other": [[1]]}, [MATCHER])
    assert "Of the writers, one cannot be told apart from other: +25.0 points, 1 task." in section(store).advice


# Judges


def judged(store: Store, said: Mapping[str, tuple[Judge, Sequence[Said]]], number: int) -> RubricsSection:
    audit = store_pairs(store, [pair_of(f"t{n}", "A", GOLD) for n in range(number)])
    writer = WRITER.model_copy(update={"simulated": True})
    store_drafts(store, audit, writer, [Draft(f"t{n}", rules(f"own {n}"), {"matcher": [1]}) for n in range(number)])
    for judge, verdicts in said.values():
        store_verdicts(store, audit, judge, verdicts)
    return section(store)


def right(number: int, of: int) -> list[Said]:
    return [Said(f"t{n}", "A" if n < number else "B") for n in range(of)]


def own() -> Judge:
    return with_own(WRITER.model_copy(update={"simulated": True}))


def test_pairs_that_no_rule_could_be_applied_to_are_told_and_what_they_would_make_of_the_accuracy(store: Store) -> None:
    said = [*right(8, 10), *(Said(f"t{n}", None, why="no_rubric") for n in range(10, 14)), Said("t14", None)]
    found = judged(store, {"own": (own(), said), "none": (PLAIN, right(9, 15))}, 15)
    none, mine = found.accuracy
    assert (none.no_rubric, mine.pairs, mine.unscored, mine.no_rubric, mine.accuracy.n) == (0, 15, 5, 4, 10)
    (told,) = [sentence for sentence in found.advice if "no rule to judge by" in sentence]
    assert told == (
        "4 of 15 pairs of judge with self[writer] (SIMULATED) have no verdict, because there was no rule to judge by. "
        f"Its accuracy, 80.0 % (8 of 10, 95 % {100 * (mine.accuracy.low or 0):.0f}–"
        f"{100 * (mine.accuracy.high or 0):.0f} %), leaves them out, which is kind to a writer that writes nothing; "
        "were they all wrong, it would be 57.1 %."
    )


def test_human_rules_that_cannot_be_shown_are_told_without_a_word_on_writers(store: Store) -> None:
    found = judged(store, {"human": (HUMAN, [*right(4, 5), Said("t5", None, why="no_rubric")])}, 6)
    (told,) = [sentence for sentence in found.advice if "no rule to judge by" in sentence]
    assert told.startswith("1 of 6 pairs of judge with human rules have no verdict") and "writer" not in told


def test_a_tenth_of_such_pairs_is_not_worth_a_sentence(store: Store) -> None:
    found = judged(store, {"own": (own(), [*right(8, 9), Said("t9", None, why="no_rubric")])}, 10)
    assert found.accuracy[0].no_rubric == 1 and not any("no rule to judge by" in said for said in found.advice)


def test_made_up_judges_and_writers_are_marked_in_what_is_said_of_gaps(store: Store) -> None:
    made_up = HUMAN.model_copy(update={"simulated": True})
    mine = own().model_copy(update={"simulated": True})
    found = judged(store, {"human": (made_up, right(28, 30)), "own": (mine, right(8, 30))}, 30)
    assert any(
        said.startswith(
            "Rubric gap of judge (SIMULATED): with human rules it is right 66.7 points more often than with "
            "self[writer] (SIMULATED) (95 % "
        )
        for said in found.advice
    )


def test_rubrics_of_the_library_are_compared_with_human_rules_none_and_their_older_versions(store: Store) -> None:
    old, new = rules("Is it long?"), rules("Is it short?")
    with store.write() as connection:
        for version in (old, new):
            rubric_library.add(connection, "team", version)
    judges = [
        actor(f"judge+rules:team{mark}", rubrics={"kind": "library", "rubric_id": rubric_id(version)})
        for mark, version in (("", old), ("@123456", new))
    ]
    said = {
        "old": (judges[0], right(4, 30)),
        "new": (judges[1], right(18, 30)),
        "human": (HUMAN, right(30, 30)),
        "none": (PLAIN, right(18, 30)),
    }
    found = judged(store, said, 30)
    names = {judges[0].label: "team v1", judges[1].label: "team v2"}
    assert {names[row.label]: row.right for row in found.accuracy if row.kind == "library"} == {
        "team v1": 4,
        "team v2": 18,
    }
    assert [(row.first, row.second, round(30 * (row.difference or 0))) for row in found.gaps] == [
        ("human", "none", 12),
        ("team v1", "human", -26),
        ("team v2", "human", -12),
        ("team v1", "none", -14),
        ("team v2", "none", 0),
        ("team v2", "team v1", 14),
    ]
    starts = (
        "judge is right 86.7 points less often with team v1 than with human rules (95 % ",
        "judge is right 40.0 points less often with team v2 than with human rules (95 % ",
        "judge is right 46.7 points less often with team v1 than without rules (95 % ",
    )
    about = [sentence for sentence in found.advice if sentence.startswith("judge is right")]
    assert [sentence[: len(start)] for sentence, start in zip(about, starts, strict=True)] == [*starts]
    assert about[0].endswith(": give it the latter.") and about[2].endswith(": do not give it these.")
    assert "1 more of this kind: see gaps." in found.advice


def test_a_newer_version_that_is_better_is_told(store: Store) -> None:
    old, new = rules("Is it long?"), rules("Is it short?")
    with store.write() as connection:
        for version in (old, new):
            rubric_library.add(connection, "team", version)
    judges = [
        actor(f"judge+rules:team{mark}", rubrics={"kind": "library", "rubric_id": rubric_id(version)})
        for mark, version in (("", old), ("@123456", new))
    ]
    found = judged(store, {"old": (judges[0], right(4, 30)), "new": (judges[1], right(24, 30))}, 30)
    (said,) = [sentence for sentence in found.advice if sentence.startswith("judge is right")]
    assert said.startswith("judge is right 66.7 points more often with team v2 than with team v1 (95 % ")


def test_several_plain_judges_of_one_are_told_by_their_labels_in_what_is_said(store: Store) -> None:
    tagged = actor("judge", reply_form={"kind": "tag"}).model_copy(update={"label": "judge@tag"})
    said = {
        "human": (HUMAN, right(2, 30)),
        "none": (PLAIN, right(28, 30)),
        "tagged": (tagged, right(29, 30)),
    }
    told = [sentence for sentence in judged(store, said, 30).advice if sentence.startswith("judge is right")]
    assert [sentence.partition(" (95 %")[0] for sentence in told] == [
        "judge is right 86.7 points less often with human than with none[judge]",
        "judge is right 90.0 points less often with human than with none[judge@tag]",
    ]
