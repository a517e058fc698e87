"""The commands of the README, run as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command import environment, shim

README = Path(__file__).parents[2] / "README.md"
TRIED = re.compile(r"^<!-- tried -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL_BLOCK = re.compile(r"^(.*)\n```(?:sh|bash|console)\n", re.MULTILINE)


def test_every_shell_block_of_the_readme_is_marked_as_tried() -> None:
    before = SHELL_BLOCK.findall(README.read_text(encoding="utf-8"))
    assert before
    assert [line for line in before if not line.startswith("<!-- tried")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="the README gives the Windows commands apart")
def test_the_commands_of_the_readme_run_as_printed(tmp_path: Path) -> None:
    blocks = TRIED.findall(README.read_text(encoding="utf-8"))
    assert blocks, "README.md marks no block with <!-- tried -->"
    folder = tmp_path / "work"
    folder.mkdir()
    path = os.pathsep.join([str(shim(tmp_path / "bin").parent), os.environ["PATH"]])
    for block in blocks:
        done = subprocess.run(
            ["sh", "-eu", "-c", block],
            cwd=folder,
            env=environment(PATH=path),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=100,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        assert done.stdout
