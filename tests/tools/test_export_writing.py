"""Exports are there whole or not at all, and replace nothing unasked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from export_places import file_at, left, write_file, write_folder
from misjudge_storage.errors import InvalidInput
from misjudge_tools.exporting.leftovers import beside_of
from misjudge_tools.exporting.writing import MARKER, new_folder


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
