"""Properties of whole audits: export and import again is identity, and swapping the sides swaps the verdicts."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path
from typing import Any

from hypothesis import given, note, settings

from builders import episode, pair, verdict
from generated import audits, fresh
from misjudge_storage.engine import Store
from misjudge_storage.types import GoldLabel, Judge, Order, Preference, Record
from misjudge_tools.deps import Deps
from misjudge_tools.episodes.settings import EpisodeSettings
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.import_records import import_records
from misjudge_tools.requests import Format, ImportRequest, SummarizeRequest
from misjudge_tools.runs.sessions import session_opener
from misjudge_tools.runs.worker import Worker
from misjudge_tools.summarize_audit import summarize
from operations import NOWHERE, rows, stored

OTHER: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}
OTHER_ORDER: dict[Order, Order] = {"AB": "BA", "BA": "AB"}
NOT_OF_VALUE = {"audit_id", "created_at", "judge_fingerprint"}


def view(store: Store, audit_id: str) -> list[dict[str, Any]]:
    """The rows of `audit_pairs`, without what belongs to the audit and not to what it says."""
    found = rows(store, "SELECT * FROM audit_pairs WHERE audit_id = :audit ORDER BY pair_id, judge", audit=audit_id)
    return [{name: value for name, value in row.items() if name not in NOT_OF_VALUE} for row in found]


def exported(store: Store, audit_id: str, path: Path, view: str = "audit_pairs") -> None:
    """Every column of the view as CSV, as people export it."""
    found = rows(store, f"SELECT * FROM {view} WHERE audit_id = :audit ORDER BY pair_id, judge", audit=audit_id)
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def imported(store: Store, path: Path, audit: str, kind: Format = "pairs") -> str:
    async def run() -> None:
        gateways = Gateways()
        worker = Worker(store, session_opener(store, NOWHERE, gateways))
        deps = Deps(store, NOWHERE, EpisodeSettings(), gateways, worker, None)
        await import_records(ImportRequest(audit=audit, format=kind, paths=[str(path)]), deps)

    asyncio.run(run())
    return str(rows(store, "SELECT audit_id FROM audits WHERE name = :name", name=audit)[0]["audit_id"])


@settings(max_examples=25)
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


def test_a_call_that_is_made_up_is_so_too_when_it_was_exported_and_imported() -> None:
    made_up = Judge(label="made up", form="pairwise", simulated=True)
    with fresh() as (store, folder):
        records = [
            pair("p1", None, None, verdict("A", "AB"), verdict("B", "AB", judge=made_up)),
            pair("p2", episode("x", task="t2", simulated=True), episode("y", task="t2"), verdict("A", "BA"), line=2),
        ]  # fmt: skip
        exported(store, stored(store, records, "first"), folder / "calls.csv", "pairwise")
        second = imported(store, folder / "calls.csv", "second", "replay")
        query = "SELECT pair_id, judge, blind_order, simulated FROM pairwise WHERE audit_id = :audit ORDER BY 1, 2"
        found = [tuple(row.values()) for row in rows(store, query, audit=second)]
    assert found == [("p1", "judge", "A=left", 0), ("p1", "made up", "A=left", 1), ("p2", "judge", "A=right", 1)]


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


MIRRORED = [(f"{name}_a", f"{name}_b") for name in ("agent", "success", "reward", "judge_score", "user_sat")]
TURNED = ("gold_pref", "judge_pref")
CONFLICTS = ("strict", "unsupported", "missed", "satisfied_failed")
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


def without_sides(store: Store, audit: str, judge: str | None = None) -> Any:
    """The summary without what names the audit or the sides of single pairs."""
    found = summarize(SummarizeRequest(audit=audit, judge=judge), store).model_dump(exclude={"audit", "judges"})
    conflicts = found.pop("conflicts") or {}
    headline = found["headline"] or {}
    if headline:
        headline["missing"] = sorted((arm["share"], arm["unscored"], arm["calls"]) for arm in headline["missing"])
    if headline.get("grade") == "one_sided":  # it names the side
        del headline["verdict"]
    told = {kind: conflicts[kind] and conflicts[kind]["k"] for kind in CONFLICTS if kind in conflicts}
    return rounded({**found, **told})


def rounded(value: Any) -> Any:
    """Sums in another order differ in their last digits."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {name: rounded(member) for name, member in value.items()}
    return [rounded(member) for member in value] if isinstance(value, (list, tuple)) else value


@settings(max_examples=10)
@given(audits())
def test_swapping_the_sides_swaps_the_verdicts_and_leaves_misselection_alone(records: list[Record]) -> None:
    with fresh() as (store, _):
        plain = stored(store, records, "plain")
        turned = stored(store, [swapped(record) for record in records], "turned")
        assert view(store, turned) == [mirrored(row) for row in view(store, plain)]
        assert without_sides(store, "turned") == without_sides(store, "plain")
        for label in {said.judge.label for record in records for said in record.verdicts}:
            assert without_sides(store, "turned", label) == without_sides(store, "plain", label)
