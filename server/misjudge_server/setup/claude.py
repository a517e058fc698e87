"""Our entry in `.mcp.json` of a project, or in the user's `~/.claude.json` of Claude Code. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from misjudge_server.clients.server_entry import SERVER_NAME, ServerCommand, is_ours
from misjudge_server.setup.changes import Setting, Wish, value_at
from misjudge_server.variables import CONNECTION_VARIABLES
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE

_SERVERS: Final = "mcpServers"
_BASE: Final = (_SERVERS, SERVER_NAME)


def claude_entry(command: ServerCommand, more: Sequence[str]) -> dict[str, Any]:
    """The member of `mcpServers` where there is none. `more`: further variables to pass on.

    Claude Code puts the value of a variable in the place of `${NAME:-}`, and nothing where it is not set.
    """
    names = dict.fromkeys((DEFAULT_KEY_VARIABLE, CONNECTION_VARIABLES["base_url"], *more))
    return {
        "type": "stdio",
        "command": command.command,
        "args": list(command.args),
        "env": {name: f"${{{name}:-}}" for name in names},
    }


def claude_project_server(current: Mapping[str, Any], entry: Mapping[str, Any]) -> Wish:
    """The same in a project's `.mcp.json`, with what its readers must know."""
    wish = claude_server(current, entry, ".mcp.json")
    said = (
        "Claude Code asks once, in this project, whether its servers may start.",
        f'The command is a path of this machine. Where others share the file, write "{SERVER_NAME}" there if that is '
        "on everybody's PATH.",
    )
    return wish._replace(notes=(*wish.notes, *said))


def claude_server(current: Mapping[str, Any], entry: Mapping[str, Any], file: str) -> Wish:
    """The entry merged into what stands there: what a person set stays, but for the command.

    Raises InvalidInput where the name is taken by another server; `file` is what it calls the file.
    """
    own = value_at(current, _BASE)
    notes = tuple(_notes(current))
    if own is None:
        return Wish((Setting(_BASE, dict(entry)),), notes)
    if not isinstance(own, Mapping) or not is_ours(own.get("command"), own.get("args")):
        raise InvalidInput(
            f"{SERVER_NAME!r} in {_SERVERS} of {file} starts another program. Rename or remove it there, and run this "
            "again."
        )
    settings = [Setting((*_BASE, name), entry[name]) for name in ("command", "args")]
    settings += [
        Setting((*_BASE, "env", name), value)
        for name, value in entry["env"].items()
        if value_at(own, ("env", name)) is None
    ]
    return Wish(tuple(settings), notes)


def _notes(current: Mapping[str, Any]) -> Iterator[str]:
    servers = current.get(_SERVERS)
    for name, entry in servers.items() if isinstance(servers, Mapping) else ():
        if name != SERVER_NAME and isinstance(entry, Mapping) and is_ours(entry.get("command"), entry.get("args")):
            yield f"{name[:60]!r} in {_SERVERS} starts misjudge, too: remove one of the two."
