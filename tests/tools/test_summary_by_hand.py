"""What a summary says of pairs and labellers, against a count in plain Python over made-up audits."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from sklearn.metrics import cohen_kappa_score

import brute_force as by_hand
from brute_force import Judged
from generated import JUDGES, audits, fresh
from misjudge_storage.engine import Store
from misjudge_storage.types import Record
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.stats.rates import Rate, cluster_sums, clustered_rate
from misjudge_tools.summarize_audit import SECTIONS, summarize
from misjudge_tools.summary.values import AuditSummary, Bucket, PairCounts, Sections
from operations import stored


def summary(store: Store, judge: str | None = None) -> AuditSummary:
    return summarize(SummarizeRequest(audit="a", judge=judge), store)


def numbers(rate: Any) -> dict[str, Any]:
    """A rate as stored in a section, for comparison with `clustered_rate`."""
    return {name: pytest.approx(value) for name, value in rate.model_dump(include=set(Rate.model_fields)).items()}


def assert_counted(found: Sections, pairs: list[Judged], records: list[Record]) -> None:
    """Everything on pairs is as counted by hand."""
    assert found.pairs is not None and found.consistency is not None
    assert found.pairs.model_dump() == by_hand.pair_counts(pairs)
    assert_whole(found.pairs)
    counted = by_hand.misselection_sums(pairs)
    if found.misselection is None:
        assert not any(one.decidable for one in pairs)
        assert "misselection" in found.why
    else:
        assert clustered_rate(counted["calls"]).model_dump() == numbers(found.misselection)
        assert clustered_rate(counted["decided"]).model_dump() == numbers(found.misselection.decided)
        decidable = sum(one.decidable for one in pairs)
        assert found.misselection.decided.coverage == pytest.approx(counted["decided"].n / decidable)
        known = sum(one.gold is not None for one in pairs)
        expected = counted["decided"].k / known if by_hand.scored_any(pairs) else None
        assert found.misselection.all_pairs_rate == (expected if expected is None else pytest.approx(expected))
    rates = by_hand.consistency_rates(pairs)
    assert {name: getattr(found.consistency, name) for name in rates} == {
        name: pytest.approx(rate) if rate is not None else None for name, rate in rates.items()
    }
    assert_buckets(found, by_hand.buckets(pairs, records))


def assert_whole(pairs: PairCounts) -> None:
    """Every pair is decidable, alike or not known."""
    assert pairs.n == pairs.decidable + pairs.gold_tie + pairs.gold_unknown


def assert_buckets(found: Sections, expected: dict[tuple[str, str], list[Judged]]) -> None:
    shown: dict[tuple[str, str], Bucket] = {(one.gap, one.bucket): one for one in found.buckets or ()}
    assert shown.keys() == expected.keys()
    assert (found.buckets is None) is ("buckets" in found.why)
    for key, pairs in expected.items():
        bucket = shown[key]
        assert (bucket.n, bucket.decidable) == (len(pairs), sum(one.decidable for one in pairs))
        assert clustered_rate(by_hand.misselection_sums(pairs)["calls"]).model_dump() == numbers(bucket.misselection)


@settings(max_examples=20)
@given(audits())
def test_what_is_said_of_pairs_is_as_counted_by_hand(records: list[Record]) -> None:
    with fresh() as (store, _):
        stored(store, records)
        for judge in JUDGES:
            pairs = by_hand.judged(records, judge.label)
            if not pairs:
                continue
            found = summary(store, judge=judge.label)
            assert_counted(found, pairs, records)
            assert found.unscored == by_hand.unscored(pairs)
            subsets = {one.subset for one in by_hand.judged(records, judge.label)} - {None}
            every = {record.task.subset for record in records if record.task is not None} - {None}
            if len(every) > 1:
                for subset in subsets:
                    part = summary(store, judge=f"{judge.label}/{subset}")
                    assert_counted(part, [one for one in pairs if one.subset == subset], records)


@settings(max_examples=20)
@given(audits())
def test_the_pairs_of_an_audit_are_counted_once_whoever_judged_them(records: list[Record]) -> None:
    with fresh() as (store, _):
        stored(store, records)
        found = summary(store)
        if found.judge is None:
            golds = [by_hand.gold_of(record) for record in records]
            assert found.pairs is not None
            assert_whole(found.pairs)
            assert found.pairs.model_dump(exclude_none=True) == {
                "n": len(golds),
                "decidable": sum(gold in {"A", "B"} for gold in golds),
                "gold_tie": golds.count("tie"),
                "gold_unknown": golds.count(None),
            }


@settings(max_examples=20)
@given(audits())
def test_agents_are_counted_by_hand_with_the_judge_that_is_satisfied_from_0_8_on(records: list[Record]) -> None:
    counted = by_hand.agents(records, lambda score: score >= 0.8)
    with fresh() as (store, _):
        stored(store, records)
        whole = summary(store)
        gate = summary(store, judge="gate") if whole.judges and "gate" in whole.judges else whole
    if not any(one.tallies for one in counted.values()):
        assert gate.agents is None and "agents" in gate.why
        return
    assert gate.agents is not None
    assert {one.agent for one in gate.agents} == counted.keys()
    for one in gate.agents:
        expected = counted[one.agent]
        assert one.success == clustered_rate(cluster_sums(expected.tallies))
        assert (one.succeeded, one.failed) == (one.success.k, one.success.n - one.success.k)
        assert one.unknown == expected.unknown
        if one.satisfied is not None:
            assert (one.satisfied, one.satisfied_failed) == (expected.satisfied, expected.satisfied_failed)
        else:
            assert expected.satisfied == 0
    rates = [-1 if one.success.rate is None else one.success.rate for one in gate.agents]
    assert rates == sorted(rates, reverse=True)


@settings(max_examples=20)
@given(audits())
def test_kappa_is_that_of_scikit_learn_for_every_two_labellers(records: list[Record]) -> None:
    with fresh() as (store, _):
        stored(store, records)
        found = summary(store)
        judges = [judge.label for judge in JUDGES]
        labels = by_hand.labels(records, judges)
        people = sorted(name for name in labels if name not in judges)
        expected: dict[str, float | None] = {}
        for first, second in combinations([*people, *judges], 2):
            shared = sorted(labels.get(first, {}).keys() & labels.get(second, {}).keys())
            if shared:
                a, b = ([labels[one][pair_id] for pair_id in shared] for one in (first, second))
                constant = len({*a, *b}) == 1
                expected[f"{first}|{second}"] = None if constant else float(cohen_kappa_score(a, b))
        if not expected:
            assert found.kappa is None and "kappa" in found.why
            return
        assert found.kappa is not None and found.kappa.keys() == expected.keys()
        for couple, kappa in expected.items():
            assert found.kappa[couple] == (None if kappa is None else pytest.approx(kappa))


@settings(max_examples=20)
@given(audits())
def test_every_null_section_has_its_reason_and_no_other_has_one(records: list[Record]) -> None:
    with fresh() as (store, _):
        stored(store, records)
        whole = summary(store)
        for sections in (whole, *(whole.judges or {}).values()):
            empty = {name for name in SECTIONS if getattr(sections, name) is None}
            if sections.pass_hat_k_by_agent is not None:
                assert sections.pass_hat_k is None
            # Behind a dot stands what is missing of a section that is there.
            assert {name for name in sections.why if "." not in name} == empty
            assert all(getattr(sections, name.partition(".")[0]) is not None for name in sections.why if "." in name)
