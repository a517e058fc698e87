from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from misjudge_server.__main__ import drop_relative_entries

LIBRARY = os.path.dirname(os.path.abspath(os.__file__))


def left(monkeypatch: pytest.MonkeyPatch, path: list[str], stated: str = "") -> list[str]:
    monkeypatch.setattr(sys, "path", path)
    monkeypatch.setenv("PYTHONPATH", stated)
    drop_relative_entries()
    return sys.path


@pytest.fixture
def here(folder: Path) -> str:
    return os.getcwd()


def test_the_working_directory_in_front_of_the_library_is_dropped(monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    assert left(monkeypatch, ["", ".", here, "tools", LIBRARY]) == [LIBRARY]


def test_what_a_relative_pythonpath_names_is_dropped(monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    named = [os.path.join(here, "lib"), os.path.dirname(here)]
    assert left(monkeypatch, [*named, LIBRARY], os.pathsep.join(["lib", ".."])) == [LIBRARY]


def test_an_absolute_entry_of_pythonpath_stays(monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    mine = os.path.join(os.path.dirname(here), "mine")
    assert left(monkeypatch, [mine, LIBRARY], os.pathsep.join([mine, "."])) == [mine, LIBRARY]


def test_an_editable_install_in_the_working_directory_stays(monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    site = os.path.join(LIBRARY, "site-packages")
    assert left(monkeypatch, [here, LIBRARY, site, here], ".") == [LIBRARY, site, here]
