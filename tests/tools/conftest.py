"""Fixtures of the operations' tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from misjudge_tools.deps import Deps
from operations import PromptJudge, keyed, opened


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
