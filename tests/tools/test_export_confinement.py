"""An export lies where it may: under the roots, behind no link, in the place of nothing that is not ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from export_places import file_at, left, posix, write_file, write_folder
from misjudge_storage.errors import InvalidInput
from misjudge_tools.exporting.writing import MARKER, new_folder, target


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


@posix
def test_a_link_to_a_folder_is_not_replaced(tmp_path: Path) -> None:
    write_folder(tmp_path / "real", "first")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(InvalidInput, match="something else than an export"):
        write_folder(tmp_path / "link", "second", force=True)
    assert left(tmp_path / "real") == [MARKER, "first"]
