"""Who writes and matches the rubrics of a run at work: one rubric, or one matching, a cell."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from misjudge_storage import judging_records, tables
from misjudge_storage.engine import Store
from misjudge_storage.errors import ContextOverflow, GatewayError, InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_storage.judging_records import AuditRow, CellResult, NewRow, StoredCall
from misjudge_storage.rows import judge_fingerprint, rubric_rows
from misjudge_storage.rubric_rows import DraftCounts, draft_row, match_row, matching_row
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Role, UnscoredReason
from misjudge_tools.gateway.billing import UNUSED
from misjudge_tools.gateway.calls import Call, Exchange
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.simulated_bias import Brief
from misjudge_tools.gateway.ways import OpenGateway
from misjudge_tools.judging.choice import JudgingSpec, judge_of, label_of, template_of
from misjudge_tools.judging.prompts import PromptTemplate
from misjudge_tools.judging.session import UNREADABLE, Judged
from misjudge_tools.rubrics.generate import DraftReading, read_draft, task_block
from misjudge_tools.rubrics.match import MatchReading, Question, read_matches
from misjudge_tools.rubrics.plan import GENERATE
from misjudge_tools.runs.budget import Estimate, upper_bound
from misjudge_tools.runs.cell_calls import Answered, CellCalls, CellRef, ReadsReply, Said, text_bytes
from misjudge_tools.runs.paid import CallLost, Paid
from misjudge_tools.runs.rubric_cells import (
    FIRST_TURN,
    RUBRIC_KINDS,
    Given,
    calls_of,
    given_to,
    matching,
    token_of,
    too_long,
    writing,
)
from misjudge_tools.runs.spec import RubricWork


class _Actor(NamedTuple):
    """Who writes or matches."""

    judge_id: str
    spec: JudgingSpec
    way: OpenGateway


class _Asking(NamedTuple):
    """A cell at work: who is asked, about what, through which calls."""

    actor: _Actor
    cell: PlannedCell
    given: Given
    calls: CellCalls


class _Match(NamedTuple):
    """What a matcher said of one generated rule, and whether it `replied` at all."""

    rule: int
    reading: MatchReading
    log_id: str | None
    replied: bool


class RubricSession:
    """Writes and matches the rubrics of a run. Holds no result. `ways` are open gateways by fingerprint."""

    def __init__(
        self, store: Store, audit: AuditRow, run_id: str, work: RubricWork, ways: Mapping[str, OpenGateway]
    ) -> None:
        self._store = store
        self._audit = audit
        self._run_id = run_id
        specs = {judge_fingerprint(judge_of(spec)): spec for spec in (*work.writers, *work.matchers)}
        self._actors = {judge_id: _Actor(judge_id, spec, ways[judge_id]) for judge_id, spec in specs.items()}

    @property
    def labels(self) -> dict[str, str]:
        """What people call who writes and matches, by fingerprint."""
        return {judge_id: label_of(actor.spec) for judge_id, actor in self._actors.items()}

    @property
    def concurrency(self) -> int:
        """How many cells may be in work at a time."""
        return max((actor.way.concurrency for actor in self._actors.values()), default=1)

    @property
    def pricings(self) -> list[Pricing]:
        """What each model that is asked costs."""
        return [actor.way.pricing for actor in self._actors.values()]

    def estimate(self, cell: PlannedCell) -> Estimate:
        """The most that all calls of a cell can use. Reads the store."""
        actor = self._actor_of(cell)
        calls = calls_of(actor.spec, self._audit.secret, cell, self._given(cell))
        each = [upper_bound(text_bytes(call), call.max_tokens or 0, actor.way.pricing) for call in calls]
        known = [one.usd for one in each if one.usd is not None]
        return Estimate(sum(one.tokens for one in each), sum(known) if len(known) == len(each) else None)

    async def ask(self, cell: PlannedCell, paid: Paid) -> Judged:
        """Write the rubric, or match it. Raises LimitReached or RunEnding.

        A call that got lost keeps the cell open: it is tried again from there, with the replies that are stored of it.
        """
        actor = self._actor_of(cell)
        given, replies = await asyncio.to_thread(self._read, cell)
        role: Role = "rubric_generate" if cell.kind == GENERATE else "rubric_match"
        ref = CellRef(self._audit.audit_id, self._run_id, cell.cell_id, cell.task_id or "", None, actor.judge_id)
        prompts: dict[Role, PromptTemplate] = {role: template_of(actor.spec)}
        calls = CellCalls(ref, {role: actor.way}, prompts, paid, replies, ends_at_refusal=False)
        work = _Asking(actor, cell, given, calls)
        try:
            return await (self._write(work) if cell.kind == GENERATE else self._match(work))
        except CallLost as lost:
            return Judged(CellResult(None, ()), None, lost.error, UNUSED)

    def _actor_of(self, cell: PlannedCell) -> _Actor:
        if cell.kind not in RUBRIC_KINDS or cell.actor_id not in self._actors:
            raise InvalidInput(
                "The run's plan names work on rubrics that its specification does not have. Begin it anew."
            )
        return self._actors[cell.actor_id]

    def _read(self, cell: PlannedCell) -> tuple[Given, dict[str, StoredCall]]:
        with self._store.read() as connection:
            replies = judging_records.earlier_replies(connection, cell.cell_id)
            return given_to(connection, self._audit.audit_id, cell), replies

    def _given(self, cell: PlannedCell) -> Given:
        with self._store.read() as connection:
            return given_to(connection, self._audit.audit_id, cell)

    async def _write(self, work: _Asking) -> Judged:
        await self._tell_gold(work)
        call = writing(work.actor.spec, self._audit.secret, work.cell, work.given)
        answered = await _answer(work, call, FIRST_TURN, _said_of_draft)
        reading = read_draft(answered.exchange)
        readable = None if answered.exchange.text is None else reading.unscored_reason not in UNREADABLE
        return Judged(
            CellResult(None, (), more=tuple(self._draft_rows(work, reading, answered))), readable, None, UNUSED
        )

    async def _tell_gold(self, work: _Asking) -> None:
        """Let a simulated writer know the gold rules; nothing elsewhere. Raises CallLost."""
        tell, task = work.actor.way.tell_truth, work.given.task
        if tell is None or not task.gold:
            return
        block = task_block(task.instruction, token_of(self._audit.secret, work.cell))
        try:
            await tell({template_hash(block): Brief(rules=tuple(rule.text for rule in task.gold))})
        except GatewayError as error:
            raise CallLost(error) from None

    def _draft_rows(self, work: _Asking, reading: DraftReading, answered: Answered) -> Iterator[NewRow]:
        rubric_id = None
        if reading.rules:
            rubric, rules = rubric_rows(reading.rules)
            rubric_id = str(rubric["rubric_id"])
            yield NewRow(tables.RubricSet, rubric)
            yield from (NewRow(tables.RubricRule, rule) for rule in rules)
        cell, counts = work.cell, {name: getattr(reading, name) for name in DraftCounts._fields}
        row = draft_row(
            self._audit.audit_id,
            cell.cell_id,
            cell.actor_id,
            cell.task_id or "",
            rubric_id,
            reading.unscored_reason,
            DraftCounts(**counts),
            repaired=reading.repaired,
            log_id=answered.log_id,
        )
        yield NewRow(tables.RubricDraft, row)

    async def _match(self, work: _Asking) -> Judged:
        given = work.given
        assert given.draft is not None
        if given.draft.status == "unscored":
            return Judged(self._matched(work, (), "no_rubric"), None, None, UNUSED)
        said: list[_Match] = []
        for turn, question in enumerate(matching(work.actor.spec, self._audit.secret, work.cell, given), FIRST_TURN):
            reads = partial(_said_of_matches, question=question, gold=len(given.task.gold))
            answered = await _answer(work, question.call, turn, reads)
            found = read_matches(answered.exchange, question, len(given.task.gold))
            replied = answered.exchange.text is not None
            said += [_Match(rule, reading, answered.log_id, replied) for rule, reading in found.items()]
        return Judged(self._matched(work, said), _readable(said), None, UNUSED)

    def _matched(self, work: _Asking, said: Sequence[_Match], unscored: UnscoredReason | None = None) -> CellResult:
        cell, gold_id = work.cell, work.given.task.gold_id or ""
        audit_id, draft_id = self._audit.audit_id, cell.draft_id or ""
        matching = matching_row(audit_id, cell.cell_id, cell.actor_id, draft_id, gold_id, unscored)
        equal = [match_row(cell.cell_id, rule, gold, method="equal") for rule, gold in work.given.equal.items()]
        asked = [
            match_row(
                cell.cell_id,
                one.rule,
                one.reading.gold_rule,
                one.reading.unscored_reason,
                method="judge",
                reason=one.reading.reason,
                repaired=one.reading.repaired,
                log_id=one.log_id,
            )
            for one in said
        ]
        rows = sorted([*equal, *asked], key=lambda row: int(row["rule"]))
        matches = (NewRow(tables.RubricMatch, row) for row in rows)
        return CellResult(None, (), more=(NewRow(tables.RubricMatching, matching), *matches))


async def _answer(work: _Asking, call: Call, turn: int, reads: ReadsReply) -> Answered:
    """What the model says. What its context cannot take is never sent."""
    if too_long(work.actor.spec, call):
        return Answered(Exchange(None, False, False, (), ContextOverflow("The request is longer than the context.")))
    return await work.calls.answer(call, turn, reads)


def _said_of_draft(exchange: Exchange) -> Said:
    reading = read_draft(exchange)
    if reading.unscored_reason is not None:
        return Said({}, reading.unscored_reason)
    rules: list[object] = [{"rule": rule.text, "hard": rule.hard} for rule in reading.rules]
    return Said({"rules": rules})


def _said_of_matches(exchange: Exchange, question: Question, gold: int) -> Said:
    found = read_matches(exchange, question, gold)
    read: list[object] = [
        {"rule": rule, "match": one.gold_rule} for rule, one in found.items() if one.unscored_reason is None
    ]
    if read:
        return Said({"matches": read})
    return Said({}, next(iter(found.values())).unscored_reason)


def _readable(said: Sequence[_Match]) -> bool | None:
    """Whether at least half of the rules that a reply came for got a readable answer; None where none came."""
    replied = [one for one in said if one.replied]
    unread = sum(one.reading.unscored_reason in UNREADABLE for one in replied)
    return 2 * unread <= len(replied) if replied else None
