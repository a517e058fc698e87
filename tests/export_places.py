"""What the tests of exports share: files and folders that are written, and what is left beside them."""

from __future__ import annotations

import re
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from misjudge_tools.exporting.writing import Roots, new_file, new_folder

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows makes no links without leave")
OURS = re.compile(rb"ours")


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def file_at(path: Path, *, force: bool = False, roots: Roots = None) -> AbstractContextManager[Path]:
    return new_file(path, force=force, roots=roots, ours=OURS)


def write_file(path: Path, text: str, *, force: bool = False, roots: Roots = None) -> None:
    with file_at(path, force=force, roots=roots) as place:
        place.write_text(text, encoding="utf-8")


def write_folder(path: Path, name: str, *, force: bool = False, roots: Roots = None, kind: str = "dpo") -> None:
    with new_folder(path, kind, force=force, roots=roots) as place:
        (place / name).write_text(name, encoding="utf-8")
