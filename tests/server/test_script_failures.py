"""The scripts that test with real clients: what cannot be run is a sentence and exit 2, never a traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from clients import __main__ as test_clients
from clients import homes, installing
from clients.starting import UP_FRONT, start
from conformance import __main__ as test_conformance
from conformance import inspector, suite

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for a Unix shell")
HANGS = "import threading; threading.Event().wait()"
WORKS = "print('\u2713 one: 1 passed, 0 failed')"


def program(folder: Path, name: str, code: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{code}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def no_program(folder: Path, name: str) -> None:
    """A file that the system starts nothing from."""
    program(folder, name, "").write_text("#!/nowhere/at/all\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the programs, first on the PATH, with a misjudge that does nothing."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("MISJUDGE", str(program(folder, "misjudge", "")))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("CLAUDE", "CODEX", "NODE_MODULES_BIN"):
        monkeypatch.delenv(name, raising=False)
    return folder


def is_a_sentence(said: str, script: str, *parts: str) -> bool:
    return said.startswith(f"{script}: ") and said.count("\n") == 1 and all(part in said for part in parts)


@pytest.mark.parametrize("hangs", [True, False])
def test_an_npm_that_hangs_or_does_not_start_is_said(
    paths: Path, hangs: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installing, "INSTALL_S", 0.3)
    program(paths, "npm", HANGS) if hangs else no_program(paths, "npm")
    why = "did not end within 0.3 s" if hangs else "did not start"
    assert test_clients.main([]) == 2
    assert is_a_sentence(capsys.readouterr().err, "test-clients", "npm install", why)
    assert test_conformance.main() == 2
    assert is_a_sentence(capsys.readouterr().err, "test-conformance", "npm install", why)


@pytest.mark.parametrize("hangs", [True, False])
@pytest.mark.parametrize("which", ["conformance", "mcp-inspector"])
def test_a_suite_or_inspector_that_hangs_or_does_not_start_is_said(
    paths: Path, which: str, hangs: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NODE_MODULES_BIN", str(paths))
    if which == "mcp-inspector":
        program(paths, "conformance", WORKS)
    monkeypatch.setattr(suite if which == "conformance" else inspector, "LIMIT_S", 0.3)
    program(paths, which, HANGS) if hangs else no_program(paths, which)
    assert test_conformance.main() == 2
    why = "did not end within 0.3 s" if hangs else "did not start"
    assert is_a_sentence(capsys.readouterr().err, "test-conformance", which, why)


@pytest.mark.parametrize("hangs", [True, False])
def test_a_misjudge_that_hangs_or_does_not_start_is_said(
    paths: Path, hangs: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(homes, "SETUP_S", 0.3)
    program(paths, "misjudge", HANGS) if hangs else no_program(paths, "misjudge")
    for name in ("CLAUDE", "CODEX"):
        monkeypatch.setenv(name, str(program(paths, name.lower(), "")))
    assert test_clients.main([]) == 2
    assert is_a_sentence(capsys.readouterr().err, "test-clients", "misjudge demo --no-local")


def test_a_client_that_does_not_start_is_said(paths: Path, tmp_path: Path) -> None:
    no_program(paths, "claude")
    with pytest.raises(homes.SetupFailed, match="claude did not start"):
        start("claude", paths / "claude", homes.new_home(tmp_path / "work", ""), UP_FRONT, "Hi.")
