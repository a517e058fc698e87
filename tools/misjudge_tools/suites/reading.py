"""Reading the files of a suite: whole, within limits, each problem with its line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, RecordError
from misjudge_tools.interchange.files import read_jsonl
from misjudge_tools.interchange.json_records import json_object
from misjudge_tools.interchange.opening import open_text, reading
from misjudge_tools.suites.sentences import ended, sentences

MOST: Final = 5
"""Problems that one message names."""
TEXT_LIMIT_BYTES: Final = 1_000_000
"""Longest agent.md and tools.json."""
LARGE_LIMIT_BYTES: Final = 64_000_000
"""Longest of the other files."""

_Model = TypeVar("_Model", bound=BaseModel)


class Numbered(NamedTuple, Generic[_Model]):
    """A record and the line that it stands on."""

    line: int
    value: _Model


def read_records(path: Path, model: type[_Model]) -> list[Numbered[_Model]]:
    """The records of a file with a JSON object a line. Raises InvalidInput with the lines of the first problems."""
    refuse_large(path, LARGE_LIMIT_BYTES)
    records: list[Numbered[_Model]] = []
    problems: list[str] = []
    for row in read_jsonl(path):
        if isinstance(row, BadRecord):
            problems.append(at_line(path.name, row.line, row.problem))
            continue
        try:
            records.append(Numbered(row.line, strictly(model, row.fields)))
        except ValidationError as error:
            problems += [at_line(path.name, row.line, said) for said in sentences(error, row.fields, model)]
    refuse(problems)
    return records


def read_object(path: Path, model: type[_Model]) -> _Model:
    """The one JSON object of a file. Raises InvalidInput."""
    try:
        fields = json_object(read_whole(path, TEXT_LIMIT_BYTES))
    except RecordError as error:
        raise InvalidInput(ended(f"{path.name} {error}")) from None
    try:
        return strictly(model, fields)
    except ValidationError as error:
        raise _refusal([ended(f"{path.name}: {said}") for said in sentences(error, fields, model)]) from None


def read_whole(path: Path, limit: int) -> str:
    """The text of a file of at most `limit` bytes. Raises InvalidInput."""
    refuse_large(path, limit)
    with reading(path), open_text(path, newline=None) as handle:
        return handle.read(limit)


def refuse_large(path: Path, limit: int) -> None:
    """Raises InvalidInput for a file of more than `limit` bytes, and for a folder, pipe or device."""
    with reading(path):
        if not path.is_file():
            raise InvalidInput(f"{path} is not a file. Put the file itself there.")
        if path.stat().st_size > limit:
            raise InvalidInput(f"{path} is larger than {limit // 1000:,} kB. Leave out what is not needed.")


def refuse(problems: Iterable[str]) -> None:
    """Raises InvalidInput with the first problems, if there are any."""
    found = list(problems)
    if found:
        raise _refusal(found)


def _refusal(problems: Iterable[str]) -> InvalidInput:
    seen = list(dict.fromkeys(problems))
    more = f" And {len(seen) - MOST} more." if len(seen) > MOST else ""
    return InvalidInput(" ".join(seen[:MOST]) + more)


def at_line(file: str, line: int, problem: str) -> str:
    """The sentence for a problem of a record."""
    return ended(f"{file}, line {line}: {problem}")


def strictly(model: type[_Model], fields: dict[str, Any]) -> _Model:
    """The value, where nothing needs to be converted. Raises ValidationError."""
    return model.model_validate_json(json.dumps(fields), strict=True)
