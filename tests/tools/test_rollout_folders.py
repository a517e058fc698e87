from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from misjudge_tools.episodes.folders import rollout_folder, sweep_folders

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions and signals")

KILLED = """
import os, sys
from misjudge_tools.episodes.folders import rollout_folder
with rollout_folder() as folder:
    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_text("x")
    os._exit(9)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own as the system's temporary one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path


def left_by_a_killed_process(temporary: Path) -> Path:
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "TEMP": str(temporary),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    assert subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False).returncode == 9
    (left,) = temporary.iterdir()
    assert (left / "sub" / "file").exists()
    return left


def test_a_folder_is_empty_private_and_removed_with_all_that_is_in_it(temporary: Path) -> None:
    with rollout_folder() as folder, rollout_folder() as other:
        assert folder != other
        assert folder.parent == temporary
        assert list(folder.iterdir()) == []
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text("x", encoding="utf-8")
        if sys.platform != "win32":
            assert folder.stat().st_mode & 0o777 == 0o700
    assert list(temporary.iterdir()) == []


def test_a_folder_is_removed_after_an_error(temporary: Path) -> None:
    with pytest.raises(KeyError), rollout_folder():
        raise KeyError
    assert list(temporary.iterdir()) == []


@posix
def test_what_was_made_read_only_is_removed_too_and_links_are_not_followed(temporary: Path) -> None:
    outside = temporary / "outside"
    outside.mkdir(mode=0o755)
    (outside / "kept").write_text("x", encoding="utf-8")
    with rollout_folder() as folder:
        (folder / "shut" / "deep").mkdir(parents=True)
        (folder / "shut" / "deep" / "file").write_text("x", encoding="utf-8")
        (folder / "shut" / "link").symlink_to(outside)
        (folder / "link").symlink_to(outside)
        (folder / "shut" / "deep").chmod(0o500)
        (folder / "shut").chmod(0o500)
        folder.chmod(0o500)
    assert list(temporary.iterdir()) == [outside]
    assert (outside / "kept").exists()
    assert outside.stat().st_mode & 0o777 == 0o755


@posix
def test_what_a_killed_process_left_is_swept_by_the_next(temporary: Path) -> None:
    left_by_a_killed_process(temporary)
    with rollout_folder() as folder:
        sweep_folders()
        assert list(temporary.iterdir()) == [folder]


@posix
def test_a_process_sweeps_before_its_first_folder(temporary: Path) -> None:
    first = left_by_a_killed_process(temporary)
    second = left_by_a_killed_process(temporary)
    assert first != second
    assert not first.exists()


@posix
def test_a_dead_process_of_another_machine_or_a_link_is_left_alone(temporary: Path) -> None:
    left = left_by_a_killed_process(temporary)
    host = left.name.split("-")[2]
    elsewhere = left.rename(left.with_name(left.name.replace(host, "0123abcd")))
    link = temporary / left.name
    link.symlink_to(elsewhere)
    sweep_folders()
    assert (elsewhere / "sub" / "file").exists()
    assert link.is_symlink()


def test_folders_of_others_are_left_alone(temporary: Path) -> None:
    pid = os.getpid()
    for name in ("misjudge-rollout-1-abc", f"misjudge-rollout-00000000-{2**22 + 1}-abc", "misjudge-rollout", "other"):
        (temporary / name).mkdir()
    with rollout_folder() as folder:
        host = folder.name.split("-")[2]
        parent = temporary / f"misjudge-rollout-{host}-{os.getppid()}-abc"
        parent.mkdir()
        (temporary / f"misjudge-rollout-{host}-{pid}-file").write_text("x", encoding="utf-8")
        before = set(temporary.iterdir())
        sweep_folders()
        assert set(temporary.iterdir()) == before
