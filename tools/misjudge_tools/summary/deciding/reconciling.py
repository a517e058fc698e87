"""A provider's bill against the costs that were reckoned of an audit's calls. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from misjudge_storage.cost_counts import CallGroup, known_sum
from misjudge_tools.interchange.bill import Bill, BilledModel
from misjudge_tools.summary.deciding.cost_values import Compared, ModelBill, Reconciliation

_DATED = re.compile(r"([-@]\d{8}|[-@]\d{4}-\d{2}-\d{2}|-latest)$")


class _Reckoned(NamedTuple):
    calls: int
    cost: float | None
    without_price: int


def reconciled(bill: Bill, groups: Sequence[CallGroup]) -> Reconciliation:
    """Model by model; simulated calls are not billed by anyone."""
    paid = [group for group in groups if group.calls and not group.simulated]
    here = {
        model: _reckoned(group for group in paid if group.model == model) for model in sorted({g.model for g in paid})
    }
    billed = {one.model: one for one in bill.models}
    names = _matches(billed, here)
    rows = [
        *(_row(name, billed[name], here.get(names.get(name, ""))) for name in billed),
        *(_row(name, None, here[name]) for name in here if name not in names.values()),
    ]
    matched = [row for row in rows if row.only_in is None]
    days = [day for group in paid for day in (group.first_day, group.last_day) if day is not None]
    return Reconciliation(
        models=tuple(rows),
        matched=_sum(matched),
        total=_sum(rows),
        rows=bill.rows,
        rows_left_out=bill.left_out,
        bill_first_day=bill.first_day,
        bill_last_day=bill.last_day,
        calls_first_day=min(days, default=None),
        calls_last_day=max(days, default=None),
    )


def _reckoned(groups: Iterable[CallGroup]) -> _Reckoned:
    of_model = list(groups)
    return _Reckoned(
        sum(one.calls for one in of_model),
        known_sum(one.cost for one in of_model),
        sum(one.without_price for one in of_model),
    )


def _matches(billed: Mapping[str, object], here: Mapping[str, object]) -> dict[str, str]:
    """The bill's name of a model → ours: the same name, else the only one that differs by provider or date alone."""
    found = {name: name for name in billed if name in here}
    open_here = [name for name in here if name not in found]
    open_billed = [name for name in billed if name not in found]
    ours, theirs = (Counter(map(_bare, names)) for names in (open_here, open_billed))
    by_bare = {_bare(name): name for name in open_here}
    for name in open_billed:
        bare = _bare(name)
        if ours[bare] == theirs[bare] == 1:
            found[name] = by_bare[bare]
    return found


def _bare(model: str) -> str:
    return _DATED.sub("", model.casefold().rpartition("/")[2])


def _row(name: str, billed: BilledModel | None, here: _Reckoned | None) -> ModelBill:
    unpriced = here.without_price if here else 0
    compared = _compared(billed.usd if billed else None, here.cost if here else None, unpriced)
    return ModelBill(
        **dict(compared),
        model=name,
        calls=here.calls if here else None,
        billed_calls=billed.calls if billed else None,
        only_in="audit" if billed is None else "bill" if here is None else None,
    )


def _compared(billed: float | None, estimated: float | None, unpriced: int) -> Compared:
    return Compared(
        billed=billed,
        estimated=estimated,
        difference=None if billed is None or estimated is None else billed - estimated,
        ratio=None if billed is None or not estimated else billed / estimated,
        calls_without_price=unpriced,
    )


def _sum(rows: Sequence[ModelBill]) -> Compared:
    return _compared(
        known_sum(row.billed for row in rows),
        known_sum(row.estimated for row in rows),
        sum(row.calls_without_price for row in rows),
    )
