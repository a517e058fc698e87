"""What a summary says of labellers that labelled the same pairs, against a count in plain Python."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from builders import JUDGE, SATISFACTION, episode, label, lone, pair, passed, satisfied, verdict
from generated import fresh
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import GoldLabel, Judge, Preference, Record, Scale
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.rates import Tally, cluster_sums, clustered_rate
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.deciding.agreement_values import AgreementSection, LabelledAlike
from misjudge_tools.summary.values import AuditSummary
from operations import stored

GRADED = Scale(low=0, high=5)
A, B, C = (Judge(label=name, form="pairwise", model=name, scale=GRADED, origin="imported") for name in "abc")
SIDES = ("A", "B", "tie")
CODES: dict[str | None, float] = {None: np.nan, "A": 0, "B": 1, "tie": 2}
WHO = {"ann": "human", "bob": "human", "data": "label", "a": "judge", "b": "judge"}
"""In the order of couples: people, data sets, judges."""


def summary(store: Store, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", "sections": ["agreement"], **values}), store)


def agreed(store: Store, **values: Any) -> AgreementSection:
    found = summary(store, **values)
    assert found.agreement is not None, found.why
    return found.agreement


Said = dict[str, Preference | None]
"""What each labeller says of one pair; None: nothing."""


def record(n: int, task: int, said: Said) -> Record:
    labels = [label(said[who], who) for who in ("ann", "bob") if said.get(who)]  # type: ignore[arg-type]
    if said.get("data"):
        labels.append(GoldLabel(labeller="data", pref=said["data"], source="label"))
    verdicts = [verdict(said[one.label], "AB", judge=one) for one in (A, B, C) if said.get(one.label)]
    sides = [episode(f"{side}{n}", task=f"t{task}") for side in "xy"]
    return pair(f"p{n}", sides[0], sides[1], *verdicts, gold=labels, line=n + 1)


def audit(units: list[Said]) -> list[Record]:
    return [record(n, n % 3, said) for n, said in enumerate(units)]


units = st.lists(
    st.fixed_dictionaries({who: st.sampled_from([None, "A", "B", "tie"]) for who in WHO}), min_size=1, max_size=9
)


def gold(said: Said) -> str | None:
    people = [said[who] for who in ("ann", "bob") if said[who]]
    if people:
        return people[0] if len(set(people)) == 1 else None
    return said["data"]


def common(found: list[Said], first: str, second: str) -> list[tuple[int, Said]]:
    return [(n, said) for n, said in enumerate(found) if said[first] and said[second]]


def is_as_counted(row: LabelledAlike, both: list[tuple[int, Said]]) -> None:
    tasks = [[said[row.first] == said[row.second] for n, said in both if n % 3 == task] for task in range(3)]
    assert row.observed == clustered_rate(cluster_sums(Tally(sum(one), len(one)) for one in tasks))
    firsts, seconds = [said[row.first] for _, said in both], [said[row.second] for _, said in both]
    assert row.labels_in_use == len({*firsts, *seconds})
    if len({*firsts, *seconds}) > 1:
        assert row.kappa.value == pytest.approx(sklearn.metrics.cohen_kappa_score(firsts, seconds), abs=1e-12)


@given(units)
@settings(max_examples=20)
def test_every_two_labellers_and_all_together_are_as_counted_by_hand(found: list[Said]) -> None:
    with fresh() as (store, _):
        stored(store, audit(found))
        labelled = [who for who in WHO if any(said[who] for said in found)]
        couples = [(a, b) for a, b in combinations(labelled, 2) if common(found, a, b)]
        section = summary(store).agreement
        if not couples:
            assert section is None
            return
        assert section is not None and section.rows is not None
        assert [(row.first, row.second) for row in section.rows] == couples
        for row in section.rows:
            assert (row.first_kind, row.second_kind) == (WHO[row.first], WHO[row.second])
            is_as_counted(row, common(found, row.first, row.second))
        alphas_are_krippendorffs(section, found)
        errors_are_as_counted(section, found)


def alphas_are_krippendorffs(section: AgreementSection, found: list[Said]) -> None:
    groups = {"people": ("ann", "bob"), "judges": ("a", "b"), "all": tuple(WHO)}
    alphas = {row.group: row for row in section.alpha or ()}
    for group, members in groups.items():
        several = [said for said in found if sum(said[who] is not None for who in members) > 1]
        assert (group in alphas) == bool(several)
        if not several:
            continue
        row = alphas[group]  # type: ignore[index]
        assert row.pairs == len(several)
        table = np.array([[CODES[said[who]] for said in several] for who in members])
        if len({said[who] for said in several for who in members} - {None}) > 1:
            expected = krippendorff.alpha(table, level_of_measurement="nominal")
            assert row.alpha.value == pytest.approx(expected, abs=1e-12)


def errors_are_as_counted(section: AgreementSection, found: list[Said]) -> None:
    wrong = [
        (said["a"] != gold(said), said["b"] != gold(said))
        for said in found
        if {gold(said), said["a"], said["b"]} <= {"A", "B"}
    ]
    assert (section.errors is not None) == bool(wrong)
    if not wrong:
        assert "errors" in section.why
        return
    (row,) = section.errors or ()
    assert (row.n, row.both_wrong) == (len(wrong), sum(a and b for a, b in wrong))
    assert (row.first_wrong, row.second_wrong) == (sum(a for a, _ in wrong), sum(b for _, b in wrong))
    if row.correlation.value is not None:
        expected = np.corrcoef(np.array(wrong).T)[0, 1]
        assert row.correlation.value == pytest.approx(expected)
        assert section.together is not None
        assert section.together.mean_correlation.value == pytest.approx(expected)
    else:
        assert section.together is None and "together" in section.why


def test_the_latest_label_of_a_person_counts_and_a_split_one_not(deps: Deps) -> None:
    stored(deps.store, audit([{"ann": "A", "a": "A"}, {"ann": "B", "a": "B"}, {"a": "B"}]))
    split = pair("p2", episode("x2", task="t2"), episode("y2", task="t2"), line=3)
    undecided = GoldLabel(labeller="ann", pref="split", source="human")
    stored(deps.store, [split.model_copy(update={"gold": (undecided,)})])
    with deps.store.write() as connection:
        connection.execute(
            text("""
            INSERT INTO gold_labels
                (label_id, audit_id, pair_id, labeller, pref, source, content_hash, created_at)
            SELECT 'later', audit_id, pair_id, labeller, 'B', source, content_hash, '2999-01-01 00:00:00.000000'
            FROM gold_labels WHERE pair_id = 'p0'
            """)
        )
    (row,) = agreed(deps.store).rows or ()
    assert (row.observed.k, row.n) == (1, 2)


def many(number: int, *judges: str) -> list[Record]:
    """Pairs of tasks of their own; ann says what is true, judges err on some, the first two on the same ones."""
    found = []
    for n in range(number):
        truth: Preference = "A" if n % 2 else "B"
        other: Preference = "B" if n % 2 else "A"
        hard = {"a": n % 5 == 0, "b": n % 5 == 0 or n % 7 == 0, "c": n % 4 == 0}
        said: Said = {"ann": truth, **{judge: other if hard[judge] else truth for judge in judges}}
        found.append(record(n, n, said))
    return found


def test_judges_that_err_together_are_worth_fewer_than_they_are(deps: Deps) -> None:
    stored(deps.store, many(70, "a", "b", "c"))
    found = agreed(deps.store)
    assert found.errors is not None and found.together is not None
    first = found.errors[0]
    assert (first.first, first.second, first.both_wrong, first.n) == ("a", "b", 14, 70)
    assert first.expected_both == pytest.approx(14 * 22 / 70)
    together = found.together
    assert (together.judges, together.couples, together.both_wrong) == (
        3,
        3,
        sum(one.both_wrong for one in found.errors),
    )
    values = [one.correlation.value for one in found.errors]
    mean = float(np.mean(np.array(values, dtype=float)))
    assert together.effective_judges == pytest.approx(3 / (1 + 2 * mean))
    assert (together.effective_judges or 3) < 3


def test_a_judge_among_several_sees_the_rows_with_it_alone(deps: Deps) -> None:
    stored(deps.store, many(20, "a", "b", "c"))
    whole = agreed(deps.store)
    mine = agreed(deps.store, judge="b")
    assert mine.rows == tuple(row for row in whole.rows or () if "b" in (row.first, row.second))
    assert mine.errors == tuple(row for row in whole.errors or () if "b" in (row.first, row.second))
    assert (mine.alpha, mine.score_alpha, mine.together) == (None, None, None)
    assert mine.why["alpha"] == mine.why["together"] == "Given once, at the top of a summary of all judges."
    beside = summary(deps.store).judges
    assert beside is not None and beside["b"].agreement == mine


def test_one_judge_beside_a_person_has_no_errors_in_common(deps: Deps) -> None:
    stored(deps.store, many(20, "a"))
    found = agreed(deps.store)
    assert found.rows is not None and [(row.first, row.second) for row in found.rows] == [("ann", "a")]
    assert (found.errors, found.together, found.score_alpha) == (None, None, None)
    assert (
        found.why["errors"]
        == found.why["together"]
        == "Only one judge of pairs: judge the pairs with another one, too."
    )
    assert "alpha.people" in found.why
    assert [row.group for row in found.alpha or ()] == ["all"]


def test_one_labeller_alone_is_told_what_to_do(deps: Deps) -> None:
    stored(deps.store, [record(0, 0, {"a": "A"})])
    found = summary(deps.store)
    assert found.agreement is None and found.why["agreement"].startswith("Only one labels the pairs: judge them with")


def test_people_alone_who_labelled_other_pairs_have_nothing_in_common(deps: Deps) -> None:
    stored(deps.store, [record(0, 0, {"ann": "A"}), record(1, 1, {"bob": "A"})])
    assert summary(deps.store).why["agreement"].startswith("No two labellers labelled the same pairs")
    stored(deps.store, [record(2, 2, {"ann": "A", "bob": "B"})])
    assert summary(deps.store).agreement is not None


def crowd(number: int) -> list[Record]:
    """Many people label two pairs that two judges judged, too."""
    found = []
    for n in range(2):
        labels = [label("A" if (n + who) % 3 else "B", f"w{who:02}") for who in range(number)]
        sides = [episode(side, task=f"t{n}") for side in "xy"]
        said = [verdict("A", "AB", judge=A), verdict("B", "AB", judge=B)]
        found.append(pair(f"p{n}", sides[0], sides[1], *said, gold=labels, line=n + 1))
    return found


def test_of_many_people_only_the_judges_stand_beside_each_other(deps: Deps) -> None:
    stored(deps.store, crowd(20))
    found = agreed(deps.store)
    assert [(row.first, row.second) for row in found.rows or ()] == [("a", "b")]
    assert [(row.group, row.labellers, row.pairs) for row in found.alpha or ()] == [
        ("people", 20, 2),
        ("judges", 2, 2),
        ("all", 22, 2),
    ]
    chosen = agreed(deps.store, judge="a")
    assert len(chosen.rows or ()) == 21
    beside = summary(deps.store).judges
    assert beside is not None and beside["a"].agreement is not None
    assert [(row.first, row.second) for row in beside["a"].agreement.rows or ()] == [("a", "b")]


def test_many_people_without_a_judge_are_told_why_there_are_no_couples(deps: Deps) -> None:
    records = [one.model_copy(update={"verdicts": ()}) for one in crowd(13)]
    stored(deps.store, records)
    found = agreed(deps.store)
    assert found.rows is None and found.why["rows"].startswith("There are 13 labellers")
    assert [row.group for row in found.alpha or ()] == ["people", "all"]


def test_judges_that_apply_rules_are_compared_but_not_counted_among_all(deps: Deps) -> None:
    ruled = C.model_copy(update={"params": '{"rubrics": "x"}'})
    records = many(20, "a", "b", "c")
    changed = [
        one.model_copy(
            update={
                "verdicts": tuple(
                    said.model_copy(update={"judge": ruled}) if said.judge == C else said for said in one.verdicts
                )
            }
        )
        for one in records
    ]
    stored(deps.store, changed)
    found = agreed(deps.store)
    assert len(found.rows or ()) == 6 and len(found.errors or ()) == 3
    assert found.together is not None and found.together.judges == 2
    assert {row.group: row.labellers for row in found.alpha or ()} == {"judges": 2, "all": 3}
    named = agreed(deps.store, panel=["a", "c"])
    assert named.together is not None and named.together.judges == 2
    assert named.together.mean_correlation.value != found.together.mean_correlation.value


def test_leads_of_judges_count_as_shares_of_their_scales(deps: Deps) -> None:
    turned = Judge(
        label="d", form="pairwise", model="d", scale=Scale(low=0, high=10, better="lower"), origin="imported"
    )
    leads = [(4, 1), (2, 3), (5, 0), (1, 2), (3, 3)]
    records = []
    for n, (a, b) in enumerate(leads):
        said = [
            verdict("A", "AB", judge=A, score_a=a, score_b=b),
            verdict("A", "AB", judge=turned, score_a=10 - 2 * a, score_b=10 - 2 * b),
        ]
        records.append(pair(f"p{n}", episode("x", task=f"t{n}"), episode("y", task=f"t{n}"), *said, line=n + 1))
    records.append(record(9, 9, {"a": "A", "b": "A"}))
    stored(deps.store, records)
    (row,) = agreed(deps.store).score_alpha or ()
    assert (row.form, row.judges, row.units) == ("pairwise", ("a", "b", "d"), 5)
    assert row.alpha.value == pytest.approx(1)


def scores(n: int, *given: tuple[Judge, float | None]) -> Record:
    said = [satisfied(score, judge) for judge, score in given]
    return lone(episode("x", passed(True), task=f"t{n}", satisfaction=said), line=n + 1)


@pytest.mark.parametrize("scale", [Scale(low=0, high=1), Scale(), Scale(better="lower")])
def test_scores_of_trajectories_by_several_judges_have_krippendorffs_alpha(deps: Deps, scale: Scale) -> None:
    first, second, third = (
        SATISFACTION.model_copy(update={"label": name, "model": name, "scale": scale}) for name in ("f", "g", "h")
    )
    table = [(0.9, 0.8, None), (0.2, 0.4, 0.1), (0.5, None, 0.7), (None, 0.3, None), (1.0, 1.0, 0.9)]
    stored(
        deps.store,
        [scores(n, (first, a), (second, b), (third, c)) for n, (a, b, c) in enumerate(table)],
    )
    (row,) = agreed(deps.store).score_alpha or ()
    expected = krippendorff.alpha(np.array(table, dtype=float).T, level_of_measurement="interval")
    assert (row.form, row.units, row.alpha.n) == ("satisfaction", 4, 10)
    assert row.alpha.value == pytest.approx(expected)
    assert row.alpha.low is not None


def test_judges_without_a_known_scale_are_not_mixed_with_those_that_have_one(deps: Deps) -> None:
    other = SATISFACTION.model_copy(update={"label": "g", "model": "g", "scale": Scale()})
    stored(deps.store, [scores(n, (SATISFACTION, n / 4), (other, n / 4)) for n in range(4)])
    found = summary(deps.store)
    assert found.agreement is None


def test_judges_of_one_form_that_scored_nothing_in_common_have_no_alpha(deps: Deps) -> None:
    other = SATISFACTION.model_copy(update={"label": "g", "model": "g"})
    stored(deps.store, [scores(0, (SATISFACTION, 0.5)), scores(1, (other, 0.5)), *many(4, "a", "b")])
    assert agreed(deps.store).score_alpha is None
    assert JUDGE.label not in agreed(deps.store).why


def test_couples_can_be_asked_for_from_one_on(deps: Deps) -> None:
    stored(deps.store, many(20, "a", "b", "c"))
    whole = agreed(deps.store)
    part = agreed(deps.store, sections=["agreement.rows.2"])
    assert whole.rows is not None and part.rows == whole.rows[2:] and part.parts == ("rows.2",)
    assert (part.errors, part.alpha, part.together, part.why) == ((), (), None, {})
    errors = agreed(deps.store, sections=["agreement.errors.1", "agreement.errors.2"])
    assert whole.errors is not None and errors.errors == whole.errors[1:] and errors.rows == ()
    assert agreed(deps.store, sections=["agreement", "agreement.rows.2"]) == whole
    mine = agreed(deps.store, sections=["agreement.rows.1"], judge="b")
    assert mine.rows == tuple(row for row in whole.rows if "b" in (row.first, row.second))[1:]
    with pytest.raises(InvalidInput, match=r"no part 'row' of agreement. Parts are: rows, errors"):
        agreed(deps.store, sections=["agreement.row"])


def test_couples_of_a_judge_that_are_too_many_stand_in_its_own_summary(
    deps: Deps, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(deps.store, many(20, "a", "b", "c"))
    monkeypatch.setattr("misjudge_tools.summary.deciding.agreement.MOST_ROWS", 1)
    whole = summary(deps.store)
    assert whole.agreement is not None and whole.judges is not None
    assert len(whole.agreement.rows or ()) == len(whole.agreement.errors or ()) == 1
    assert (whole.agreement.rows_left_out, whole.agreement.errors_left_out) == (5, 2)
    beside = whole.judges["a"].agreement
    assert beside is not None and (beside.rows, beside.errors, beside.rows_left_out, beside.errors_left_out) == (
        None,
        None,
        3,
        2,
    )
    assert beside.why["rows"] == (
        "The judge has 3 couples, too many beside those of other judges: choose it (judge=LABEL) to see them."
    )
    assert beside.why["errors"].startswith("The judge has 2 couples")
    alone = agreed(deps.store, judge="a")
    assert len(alone.rows or ()) == 1 and alone.rows_left_out == 2


def test_kappa_is_that_of_the_same_couples(deps: Deps) -> None:
    stored(deps.store, many(20, "a", "b", "c"))
    found = summary(deps.store, sections=["agreement", "kappa"])
    assert found.agreement is not None and found.judges is not None
    rows = {f"{row.first}|{row.second}": row.kappa.value for row in found.agreement.rows or ()}
    assert found.kappa == rows and len(rows) == 6
    assert found.judges["b"].kappa == {name: kappa for name, kappa in rows.items() if "b" in name.split("|")}


def test_of_many_labellers_kappa_is_told_of_one_judge(deps: Deps) -> None:
    stored(deps.store, crowd(20))
    assert (
        summary(deps.store, sections=["agreement", "kappa"])
        .why["kappa"]
        .startswith("There are 22 labellers; choose one judge")
    )
    mine = summary(deps.store, sections=["kappa"], judge="a").kappa
    assert mine is not None and len(mine) == 21 and {"a|b", "w00|a"} <= mine.keys()


def test_a_person_and_a_data_set_of_one_name_have_the_kappa_of_the_person(deps: Deps) -> None:
    records = [
        one.model_copy(update={"gold": (label("A" if n % 2 else "B", "x"), label("B", "x", source="label"))})
        for n, one in enumerate(many(8, "a"))
    ]
    stored(deps.store, records)
    found = agreed(deps.store)
    by_person = next(row for row in found.rows or () if (row.first_kind, row.second) == ("human", "a"))
    kappa = summary(deps.store, sections=["agreement", "kappa"]).kappa
    assert kappa is not None and kappa["x|a"] == by_person.kappa.value


def test_what_a_third_one_says_moves_no_coefficient_of_two_others(deps: Deps) -> None:
    records = many(20, "a", "b")
    stored(deps.store, records, audit="two")
    third = records[0].model_copy(update={"gold": (*records[0].gold, label("tie", "third"))})
    stored(deps.store, [third, *records[1:]], audit="three")
    two, three = (summary(deps.store, audit=audit, sections=["agreement"]).agreement for audit in ("two", "three"))
    assert two is not None and two.rows and three is not None and three.rows
    couples = [row for row in three.rows if "third" not in {row.first, row.second}]
    assert couples == list(two.rows) and len(three.rows) > len(couples)
