"""Carries set-up out: plans in, changed files out, all of them or none; and the way back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from misjudge_server.clients.masking import masked
from misjudge_server.setup import files, formats
from misjudge_server.setup.backups import (
    History,
    Record,
    history_path,
    read_history,
    record_of,
    undone,
    write_history,
)
from misjudge_server.setup.changes import FilePlan, wanted
from misjudge_storage.errors import MisjudgeError

_LOCK: Final = "lock"


class Prepared(NamedTuple):
    """A change that was worked out and not made yet. `before` is None where there is no file."""

    plan: FilePlan
    before: bytes | None
    before_text: str
    after_text: str
    record: Record
    notes: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.after_text != self.before_text


class Undone(NamedTuple):
    """What became of a file. `found`: it was there before; `whole`: it is as it was, to the byte; `left`: what is
    another's by now; `lost`: what others added to our entry or changed in it, which went with that.
    """

    file: Path
    found: bool
    removed: bool
    whole: bool
    left: tuple[str, ...]
    lost: tuple[str, ...]


def undo_folder(home: Path) -> Path:
    """Where the way back is kept."""
    return home / ".misjudge" / "setup"


def prepare(plan: FilePlan) -> Prepared:
    """Work out what a plan does to its file as that is now. Raises InvalidInput."""
    before = files.read_bytes(plan.file)
    text = files.as_text(before, plan.file)
    label = str(plan.file)
    current = formats.parse(text, plan.format, label)
    settings, notes = plan.wish(current)
    needed = wanted(current, settings, label)
    after = formats.with_settings(text, needed, plan.format, label)
    record = record_of(None if before is None else text, after, needed, current, plan.format)
    return Prepared(plan, before, text, after, record, (*notes, *_kept_keys(record)))


def apply(plans: Sequence[FilePlan], kept: Path) -> tuple[Prepared, ...]:
    """Change the files, keeping the way back in `kept`. Raises MisjudgeError; then no file is changed."""
    with _alone(kept, [plan.file for plan in plans]):
        prepared = tuple(prepare(plan) for plan in plans)
        done: list[Path] = []
        try:
            for one in prepared:
                if one.changes:
                    _change(one, kept)
                    done.append(one.plan.file)
        except BaseException:
            for file in reversed(done):
                with suppress(MisjudgeError):
                    _undo_latest(file, kept)
            raise
        return prepared


def undo(targets: Sequence[Path], kept: Path) -> tuple[Undone, ...]:
    """Take back every change of these files that is kept; nothing for a file without one. Raises MisjudgeError."""
    with _alone(kept, targets):
        histories = [(file, read_history(kept, file)) for file in targets]
        return tuple(_undo(file, history.records, kept) for file, history in histories if history.records)


def _kept_keys(record: Record) -> Iterator[str]:
    """What to tell where the way back holds something like a key, since that was replaced."""
    for change in record.changes:
        line = f'"{change.path[-1]}": {change.was}'
        if change.was is not None and masked(line) != line:
            yield (
                f"What stood at {'.'.join(change.path)} may be a key: a copy is kept in ~/.misjudge/setup, readable by "
                "you only, until you undo."
            )


@contextmanager
def _alone(kept: Path, targets: Sequence[Path]) -> Iterator[None]:
    """Hold the lock of all set-ups; a folder that is empty at the end is not left behind."""
    try:
        with files.locked(kept / _LOCK):
            for file in targets:
                files.clear_unfinished(file)
                files.clear_unfinished(history_path(kept, file))
            yield
    finally:
        files.remove_folders((kept.parent, kept))


def _change(one: Prepared, kept: Path) -> None:
    """Keep the way back first: what a crash leaves behind can be undone then."""
    history = read_history(kept, one.plan.file)
    made = files.missing_folders(Path(os.path.realpath(one.plan.file)).parent)
    record = one.record.model_copy(update={"folders": tuple(str(folder) for folder in made)})
    try:
        write_history(kept, one.plan.file, History(file=history.file, records=(*history.records, record)))
        files.make_folders(made)
        files.replace(one.plan.file, one.before, one.after_text.encode(), mode=one.plan.mode)
    except BaseException:
        files.remove_folders(made)
        write_history(kept, one.plan.file, history)
        raise


def _undo(file: Path, records: Sequence[Record], kept: Path, remaining: Sequence[Record] = ()) -> Undone:
    """Take back these changes of a file, the latest first; `remaining` are those that stay."""
    before = files.read_bytes(file)
    text = None if before is None else files.as_text(before, file)
    whole = True
    left: list[str] = []
    lost: list[str] = []
    for record in reversed(records):
        if text is not None:
            text, exact, others, gone = undone(text, record, str(file))
            whole = whole and exact
            left += others
            lost += gone
    files.replace(file, before, None if text is None else text.encode())
    if text is None:
        files.remove_folders([Path(folder) for record in records for folder in record.folders])
    write_history(kept, file, History(file=str(file), records=tuple(remaining)))
    return Undone(file, before is not None, text is None, whole, tuple(dict.fromkeys(left)), tuple(dict.fromkeys(lost)))


def _undo_latest(file: Path, kept: Path) -> None:
    *earlier, latest = read_history(kept, file).records
    _undo(file, [latest], kept, earlier)
