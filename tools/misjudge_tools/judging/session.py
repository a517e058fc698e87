"""One judge at work on one audit: what it is shown, the call, and the verdict that is stored.

Only `ask` talks to a model; what is shown and what is stored follow from values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple
from uuid import uuid4

from misjudge_storage import judging_records as records
from misjudge_storage.engine import Store
from misjudge_storage.errors import GatewayError
from misjudge_storage.hashing import digest, template_hash
from misjudge_storage.judging_records import AuditRow, CellResult, PairSubject, PairTruth, TrajectorySubject
from misjudge_storage.rows import Row, judge_fingerprint, log_row, satisfaction_row, verdict_row
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Judge, Log, Order, Preference, Satisfaction, Task, UnscoredReason, Verdict
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.judging.choice import MAX_TOKENS, JudgingSpec, OpenGateway, judge_of, reply_schema, template_of
from misjudge_tools.judging.pairing import Fenced, show_one, show_pair, transcript
from misjudge_tools.judging.prompts import RenderedPrompt, render
from misjudge_tools.judging.verdicts import (
    PairReading,
    ReplyForm,
    SatisfactionReading,
    read_pair,
    read_satisfaction,
)

JSON_FORM = ReplyForm()
UNREADABLE: frozenset[UnscoredReason] = frozenset({"parse_error", "conflict"})
OTHER_SIDE: Mapping[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}


class Shown(NamedTuple):
    """What a cell's judge gets to see, and what is true of it (only ever told to the simulated gateway)."""

    prompt: RenderedPrompt
    truth: Mapping[str, bool]


class Judged(NamedTuple):
    """The outcome of one cell. `readable` is None where no reply came; `lost` is what kept the cell open."""

    result: CellResult
    readable: bool | None
    lost: GatewayError | None


class JudgingSession:
    """A judge with an open gateway, working on cells of one run. Holds no result."""

    def __init__(self, store: Store, audit: AuditRow, run_id: str, spec: JudgingSpec, way: OpenGateway) -> None:
        self.store = store
        self.audit = audit
        self.run_id = run_id
        self.spec = spec
        self.way = way
        self.judge = judge_of(spec)
        self.judge_id = judge_fingerprint(self.judge)
        self.template = template_of(spec)
        self._schema = reply_schema(spec)

    def show(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        """What each cell's judge will see, by cell id. Reads the store."""
        if self.spec.form == "pairwise":
            return self._show_pairs(cells)
        return self._show_trajectories(cells)

    def tell_truth(self, shown: Mapping[str, Shown]) -> None:
        """Let a simulated gateway know who did the job; nothing elsewhere."""
        if self.way.tell_truth is not None:
            self.way.tell_truth({key: value for each in shown.values() for key, value in each.truth.items()})

    async def ask(self, cell: PlannedCell, shown: Shown) -> Judged:
        """Ask the judge; the rows that hold its verdict and every attempt. Never raises for trouble with the model."""
        turns = (ChatTurn(role="system", content=shown.prompt.system), ChatTurn(role="user", content=shown.prompt.user))
        limit = MAX_TOKENS[self.spec.kind]
        call = Call(model=self.spec.model, messages=turns, temperature=0, max_tokens=limit, json_schema=self._schema)
        exchange = await self.way.gateway.ask(call)
        reading = self._read(exchange)
        logs = self._logs(cell, shown, exchange, reading)
        lost = exchange.error if exchange.error is not None and exchange.error.leaves_open else None
        if lost is not None and lost.stops_run:
            return Judged(CellResult(None, logs), None, lost)
        verdict = {**self._verdict(cell, reading), "log_id": logs[-1]["log_id"] if logs else None}
        if lost is not None:
            # Stored beside the cell, not as its result: the pair is unscored until the cell is asked again.
            verdict["verdict_id"] = digest("lost", [cell.cell_id, uuid4().hex])
        readable = None if exchange.text is None else reading.unscored_reason not in UNREADABLE
        return Judged(CellResult(verdict, logs), readable, lost)

    def _show_pairs(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        with self.store.read() as connection:
            wanted = sorted({cell.pair_id for cell in cells if cell.pair_id is not None})
            subjects = {s.pair_id: s for s in records.read_pair_subjects(connection, self.audit.audit_id, wanted)}
        return {cell.cell_id: self._show_pair(cell, subjects[cell.pair_id or ""]) for cell in cells}

    def _show_pair(self, cell: PlannedCell, subject: PairSubject) -> Shown:
        order: Order = cell.order_shown or "AB"
        side_a, side_b = (transcript(subject.task, side) for side in (subject.a, subject.b))
        pair = show_pair(self.audit.secret, subject.pair_id, order, cell.repeat, side_a, side_b)
        known = self._pair_truths.get(subject.pair_id)
        truth = {}
        if known is not None and known.success_a is not None and known.success_b is not None:
            truth = {template_hash(side_a): known.success_a, template_hash(side_b): known.success_b}
        return self._shown(subject.task, {"response_a": pair.a, "response_b": pair.b}, truth)

    def _show_trajectories(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        with self.store.read() as connection:
            wanted = sorted({cell.trajectory_id for cell in cells if cell.trajectory_id is not None})
            found = records.read_trajectory_subjects(connection, self.audit.audit_id, wanted)
        subjects = {subject.trajectory_id: subject for subject in found}
        return {cell.cell_id: self._show_trajectory(cell, subjects[cell.trajectory_id or ""]) for cell in cells}

    def _show_trajectory(self, cell: PlannedCell, subject: TrajectorySubject) -> Shown:
        inner = transcript(subject.task, subject.messages)
        fenced = show_one(self.audit.secret, subject.trajectory_id, cell.repeat, inner)
        success = self._successes.get(subject.trajectory_id)
        truth = {} if success is None else {template_hash(inner): success}
        return self._shown(subject.task, {"response": fenced}, truth)

    def _shown(self, task: Task, fenced: Mapping[str, Fenced], truth: Mapping[str, bool]) -> Shown:
        values = {"task": task.prompt, "criteria": task.success_criteria, "constraints": task.hard_constraints}
        prompt = render(self.template, {**values, **{name: one.text for name, one in fenced.items()}})
        return Shown(prompt, truth)

    @cached_property
    def _pair_truths(self) -> dict[str, PairTruth]:
        if self.way.tell_truth is None:
            return {}
        with self.store.read() as connection:
            return {truth.pair_id: truth for truth in records.read_pair_truths(connection, self.audit.audit_id)}

    @cached_property
    def _successes(self) -> dict[str, bool]:
        if self.way.tell_truth is None:
            return {}
        with self.store.read() as connection:
            return records.read_successes(connection, self.audit.audit_id)

    def _read(self, exchange: Exchange) -> PairReading | SatisfactionReading:
        scale, flags = self.judge.scale, {"truncated": exchange.truncated, "refused": exchange.refused}
        if self.spec.form == "pairwise":
            pair = read_pair(exchange.text, JSON_FORM, scale=scale, **flags)
            return pair._replace(unscored_reason=exchange.error.unscored) if exchange.error else pair
        one = read_satisfaction(exchange.text, JSON_FORM, scale=scale, **flags)
        return one._replace(unscored_reason=exchange.error.unscored) if exchange.error else one

    def _verdict(self, cell: PlannedCell, reading: PairReading | SatisfactionReading) -> Row:
        audit_id = self.audit.audit_id
        if isinstance(reading, SatisfactionReading):
            score = satisfaction_of(self.judge, reading, cell.repeat)
            return satisfaction_row(audit_id, self.judge_id, cell.trajectory_id or "", score)
        verdict = verdict_of(self.judge, reading, cell.order_shown or "AB", cell.repeat)
        return verdict_row(audit_id, self.judge_id, cell.pair_id or "", verdict)

    def _logs(
        self, cell: PlannedCell, shown: Shown, exchange: Exchange, reading: PairReading | SatisfactionReading
    ) -> tuple[Row, ...]:
        rendered = template_hash(f"{shown.prompt.system}\n{shown.prompt.user}")
        free = self.spec.kind if self.spec.kind != "gateway" else None
        rows = []
        for attempt in exchange.attempts:
            last = attempt is exchange.attempts[-1]
            log = Log(
                role="judge",
                model=self.spec.model,
                prompt_hash=self.template.hash,
                prompt_version=self.template.version,
                rendered_hash=rendered,
                order_shown=cell.order_shown,
                repeat=cell.repeat,
                attempt=attempt.number,
                params=attempt.params,
                raw_output=attempt.raw_output,
                parsed_json=_parsed(reading) if last else None,
                unscored_reason=reading.unscored_reason if last else None,
                error=attempt.error,
                finish_reason=attempt.finish_reason,
                input_tokens=attempt.input_tokens,
                output_tokens=attempt.output_tokens,
                latency_ms=attempt.latency_ms,
                est_cost=None if free is None else 0.0,
                price_source=free,
                request_id=attempt.request_id,
                simulated=self.judge.simulated,
            )
            links = {"run_id": self.run_id, "cell_id": cell.cell_id, "judge_id": self.judge_id}
            where = {"pair_id": cell.pair_id, "trajectory_id": cell.trajectory_id}
            # A resumed run may ask the same cell again: its attempts are rows of their own.
            rows.append(log_row(self.audit.audit_id, log, uuid4().hex, **links, **where))
        return tuple(rows)


def verdict_of(judge: Judge, reading: PairReading, order: Order, repeat: int) -> Verdict:
    """The verdict in terms of the pair's sides: a reading of the order BA is swapped back."""
    winner, score_a, score_b = reading.winner, reading.score_a, reading.score_b
    if order == "BA":
        winner = None if winner is None else OTHER_SIDE[winner]
        score_a, score_b = score_b, score_a
    return Verdict(
        judge=judge,
        order=order,
        repeat=repeat,
        status="unscored" if reading.unscored_reason else "scored",
        winner=winner,
        score_a=score_a,
        score_b=score_b,
        reasons=reading.reasons,
        unscored_reason=reading.unscored_reason,
        repaired=reading.repaired,
        contradicts_scores=reading.contradicts_scores,
    )


def satisfaction_of(judge: Judge, reading: SatisfactionReading, repeat: int) -> Satisfaction:
    """The score as a value."""
    return Satisfaction(
        judge=judge,
        score=reading.score,
        repeat=repeat,
        reasons=reading.reasons,
        unscored_reason=reading.unscored_reason,
        repaired=reading.repaired,
    )


def _parsed(reading: PairReading | SatisfactionReading) -> str | None:
    if reading.unscored_reason is not None:
        return None
    return json.dumps(reading._asdict(), ensure_ascii=False)
