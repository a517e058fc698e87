"""Our entry in `.mcp.json` of a project, or in the user's `~/.claude.json` of Claude Code. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from misjudge_server.clients.documents import value_at
from misjudge_server.clients.server_entry import SERVER_NAME, ServerCommand
from misjudge_server.setup.changes import Setting, Wish
from misjudge_server.setup.own_entry import entry_wish, others_that_start_us
from misjudge_server.variables import CONNECTION_VARIABLES
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE

_SERVERS: Final = "mcpServers"


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
    """The entry merged into what stands in `file`. Raises InvalidInput where the name is taken by another server."""
    return entry_wish(current, _SERVERS, entry, _added, _notes(current), f"{SERVER_NAME!r} in {_SERVERS} of {file}")


def _added(own: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[Setting]:
    for name, value in entry["env"].items():
        if value_at(own, "env", name) is None:
            yield Setting(("env", name), value)


def _notes(current: Mapping[str, Any]) -> Iterator[str]:
    for name in others_that_start_us(current, _SERVERS):
        yield f"{name!r} in {_SERVERS} starts misjudge, too: remove one of the two."
