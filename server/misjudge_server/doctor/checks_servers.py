"""How the clients start misjudge: whether its entries work. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from misjudge_server.clients.documents import value_at
from misjudge_server.clients.server_entry import ESSENTIAL, is_fleeting
from misjudge_server.doctor.facts import CLAUDE_SETTINGS, Entry, SetupFacts
from misjudge_server.doctor.findings import Finding, finding
from misjudge_server.doctor.sealed import Document, opened, table_at, text_at, texts_at
from misjudge_server.doctor.wording import named
from misjudge_server.variables import NETWORK_VARIABLES, PROXY_VARIABLES

STARTUP_S: Final = 10.0
CALL_S: Final = 60.0
"""A call waits up to 40 s for its result."""
_REFERENCE: Final = re.compile(r"\$\{(\w+)\}")
_SETUP: Final = {"Codex": "misjudge setup codex", "Claude Code": "misjudge setup claude"}


def server_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong with each entry that starts misjudge."""
    ours = [entry for entry in facts.entries if entry.ours]
    for entry in ours:
        yield from _starts(entry)
        yield from _switched_off(entry, facts)
        if entry.client == "Codex":
            yield from _codex(entry, facts)
        else:
            yield from _references(entry, facts)
    # One name in two scopes of Claude Code is one server: the nearer scope counts.
    for client, number in Counter(client for client, _ in {(entry.client, entry.name) for entry in ours}).items():
        if number > 1:
            where = ", ".join(entry.where for entry in ours if entry.client == client)
            said = f"{client} starts misjudge {number} times, under different names, and shows each tool as often."
            yield finding("server-twice", "warning", where, said, "Keep one of them, and take the others out.")


def _starts(entry: Entry) -> Iterator[Finding]:
    command = text_at(entry.table, "command") or ""
    if entry.lost:
        said = "The program that it starts is not there any more, or not on the PATH."
        yield finding("server-command-missing", "error", entry.where, said, _SETUP[entry.client])
    elif is_fleeting(command):
        said = "It starts misjudge out of a cache of uvx or pipx, which may be emptied any day."
        fix = f"uv tool install misjudge && {_SETUP[entry.client]}"
        yield finding("server-command-fleeting", "warning", entry.where, said, fix)
    if "serve" not in texts_at(entry.table, "args") and not command.endswith(" serve"):
        said = 'Its args do not say "serve", so it prints its help and ends in place of serving.'
        yield finding("server-args", "error", entry.where, said, _SETUP[entry.client])


def _switched_off(entry: Entry, facts: SetupFacts) -> Iterator[Finding]:
    off = value_at(entry.table, "enabled") is False
    if entry.client == "Claude Code":
        project = table_at(facts.document("claude_state"), "projects", facts.folder.as_posix())
        lists = [texts_at(project, "disabledMcpServers"), texts_at(project, "disabledMcpjsonServers")]
        lists += [texts_at(facts.document(document), "disabledMcpjsonServers") for document in CLAUDE_SETTINGS]
        off = any(entry.name in names for names in lists)
    if off:
        said = f"The server is switched off in {entry.client}."
        fix = f"In {entry.where}: enabled = true"
        if entry.client == "Claude Code":
            fix = f"In Claude Code: /mcp enable {named(entry.name)}; or take it out of disabledMcpjsonServers."
        yield finding("server-disabled", "warning", entry.where, said, fix)


def _codex(entry: Entry, facts: SetupFacts) -> Iterator[Finding]:
    table, where = entry.table, entry.where
    if value_at(table, "required") is not True:
        said = "It is not required: Codex drops a server that answers later than about one second, without a word."
        yield finding("codex-optional-server", "warning", where, said, f"In {where}: required = true")
    if _seconds(table, "startup_timeout_sec", STARTUP_S) < STARTUP_S:
        said = f"startup_timeout_sec is below {STARTUP_S:g}; the first start after an update takes longer."
        yield finding("codex-startup-short", "warning", where, said, f"In {where}: startup_timeout_sec = 30")
    if _seconds(table, "tool_timeout_sec", CALL_S) < CALL_S:
        said = f"tool_timeout_sec is below {CALL_S:g}, and a call waits up to 40 s for its result."
        yield finding("codex-tool-timeout-short", "warning", where, said, f"In {where}: tool_timeout_sec = 300")
    kept_back = [
        name for name in ESSENTIAL if facts.variable(name) and not _hands_on(table, name) and name not in facts.dotenv
    ]
    if kept_back:
        said = f"Codex hands no variable on that is not named, so the server does not see {', '.join(kept_back)}."
        yield finding("codex-variable-kept-back", "error", where, said, "misjudge setup codex")
    network = _network_kept_back(table, facts)
    if network:
        said = f"Codex does not hand on {', '.join(network)}, so the server asks the gateway without."
        yield finding("codex-proxy-kept-back", "warning", where, said, "misjudge setup codex")


def _network_kept_back(table: Document, facts: SetupFacts) -> list[str]:
    """Variables of the network that the server does not get in either spelling; of NO_PROXY, where there is a proxy."""
    spellings: dict[str, list[str]] = {}
    for name in NETWORK_VARIABLES:
        if facts.variable(name):
            spellings.setdefault(name.upper(), []).append(name)
    if spellings.keys().isdisjoint(PROXY_VARIABLES):
        spellings.pop("NO_PROXY", None)
    return [names[0] for names in spellings.values() if not any(_hands_on(table, name) for name in names)]


def _hands_on(table: Document, name: str) -> bool:
    listed = value_at(table, "env_vars")
    names = [text_at(one, "name") or opened(one) for one in listed] if isinstance(listed, tuple) else []
    return name in names or text_at(table, "env", name) is not None


def _seconds(table: Document, name: str, otherwise: float) -> float:
    found = value_at(table, name)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else otherwise


def _references(entry: Entry, facts: SetupFacts) -> Iterator[Finding]:
    """References without a fallback to variables that are not set, which Claude Code complains of."""
    texts = [*map(opened, table_at(entry.table, "env").values()), *texts_at(entry.table, "args")]
    names = {name for text in texts if text for name in _REFERENCE.findall(text)}
    unset = sorted(name for name in names if facts.variable(name) is None)
    if unset:
        said = f"It refers to {', '.join(unset)}, not set where Claude Code is started, and without a fallback."
        fix = f"In {entry.where}: write ${{{unset[0]}:-}}, which is nothing where the variable is not set."
        yield finding("server-reference-unset", "warning", entry.where, said, fix)
