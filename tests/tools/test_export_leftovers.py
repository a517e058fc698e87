"""What killed writers left is cleared, and nothing that may still be written or is of others."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from export_places import left, posix, write_file, write_folder
from misjudge_tools.exporting.leftovers import beside_of


def killed(place: Path, *, folder: bool, age_s: float) -> Path:
    """What a writer of `place` left that was killed so long ago."""
    beside = beside_of(place)
    if folder:
        beside.mkdir()
        (beside / "half").write_text("half", encoding="utf-8")
    else:
        beside.write_text("half", encoding="utf-8")
    then = time.time() - age_s
    os.utime(beside, (then, then))
    return beside


@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize("name", ["out", "a" * 200, "a[b]*.c+"])
def test_what_killed_writers_left_a_day_ago_is_cleared_by_the_next_write(
    tmp_path: Path, name: str, folder: bool
) -> None:
    place = tmp_path / name
    for left_folder in (True, False):
        killed(place, folder=left_folder, age_s=2 * 86_400)
    if folder:
        write_folder(place, "x")
    else:
        write_file(place, "x")
    assert left(tmp_path) == [name]


def test_what_may_still_be_written_and_what_is_of_others_is_not_cleared(tmp_path: Path) -> None:
    day = 86_400
    kept = [
        killed(tmp_path / "out.csv", folder=False, age_s=day - 600),
        killed(tmp_path / "out.csv", folder=True, age_s=0),
        killed(tmp_path / "other.csv", folder=False, age_s=2 * day),
    ]
    for name in (".out.csv.tmp", "out.csv.0123456789abcdef.tmp", ".out.csv.0123456789abcdef.old", ".out.csv.mine.tmp"):
        kept.append(tmp_path / name)
        kept[-1].write_text("mine", encoding="utf-8")
        os.utime(kept[-1], (0, 0))
    write_file(tmp_path / "out.csv", "x")
    assert left(tmp_path) == sorted([*(path.name for path in kept), "out.csv"])


@posix
def test_a_link_that_is_called_as_an_unfinished_file_is_removed_and_not_followed(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine", encoding="utf-8")
    link = beside_of(tmp_path / "out.csv")
    link.symlink_to(mine)
    os.utime(link, (0, 0), follow_symlinks=False)
    write_file(tmp_path / "out.csv", "x")
    assert left(tmp_path) == ["mine", "out.csv"] and left(mine) == ["notes.txt"]
