"""Audits that hypothesis makes up, and a store for each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from builders import JUDGE, episode, label, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.engine import Store, open_store
from misjudge_storage.types import (
    Check,
    CheckSource,
    Episode,
    GoldSource,
    Judge,
    Log,
    Order,
    Preference,
    Record,
    Role,
    Verdict,
)

SIDES: st.SearchStrategy[Preference] = st.sampled_from(["A", "B", "tie"])
SHARE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
SCORES = st.sampled_from([0.0, 1.0, 2.5, 4.0, 5.0])
SOURCES: st.SearchStrategy[CheckSource] = st.sampled_from(["verifier", "human", "label", "reward"])
REWARD_SOURCES: st.SearchStrategy[CheckSource] = st.sampled_from(["verifier", "reward"])
RARELY = st.sampled_from([False, False, False, True])
ROLES: st.SearchStrategy[Role] = st.sampled_from(["agent", "user_sim", "judge"])
JUDGES = (JUDGE, Judge(label="other", form="pairwise", model="judge-n", origin="imported"))


@st.composite
def single_calls(draw: st.DrawFn, judge: Judge) -> list[Verdict]:
    """The calls of one judge on one pair: in one order, in both, or in an order that nobody knows; repeated or not."""
    orders: tuple[Order | None, ...] = draw(st.sampled_from([("AB", "BA"), ("AB",), ("BA",), (None,)]))
    found = []
    for order in orders:
        for repeat in range(draw(st.integers(1, 2))):
            winner = draw(st.one_of(st.none(), SIDES))
            scores = draw(st.one_of(st.none(), st.tuples(SCORES, SCORES))) if winner else None
            facts = {} if scores is None else {"score_a": scores[0], "score_b": scores[1]}
            found.append(verdict(winner, order, repeat, judge, **facts))
    return found


@st.composite
def reduced_calls(draw: st.DrawFn, judge: Judge) -> list[Verdict]:
    """One row that stands for both orders."""
    kind = draw(st.sampled_from(["scored", "weak", "inconsistent", "unscored"]))
    if kind in {"inconsistent", "unscored"}:
        reason = {"unscored_reason": "timeout"} if kind == "unscored" else {}
        return [Verdict.model_validate({"judge": judge, "status": kind, "reduced": True, **reason})]
    winner = draw(SIDES if kind == "scored" else st.sampled_from(["A", "B"]))
    return [Verdict.model_validate({"judge": judge, "status": kind, "winner": winner, "reduced": True})]


@st.composite
def sides(draw: st.DrawFn, n: int, task: str, trial: int | None) -> tuple[Episode, Episode]:
    """Two episodes with what is known of each."""
    found = []
    for agent in (f"x{n}", f"y{n}"):
        made_up = draw(RARELY)
        checks: list[Check] = []
        if draw(st.booleans()):
            checks.append(passed(draw(st.booleans()), draw(SOURCES)))
        if draw(st.booleans()):
            checks.append(rewarded(draw(SHARE), draw(REWARD_SOURCES)))
        scores = [satisfied(draw(SHARE))] if draw(st.booleans()) else []
        found.append(
            episode(
                agent,
                *checks,
                task=task,
                trial=trial,
                said=messages("Hi", agent + task),
                satisfaction=scores,
                simulated=made_up,
            )
        )
    return found[0], found[1]


@st.composite
def audits(draw: st.DrawFn) -> list[Record]:
    """Pairs of up to three tasks, as different as an audit may hold them. Agents are in one pair each; a judge or an
    episode may be made up.
    """
    subsets = draw(st.sampled_from([(None, None, None), ("easy", "hard", "hard"), (None, "hard", None)]))
    other = JUDGES[1].model_copy(update={"simulated": draw(RARELY)})
    found = []
    for n in range(draw(st.integers(1, 6))):
        trial = draw(st.sampled_from([None, 0, 3]))
        first, second = draw(sides(n, f"t{n % 3}", trial))
        said: list[Verdict] = []
        for judge in (JUDGE, other)[: draw(st.integers(0, 2))]:
            said += draw(st.one_of(single_calls(judge), reduced_calls(judge)))
        annotators = draw(st.integers(0, 3))
        source: GoldSource = "human" if annotators > 1 else draw(st.sampled_from(["human", "label"]))
        gold = [label(draw(SIDES), f"ann{k}", source) for k in range(annotators)]
        gap = draw(st.one_of(st.none(), st.sampled_from([0.05, 0.1, 0.3])))
        key: dict[str, Any] = {"line": n + 1, "trial": trial}
        if gap is not None:
            key |= {"reward_gap": gap, "gap_source": draw(st.sampled_from(["ability", "reward"]))}
        key["ability_bucket"] = draw(st.sampled_from([None, "near", "wide"]))
        logs = [Log(role=role, est_cost=0.25, input_tokens=n) for role in draw(st.sets(ROLES))]
        record = pair(f"p{n}", first, second, *said, gold=gold, logs=logs, **key)
        assert record.task is not None
        found.append(record.model_copy(update={"task": record.task.model_copy(update={"subset": subsets[n % 3]})}))
    return found


@contextmanager
def fresh() -> Iterator[tuple[Store, Path]]:
    """A new store, and a folder for files."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "s.db")
        try:
            yield store, Path(folder)
        finally:
            store.close()
