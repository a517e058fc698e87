"""Claude Code: the gateway in its settings, and servers that a project starts unasked. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from misjudge_server.doctor.checks_keys import CLAUDE_KEYS
from misjudge_server.doctor.facts import DocumentName, SetupFacts
from misjudge_server.doctor.findings import Finding
from misjudge_server.doctor.sealed import text_at, texts_at, value_at

_SETTINGS: Final[tuple[DocumentName, ...]] = ("claude_local", "claude_project", "claude_user")
"""The first one that says something counts."""
_SMALL: Final = ("ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL")
_SETUP: Final = "misjudge setup claude --with-gateway --model MODEL"


def claude_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong in Claude Code's settings, and of a project that starts servers unasked."""
    yield from _gateway(facts)
    yield from _unasked(facts)


def _set(facts: SetupFacts, name: str) -> DocumentName | None:
    return next((document for document in _SETTINGS if text_at(facts.document(document), "env", name)), None)


def _gateway(facts: SetupFacts) -> Iterator[Finding]:
    document = _set(facts, "ANTHROPIC_BASE_URL")
    if document is None or _is_anthropics_own(text_at(facts.document(document), "env", "ANTHROPIC_BASE_URL") or ""):
        return
    where = f"{facts.names[document]} (env)"
    keys = [name for name in CLAUDE_KEYS if _set(facts, name) or facts.variable(name)]
    helped = any(text_at(facts.document(one), "apiKeyHelper") for one in _SETTINGS)
    if not keys and not helped:
        yield _without_key(facts, where)
    if len(keys) == len(CLAUDE_KEYS):
        yield Finding(
            id="claude-two-keys",
            severity="warning",
            where=where,
            evidence=f"{' and '.join(keys)} are both set: one is sent as a bearer token, the other as x-api-key.",
            fix="Keep ANTHROPIC_AUTH_TOKEN for a gateway, and take ANTHROPIC_API_KEY out.",
        )
    lacking = [] if _set(facts, "ANTHROPIC_MODEL") or _model(facts) else ["ANTHROPIC_MODEL"]
    lacking += [] if any(_set(facts, name) for name in _SMALL) else [_SMALL[0]]
    if lacking:
        yield Finding(
            id="claude-model-unset",
            severity="warning",
            where=where,
            evidence=f"{' and '.join(lacking)} not set: Claude Code asks the gateway for a model of its own choice.",
            fix=_SETUP,
        )


def _without_key(facts: SetupFacts, where: str) -> Finding:
    if value_at(facts.document("claude_state"), "oauthAccount"):
        return Finding(
            id="claude-oauth-with-gateway",
            severity="error",
            where=where,
            evidence="A gateway is set, but no key: Claude Code is logged in by OAuth, which no gateway knows.",
            fix=_SETUP,
        )
    return Finding(
        id="claude-gateway-without-key",
        severity="error",
        where=where,
        evidence=f"A gateway is set, but neither {' nor '.join(CLAUDE_KEYS)} nor an apiKeyHelper.",
        fix=_SETUP,
    )


def _model(facts: SetupFacts) -> bool:
    return any(text_at(facts.document(document), "model") for document in _SETTINGS)


def _is_anthropics_own(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def _unasked(facts: SetupFacts) -> Iterator[Finding]:
    """Servers of the project's .mcp.json that start without a question: each is a program of whoever wrote it."""
    servers = {entry.name for entry in facts.entries if entry.where.startswith(facts.names["project_servers"])}
    for document in _SETTINGS if servers else ():
        settings, where = facts.document(document), facts.names[document]
        if value_at(settings, "enableAllProjectMcpServers") is True:
            yield Finding(
                id="servers-unasked",
                severity="warning",
                where=where,
                evidence=f"enableAllProjectMcpServers starts what any .mcp.json names; here {len(servers)} server(s).",
                fix=f"Take the line out of {where}; Claude Code asks once for each server then.",
            )
        elif document == "claude_project" and servers & set(texts_at(settings, "enabledMcpjsonServers")):
            yield Finding(
                id="servers-unasked",
                severity="warning",
                where=where,
                evidence="The project's own file approves servers of its .mcp.json (enabledMcpjsonServers).",
                fix=f"Move the line to .claude/settings.local.json, which is yours: take it out of {where}.",
            )
