from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from importlib import import_module
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


def nest(folder: Path, depth: int) -> None:
    """Folders within each other with a file in each of them, made as programs do: one step down at a time."""
    making = f"""
        import os
        for n in range({depth}):
            os.mkdir("a-folder")
            open("a file", "w").close()
            os.chdir("a-folder")
    """
    program = textwrap.dedent(making)
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)


@posix
def test_folders_nested_beyond_any_limit_are_removed_with_few_open_files(temporary: Path) -> None:
    resource = import_module("resource")  # which type checkers on Windows do not know
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        with rollout_folder() as folder:
            nest(folder, 3000)
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert list(temporary.iterdir()) == []


@posix
def test_a_sweep_removes_folders_nested_beyond_any_limit(temporary: Path) -> None:
    left = left_by_a_killed_process(temporary)
    nest(left / "sub", 3000)
    sweep_folders()
    assert list(temporary.iterdir()) == []


@posix
def test_of_a_folder_that_a_link_took_the_place_of_only_the_link_is_removed(temporary: Path) -> None:
    outside = temporary / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x", encoding="utf-8")
    outside.chmod(0o555)
    with rollout_folder() as folder:
        folder.rmdir()
        folder.symlink_to(outside)
    assert list(temporary.iterdir()) == [outside]
    assert (outside / "kept").exists()
    assert outside.stat().st_mode & 0o777 == 0o555


def test_a_folder_that_is_gone_or_a_file_by_now_is_no_trouble(temporary: Path) -> None:
    with rollout_folder() as gone, rollout_folder() as file:
        gone.rmdir()
        file.rmdir()
        file.write_text("x", encoding="utf-8")
    assert list(temporary.iterdir()) == []


def test_a_temporary_folder_that_cannot_be_read_is_not_swept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    sweep_folders()
    assert not (tmp_path / "missing").exists()


UNREMOVABLE = """
import os, sys, tempfile
from pathlib import Path
from misjudge_tools.episodes.folders import rollout_folder
if os.getuid() == 0:
    os.chown(tempfile.gettempdir(), 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
with rollout_folder() as folder:
    for name in ("shut", "unreadable/deep", "unreadable/deeper/deepest"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("x")
    (folder / "unreadable" / "deeper").chmod(0o500)
    (folder / "unreadable" / "deep").chmod(0)
    (folder / "unreadable").chmod(0o300)
    (folder / "shut").chmod(0)
    folder.chmod(0)
with rollout_folder() as folder:
    (folder / "file").write_text("x")
    folder.parent.chmod(0o500)
print(*(found.name == folder.name and not list(found.iterdir()) for found in folder.parent.iterdir()))
folder.parent.chmod(0o700)
"""


@posix
def test_rights_that_were_taken_away_do_not_keep_a_folder_and_what_must_stay_is_no_trouble() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as where:
        os.chmod(where, 0o755)
        environment = {**os.environ, "TMPDIR": where, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", UNREMOVABLE], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
