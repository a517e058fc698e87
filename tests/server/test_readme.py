"""The commands of the README and of the pages that it links, run as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command import environment, shim

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TRIED = re.compile(r"^<!-- tried -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL_BLOCK = re.compile(r"^(.*)\n```(?:sh|bash|console)\n", re.MULTILINE)


def test_every_shell_block_of_the_readme_is_marked_as_tried() -> None:
    before = SHELL_BLOCK.findall(README.read_text(encoding="utf-8"))
    assert before
    assert [line for line in before if not line.startswith("<!-- tried")] == []


def tried(page: Path) -> list[str]:
    """The blocks of a page that are run."""
    return TRIED.findall(page.read_text(encoding="utf-8"))


PAGES = [README, *(pytest.param(page, marks=pytest.mark.slow) for page in ROOT.glob("docs/*.md") if tried(page))]


@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="the README gives the Windows commands apart")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_as_printed(tmp_path: Path, page: Path) -> None:
    blocks = tried(page)
    assert blocks, f"{page.name} marks no block with <!-- tried -->"
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
            timeout=300,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        assert done.stdout
