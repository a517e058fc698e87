"""Exports are there whole or not at all, where they may be, and replace nothing unasked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_tools.exporting import writing
from misjudge_tools.exporting.writing import MARKER, new_file, new_folder, target

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows makes no links without leave")


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_file(path: Path, text: str, *, force: bool = False) -> None:
    with new_file(path, force=force) as place:
        place.write_text(text, encoding="utf-8")


def write_folder(path: Path, name: str, *, force: bool = False) -> None:
    with new_folder(path, force=force) as place:
        (place / name).write_text(name, encoding="utf-8")


def test_a_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_file(tmp_path / "out.csv", "x")
    assert left(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "x"


def test_a_file_is_not_there_before_it_is_finished(tmp_path: Path) -> None:
    with new_file(tmp_path / "out.csv", force=False) as place:
        place.write_text("half", encoding="utf-8")
        assert not (tmp_path / "out.csv").exists()


def test_nothing_is_left_of_a_file_or_folder_that_failed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), new_file(tmp_path / "out.csv", force=False) as place:
        place.write_text("half", encoding="utf-8")
        raise RuntimeError
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out", force=False) as place:
        (place / "half").write_text("half", encoding="utf-8")
        raise RuntimeError
    assert left(tmp_path) == []


def test_a_file_that_failed_leaves_the_one_before_it(tmp_path: Path) -> None:
    write_file(tmp_path / "out.csv", "first")
    with pytest.raises(RuntimeError), new_file(tmp_path / "out.csv", force=True):
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
    with pytest.raises(InvalidInput, match="made by somebody else"), new_file(tmp_path / "a", force=False) as place:
        place.write_text("ours", encoding="utf-8")
        (tmp_path / "a").write_text("theirs", encoding="utf-8")
    monkeypatch.setattr(os, "link", _no_links)
    with pytest.raises(InvalidInput, match="made by somebody else"), new_file(tmp_path / "b", force=False) as place:
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
        new_file(tmp_path / "out.csv", force=False),
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
        target(".", (), None)


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


@pytest.mark.parametrize("out", ["", "..", "a\0.csv"])
def test_what_is_no_name_is_refused(out: str) -> None:
    with pytest.raises(InvalidInput):
        target(out, (), None)


@posix
def test_a_link_that_leads_out_of_the_roots_is_refused(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "a.csv").symlink_to(outside / "a.csv")
    for name in ("link/a.csv", "a.csv"):
        with pytest.raises(InvalidInput, match="outside the folders"):
            target(str(inside / name), (".csv",), (inside,))


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
    assert len(writing._beside(tmp_path / name).name) < 100


@pytest.mark.parametrize("own", [True, False])
def test_a_folder_that_somebody_makes_meanwhile_is_kept(tmp_path: Path, own: bool) -> None:
    """Another export took the name, or a person put a folder of theirs there."""
    path = tmp_path / "out"
    with pytest.raises(InvalidInput, match="somebody else meanwhile"), new_folder(path, force=False) as beside:
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
    with pytest.raises(InvalidInput, match="holds other files"), new_folder(path, force=True):
        path.mkdir()
        (path / "theirs.txt").write_text("theirs", encoding="utf-8")
    assert left(path) == ["theirs.txt"] and left(tmp_path) == ["out"]
