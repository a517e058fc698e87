"""Throw-away homes: what a person has who installed misjudge and a client, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

KEY = "sk-throwaway0a1b2c3d4e5f"
"""Stands in the environment only; no file may hold it afterwards."""
LOG = """\
question,answer_1,answer_2,gpt,human
"Cancel order 4417.","Order 4417 is cancelled.","I am so sorry! I will look into it.",1,1
"What is 12 x 12?","144","It is 124, of course!",1,1
"Is the shop open on Sunday?","Certainly! We are always happy to help.","No, closed on Sundays.",1,2
"""
SETUP_S = 120


class SetupFailed(Exception):
    """A program did not do what the tests need, so that they say nothing."""


class Home(NamedTuple):
    """A home, the project in it, and the environment of everything that is started there."""

    home: Path
    project: Path
    environment: Mapping[str, str]


def new_home(work: Path, gateway: str) -> Home:
    """An empty home under `work`, with a project folder that holds one judge log. `gateway`: its base URL."""
    home, project = work / "home", work / "project"
    home.mkdir(parents=True)
    project.mkdir()
    (project / "log.csv").write_text(LOG, encoding="utf-8")
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    environment |= {"TAOTOKEN_API_KEY": KEY, "TAOTOKEN_BASE_URL": gateway}
    return Home(home, project, environment)


def misjudge(command: Path, home: Home, *arguments: str) -> str:
    """What `misjudge ARGUMENTS` printed. Raises SetupFailed where it failed."""
    ended = run([str(command), *arguments], home.project, SETUP_S, home.environment)
    if ended.returncode:
        raise SetupFailed(f"misjudge {' '.join(arguments)} ended with {ended.returncode}: {ended.stderr[-500:]}")
    return ended.stdout


def run(
    command: Sequence[str], folder: Path, limit_s: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A program from its start to its end, and what it said. Raises SetupFailed where it does not start or end."""
    said = f"{Path(command[0]).name} {' '.join(command[1:])}"[:200]
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment and dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        raise SetupFailed(f"{said} did not end within {limit_s:g} s.") from None
    except OSError as failed:
        raise SetupFailed(f"{said} did not start: {failed}") from None


def copy_store(source: Home, target: Home) -> None:
    """Give a project the store of another."""
    shutil.copytree(source.project / ".misjudge", target.project / ".misjudge")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, by its path there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def files_with_key(*folders: Path) -> list[str]:
    """Files that hold the key, which only the environment may."""
    return [name for folder in folders for name, data in contents(folder).items() if KEY.encode() in data]
