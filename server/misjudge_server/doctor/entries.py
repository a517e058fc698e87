"""The MCP servers in the clients' files, and which of them is ours. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from misjudge_server.clients.server_entry import is_ours
from misjudge_server.doctor.facts import DocumentName, Entry
from misjudge_server.doctor.sealed import Document, tables_in, text_at, texts_at
from misjudge_server.doctor.wording import named

_CLAUDE: Final[tuple[DocumentName, ...]] = ("claude_state", "project_servers")


def entries_of(
    documents: Mapping[DocumentName, Document],
    names: Mapping[DocumentName, str],
    folder: str,
    is_there: Callable[[str], bool],
) -> tuple[Entry, ...]:
    """The servers of Claude Code (user, this folder's own, project) and of Codex. `is_there`: of a command."""
    return tuple(_entries(documents, names, folder, is_there))


def _entries(
    documents: Mapping[DocumentName, Document],
    names: Mapping[DocumentName, str],
    folder: str,
    is_there: Callable[[str], bool],
) -> Iterator[Entry]:
    for document in _CLAUDE:
        for name, table in tables_in(documents.get(document), "mcpServers"):
            where = f"{names[document]} (mcpServers.{named(name)})"
            yield _entry(Entry("Claude Code", document, where, name, table, False), is_there)
    for name, table in tables_in(documents.get("claude_state"), "projects", folder, "mcpServers"):
        where = f"{names['claude_state']} (this folder's mcpServers.{named(name)})"
        yield _entry(Entry("Claude Code", "claude_state", where, name, table, False), is_there)
    for name, table in tables_in(documents.get("codex"), "mcp_servers"):
        where = f"{names['codex']} [mcp_servers.{named(name)}]"
        yield _entry(Entry("Codex", "codex", where, name, table, False), is_there)


def _entry(entry: Entry, is_there: Callable[[str], bool]) -> Entry:
    command = text_at(entry.table, "command") or ""
    ours = is_ours(command, list(texts_at(entry.table, "args")))
    return entry._replace(ours=ours, lost=ours and "${" not in command and not is_there(command))
