"""`probe_judge`: what a judge can be fooled by, as changes of stored pairs that must not matter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import judging_records, run_records
from misjudge_storage.errors import InvalidInput
from misjudge_storage.judging_records import AuditRow, PairSubject
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.types import Side
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.ways import asked_at
from misjudge_tools.judge import named_pairs, stored_label
from misjudge_tools.judging.choice import JudgingSpec, judge_of, template_of
from misjudge_tools.judging.prompt_warnings import prompt_warnings
from misjudge_tools.probing.plan import Asked, ProbePlan, SideOf, drawn_side, in_item_order, plan_probes
from misjudge_tools.probing.variants import PROBES, ProbeName
from misjudge_tools.requests import ProbeRequest
from misjudge_tools.results import ProbeResult, RunReport, judged_mark
from misjudge_tools.runs import planning
from misjudge_tools.runs import report as runs
from misjudge_tools.runs.judges import asked_judge
from misjudge_tools.runs.plan import balanced_orders
from misjudge_tools.runs.reply_warnings import reply_warnings
from misjudge_tools.runs.spec import RunSpec
from misjudge_tools.stats.rates import NoData
from misjudge_tools.summary.probes import probes_section
from misjudge_tools.summary.values import ProbesSection

OPERATION = "probe_judge"
CHUNK = 64
"""Pairs whose transcripts are in memory at a time."""
GOING_ON = frozenset({"planned", *runs.OPEN_STATES})
OTHER_SIDE: dict[Side, Side] = {"A": "B", "B": "A"}
_UNSEEN = "no criteria are shown by the judge's own prompt"
_NO_ANSWER = "the changed side answers nothing"
_NO_PROSE = "the changed side answers nothing, or no sentence that words may stand around"
_MISSING: Mapping[str, str] = {
    "criteria_order": "no criteria are stated, or no two that could change places",
    "injected_tool": "the changed side has no tool result, or answers nothing",
    "injected_user": _NO_ANSWER,
}
"""Why a probe has nothing to change; `perturb` decides it."""


class _Probing(NamedTuple):
    """A planned probing: whom it asks, what of which pairs, and what to know of that."""

    spec: JudgingSpec
    plan: ProbePlan
    warnings: tuple[str, ...]

    @property
    def run(self) -> planning.Plan:
        return planning.Plan(RunSpec(judges=(self.spec,)), self.plan.cells)


async def probe_judge(request: ProbeRequest, deps: Deps) -> ProbeResult:
    """Ask the judge about pairs as they are, twice, and changed; how often its verdict moves beyond its own repeats.

    What is stored is not asked again. Raises MissingKey, NotFound, InvalidInput before anything is asked.
    """
    probing = await asyncio.to_thread(_plan, request, deps)
    if request.dry_run:
        run = await asyncio.to_thread(planning.planned_report, deps, OPERATION, request, probing.run)
        return await asyncio.to_thread(_result, deps, probing, run, len(probing.plan.cells) - run.total)
    planned = await asyncio.to_thread(planning.store_plan, deps, OPERATION, request, probing.run)
    run = await runs.carry_out(deps, planned.run_id, request.wait_s)
    return await asyncio.to_thread(_result, deps, probing, run, planned.already_stored)


def _plan(request: ProbeRequest, deps: Deps) -> _Probing:
    spec = asked_judge(request, "pairwise", deps)
    probes: list[ProbeName] = [probe for probe in PROBES if request.probes is None or probe in request.probes]
    with deps.store.read() as connection:
        audit = judging_records.read_audit(connection, request.audit)
        there = _pairs(request, connection, audit)
        better = judging_records.better_sides(connection, audit.audit_id) if request.side == "failed" else None
        if better is not None:
            there = _decidable(there, better)
        items = there if _takes_all(request) else there[: request.items]
        asked = Asked(
            audit_id=audit.audit_id,
            judge_id=judge_fingerprint(judge_of(spec)),
            probes=probes,
            language=request.language,
            orders=balanced_orders(audit.seed, items, run_records.probed_orders(connection, audit.audit_id)),
            side_of=drawn_side(audit.seed) if better is None else _worse_side(better),
            unseen=_unseen(spec),
            aim=None if better is None else "failed",
        )
        plan = plan_probes(asked, _subjects(connection, audit.audit_id, items))
    if not plan.cells:
        raise InvalidInput(_nothing_to_change(probes, len(items), asked.unseen))
    return _Probing(spec, plan, (*prompt_warnings([spec]), *_too_few(request, there)))


def _nothing_to_change(probes: Sequence[ProbeName], pairs: int, unseen: frozenset[str]) -> str:
    """Why none of the pairs is an item."""
    which = "in this pair" if pairs == 1 else f"in any of the {pairs} pairs"
    reasons = dict.fromkeys(_UNSEEN if probe in unseen else _MISSING.get(probe, _NO_PROSE) for probe in probes)
    have = "has" if len(probes) == 1 else "have"
    return f"{', '.join(probes)} {have} nothing to change {which} ({'; '.join(reasons)}). Take other probes or pairs."


def _takes_all(request: ProbeRequest) -> bool:
    """Whether pairs are named, and no number of them."""
    return request.pair_ids is not None and "items" not in request.model_fields_set


def _pairs(request: ProbeRequest, connection: Connection, audit: AuditRow) -> list[str]:
    """The pairs that can be asked about, in item order. Raises NotFound or InvalidInput where there are none."""
    pairs = in_item_order(audit.seed, judging_records.transcribed_pairs(connection, audit.audit_id))
    if request.pair_ids is not None:
        return named_pairs(request.pair_ids, pairs)
    if pairs:
        return pairs
    sessions = len(judging_records.transcribed_trajectories(connection, audit.audit_id))
    if sessions:
        raise InvalidInput(
            f"Audit {request.audit!r} holds transcripts ({sessions}) but no pair of them, and probes change a side of "
            "a pair. Compare two with run_pair, or import pairs."
        )
    raise InvalidInput(
        f"Audit {request.audit!r} holds no transcripts to change. Import responses with their text (for a table: "
        "--map a=…,b=…), or run agents with run_pair."
    )


def _decidable(pairs: Sequence[str], better: dict[str, Side]) -> list[str]:
    known = [pair_id for pair_id in pairs if pair_id in better]
    if not known:
        which = "this pair" if len(pairs) == 1 else f"any of {len(pairs)} pairs"
        raise InvalidInput(
            f"It is not known which side is worse, of {which}. "
            "Label more or import gold, or leave out side=failed (--side failed)."
        )
    return known


def _worse_side(better: dict[str, Side]) -> SideOf:
    return lambda pair_id, probe: OTHER_SIDE[better[pair_id]]


def _unseen(spec: JudgingSpec) -> frozenset[str]:
    """Probes that change what the judge's own prompt leaves out."""
    return frozenset() if "{criteria}" in template_of(spec).user else frozenset({"criteria_order"})


def _subjects(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> Iterator[PairSubject]:
    for start in range(0, len(pair_ids), CHUNK):
        some = pair_ids[start : start + CHUNK]
        found = {subject.pair_id: subject for subject in judging_records.read_pair_subjects(connection, audit_id, some)}
        yield from (found[pair_id] for pair_id in some)


def _too_few(request: ProbeRequest, there: Sequence[str]) -> Iterator[str]:
    if "items" in request.model_fields_set and len(there) < request.items:
        which = "whose worse side is known" if request.side == "failed" else "with both transcripts"
        if len(there) == 1:
            yield f"There is 1 pair {which} to ask about, not {request.items}: it is taken."
        else:
            yield f"There are {len(there)} pairs {which} to ask about, not {request.items}: all of them are taken."


def _result(deps: Deps, probing: _Probing, run: RunReport, already: int) -> ProbeResult:
    spec, done = probing.spec, run.state == "done"
    with deps.store.read() as connection:
        label = stored_label(connection, run.audit, spec)
    return ProbeResult(
        simulated=spec.simulated,
        marked=judged_mark(int(spec.simulated), 1),
        judge=label,
        asked_at=asked_at(spec, deps.models),
        run=run,
        already_stored=already,
        items=probing.plan.items,
        not_applicable=dict(probing.plan.not_applicable),
        warnings=(*reply_warnings(deps.store, run), *probing.warnings),
        probes=None if run.state in GOING_ON else _section(deps, run, spec),
        next=f"summarize_audit(audit='{run.audit}', judge={label!r})" if done else run.next,
    )


def _section(deps: Deps, run: RunReport, spec: JudgingSpec) -> ProbesSection | None:
    found = probes_section(deps.store, run.audit, judge_fingerprint(judge_of(spec)))
    return None if isinstance(found, NoData) else found
