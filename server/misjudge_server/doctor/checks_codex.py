"""Codex: what keeps it from starting, and which key it sends where. Pure. As seen with Codex 0.171."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from misjudge_server.clients.documents import value_at
from misjudge_server.clients.shells import set_secretly
from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.findings import Finding, finding
from misjudge_server.doctor.sealed import Document, opened, table_at, tables_in, text_at
from misjudge_server.doctor.wording import named
from misjudge_server.variables import VARIABLE_NAME
from misjudge_tools.gateway.addresses import is_loopback

_BUILT_IN: Final = frozenset({"openai", "ollama", "lmstudio", "oss", "amazon-bedrock"})
_WAYS: Final = ("env_key", "experimental_bearer_token", "http_headers", "env_http_headers", "auth", "query_params")
"""Ways in which a provider gets a key, besides auth.json."""


def codex_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong in Codex's config.toml and auth.json, and in CC Switch's providers for it."""
    config, name = facts.document("codex"), facts.names.get("codex", "")
    yield from _providers(config, name)
    yield from _in_use(facts, config, name)
    yield from _anthropic(config, name)
    for provider in facts.switch:
        if provider.app == "codex":
            where = f"{facts.switch_name} ({named(provider.name)})"
            yield from _providers(provider.config, where)
            yield from _anthropic(provider.config, where)
            yield from _anthropic(table_at(provider.settings, "auth"), where)


def _providers(config: Document, where: str) -> Iterator[Finding]:
    for name, provider in tables_in(config, "model_providers"):
        table = f"{where} [model_providers.{named(name)}]"
        if text_at(provider, "wire_api") == "chat":
            said = 'wire_api = "chat", as older guides have it. Codex refuses it and does not start.'
            yield finding("codex-wire-api", "error", table, said, f'In {table}: wire_api = "responses"')
        if text_at(provider, "name") is None and name not in _BUILT_IN:
            said = "It has no name, so Codex does not start."
            yield finding("codex-provider-name", "error", table, said, f'In {table}: name = "{named(name)}"')
        env_key = text_at(provider, "env_key")
        if env_key and not VARIABLE_NAME.fullmatch(env_key):
            said = "env_key holds something else than the name of a variable; the key itself, perhaps."
            yield finding("codex-env-key", "error", table, said, f'In {table}: env_key = "TAOTOKEN_API_KEY"')


def _in_use(facts: SetupFacts, config: Document, where: str) -> Iterator[Finding]:
    """The provider that Codex asks."""
    name = text_at(config, "model_provider")
    if name is None or (name in _BUILT_IN and not value_at(config, "model_providers", name)):
        return
    if not isinstance(value_at(config, "model_providers", name), dict):
        said = "model_provider names a provider that no [model_providers.NAME] describes, so Codex does not start."
        fix = "misjudge setup codex --with-gateway --model MODEL"
        yield finding("codex-provider-missing", "error", where, said, fix)
        return
    yield from _key_of(facts, table_at(config, "model_providers", name), f"{where} [model_providers.{named(name)}]")


def _key_of(facts: SetupFacts, provider: Document, table: str) -> Iterator[Finding]:
    variable = text_at(provider, "env_key")
    auth = facts.document("codex_auth")
    if variable and VARIABLE_NAME.fullmatch(variable):
        if facts.variable(variable) is None and not variable.startswith("ANTHROPIC_"):
            said = f"env_key names {named(variable)}, which is not set in this shell: Codex does not ask then."
            fix = set_secretly(named(variable), windows=facts.windows)
            yield finding("codex-env-key-unset", "error", table, said, fix)
    elif value_at(provider, "requires_openai_auth") is True:
        if text_at(auth, "OPENAI_API_KEY") is None and value_at(auth, "tokens"):
            said = (
                "requires_openai_auth, and Codex is logged in to ChatGPT: that token goes to this provider, not a key."
            )
            fix = f'In {table}: requires_openai_auth = false and env_key = "TAOTOKEN_API_KEY"'
            yield finding("codex-oauth-with-gateway", "error", table, said, fix)
        elif text_at(auth, "OPENAI_API_KEY") is None:
            said = "requires_openai_auth, but auth.json holds no OPENAI_API_KEY."
            fix = f'In {table}: requires_openai_auth = false and env_key = "TAOTOKEN_API_KEY"'
            yield finding("codex-provider-without-key", "error", table, said, fix)
    elif not variable and not any(value_at(provider, way) for way in _WAYS) and not _is_local(provider):
        said = "It says nowhere which key to send. A key in auth.json alone is not sent to it."
        fix = f'In {table}: env_key = "TAOTOKEN_API_KEY"'
        yield finding("codex-provider-without-key", "error", table, said, fix)


def _is_local(provider: Document) -> bool:
    try:
        return is_loopback(text_at(provider, "base_url") or "")
    except ValueError:
        return False


def _anthropic(config: Document, where: str) -> Iterator[Finding]:
    found = sorted(set(_named_anthropic(config)))
    if found:
        yield finding(
            "codex-anthropic-variables",
            "warning",
            where,
            f"{', '.join(found)}: variables of Claude Code, which mean nothing to Codex.",
            "Take them out there. A provider of Codex has base_url and env_key in config.toml.",
        )


def _named_anthropic(value: Any) -> Iterator[str]:
    """Names ANTHROPIC_… as keys, and as texts where a variable is named."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name.startswith("ANTHROPIC_"):
                yield named(name)
            yield from _named_anthropic(member)
    elif isinstance(value, tuple):
        for member in value:
            yield from _named_anthropic(member)
    elif (text := opened(value)) and re.fullmatch(r"ANTHROPIC_[A-Z_]{1,40}", text):
        yield text
