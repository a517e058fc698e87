"""Set-ups of people, broken in one way each, and healthy ones: files, environment, and what the doctor shall find."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.reading import read_setup
from misjudge_server.variables import NETWORK_VARIABLES

KEY = "sk-canary7Q2x9vT4m1Lw8Zr5"
CANARY = "7Q2x9vT4m1"
"""A part of every key in these homes, which nothing may show."""
GATEWAY = "https://gate.example/api"
MODELS = {"TAOTOKEN_JUDGE_MODEL": "judge-m", "SIM_USER_MODEL": "qwen-user", "CANDIDATE_MODEL": "agent-m"}
USUAL = {"TAOTOKEN_API_KEY": KEY, **MODELS}
PROGRAM = "{home}/bin/misjudge"
ENTRY: dict[str, Any] = {
    "command": PROGRAM,
    "args": ["serve"],
    "env": {"TAOTOKEN_API_KEY": "${TAOTOKEN_API_KEY:-}"},
}


def codex_entry(*variables: str) -> str:
    """Our entry in Codex's config.toml, which hands these variables on."""
    return f"""
[mcp_servers.misjudge]
command = "{PROGRAM}"
args = ["serve"]
required = true
startup_timeout_sec = 30
env_vars = {json.dumps(variables)}
"""


CODEX_ENTRY = codex_entry("TAOTOKEN_API_KEY", "TAOTOKEN_BASE_URL", "HTTPS_PROXY")
PROVIDER = """
model_provider = "mine"
[model_providers.mine]
name = "Mine"
base_url = "https://gate.example/api/v1"
wire_api = "responses"
env_key = "TAOTOKEN_API_KEY"
"""
CLAUDE_GATEWAY = {
    "ANTHROPIC_BASE_URL": GATEWAY,
    "ANTHROPIC_AUTH_TOKEN": KEY,
    "ANTHROPIC_MODEL": "m",
    "ANTHROPIC_SMALL_FAST_MODEL": "s",
}


class Case(NamedTuple):
    """A set-up. Paths begin with `~/` for the home; others lie in the folder. `{home}` in a text is the home's path."""

    name: str
    found: frozenset[str] = frozenset()
    files: Mapping[str, str | bytes] = {}
    environment: Mapping[str, str] = USUAL
    prepare: Callable[[Path, Path], None] | None = None


def build(case: Case, home: Path, folder: Path) -> None:
    """Make the home and the folder of a case."""
    program = home / "bin" / "misjudge"
    for path in (program.parent, folder):
        path.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    for name, content in case.files.items():
        path = home / name[2:] if name.startswith("~/") else folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.replace("{home}", home.as_posix()).encode()
        path.write_bytes(data)
    if case.prepare is not None:
        case.prepare(home, folder)


def read_made(made: Case, root: Path, monkeypatch: pytest.MonkeyPatch) -> SetupFacts:
    """Make a set-up below a folder, enter it and read it; the network of whoever runs the tests has no say."""
    home, folder = root / "home", root / "work"
    build(made, home, folder)
    for name in NETWORK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(home), "USERPROFILE": str(home), **made.environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return read_setup()


def servers(**changes: Any) -> str:
    """An `.mcp.json`, or a `~/.claude.json`, with our entry changed; a change to None takes the member out."""
    entry = {name: value for name, value in {**ENTRY, **changes}.items() if value is not None}
    return json.dumps({"mcpServers": {"misjudge": entry}})


def settings(**values: Any) -> str:
    """A settings.json of Claude Code."""
    return json.dumps(values)


def toml(**tables: Any) -> str:
    """A misjudge.toml whose judge is a profile with these values."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in tables.items()]
    return '[roles]\njudge = "strict"\n[profiles.strict]\nmodel = "judge-m"\n' + "\n".join(lines) + "\n"


def track(*names: str) -> Callable[[Path, Path], None]:
    """Make the folder a repository that has these files, as an index of version 2."""

    def make(_: Path, folder: Path) -> None:
        (folder / ".git").mkdir()
        (folder / ".git" / "index").write_bytes(index_of(*names))

    return make


def index_of(*names: str) -> bytes:
    """A git index of version 2 with these paths."""
    entries = b""
    for name in sorted(names):
        entry = bytes(60) + struct.pack(">H", len(name)) + name.encode()
        entries += entry + bytes(8 - len(entry) % 8)
    return b"DIRC" + struct.pack(">II", 2, len(names)) + entries


def switch(*rows: tuple[str, str, Any, bool]) -> Callable[[Path, Path], None]:
    """CC Switch's database with these providers: app, name, settings, in use."""

    def make(home: Path, _: Path) -> None:
        path = home / ".cc-switch" / "cc-switch.db"
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE providers (id, app_type, name, settings_config, is_current)")
            for number, (app, name, config, current) in enumerate(rows):
                text = config if isinstance(config, str) else json.dumps(config)
                connection.execute("INSERT INTO providers VALUES (?, ?, ?, ?, ?)", (number, app, name, text, current))

    return make


def of_switch_codex(config: str) -> dict[str, Any]:
    """The settings of a provider of CC Switch for Codex."""
    return {"auth": {"OPENAI_API_KEY": KEY}, "config": config}


def database(*statements: str) -> Callable[[Path, Path], None]:
    """A store that these statements made."""

    def make(_: Path, folder: Path) -> None:
        path = folder / ".misjudge" / "misjudge.db"
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return make
