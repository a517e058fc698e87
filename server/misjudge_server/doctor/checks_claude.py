"""Claude Code: the gateway in its settings, and servers that a project starts unasked. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import Final
from urllib.parse import urlsplit

from misjudge_server.clients.documents import value_at
from misjudge_server.clients.names import CLAUDE_BASE_URL, CLAUDE_KEYS, CLAUDE_MODEL, CLAUDE_SMALL_MODEL
from misjudge_server.doctor.facts import CLAUDE_SETTINGS, DocumentName, SetupFacts
from misjudge_server.doctor.findings import Finding, finding
from misjudge_server.doctor.sealed import text_at, texts_at

_SMALL: Final = (CLAUDE_SMALL_MODEL, "ANTHROPIC_DEFAULT_HAIKU_MODEL")
_SETUP: Final = "misjudge setup claude --with-gateway --model MODEL"


def claude_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong in Claude Code's settings, and of a project that starts servers unasked."""
    yield from _gateway(facts)
    yield from _unasked(facts)


def _set(facts: SetupFacts, name: str) -> DocumentName | None:
    return next((document for document in CLAUDE_SETTINGS if text_at(facts.document(document), "env", name)), None)


def _gateway(facts: SetupFacts) -> Iterator[Finding]:
    document = _set(facts, CLAUDE_BASE_URL)
    if document is None or _is_anthropics_own(text_at(facts.document(document), "env", CLAUDE_BASE_URL) or ""):
        return
    where = f"{facts.names[document]} (env)"
    keys = [name for name in CLAUDE_KEYS if _set(facts, name) or facts.variable(name)]
    helped = any(text_at(facts.document(one), "apiKeyHelper") for one in CLAUDE_SETTINGS)
    if not keys and not helped:
        yield _without_key(facts, where)
    if len(keys) == len(CLAUDE_KEYS):
        yield finding(
            "claude-two-keys",
            "warning",
            where,
            f"{' and '.join(keys)} are both set: one is sent as a bearer token, the other as x-api-key.",
            "Keep ANTHROPIC_AUTH_TOKEN for a gateway, and take ANTHROPIC_API_KEY out.",
        )
    lacking = [] if _set(facts, CLAUDE_MODEL) or _model(facts) else [CLAUDE_MODEL]
    lacking += [] if any(_set(facts, name) for name in _SMALL) else [_SMALL[0]]
    if lacking:
        yield finding(
            "claude-model-unset",
            "warning",
            where,
            f"{' and '.join(lacking)} not set: Claude Code asks the gateway for a model of its own choice.",
            _same_gateway(text_at(facts.document(document), "env", CLAUDE_BASE_URL) or ""),
        )


def _same_gateway(address: str) -> str:
    """The command that keeps to the gateway in force; an address that may hold a secret is not repeated."""
    plain = not {"@", "?", "#"} & set(address)
    return _SETUP.replace("--model", f"--base-url {quote(address)} --model") if plain else _SETUP


def _without_key(facts: SetupFacts, where: str) -> Finding:
    if value_at(facts.document("claude_state"), "oauthAccount"):
        return finding(
            "claude-oauth-with-gateway",
            "error",
            where,
            "A gateway is set, but no key: Claude Code is logged in by OAuth, which no gateway knows.",
            _SETUP,
        )
    return finding(
        "claude-gateway-without-key",
        "error",
        where,
        f"A gateway is set, but neither {' nor '.join(CLAUDE_KEYS)} nor an apiKeyHelper.",
        _SETUP,
    )


def _model(facts: SetupFacts) -> bool:
    return any(text_at(facts.document(document), "model") for document in CLAUDE_SETTINGS)


def _is_anthropics_own(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def _unasked(facts: SetupFacts) -> Iterator[Finding]:
    """Servers of the project's .mcp.json that start without a question: each is a program of whoever wrote it."""
    servers = {entry.name for entry in facts.entries if entry.document == "project_servers"}
    for document in CLAUDE_SETTINGS if servers else ():
        settings, where = facts.document(document), facts.names[document]
        if value_at(settings, "enableAllProjectMcpServers") is True:
            yield finding(
                "servers-unasked",
                "warning",
                where,
                f"enableAllProjectMcpServers starts what any .mcp.json names; here {len(servers)} server(s).",
                f"Take the line out of {where}; Claude Code asks once for each server then.",
            )
        elif document == "claude_project" and servers & set(texts_at(settings, "enabledMcpjsonServers")):
            yield finding(
                "servers-unasked",
                "warning",
                where,
                "The project's own file approves servers of its .mcp.json (enabledMcpjsonServers).",
                f"Move the line to .claude/settings.local.json, which is yours: take it out of {where}.",
            )
