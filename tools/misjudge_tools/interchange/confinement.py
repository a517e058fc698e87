"""Which files may be read. Links are followed before a path is judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from misjudge_storage.errors import InvalidInput


def refuse_outside(path: Path, roots: Sequence[Path]) -> None:
    """Raises InvalidInput, with what to do, for a path that leads out of all of these folders."""
    if not lies_under(path, roots):
        raise InvalidInput(
            f"{path} is outside the folders that may be read ({', '.join(map(str, roots))}). "
            "Move it there, or name its folder in MISJUDGE_ROOTS."
        )


def lies_under(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a path leads into one of these folders. Raises InvalidInput for what is no file name."""
    try:
        whole = path.resolve()
    except (OSError, ValueError, RuntimeError):
        raise InvalidInput("A path holds a NUL character, is too long, or is a link to itself. Correct it.") from None
    return any(whole.is_relative_to(root.resolve()) for root in roots)
