"""Starts the `misjudge` command in a process of its own, the way an install would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

ROOTS = tuple(str(Path(__file__).parents[1] / room) for room in ("server", "tools", "storage"))
TIMEOUT_S = 100.0


class Outcome(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


Misjudge = Callable[..., Outcome]
"""Runs `misjudge ARGUMENTS` in the test's own process; the fixture `misjudge` of the server's tests."""
_PYTHON = ("PYTHONPATH", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONSAFEPATH")


def launcher(before: str = "") -> list[str]:
    """A command line that runs this checkout like an editable install, after the statements `before`."""
    # Behind site-packages, where an editable install puts the rooms.
    path = f"sys.path[len(sys.path):] = {ROOTS!r}"
    code = f"import sys; {path}\n{before}\nfrom misjudge_server.__main__ import main; main()"
    return [sys.executable, "-c", code]


def command(*arguments: str) -> list[str]:
    """The command line of `misjudge ARGUMENTS`: the installed script, or this checkout where nothing is installed."""
    return [*_program(), *arguments]


def is_setting(name: str) -> bool:
    """Whether an environment variable sets misjudge up, or holds a key of a gateway."""
    ours = ("MISJUDGE_", "TAOTOKEN_", "OPENAI_", "ANTHROPIC_")
    return name.startswith(ours) or name in {"JUDGE_MODEL", "SIM_USER_MODEL", "CANDIDATE_MODEL"}


def environment(**values: str) -> dict[str, str]:
    """This process's environment without settings of misjudge and of Python, and with `values`."""
    kept = {name: value for name, value in os.environ.items() if not is_setting(name) and name not in _PYTHON}
    return {**kept, **values}


def run(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """`misjudge ARGUMENTS` in `cwd`, to its end; output as UTF-8 text."""
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment() if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
    )


def shim(folder: Path) -> Path:
    """An executable file called `misjudge` in `folder`, for shells: put the folder on PATH. POSIX only."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "misjudge"
    quoted = " ".join(f"'{part}'" for part in (part.replace("'", "'\\''") for part in _program()))
    file.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n', encoding="utf-8")
    file.chmod(0o755)
    return file


def _program() -> Sequence[str]:
    try:
        distribution("misjudge")
    except PackageNotFoundError:
        return launcher()
    script = shutil.which("misjudge", path=str(Path(sys.executable).parent))
    assert script is not None, "misjudge is installed, but its script is not beside the interpreter"
    return (script,)
