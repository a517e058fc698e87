"""What is asked of a judge to see what it can be fooled by: which pairs, in which order, changed on which side. Pure.

An item is a pair in one order. It is asked twice as it is, and once under each probe that can change it; all of that
follows from the audit's seed, never from a verdict, so that more items or more probes leave those before as they are.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from misjudge_storage.hashing import digest
from misjudge_storage.judging_records import PairSubject, Subject
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Order, Side
from misjudge_tools.judging.prompts import Language
from misjudge_tools.probing.perturb import perturb
from misjudge_tools.probing.variants import BASELINE, SIDELESS, Aim, Variant
from misjudge_tools.runs.plan import OPPOSITE, OrdersOf, in_random_order

PROBE: Final = "probe"
"""The kind of the cells that probe a judge."""
BASELINE_REPEATS = 2
"""The second tells how often the judge changes its own verdict."""
SIDES: Final[tuple[Side, Side]] = ("A", "B")
_LANGUAGES: Mapping[str, Language] = {"en": "en", "english": "en", "zh": "zh", "chinese": "zh", "中文": "zh"}

SideOf = Callable[[str, str], Side]
"""Which side of a pair a probe changes."""


class Asked(NamedTuple):
    """Which judge is asked under which probes; `language` is that of the texts where a task names none of them.

    `unseen` are probes that change what the judge's prompt does not show. `aim` says how `side_of` chooses.
    """

    audit_id: str
    judge_id: str
    probes: Sequence[str]
    language: Language
    orders: OrdersOf
    side_of: SideOf
    unseen: frozenset[str] = frozenset()
    aim: Aim | None = None


class ProbePlan(NamedTuple):
    """The cells, the pairs that they are of, and by probe how many of the pairs given it cannot change."""

    cells: tuple[PlannedCell, ...]
    items: int
    not_applicable: Mapping[str, int]


def in_item_order(seed: int, pairs: Sequence[Subject]) -> list[str]:
    """Ids of the pairs: tasks in the audit's random order, the first pair of each before the second ones of any."""
    task_of = {pair.subject_id: pair.task_id for pair in pairs}
    by_task: defaultdict[str, list[str]] = defaultdict(list)
    for pair_id in in_random_order(seed, pairs):
        by_task[task_of[pair_id]].append(pair_id)
    mixed = [sorted(found, key=lambda pair_id: digest("item", [seed, pair_id])) for found in by_task.values()]
    return [pair_id for turn in zip_longest(*mixed) for pair_id in turn if pair_id is not None]


def drawn_side(seed: int) -> SideOf:
    """Either side, by a coin of the audit's seed, the pair and the probe."""
    return lambda pair_id, probe: SIDES[int(digest("side", [seed, pair_id, probe])[-1], 16) % 2]


def language_of(stated: str | None, otherwise: Language) -> Language:
    """The language of a task that says so, as `zh-CN` or `English`; another one where it is none of ours."""
    first = re.split(r"[-_ ]", (stated or "").strip().lower(), maxsplit=1)[0]
    return _LANGUAGES.get(first, otherwise)


def plan_probes(asked: Asked, subjects: Iterable[PairSubject]) -> ProbePlan:
    """The cells of these pairs, pair by pair, so that what is done of a plan that ends early is whole items.

    A pair that no probe can change is no item.
    """
    cells: list[PlannedCell] = []
    missing = Counter(dict.fromkeys(asked.probes, 0))
    items = 0
    for subject in subjects:
        variants = [_variant(asked, subject, probe) for probe in asked.probes]
        changing = [variant for variant in variants if _changes(asked, subject, variant)]
        missing.update(variant.probe for variant in variants if variant not in changing)
        items += bool(changing)
        cells.extend(_cells_of(asked, subject, changing) if changing else ())
    return ProbePlan(tuple(cells), items, {probe: number for probe, number in missing.items() if number})


def _changes(asked: Asked, subject: PairSubject, variant: Variant) -> bool:
    return variant.probe not in asked.unseen and perturb(subject, variant) is not None


def _variant(asked: Asked, subject: PairSubject, probe: str) -> Variant:
    side = None if probe in SIDELESS else asked.side_of(subject.pair_id, probe)
    aim = None if side is None else asked.aim
    return Variant(probe, language_of(subject.task.language, asked.language), side, aim)


def _cells_of(asked: Asked, subject: PairSubject, changing: Sequence[Variant]) -> Iterator[PlannedCell]:
    (order,) = asked.orders(subject.pair_id, 0)
    for repeat in range(BASELINE_REPEATS):
        yield _cell(asked, subject, order, repeat, _variant(asked, subject, BASELINE))
    for variant in changing:
        yield _cell(asked, subject, OPPOSITE[order] if variant.probe == "swapped_order" else order, 0, variant)


def _cell(asked: Asked, subject: PairSubject, order: Order, repeat: int, variant: Variant) -> PlannedCell:
    pair_id, stored = subject.pair_id, str(variant)
    identity = digest("probe", [asked.audit_id, asked.judge_id, pair_id, order, repeat, stored])
    return PlannedCell(identity, PROBE, asked.judge_id, pair_id, None, order, repeat, variant=stored)
