"""What a judge is shown of each cell, and what is true of it. Reads the store, asks nobody."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from sqlalchemy import Connection

from misjudge_storage import judging_records as records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import digest, template_hash
from misjudge_storage.judging_records import AuditRow, PairSubject, PairTruth, SideTruth, TrajectorySubject
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Message, Order, Task, UnscoredReason
from misjudge_tools.gateway.families import family_of
from misjudge_tools.gateway.simulated_bias import Told, Truth
from misjudge_tools.judging.blinding import Blinder, blinder
from misjudge_tools.judging.choice import JudgingSpec, form_of, reply_schema, template_of
from misjudge_tools.judging.fit_context import FRAME_TOKENS, cut_to_fit, tokens_of
from misjudge_tools.judging.pairing import Fenced, fence, show_one, show_pair, show_rules, transcript, viewed
from misjudge_tools.judging.prompts import RenderedPrompt, render
from misjudge_tools.judging.rules_shown import read_rules
from misjudge_tools.judging.ruling import RULE_TOKENS, TaskRules
from misjudge_tools.probing.perturb import perturb
from misjudge_tools.probing.variants import read_variant
from misjudge_tools.rubrics.rules import numbered


class Shown(NamedTuple):
    """What a cell's judge gets to see. `content` is its hash without the fence, which differs by audit.

    `size` is all that is sent, in bytes; `truth` is only ever told to the simulated gateway. `changes` is JSON of how
    it differs from what is stored, None where it does not. `unasked` says why nothing can be asked: the model cannot
    take it, or there are no rules to apply; None where it is asked. `rubric` are the rules that are applied, if any.
    """

    task_id: str
    prompt: RenderedPrompt
    size: int
    content: str
    truth: Mapping[str, Told]
    changes: str | None = None
    unasked: UnscoredReason | None = None
    rubric: TaskRules | None = None

    @property
    def rules(self) -> int:
        """How many rules the judge is to apply."""
        return 0 if self.rubric is None else len(self.rubric.applied.rules)


Blinders = Callable[[frozenset[str], str], Blinder]


class _Side(NamedTuple):
    """One transcript as it is shown, with the names that were masked in it and the characters that were left out."""

    text: str
    masked: Mapping[str, int] = {}
    left_out: int = 0


class _Fitted(NamedTuple):
    """The transcripts of a cell as they are shown with these rules, and why the model cannot be asked about them."""

    sides: Sequence[_Side]
    rubric: TaskRules | None
    unasked: UnscoredReason | None = None


class _Rules(NamedTuple):
    """Rules as they are shown, and what the simulated gateway is told of them."""

    number: int = 0
    fenced: Fenced = Fenced("", "")
    told: Mapping[str, Told] = {}


class Showing:
    """The prompts of one judge on one audit. `with_truth` also reads who did the job."""

    def __init__(self, store: Store, audit: AuditRow, spec: JudgingSpec, *, with_truth: bool) -> None:
        self.template = template_of(spec)
        self._store = store
        self._audit = audit
        self._spec = spec
        self._form = form_of(spec)
        self._fixed = cache(lambda rules: self.template.system + (reply_schema(spec, rules) or ""))
        self._with_truth = with_truth
        self._small = spec.kind == "local"
        self._tokens = partial(tokens_of, small=self._small)

    def show(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        """What each cell's judge will see, by cell id."""
        return self._pairs(cells) if self._form.compares else self._trajectories(cells)

    def _pairs(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        wanted = sorted({cell.pair_id for cell in cells if cell.pair_id is not None})
        with self._store.read() as connection:
            found = records.read_pair_subjects(connection, self._audit.audit_id, wanted)
            known = records.read_pair_truths(connection, self._audit.audit_id, wanted) if self._with_truth else []
            tasks = {subject.pair_id: subject.task.task_id for subject in found}
            rubrics = self._rubrics(connection, {tasks[cell.pair_id or ""]: cell.draft_id for cell in cells})
        truths = {truth.pair_id: truth for truth in known}
        stored = {subject.pair_id: subject for subject in found}
        subjects = {(cell.pair_id or "", cell.variant): stored[cell.pair_id or ""] for cell in cells}
        blinders = cache(blinder)
        sides = {
            key: self._sides_of(_changed(subject, key[1]), blinders, rubrics.get(subject.task.task_id))
            for key, subject in subjects.items()
        }
        return {
            cell.cell_id: self._pair(cell, *sides[cell.pair_id or "", cell.variant], truths.get(cell.pair_id or ""))
            for cell in cells
        }

    def _rubrics(self, connection: Connection, drafts: Mapping[str, str | None]) -> Mapping[str, TaskRules]:
        """Task → the rules to apply, of the tasks with the generated rubric that their cells name, if any."""
        if not self._form.rules:
            return {}
        if self._spec.rubrics is None:
            return dict.fromkeys(drafts, TaskRules())
        audit_id = self._audit.audit_id
        return read_rules(connection, audit_id, self._spec.rubrics, drafts, with_truth=self._with_truth)

    def _sides_of(
        self, subject: PairSubject, blinders: Blinders, rubric: TaskRules | None
    ) -> tuple[PairSubject, _Fitted]:
        sides = [self._side(subject, subject.a, blinders), self._side(subject, subject.b, blinders)]
        return subject, self._fitted(subject.task, sides, rubric)

    def _side(self, subject: PairSubject | TrajectorySubject, messages: Sequence[Message], blinders: Blinders) -> _Side:
        task = subject.task
        known = "\n".join((task.prompt, task.success_criteria, task.hard_constraints))
        blinded = blinders(subject.names, known)(viewed(messages, self._form.view))
        return _Side(transcript(task, blinded.messages), blinded.masked)

    def _fitted(self, task: Task, sides: Sequence[_Side], rubric: TaskRules | None) -> _Fitted:
        """Whatever the order and the fence, so that a pair fits in both orders or in none."""
        context = self._spec.context_tokens
        rules = () if rubric is None else rubric.applied.rules
        if rubric is not None and not rules:
            return _Fitted(sides, rubric, "no_rubric")
        if context is None:
            return _Fitted(sides, rubric)
        fixed = self._fixed(len(rules))
        block = fence("RULES", EMPTY_TOKEN, numbered(rules, marks=True)).text if rules else ""
        around = render(self.template, {**_about(task), **EMPTY, "rules": block}).user
        left = context - reply_tokens(self._spec, len(rules)) - FRAME_TOKENS
        # A token is a byte or more, and most contexts are far larger than what is judged.
        if sum(_bytes(text) for text in (fixed, around, *(side.text for side in sides))) <= left:
            return _Fitted(sides, rubric)
        room = left - self._tokens(fixed) - self._tokens(around)
        if self._spec.truncate is not None:
            cuts = cut_to_fit([side.text for side in sides], room, small=self._small)
            sides = [side._replace(text=cut.text, left_out=cut.left_out) for side, cut in zip(sides, cuts, strict=True)]
        too_long = sum(self._tokens(side.text) for side in sides) > room
        return _Fitted(sides, rubric, "context_overflow" if too_long else None)

    def _pair(self, cell: PlannedCell, subject: PairSubject, fitted: _Fitted, known: PairTruth | None) -> Shown:
        a, b = fitted.sides
        order: Order = cell.order_shown or "AB"
        secret, repeat = self._audit.secret, cell.repeat
        pair = show_pair(secret, subject.pair_id, order, repeat, a.text, b.text, cell.variant)
        truth = {}
        if known is not None:
            first, second = (known.a, known.b) if order == "AB" else (known.b, known.a)
            truth = _truth(((pair.a.text, first), (pair.b.text, second)))
        values = {"response_a": pair.a.text, "response_b": pair.b.text}
        rules = self._rules(fitted.rubric, subject.pair_id, order, repeat, cell.variant)
        shown = self._shown(subject.task, values, (pair.a.inner, pair.b.inner), truth, rules)
        return shown._replace(changes=_changes({"A": a, "B": b}), unasked=fitted.unasked, rubric=fitted.rubric)

    def _trajectories(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        wanted = sorted({cell.trajectory_id for cell in cells if cell.trajectory_id is not None})
        with self._store.read() as connection:
            found = records.read_trajectory_subjects(connection, self._audit.audit_id, wanted)
            known = records.read_successes(connection, self._audit.audit_id, wanted) if self._with_truth else {}
            tasks = {subject.trajectory_id: subject.task.task_id for subject in found}
            rubrics = self._rubrics(connection, {tasks[cell.trajectory_id or ""]: cell.draft_id for cell in cells})
        blinders = cache(blinder)
        subjects = {
            subject.trajectory_id: (
                subject,
                self._fitted(
                    subject.task, [self._side(subject, subject.messages, blinders)], rubrics.get(subject.task.task_id)
                ),
            )
            for subject in found
        }
        return {
            cell.cell_id: self._trajectory(
                cell, *subjects[cell.trajectory_id or ""], known.get(cell.trajectory_id or "")
            )
            for cell in cells
        }

    def _trajectory(
        self, cell: PlannedCell, subject: TrajectorySubject, fitted: _Fitted, known: SideTruth | None
    ) -> Shown:
        (side,) = fitted.sides
        fenced = show_one(self._audit.secret, subject.trajectory_id, cell.repeat, side.text)
        truth = {} if known is None else _truth(((fenced.text, known),))
        rules = self._rules(fitted.rubric, subject.trajectory_id, None, cell.repeat)
        shown = self._shown(subject.task, {"response": fenced.text}, (side.text,), truth, rules)
        return shown._replace(changes=_changes({"response": side}), unasked=fitted.unasked, rubric=fitted.rubric)

    def _rules(
        self,
        rubric: TaskRules | None,
        subject_id: str,
        order: Order | None,
        repeat: int,
        variant: str | None = None,
    ) -> _Rules:
        if rubric is None or not rubric.applied.rules:
            return _Rules()
        inner = numbered(rubric.applied.rules, marks=True)
        fenced = show_rules(self._audit.secret, subject_id, order, repeat, inner, variant)
        told: dict[str, Told] = {} if rubric.brief is None else {template_hash(fenced.text): rubric.brief}
        return _Rules(len(rubric.applied.rules), fenced, told)

    def _shown(
        self, task: Task, responses: Mapping[str, str], inner: Sequence[str], truth: Mapping[str, Told], rules: _Rules
    ) -> Shown:
        about = _about(task)
        prompt = render(self.template, {**about, **responses, "rules": rules.fenced.text})
        size = _bytes(self._fixed(rules.number)) + _bytes(prompt.user)
        content = [about, *inner, *([{"rules": rules.fenced.inner}] if rules.number else [])]
        return Shown(task.task_id, prompt, size, digest("shown", content), {**truth, **rules.told})


def reply_tokens(spec: JudgingSpec, rules: int) -> int:
    """The most tokens of a reply about so many rules."""
    return spec.max_tokens + RULE_TOKENS * rules


EMPTY_TOKEN = "0" * 16
"""The mark of a fence that takes most tokens."""
EMPTY = {
    f"response{suffix}": fence(f"RESPONSE{label}", EMPTY_TOKEN, "").text
    for suffix, label in (("", ""), ("_a", " A"), ("_b", " B"))
}
"""Fences around nothing."""


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _about(task: Task) -> dict[str, str]:
    return {"task": task.prompt, "criteria": task.success_criteria, "constraints": task.hard_constraints}


def _changed(subject: PairSubject, variant: str | None) -> PairSubject:
    """The pair as a probe changes it. Raises InvalidInput where the plan says what this version does not know."""
    if variant is None:
        return subject
    try:
        changed = perturb(subject, read_variant(variant))
    except ValueError:
        changed = None
    if changed is None:
        raise InvalidInput("The run's plan names a probe that cannot be made here. Begin it anew.")
    return changed


def _changes(sides: Mapping[str, _Side]) -> str | None:
    """How these sides differ from what is stored, as JSON."""
    masked: Counter[str] = Counter()
    for side in sides.values():
        masked.update(side.masked)
    left_out = {name: side.left_out for name, side in sides.items() if side.left_out}
    changes = {
        **({"masked": dict(sorted(masked.items()))} if masked else {}),
        **({"left_out": left_out} if left_out else {}),
    }
    return json.dumps(changes, ensure_ascii=False) if changes else None


def _truth(sides: Iterable[tuple[str, SideTruth]]) -> dict[str, Told]:
    """By the transcript with its fence: two agents may have said the same, and only the fence is a side's own."""
    return {
        template_hash(fenced): Truth(success=known.success, skill=known.skill, family=family_of(known.model))
        for fenced, known in sides
    }
