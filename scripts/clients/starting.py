"""How each client is started, and the ways in which it shows its model our tools."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from clients.dialects import Dialect
from clients.homes import Home, SetupFailed
from clients.messages_api import MESSAGES
from clients.responses_api import RESPONSES

ClientName = Literal["codex", "claude"]
DIALECTS: Mapping[ClientName, Dialect] = {"codex": RESPONSES, "claude": MESSAGES}
LIMIT_S = 300
QUIET: Mapping[str, str] = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "MCP_CONNECTION_NONBLOCKING": "false",
}
"""Keeps Claude Code from asking for anything but its model, and without a person, from asking that before its servers
are there.
"""


class Exposure(NamedTuple):
    """How the tools come before the model: what Codex's model or Claude Code's environment must be for it."""

    name: str
    model: str
    environment: Mapping[str, str] = {}


DIRECT = Exposure("direct", "scripted-model")
SEARCHED = Exposure("searched", "gpt-5.5")
CODE = Exposure("code mode", "gpt-6.2-sol")
DEFERRED = Exposure("deferred", "scripted-model")
UP_FRONT = Exposure("up front", "scripted-model", {"ENABLE_TOOL_SEARCH": "false"})


class Ended(NamedTuple):
    """What a client printed, and its exit code."""

    code: int
    out: str
    err: str


def start(
    client: ClientName, program: Path, home: Home, exposure: Exposure, prompt: str, more: Sequence[str] = ()
) -> Ended:
    """One session without a person, from its prompt to its end. `more`: further options of the client.

    Raises SetupFailed where it does not start.
    """
    command = _codex(program, prompt, more) if client == "codex" else _claude(program, prompt, more)
    environment = {**home.environment, **exposure.environment, **(QUIET if client == "claude" else {})}
    try:
        ended = subprocess.run(
            command,
            cwd=home.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired as expired:
        return Ended(-1, _text(expired.stdout), f"not done after {LIMIT_S} s\n{_text(expired.stderr)}")
    except OSError as failed:
        raise SetupFailed(f"{program.name} did not start: {failed}") from None
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def _text(output: str | bytes | None) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else output or ""


def _codex(program: Path, prompt: str, more: Sequence[str]) -> list[str]:
    # Plugins make it look for a site at its start. Approvals are asked for, which nobody here can give.
    settings = [
        "features.plugins=false",
        "analytics.enabled=false",
        'mcp_servers.misjudge.default_tools_approval_mode="approve"',
        *more,
    ]
    options = [option for setting in settings for option in ("-c", setting)]
    return [str(program), *options, "exec", "--json", "--skip-git-repo-check", "--ephemeral", prompt]


def _claude(program: Path, prompt: str, more: Sequence[str]) -> list[str]:
    allowed = "mcp__misjudge,ListMcpResourcesTool,ReadMcpResourceTool"
    return [
        *(str(program), "-p", prompt, "--output-format", "stream-json", "--verbose", "--allowedTools", allowed),
        *more,
    ]
