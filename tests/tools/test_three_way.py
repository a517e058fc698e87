"""The section `three_way`: counted by hand from made-up sessions, and read from a table of a production log."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scipy import stats

from builders import JUDGE, SATISFACTION, episode, lone, messages, pair, passed, satisfied, verdict
from misjudge_storage.engine import Store, open_store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Check, Judge, Record
from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import ImportRequest, SummarizeRequest
from misjudge_tools.stats.rates import Rate, Tally, cluster_sums, clustered_rate
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.three_way import MOST_PERIODS, places_of
from misjudge_tools.summary.deciding.three_way_values import Disagreements, ThreeWaySection
from operations import stored

START = datetime(2025, 1, 6, 12, tzinfo=UTC)
"""A Monday."""


class Session(NamedTuple):
    """A session by hand; None is not known."""

    task: str
    at: datetime | None
    satisfied: int | None
    success: int | None
    human: int | None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "s.db")
    yield opened
    opened.close()


def section(store: Store, **values: Any) -> ThreeWaySection:
    found = summarize(SummarizeRequest.model_validate({"audit": "a", **values}), store).three_way
    assert found is not None
    return found


def why(store: Store, **values: Any) -> str:
    found = summarize(SummarizeRequest.model_validate({"audit": "a", **values}), store)
    assert found.three_way is None
    return found.why["three_way"]


def sessions(seed: int, number: int, days: int = 60) -> list[Session]:
    draw = random.Random(seed)
    return [
        Session(
            f"t{draw.randrange(number // 3)}",
            START + timedelta(hours=draw.randrange(24 * days)),
            draw.choice((0, 1, 1, None)),
            draw.choice((0, 1, 1, None)),
            draw.choice((0, 1, None, None)),
        )
        for _ in range(number)
    ]


def recorded(found: Sequence[Session], by: Judge = SATISFACTION) -> list[Record]:
    def one(n: int, of: Session) -> Record:
        checks: list[Check] = []
        if of.success is not None:
            checks.append(passed(bool(of.success), "verifier"))
        if of.human is not None:
            checks.append(passed(bool(of.human), "human"))
        scores = [] if of.satisfied is None else [satisfied(0.9 if of.satisfied else 0.2, by)]
        made = episode("x", *checks, task=of.task, trial=n, satisfaction=scores, occurred_at=of.at)
        return lone(made, line=n + 1)

    return [one(n, of) for n, of in enumerate(found)]


def monday(at: datetime) -> str:
    return (at.date() - timedelta(days=at.weekday())).isoformat()


def compare(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else int(a != b)


def by_hand(of: Session) -> dict[str, int | None]:
    """Name of a disagreement → 1 or 0, None where too little is known."""
    pair_known = of.satisfied is not None and of.success is not None
    known = [value for value in of[2:] if value is not None]
    return {
        "satisfied_failed": int((of.satisfied, of.success) == (1, 0)) if pair_known else None,
        "unsatisfied_succeeded": int((of.satisfied, of.success) == (0, 1)) if pair_known else None,
        "satisfaction_against_success": compare(of.satisfied, of.success),
        "success_against_human": compare(of.success, of.human),
        "satisfaction_against_human": compare(of.satisfied, of.human),
        "any_disagreement": int(len(set(known)) > 1) if len(known) > 1 else None,
        "any_of_three": int(len(set(known)) > 1) if len(known) == 3 else None,
    }


def rates(found: Sequence[Session]) -> dict[str, Rate]:
    tallies: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for of in found:
        for name, said in by_hand(of).items():
            tallies[name][of.task] += [] if said is None else [said]
    return {
        name: clustered_rate(cluster_sums(Tally(sum(said), len(said)) for said in tasks.values()))
        for name, tasks in tallies.items()
    }


def assert_counted(told: Disagreements, found: Sequence[Session]) -> None:
    assert told.sessions == len(found)
    assert told.satisfaction_known == sum(of.satisfied is not None for of in found)
    assert told.success_known == sum(of.success is not None for of in found)
    assert told.human_known == sum(of.human is not None for of in found)
    assert told.all_three_known == sum(None not in of[2:] for of in found)
    for name, rate in rates(found).items():
        assert getattr(told, name) == rate, name


@pytest.mark.parametrize("seed", range(3))
def test_every_disagreement_is_counted_by_period_and_in_all(store: Store, seed: int) -> None:
    made = sessions(seed, 120)
    stored(store, recorded(made))
    found = section(store, by="week")
    assert_counted(found.total, made)
    weeks: dict[str, list[Session]] = defaultdict(list)
    for of in made:
        assert of.at is not None
        weeks[monday(of.at)].append(of)
    assert [one.starts for one in found.periods] == sorted(weeks)
    for period in found.periods:
        assert_counted(period, weeks[period.starts])
    assert (found.judge, found.form, found.threshold) == ("gate", "satisfaction", 0.8)
    assert (found.time_from, found.undated, found.periods_left_out, found.why) == ("occurred_at", 0, 0, {})


@pytest.mark.parametrize(
    ("by", "starts"),
    [
        ("day", ["2024-12-31", "2025-01-01", "2025-01-06"]),
        ("week", ["2024-12-30", "2025-01-06"]),
        ("month", ["2024-12-01", "2025-01-01"]),
    ],
)
def test_periods_are_those_of_utc_and_weeks_begin_on_monday(store: Store, by: str, starts: list[str]) -> None:
    at = ("2024-12-31T23:59:59+00:00", "2025-01-01T01:00:00+02:00", "2025-01-01T00:00:00+00:00", "2025-01-06T00:00Z")
    made = [Session(f"t{n}", datetime.fromisoformat(one), 1, 0, None) for n, one in enumerate(at)]
    stored(store, recorded(made))
    assert [one.starts for one in section(store, by=by).periods] == starts


def test_since_is_the_first_day_that_counts(store: Store) -> None:
    made = sessions(4, 90)
    stored(store, recorded(made))
    day = (START + timedelta(days=30)).date().isoformat()
    found = section(store, since=day)
    assert found.since == day
    assert_counted(found.total, [of for of in made if of.at is not None and of.at.date().isoformat() >= day])
    assert why(store, since="2030-01-01") == "No session took place from 2030-01-01 on. Name an earlier date."


@pytest.mark.parametrize("since", ["yesterday", "2025-02-30", "20250101", "2025-1-1", "2025-01-01T00:00"])
def test_a_date_that_is_none_is_refused(store: Store, since: str) -> None:
    stored(store, recorded(sessions(1, 9)))
    with pytest.raises(InvalidInput, match=r"since must be a day such as 2025-01-31"):
        section(store, since=since)


def test_sessions_without_a_time_are_placed_where_they_were_stored(store: Store) -> None:
    made = [of._replace(at=None) for of in sessions(2, 30)]
    stored(store, recorded(made))
    found = section(store, by="day")
    assert (found.time_from, found.undated) == ("created_at", 30)
    assert abs((date.fromisoformat(found.periods[-1].starts) - datetime.now(UTC).date()).days) <= 1
    stored(store, recorded([of._replace(task="dated") for of in sessions(3, 30)][:5]))
    mixed = section(store)
    assert (mixed.time_from, mixed.undated, mixed.total.sessions) == ("mixed", 30, 35)


def test_only_the_latest_periods_are_listed(store: Store) -> None:
    made = [Session(f"t{n}", START + timedelta(days=n), 1, n % 2, None) for n in range(MOST_PERIODS + 7)]
    stored(store, recorded(made))
    found = section(store, by="day")
    assert (len(found.periods), found.periods_left_out) == (MOST_PERIODS, 7)
    assert found.periods[-1].starts == made[-1].at.date().isoformat() if made[-1].at else False
    assert found.total.sessions == MOST_PERIODS + 7


def test_the_trend_is_that_of_the_least_squares_line_over_the_periods(store: Store) -> None:
    draw = random.Random(11)
    made = [
        Session(f"t{n}", START + timedelta(days=n // 4), 1, int(draw.random() > 0.1 + n / 500), None)
        for n in range(240)
    ]
    stored(store, recorded(made))
    found = section(store, by="week")
    assert found.trends.keys() == {"satisfaction_against_success", "any_disagreement"}
    effect = found.trends["satisfaction_against_success"]
    weeks = [(of.at - START).days // 7 for of in made if of.at]
    reference = stats.linregress(weeks, [1 - (of.success or 0) for of in made])
    assert effect.value == pytest.approx(reference.slope) and effect.n == 240
    assert effect.p == pytest.approx(reference.pvalue, abs=0.002) and effect.p is not None
    # Both trends are the same one here, so adjusting for two changes nothing.
    assert effect.p_adjusted == pytest.approx(effect.p)


def test_the_trend_counts_the_sessions_of_a_task_as_one(store: Store) -> None:
    once = [Session(f"t{n}", START + timedelta(days=7 * (n % 5)), 1, int(n % 5 > n % 3), None) for n in range(60)]
    stored(store, recorded(once))
    stored(store, recorded([of for of in once for _ in range(4)]), "b")
    alone, repeated = (section(store, audit=audit).trends["any_disagreement"] for audit in ("a", "b"))
    assert repeated.value == pytest.approx(alone.value)
    assert repeated.p is not None and alone.p is not None
    assert repeated.p == pytest.approx(alone.p, rel=0.15)


def test_a_low_score_may_be_the_satisfied_one(store: Store) -> None:
    scale = SATISFACTION.scale.model_copy(update={"better": "lower", "threshold": 0.5})
    angry = SATISFACTION.model_copy(update={"scale": scale})
    stored(store, recorded([Session("t1", START, 1, 1, None), Session("t2", START, 0, 1, None)], angry))
    found = section(store)
    assert found.total.satisfaction_against_success.k == 1
    assert found.total.unsatisfied_succeeded.k == 1


def test_the_success_that_counts_is_that_of_the_best_source_and_never_a_person(store: Store) -> None:
    checks = [passed(False, "verifier"), passed(True, "reward"), passed(True, "human"), passed(True, "model")]
    stored(store, [lone(episode("x", *checks, satisfaction=[satisfied(1)]))])
    total = section(store).total
    assert (total.satisfied_failed.k, total.success_against_human.k, total.satisfaction_against_human.k) == (1, 1, 0)
    assert (total.any_of_three.k, total.all_three_known) == (1, 1)


def test_what_is_not_known_is_said(store: Store) -> None:
    stored(store, recorded([of._replace(human=None) for of in sessions(1, 40)]))
    found = section(store)
    assert found.why.keys() == {"human"} and "role human" in found.why["human"]
    assert found.total.success_against_human == clustered_rate(cluster_sums([]))
    assert "success_against_human" not in found.trends


def test_success_and_people_are_compared_without_any_judge(store: Store) -> None:
    stored(store, recorded([of._replace(satisfied=None) for of in sessions(1, 40)]))
    found = section(store)
    assert (found.judge, found.form, found.threshold) == (None, None, None)
    assert found.total.success_against_human.n > 0 and found.why.keys() == {"satisfaction"}


def test_scores_without_a_threshold_are_no_satisfaction(store: Store) -> None:
    open_scale = Judge(label="s", form="satisfaction", origin="imported")
    made = [of._replace(human=None) for of in sessions(1, 12)]
    stored(store, recorded(made, open_scale))
    assert "no threshold of its scores is stated" in why(store)
    stored(store, recorded(sessions(1, 40), open_scale), "b")
    found = section(store, audit="b")
    assert found.total.satisfaction_known == 0 and "--scale" in found.why["satisfaction"]


def test_one_of_the_three_alone_is_nothing_to_compare(store: Store) -> None:
    stored(store, [pair("p", *_sides(), verdict("A", "AB"))])
    assert "Two of the three must be known" in why(store)
    stored(store, [lone(episode("x", satisfaction=[satisfied(1)]))], "b")
    assert "Two of the three must be known" in why(store, audit="b")


def _sides() -> Any:
    return [episode(agent, passed(done), said=messages("Go.", agent)) for agent, done in (("x", True), ("y", False))]


def test_of_several_judges_each_has_its_own_and_the_audit_that_of_the_first(store: Store) -> None:
    other = SATISFACTION.model_copy(update={"label": "zeal", "model": "z"})
    made = [of._replace(human=None, satisfied=1, success=n % 2) for n, of in enumerate(sessions(1, 10))]
    stored(store, recorded(made))
    stored(store, [pair("p", *_sides(), verdict("A", "AB", judge=JUDGE.model_copy(update={"label": "pairs"})))])
    stored(store, [lone(episode("w", passed(True), task="t9", satisfaction=[satisfied(0.1, other)]))])
    found = summarize(SummarizeRequest(audit="a"), store)
    assert found.three_way is not None and found.three_way.judge == "gate"
    assert found.judges is not None
    assert {label: one.three_way and one.three_way.total.satisfaction_known for label, one in found.judges.items()} == {
        "gate": 10,
        "zeal": 1,
        "pairs": None,
    }
    assert "scored no session" in found.judges["pairs"].why["three_way"]


def test_an_empty_period_keeps_its_place_on_the_time_axis() -> None:
    assert places_of(["2025-01-06", "2025-01-20"], "week") == {"2025-01-06": 0, "2025-01-20": 2}
    assert places_of(["2024-11-01", "2025-02-01"], "month") == {"2024-11-01": 0, "2025-02-01": 3}
    assert places_of(["2024-12-31", "2025-01-02"], "day") == {"2024-12-31": 0, "2025-01-02": 2}
    assert places_of([], "day") == {}


LOG = """\
session,model,rating,success,human_label,timestamp
s1,bot,5,0,否,2025-01-06T10:00:00+01:00
s2,bot,5,1,是,2025-01-07 09:00:00
s3,bot,2,1,,1736755200
s4,bot,4,0,是,1736841600000
"""


async def test_a_table_of_a_production_log_is_enough(deps: Deps, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(LOG, encoding="utf-8")
    asked = {"audit": "a", "format": "table", "paths": [str(path)], "per_response": True, "scale": "1-5:4"}
    await import_records(ImportRequest.model_validate({**asked, "map": ["task=session"]}), deps)
    found = section(deps.store, by="week")
    assert [(one.starts, one.sessions) for one in found.periods] == [("2025-01-06", 2), ("2025-01-13", 2)]
    total = found.total
    assert (found.judge, found.threshold, found.time_from) == ("rating", 4, "occurred_at")
    assert (total.satisfied_failed.k, total.unsatisfied_succeeded.k, total.satisfaction_against_success.n) == (2, 1, 4)
    assert (total.success_against_human.k, total.success_against_human.n) == (1, 3)
    assert (total.satisfaction_against_human.k, total.all_three_known) == (1, 3)
