"""Exports are there whole or not at all, where they may be, and replace nothing unasked."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_tools.exporting.leftovers import beside_of
from misjudge_tools.exporting.writing import MARKER, Roots, new_file, new_folder, target

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows makes no links without leave")


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


OURS = re.compile(rb"ours")


def file_at(path: Path, *, force: bool = False, roots: Roots = None) -> AbstractContextManager[Path]:
    return new_file(path, force=force, roots=roots, ours=OURS)


def write_file(path: Path, text: str, *, force: bool = False, roots: Roots = None) -> None:
    with file_at(path, force=force, roots=roots) as place:
        place.write_text(text, encoding="utf-8")


def write_folder(path: Path, name: str, *, force: bool = False, roots: Roots = None, kind: str = "dpo") -> None:
    with new_folder(path, kind, force=force, roots=roots) as place:
        (place / name).write_text(name, encoding="utf-8")


def test_a_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_file(tmp_path / "out.csv", "x")
    assert left(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "x"


def test_a_file_is_not_there_before_it_is_finished(tmp_path: Path) -> None:
    with file_at(tmp_path / "out.csv", force=False) as place:
        place.write_text("half", encoding="utf-8")
        assert not (tmp_path / "out.csv").exists()


def test_nothing_is_left_of_a_file_or_folder_that_failed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), file_at(tmp_path / "out.csv", force=False) as place:
        place.write_text("half", encoding="utf-8")
        raise RuntimeError
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out", "dpo", force=False, roots=None) as place:
        (place / "half").write_text("half", encoding="utf-8")
        raise RuntimeError
    assert left(tmp_path) == []


def test_a_file_that_failed_leaves_the_one_before_it(tmp_path: Path) -> None:
    write_file(tmp_path / "out.csv", "first")
    with pytest.raises(RuntimeError), file_at(tmp_path / "out.csv", force=True):
        raise RuntimeError
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "first"


def test_a_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    write_file(tmp_path / "out.csv", "first")
    with pytest.raises(InvalidInput, match=r"is there already.*--force"):
        write_file(tmp_path / "out.csv", "second")
    write_file(tmp_path / "out.csv", "second", force=True)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "second"
    assert left(tmp_path) == ["out.csv"]


def test_a_file_that_somebody_makes_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="made by somebody else"), file_at(tmp_path / "a", force=False) as place:
        place.write_text("ours", encoding="utf-8")
        (tmp_path / "a").write_text("theirs", encoding="utf-8")
    monkeypatch.setattr(os, "link", _no_links)
    with pytest.raises(InvalidInput, match="made by somebody else"), file_at(tmp_path / "b", force=False) as place:
        place.write_text("ours", encoding="utf-8")
        (tmp_path / "b").write_text("theirs", encoding="utf-8")
    assert {path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"theirs"}


def _no_links(*_: object) -> None:
    raise OSError("no links on this disk")


def test_a_disk_without_links_takes_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _no_links)
    write_file(tmp_path / "out.csv", "x")
    assert left(tmp_path) == ["out.csv"]


def test_what_the_system_refuses_is_said_in_a_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidInput, match=r"cannot be written \(No space left on device\)"),
        file_at(tmp_path / "out.csv", force=False),
    ):
        raise OSError(28, "No space left on device")
    assert left(tmp_path) == []


def test_a_folder_is_marked_and_replaced_as_a_whole_by_force(tmp_path: Path) -> None:
    out = tmp_path / "dpo"
    write_folder(out, "first")
    with pytest.raises(InvalidInput, match="is there already"):
        write_folder(out, "second")
    write_folder(out, "second", force=True)
    assert left(out) == [MARKER, "second"]
    assert left(tmp_path) == ["dpo"]


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    write_folder(out, "first")
    (out / MARKER).unlink()
    with pytest.raises(InvalidInput, match="holds other files and is never replaced"):
        write_folder(out, "second", force=True)
    assert left(out) == ["first"]


def test_a_folder_comes_back_where_the_new_one_cannot_take_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "dpo"
    write_folder(out, "first")
    rename = Path.rename

    def fail(self: Path, to: Path) -> Path:
        if to == out and (self / "second").exists():
            raise OSError(13, "Permission denied")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InvalidInput, match="Permission denied"):
        write_folder(out, "second", force=True)
    assert left(out) == [MARKER, "first"]
    assert left(tmp_path) == ["dpo"]


def test_neither_takes_the_place_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InvalidInput, match="something else than an export"):
        write_file(tmp_path / "folder", "x", force=True)
    with pytest.raises(InvalidInput, match="something else than an export"):
        write_folder(tmp_path / "file", "x", force=True)


def test_the_working_folder_is_not_replaced_even_where_it_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput):
        write_folder(tmp_path, "x", force=True)
    with pytest.raises(InvalidInput, match="Name a new file or folder"):
        target(".", (), None, folder=True)


def test_a_place_lies_under_the_roots_and_ends_as_its_format_does(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    assert target(str(inside / "a.csv"), (".csv",), (inside,)) == inside / "a.csv"
    with pytest.raises(InvalidInput, match=r"outside the folders that may be written to.*MISJUDGE_ROOTS"):
        target(str(tmp_path / "a.csv"), (".csv",), (inside,))
    with pytest.raises(InvalidInput, match="outside the folders"):
        target(str(inside / ".." / "a.csv"), (".csv",), (inside,))
    with pytest.raises(InvalidInput, match=r"ends in \.csv"):
        target(str(inside / "Makefile"), (".csv",), (inside,))
    with pytest.raises(InvalidInput, match=r"does not exist\. Make it first"):
        target(str(inside / "no" / "a.csv"), (".csv",), (inside,))


@pytest.mark.parametrize("out", ["", "..", "a\0b"])
def test_what_is_no_name_is_refused(out: str) -> None:
    with pytest.raises(InvalidInput):
        target(out, (), None, folder=True)


def two_folders(tmp_path: Path) -> tuple[Path, Path]:
    """One that may be written to, and one that may not."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    return inside, outside


@posix
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", ["link/a.csv", "a.csv", "link/below/a.csv"])
def test_a_link_that_leads_out_of_the_roots_is_refused(tmp_path: Path, name: str, there: bool) -> None:
    inside, outside = two_folders(tmp_path)
    (outside / "below").mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "a.csv").symlink_to(outside / "a.csv")
    if there:
        (outside / "a.csv").write_text("ours", encoding="utf-8")
    with pytest.raises(InvalidInput, match="outside the folders"):
        target(str(inside / name), (".csv",), (inside,))
    for write in (write_file, write_folder):
        with pytest.raises(InvalidInput, match="outside the folders"):
            write(inside / name, "x", force=True, roots=(inside,))
    assert left(outside) == (["a.csv", "below"] if there else ["below"]) and left(outside / "below") == []
    assert not there or (outside / "a.csv").read_text(encoding="utf-8") == "ours"


@posix
def test_a_link_inside_the_roots_is_not_replaced_by_an_agent(tmp_path: Path) -> None:
    write_file(tmp_path / "real.csv", "ours")
    (tmp_path / "a.csv").symlink_to(tmp_path / "real.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for name in ("a.csv", "loop.csv"):
        with pytest.raises(InvalidInput):
            write_file(tmp_path / name, "second", force=True, roots=(tmp_path,))
    assert (tmp_path / "a.csv").is_symlink() and (tmp_path / "real.csv").read_text(encoding="utf-8") == "ours"


@posix
def test_a_link_that_is_turned_outside_while_a_file_is_written_leads_nothing_astray(tmp_path: Path) -> None:
    inside, outside = two_folders(tmp_path)
    (inside / "real").mkdir()
    link = inside / "link"
    link.symlink_to(inside / "real")
    with file_at(link / "a.csv", roots=(inside,)) as place:
        link.unlink()
        link.symlink_to(outside)
        place.write_text("ours", encoding="utf-8")
    assert left(inside / "real") == ["a.csv"] and left(outside) == []


@posix
@pytest.mark.parametrize("folder", [True, False])
def test_a_folder_that_becomes_a_link_meanwhile_is_not_written_to(tmp_path: Path, folder: bool) -> None:
    inside, outside = two_folders(tmp_path)
    real = inside / "real"
    real.mkdir()
    path = real / "a.csv"
    place = new_folder(path, "dpo", force=False, roots=(inside,)) if folder else file_at(path, roots=(inside,))
    with pytest.raises(InvalidInput, match=r"became a link meanwhile|cannot be written"), place as beside:
        real.rename(inside / "moved")
        real.symlink_to(outside)
        if folder:
            beside.mkdir()
        else:
            beside.write_text("ours", encoding="utf-8")
    assert left(outside) == []


def test_an_agent_replaces_only_files_that_begin_as_ours_do_and_a_person_any(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    for text in ("ours, the first", "", "ours, the third"):
        path.write_text(text, encoding="utf-8")
        write_file(path, "ours, the next", force=True, roots=(tmp_path,))
    for text in ("not ours", "x", "\ufeffours"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidInput, match="only a person may replace it"):
            write_file(path, "ours", force=True, roots=(tmp_path,))
        assert path.read_text(encoding="utf-8") == text and left(tmp_path) == ["out.csv"]
    write_file(path, "ours", force=True)
    assert path.read_text(encoding="utf-8") == "ours"


def test_an_agent_does_not_replace_what_was_put_there_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_file(path, "ours")
    with pytest.raises(InvalidInput, match="only a person"), file_at(path, force=True, roots=(tmp_path,)) as place:
        place.write_text("ours", encoding="utf-8")
        path.write_text("theirs", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "theirs" and left(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("force", [True, False])
def test_a_name_that_cannot_be_given_leaves_what_was_there_and_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    def fail(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", _no_links)
    if force:
        write_file(tmp_path / "out.csv", "first")
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InvalidInput, match="No space left"):
        write_file(tmp_path / "out.csv", "second", force=force)
    assert left(tmp_path) == (["out.csv"] if force else [])
    assert not force or (tmp_path / "out.csv").read_text(encoding="utf-8") == "first"


@posix
def test_a_link_to_a_folder_is_not_replaced(tmp_path: Path) -> None:
    write_folder(tmp_path / "real", "first")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(InvalidInput, match="something else than an export"):
        write_folder(tmp_path / "link", "second", force=True)
    assert left(tmp_path / "real") == [MARKER, "first"]


def test_a_long_name_can_be_written_too(tmp_path: Path) -> None:
    name = "a" * 200 + ".csv"
    write_file(tmp_path / name, "x")
    assert left(tmp_path) == [name]
    assert len(beside_of(tmp_path / name).name) < 100


@pytest.mark.parametrize("own", [True, False])
def test_a_folder_that_somebody_makes_meanwhile_is_kept(tmp_path: Path, own: bool) -> None:
    """Another export took the name, or a person put a folder of theirs there."""
    path = tmp_path / "out"
    with (
        pytest.raises(InvalidInput, match="somebody else meanwhile"),
        new_folder(path, "dpo", force=False, roots=None) as beside,
    ):
        (beside / "mine.txt").write_text("mine", encoding="utf-8")
        if own:
            write_folder(path, "theirs")
        else:
            path.mkdir()
            (path / "theirs.txt").write_text("theirs", encoding="utf-8")
    assert "mine.txt" not in left(path) and len(left(path)) >= 1
    assert left(tmp_path) == ["out"]


def test_force_replaces_no_folder_of_others_that_came_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(InvalidInput, match="holds other files"), new_folder(path, "dpo", force=True, roots=None):
        path.mkdir()
        (path / "theirs.txt").write_text("theirs", encoding="utf-8")
    assert left(path) == ["theirs.txt"] and left(tmp_path) == ["out"]


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("roots", [True, False])
def test_a_folder_is_replaced_only_by_the_same_kind_of_output(tmp_path: Path, force: bool, roots: bool) -> None:
    """Nobody's report is lost to an export, in the shell either."""
    below = (tmp_path,) if roots else None
    write_folder(tmp_path / "out", "first", kind="report")
    marker = tmp_path / "out" / MARKER
    whose = marker.read_bytes()
    for mark, kinds in ((whose, ("dpo", "kto", "report2", "repo")), (b"", ("report",)), (b"report", ("report",))):
        marker.write_bytes(mark)
        for kind in kinds:
            with pytest.raises(InvalidInput, match=r"another kind of output.*remove that one yourself"):
                write_folder(tmp_path / "out", "second", force=force, roots=below, kind=kind)
    assert left(tmp_path / "out") == [MARKER, "first"] and left(tmp_path) == ["out"]
    marker.write_bytes(whose)
    write_folder(tmp_path / "out", "second", force=True, roots=below, kind="report")
    assert left(tmp_path / "out") == [MARKER, "second"]


def test_force_replaces_no_other_kind_of_output_that_came_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(InvalidInput, match="another kind"), new_folder(path, "dpo", force=True, roots=None):
        write_folder(path, "theirs", kind="kto")
    assert left(path) == [MARKER, "theirs"] and left(tmp_path) == ["out"]


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
