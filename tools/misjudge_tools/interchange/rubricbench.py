"""RubricBench: a pair a row with a label and the rules that people wrote for its instruction.

The label is 0 where response_a is better and 1 where response_b is; the agents are response_a and response_b. The
subset is one of five domains where domain or source names one or a part of one, and the category is that part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import (
    BadRecord,
    Episode,
    GoldLabel,
    Message,
    PairKey,
    Preference,
    Record,
    RecordError,
    Rule,
    Task,
    Trajectory,
)
from misjudge_tools.interchange.fields import Fields, expect, raw_text, required, text
from misjudge_tools.interchange.files import Row, parse_rows, read_rows
from misjudge_tools.rubrics.rules import each_once, gold_rules, rules_in

PARTS: Mapping[str, tuple[str, ...]] = {
    "chat": ("general", "focus", "human-preference", "factuality", "helpful"),
    "if": ("precise if", "ifeval"),
    "stem": ("math", "mmlu-pro", "gpqa"),
    "code": ("mbpp",),
    "safety": ("harmlessness",),
}
"""The five domains with what they are made of."""
_DOMAINS = {name: domain for domain, parts in PARTS.items() for name in (domain, *parts)}
_LABELS: dict[str, Preference] = {"0": "A", "1": "B"}
_NEEDED = ("case_id", "instruction", "response_a", "response_b", "label", "rubrics")


class _Kind(NamedTuple):
    """Where an instruction comes from: a domain, and what of it."""

    domain: str | None
    part: str | None


def read_rubricbench(path: Path) -> Iterator[Record | BadRecord]:
    """One record per row; the task and the pair are CASE_ID. A row without rules has no gold ones.

    Raises InvalidInput for a file of another format.
    """
    return parse_rows(expect(read_rows(path), path, "rubricbench", *_NEEDED), _record)


def _record(row: Row) -> Record:
    fields = row.fields
    task, label = _task(fields), _label(fields)
    a, b = (_episode(fields, task, side) for side in ("response_a", "response_b"))
    if a.trajectory.messages == b.trajectory.messages:
        raise RecordError("both sides are the same trajectory: response_a and response_b are equal")
    return Record(
        line=row.line,
        task=task,
        episodes=(a, b),
        pair=PairKey(pair_id=task.task_id),
        gold=(GoldLabel(labeller="rubricbench", pref=label, source="label"),),
        rubric=_rules(fields),
    )


def _task(fields: Fields) -> Task:
    case_id, kind = required(fields, "case_id"), _kind(fields)
    prompt = raw_text(fields, "instruction")
    if not prompt.strip():
        raise RecordError("instruction is missing or empty")
    return Task(
        task_id=case_id, prompt=prompt, subset=kind.domain, category=kind.part, language=text(fields, "language")
    )


def _label(fields: Fields) -> Preference:
    written = fields.get("label")
    label = None if isinstance(written, bool) else _LABELS.get(str(written).strip())
    if label is None:
        raise RecordError("label must be 0 (response_a is better) or 1 (response_b is better)")
    return label


def _kind(fields: Fields) -> _Kind:
    """Whatever case they are written in. What is unknown is kept as it is."""
    named = [name.lower() for name in (text(fields, "domain"), text(fields, "source")) if name is not None]
    known = next((name for name in named if name in _DOMAINS), None)
    domain = _DOMAINS[known] if known is not None else next(iter(named), None)
    if known is not None and known != domain:
        return _Kind(domain, known)
    return _Kind(domain, next((name for name in named if name != domain), domain))


def _episode(fields: Fields, task: Task, side: str) -> Episode:
    if fields.get(side) is None:
        raise RecordError(f"{side} is missing; write an empty text where nothing was said")
    messages = (
        Message(role="user", content=task.prompt),
        Message(role="assistant", content=raw_text(fields, side)),
    )
    return Episode(trajectory=Trajectory(task_id=task.task_id, agent=side, messages=messages))


def _rules(fields: Fields) -> tuple[Rule, ...]:
    """The gold rules, each once; none where there is no text."""
    written = fields.get("rubrics")
    if isinstance(written, str):
        written = _listed(written)
    texts = [written] if isinstance(written, str) else [] if written is None else written
    if not isinstance(texts, list) or not all(isinstance(rule, str) for rule in texts):
        raise RecordError("rubrics must be one text with a rule a line, or a list of texts")
    said = [rule for rule in texts if rule.strip()]
    try:
        found = rules_in(written) if isinstance(written, str) and said else gold_rules(said) if said else []
    except InvalidInput as error:
        raise RecordError(f"rubrics: {error}") from None
    return tuple(each_once(found))


def _listed(written: str) -> str | list[str]:
    """The list that a text is in JSON, as one cell of a CSV file may hold it; else the text, as `[hard] …` is."""
    if not written.lstrip().startswith("["):
        return written
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return found if isinstance(found, list) and all(isinstance(rule, str) for rule in found) else written
