"""`scripts/test-conformance`: the protocol's conformance suite and the inspector against this checkout."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from clients.homes import SetupFailed, misjudge, new_home
from clients.installing import install, own_misjudge
from clients.printing import table
from conformance.inspector import inspect
from conformance.suite import run_suite

PACKAGES = ("@modelcontextprotocol/conformance@0.1.13", "@modelcontextprotocol/inspector@0.15.0")


def main() -> int:
    """0: as expected; 1: a new failure, or an exception that passes; 2: it could not be run."""
    with tempfile.TemporaryDirectory(prefix="test-conformance-", ignore_cleanup_errors=True) as scratch:
        try:
            return _run(Path(scratch))
        except SetupFailed as failed:
            print(f"test-conformance: {failed}", file=sys.stderr)
            return 2


def _run(scratch: Path) -> int:
    named = os.environ.get("NODE_MODULES_BIN")
    programs = Path(named) if named else install(PACKAGES, scratch / "npm")
    command = own_misjudge()
    home = new_home(scratch / "inspector", "")
    misjudge(command, home, "demo", "--no-local")
    suite = run_suite(programs / "conformance", home.project)
    print(suite.said, flush=True)
    rows = list(inspect(programs / "mcp-inspector", command, home))
    print(table(rows))
    passed = sum(not scenario.failed for scenario in suite.scenarios)
    print(f"{passed} of {len(suite.scenarios)} scenarios of the conformance suite passed.")
    if not suite.as_expected:
        print("The suite is not as scripts/conformance/exceptions.yaml expects it.")
    return 0 if suite.as_expected and all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
