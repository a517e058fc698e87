"""Small text files that a person keeps: settings, prompts. Read whole, within a limit."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from misjudge_storage.errors import InvalidInput
from misjudge_tools.profiles import PromptText

PROMPT_LIMIT_BYTES: Final = 100_000


def read_text(path: Path, label: str, limit: int) -> str:
    """The UTF-8 text of a regular file of at most `limit` bytes, behind its byte order mark.

    Raises InvalidInput, which calls the file `label`.
    """
    data = _read_bytes(path, label, limit)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"The file {label} is not UTF-8 text. Save it as UTF-8.") from None
    if "\0" in text:
        raise InvalidInput(f"The file {label} holds NUL bytes, so it is not text. Save it as UTF-8.")
    return text


def prompt_in(path: Path, label: str) -> PromptText:
    """The prompt in a file, which messages call `label`. Raises InvalidInput."""
    text = read_text(path, label, PROMPT_LIMIT_BYTES)
    if not text.strip():
        raise InvalidInput(f"The file {label} is empty.")
    return PromptText(name=path.stem, text=text)


def _read_bytes(path: Path, label: str, limit: int) -> bytes:
    try:
        # A pipe or a device could hold the reader for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{label} is not a file. Remove it, or put the file there.")
        with path.open("rb") as handle:
            data = handle.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        said = reason or "it is no file name"
        raise InvalidInput(f"The file {label} cannot be read ({said}). Correct or remove it.") from None
    if len(data) > limit:
        raise InvalidInput(f"The file {label} is larger than {limit // 1000:,} kB. Shorten it.")
    return data
