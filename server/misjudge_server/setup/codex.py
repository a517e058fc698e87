"""Our entry in Codex's `config.toml`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from misjudge_server.clients.documents import value_at
from misjudge_server.clients.server_entry import FORWARDED, SERVER_NAME, ServerCommand
from misjudge_server.setup.changes import Setting, Wish
from misjudge_server.setup.own_entry import entry_wish, others_that_start_us
from misjudge_server.variables import NETWORK_VARIABLES

STARTUP_S: Final = 30
CALL_S: Final = 300
_SERVERS: Final = "mcp_servers"


def codex_entry(command: ServerCommand, more: Sequence[str], read_only: Sequence[str]) -> dict[str, Any]:
    """The table `[mcp_servers.misjudge]` where there is none. `more`: further variables to pass on.

    Codex hands on only the variables that are named, and drops an optional server that starts slowly.
    """
    return {
        "command": command.command,
        "args": list(command.args),
        "env_vars": list(dict.fromkeys((*FORWARDED, *NETWORK_VARIABLES, *more))),
        "required": True,
        "startup_timeout_sec": STARTUP_S,
        "tool_timeout_sec": CALL_S,
        "tools": {name: {"approval_mode": "approve"} for name in read_only},
    }


def codex_server(current: Mapping[str, Any], entry: Mapping[str, Any], corrected: str | None) -> Wish:
    """The entry merged into what stands there. `corrected`: a provider that the same set-up brings into order.

    Raises InvalidInput where the name is taken by another server.
    """
    where = f"[{_SERVERS}.{SERVER_NAME}] in Codex's config.toml"
    return entry_wish(current, _SERVERS, entry, _added, _notes(current, corrected), where)


def _added(own: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[Setting]:
    yield Setting(("env_vars",), _both(own.get("env_vars"), entry["env_vars"]))
    for name in ("required", "startup_timeout_sec", "tool_timeout_sec"):
        if name not in own:
            yield Setting((name,), entry[name])
    for tool, approval in entry["tools"].items():
        for name, value in approval.items():
            if value_at(own, "tools", tool, name) is None:
                yield Setting(("tools", tool, name), value)


def _both(own: Any, ours: Sequence[str]) -> list[Any]:
    """The variables that are named already, then those that are missing."""
    stated = own if isinstance(own, list) else []
    names = {one.get("name") if isinstance(one, Mapping) else one for one in stated}
    return [*stated, *(name for name in ours if name not in names)]


def _notes(current: Mapping[str, Any], corrected: str | None) -> Iterator[str]:
    providers = current.get("model_providers")
    for name, provider in providers.items() if isinstance(providers, Mapping) else ():
        if name != corrected and value_at(provider, "wire_api") == "chat":
            yield f'[model_providers.{name[:60]}] says wire_api = "chat", so Codex does not start: make it "responses".'
    for name in others_that_start_us(current, _SERVERS):
        yield f"[{_SERVERS}.{name}] starts misjudge, too: remove one of the two."
    own = value_at(current, _SERVERS, SERVER_NAME)
    if value_at(own, "enabled") is False:
        yield f"[{_SERVERS}.{SERVER_NAME}] is switched off by enabled = false."
    elif value_at(own, "required") is False:
        yield (
            f"[{_SERVERS}.{SERVER_NAME}] says required = false: Codex drops the server without a word if it "
            "answers later than about one second."
        )
