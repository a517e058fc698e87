"""Where Claude Code, Codex and CC Switch keep what set-up writes and the doctor reads. Pure: nothing is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Value


class Places(Value):
    """Whole paths of the clients' files; each of them may be absent. `folder` is the project."""

    home: Path
    folder: Path
    claude_state: Path
    claude_user_settings: Path
    claude_project_settings: Path
    claude_local_settings: Path
    project_servers: Path
    codex_config: Path
    codex_auth: Path
    ccswitch_database: Path


def places_of(environment: Mapping[str, str], home: Path, folder: Path) -> Places:
    """The places for an environment (`CLAUDE_CONFIG_DIR`, `CODEX_HOME`; empty is unset), a home and a project."""
    claude = environment.get("CLAUDE_CONFIG_DIR")
    claude_home = folder / claude if claude else home / ".claude"
    codex = environment.get("CODEX_HOME")
    codex_home = folder / codex if codex else home / ".codex"
    return Places(
        home=home,
        folder=folder,
        # With CLAUDE_CONFIG_DIR the state moves into that folder; without, it lies beside ~/.claude.
        claude_state=(claude_home if claude else home) / ".claude.json",
        claude_user_settings=claude_home / "settings.json",
        claude_project_settings=folder / ".claude" / "settings.json",
        claude_local_settings=folder / ".claude" / "settings.local.json",
        project_servers=folder / ".mcp.json",
        codex_config=codex_home / "config.toml",
        codex_auth=codex_home / "auth.json",
        ccswitch_database=home / ".cc-switch" / "cc-switch.db",
    )


def refuse_relative(environment: Mapping[str, str], home: str, own: str | None) -> None:
    """Raises InvalidInput where the variable `home`, or a client's `own`, names no whole path, which programs read in
    different ways. An empty `own` is unset.
    """
    stated = {name: environment[name] for name in (home, own) if name is not None and name in environment}
    for name, value in stated.items():
        if not Path(value).is_absolute() and (value or name == home):
            raise InvalidInput(f"{name} must be a whole path, without ~, so that set-up and clients agree. Correct it.")


def short(path: Path, home: Path) -> str:
    """A path with `~` for the home."""
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
