"""git's own files, read without git: what it has, and what it ignores."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from doctor_homes import index_of
from misjudge_server.doctor.git_index import ignored, tracked_paths

NAMES = [".env", ".mcp.json", "a/b/c.txt", "a/b/d.txt", f"a/{'x' * 200}/{'y' * 200}", "z"]
GIT = shutil.which("git")


def git(folder: Path, *arguments: str) -> str:
    assert GIT is not None
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    done = subprocess.run(
        [GIT, *arguments], cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, timeout=60
    )
    return done.stdout


@pytest.mark.skipif(GIT is None, reason="git is not installed")
@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_files_that_git_has_are_those_of_its_index(tmp_path: Path, version: str) -> None:
    git(tmp_path, "init", "-q", ".")
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    git(tmp_path, "add", "--", *NAMES[:-1])
    git(tmp_path, "update-index", "--index-version", version)
    if version == "3":
        git(tmp_path, "add", "-N", "--", "z")  # an entry with more flags makes it version 3
    data = (tmp_path / ".git" / "index").read_bytes()
    assert data[7] == int(version)
    assert tracked_paths(data) == set(NAMES if version == "3" else NAMES[:-1])


@pytest.mark.parametrize("data", [b"", b"DIRC", b"text" * 9, b"DIRC\0\0\0\2\0\0\0\5" + b"x" * 70, index_of("a")[:70]])
def test_what_is_no_index_has_no_files(data: bytes) -> None:
    assert tracked_paths(data) == frozenset()


@pytest.mark.parametrize(
    ("lines", "path", "left_out"),
    [
        ([".env"], ".env", True),
        ([".env"], "deep/down/.env", True),
        (["/.env"], "deep/.env", False),
        (["/.env"], ".env", True),
        ([".env*"], ".env", True),
        (["**/.env"], "deep/.env", True),
        (["deep/"], "deep/.env", True),
        (["deep/.env"], "deep/.env", True),
        (["*"], ".env", True),
        (["# .env", "", ".envrc"], ".env", False),
        ([".env", "!.env"], ".env", False),
        (["!.env", ".env"], ".env", True),
    ],
)
def test_a_path_is_ignored_as_git_would(lines: list[str], path: str, left_out: bool, tmp_path: Path) -> None:
    assert ignored(path, lines) is left_out
    if GIT is not None:
        git(tmp_path, "init", "-q", ".")
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8")
        assert bool(git(tmp_path, "check-ignore", "--", path)) is left_out, "as git itself says"
