"""What a judge is shown of each cell, and what is true of it. Reads the store, asks nobody."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from misjudge_storage import judging_records as records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import digest, template_hash
from misjudge_storage.judging_records import AuditRow, PairSubject, PairTruth, SideTruth, TrajectorySubject
from misjudge_storage.run_records import PlannedCell
from misjudge_storage.types import Message, Order, Task
from misjudge_tools.gateway.families import family_of
from misjudge_tools.gateway.simulated_bias import Told, Truth
from misjudge_tools.judging.blinding import Blinder, blinder
from misjudge_tools.judging.choice import JudgingSpec, reply_schema, template_of
from misjudge_tools.judging.fit_context import FRAME_TOKENS, cut_to_fit, tokens_of
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.pairing import fence, show_one, show_pair, transcript, viewed
from misjudge_tools.judging.prompts import RenderedPrompt, render
from misjudge_tools.probing.perturb import perturb
from misjudge_tools.probing.variants import read_variant


class Shown(NamedTuple):
    """What a cell's judge gets to see. `content` is its hash without the fence, which differs by audit.

    `size` is all that is sent, in bytes; `truth` is only ever told to the simulated gateway. `changes` is JSON of how
    it differs from what is stored, None where it does not; `too_long` says that the model cannot take it.
    """

    task_id: str
    prompt: RenderedPrompt
    size: int
    content: str
    truth: Mapping[str, Told]
    changes: str | None = None
    too_long: bool = False


Blinders = Callable[[frozenset[str], str], Blinder]


class _Side(NamedTuple):
    """One transcript as it is shown, with the names that were masked in it and the characters that were left out."""

    text: str
    masked: Mapping[str, int] = {}
    left_out: int = 0


class _Fitted(NamedTuple):
    """The transcripts of a cell as they are shown, and whether the model cannot take them."""

    sides: Sequence[_Side]
    too_long: bool


class Showing:
    """The prompts of one judge on one audit. `with_truth` also reads who did the job."""

    def __init__(self, store: Store, audit: AuditRow, spec: JudgingSpec, *, with_truth: bool) -> None:
        self.template = template_of(spec)
        self._store = store
        self._audit = audit
        self._spec = spec
        self._form = FORMS[spec.form]
        self._fixed = self.template.system + (reply_schema(spec) or "")
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
        truths = {truth.pair_id: truth for truth in known}
        stored = {subject.pair_id: subject for subject in found}
        subjects = {(cell.pair_id or "", cell.variant): stored[cell.pair_id or ""] for cell in cells}
        blinders = cache(blinder)
        sides = {key: self._sides_of(_changed(subject, key[1]), blinders) for key, subject in subjects.items()}
        return {
            cell.cell_id: self._pair(cell, *sides[cell.pair_id or "", cell.variant], truths.get(cell.pair_id or ""))
            for cell in cells
        }

    def _sides_of(self, subject: PairSubject, blinders: Blinders) -> tuple[PairSubject, _Fitted]:
        sides = [self._side(subject, subject.a, blinders), self._side(subject, subject.b, blinders)]
        return subject, self._fitted(subject.task, sides)

    def _side(self, subject: PairSubject | TrajectorySubject, messages: Sequence[Message], blinders: Blinders) -> _Side:
        task = subject.task
        known = "\n".join((task.prompt, task.success_criteria, task.hard_constraints))
        blinded = blinders(subject.names, known)(viewed(messages, self._form.view))
        return _Side(transcript(task, blinded.messages), blinded.masked)

    def _fitted(self, task: Task, sides: Sequence[_Side]) -> _Fitted:
        """Whatever the order and the fence, so that a pair fits in both orders or in none."""
        context = self._spec.context_tokens
        if context is None:
            return _Fitted(sides, too_long=False)
        around = render(self.template, {**_about(task), **EMPTY}).user
        left = context - self._spec.max_tokens - FRAME_TOKENS
        # A token is a byte or more, and most contexts are far larger than what is judged.
        if sum(_bytes(text) for text in (self._fixed, around, *(side.text for side in sides))) <= left:
            return _Fitted(sides, too_long=False)
        room = left - self._tokens(self._fixed) - self._tokens(around)
        if self._spec.truncate is not None:
            cuts = cut_to_fit([side.text for side in sides], room, small=self._small)
            sides = [side._replace(text=cut.text, left_out=cut.left_out) for side, cut in zip(sides, cuts, strict=True)]
        return _Fitted(sides, too_long=sum(self._tokens(side.text) for side in sides) > room)

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
        shown = self._shown(subject.task, values, (pair.a.inner, pair.b.inner), truth)
        return shown._replace(changes=_changes({"A": a, "B": b}), too_long=fitted.too_long)

    def _trajectories(self, cells: Sequence[PlannedCell]) -> dict[str, Shown]:
        wanted = sorted({cell.trajectory_id for cell in cells if cell.trajectory_id is not None})
        with self._store.read() as connection:
            found = records.read_trajectory_subjects(connection, self._audit.audit_id, wanted)
            known = records.read_successes(connection, self._audit.audit_id, wanted) if self._with_truth else {}
        blinders = cache(blinder)
        subjects = {
            subject.trajectory_id: (
                subject,
                self._fitted(subject.task, [self._side(subject, subject.messages, blinders)]),
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
        shown = self._shown(subject.task, {"response": fenced.text}, (side.text,), truth)
        return shown._replace(changes=_changes({"response": side}), too_long=fitted.too_long)

    def _shown(
        self, task: Task, responses: Mapping[str, str], inner: Sequence[str], truth: Mapping[str, Told]
    ) -> Shown:
        about = _about(task)
        prompt = render(self.template, {**about, **responses})
        size = _bytes(self._fixed) + _bytes(prompt.user)
        return Shown(task.task_id, prompt, size, digest("shown", [about, *inner]), truth)


EMPTY = {
    f"response{suffix}": fence(f"RESPONSE{label}", "0" * 16, "").text
    for suffix, label in (("", ""), ("_a", " A"), ("_b", " B"))
}
"""Fences around nothing, with the mark that takes most tokens."""


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
