"""A judge that gave no reply beside others that did: a wrong name or a dead gateway makes no judge of an audit."""

from __future__ import annotations

import pytest

from builders import episode, pair, passed, verdict
from misjudge_storage.engine import Store
from misjudge_storage.types import Judge, Order, Record, Scale, UnscoredReason
from misjudge_tools.deps import Deps
from misjudge_tools.gate_audit import gate
from misjudge_tools.requests import GateRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.values import AuditSummary
from operations import stored

ORDERS: tuple[Order, ...] = ("AB", "BA")
HEARD = Judge(label="heard", form="pairwise", model="heard-m", scale=Scale(low=0, high=10), origin="imported")
TYPO = HEARD.model_copy(update={"label": "typo", "model": "typo-m"})


def record(n: int, judge: Judge, reason: UnscoredReason | None = None) -> Record:
    a, b = (episode(agent, passed(agent == "x"), task=f"t{n}", trial=0) for agent in "xy")
    said = [verdict(None if reason else "A", order, judge=judge) for order in ORDERS]
    if reason is not None:
        said = [one.model_copy(update={"unscored_reason": reason}) for one in said]
    return pair(f"p{n}", a, b, *said, line=n + 1)


def audit(store: Store, reason: UnscoredReason) -> None:
    """Three pairs that a judge answered, and of which the other could not be scored."""
    stored(store, [*(record(n, HEARD) for n in range(3)), *(record(n, TYPO, reason) for n in range(3))])


def summary(store: Store, judge: str | None = None) -> AuditSummary:
    return summarize(SummarizeRequest(audit="a", judge=judge), store)


@pytest.mark.parametrize("reason", ["provider_error", "timeout", "budget"])
def test_a_judge_all_of_whose_calls_were_lost_is_left_out_and_named(deps: Deps, reason: UnscoredReason) -> None:
    audit(deps.store, reason)
    found = summary(deps.store)
    assert found.judge == "heard"
    assert any("typo gave no reply and is left out" in warning for warning in found.warnings)
    assert not any("was probed" in warning for warning in found.warnings)
    assert gate(GateRequest(audit="a", max_misselection=0.05), deps.store).judge == "heard"


@pytest.mark.parametrize("reason", ["parse_error", "refused", "context_overflow"])
def test_a_judge_that_replied_what_cannot_be_scored_is_still_one(deps: Deps, reason: UnscoredReason) -> None:
    audit(deps.store, reason)
    found = summary(deps.store)
    assert found.judge is None
    assert not any("left out" in warning for warning in found.warnings)


def test_a_judge_that_gave_no_reply_is_shown_where_it_is_asked_for(deps: Deps) -> None:
    audit(deps.store, "provider_error")
    found = summary(deps.store, "typo")
    assert found.judge == "typo"
    assert found.unscored == {"provider_error": 6}


def test_where_no_judge_gave_a_reply_all_are_shown(deps: Deps) -> None:
    stored(deps.store, [record(n, judge, "timeout") for n in range(2) for judge in (HEARD, TYPO)])
    assert summary(deps.store).judge is None
