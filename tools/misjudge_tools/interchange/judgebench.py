"""JudgeBench: one pair per line, with a judge's decisions in one or both orders where it was judged.

The second decision was made with A and B swapped and is turned back here, as are a reward model's scores.
Both responses come from one model, the base model here; the agents are response_A and response_B.
A judge is labelled JUDGE_MODEL/JUDGE_NAME, since JudgeBench's judge_name only names the prompt (arena_hard) and
one model is asked with several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from misjudge_storage.types import (
    BadRecord,
    Episode,
    GoldLabel,
    Judge,
    Message,
    Order,
    PairKey,
    Preference,
    Record,
    RecordError,
    Task,
    Trajectory,
    Verdict,
)
from misjudge_tools.interchange.evidence import contradicts_scores, pairwise_judge
from misjudge_tools.interchange.fields import Fields, choice, expect, raw_text, required, text
from misjudge_tools.interchange.files import Row, parse_rows, read_rows

_DECISIONS: dict[str, Preference] = {"A>B": "A", "B>A": "B", "A=B": "tie"}
_SWAPPED: dict[Preference, Preference] = {"A": "B", "B": "A", "tie": "tie"}
_NEEDED = ("pair_id", "question", "response_A", "response_B", "label")


def read_judgebench(path: Path) -> Iterator[Record | BadRecord]:
    """One record per pair; the task is SOURCE/ORIGINAL_ID, the subset SOURCE.

    Raises InvalidInput for a file of another format.
    """
    models = _judge_models(path)
    return parse_rows(expect(read_rows(path), path, "judgebench", *_NEEDED), partial(_record, models=models))


def _judge_models(path: Path) -> dict[str, str]:
    """The model behind each judge_name that has only one, for rows whose judgments are all null."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in expect(read_rows(path), path, "judgebench", *_NEEDED):
        name = row.fields.get("judge_name") if isinstance(row, Row) else None
        if isinstance(row, Row) and isinstance(name, str) and (model := _model(row.fields.get("judgments"))):
            found[name].add(model)
    return {name: next(iter(models)) for name, models in found.items() if len(models) == 1}


def _model(judgments: object) -> str | None:
    for judgment in judgments if isinstance(judgments, list) else ():
        model = _reply(judgment).get("judge_model")
        if isinstance(model, str) and model:
            return model
    return None


def _reply(judgment: object) -> dict[str, Any]:
    reply = judgment.get("judgment") if isinstance(judgment, dict) else None
    return reply if isinstance(reply, dict) else {}


def _record(row: Row, models: dict[str, str]) -> Record:
    fields = row.fields
    label = choice(fields, "label", _DECISIONS)
    if label is None:
        raise RecordError("label is missing or empty")
    if fields.get("response_A") == fields.get("response_B"):
        raise RecordError("both sides are the same trajectory: response_A and response_B are equal")
    pair_id, source, original = required(fields, "pair_id"), text(fields, "source"), text(fields, "original_id")
    task_id = "/".join(part for part in (source, original) if part) if original else pair_id
    question = raw_text(fields, "question")
    return Record(
        line=row.line,
        task=Task(task_id=task_id, prompt=question, subset=source),
        episodes=tuple(_episode(fields, task_id, question, side) for side in ("response_A", "response_B")),
        pair=PairKey(pair_id=pair_id),
        gold=(GoldLabel(labeller="judgebench", pref=label, source="label"),),
        verdicts=_verdicts(fields, models),
    )


def _episode(fields: Fields, task_id: str, question: str, side: str) -> Episode:
    model = text(fields, "response_model")
    messages = (Message(role="user", content=question), Message(role="assistant", content=raw_text(fields, side)))
    return Episode(trajectory=Trajectory(task_id=task_id, agent=side, base_model=model, messages=messages))


def _verdicts(fields: Fields, models: dict[str, str]) -> tuple[Verdict, ...]:
    judgments = fields.get("judgments")
    if judgments is None:
        return ()
    if not isinstance(judgments, list) or len(judgments) > 2:
        raise RecordError("judgments must be a list of one or two")
    judge = _judge(text(fields, "judge_name"), _model(judgments), models)
    orders: tuple[Order, Order] = ("AB", "BA")
    return tuple(_verdict(judge, order, said) for order, said in zip(orders, judgments, strict=False))


def _judge(name: str | None, model: str | None, models: dict[str, str]) -> Judge:
    if model is None and name is not None:
        model = models.get(name)
    parts = [part for part in (model, name) if part]
    label = "/".join(dict.fromkeys(parts)) or "judge"
    return pairwise_judge(label, model=model or "", prompt_version=name or "")


def _verdict(judge: Judge, order: Order, judgment: object) -> Verdict:
    said = judgment.get("decision") if isinstance(judgment, dict) else None
    seen = _DECISIONS.get(said.strip()) if isinstance(said, str) else None
    winner = _SWAPPED[seen] if seen is not None and order == "BA" else seen
    reply = _reply(judgment)
    first, second = _scores(reply)
    score_a, score_b = (first, second) if order == "AB" else (second, first)
    return Verdict(
        judge=judge,
        order=order,
        status="unscored" if winner is None else "scored",
        winner=winner,
        score_a=score_a,
        score_b=score_b,
        contradicts_scores=contradicts_scores(winner, score_a, score_b),
        unscored_reason="parse_error" if winner is None else None,
        reasons=response if isinstance(response := reply.get("response"), str) else "",
    )


def _scores(reply: dict[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """A reward model's scores of the response shown first and second."""
    scores = reply.get("scores")
    if not isinstance(scores, list) or len(scores) != 2:
        return None, None
    first, second = scores
    if not isinstance(first, int | float) or not isinstance(second, int | float):
        return None, None
    return float(first), float(second)
