"""Stored probes without a judge that is asked, for tests of what is counted of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from builders import episode, pair, passed, verdict
from misjudge_storage import rows, tables
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.hashing import digest
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.types import Judge, Order, Preference, Record, Side, UnscoredReason

ASKED = Judge(label="asked", form="pairwise", model="qwen-max", params="{}")
CHANGED = ("A", "B", "A__failed", "B__failed")
OTHER_ORDER: dict[Order, Order] = {"AB": "BA", "BA": "AB"}


class ProbeCall(NamedTuple):
    """One call of a probe; `winner` None could not be scored, for this reason."""

    pair_id: str
    variant: str
    order: Order
    repeat: int
    winner: Preference | None
    reason: UnscoredReason = "parse_error"


def item(
    pair_id: str, order: Order, baselines: Sequence[Preference | None], **changed: Preference | None
) -> Iterator[ProbeCall]:
    """The calls of one item: its baselines, and a changed one by probe, `__A` behind it where side A is changed,
    `__A__failed` where it is changed because it failed.
    """
    for repeat, winner in enumerate(baselines):
        yield ProbeCall(pair_id, "baseline.en.v1", order, repeat, winner)
    for name, winner in changed.items():
        probe, _, changes = name.partition("__")
        shown = OTHER_ORDER[order] if probe == "swapped_order" else order
        yield ProbeCall(pair_id, f"{probe}.en.v1{':' if changes else ''}{changes.replace('__', '.')}", shown, 0, winner)


def pair_of(number: int, task: str, agents: tuple[str, str] = ("x", "y"), better: Side | None = None) -> Record:
    """Pair `pN` of a task; the better side did the job, the other did not."""
    a, b = (
        episode(agent, *([] if better is None else [passed(side == better)]), task=task, trial=number)
        for agent, side in zip(agents, "AB", strict=True)
    )
    return pair(f"p{number}", a, b, line=number)


def store_probes(store: Store, records: Sequence[Record], calls: Sequence[ProbeCall], judge: Judge = ASKED) -> str:
    """Pairs and calls in the audit `a`; the judge's id."""
    with store.write() as connection:
        audit = ensure_audit(connection, "a")
        ingest(connection, audit, "file", records)
        insert_new(connection, tables.Judge, [rows.judge_row(audit, judge)])
        judge_id = rows.judge_fingerprint(judge)
        stored = [_row(audit, judge, judge_id, call) for call in calls]
        now = utc_now()
        for number, row in enumerate(stored):
            row["created_at"] = now + timedelta(milliseconds=number)
        insert_new(connection, tables.ProbeVerdict, stored)
    return judge_id


def _row(audit: str, judge: Judge, judge_id: str, call: ProbeCall) -> rows.Row:
    said = verdict(call.winner, call.order, call.repeat, judge)
    if call.winner is None:
        said = said.model_copy(update={"unscored_reason": call.reason})
    return rows.probe_row(audit, judge_id, digest("probe", [judge_id, *call]), call.pair_id, call.variant, said)


def random_calls(draw: random.Random, records: Sequence[Record], probes: Sequence[str]) -> list[ProbeCall]:
    """A probing in which calls are missing or unscored, pairs are in both orders, and both languages are there."""
    winners: tuple[Preference | None, ...] = (*("A", "B", "tie") * 3, None)
    calls: dict[tuple[object, ...], ProbeCall] = {}
    for record in records:
        assert record.pair is not None
        assert record.pair.pair_id is not None
        for _ in range(draw.randrange(1, 3)):
            order: Order = draw.choice(("AB", "BA"))
            names = [probe if "_order" in probe else f"{probe}__{draw.choice(CHANGED)}" for probe in probes]
            chosen = {name: draw.choice(winners) for name in names if draw.random() < 0.8}
            baselines = [draw.choice(winners) for _ in range(draw.choice((1, 2, 2, 2)))]
            language, other = draw.sample(("en", "zh"), 2)
            for call in item(record.pair.pair_id, order, baselines, **chosen):
                made = other if draw.random() < 0.1 else language
                reason: UnscoredReason = draw.choice(("parse_error", "refused", "context_overflow"))
                spoken = call._replace(variant=call.variant.replace(".en.", f".{made}."), reason=reason)
                calls[spoken[:4]] = spoken
    return list(calls.values())
