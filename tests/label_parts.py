"""What the tests of labels share: audits whose agents have names that nobody may see, and a person who labels."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from builders import episode, messages, pair, passed, satisfied, verdict
from misjudge_storage.engine import Store
from misjudge_storage.types import Done, Preference, Record
from misjudge_tools.labelling.giving import Session, blind_pairs, give_pairs, session
from misjudge_tools.labelling.question import QUOTE, TEXTS
from misjudge_tools.labelling.recording import record_answers
from misjudge_tools.labelling.values import GivenAnswer, ReviewPair
from operations import rows, stored

AGENTS = ("zorblax-agent", "quuxbot")
REASONS = "plainlier said"
HIDDEN = (*AGENTS, "judge-m", "judge", REASONS, "#0", "|")
"""What would give a side away: names, what the judge says, and what ids of pairs of runs hold."""


def review_pairs(number: int, **facts: Any) -> list[Record]:
    """Pairs of tasks of their own. The first agent does every third task, and says so of all."""
    made = []
    for n in range(number):
        done = n % 3 == 0
        told = f"I am {AGENTS[0]}. Order {n} is cancelled."
        first = episode(AGENTS[0], task=f"t{n}", said=messages(f"Cancel order {n}.", told), **facts)
        second = episode(AGENTS[1], task=f"t{n}", said=messages(f"Cancel order {n}.", f"No, order {n} stays."), **facts)
        said = verdict("A" if done else "B", "AB", reasons=REASONS)
        name = f"t{n}#0:{AGENTS[0]}|{AGENTS[1]}"
        made.append(pair(name, first, second, said, line=n + 1, prompt=f"Cancel order {n}."))
    return made


def unquoted(shown: ReviewPair) -> ReviewPair:
    """What is quoted in a pair that `review` shows."""
    return shown.model_copy(
        update={
            name: "\n".join(line.removeprefix(QUOTE) for line in getattr(shown, name).split("\n")) for name in TEXTS
        }
    )


def better(shown: ReviewPair) -> Preference:
    """What a person says who sees which response cancelled the order: that one, or a tie of every fifth order."""
    number = int(shown.task.removeprefix("Cancel order ").removesuffix("."))
    if number % 5 == 0:
        return "tie"
    return "A" if "is cancelled" in shown.response_a else "B"


def done(text: str) -> Done:
    """What a person says of whether a response did the task."""
    return "yes" if "is cancelled" in text else "no"


def answered(shown: ReviewPair) -> GivenAnswer:
    """The whole answer of that person, to a pair that may be quoted."""
    shown = unquoted(shown)
    return GivenAnswer(shown.pair, better(shown), done(shown.response_a), done(shown.response_b))


def at_work(store: Store, reviewer: str, audit: str = "a") -> Session:
    return session(store, audit, reviewer)


def label_next(store: Store, of: Session, number: int = 1) -> list[ReviewPair]:
    """Label so many pairs, one after another; what was shown."""
    seen = []
    for _ in range(number):
        shown = blind_pairs(store, of, give_pairs(store, of, 1), str)
        if not shown:
            break
        record_answers(store, of, [answered(shown[0])], "mcp")
        seen += shown
    return seen


def label_rows(store: Store) -> list[dict[str, Any]]:
    """Labels and checks of people without their times and by which way they came in."""
    labels = rows(
        store,
        """SELECT label_id, pair_id, labeller, pref, source, stream, weight, order_shown FROM gold_labels
        WHERE came_by IS NOT NULL ORDER BY label_id""",
    )
    checks = rows(
        store,
        """SELECT check_id, trajectory_id, verifier, passed, stream, weight, review FROM checks
        WHERE review IS NOT NULL ORDER BY check_id""",
    )
    return [*labels, *checks]


def with_secret(store: Store, records: Sequence[Record], secret: str = "a secret", audit: str = "a") -> str:
    """Store the records in an audit whose lots are always the same; its id."""
    audit_id = stored(store, records, audit)
    with store.write() as connection:
        connection.exec_driver_sql(f"UPDATE audits SET secret = '{secret}' WHERE audit_id = '{audit_id}'")
    return audit_id


def of_every_interest(number: int) -> list[Record]:
    """Pairs in any order, each of four kinds as often: a failure that satisfied, a judge that turned, near, other."""
    found = []
    for n in Random(4).sample(range(number), number):
        kind = ("satisfied", "turned", "near", "other")[n % 4]
        checks = [passed(False)] if kind == "satisfied" else []
        scores = [satisfied(0.9)] if kind == "satisfied" else []
        a = episode("x", *checks, task=f"t{n}", said=messages("hi", "done"), satisfaction=scores)
        b = episode("y", task=f"t{n}", said=messages("hi", "no"), satisfaction=[satisfied(0.1)])
        said = [verdict("A", "AB"), verdict("B" if kind == "turned" else "A", "BA")]
        gap: dict[str, Any] = {"reward_gap": 0.05 if kind == "near" else 0.5, "gap_source": "ability"}
        found.append(pair(f"{kind} {n}", a, b, *said, line=n + 1, **gap))
    return found
