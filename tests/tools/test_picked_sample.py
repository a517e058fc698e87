"""Labels of pairs that reviews chose for looking suspicious say nothing of how often a judge is wrong."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from builders import episode, messages, pair, passed, verdict
from label_parts import at_work, unquoted, with_secret
from misjudge_storage.engine import Store
from misjudge_storage.review_records import Stream
from misjudge_storage.types import Order, Record
from misjudge_tools.deps import Deps
from misjudge_tools.gate_audit import ALL_LEFT_OUT, gate
from misjudge_tools.labelling.giving import blind_pairs, give_pairs
from misjudge_tools.labelling.recording import record_answers
from misjudge_tools.labelling.values import GivenAnswer
from misjudge_tools.report.reasons import reason
from misjudge_tools.requests import GateRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from misjudge_tools.summary.gate_values import GateResult
from misjudge_tools.summary.values import AuditSummary

ORDERS: tuple[Order, Order] = ("AB", "BA")


def judged(seed: int, pairs: int, *, verified: int = 0, error: float = 0.04) -> list[Record]:
    """Pairs of tasks of their own of which A did the task, as a verifier says of the first ones only; each answer of
    the judge is wrong with this probability.
    """
    random = Random(seed)
    records = []
    for n in range(pairs):
        checks = ([passed(True)], [passed(False)]) if n < verified else ((), ())
        a, b = (
            episode(agent, *some, task=f"t{n}", said=messages(f"Order {n}", text))
            for agent, some, text in zip("xy", checks, ("done", "no"), strict=True)
        )
        said = [verdict("B" if random.random() < error else "A", order) for order in ORDERS]
        records.append(pair(f"p{n}", a, b, *said, line=n + 1))
    return records


def labelled(store: Store, number: int, only: Stream) -> None:
    """By a person who always sees which side did it."""
    of = at_work(store, "ann")
    shown = [unquoted(one) for one in blind_pairs(store, of, give_pairs(store, of, number, only), str)]
    assert len(shown) == number
    answers = [GivenAnswer(one.pair, "A" if "done" in one.response_a else "B", None, None) for one in shown]
    record_answers(store, of, answers, "mcp")


def gated(store: Store, **values: Any) -> GateResult:
    return gate(GateRequest.model_validate({"audit": "a", **values}), store)


def summary(store: Store, **values: Any) -> AuditSummary:
    return summarize(SummarizeRequest.model_validate({"audit": "a", **values}), store)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_good_judge_is_never_failed_for_the_pairs_that_reviews_chose(deps: Deps, seed: int) -> None:
    with_secret(deps.store, judged(seed, 400))
    labelled(deps.store, 30, "chosen")
    found = summary(deps.store)
    assert found.misselection is not None and found.misselection.low is not None and found.headline is not None
    assert found.misselection.low > 0.1, "else the sample is not picked, and there is nothing to test"
    assert found.headline.grade == "undecided"
    assert found.headline.verdict[0].startswith("Whether this judge may be used cannot be told from these pairs: ")
    assert found.headline.verdict[1].startswith("30 of the 30 decidable pairs ")
    assert "--only random" in found.headline.would_change[0]
    (warning,) = found.warnings
    assert warning.startswith("30 of the 30 decidable pairs of this audit ") and reason(warning, "zh") != warning
    assert found.recommendations is not None
    actions = [row.action for row in found.recommendations.rows]
    assert "label_pairs" in actions and "change_judge" not in actions
    said = gated(deps.store, max_misselection=0.1, min_coverage=0.5)
    assert (said.outcome, said.exit_code, said.picked_left_out, said.pairs) == ("inconclusive", 3, 30, 0)
    assert said.reasons == (ALL_LEFT_OUT,)


@pytest.mark.parametrize("policy", [None, "both_orders"])
def test_a_gate_says_of_verified_pairs_the_same_with_and_without_chosen_labels(deps: Deps, policy: str | None) -> None:
    with_secret(deps.store, judged(4, 400, verified=150))
    before = gated(deps.store, policy=policy)
    assert before.picked_left_out == 0 and before.pairs == 150 and before.warnings == ()
    labelled(deps.store, 60, "chosen")
    after = gated(deps.store, policy=policy)
    assert after.picked_left_out > 20
    assert after.warnings[0].startswith(f"Left out: {after.picked_left_out} pairs ")
    kept = {"picked_left_out": 0, "warnings": ()}
    assert after.model_copy(update=kept) == before


def test_what_few_picked_pairs_cannot_change_is_still_said(deps: Deps) -> None:
    with_secret(deps.store, judged(5, 400, verified=390, error=0.3))
    labelled(deps.store, 3, "chosen")
    found = summary(deps.store, sections=["headline"])
    assert found.headline is not None and found.headline.grade == "do_not_use"


def test_labels_of_pairs_drawn_at_random_are_counted_and_warn_of_nothing(deps: Deps) -> None:
    with_secret(deps.store, judged(6, 300))
    labelled(deps.store, 60, "random")
    said = gated(deps.store, max_misselection=0.2)
    assert (said.outcome, said.picked_left_out, said.pairs, said.warnings) == ("pass", 0, 60, ())
    found = summary(deps.store, sections=["headline"])
    assert found.warnings == () and found.headline is not None
    assert not any("suspicious" in sentence for sentence in found.headline.verdict)
