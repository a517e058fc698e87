"""Fixtures of the server's tests."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from command import Misjudge, Outcome, is_setting
from misjudge_server import cli
from misjudge_server.logs import ROOMS
from misjudge_tools.deps import Deps
from operations import opened
from store_template import copied


@pytest.fixture(autouse=True)
def _copied_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misjudge_storage.engine.upgrade", copied)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment without any setting of misjudge."""
    for name in list(os.environ):
        if is_setting(name):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quiet_again() -> Iterator[None]:
    """Loggers that are set up in the test are as before behind it."""
    loggers = [logging.getLogger(name) for name in (None, *ROOMS)]
    before = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]
    yield
    for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate, logger.handlers = propagate, handlers


@pytest.fixture
def misjudge(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quiet_again: None
) -> Misjudge:
    """The command line in this process, in an empty working directory."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr("sys.argv", ["misjudge", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.run()
        said = capsys.readouterr()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return Outcome(code, said.out, said.err)

    return run


@pytest.fixture
async def deps(tmp_path: Path) -> AsyncIterator[Deps]:
    """Operations without a gateway key."""
    async with opened(tmp_path / "misjudge.db") as made:
        yield made


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project as the working directory, beside an empty home."""
    for name in ("project", "home"):
        (folder / name).mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder / "home"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder / "project")
    return folder / "project"


@pytest.fixture
def home(project: Path) -> Path:
    """The empty home beside the project."""
    return project.parent / "home"
