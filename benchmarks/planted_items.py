"""Pairs of every kind that a planted judge can tell apart, and what it goes by when it is shown them. Pure.

The facts come from real texts, changed by the real probes, so nothing about the probes is assumed here.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from misjudge_storage.judging_records import PairSubject
from misjudge_storage.types import Message, Order, Preference, Side, Task, ToolCall
from misjudge_tools.gateway.simulated_bias import Draw, Facts, SimulatedBias, Truth, decide, facts_of
from misjudge_tools.judging.pairing import transcript
from misjudge_tools.probing.perturb import perturb
from misjudge_tools.probing.variants import Variant

MODEL = "simulated-judge"
SIDES: tuple[Side, Side] = ("A", "B")
OTHER_SIDE: dict[Side, Side] = {"A": "B", "B": "A"}
OWN, OTHER = "qwen", "openai"
"""Families: that of the judge, and that of every other side."""
CRITERIA = "The order was looked up. The refund was entered with the right amount. The customer knows when it comes."
ANSWER = (
    "The order was found in the system under the number that was given, and it was delivered two weeks ago. "
    "The return came in last Friday and passed its inspection. The refund of 24.90 was entered for the original card, "
    "and the bank needs three to five working days for it. A note of this was sent to the address on file, "
    "with the number of the refund in it. The voucher that was used for the order is valid again, until the end of the "
    "year, and it can be entered at the next checkout as before. No fee was taken for the return, since the item came "
    "back with its label and within the thirty days that the policy allows."
)
LONGER = (
    " The parcel left the warehouse in the morning, went through the sorting centre at night, and reached the shop "
    "on the third day, where it was scanned, opened, and put back on the shelf for the next one who asks for it. "
    "The shelf is in the second aisle, next to the items of the same kind, which are sorted by size and by colour, "
    "and it is checked every evening against the list of what should be there."
)
POLITE = " Sorry for the wait, and thanks."


class Kind(NamedTuple):
    """What a pair is like: the side that did the job (a tie: both), the longer one, the politer one, and the one of
    the judge's own family; None where there is none.
    """

    better: Preference
    longer: Side | None = None
    politer: Side | None = None
    own: Side | None = None


class Mix(NamedTuple):
    """One sort of task: how common it is, and how likely each kind of pair is in it."""

    weight: float
    kinds: dict[Kind, float]


class Labelled(NamedTuple):
    """The facts of what stands under each label."""

    a: Facts
    b: Facts


def _alike(*kinds: Kind) -> dict[Kind, float]:
    return {kind: 1 / len(kinds) for kind in kinds}


_OWN: tuple[Side | None, ...] = (None, "A", "B")
MIXES = (
    # The side that failed talks more, or more politely, or both, or neither.
    Mix(
        0.4,
        _alike(
            *(
                Kind(better, longer, politer, own)
                for better in SIDES
                for longer, politer in product((OTHER_SIDE[better], None), repeat=2)
                for own in _OWN
            )
        ),
    ),
    # Both say the same of what only one of them did.
    Mix(0.4, _alike(*(Kind(better, own=own) for better in SIDES for own in _OWN))),
    # Both did the job.
    Mix(0.2, _alike(*(Kind("tie", politer=politer) for politer in SIDES))),
)


def task_of(task_id: str) -> Task:
    """The task that every pair is about."""
    return Task(
        task_id=task_id, prompt="I want my money back for order 1204.", success_criteria=CRITERIA, language="en"
    )


def said_by(kind: Kind, side: Side) -> tuple[Message, ...]:
    """What a side of such a pair says and does."""
    answer = ANSWER + LONGER * (kind.longer == side) + POLITE * (kind.politer == side)
    return (
        Message(role="assistant", content="", tool_calls=(ToolCall(name="find_order", arguments='{"order": 1204}'),)),
        Message(role="tool", content='{"order": 1204, "state": "delivered", "returned": true}'),
        Message(role="assistant", content=answer),
    )


def truth_of(kind: Kind, side: Side) -> Truth:
    """What the judge is told of a side."""
    return Truth(success=kind.better in (side, "tie"), family=OWN if kind.own == side else OTHER)


def subject_of(kind: Kind, pair_id: str) -> PairSubject:
    """Such a pair as a judge would see it, were nothing changed."""
    return PairSubject(pair_id, task_of(f"task of {pair_id}"), said_by(kind, "A"), said_by(kind, "B"))


def facts_under(bias: SimulatedBias, kind: Kind, pair_id: str, variant: Variant, order: Order) -> Labelled:
    """The facts of such a pair, changed and shown in this order. Raises ValueError where it cannot be changed so."""
    changed = perturb(subject_of(kind, pair_id), variant)
    if changed is None:
        raise ValueError(f"{variant} changes nothing here")
    a, b = (
        facts_of(bias, MODEL, transcript(changed.task, messages), truth_of(kind, side))
        for side, messages in zip(SIDES, (changed.a, changed.b), strict=True)
    )
    return Labelled(a, b) if order == "AB" else Labelled(b, a)


def verdict(bias: SimulatedBias, draw: Draw, facts: Labelled, order: Order) -> Preference:
    """What the judge says of it, in terms of the pair's sides."""
    named = decide(bias, draw, facts.a, facts.b)
    return named if order == "AB" or named == "tie" else OTHER_SIDE[named]
