"""Base URLs, wherever one is configured: of misjudge, Codex, Claude Code and CC Switch. Pure; no address is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

from misjudge_server.clients.names import CLAUDE_BASE_URL
from misjudge_server.doctor.facts import CLAUDE_SETTINGS, SetupFacts
from misjudge_server.doctor.findings import Finding, Severity, finding
from misjudge_server.doctor.sealed import opened, table_at, tables_in, text_at
from misjudge_server.doctor.wording import named, set_to
from misjudge_server.variables import CONNECTION_VARIABLES, DOTENV, ENVIRONMENT
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.addresses import is_loopback, normalise_base_url
from misjudge_tools.gateway.settings import DEFAULT_BASE_URL

ADDRESS: Final = CONNECTION_VARIABLES["base_url"]
_VERSION: Final = re.compile(r"/v\d+(?:beta)?/?$")
_VERSION_TWICE: Final = re.compile(r"/v\d+/v\d+/?$")
_OTHER_FORM: Final = re.compile(r"/anthropic(?:/v\d+)?/?$")
"""Where gateways take requests as Claude Code writes them."""
_ENDPOINT: Final = re.compile(r"/(?:chat/completions|completions|responses|messages|embeddings|models)/?$")
_WEBSITE: Final = re.compile(
    r"\.html?$|/(?:console|dashboard|login|register|pricing|docs?|zh|zh-cn|models?/?list)(?:/|$)", re.IGNORECASE
)
_HOST: Final = urlsplit(DEFAULT_BASE_URL).hostname
_OWN_FORM: Final = frozenset({"chatgpt.com", "api.anthropic.com"})
"""Hosts whose addresses follow no rule of a gateway."""


class Address(NamedTuple):
    """A base URL and who appends what to it: misjudge and Codex an endpoint, Claude Code `/v1/messages`."""

    where: str
    name: str
    url: str
    reader: Literal["misjudge", "codex", "claude"]

    @property
    def right(self) -> str:
        """An address of the usual gateway as it is right there."""
        return f"{DEFAULT_BASE_URL}/v1" if self.reader == "codex" else DEFAULT_BASE_URL


class _Wrong(NamedTuple):
    id: str
    severity: Severity
    evidence: str


def address_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong with each base URL: at most one finding for each, and one more where it is not encrypted."""
    for address in addresses(facts):
        wrong = _wrong(address)
        if wrong is not None:
            yield finding(wrong.id, wrong.severity, address.where, wrong.evidence, _fix(address, facts))
        elif urlsplit(address.url).scheme == "http" and not is_loopback(address.url):
            yield finding(
                "base-url-plain-http",
                "warning",
                address.where,
                f"{address.name} begins with http://, so the key is sent unencrypted.",
                f"Write https:// there, if the gateway takes it: {_fix(address, facts)}",
            )


def addresses(facts: SetupFacts) -> Iterator[Address]:
    """Every base URL that is configured."""
    for place, values in ((ENVIRONMENT, facts.environment), (DOTENV, facts.dotenv)):
        if url := opened(values.get(ADDRESS)):
            yield Address(place, ADDRESS, url, "misjudge")
    if url := facts.variable(CLAUDE_BASE_URL):
        yield Address(ENVIRONMENT, CLAUDE_BASE_URL, url, "claude")
    yield from _of_files(facts)
    yield from _of_switch(facts)


def _of_files(facts: SetupFacts) -> Iterator[Address]:
    ours = facts.names.get("misjudge", "")
    if url := text_at(facts.document("misjudge"), "gateway", "base_url"):
        yield Address(f"{ours} [gateway]", "base_url", url, "misjudge")
    for name, profile in tables_in(facts.document("misjudge"), "profiles"):
        if url := text_at(profile, "base_url"):
            yield Address(f"{ours} [profiles.{named(name)}]", "base_url", url, "misjudge")
    for entry in facts.entries:
        url = text_at(entry.table, "env", ADDRESS) if entry.ours else None
        if url and "${" not in url:
            yield Address(entry.where, ADDRESS, url, "misjudge")
    for name, provider in tables_in(facts.document("codex"), "model_providers"):
        if url := text_at(provider, "base_url"):
            yield Address(f"{facts.names['codex']} [model_providers.{named(name)}]", "base_url", url, "codex")
    for document in CLAUDE_SETTINGS:
        if url := text_at(facts.document(document), "env", CLAUDE_BASE_URL):
            yield Address(f"{facts.names[document]} (env)", CLAUDE_BASE_URL, url, "claude")


def _of_switch(facts: SetupFacts) -> Iterator[Address]:
    for provider in facts.switch:
        where = f"{facts.switch_name} ({named(provider.app)}, {named(provider.name)})"
        if url := text_at(table_at(provider.settings, "env"), CLAUDE_BASE_URL):
            yield Address(where, CLAUDE_BASE_URL, url, "claude")
        for _, table in tables_in(provider.config, "model_providers"):
            if url := text_at(table, "base_url"):
                yield Address(where, "base_url", url, "codex")


def _wrong(address: Address) -> _Wrong | None:
    url, name = address.url.strip(), address.name
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return _Wrong("base-url-invalid", "error", f"{name} is no valid URL.")
    if "utm_" in parts.query:
        return _Wrong("base-url-tracking-link", "error", f"{name} is a tracking link of a web page (utm_…).")
    if _VERSION_TWICE.search(parts.path):
        return _Wrong("base-url-version-twice", "error", f"{name} ends in a version twice, as in /v1/v1.")
    if _ENDPOINT.search(parts.path):
        return _Wrong("base-url-endpoint", "error", f"{name} ends in an endpoint, as /chat/completions.")
    try:
        normalise_base_url(url)
    except InvalidInput as error:
        return _Wrong("base-url-invalid", "error", f"{name}: {str(error).split('. ')[0].rstrip('.;')}.")
    if host.removeprefix("www.") == _HOST and not re.match(r"/api(?:/|$)", parts.path):
        return _Wrong("base-url-website", "error", f"{name} is the address of the website, not of the API.")
    if _WEBSITE.search(parts.path):
        return _Wrong("base-url-website", "warning", f"{name} looks like a page of a website, not like an API.")
    return None if host in _OWN_FORM else _wrong_for_reader(address, url, parts)


def _wrong_for_reader(address: Address, url: str, parts: SplitResult) -> _Wrong | None:
    name, path = address.name, parts.path
    if address.reader != "misjudge" and url != address.url:
        return _Wrong("base-url-invalid", "error", f"{name} has a space or line break around it.")
    if address.reader != "claude" and _OTHER_FORM.search(path):
        said = f"{name} ends in /anthropic, where Claude Code's requests are taken, and no other."
        usual = (parts.hostname or "").removeprefix("www.") == _HOST
        return _Wrong("base-url-endpoint", "error" if usual else "warning", said)
    if address.reader == "codex" and not _VERSION.search(path):
        said = f"{name} ends in no version, and Codex appends /responses to it: most gateways answer 404 there."
        return _Wrong("base-url-needs-version", "error", said)
    if address.reader == "claude" and _VERSION.search(path):
        said = f"{name} ends in a version, and Claude Code appends /v1/messages to it: /v1/v1 is answered with 404."
        return _Wrong("base-url-has-version", "error", said)
    return None


def _fix(address: Address, facts: SetupFacts) -> str:
    if address.where == ENVIRONMENT:
        return set_to(address.name, address.right, windows=facts.windows)
    if address.where == DOTENV:
        return f"In .env: {address.name}={address.right}"
    return f'In {address.where}: set {address.name} to the API address alone, as "{address.right}".'
