"""The protocol's conformance suite against the test server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from clients.homes import SetupFailed, run

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "conformance_server.py"
EXCEPTIONS = Path(__file__).with_name("exceptions.yaml")
LIMIT_S = 300
SCENARIO = re.compile(r"^(?P<mark>[✓✗]) (?P<name>\S+): (?P<passed>\d+) passed, (?P<failed>\d+) failed$", re.MULTILINE)


class Scenario(NamedTuple):
    """One scenario of the suite, with its checks counted."""

    name: str
    passed: int
    failed: int


class SuiteResult(NamedTuple):
    """`as_expected`: all passed but the exceptions, and those did not. `said`: what the suite printed last."""

    scenarios: tuple[Scenario, ...]
    as_expected: bool
    said: str


def run_suite(program: Path, project: Path) -> SuiteResult:
    """Run every scenario; the server's store is in `project`. Raises SetupFailed where nothing could be run."""
    with _serving(project) as url:
        command = [str(program), "server", "--url", url, "--suite", "all", "--expected-failures", str(EXCEPTIONS)]
        ended = run(command, project, LIMIT_S)
    found = tuple(
        Scenario(one["name"], int(one["passed"]), int(one["failed"])) for one in SCENARIO.finditer(ended.stdout)
    )
    if not found:
        raise SetupFailed(f"The conformance suite ran no scenario: {(ended.stderr or ended.stdout)[-400:]}")
    return SuiteResult(found, ended.returncode == 0, ended.stdout.rpartition("=== SUMMARY ===")[2].strip())


@contextmanager
def _serving(project: Path) -> Iterator[str]:
    """The server's URL, while it runs."""
    environment = {"HOME": str(project), "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        [sys.executable, str(SERVER)], cwd=project, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise SetupFailed("The conformance server did not start; what it says stands above.")
            yield url
        finally:
            process.kill()
