"""Our entry in Codex's `config.toml`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from misjudge_server.clients.server_entry import FORWARDED, PROXIES, SERVER_NAME, ServerCommand, is_ours
from misjudge_server.setup.changes import Setting, Wish, value_at
from misjudge_storage.errors import InvalidInput

STARTUP_S: Final = 30
CALL_S: Final = 300
_SERVERS: Final = "mcp_servers"
_BASE: Final = (_SERVERS, SERVER_NAME)


def codex_entry(command: ServerCommand, more: Sequence[str], read_only: Sequence[str]) -> dict[str, Any]:
    """The table `[mcp_servers.misjudge]` where there is none. `more`: further variables to pass on.

    Codex hands on only the variables that are named, and drops an optional server that starts slowly.
    """
    return {
        "command": command.command,
        "args": list(command.args),
        "env_vars": list(dict.fromkeys((*FORWARDED, *PROXIES, *more))),
        "required": True,
        "startup_timeout_sec": STARTUP_S,
        "tool_timeout_sec": CALL_S,
        "tools": {name: {"approval_mode": "approve"} for name in read_only},
    }


def codex_server(current: Mapping[str, Any], entry: Mapping[str, Any]) -> Wish:
    """The entry merged into what stands there: what a person set stays, but for the command.

    Raises InvalidInput where the name is taken by another server.
    """
    own = value_at(current, _BASE)
    notes = tuple(_notes(current))
    if own is None:
        return Wish((Setting(_BASE, dict(entry)),), notes)
    if not isinstance(own, Mapping) or not is_ours(own.get("command"), own.get("args")):
        raise InvalidInput(
            f"[{_SERVERS}.{SERVER_NAME}] in Codex's config.toml starts another program. Rename or remove it there, "
            "and run this again."
        )
    return Wish(tuple(_merged(own, entry)), notes)


def _merged(own: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[Setting]:
    for name in ("command", "args"):
        yield Setting((*_BASE, name), entry[name])
    yield Setting((*_BASE, "env_vars"), _both(own.get("env_vars"), entry["env_vars"]))
    for name in ("required", "startup_timeout_sec", "tool_timeout_sec"):
        if name not in own:
            yield Setting((*_BASE, name), entry[name])
    for tool, approval in entry["tools"].items():
        for name, value in approval.items():
            if value_at(own, ("tools", tool, name)) is None:
                yield Setting((*_BASE, "tools", tool, name), value)


def _both(own: Any, ours: Sequence[str]) -> list[Any]:
    """The variables that are named already, then those that are missing."""
    stated = own if isinstance(own, list) else []
    names = {one.get("name") if isinstance(one, Mapping) else one for one in stated}
    return [*stated, *(name for name in ours if name not in names)]


def _notes(current: Mapping[str, Any]) -> Iterator[str]:
    providers = current.get("model_providers")
    for name, provider in providers.items() if isinstance(providers, Mapping) else ():
        if isinstance(provider, Mapping) and provider.get("wire_api") == "chat":
            yield f'[model_providers.{name[:60]}] says wire_api = "chat", so Codex does not start: make it "responses".'
    servers = current.get(_SERVERS)
    for name, entry in servers.items() if isinstance(servers, Mapping) else ():
        if not isinstance(entry, Mapping) or not is_ours(entry.get("command"), entry.get("args")):
            continue
        if name != SERVER_NAME:
            yield f"[{_SERVERS}.{name[:60]}] starts misjudge, too: remove one of the two."
        elif entry.get("enabled") is False:
            yield f"[{_SERVERS}.{SERVER_NAME}] is switched off by enabled = false."
        elif entry.get("required") is False:
            yield (
                f"[{_SERVERS}.{SERVER_NAME}] says required = false: Codex drops the server without a word if it "
                "answers later than about one second."
            )
