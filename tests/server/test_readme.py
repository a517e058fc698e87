"""The commands of the README and of the pages that it links, run as they are printed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from command import environment, shim

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CHINESE = ROOT / "README.zh-CN.md"
TRIED = re.compile(r"^<!-- tried -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(r"^\| \d+ \| .* \| `(misjudge .*)` \| `\w+` \|$", re.MULTILINE)
"""A row of the table of questions, and its command."""
OF_THE_MACHINE = ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SSL_CERT_FILE")
"""What `setup` and `doctor` look at, and a reader's machine may lack."""
SHELL_BLOCK = re.compile(r"^(.*)\n```(?:sh|bash|console)\n", re.MULTILINE)


@pytest.mark.parametrize("page", [README, CHINESE], ids=lambda page: page.name)
def test_every_shell_block_of_the_readme_is_marked_as_tried(page: Path) -> None:
    before = SHELL_BLOCK.findall(page.read_text(encoding="utf-8"))
    assert before
    assert [line for line in before if not line.startswith("<!-- tried")] == []


def tried(page: Path) -> list[str]:
    """The blocks of a page that are run, and the commands of its questions."""
    text = page.read_text(encoding="utf-8")
    return [*TRIED.findall(text), *QUESTION.findall(text)]


def test_the_readme_answers_ten_questions_and_is_of_the_same_commands_in_chinese() -> None:
    assert len(QUESTION.findall(README.read_text(encoding="utf-8"))) == 10
    assert [without_comments(block) for block in tried(CHINESE)] == [without_comments(block) for block in tried(README)]


def without_comments(block: str) -> str:
    """A block without what is said to its reader."""
    return re.sub(r" +# .*", "", block)


PAGES = [README, *(pytest.param(page, marks=pytest.mark.slow) for page in ROOT.glob("docs/*.md") if tried(page))]


@pytest.fixture
def begun() -> Iterator[list[int]]:
    """Sessions that blocks ran in. What they left in the background is ended, also where a block failed."""
    sessions = list[int]()
    yield sessions
    for session in sessions:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGTERM)


@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="the README gives the Windows commands apart")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_as_printed(tmp_path: Path, begun: list[int], page: Path) -> None:
    blocks = tried(page)
    assert blocks, f"{page.name} marks no block with <!-- tried -->"
    folder = tmp_path / "work"
    home = tmp_path / "home"  # `setup` writes there
    for made in (folder, home):
        made.mkdir()
    path = os.pathsep.join([str(shim(tmp_path / "bin").parent), os.environ["PATH"]])
    homes = {"HOME": str(home), **dict.fromkeys(OF_THE_MACHINE, "")}
    for block in blocks:
        with subprocess.Popen(
            ["sh", "-eu", "-c", block],
            cwd=folder,
            env=environment(PATH=path, **homes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            begun.append(process.pid)
            out, err = process.communicate(timeout=300)
        assert process.returncode == 0, f"{block}\n{out}\n{err}"
        assert out
