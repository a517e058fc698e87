"""The inspector's command line against `misjudge serve`: it lists, and calls every tool."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clients.checks import expect
from clients.homes import Home, run
from clients.player import Row
from clients.plays import TOOL_CALLS
from clients.steps import Check, Mismatch, Told

LIMIT_S = 120
LISTS: Mapping[str, str] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""Methods, and the member of their results that must not be empty."""


def inspect(program: Path, misjudge: Path, home: Home) -> Iterator[Row]:
    """A row for each list and each tool. Raises SetupFailed where the inspector does not start or end."""
    ask = [str(program), "--cli", str(misjudge), "serve", "--method"]
    for method, member in LISTS.items():
        yield _row(method, [*ask, method], home, partial(_is_listed, member))
    for name, call in TOOL_CALLS.items():
        arguments = [part for pair in call.arguments.items() for part in ("--tool-arg", _argument(*pair))]
        command = [*ask, "tools/call", "--tool-name", name, *arguments]
        yield _row(name, command, home, partial(_checked, call.check))


def _argument(name: str, value: Any) -> str:
    return f"{name}={value if isinstance(value, str) else json.dumps(value)}"


def _row(case: str, command: Sequence[str], home: Home, check: Callable[[Mapping[str, Any]], None]) -> Row:
    began = time.monotonic()
    ended = run(command, home.project, LIMIT_S, home.environment)
    failed = ""
    try:
        expect(ended.returncode == 0, f"the inspector ended with {ended.returncode}: {ended.stderr[-300:]}")
        check(json.loads(ended.stdout))
    except (Mismatch, ValueError) as mismatch:
        failed = str(mismatch)
    return Row(case, "inspector", not failed, len(ended.stdout.encode()), time.monotonic() - began, failed)


def _is_listed(member: str, got: Mapping[str, Any]) -> None:
    expect(bool(got.get(member)), f"{member} is empty or missing")
    if member == "tools":
        names = {tool["name"] for tool in got[member]}
        expect(names == set(TOOL_CALLS), f"listed are {sorted(names)}")


def _checked(check: Check, got: Mapping[str, Any]) -> None:
    check(_told(got))


def _told(got: Mapping[str, Any]) -> Told:
    text = "\n".join(part.get("text", "") for part in got.get("content", ()))
    return Told(text, bool(got.get("isError")))
