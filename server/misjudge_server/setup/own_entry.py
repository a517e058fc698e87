"""Our entry among the servers of a client, whatever its format. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from misjudge_server.clients.documents import value_at
from misjudge_server.clients.server_entry import SERVER_NAME, is_ours
from misjudge_server.setup.changes import Setting, Wish
from misjudge_storage.errors import InvalidInput

Added = Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[Setting]]
"""From the entry that stands there and ours: what to add, by paths in the entry."""


def entry_wish(
    current: Mapping[str, Any], servers: str, entry: Mapping[str, Any], added: Added, notes: Iterable[str], where: str
) -> Wish:
    """The entry merged into what stands in the table `servers`: what a person set stays, but for the command.

    Raises InvalidInput where the name is taken by another server; `where` is what it calls that place.
    """
    base = (servers, SERVER_NAME)
    own = value_at(current, *base)
    if own is None:
        return Wish((Setting(base, dict(entry)),), tuple(notes))
    if not starts_us(own) and not _starts_nothing(own):
        raise InvalidInput(f"{where} starts another program. Rename or remove it there, and run this again.")
    settings = [*(Setting((name,), entry[name]) for name in ("command", "args")), *added(own, entry)]
    return Wish(tuple(Setting((*base, *path), value) for path, value in settings), tuple(notes))


def starts_us(entry: Any) -> bool:
    """Whether an entry starts misjudge."""
    return isinstance(entry, Mapping) and is_ours(entry.get("command"), entry.get("args"))


def _starts_nothing(entry: Any) -> bool:
    """Whether it is a table that only adds to an entry, as with the approvals that Codex remembers by tool."""
    return isinstance(entry, Mapping) and not entry.keys() & {"command", "url", "type"}


def others_that_start_us(current: Mapping[str, Any], servers: str) -> Iterator[str]:
    """The names of other entries in the table `servers` that start misjudge, too."""
    found = current.get(servers)
    for name, entry in found.items() if isinstance(found, Mapping) else ():
        if name != SERVER_NAME and starts_us(entry):
            yield name[:60]
