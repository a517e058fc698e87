"""One judge at work on one audit: the call, how its reply reads, and the rows that are stored.

Only `ask` talks to a model; what is stored follows from values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple
from uuid import uuid4

from misjudge_storage import judging_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import GatewayError
from misjudge_storage.hashing import digest, template_hash
from misjudge_storage.judging_records import AuditRow, CellResult, StoredReply
from misjudge_storage.rows import Row, judge_fingerprint, log_row, probe_row, satisfaction_row, verdict_row
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Judge, Log, Order, Preference, Role, Satisfaction, UnscoredReason, Verdict
from misjudge_tools.gateway.billing import Used, attempt_fields, prices_of, use_of
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.pricing import Priced
from misjudge_tools.gateway.ways import OpenGateway
from misjudge_tools.judging.choice import JudgingSpec, form_of, judge_of, reply_schema
from misjudge_tools.judging.ruling import ruling_rows
from misjudge_tools.judging.showing import Showing, Shown, reply_tokens
from misjudge_tools.judging.verdicts import (
    PairReading,
    SatisfactionReading,
    read_pair,
    read_satisfaction,
)
from misjudge_tools.runs.budget import Estimate, upper_bound

UNREADABLE: frozenset[UnscoredReason] = frozenset({"parse_error", "conflict"})
OTHER_SIDE: Mapping[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}
CACHED = Priced(0.0, "cache")

Reading = PairReading | SatisfactionReading


class Judged(NamedTuple):
    """The outcome of one cell. `readable` is None where no reply came; `lost` is what kept the cell open.

    `used` is what it cost; of a cell that is asked again only `result.logs` are stored.
    """

    result: CellResult
    readable: bool | None
    lost: GatewayError | None
    used: Used


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
        self._showing = Showing(store, audit, spec, with_truth=way.tell_truth is not None)
        self._schema = cache(partial(reply_schema, spec))
        self._form = form_of(spec)
        self._asks_as: Role = "judge" if spec.rubrics is None else "rubric_apply"

    def show(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        """What each cell's judge will see, by cell id. Reads the store."""
        return self._showing.show(cells)

    async def tell_truth(self, shown: Iterable[Shown]) -> None:
        """Let a simulated gateway know who did the job; nothing elsewhere. Raises GatewayError."""
        truth = {key: value for each in shown for key, value in each.truth.items()}
        if self.way.tell_truth is not None and truth:
            await self.way.tell_truth(truth)

    def estimate(self, shown: Shown) -> Estimate:
        """The most that asking this can use."""
        return upper_bound(shown.size, reply_tokens(self.spec, shown.rules), self.way.pricing)

    def role_of(self, cell: PlannedCell) -> Role:
        """What a call for this cell is made for."""
        return self._asks_as if cell.variant is None else "probe"

    def unasked(self, cell: PlannedCell, shown: Shown) -> CellResult:
        """The rows of a cell about which nothing can be asked (`Shown.unasked` says why): it is unscored."""
        one = SatisfactionReading(unscored_reason=shown.unasked)
        pair = PairReading(unscored_reason=shown.unasked)
        return self._result(cell, shown, pair if self._form.compares else one, ())

    async def ask(self, cell: PlannedCell, shown: Shown) -> Judged:
        """Ask the judge; the rows that hold its verdict and every attempt. Never raises for trouble with the model."""
        turns = (ChatTurn(role="system", content=shown.prompt.system), ChatTurn(role="user", content=shown.prompt.user))
        exchange = await self.way.gateway.ask(
            Call(
                model=self.spec.model,
                role=self._asks_as,
                messages=turns,
                temperature=self.spec.temperature,
                max_tokens=reply_tokens(self.spec, shown.rules),
                json_schema=self._schema(shown.rules),
            )
        )
        reading = self._read(exchange, shown.rules)
        costs = prices_of(exchange, self.way.pricing)
        logs = self._logs(cell, shown, exchange, reading, costs)
        lost = exchange.error if exchange.error is not None and exchange.error.leaves_open else None
        used = use_of(exchange, costs)
        if lost is not None and lost.stops_run:
            return Judged(CellResult(None, logs), None, lost, used)
        readable = None if exchange.text is None else reading.unscored_reason not in UNREADABLE
        return Judged(self._result(cell, shown, reading, logs, lost=lost is not None), readable, lost, used)

    def reply_key(self, shown: Shown, repeat: int) -> str:
        """What a reply answers, wherever it was asked: gateway, judge, content in the order shown, repeat."""
        return digest("reply", [self.way.address, self.judge_id, shown.content, repeat])

    def stored_replies(self, cells: Sequence[PlannedCell], shown: Mapping[str, Shown]) -> dict[str, StoredReply]:
        """Replies of other audits to the very questions of these cells, by cell id. Reads the store."""
        keys = {cell.cell_id: self.reply_key(shown[cell.cell_id], cell.repeat) for cell in cells}
        with self.store.read() as connection:
            found = judging_records.stored_replies(connection, list(keys.values()))
        return {cell_id: found[key] for cell_id, key in keys.items() if key in found}

    def serve(self, cell: PlannedCell, shown: Shown, reply: StoredReply) -> CellResult:
        """The rows of a cell that a stored reply answers: it is read anew, costs nothing and says where it is from."""
        exchange = Exchange(reply.raw_output, False, False, (), None)
        reading = self._read(exchange, shown.rules)
        log = self._log(cell, shown, reading).model_copy(
            update={
                "raw_output": reply.raw_output,
                "finish_reason": reply.finish_reason,
                "est_cost": CACHED.usd,
                "price_source": CACHED.source,
                "cached_from": reply.log_id,
            }
        )
        return self._result(cell, shown, reading, (self._log_row(cell, log),))

    def _read(self, exchange: Exchange, rules: int) -> Reading:
        form = self.spec.reply_form
        flags = {"truncated": exchange.truncated, "refused": exchange.refused}
        if self._form.compares:
            asked = self._form
            pair = read_pair(exchange.text, form, scale=asked.scale, ties=asked.ties, rules=rules, **flags)
            return pair._replace(unscored_reason=exchange.error.unscored) if exchange.error else pair
        one = read_satisfaction(exchange.text, form, self._form, rules=rules, **flags)
        return one._replace(unscored_reason=exchange.error.unscored) if exchange.error else one

    def _result(
        self, cell: PlannedCell, shown: Shown, reading: Reading, logs: tuple[Row, ...], *, lost: bool = False
    ) -> CellResult:
        log_id = logs[-1]["log_id"] if logs else None
        verdict = self._verdict(cell, reading)
        verdict["log_id"] = log_id
        if cell.variant is not None:
            return CellResult(None, logs, probe=None if lost else verdict)
        if lost:
            # Stored beside the cell, not as its result: the pair is unscored until the cell is asked again.
            verdict["verdict_id"] = digest("lost", [cell.cell_id, uuid4().hex])
        if lost or shown.rubric is None:
            return CellResult(verdict, logs)
        order = (cell.order_shown or "AB") if self._form.compares else None
        more = ruling_rows(shown.rubric, reading.rules, verdict, order, ties=self._form.ties)
        return CellResult(verdict, logs, more=more)

    def _verdict(self, cell: PlannedCell, reading: Reading) -> Row:
        audit_id = self.audit.audit_id
        if isinstance(reading, SatisfactionReading):
            score = satisfaction_of(self.judge, reading, cell.repeat)
            return satisfaction_row(audit_id, self.judge_id, cell.trajectory_id or "", score)
        verdict = verdict_of(self.judge, reading, cell.order_shown or "AB", cell.repeat)
        if cell.variant is not None:
            return probe_row(audit_id, self.judge_id, cell.cell_id, cell.pair_id or "", cell.variant, verdict)
        return verdict_row(audit_id, self.judge_id, cell.pair_id or "", verdict)

    def _logs(
        self, cell: PlannedCell, shown: Shown, exchange: Exchange, reading: Reading, costs: Sequence[Priced]
    ) -> tuple[Row, ...]:
        reusable = cell.variant is None and reading.unscored_reason is None and not exchange.truncated
        rows = []
        for attempt, cost in zip(exchange.attempts, costs, strict=True):
            last = attempt is exchange.attempts[-1]
            log = self._log(cell, shown, reading if last else None).model_copy(
                update={
                    **attempt_fields(attempt, cost),
                    "reply_key": self.reply_key(shown, cell.repeat) if last and reusable else None,
                }
            )
            rows.append(self._log_row(cell, log))
        return tuple(rows)

    def _log(self, cell: PlannedCell, shown: Shown, reading: Reading | None) -> Log:
        template = self._showing.template
        return Log(
            role=self.role_of(cell),
            model=self.spec.model,
            prompt_hash=template.hash,
            prompt_version=template.version,
            rendered_hash=template_hash(f"{shown.prompt.system}\n{shown.prompt.user}"),
            order_shown=cell.order_shown,
            repeat=cell.repeat,
            parsed_json=None if reading is None else _parsed(reading),
            unscored_reason=None if reading is None else reading.unscored_reason,
            simulated=self.judge.simulated,
            shown_json=shown.changes,
        )

    def _log_row(self, cell: PlannedCell, log: Log) -> Row:
        links = {"run_id": self.run_id, "cell_id": cell.cell_id, "judge_id": self.judge_id}
        where = {"pair_id": cell.pair_id, "trajectory_id": cell.trajectory_id}
        # A resumed run may ask the same cell again: its attempts are rows of their own.
        return log_row(self.audit.audit_id, log, uuid4().hex, **links, **where)


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
    said = reading._asdict()
    rules = [rule._asdict() for rule in said.pop("rules")]
    return json.dumps({**said, "rules": rules} if rules else said, ensure_ascii=False)
