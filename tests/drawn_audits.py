"""Audits drawn at random: verdicts, checks and labels of every kind that can be stored."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

from hypothesis import strategies as st

from builders import JUDGE, episode, label, pair, verdict
from misjudge_storage.columns import utc_now
from misjudge_storage.engine import Store
from misjudge_storage.ingest import ensure_audit, ingest, insert_new
from misjudge_storage.rows import gold_row
from misjudge_storage.tables import GoldLabel as GoldTable
from misjudge_storage.types import Check, GoldLabel, Judge, Record, Verdict

OTHER = Judge(label="other", form="pairwise", model="judge-l")
MADE_UP = Judge(label="made up", form="pairwise", simulated=True)
NAMES = count(1)


def put(store: Store, *records: Record) -> str:
    """Store the records in a new audit; its id."""
    with store.write() as connection:
        audit = ensure_audit(connection, f"audit {next(NAMES)}")
        ingest(connection, audit, "file", records)
    return audit


def relabel(store: Store, audit: str, *labels: GoldLabel, pair_id: str = "p1") -> None:
    """Labels given later, as a review does: rows of their own."""
    with store.write() as connection:
        for number, one in enumerate(labels, 1):
            later = {"label_id": f"{audit} {number}", "created_at": utc_now() + timedelta(minutes=number)}
            insert_new(connection, GoldTable, [{**gold_row(audit, pair_id, one), **later}])


WINNERS: Any = st.sampled_from(["A", "B", "tie", None])
CALLS: Any = st.dictionaries(st.tuples(st.sampled_from(["AB", "BA", None]), st.integers(0, 2)), WINNERS, max_size=7)
_REDUCED: list[tuple[str, str | None]] = [
    *(("scored", winner) for winner in ("A", "B", "tie")),
    *(("weak", winner) for winner in ("A", "B")),
    *((status, None) for status in ("inconsistent", "unscored")),
]
REDUCED: Any = st.dictionaries(st.integers(0, 2), st.sampled_from(_REDUCED), max_size=2)
GAPS: Any = st.sampled_from([{}, {"reward_gap": 0.5, "gap_source": "ability", "ability_bucket": "wide"}])
SCORES = st.none() | st.integers(0, 5)
RARELY = st.sampled_from([False, False, False, True])


@st.composite
def verdicts(draw: st.DrawFn, judge: Judge) -> list[Verdict]:
    """Single calls in any orders and repeats, and at times rows that a source had reduced."""
    drawn: list[Verdict] = []
    for (order, repeat), winner in draw(CALLS).items():
        facts: dict[str, Any] = {
            "score_a": draw(SCORES),
            "score_b": draw(SCORES),
            "flip": draw(st.sampled_from([None, None, True, False])),
        }
        if winner is None:
            facts["unscored_reason"] = draw(st.sampled_from(["refused", "parse_error"]))
        drawn.append(verdict(winner, order, repeat, judge, **facts))
    if draw(st.integers(0, 3)) == 0:
        for repeat, (status, winner) in draw(REDUCED).items():
            reason = "timeout" if status == "unscored" else None
            drawn.append(
                Verdict(judge=judge, repeat=repeat, status=status, winner=winner, unscored_reason=reason, reduced=True)
            )
    return drawn


@st.composite
def checks(draw: st.DrawFn) -> tuple[Check, ...]:
    """Up to four checks of any source, some of them parts, candidates or ranks."""
    sources: Any = st.sampled_from(["human", "verifier", "label", "reward", "model", "order"])
    drawn = draw(
        st.lists(
            st.tuples(
                sources, st.sampled_from([None, True, False]), st.sampled_from([None, 0.0, 0.25, 1.0]), st.booleans()
            ),
            max_size=4,
        )
    )
    return tuple(
        Check(verifier=f"v{n}", source=source, passed=said, reward=reward, scope="part" if part else "outcome")
        for n, (source, said, reward, part) in enumerate(drawn)
    )


LABELS: Any = st.dictionaries(
    st.tuples(st.sampled_from(["ann", "bob", "cat"]), st.sampled_from(["human", "label"])),
    st.sampled_from(["A", "B", "tie"]),
    max_size=4,
)


@st.composite
def audits(draw: st.DrawFn) -> tuple[list[Record], list[GoldLabel]]:
    """Up to three pairs, and labels of the first one given later."""
    records = [
        pair(
            f"p{n}",
            episode("x", *draw(checks()), trial=None, simulated=draw(RARELY)),
            episode("y", *draw(checks()), trial=None, simulated=draw(RARELY)),
            *draw(verdicts(JUDGE)),
            *draw(verdicts(draw(st.sampled_from([OTHER, MADE_UP])))),
            line=n,
            gold=[label(pref, who, source) for (who, source), pref in draw(LABELS).items()],
            **draw(GAPS),
        )
        for n in range(1, draw(st.integers(2, 4)))
    ]
    later = [label(pref, who, source) for (who, source), pref in draw(LABELS).items()]
    return records, later
