"""The folders `dpo` and `kto`: train.jsonl and test.jsonl as TRL reads them, one row after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, Literal, NamedTuple

from sqlalchemy import Connection

from misjudge_storage.export_rows import ExportedPair, exported_episodes, exported_pairs
from misjudge_tools.exporting.json_lines import line
from misjudge_tools.exporting.keys import Hide, without_keys
from misjudge_tools.exporting.preference import Completion, Omission, Row, dpo_row, judge_found, kto_row
from misjudge_tools.exporting.shipped import refuse_shipped
from misjudge_tools.exporting.splitting import split_of
from misjudge_tools.exporting.writing import Part

Keep = Literal["judge_right", "judge_wrong", "judge_decided"]
Ability = Literal["near", "wide", "unknown"]
TRAIN: Final = "train.jsonl"
TEST: Final = "test.jsonl"
_ABILITY: Final[Mapping[bool | None, Ability]] = {True: "near", False: "wide", None: "unknown"}


class Options(NamedTuple):
    """How rows are chosen and sorted. `hide` takes keys out of them; `keep`: only pairs of which this `judge` says so,
    None: all.
    """

    seed: int
    test_share: float
    allow_eval_tasks: bool
    hide: Hide
    judge: str | None = None
    keep: Keep | None = None


class Trained(NamedTuple):
    """The files, why pairs or episodes are left out, rows before and after the filter by ability gap, and how much of
    an episode the completions of the rows are.
    """

    parts: Sequence[Part]
    left_out: Mapping[Omission, int]
    before: Mapping[Ability, int]
    after: Mapping[Ability, int]
    completions: Mapping[Completion, int]


class _Made(NamedTuple):
    """What became of a pair or episode; `kept` by the filter."""

    row: Row | Omission
    ability: Ability
    kept: bool


_Stream = Generator[_Made, None, None]


def write_dpo(folder: Path, connection: Connection, audit_id: str, options: Options) -> Trained:
    """Write preference rows into an empty folder. Raises OSError, and InvalidInput for tasks of a shipped suite."""
    return _write(folder, lambda: _pairs(connection, audit_id, options), options)


def write_kto(folder: Path, connection: Connection, audit_id: str, options: Options) -> Trained:
    """As `write_dpo`, with a row an episode."""
    return _write(folder, lambda: _episodes(connection, audit_id, options), options)


def _pairs(connection: Connection, audit_id: str, options: Options) -> _Stream:
    with closing(exported_pairs(connection, audit_id)) as pairs:
        for pair in pairs:
            if not options.allow_eval_tasks:
                refuse_shipped(pair.prompt, pair.a or (), pair.b or ())
            yield _Made(dpo_row(pair), _ABILITY[pair.near], _is_kept(pair, options))


def _episodes(connection: Connection, audit_id: str, options: Options) -> _Stream:
    with closing(exported_episodes(connection, audit_id)) as episodes:
        for episode in episodes:
            if not options.allow_eval_tasks:
                refuse_shipped(episode.prompt, episode.messages)
            yield _Made(kto_row(episode), "unknown", True)


def _is_kept(pair: ExportedPair, options: Options) -> bool:
    if options.keep is None or options.judge is None:
        return True
    said = judge_found(pair, options.judge)
    if said is None or said.pref not in {"A", "B"}:
        return False
    return options.keep == "judge_decided" or said.misselected is (options.keep == "judge_wrong")


def _write(folder: Path, made: Callable[[], _Stream], options: Options) -> Trained:
    """The rows are made twice: what is split are the tasks that have any."""
    with closing(made()) as first:
        split = split_of((one.row.task for one in first if isinstance(one.row, Row)), options.seed, options.test_share)
    left_out, before, after = Counter[Omission](), Counter[Ability](), Counter[Ability]()
    completions = Counter[Completion]()
    rows = dict.fromkeys((TRAIN, TEST) if split.last is not None else (TRAIN,), 0)
    with (
        closing(made()) as stream,
        (folder / TRAIN).open("x", encoding="utf-8", newline="\n") as train,
        (folder / TEST).open("x", encoding="utf-8", newline="\n") as test,
    ):
        for one in stream:
            if not isinstance(one.row, Row):
                left_out[one.row] += 1
                continue
            before[one.ability] += 1
            if one.kept:
                after[one.ability] += 1
                is_test = split.is_test(one.row.task)
                (test if is_test else train).write(line(without_keys(one.row.fields, options.hide)))
                rows[TEST if is_test else TRAIN] += 1
                completions.update([one.row.completion] if one.row.completion else [])
    if TEST not in rows:
        (folder / TEST).unlink()
    return Trained([Part(name, number) for name, number in rows.items()], left_out, before, after, completions)
