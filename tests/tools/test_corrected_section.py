"""What a summary corrects by labels, and what it says where it must not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from builders import JUDGE, episode, label, lone, pair, passed, verdict
from label_parts import at_work, review_pairs
from misjudge_storage.engine import Store
from misjudge_storage.types import Check, Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.labelling.giving import give_pairs
from misjudge_tools.labelling.recording import record_answers
from misjudge_tools.labelling.values import GivenAnswer
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.counts import AuditCounts
from misjudge_tools.summary.deciding.corrected import corrected_section
from misjudge_tools.summary.deciding.corrected_values import CorrectedSection
from misjudge_tools.summary.judged import Judged
from operations import stored

REQUEST = SummarizeRequest(audit="a", sections=["corrected"])


def summary(store: Store, **values: Any) -> CorrectedSection | str:
    """The section, or why there is none."""
    found = summarize(REQUEST.model_copy(update=values), store)
    return found.corrected or found.why["corrected"]


def of_all(store: Store) -> CorrectedSection | NoData:
    """The section of a summary of no judge in particular."""
    with store.read() as connection:
        return corrected_section(Judged(AuditCounts(connection, REQUEST)))


def made(store: Store, **values: Any) -> CorrectedSection:
    found = summary(store, **values)
    assert isinstance(found, CorrectedSection), found
    return found


def judged_pairs(
    number: int, labelled: Callable[[int], bool], agents: str = "xy", checked: bool = False
) -> list[Record]:
    """Pairs of tasks of their own; x is better in six of ten, and the judge is right of four in five."""
    draw = Random(3)
    found = []
    for n in range(number):
        one, other = draw.sample(agents, 2)
        truth: Preference = "A" if (draw.random() < 0.6) == (one == "x") else "B"
        wrong: Preference = "B" if truth == "A" else "A"
        said = truth if draw.random() < 0.8 else wrong
        done = (passed(truth == "A"), passed(truth == "B")) if checked else ()
        sides = [episode(agent, *done[k : k + 1], task=f"t{n}") for k, agent in enumerate((one, other))]
        gold = [label(truth)] if labelled(n) else []
        found.append(pair(f"p{n}", sides[0], sides[1], verdict(said, "AB"), gold=gold, line=n + 1))
    return found


def test_labels_that_reviews_drew_at_random_are_said_to_be_such(deps: Deps) -> None:
    stored(deps.store, review_pairs(200))
    reviewer = at_work(deps.store, "mk")
    given = give_pairs(deps.store, reviewer, 120)
    record_answers(
        deps.store, reviewer, [GivenAnswer(one.token, "A" if n % 2 else "B") for n, one in enumerate(given)], "sheet"
    )
    found = made(deps.store)
    assert not found.assumes_random and "drew at random" in found.assumption
    assert found.win_rate is not None
    assert found.win_rate.labelled == sum(one.stream == "random" for one in given) > 40


def test_win_rates_are_corrected_by_the_pairs_that_people_labelled(deps: Deps) -> None:
    stored(deps.store, judged_pairs(600, lambda n: n % 4 == 0))
    found = made(deps.store)
    assert found.win_rate is not None and found.success is None
    assert (found.win_rate.labelled, found.win_rate.unlabelled, found.win_rate.known_otherwise) == (150, 450, 0)
    assert (found.assumes_random, found.why["success"]) == (
        True,
        "No model checked the success of an episode, so no success rate rests on one.",
    )
    assert "random sample" in found.assumption
    assert [(row.estimand, row.agent, row.other) for row in found.rows] == [
        ("win_rate", "x", None),
        ("win_rate", "y", None),
    ]
    x = found.rows[0]
    assert x.raw.n == 600 and x.m0 + x.m1 == 150 and x.unlabelled == 450
    assert x.rogan_gladen is not None and x.ppi is not None and x.why == {}
    assert x.rogan_gladen.value == pytest.approx(0.6, abs=0.1)
    assert x.ppi.value == pytest.approx(0.6, abs=0.08)
    assert x.ppi.low is not None and x.ppi.high is not None and x.ppi.low < 0.6 < x.ppi.high


def test_of_several_agents_couples_have_rows_too_and_few_labels_are_refused(deps: Deps) -> None:
    stored(deps.store, judged_pairs(120, lambda n: n % 3 == 0, agents="xyz"))
    rows = made(deps.store).rows
    assert {(row.agent, row.other) for row in rows} == {
        *(("x", None), ("y", None), ("z", None)),
        *(("x", "y"), ("x", "z"), ("y", "z")),
    }
    assert all({*row.why} == {"rogan_gladen", "ppi"} for row in rows)


def test_ties_and_inconsistent_verdicts_are_no_win_of_either_and_unscored_ones_are_left_out(deps: Deps) -> None:
    def one(n: int, *said: Any, gold: Preference | None = None) -> Record:
        sides = [episode(agent, task=f"t{n}") for agent in "xy"]
        return pair(f"p{n}", sides[0], sides[1], *said, gold=[label(gold)] if gold else [], line=n + 1)

    stored(
        deps.store,
        [
            one(0, verdict("tie", "AB")),
            one(1, verdict("A", "AB"), verdict("B", "BA")),
            one(2, verdict(None, "AB")),
            one(3, verdict("A", "AB"), gold="tie"),
            one(4, verdict("B", "AB"), gold="A"),
        ],
    )
    x, y = made(deps.store).rows
    assert (x.raw.k, x.raw.n, x.m0, x.m1, x.specificity.k, x.sensitivity.k) == (1, 4, 1, 1, 0, 0)
    assert (y.raw.k, y.raw.n, y.m0, y.m1, y.specificity.k) == (1, 4, 2, 0, 1)


def test_without_labels_it_is_said_what_to_collect(deps: Deps) -> None:
    stored(deps.store, judged_pairs(5, lambda n: False))
    found = summary(deps.store)
    assert isinstance(found, str) and "have a random sample labelled, 20 or more of each kind" in found


@pytest.mark.parametrize("people", [False, True])
def test_where_gold_is_known_of_every_pair_no_win_rate_rests_on_the_judge(deps: Deps, people: bool) -> None:
    stored(deps.store, judged_pairs(30, lambda n: people, checked=not people))
    found = summary(deps.store)
    assert isinstance(found, str) and "Gold is known of every pair that the judge scored" in found


def test_people_who_labelled_only_what_a_verifier_knows_leave_nothing_to_correct(deps: Deps) -> None:
    known = judged_pairs(10, lambda n: n < 3, checked=True)
    others = [one for one in judged_pairs(20, lambda n: False) if one.line > 10]
    unjudged = pair("q", episode("x", task="q"), episode("y", task="q"), gold=[label("A")], line=99)
    stored(deps.store, [*known[3:], *others, unjudged])
    found = summary(deps.store)
    assert isinstance(found, str) and "No pair that the judge scored has a label by people" in found


def test_a_judge_that_scored_no_pair_of_two_agents_has_no_win_rate(deps: Deps) -> None:
    trials = [episode("x", task="t", trial=n) for n in range(2)]
    elsewhere = [episode(agent, task="u") for agent in "xy"]
    stored(
        deps.store,
        [
            pair("p", trials[0], trials[1], verdict("A", "AB")),
            pair("q", elsewhere[0], elsewhere[1], gold=[label("A")], line=2),
        ],
    )
    found = summary(deps.store)
    assert isinstance(found, str) and "The judge scored no pair of two agents, or only such" in found


def test_pairs_that_only_disagreeing_people_labelled_are_neither_labelled_nor_not(deps: Deps) -> None:
    split = pair("p", None, None, verdict("A", "AB"), gold=[label("A"), label("B", "bob")])
    stored(deps.store, [split])
    found = summary(deps.store)
    assert isinstance(found, str) and "The judge scored no pair of two agents, or only such" in found


def checked(n: int, agent: str, said: bool, *more: Check) -> Record:
    return lone(episode(agent, passed(said, "model"), *more, task=f"t{n}"), line=n + 1)


def checked_episodes(number: int, labelled: Callable[[int], bool]) -> list[Record]:
    """Seven of ten did the task; the model is right of nine in ten."""
    draw = Random(5)
    found = []
    for n in range(number):
        truth = draw.random() < 0.7
        said = truth if draw.random() < 0.9 else not truth
        found.append(checked(n, "xy"[n % 2], said, *([passed(truth, "human")] if labelled(n) else [])))
    return found


def test_imported_labels_of_episodes_are_no_sample_once_reviews_drew_any(deps: Deps) -> None:
    imported = [one.model_copy(update={"line": one.line + 60}) for one in checked_episodes(300, lambda n: n % 3 == 0)]
    stored(deps.store, [*review_pairs(60), *[rename(one) for one in imported]])
    assert made(deps.store).success is not None
    reviewer = at_work(deps.store, "mk")
    given = give_pairs(deps.store, reviewer, 50)
    record_answers(deps.store, reviewer, [GivenAnswer(one.token, "A") for one in given], "sheet")
    with deps.store.read() as connection:
        assert AuditCounts(connection, REQUEST).random_labels
    found = of_all(deps.store)
    assert isinstance(found, NoData) or found.success is None


def test_success_by_models_checks_is_corrected_once_for_all_judges(deps: Deps) -> None:
    stored(deps.store, checked_episodes(900, lambda n: n % 3 == 0))
    found = of_all(deps.store)
    assert isinstance(found, CorrectedSection)
    assert found.rows[0].agent is None and {row.agent for row in found.rows[1:]} == {"x", "y"}
    assert {row.estimand for row in found.rows} == {"success"}
    everybody = found.rows[0]
    assert found.success is not None and everybody.raw.n == 900 == found.success.labelled + found.success.unlabelled
    assert everybody.rogan_gladen is not None and everybody.ppi is not None
    assert everybody.rogan_gladen.value == pytest.approx(0.7, abs=0.06)
    assert everybody.ppi.value == pytest.approx(0.7, abs=0.05)
    assert found.win_rate is None and found.why["win_rate"].startswith("Win rates are those of one judge")


def test_one_judge_alone_has_both_and_one_of_several_its_own_only(deps: Deps) -> None:
    episodes = [one.model_copy(update={"line": one.line + 900}) for one in checked_episodes(200, lambda n: n % 2 == 0)]
    pairs = judged_pairs(200, lambda n: n % 2 == 0, agents="uv")
    stored(deps.store, [*pairs, *[rename(one) for one in episodes]])
    assert {row.estimand for row in made(deps.store).rows} == {"success", "win_rate"}
    other = JUDGE.model_copy(update={"label": "other", "model": "other"})
    stored(deps.store, [pair("q", episode("u", task="q"), episode("v", task="q"), verdict("A", "AB", judge=other))])
    mine = made(deps.store, judge="judge")
    assert {row.estimand for row in mine.rows} == {"win_rate"}
    assert mine.why["success"].startswith("Success rates that rest on models' checks belong to the audit")


def rename(record: Record) -> Record:
    """The same episode on a task of another name."""
    assert record.task is not None
    task_id = f"checked {record.task.task_id}"
    one = record.episodes[0]
    moved = one.model_copy(update={"trajectory": one.trajectory.model_copy(update={"task_id": task_id})})
    return record.model_copy(update={"task": record.task.model_copy(update={"task_id": task_id}), "episodes": (moved,)})


@pytest.mark.parametrize(
    ("records", "named"),
    [
        ([checked(0, "x", True, passed(True))], "Whether the task was done is known of every episode"),
        ([checked(0, "x", True, passed(True, "label"))], "Whether the task was done is known of every episode"),
        ([checked(0, "x", True), checked(1, "x", True, passed(True, "label"))], "No episode that a model checked has"),
        ([lone(episode("x", passed(True), task="t"))], "No model checked the success of an episode"),
    ],
)
def test_success_that_cannot_be_corrected_says_why(deps: Deps, records: list[Record], named: str) -> None:
    stored(deps.store, records)
    found = of_all(deps.store)
    assert isinstance(found, NoData) and named in found.why


def test_an_episode_of_which_a_check_gave_no_answer_does_not_count(deps: Deps) -> None:
    silent = Check(verifier="other", source="model")
    stored(deps.store, [lone(episode("x", passed(True, "model"), silent, task="t"))])
    found = of_all(deps.store)
    assert isinstance(found, NoData) and found.why.startswith("No model checked the success of an episode")
