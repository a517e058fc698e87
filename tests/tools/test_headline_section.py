"""What an audit comes to: the verdict with its numbers, the checklist, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from builders import JUDGE, SATISFACTION, episode, label, lone, pair, passed, satisfied, verdict
from misjudge_storage.engine import Store
from misjudge_storage.types import Order, Record, Scale, Verdict
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.headline_values import HeadlineSection
from misjudge_tools.summary.deciding.phrases import Language
from misjudge_tools.summary.values import AuditSummary
from operations import stored


def summary(store: Store, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **values}), store)


ORDERS: tuple[Order, Order] = ("AB", "BA")


def judged(
    tasks: int, wrong: int, *, inconsistent: int = 0, unread: int = 0, bucket: str | None = None
) -> list[Record]:
    """Tasks of one pair each, of which A did its task and B did not; the judge is wrong on the first of them."""

    def said(n: int) -> Iterator[Verdict]:
        for order in ORDERS:
            if n < wrong:
                yield verdict("B", order)
            elif n < wrong + inconsistent:
                yield verdict("A" if order == "AB" else "B", order)
            elif n < wrong + inconsistent + unread:
                yield verdict(None if order == "BA" else "A", order)
            else:
                yield verdict("A", order)

    def record(n: int) -> Record:
        task = f"{bucket or 't'}{n}"
        sides = episode("x", passed(True), task=task), episode("y", passed(False), task=task)
        return pair(f"p-{task}", *sides, *said(n), line=n + 1, trial=0, ability_bucket=bucket)

    return [record(n) for n in range(tasks)]


def scored(failed: int, sessions: int) -> list[Record]:
    """Sessions that satisfied a judge, of which so many had failed, and five that failed beside them."""
    outcomes = [(0.9, n >= failed) for n in range(sessions)] + [(0.1, False)] * 5
    return [
        lone(episode("x", passed(success), task=f"t{n}", satisfaction=[satisfied(score)]), line=n + 1)
        for n, (score, success) in enumerate(outcomes)
    ]


def headline(store: Store, **asked: object) -> HeadlineSection:
    found = summary(store, sections=["headline"], **asked).headline
    assert found is not None
    return found


def test_undecided_pairs_bound_what_the_judge_may_be_guilty_of(deps: Deps) -> None:
    stored(deps.store, judged(40, 4, inconsistent=10))
    found = headline(deps.store)
    assert found.worst_case is not None
    worst = found.worst_case
    assert (worst.n, worst.undecided, worst.at_best, worst.at_worst) == (40, 10, 4 / 40, 14 / 40)
    assert found.ends == {"pairs": 40, "tie": 0, "inconsistent": 10, "weak": 0, "unscored": 0}
    assert found.missing == () and found.asymmetric == ()


def test_replies_that_are_missing_in_one_order_only_are_told(deps: Deps) -> None:
    stored(deps.store, judged(40, 4, unread=12))
    found = headline(deps.store)
    assert found.unscored == {"parse_error": 12}
    ab, ba = found.missing[:2]
    assert (ab.arm, ab.unscored, ab.calls, ba.arm, ba.unscored, ba.calls) == ("order AB", 0, 40, "order BA", 12, 40)
    assert ba.p_adjusted == pytest.approx(2 / 2**12 * 2, rel=0.6)
    assert found.asymmetric == ("order AB", "order BA")
    assert {arm.arm: (arm.unscored, arm.calls) for arm in found.missing[2:]} == {
        "agent x": (12, 80),
        "agent y": (12, 80),
    }


def test_replies_that_are_missing_by_chance_are_not_called_uneven(deps: Deps) -> None:
    records = judged(40, 4, unread=1)
    stored(deps.store, records)
    assert headline(deps.store).asymmetric == ()


def test_a_judge_that_is_bad_on_near_pairs_only_is_named_so_in_both_languages(deps: Deps) -> None:
    stored(deps.store, [*judged(60, 20, bucket="near"), *judged(200, 0, bucket="wide")])
    found = headline(deps.store)
    assert (found.grade, found.gap) == ("not_near", "ability")
    assert found.near is not None and found.wide is not None
    assert (found.near.k, found.near.n, found.wide.k, found.wide.n) == (40, 120, 0, 400)
    assert "40 of 120 answers on decidable pairs" in found.verdict[0]
    chinese = headline(deps.store, language="zh")
    assert "120 次对可判定配对的判定中的 40 次" in chinese.verdict[0]
    assert chinese.model_copy(update={"verdict": found.verdict, "would_change": found.would_change}) == found


def rows_of(found: AuditSummary) -> dict[str, str]:
    assert found.recommendations is not None
    return {row.action: row.because for row in found.recommendations.rows}


def test_recommendations_carry_the_numbers_that_triggered_them(deps: Deps) -> None:
    stored(deps.store, [*judged(60, 20, bucket="near"), *judged(60, 12, inconsistent=30, unread=14, bucket="wide")])
    found = rows_of(summary(deps.store, sections=["recommendations"]))
    assert list(found) == ["change_judge", "lower_weight", "add_rounds", "fix_replies"]
    assert "of 226 answers" in found["change_judge"]
    assert "40 of 120" in found["lower_weight"]
    assert "30 of 106 pairs" in found["add_rounds"]
    assert "14 of 240" in found["fix_replies"]


def test_a_judge_that_was_shown_one_better_side_only_is_neither_kept_nor_changed(deps: Deps) -> None:
    def record(n: int) -> Record:
        sides = episode("x", passed(True), task=f"t{n}"), episode("y", passed(False), task=f"t{n}")
        return pair(f"p{n}", *sides, verdict("A"), line=n + 1, trial=0)

    stored(deps.store, [record(n) for n in range(90)])
    found = summary(deps.store, sections=["headline", "recommendations"])
    assert found.headline is not None and found.headline.grade == "one_sided"
    assert rows_of(found) == {
        "more_pairs": "Side A is better in nearly all pairs, and no pair was asked in both orders."
    }


def test_satisfied_sessions_that_failed_call_for_tighter_rewards(deps: Deps) -> None:
    def session(n: int) -> Record:
        task = f"t{n}"
        sides = (
            episode("x", passed(n % 2 == 0), task=task, satisfaction=[satisfied(0.9)]),
            episode("y", passed(False), task=task, satisfaction=[satisfied(0.9)]),
        )
        return pair(f"p{n}", *sides, line=n + 1, trial=0)

    stored(deps.store, [session(n) for n in range(30)])
    found = rows_of(summary(deps.store, judge=SATISFACTION.label, sections=["recommendations"]))
    assert "45 of 60 satisfied sessions" in found["tighten_rewards"]


def states(found: AuditSummary) -> dict[str, str]:
    assert found.checklist is not None
    return {item.point: item.state for item in found.checklist.items}


def test_the_checklist_answers_its_eight_points_from_what_is_stored(deps: Deps) -> None:
    stored(deps.store, [*judged(30, 2, bucket="near"), *judged(30, 1, bucket="wide")])
    found = summary(deps.store, sections=["checklist"])
    assert states(found) == {
        "fixed_tasks": "no",
        "roles_apart": "not_needed",
        "full_logs": "no",
        "both_orders": "yes",
        "by_bucket": "yes",
        "spot_checks": "no",
        "versions": "no",
        "monitoring": "no",
    }
    assert found.checklist is not None and found.checklist.done == 3
    assert all((item.to_do is None) == (item.state in {"yes", "not_needed"}) for item in found.checklist.items)


@pytest.mark.parametrize(("people", "state"), [(1, "partly"), (2, "yes")])
def test_spot_checks_hold_once_two_people_labelled_enough_of_the_same_pairs(
    deps: Deps, people: int, state: str
) -> None:
    gold = [label("A", labeller=f"person {n}") for n in range(people)]
    stored(deps.store, [pair(f"p{n}", None, None, verdict("A", "AB"), line=n + 1, gold=gold) for n in range(20)])
    found = summary(deps.store, sections=["checklist"])
    assert states(found)["spot_checks"] == state and found.checklist is not None
    said = next(item.said for item in found.checklist.items if item.point == "spot_checks")
    assert said == (
        f"Spot checks by people: 20 pairs are labelled, {20 * (people - 1)} of them by two people or more; of 0 "
        "sessions a person said whether the task was done."
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_several_judges_share_one_checklist(deps: Deps, language: Language) -> None:
    other = JUDGE.model_copy(update={"label": "other", "model": "other-m"})
    records = [
        pair(f"p{n}", None, None, verdict("A", "AB"), verdict("B", "AB", judge=other), line=n + 1) for n in range(4)
    ]
    stored(deps.store, records)
    found = summary(deps.store, sections=["checklist", "headline"], language=language)
    assert len(states(found)) == 8 and found.judges is not None
    assert all(one.checklist is None and one.headline is not None for one in found.judges.values())
    assert {one.headline.grade for one in found.judges.values() if one.headline} == {"no_gold"}


def test_an_audit_without_a_verdict_has_nothing_to_release(deps: Deps) -> None:
    stored(deps.store, [pair("p", None, None)])
    found = summary(deps.store, sections=["checklist", "headline", "recommendations"])
    assert found.checklist is None and found.headline is None and found.recommendations is None
    assert "nothing to release" in found.why["checklist"]


@pytest.mark.parametrize(
    ("failed", "sessions", "grade", "said"),
    [
        (30, 60, "do_not_use", "Do not take this judge's satisfaction for success: 30 of 60 satisfied sessions"),
        (2, 90, "usable", "may be taken for success in sessions like these: 2 of 90 satisfied sessions"),
        (2, 9, "undecided", "is not decided: 2 of 9 satisfied sessions"),
    ],
)
def test_a_judge_of_satisfaction_alone_opens_with_how_many_that_satisfied_it_had_failed(
    deps: Deps, failed: int, sessions: int, grade: str, said: str
) -> None:
    stored(deps.store, scored(failed, sessions))
    found = headline(deps.store)
    assert (found.grade, found.limit, found.misselection) == (grade, 0.2, None)
    assert found.satisfied_failed is not None and (found.satisfied_failed.k, found.satisfied_failed.n) == (
        failed,
        sessions,
    )
    assert said in found.verdict[0] and "95 %" in found.verdict[0]
    assert f"{failed + 5} of {sessions + 5} sessions" in found.verdict[1] and "relative risk" in found.verdict[1]
    assert bool(found.would_change) == (grade != "usable")
    assert f"{sessions} 个满意会话中的 {failed} 个" in headline(deps.store, language="zh").verdict[0]


def test_satisfaction_of_which_nothing_can_be_said_has_a_reason_in_place_of_a_verdict(deps: Deps) -> None:
    unscaled = SATISFACTION.model_copy(update={"scale": Scale()})
    stored(deps.store, [lone(episode("x", passed(True), satisfaction=[satisfied(0.9, unscaled)]))])
    assert "--scale LOW-HIGH:THRESHOLD" in summary(deps.store, sections=["headline"]).why["headline"]


def test_a_judge_that_nothing_satisfied_has_a_reason_in_place_of_a_verdict(deps: Deps) -> None:
    stored(deps.store, scored(0, 0))
    assert "satisfied with no session" in summary(deps.store, sections=["headline"]).why["headline"]


@pytest.mark.parametrize("first", ["judge", "other"])
def test_the_checklist_goes_by_the_same_judge_whichever_comes_first(deps: Deps, first: str) -> None:
    """Two judges have as many decidable pairs, of other buckets."""
    judges = [JUDGE, JUDGE.model_copy(update={"label": "other", "model": "other-m"})]
    of = {judge.label: judge for judge in (judges if first == "judge" else reversed(judges))}
    near_of = {"judge": 25, "other": 22}
    records = [
        pair(
            f"{label} {n}",
            episode("x", passed(True), task=f"{label} {n}"),
            episode("y", passed(False), task=f"{label} {n}"),
            verdict("A", "AB", judge=judge),
            line=n + 1,
            ability_bucket="near" if n < near_of[label] else "wide",
        )
        for label, judge in of.items()
        for n in range(43)
    ]
    stored(deps.store, records)
    found = summary(deps.store, sections=["checklist"])
    assert found.checklist is not None
    (by_bucket,) = (item for item in found.checklist.items if item.point == "by_bucket")
    assert by_bucket.state == "yes" and "22" in by_bucket.said and "21" in by_bucket.said, by_bucket


def judged_by_preference() -> list[Record]:
    """Pairs of tasks of their own of which a label says that A is better, and the judge B."""

    def record(n: int) -> Record:
        sides = episode("x", task=f"l{n}"), episode("y", task=f"l{n}")
        return pair(f"p{n}", *sides, verdict("B", "AB"), verdict("B", "BA"), line=99 + n, gold=[label("A")])

    return [record(n) for n in range(20)]


def test_failure_is_told_from_preference_by_what_is_known_of_success(deps: Deps) -> None:
    stored(deps.store, judged(20, 20))
    found = summary(deps.store, sections=["headline", "recommendations"])
    assert found.headline is not None and "picked the side that failed in 40 of 40" in found.headline.verdict[0]
    assert "picked the side that failed" in rows_of(found)["change_judge"]
    preferred = judged_by_preference()
    stored(deps.store, preferred, audit="preferred")
    stored(deps.store, [*judged(20, 20), *preferred[:1]], audit="some")
    for audit in ("preferred", "some"):
        found = summary(deps.store, audit=audit, sections=["headline", "recommendations"])
        assert found.headline is not None and "picked the side that gold calls worse" in found.headline.verdict[0]
        assert "picked the side that gold calls worse" in rows_of(found)["change_judge"]


def turning(towards_first: int, towards_second: int, repeats: int = 1) -> list[Record]:
    """60 pairs whose verdict turns with the order in so many, always for the side shown first, or second."""

    def said(n: int) -> Iterator[Verdict]:
        for order in ORDERS * repeats:
            first, second = ("A", "B") if order == "AB" else ("B", "A")
            right = first if n < towards_first else second if n < towards_first + towards_second else "A"
            yield verdict(right, order)  # type: ignore[arg-type]

    return [
        pair(
            f"p{n}",
            episode("x", passed(True), task=f"t{n}"),
            episode("y", passed(False), task=f"t{n}"),
            *(one.model_copy(update={"repeat": at // 2}) for at, one in enumerate(said(n))),
            line=n + 1,
        )
        for n in range(60)
    ]


@pytest.mark.parametrize(
    ("records", "blamed"),
    [
        pytest.param(turning(20, 0), "position, not content", id="towards the side shown first"),
        pytest.param(turning(0, 20), "position, not content", id="towards the side shown second"),
        pytest.param(turning(10, 10), "noise as well as position", id="towards neither"),
        pytest.param(turning(10, 10, repeats=2), "position, not content", id="towards neither, but the same each time"),
    ],
)
def test_position_is_blamed_for_turning_verdicts_where_the_data_show_it(
    deps: Deps, records: list[Record], blamed: str
) -> None:
    stored(deps.store, records)
    (said,) = [one for one in headline(deps.store).would_change if one.startswith("Ask both orders and leave out")]
    assert blamed in said
