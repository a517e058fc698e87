"""Properties of whole audits: export and import again is identity, and swapping the sides swaps the verdicts."""

from __future__ import annotations

import asyncio
import csv
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st

from builders import JUDGE, episode, label, messages, pair, passed, rewarded, satisfied, verdict
from misjudge_storage.engine import Store, open_store
from misjudge_storage.types import (
    Check,
    CheckSource,
    Episode,
    GoldLabel,
    Judge,
    Log,
    Order,
    Preference,
    Record,
    Role,
    Verdict,
)
from misjudge_tools.deps import Deps
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import ImportRequest, SummarizeRequest
from misjudge_tools.runs.sessions import session_opener
from misjudge_tools.runs.worker import Worker
from misjudge_tools.summarize_audit import summarize
from operations import NOWHERE, rows, stored

SIDES: st.SearchStrategy[Preference] = st.sampled_from(["A", "B", "tie"])
SHARE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
SCORES = st.sampled_from([0.0, 1.0, 2.5, 4.0, 5.0])
SOURCES: st.SearchStrategy[CheckSource] = st.sampled_from(["verifier", "human", "label", "reward"])
REWARD_SOURCES: st.SearchStrategy[CheckSource] = st.sampled_from(["verifier", "reward"])
ROLES: st.SearchStrategy[Role] = st.sampled_from(["agent", "user_sim", "judge"])
JUDGES = (JUDGE, Judge(label="other", form="pairwise", model="judge-n", origin="imported"))
OTHER: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}
OTHER_ORDER: dict[Order, Order] = {"AB": "BA", "BA": "AB"}


@contextmanager
def fresh() -> Iterator[tuple[Store, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "s.db")
        try:
            yield store, Path(folder)
        finally:
            store.close()


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
def sides(draw: st.DrawFn, task: str, trial: int | None) -> tuple[Episode, Episode]:
    """Two episodes with what is known of each."""
    found = []
    for agent in ("x", "y"):
        checks: list[Check] = []
        if draw(st.booleans()):
            checks.append(passed(draw(st.booleans()), draw(SOURCES)))
        if draw(st.booleans()):
            checks.append(rewarded(draw(SHARE), draw(REWARD_SOURCES)))
        scores = [satisfied(draw(SHARE))] if draw(st.booleans()) else []
        found.append(
            episode(agent, *checks, task=task, trial=trial, said=messages("Hi", agent + task), satisfaction=scores)
        )
    return found[0], found[1]


@st.composite
def audits(draw: st.DrawFn) -> list[Record]:
    """Pairs of a few tasks, as different as an audit may hold them."""
    found = []
    for n in range(draw(st.integers(1, 6))):
        trial = draw(st.sampled_from([None, 0, 3]))
        first, second = draw(sides(f"t{n}", trial))
        said: list[Verdict] = []
        for judge in JUDGES[: draw(st.integers(0, 2))]:
            said += draw(st.one_of(single_calls(judge), reduced_calls(judge)))
        annotators = draw(st.integers(0, 3))
        source = "human" if annotators > 1 else draw(st.sampled_from(["human", "label"]))
        gold = [label(draw(SIDES), f"ann{k}", source) for k in range(annotators)]
        gap = draw(st.one_of(st.none(), st.sampled_from([0.05, 0.1, 0.3])))
        key = {} if gap is None else {"reward_gap": gap, "gap_source": draw(st.sampled_from(["ability", "reward"]))}
        bucket = draw(st.sampled_from([None, "near", "wide"]))
        logs = [Log(role=role, est_cost=0.25, input_tokens=n) for role in draw(st.sets(ROLES))]
        key |= {"line": n + 1, "trial": trial, "ability_bucket": bucket}
        found.append(pair(f"p{n}", first, second, *said, gold=gold, logs=logs, **key))
    return found


NOT_OF_VALUE = {"audit_id", "created_at", "judge_fingerprint"}


def view(store: Store, audit_id: str) -> list[dict[str, Any]]:
    """The rows of `audit_pairs`, without what belongs to the audit and not to what it says."""
    found = rows(store, "SELECT * FROM audit_pairs WHERE audit_id = :audit ORDER BY pair_id, judge", audit=audit_id)
    return [{name: value for name, value in row.items() if name not in NOT_OF_VALUE} for row in found]


def exported(store: Store, audit_id: str, path: Path) -> None:
    """Every column of the view as CSV, as people export it."""
    found = rows(store, "SELECT * FROM audit_pairs WHERE audit_id = :audit ORDER BY pair_id, judge", audit=audit_id)
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def imported(store: Store, path: Path, audit: str) -> str:
    async def run() -> None:
        deps = Deps(store, NOWHERE, Worker(store, session_opener(store, NOWHERE), 1), None)
        await import_records(ImportRequest(audit=audit, format="pairs", paths=[str(path)]), deps)

    asyncio.run(run())
    return str(rows(store, "SELECT audit_id FROM audits WHERE name = :name", name=audit)[0]["audit_id"])


@given(audits())
def test_what_is_exported_and_imported_again_says_the_same(records: list[Record]) -> None:
    with fresh() as (store, folder):
        first = stored(store, records, "first")
        exported(store, first, folder / "audit_pairs.csv")
        second = imported(store, folder / "audit_pairs.csv", "second")
        note((folder / "audit_pairs.csv").read_text(encoding="utf-8"))
        assert view(store, second) == view(store, first)
        # Once more, so that nothing is lost in later rounds either.
        exported(store, second, folder / "again.csv")
        assert view(store, imported(store, folder / "again.csv", "third")) == view(store, first)


def swapped(record: Record) -> Record:
    """The same record with the sides exchanged."""
    verdicts = tuple(
        said.model_copy(
            update={
                "winner": None if said.winner is None else OTHER[said.winner],
                "order": None if said.order is None else OTHER_ORDER[said.order],
                "score_a": said.score_b,
                "score_b": said.score_a,
            }
        )
        for said in record.verdicts
    )
    gold = tuple(one.model_copy(update={"pref": _other(one)}) for one in record.gold)
    return record.model_copy(update={"episodes": record.episodes[::-1], "verdicts": verdicts, "gold": gold})


def _other(one: GoldLabel) -> str:
    assert one.pref != "split"
    return OTHER[one.pref]


MIRRORED = [
    (f"{name}_a", f"{name}_b") for name in ("agent", "success", "reward", "judge_score", "user_sat")
]
TURNED = ("gold_pref", "judge_pref")
BLIND = {"A=left": "A=right", "A=right": "A=left"}


def mirrored(row: dict[str, Any]) -> dict[str, Any]:
    """The row that the swapped record should give."""
    found = dict(row)
    for a, b in MIRRORED:
        found[a], found[b] = row[b], row[a]
    for name in TURNED:
        found[name] = OTHER.get(row[name])
    found["blind_order"] = BLIND.get(row["blind_order"], row["blind_order"])
    return found


@given(audits())
def test_swapping_the_sides_swaps_the_verdicts_and_leaves_misselection_alone(records: list[Record]) -> None:
    with fresh() as (store, _):
        plain = stored(store, records, "plain")
        turned = stored(store, [swapped(record) for record in records], "turned")
        assert view(store, turned) == [mirrored(row) for row in view(store, plain)]
        one, other = (
            summarize(SummarizeRequest(audit=audit), store).model_dump(exclude={"audit", "judges"})
            for audit in ("plain", "turned")
        )
        assert other == one
        for judge in JUDGES:
            if any(judge == said.judge for record in records for said in record.verdicts):
                both = [
                    summarize(SummarizeRequest(audit=audit, judge=judge.label), store).model_dump(exclude={"audit"})
                    for audit in ("plain", "turned")
                ]
                assert both[0] == both[1]
