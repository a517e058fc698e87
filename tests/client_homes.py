"""Homes of people who use coding agents, and what is in a folder, for the tests of set-up."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

KEY = "sk-canary7Q2x9vT4m1Lw8Zr5"
"""Stands in every rich home, and must never be shown or copied."""
PLAIN_KEY = "c4n4ry7q2x9vt4m1lw8zr5b3"
"""The same of a kind that only its name or its form gives away."""
WEAK_KEY = "hunter-two"
"""The same of a kind that only its name gives away, which stands some lines above."""

CODEX = f"""\
# my Codex
model = "gpt-5.5" # the good one
approval_policy = "on-request"

[mcp_servers.docs] # keep
command = "npx"
args = ["-y", "docs"]
env = {{ DOCS_TOKEN = "{PLAIN_KEY}" }}

[model_providers.mine]
base_url = "https://mine.example/v1"
experimental_bearer_token = "{KEY}"

[projects."/home/me/a b"]
trust_level = "trusted"

[older]
api_keys = [
    "a",
    "b",
    "{WEAK_KEY}",
]
"""
CLAUDE_STATE = (
    '{\n    "numStartups": 12,\n    "ratio": 1.50,\n    "name": "Zo\\u00eb \u6797",\n'
    '    "projects": {"/a": {"history": ["x"]}},\n'
    f'    "passwords": [\n        "a",\n        "b",\n        "{WEAK_KEY}"\n    ],\n'
    f'    "mcpServers": {{\n        "docs": {{"command": "npx", "env": {{"DOCS_TOKEN": "{PLAIN_KEY}"}}}}\n    }},\n'
    f'    "primaryApiKey": "{KEY}"\n}}\n'
)
CLAUDE_SETTINGS = (
    '{"permissions":{"allow":["Bash(ls)"]},"env":{"ANTHROPIC_MODEL":"old","ANTHROPIC_AUTH_TOKEN":"' + KEY + '"}}'
)
PROJECT_SERVERS = '{\r\n\t"mcpServers": {\r\n\t\t"docs": {"command": "npx"}\r\n\t}\r\n}\r\n'


class Entry(NamedTuple):
    """What is at a path: its bytes (None: a folder), its mode, and where it leads to as a link."""

    data: bytes | None
    mode: int
    link: str | None


def rich_home(home: Path, project: Path) -> None:
    """Fill a home and a project with the files of somebody who has used the clients for long."""
    for path, text, mode in (
        (home / ".codex" / "config.toml", CODEX, 0o640),
        (home / ".claude.json", CLAUDE_STATE, 0o600),
        (home / ".claude" / "settings.json", CLAUDE_SETTINGS, 0o644),
        (project / ".mcp.json", PROJECT_SERVERS, 0o664),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(mode)


def snapshot(*folders: Path) -> dict[Path, Entry]:
    """Everything below the folders."""
    return {path: _entry(path) for folder in folders for path in sorted(folder.rglob("*"))}


def _entry(path: Path) -> Entry:
    data = path.read_bytes() if path.is_file() else None
    link = str(path.readlink()) if path.is_symlink() else None
    return Entry(data, stat.S_IMODE(path.lstat().st_mode), link)
