"""Fixtures of the operations' tests."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from misjudge_tools.deps import Deps
from operations import PromptJudge, keyed, opened
from store_template import copied


@pytest.fixture(autouse=True)
def _copied_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misjudge_storage.engine.upgrade", copied)


@pytest.fixture
async def deps(tmp_path: Path) -> AsyncIterator[Deps]:
    """Operations without a gateway key."""
    async with opened(tmp_path / "misjudge.db") as made:
        yield made


@pytest.fixture
async def prompt_judge() -> AsyncIterator[PromptJudge]:
    """A judge without bias on loopback."""
    async with PromptJudge() as server:
        yield server


@pytest.fixture
async def judged(tmp_path: Path, prompt_judge: PromptJudge) -> AsyncIterator[Deps]:
    """Operations whose gateway is `prompt_judge`."""
    async with opened(tmp_path / "misjudge.db", keyed(prompt_judge.base_url)) as made:
        yield made


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    """Every log record of any library, also where an earlier test set up logging for the command line."""
    caplog.set_level(logging.DEBUG)
    for room in ("misjudge_tools", "misjudge_storage"):
        monkeypatch.setattr(logging.getLogger(room), "propagate", True)
        caplog.set_level(logging.DEBUG, logger=room)
    return caplog
