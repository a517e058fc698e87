"""Single fields of an imported record, read strictly.

A field that is missing, null or blank is None; one that holds anything but what is asked for raises
RecordError with the field's name and what it may hold, never with its content.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import BadRecord, RecordError
from misjudge_tools.interchange.files import Row

_FLAGS = {"1": True, "1.0": True, "true": True, "yes": True, "0": False, "0.0": False, "false": False, "no": False}
_LARGEST_INTEGER = 2**31 - 1
"""What an INTEGER column of any database holds."""
_T = TypeVar("_T")

Fields = Mapping[str, Any]


def expect(
    rows: Iterable[Row | BadRecord], path: Path, kind: str, *needed: str | tuple[str, ...]
) -> Iterator[Row | BadRecord]:
    """The rows as they are; raises InvalidInput where the first one shows that the file is of another format.

    Each of `needed` is a field name, or several of which one must be there.
    """
    checked = False
    for row in rows:
        if not checked and isinstance(row, Row):
            _refuse_other_format(row.fields, path, kind, needed)
            checked = True
        yield row


def _refuse_other_format(fields: Fields, path: Path, kind: str, needed: Iterable[str | tuple[str, ...]]) -> None:
    for names in needed:
        options = (names,) if isinstance(names, str) else names
        if not any(name in fields for name in options):
            raise InvalidInput(
                f"{path} is not a {kind} file: its first record has no {' or '.join(options)}. "
                "Name the format it is in, or map its columns with the table format."
            )


def text(fields: Fields, name: str) -> str | None:
    """The field as stripped text; numbers are written out."""
    value = fields.get(name)
    if isinstance(value, str):
        return value.strip() or None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{name} must be text")
    return str(value)


def required(fields: Fields, name: str) -> str:
    """As `text`, but not blank."""
    value = text(fields, name)
    if value is None:
        raise RecordError(f"{name} is missing or empty")
    return value


def raw_text(fields: Fields, name: str) -> str:
    """The field as it is, empty where it is missing: for prompts and replies, whose spaces matter."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordError(f"{name} must be text")
    return value


def number(fields: Fields, name: str, low: float = -math.inf, high: float = math.inf) -> float | None:
    """The field as a finite number from `low` to `high`."""
    value = text(fields, name)
    if value is None:
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        raise RecordError(f"{name} must be a number") from None
    if not math.isfinite(found):
        raise RecordError(f"{name} must be a finite number, not NaN or infinity; leave it empty where there is none")
    if not low <= found <= high:
        raise RecordError(f"{name} must be {_range(low, high)}")
    return found


def _range(low: float, high: float) -> str:
    if high == math.inf:
        return f"{low:g} or more"
    return f"from {low:g} to {high:g}" if low > -math.inf else f"{high:g} or less"


def whole(fields: Fields, name: str) -> int | None:
    """The field as a whole number of 0 or more; `3.0`, as pandas writes it, is 3."""
    found = number(fields, name, low=0, high=_LARGEST_INTEGER)
    if found is not None and not found.is_integer():
        raise RecordError(f"{name} must be a whole number")
    return None if found is None else int(found)


def flag(fields: Fields, name: str) -> bool | None:
    """The field as yes or no: 1 or 0, true or false, yes or no."""
    value = fields.get(name)
    return value if isinstance(value, bool) else choice(fields, name, _FLAGS, shown="1, 0, true, false, yes or no")


def choice(fields: Fields, name: str, allowed: Mapping[str, _T], shown: str = "") -> _T | None:
    """What `allowed` says the field stands for; letter case and outer spaces do not matter."""
    value = text(fields, name)
    if value is None:
        return None
    if value in allowed:
        return allowed[value]
    for written, meant in allowed.items():
        if written.lower() == value.lower():
            return meant
    raise RecordError(f"{name} must be {shown or ', '.join(allowed)}, or empty")
