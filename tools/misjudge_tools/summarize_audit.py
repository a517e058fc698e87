"""`summarize_audit`: the numbers of an audit, each with n, its interval, and what was left out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import get_args

from misjudge_storage.asked_records import AskedModels
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, NotFound
from misjudge_storage.summary_values import JudgeFacts
from misjudge_storage.types import Craft
from misjudge_tools.deps import Deps
from misjudge_tools.interchange.bill import read_bill
from misjudge_tools.requests import SummarizeRequest
from misjudge_tools.results import MARK_EPISODES, judged_mark, marks
from misjudge_tools.summary.assemble import sections_of
from misjudge_tools.summary.constant_answers import constant_warnings
from misjudge_tools.summary.counts import AuditCounts, pairs_judged
from misjudge_tools.summary.judged import Entry, Judged, entries
from misjudge_tools.summary.kinship import shared_warnings, stated_families
from misjudge_tools.summary.panel_counts import CascadeCounts
from misjudge_tools.summary.panel_section import escalation_warnings
from misjudge_tools.summary.parts import RUBRICS, is_part, only_rubric_parts, part_named
from misjudge_tools.summary.sections import (
    PICKED_ONLY,
    picked_warnings,
    silent_warnings,
    trouble_warnings,
    unfinished_warnings,
)
from misjudge_tools.summary.values import AuditSummary, SectionName, Sections

SECTIONS: tuple[str, ...] = get_args(SectionName)


async def summarize_audit(request: SummarizeRequest, deps: Deps) -> AuditSummary:
    """Summarise one audit: of its one judge, of the one asked for, or of all. Raises NotFound or InvalidInput."""
    return await asyncio.to_thread(summarize, request, deps.store, stated_families(deps.models), deps.roots)


def summarize(
    request: SummarizeRequest,
    store: Store,
    families: Mapping[str, str] = {},
    roots: Sequence[Path] | None = None,
) -> AuditSummary:
    """As `summarize_audit`, in this thread. `families` are those that are stated of models (see `stated_families`);
    a bill is read below `roots`, where they are given.
    """
    refuse_contradictions(request)
    bill = None if request.bill is None else read_bill(request.bill, roots)
    with store.read() as connection:
        return summary_of(AuditCounts(connection, request, families, bill))


def refuse_contradictions(request: SummarizeRequest) -> None:
    """Raises InvalidInput for a question that no audit could answer."""
    _refuse_unknown(request.sections or ())
    if request.judge is not None and request.panel is not None:
        raise InvalidInput("Choose one judge (judge=LABEL) or a panel of several (panel=[LABEL, …]), not both.")


def summary_of(counts: AuditCounts) -> AuditSummary:
    """The summary that these counts were asked for."""
    request = counts.question
    found = entries(counts)
    chosen = _choose(counts, found, request)
    sections = sections_of(Judged(counts, chosen), _names(request))
    return AuditSummary(
        audit=request.audit,
        marked=_marked(Judged(counts, chosen)),
        judge=chosen.label if chosen else None,
        warnings=(
            *unfinished_warnings(counts.unfinished),
            *silent_warnings([judge.label for judge in counts.judges if judge.judge_id in counts.silent]),
            *trouble_warnings(counts.troubled),
            *([PICKED_ONLY] if counts.picked_only else []),
            *picked_warnings(counts.picked_pairs, counts.pairs.decidable),
            *shared_warnings(_asked(counts, chosen), counts.families),
            *constant_warnings(_paired(counts, chosen), counts.groups),
            *_cascade_warnings(counts, chosen),
            *_probed_warnings(counts, chosen),
        ),
        judges=None if chosen or not found or _only_rubrics(request) else _side_by_side(counts, found, request),
        **dict(_only(sections, request)),
    )


def _probed_warnings(counts: AuditCounts, chosen: Entry | None) -> Iterator[str]:
    """Of a summary of the one judge that judged: where to find those that were merely probed."""
    judged = {judge.label for judge in counts.judged}
    if chosen is not None and chosen.judge in judged:
        probed = {judge.label for judge in counts.judges if judge.judge_id in counts.probes}
        for label in sorted(probed - judged):
            see = f"see its probes with judge={label} (--judge {quote(label)})"
            yield f"Judge {label} was probed here and judged nothing: {see}."


def _cascade_warnings(counts: AuditCounts, chosen: Entry | None) -> Iterator[str]:
    if counts.panel is None:
        return
    pairs = pairs_judged(counts.groups)
    by_label = {judge.label: pairs.get(judge.judge_id, 0) for judge in counts.judges if judge.form == "pairwise"}
    escalated = counts.panel.cascade
    if chosen is None or (isinstance(escalated, CascadeCounts) and chosen.judge in escalated.panel):
        yield from escalation_warnings(escalated, by_label)


def _asked(counts: AuditCounts, chosen: Entry | None) -> AskedModels:
    """The models that the summary is about."""
    if chosen is None:
        return counts.asked
    return counts.asked._replace(judges=tuple(judge for judge in counts.asked.judges if judge.label == chosen.judge))


def _paired(counts: AuditCounts, chosen: Entry | None) -> list[JudgeFacts]:
    """The judges of pairs that the summary is of."""
    named = [judge for judge in counts.judges if chosen is None or judge.label == chosen.judge]
    return [judge for judge in named if judge.form == "pairwise"]


def _marked(of: Judged) -> str | None:
    """What of it is made up: the verdicts of the judges it is of, what was written and matched, and the episodes."""
    counts = of.counts
    made_up = [judge.simulated for judge in counts.judges if judge.judge_id in of.ids]
    if of.alone and counts.rubrics is not None:
        made_up += [actor.simulated for actor in counts.rubrics.actors if actor.form in get_args(Craft)]
    judged = judged_mark(sum(made_up), len(made_up))
    return marks(judged, MARK_EPISODES if counts.simulated_episodes else None)


def _side_by_side(counts: AuditCounts, found: Sequence[Entry], request: SummarizeRequest) -> dict[str, Sections]:
    return {
        entry.label: _only(sections_of(Judged(counts, entry, beside=True), _names(request)), request) for entry in found
    }


def _names(request: SummarizeRequest) -> set[str]:
    """The sections asked for, whole or in part; none: all."""
    return {part_named(name).section if is_part(name) else name for name in request.sections or ()}


def _choose(counts: AuditCounts, found: Sequence[Entry], request: SummarizeRequest) -> Entry | None:
    """The entry asked for, else that of the only judge. One that was merely probed counts only where nothing but probes
    is asked for.
    """
    if request.judge is None:
        judged = {judge.label for judge in (counts.judges if _only_probes(request) else counts.judged)}
        only = [entry for entry in found if entry.judge in judged]
        return only[0] if len(only) == 1 else None
    for entry in found:
        if entry.label == request.judge:
            return entry
    known = f"Its labels are: {', '.join(entry.label for entry in found)}." if found else "It has no judge yet."
    raise NotFound(f"Audit {request.audit!r} has no judge {request.judge!r}. {known}")


def _only_probes(request: SummarizeRequest) -> bool:
    return {*(request.sections or ())} == {"probes"}


def _only_rubrics(request: SummarizeRequest) -> bool:
    """Whether nothing is asked for that is said of each judge."""
    return _names(request) == {RUBRICS}


def _only(sections: Sections, request: SummarizeRequest) -> Sections:
    """Only the parts of the rubrics that were asked for; other sections make no more than that."""
    if not request.sections or sections.rubrics is None:
        return sections
    return sections.model_copy(update={"rubrics": only_rubric_parts(sections.rubrics, request.sections)})


def _refuse_unknown(wanted: Sequence[str]) -> None:
    for part in filter(is_part, wanted):
        part_named(part)
    unknown = sorted({name for name in wanted if not is_part(name)} - set(SECTIONS))
    if unknown:
        raise InvalidInput(f"There is no section {unknown[0]!r}. Sections are: {', '.join(SECTIONS)}.")
