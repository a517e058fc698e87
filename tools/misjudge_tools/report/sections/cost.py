"""What the audit cost, by stage, and for what came of it."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.report.document import Book, Section, Table
from misjudge_tools.report.figures import NONE
from misjudge_tools.summary.deciding.cost_values import CostSection, StageCost
from misjudge_tools.summary.values import Sections

STAGES = (
    ("calls", "calls"),
    ("failed", "failed_calls"),
    ("retries", "retries"),
    ("cached", "cached"),
    ("tokens in", "input_tokens"),
    ("tokens out", "output_tokens"),
    ("cost", "cost"),
    ("a call", "cost_per_call"),
)
UNITS = (
    ("tokens, in and out", "/cost/tokens"),
    ("tokens for each task", "/cost/tokens_per_task"),
    ("cost in all", "/cost/total_cost"),
    ("agents", "/cost/agent_cost"),
    ("simulated users", "/cost/user_sim_cost"),
    ("judge", "/cost/judge_cost"),
    ("the judge's share", "/cost/judge_share"),
    ("cost for each task", "/cost/cost_per_task"),
    ("cost for each session that did its task", "/cost/cost_per_success"),
    ("of it agents and simulated users", "/cost/rollout_cost_per_success"),
    ("judge, for each pair that it got right", "/cost/cost_per_correct_selection"),
)
TOKENS = (
    ("calls", "calls"),
    ("tokens in", "input_tokens"),
    ("tokens out", "output_tokens"),
    ("calls that do not state theirs", "calls_without_usage"),
)
PARTS = {
    "rollout_cost_per_success": "cost of agents and simulated users for each such session",
    "dearest": "dearest judge sessions",
    "reconciliation": "comparison with a bill",
}
MOST_SESSIONS = 10


def cost(book: Book, sections: Sections, at: str) -> Section | None:
    """Stages, totals, and a provider's bill where one was given."""
    tables: list[Table] = []
    found = sections.cost
    if found is not None and found.stages:
        tables.append(stage_table(book, found, at))
    elif sections.tokens is not None and sections.tokens.by_role:
        roles = sections.tokens.by_role
        rows = tuple(book.row(book.say(role), f"{at}/tokens/by_role/{role}", dict(TOKENS).values()) for role in roles)
        tables.append(Table(book.head("role", *dict(TOKENS)), rows))
    if found is not None:
        units = book.known(at, UNITS)
        tables += [Table(book.head("what it comes to", "found"), units)] if units else []
        tables += _dearest(book, found, at)
        tables += _bill(book, found, at)
    if not tables:
        return None
    notes = () if found is None else (*cost_notes(book, found), *unknown(book, found))
    return Section("cost", book.say("Tokens and cost"), charts=("cost_by_role",), tables=tuple(tables), notes=notes)


def stage_table(book: Book, found: CostSection, at: str) -> Table:
    """A row for each stage, with whose prices it goes by."""
    prices = (", ".join(stage.price_basis) or NONE for stage in found.stages)
    labels = (book.say(stage.stage) for stage in found.stages)
    rows = book.rows(f"{at}/cost/stages", labels, dict(STAGES).values())
    priced = tuple((*row, price) for row, price in zip(rows, prices, strict=True))
    return Table(book.head("stage", *dict(STAGES), "price"), priced)


def cost_notes(book: Book, found: CostSection) -> Iterator[str]:
    """What the sums hold, and what they leave out."""
    yield book.say(
        "Retries and failed calls count as calls; a failed one has no known cost. Cached replies cost nothing."
    )
    for stage in found.stages:
        if stage.simulated_calls:
            yield _of_stage(
                book, stage, "{stage}: {n} of {all} calls asked no model and cost nothing.", stage.simulated_calls
            )
        if not stage.includes_retries:
            yield _of_stage(book, stage, "{stage}: as its source states it, maybe without retries.")
    yield from left_out(book, found)


def left_out(book: Book, found: CostSection) -> Iterator[str]:
    """What the sums leave out: calls whose price or tokens are not known."""
    for stage in found.stages:
        if stage.calls_without_price:
            yield _of_stage(book, stage, "{stage}: no cost is known of {n} of {all} calls.", stage.calls_without_price)
        if stage.calls_without_usage:
            yield _of_stage(
                book, stage, "{stage}: {n} of {all} calls do not state their tokens.", stage.calls_without_usage
            )
    if not found.complete and found.total_cost is not None:
        yield book.say("The total is a lower bound: it leaves out calls without a price.")


def unknown(book: Book, found: CostSection) -> Iterator[str]:
    """What of the cost is not known, each reason once with all that it is the reason of."""
    labels = {name.rpartition("/")[2]: label for label, name in UNITS} | PARTS
    names: dict[str, list[str]] = {}
    for name, why in found.why.items():
        names.setdefault(why, []).append(book.say(labels.get(name, name)))
    for why, these in names.items():
        yield book.say("Not known: {names}. {why}", names="; ".join(these), why=book.reason(why))


def _of_stage(book: Book, stage: StageCost, english: str, n: int = 0) -> str:
    return book.say(english, stage=book.say(stage.stage), n=n, all=stage.calls)


def _dearest(book: Book, found: CostSection, at: str) -> Iterator[Table]:
    labels = (f"{one.id} – {one.judge}" for one in found.dearest[:MOST_SESSIONS])
    rows = book.rows(f"{at}/cost/dearest", labels, ("cost", "calls", "input_tokens"))
    if rows:
        yield Table(book.head("dearest judge sessions", "cost", "calls", "tokens in"), rows)


def _bill(book: Book, found: CostSection, at: str) -> Iterator[Table]:
    if found.reconciliation is None:
        return
    names = ("billed", "estimated", "difference", "ratio")
    here = f"{at}/cost/reconciliation"
    models = book.rows(f"{here}/models", (one.model for one in found.reconciliation.models), names)
    totals = (
        book.row(book.say("in both"), f"{here}/matched", names),
        book.row(book.say("all"), f"{here}/total", names),
    )
    headings = book.head("model on the bill", "billed", "reckoned here", "difference", "ratio")
    yield Table(headings, (*models, *totals))
