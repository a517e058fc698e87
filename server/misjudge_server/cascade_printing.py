"""What a cascade came to, as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from misjudge_tools.results import CascadeReport, RolePlan, RunReport


def cascade_lines(run: RunReport) -> Iterator[str]:
    """Who decided about how many pairs, and what that saved; of a plan, about how many the panel is asked for certain.

    No line where the run is no cascade.
    """
    found = run.cascade
    if found is None:
        return
    number = sum(found.escalated.values())
    why = f" ({_reasons(found)})" if number else ""
    pairs = "1 pair" if found.pairs == 1 else f"{found.pairs} pairs"
    if run.state == "planned":
        yield f"cascade: {found.judge} first; for certain the panel is asked about {number} of {pairs}{why}"
        return
    calls = "1 call" if found.calls_saved == 1 else f"{found.calls_saved} calls"
    worth = f", about {found.usd_saved:.4f} USD" if found.usd_saved else ""
    yield (
        f"cascade: {found.decided} of {pairs} decided by {found.judge} alone; panel asked about {number}{why}: "
        f"{calls} saved{worth}"
    )


def _reasons(found: CascadeReport) -> str:
    return ", ".join(f"{number} {reason.replace('_', ' ')}" for reason, number in found.escalated.items())


def planned_calls(run: RunReport) -> str:
    """How many calls a plan takes; of a cascade, how many at least and at most; of one that stops early, at most."""
    if run.pairs_saved is not None:
        return f"{run.total} calls at most"
    most = sum(use.calls for use in run.plan)
    return f"{run.total} calls" if run.cascade is None or most <= run.total else f"{run.total} to {most} calls"


def is_exact(run: RunReport, use: RolePlan) -> bool:
    """Whether a judge of a plan gets just so many calls, as no panel of a cascade does, nor one that may stop early."""
    if run.pairs_saved is not None:
        return False
    return run.cascade is None or use.form != "pairwise" or use.model == run.cascade.judge
