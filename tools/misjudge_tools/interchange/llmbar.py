"""LLMBar: a folder with dataset.json and evaluators/MODEL/PROMPT/result.json, or any folder above such.

A judge's verdict is the last dict of `results` that holds "swap = False"; each `winner` names an output as
it stands in dataset.json, also where the judge saw the two swapped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from misjudge_storage.errors import InvalidInput
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
from misjudge_tools.interchange.evidence import pairwise_judge
from misjudge_tools.interchange.fields import Fields, choice, raw_text
from misjudge_tools.interchange.files import Row, parse_rows, read_json_array

_OUTPUTS: dict[str, Preference] = {"1": "A", "2": "B"}
_ORDERS: dict[str, Order] = {"swap = False": "AB", "swap = True": "BA"}
_FACTS = ("input", "output_1", "output_2")


class _Evaluation(NamedTuple):
    """One judge's answers to the pairs of a folder."""

    judge: Judge
    path: Path


class _Subset(NamedTuple):
    name: str
    folder: Path
    evaluations: tuple[_Evaluation, ...]


def read_llmbar(path: Path) -> Iterator[Record | BadRecord]:
    """One record per pair, with the verdicts of all judges in both orders.

    The subset is the folder's name (its path where two folders share it), a pair is `Natural-17` with its
    number from 1. A judge is labelled MODEL, or MODEL/PROMPT where the model was asked with several prompts.
    Raises InvalidInput where no dataset.json is found.
    """
    for subset in _subsets(path):
        for record in parse_rows(_joined(subset), partial(_record, subset=subset)):
            yield (
                record._replace(problem=f"{subset.name}: {record.problem}") if isinstance(record, BadRecord) else record
            )


def _subsets(path: Path) -> list[_Subset]:
    folders = sorted(Path(folder) for folder, _, files in os.walk(path) if "dataset.json" in files)
    if not folders:
        raise InvalidInput(f"{path} is not an LLMBar folder: it holds no dataset.json, and no folder in it does.")
    results = {folder: sorted((folder / "evaluators").glob("*/*/result.json")) for folder in folders}
    prompts = {(file.parts[-3], file.parts[-2]) for files in results.values() for file in files}
    names = [folder.resolve().name for folder in folders]
    return [
        _Subset(
            name if names.count(name) == 1 else folder.relative_to(path).as_posix(),
            folder,
            tuple(
                _evaluation(file, [prompt for model, prompt in prompts if model == file.parts[-3]]) for file in files
            ),
        )
        for name, (folder, files) in zip(names, results.items(), strict=True)
    ]


def _evaluation(path: Path, prompts: Sequence[str]) -> _Evaluation:
    model, prompt = path.parts[-3], path.parts[-2]
    label = model if len(prompts) == 1 else f"{model}/{prompt}"
    return _Evaluation(pairwise_judge(label, model=model, prompt_version=prompt), path)


def _joined(subset: _Subset) -> Iterator[Row | BadRecord]:
    """Rows of dataset.json, each with `answers`: the `results` that every judge gave to it, in step."""
    files = [subset.folder / "dataset.json", *(evaluation.path for evaluation in subset.evaluations)]
    names = [file.relative_to(subset.folder).as_posix() for file in files]
    for line, rows in enumerate(zip_longest(*map(read_json_array, files)), 1):
        yield _merged(line, names, rows)


def _merged(line: int, names: Sequence[str], rows: Sequence[Row | BadRecord | None]) -> Row | BadRecord:
    found: list[dict[str, Any]] = []
    for name, row in zip(names, rows, strict=True):
        if row is None:
            return BadRecord(line, f"{name} has no such record")
        if isinstance(row, BadRecord):
            return BadRecord(line, f"{name} {row.problem}")
        found.append(row.fields)
    pair, *answers = found
    for name, answer in zip(names[1:], answers, strict=True):
        if any(answer.get(fact) != pair.get(fact) for fact in _FACTS):
            return BadRecord(line, f"{name} holds another input or other outputs than dataset.json")
    return Row(line, {**pair, "answers": [answer.get("results") for answer in answers]})


def _record(row: Row, subset: _Subset) -> Record:
    fields = row.fields
    gold = choice(fields, "label", _OUTPUTS)
    if gold is None:
        raise RecordError("label is missing or empty")
    if fields.get("output_1") == fields.get("output_2"):
        raise RecordError("both sides are the same trajectory: output_1 and output_2 are equal")
    pair_id = f"{subset.name}-{row.line}"
    prompt = raw_text(fields, "input")
    return Record(
        line=row.line,
        task=Task(task_id=pair_id, prompt=prompt, subset=subset.name),
        episodes=tuple(_episode(fields, pair_id, prompt, output) for output in ("output_1", "output_2")),
        pair=PairKey(pair_id=pair_id),
        gold=(GoldLabel(labeller="llmbar", pref=gold, source="label"),),
        verdicts=tuple(
            _verdict(evaluation.judge, order, said.get(key))
            for evaluation, results in zip(subset.evaluations, fields["answers"], strict=True)
            for said in [_final(results)]
            for key, order in _ORDERS.items()
            if key in said
        ),
    )


def _episode(fields: Fields, task_id: str, prompt: str, output: str) -> Episode:
    asked, answered = (
        Message(role="user", content=prompt),
        Message(role="assistant", content=raw_text(fields, output)),
    )
    return Episode(trajectory=Trajectory(task_id=task_id, agent=output, messages=(asked, answered)))


def _final(results: object) -> dict[str, Any]:
    said = [
        entry
        for entry in (results if isinstance(results, list) else ())
        if isinstance(entry, dict) and "swap = False" in entry
    ]
    if not said:
        raise RecordError('results hold no entry with "swap = False"')
    return said[-1]


def _verdict(judge: Judge, order: Order, answer: object) -> Verdict:
    given = answer.get("winner") if isinstance(answer, dict) else None
    winner = _OUTPUTS.get(given) if isinstance(given, str) else None
    return Verdict(
        judge=judge,
        order=order,
        status="unscored" if winner is None else "scored",
        winner=winner,
        unscored_reason="parse_error" if winner is None else None,
        reasons=_completion(answer),
    )


def _completion(answer: object) -> str:
    """The judge's reply: the first of `completion`, which holds the text and why it ended."""
    completion = answer.get("completion") if isinstance(answer, dict) else None
    first = completion[0] if isinstance(completion, list) and completion else completion
    return first if isinstance(first, str) else ""
