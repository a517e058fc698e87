"""Stored rubric work without a model that is asked, for tests of what is counted of it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlmodel import SQLModel

from builders import episode, label, pair, verdict
from misjudge_storage import rows, tables
from misjudge_storage.engine import Store
from misjudge_storage.hashing import canonical
from misjudge_storage.ingest import ensure_audit, ingest, insert_new, insert_rubrics
from misjudge_storage.rubric_rows import (
    DraftCounts,
    MatchMethod,
    draft_row,
    match_row,
    matching_row,
    rule_verdict_row,
    ruling_row,
)
from misjudge_storage.types import AskedForm, Judge, Order, Preference, Record, Rule, Side, Task, UnscoredReason

UNANSWERED = -1
"""In place of the gold rule that a generated rule matches: no answer that could be read."""


def actor(name: str, form: AskedForm = "pairwise", *, simulated: bool = False, **params: Any) -> Judge:
    """A judge, writer or matcher; `params` are those of its fingerprint."""
    stated = {"max_tokens": 1024, "temperature": 0, **params}
    version = f"{form}.en.v1" if form != "pairwise" else f"judge_pair{'_rubric' * ('rubrics' in params)}.en.v1"
    return Judge(
        label=name,
        form=form,
        model=name.partition("+")[0],
        params=canonical(stated),
        prompt_version=version,
        simulated=simulated,
    )


WRITER = actor("writer", "rubric_generate")
MATCHER = actor("matcher", "rubric_match")
SECOND = actor("second", "rubric_match_batch")
PLAIN = actor("judge")
HUMAN = actor("judge+rules:human", rubrics={"kind": "human"})


def with_own(writer: Judge = WRITER, name: str = "judge", **params: Any) -> Judge:
    """The judge with the rules of this writer."""
    rubrics = {"kind": "self", "writer_id": rows.judge_fingerprint(writer)}
    by = "" if writer == WRITER else f":{writer.label}"
    return actor(f"{name}{'+forced' * ('forced' in params)}+rules:self{by}", rubrics=rubrics, **params)


def rules(*texts: str) -> tuple[Rule, ...]:
    """Rules by their texts; `!` in front makes one hard, `^` high-level."""
    return tuple(Rule(text=text.lstrip("!^"), hard=text[0] == "!", high_level=text[0] == "^") for text in texts)


def pair_of(task: str, better: Side | None = "A", gold: Sequence[Rule] = (), domain: str | None = None) -> Record:
    """The pair `p_TASK` of a task with gold rules; the better side is a person's label."""
    made = pair(f"p_{task}", episode("x", task=task), episode("y", task=task), gold=[label(better)] if better else [])
    return made.model_copy(
        update={"task": Task(task_id=task, prompt=f"Do {task}.", subset=domain), "rubric": tuple(gold)}
    )


class Draft(NamedTuple):
    """A generated rubric, None where it could not be read, and by matcher the gold rule that each rule matches."""

    task: str
    rules: Sequence[Rule] | None
    matched: Mapping[str, Sequence[int | None]] = {}
    counts: DraftCounts = DraftCounts()
    equal: frozenset[int] = frozenset()


class Said(NamedTuple):
    """A verdict of one order; `met` are the rules by number: met by A, met by B. None: no ruling at all. `why` is of
    one without a winner.
    """

    task: str
    winner: Preference | None
    order: Order = "AB"
    met: Mapping[int, tuple[bool | None, bool | None]] | None = None
    says: str | None = None
    conflict: str | None = None
    left_out: int = 0
    unscored: int = 0
    why: UnscoredReason = "parse_error"


def store_pairs(store: Store, records: Sequence[Record], name: str = "a") -> str:
    """Pairs in an audit; its id."""
    with store.write() as connection:
        audit = ensure_audit(connection, name)
        ingest(connection, audit, "file", records)
    return audit


def store_judges(store: Store, audit: str, judges: Sequence[Judge]) -> dict[str, str]:
    """The actors of an audit; their ids by label."""
    with store.write() as connection:
        insert_new(connection, tables.Judge, [rows.judge_row(audit, judge) for judge in judges])
    return {judge.label: rows.judge_fingerprint(judge) for judge in judges}


def store_drafts(
    store: Store, audit: str, writer: Judge, drafts: Sequence[Draft], matchers: Sequence[Judge] = (MATCHER,)
) -> None:
    """The generated rubrics of a writer, and what matchers make of them; tasks need gold rules where any does."""
    by_label = store_judges(store, audit, [writer, *matchers])
    with store.write() as connection:
        known = tables.table(tables.TaskRubric)
        gold = {row.task_id: row.rubric_id for row in connection.execute(known.select())}
        insert_rubrics(connection, [draft.rules for draft in drafts if draft.rules])
        found: defaultdict[type[SQLModel], list[rows.Row]] = defaultdict(list)
        for draft in drafts:
            draft_id = rows.cell_id(audit, by_label[writer.label], draft.task, None, 0)
            rubric_id = rows.rubric_id(draft.rules) if draft.rules else None
            reason: UnscoredReason | None = "parse_error" if draft.rules is None else None
            made = draft_row(audit, draft_id, by_label[writer.label], draft.task, rubric_id, reason, draft.counts)
            found[tables.RubricDraft].append(made)
            for name, hits in draft.matched.items():
                matching_id = rows.cell_id(audit, by_label[name], draft_id, None, 0)
                whole = matching_row(audit, matching_id, by_label[name], draft_id, gold[draft.task])
                found[tables.RubricMatching].append(whole)
                found[tables.RubricMatch] += [_match(matching_id, n, hit, draft) for n, hit in enumerate(hits, 1)]
        for model, several in found.items():
            insert_new(connection, model, several)


def _match(matching_id: str, rule: int, hit: int | None, draft: Draft) -> rows.Row:
    lost = hit == UNANSWERED
    method: MatchMethod = "equal" if rule in draft.equal else "judge"
    return match_row(matching_id, rule, None if lost else hit, "parse_error" if lost else None, method=method)


def store_verdicts(store: Store, audit: str, judge: Judge, said: Sequence[Said]) -> str:
    """What a judge says of pairs, with its rulings; its id."""
    (judge_id,) = store_judges(store, audit, [judge]).values()
    found: defaultdict[type[SQLModel], list[rows.Row]] = defaultdict(list)
    for one in said:
        why: dict[str, Any] = {} if one.winner else {"unscored_reason": one.why}
        made = verdict(one.winner, one.order, judge=judge, **why)
        row = rows.verdict_row(audit, judge_id, f"p_{one.task}", made)
        found[tables.Verdict].append(row)
        if one.met is None:
            continue
        facts = {name: getattr(one, name) for name in ("says", "conflict", "left_out", "unscored")}
        found[tables.RubricRuling].append(ruling_row(audit, judge_id, row["verdict_id"], None, **facts))
        found[tables.RubricVerdict] += [
            rule_verdict_row(row["verdict_id"], rule, met_a=a, met_b=b, met=None, reason="")
            for rule, (a, b) in one.met.items()
        ]
    with store.write() as connection:
        for model, several in found.items():
            insert_new(connection, model, several)
    return judge_id


class Made(NamedTuple):
    """A random audit with rubric work."""

    audit: str
    writers: Sequence[Judge]
    matchers: Sequence[Judge]
    judges: Sequence[Judge]


def store_at_random(store: Store, draw: random.Random, tasks: int = 40, *, domains: int = 3) -> Made:
    """Two writers, two matchers and a judge under four conditions and one official one: anything may be missing."""
    others = (actor("other writer", "rubric_generate", simulated=True), actor("cheap", "rubric_match"))
    writers, matchers = (WRITER, others[0]), (MATCHER, SECOND)
    names = [f"t{n}" for n in range(tasks)]
    gold = {name: _gold(draw, name) for name in names}
    shared = "t0"
    records = [
        pair_of(name, draw.choice(("A", "B", None)), gold[name], draw.choice(["code", "chat", "stem"][:domains]))
        for name in names
    ]
    records += [
        more.model_copy(update={"pair": more.pair.model_copy(update={"pair_id": f"p_{shared}_{n}"}), "episodes": two})
        for n in range(3)
        for more in (records[0],)
        if more.pair is not None
        for two in ((episode("x", task=shared, trial=n + 1), episode("y", task=shared, trial=n + 1)),)
    ]
    audit = store_pairs(store, records)
    for writer in writers:
        drafts = [_draft(draw, name, len(gold[name])) for name in names if draw.random() < 0.9 and gold[name]]
        store_drafts(store, audit, writer, drafts, matchers)
    judges = (PLAIN, HUMAN, with_own(), with_own(others[0]), actor("judge+forced", forced=True), with_own(forced=True))
    named = [str(record.pair.pair_id)[2:] for record in records if record.pair]
    for judge in judges:
        store_verdicts(store, audit, judge, list(_said(draw, judge, named, gold)))
    return Made(audit, writers, matchers, judges)


def _gold(draw: random.Random, task: str) -> tuple[Rule, ...]:
    return rules(*(f"{draw.choice('!^ ')}{task} gold {n}".strip() for n in range(draw.randrange(5))))


def _draft(draw: random.Random, task: str, gold: int) -> Draft:
    number = draw.choice((0, 2, 3, 5, 8))
    written = None if draw.random() < 0.1 else rules(*(f"{task} own {draw.random()}" for _ in range(number)))
    matched = {
        judge.label: [draw.choice((*range(1, gold + 1), None, None)) for _ in range(number)]
        for judge in (MATCHER, SECOND)
        if written and draw.random() < 0.9
    }
    for found in matched.values():
        if draw.random() < 0.15:
            found[draw.randrange(number)] = UNANSWERED
    counts = DraftCounts(written=number, duplicates=draw.randrange(2), compound=draw.randrange(2))
    return Draft(task, written, matched, counts, frozenset({1}) if draw.random() < 0.2 else frozenset())


def _said(draw: random.Random, judge: Judge, pairs: Sequence[str], gold: Mapping[str, Sequence[Rule]]) -> list[Said]:
    orders: tuple[Order, ...] = ("AB",) if "+forced" in judge.label else ("AB", "BA")
    applies = "+rules" in judge.label
    found = []
    for name in pairs:
        if draw.random() < 0.1:
            continue
        for order in orders:
            met = {
                n: (draw.choice((True, False, False, None)), draw.choice((True, False, False, None)))
                for n in range(1, len(gold[name.partition("_")[0]]) + 1)
            }
            winner: Preference | None = draw.choice(("A", "B", "A", "B", "A", "B", "tie", None))
            says = draw.choice(("A", "B", "tie", None))
            conflict = draw.choice(("soft_over_hard", "reweighted", None)) if winner and says else None
            extra = (draw.randrange(2), draw.randrange(3))
            reasons: tuple[UnscoredReason, ...] = ("parse_error", "no_rubric" if applies else "timeout")
            found.append(
                Said(name, winner, order, met if applies else None, says, conflict, *extra, draw.choice(reasons))
            )
    return found
