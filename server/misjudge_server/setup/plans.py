"""Which files of a client set-up changes, and how: from what was asked for to plans. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from misjudge_server.clients.places import Places
from misjudge_server.clients.server_entry import ServerCommand
from misjudge_server.setup.changes import FilePlan, Wish
from misjudge_server.setup.claude import claude_entry, claude_project_server, claude_server
from misjudge_server.setup.codex import codex_entry, codex_server
from misjudge_server.setup.gateway import PROVIDER, Gateway, claude_gateway, codex_gateway
from misjudge_server.variables import VARIABLE_NAME
from misjudge_storage.errors import InvalidInput

Client = Literal["claude", "codex", "ccswitch"]
Scope = Literal["user", "project"]
CLIENTS: Final[tuple[Client, ...]] = get_args(Client)
SCOPES: Final[Mapping[Client, tuple[Scope, ...]]] = {"claude": ("user", "project"), "codex": ("user",), "ccswitch": ()}
"""By client; the first is the default."""
HOME_VARIABLES: Final[Mapping[Client, str]] = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""By client: the variable that moves its folder."""
PRIVATE: Final = 0o600
SHARED: Final = 0o644
"""Of a new file in a project, which holds references only."""


class Asked(NamedTuple):
    """What a set-up is to write. `variables`: names of further variables to pass on; `read_only`: tools."""

    command: ServerCommand
    variables: tuple[str, ...]
    read_only: tuple[str, ...]
    gateway: Gateway | None
    environment: Mapping[str, str]
    windows: bool


def client_of(name: str) -> Client:
    """The client of this name. Raises InvalidInput with the nearest."""
    found: dict[str, Client] = {client: client for client in CLIENTS}
    if name not in found:
        near = difflib.get_close_matches(name[:60].lower().replace(" ", ""), CLIENTS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        others = "The documentation of clients has what to write for Cline, opencode, Gemini CLI and Qwen Code."
        raise InvalidInput(
            f"Set-up does not know the client {name[:60]!r}.{hint} Known: {', '.join(CLIENTS)}. {others}"
        )
    return found[name]


def scope_of(client: Client, name: str | None) -> Scope | None:
    """The scope of this name; None where none was stated. Raises InvalidInput."""
    if name is None:
        return None
    found: dict[str, Scope] = {scope: scope for scope in SCOPES[client]}
    if name not in found:
        allowed = f"{client} has {' and '.join(found)}" if found else "CC Switch has none"
        raise InvalidInput(f"There is no scope {name[:60]!r}: {allowed}.")
    return found[name]


def variables_of(names: Sequence[str]) -> tuple[str, ...]:
    """Names of variables. Raises InvalidInput, without what was given, which may be a key."""
    if not all(VARIABLE_NAME.fullmatch(name) for name in names):
        raise InvalidInput("--env takes the NAME of a variable, as STRONG_API_KEY, never its value.")
    return tuple(names)


def files_of(client: Client, scope: Scope | None, places: Places) -> tuple[Path, ...]:
    """The files that set-up may have changed for a client, in a scope or in any."""
    if client == "codex":
        return (places.codex_config,)
    of_scope: Mapping[Scope, tuple[Path, ...]] = {
        "user": (places.claude_state, places.claude_user_settings),
        "project": (places.project_servers,),
    }
    return of_scope[scope] if scope else (*of_scope["user"], *of_scope["project"])


def plans_of(client: Client, scope: Scope | None, places: Places, asked: Asked) -> tuple[FilePlan, ...]:
    """What to change for Claude Code or Codex. The gateway is the user's own, whatever the scope of the server."""
    if client == "codex":
        return (FilePlan(places.codex_config, "toml", lambda current: _codex(current, asked), PRIVATE),)
    entry = claude_entry(asked.command, asked.variables)
    if scope == "project":
        server = FilePlan(places.project_servers, "json", lambda current: claude_project_server(current, entry), SHARED)
    else:
        file = places.claude_state
        server = FilePlan(file, "json", lambda current: claude_server(current, entry, file.name), PRIVATE)
    gateway = asked.gateway
    if gateway is None:
        return (server,)
    return (
        server,
        FilePlan(
            places.claude_user_settings,
            "json",
            lambda current: claude_gateway(current, gateway, asked.environment, asked.windows),
            PRIVATE,
        ),
    )


def _codex(current: Mapping[str, Any], asked: Asked) -> Wish:
    entry = codex_entry(asked.command, asked.variables, asked.read_only)
    server = codex_server(current, entry, PROVIDER if asked.gateway else None)
    if asked.gateway is None:
        return server
    gateway = codex_gateway(current, asked.gateway)
    return Wish((*gateway.settings, *server.settings), (*server.notes, *gateway.notes))
