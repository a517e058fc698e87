"""What an audit cost, as text for people: by stage, for what came of it, the dearest sessions, against a bill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from misjudge_server.console import console, percent, usd
from misjudge_server.side_by_side import Layout, Row, first_that_fits, side_by_side
from misjudge_tools.summary.deciding.cost_values import (
    Compared,
    CostSection,
    DearSession,
    ModelBill,
    Reconciliation,
    StageCost,
)

STAGES = ("calls", "failed", "retries", "cached", "tokens\nin", "tokens\nout", "USD", "USD\na call", "price")
FIRST_OUT = ("price", "USD\na call", "cached", "retries", "failed")
"""Columns of stages that a narrow terminal goes without, the first one first; --json has all."""
SESSIONS = ("USD", "calls", "judge", "tokens\nin", "tokens\nout")
BILL = ("billed", "estimated", "differ-\nence", "ratio", "calls\nhere", "billed\ncalls")
UNIT_COSTS = (
    ("for each trajectory that did its task", "cost_per_success"),
    ("of it agents and simulated users", "rollout_cost_per_success"),
    ("judge of pairs, all its calls, for each pair that it got right", "cost_per_correct_selection"),
)
STAGE_WIDTH = 16
BILL_WIDTH = 20
SESSION_WIDTH = 30


def print_cost(found: CostSection) -> None:
    """The table of stages, the totals, the dearest sessions, the bill, and what is missing."""
    for part in cost_parts(found):
        console.print(part)


def cost_parts(found: CostSection) -> Iterator[Table | Text]:
    """As `print_cost`, in its parts."""
    if found.stages:
        yield _stages(found.stages)
        yield from (Text(line, "dim") for line in _left_out(found.stages))
    for name, value in cost_lines(found):
        yield Text(f"{name}: {value}")
    if found.dearest:
        yield _dearest(found.dearest)
    if found.reconciliation is not None:
        yield from _bill(found.reconciliation)
    for why, names in _missing(found).items():
        yield Text(f"{names}: {why}", "dim")


def cost_lines(found: CostSection) -> Iterator[tuple[str, str]]:
    """The total, the judge's share of it, and what came of it; only what is known."""
    if found.total_cost is not None:
        yield "total", f"{'' if found.complete else 'at least '}{usd(found.total_cost)} USD"
    if found.judge_share is not None and found.total_cost is not None:
        known = "" if found.complete else " that are known"
        share = f"{percent(found.judge_share)} of {usd(found.total_cost)} USD{known}"
        yield "judge", f"{_at_least(found, 'judge_cost')}{usd(found.judge_cost)} USD, {share}"
    counts = {"cost_per_correct_selection": found.right}
    for label, name in UNIT_COSTS:
        cost: float | None = getattr(found, name)
        if cost is not None:
            yield label, f"{_at_least(found, name)}{usd(cost)} USD (of {counts.get(name, found.succeeded)})"


def _at_least(found: CostSection, name: str) -> str:
    """What a cost is called that leaves out calls without a price."""
    return "at least " if name in found.at_least else ""


def _stages(stages: Sequence[StageCost]) -> Table:
    said = [name for name in STAGES if name not in {"failed", "retries", "cached"} or _any(stages, name)]
    rows: dict[str, dict[str, str]] = {stage.stage: dict(zip(STAGES, _cells(stage), strict=True)) for stage in stages}
    layouts = [Layout(said, {label: [cells[name] for name in said] for label, cells in rows.items()})]
    for needless in FIRST_OUT:
        said = [name for name in said if name != needless]
        layouts.append(Layout(said, {label: [cells[name] for name in said] for label, cells in rows.items()}))
    layout = first_that_fits(*layouts, label_width=STAGE_WIDTH)
    return side_by_side("Cost by stage", layout.headings, layout.rows, first="stage", label_width=STAGE_WIDTH)


def _any(stages: Sequence[StageCost], heading: str) -> bool:
    field = {"failed": "failed_calls"}.get(heading, heading)
    return any(getattr(stage, field) for stage in stages)


def _cells(stage: StageCost) -> Sequence[str]:
    return (
        str(stage.calls),
        str(stage.failed_calls),
        str(stage.retries),
        str(stage.cached),
        _number(stage.input_tokens),
        _number(stage.output_tokens),
        usd(stage.cost),
        usd(stage.cost_per_call),
        ",\n".join(stage.price_basis) or "–",
    )


def _left_out(stages: Sequence[StageCost]) -> Iterator[str]:
    """What the costs of stages hold, and what they leave out."""
    for stage in stages:
        price = f", price: {', '.join(stage.price_basis)}" if stage.price_basis else ""
        simulated = f", {stage.simulated_calls} simulated" if stage.simulated_calls else ""
        unpriced = stage.calls_without_price
        missing = f", cost not known of {unpriced} of {stage.calls} calls{simulated}" if unpriced else ""
        retries = "" if stage.includes_retries else ", stated by the source, maybe without retries"
        if price or missing or retries:
            yield f"{stage.stage}{price}{missing}{retries}"
    yield "Retries and failed calls count as calls; a failed one has no known cost. Cached replies cost nothing."


def _dearest(sessions: Sequence[DearSession]) -> Table:
    rows = [
        Row(
            f"{one.of} {one.id}",
            (usd(one.cost), str(one.calls), one.judge, _number(one.input_tokens), _number(one.output_tokens)),
        )
        for one in sessions
    ]
    whole = Layout(SESSIONS, rows)
    narrow = Layout(SESSIONS[:3], [Row(label, cells[:3]) for label, cells in rows])
    layout = first_that_fits(whole, narrow, label_width=SESSION_WIDTH)
    title = "Dearest judge sessions"
    return side_by_side(title, layout.headings, layout.rows, first="judged", label_width=SESSION_WIDTH)


def _bill(found: Reconciliation) -> Iterator[Table | Text]:
    models = [
        Row(_model(one), (*_compared(one), _number(one.calls), _number(one.billed_calls))) for one in found.models
    ]
    totals = [Row("in both", (*_compared(found.matched), "", "")), Row("all", (*_compared(found.total), "", ""))]
    rows = [*models, *totals]
    narrow = Layout(BILL[:4], [Row(label, cells[:4]) for label, cells in rows])
    layout = first_that_fits(Layout(BILL, rows), narrow, label_width=BILL_WIDTH)
    title = "Bill against the costs reckoned here (USD)"
    yield side_by_side(title, layout.headings, layout.rows, first="model", label_width=BILL_WIDTH)
    if unpriced := found.total.calls_without_price:
        calls = f"{unpriced} of the calls here have" if unpriced > 1 else "1 of the calls here has"
        yield Text(f"≥, ≤: {calls} no known price, so that less is estimated than was used.", "yellow")
    left_out = f", {found.rows_left_out} of them without a model or a cost left out" if found.rows_left_out else ""
    bill_days, days = (
        f" from {first} to {last}" if first and last else ""
        for first, last in (
            (found.bill_first_day, found.bill_last_day),
            (found.calls_first_day, found.calls_last_day),
        )
    )
    yield Text(f"Bill: {found.rows} rows{left_out}{bill_days}. Calls here{days or ': none'}.", "dim")


def _model(one: ModelBill) -> str:
    return one.model if one.only_in is None else f"{one.model} (only in the {one.only_in})"


def _compared(one: Compared) -> Sequence[str]:
    ratio = "–" if one.ratio is None else f"{one.ratio:.3f}"
    least, most = ("≥ ", "≤ ") if one.calls_without_price else ("", "")
    cells = ((least, usd(one.estimated)), (most, usd(one.difference)), (most, ratio))
    return usd(one.billed), *(cell if cell == "–" else f"{bound}{cell}" for bound, cell in cells)


def _missing(found: CostSection) -> dict[str, str]:
    """Why → the names of what is missing for just that reason."""
    names: dict[str, list[str]] = {}
    for name, why in found.why.items():
        names.setdefault(why, []).append(name)
    return {why: ", ".join(these) for why, these in names.items()}


def _number(count: int | None) -> str:
    return "–" if count is None else str(count)
