"""What set-up changed, kept for the way back: the changed pieces of each file and what stood there, never the file.

A copy of the whole file would be one more place with whatever keys stand in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from misjudge_server.clients.documents import value_at
from misjudge_server.setup import files, formats
from misjudge_server.setup.changes import FileFormat, KeyPath, Setting, Was, missing_tables
from misjudge_server.setup.hunks import Hunk, hunks, restored
from misjudge_server.setup.own_entry import starts_us
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Value


class Record(Value):
    """One change of a file. `after`: SHA-256 of what was written; `made`, `folders`: what was not there before."""

    format: FileFormat
    created: bool
    after: str
    hunks: tuple[Hunk, ...]
    changes: tuple[Was, ...]
    made: tuple[KeyPath, ...]
    folders: tuple[str, ...] = ()


class History(Value):
    """All changes of a file that were not undone, the latest last."""

    file: str
    records: tuple[Record, ...] = ()


class Restored(NamedTuple):
    """A file's text as it was, None for no file; `whole`: to the byte; `left`: what is another's by now; `lost`: what
    others added to our entry or changed in it, which went with that.
    """

    text: str | None
    whole: bool
    left: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def record_of(
    before: str | None, after: str, settings: Sequence[Setting], current: Mapping[str, Any], kind: FileFormat
) -> Record:
    """What was done to a file; `current` is what it held."""
    return Record(
        format=kind,
        created=before is None,
        after=_digest(after),
        hunks=hunks(before or "", after),
        changes=tuple(
            Was(path=one.path, now=one.value, was=formats.source_at(before, one.path, kind) if before else None)
            for one in settings
        ),
        made=missing_tables(current, settings),
    )


def undone(text: str, record: Record, label: str) -> Restored:
    """The text before the change. Where others changed the file since, only what is ours is taken out.

    Raises InvalidInput where the file cannot be read any more.
    """
    if _digest(text) == record.after:
        before = restored(text, record.hunks)
        if before is not None:
            return Restored(None if record.created else before, True)
    left: list[str] = []
    lost: list[str] = []
    for change in reversed(record.changes):
        found = formats.parse(text, record.format, label)
        own = value_at(found, *change.path)
        if _is_as_written(own, change):
            lost += (".".join(path) for path in _others_in(own, change.now, change.path))
            text = _taken_back(text, change, record.format, label)
        elif _is_anothers(text, found, change, record.format):
            left.append(".".join(change.path))
    for path in reversed(record.made):
        if value_at(formats.parse(text, record.format, label), *path) == {}:
            text = formats.without_value(text, path, record.format, label)
    empty = record.created and formats.is_empty(text, record.format, label)
    return Restored(None if empty else text, False, tuple(left), tuple(lost))


def read_history(folder: Path, file: Path) -> History:
    """The changes of a file that are kept in `folder`. Raises InvalidInput."""
    path = history_path(folder, file)
    data = files.read_bytes(path)
    if data is None:
        return History(file=str(file))
    try:
        return History.model_validate_json(data)
    except ValidationError:
        raise InvalidInput(f"{path}, which holds the way back for {file}, cannot be read. Move it away.") from None


def write_history(folder: Path, file: Path, history: History) -> None:
    """Keep the changes of a file; none at all removes what was kept."""
    path = history_path(folder, file)
    data = history.model_dump_json().encode() if history.records else None
    before = files.read_bytes(path)
    if data != before:
        files.replace(path, before, data)


def history_path(folder: Path, file: Path) -> Path:
    return folder / f"{hashlib.sha256(str(file).encode()).hexdigest()[:16]}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _is_as_written(found: Any, change: Was) -> bool:
    """Whether what stands there is ours: as it was written, or our entry to which a person added something."""
    if found is None or found == change.now:
        return found is not None
    return change.was is None and isinstance(change.now, Mapping) and starts_us(found)


def _others_in(found: Any, written: Any, path: KeyPath) -> Iterator[KeyPath]:
    """The paths of what stands there and was not written so."""
    if isinstance(found, Mapping) and isinstance(written, Mapping):
        for name, value in found.items():
            yield from _others_in(value, written.get(name), (*path, name))
    elif found != written:
        yield path


def _is_anothers(text: str, found: Mapping[str, Any], change: Was, kind: FileFormat) -> bool:
    if value_at(found, *change.path) is None:
        return False
    return formats.source_at(text, change.path, kind) != change.was


def _taken_back(text: str, change: Was, kind: FileFormat, label: str) -> str:
    if change.was is None:
        return formats.without_value(text, change.path, kind, label)
    return formats.with_source(text, change.path, change.was, kind, label)
