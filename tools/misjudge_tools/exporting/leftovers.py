"""Files and folders that are not finished yet, and what is left of those whose writer was killed."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final, Literal

_DEAD_S: Final = 86_400.0
"""Nobody writes for a day without a file growing; whose process a number was, on which machine, nobody knows."""
_KEPT: Final = 40
"""So many characters of a name are in that of its unfinished file, so that a long one fits."""


def beside_of(place: Path, ending: Literal["tmp", "old"] = "tmp") -> Path:
    """A new name beside `place`: `tmp` for what is written, `old` for what is replaced, which is never cleared."""
    return place.with_name(f".{place.name[:_KEPT]}.{token_hex(8)}.{ending}")


def clear_dead(place: Path) -> None:
    """Remove what writers of `place` left when they were killed: what has not grown for a day. Raises nothing."""
    unfinished = re.compile(rf"\.{re.escape(place.name[:_KEPT])}\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError):
        for found in place.parent.iterdir():
            if unfinished.fullmatch(found.name) and time.time() - found.lstat().st_mtime > _DEAD_S:
                if found.is_dir() and not found.is_symlink():
                    shutil.rmtree(found, ignore_errors=True)
                else:
                    found.unlink(missing_ok=True)
