"""`summarize_audit`: the numbers of an audit, each with n, its interval, and what was left out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import get_args

from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_tools.deps import Deps
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK_EPISODES, judged_mark, marks
from misjudge_tools.summary.assemble import Entry, audit_sections, entries, judge_sections
from misjudge_tools.summary.counts import AuditCounts, read_counts
from misjudge_tools.summary.sections import trouble_warnings, unfinished_warnings
from misjudge_tools.summary.values import AuditSummary, SectionName, Sections

SECTIONS: tuple[str, ...] = get_args(SectionName)


async def summarize_audit(request: SummarizeRequest, deps: Deps) -> AuditSummary:
    """Summarise one audit: of its one judge, of the one asked for, or of all. Raises NotFound or InvalidInput."""
    return await asyncio.to_thread(summarize, request, deps.store)


def summarize(request: SummarizeRequest, store: Store) -> AuditSummary:
    """As `summarize_audit`, in this thread."""
    _refuse_unknown(request.sections or ())
    counts = read_counts(store, request.audit)
    found = entries(counts)
    chosen = _choose(found, request)
    sections = judge_sections(counts, chosen) if chosen else audit_sections(counts)
    return AuditSummary(
        audit=request.audit,
        marked=_marked(counts, chosen),
        judge=chosen.label if chosen else None,
        warnings=(*unfinished_warnings(counts.unfinished), *trouble_warnings(counts.agents)),
        judges=None if chosen or not found else _side_by_side(counts, found, request),
        **dict(_only(sections, request)),
    )


def _marked(counts: AuditCounts, chosen: Entry | None) -> str | None:
    """What of it is made up: the verdicts of the judges it is of, and the episodes."""
    made_up = [judge.simulated for judge in counts.judges if chosen is None or judge.label == chosen.judge]
    judged = judged_mark(sum(made_up), len(made_up))
    return marks(judged, MARK_EPISODES if counts.simulated_episodes else None)


def _side_by_side(counts: AuditCounts, found: Sequence[Entry], request: SummarizeRequest) -> dict[str, Sections]:
    return {entry.label: _only(judge_sections(counts, entry, beside=True), request) for entry in found}


def _choose(found: Sequence[Entry], request: SummarizeRequest) -> Entry | None:
    if request.judge is None:
        return found[0] if len(found) == 1 else None
    for entry in found:
        if entry.label == request.judge:
            return entry
    known = f"Its labels are: {', '.join(entry.label for entry in found)}." if found else "It has no judge yet."
    raise NotFound(f"Audit {request.audit!r} has no judge {request.judge!r}. {known}")


def _only(sections: Sections, request: SummarizeRequest) -> Sections:
    """Only the sections asked for; companions such as pass_hat_k_intervals go with theirs."""
    if not request.sections:
        return sections
    wanted = tuple(request.sections)
    sectional = Sections.model_fields.keys() - {"simulated", "provenance", "why"}
    dropped = [name for name in sectional if not name.startswith(wanted)]
    why = {name: reason for name, reason in sections.why.items() if name in wanted}
    return sections.model_copy(update={**dict.fromkeys(dropped), "why": why})


def _refuse_unknown(wanted: Sequence[str]) -> None:
    unknown = sorted(set(wanted) - set(SECTIONS))
    if unknown:
        raise InvalidInput(f"There is no section {unknown[0]!r}. Sections are: {', '.join(SECTIONS)}.")
