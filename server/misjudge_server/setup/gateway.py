"""The gateway as a client's model provider, in the form that works today, and how that differs from guides. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from misjudge_server.clients.documents import value_at
from misjudge_server.clients.names import (
    CLAUDE_BASE_URL,
    CLAUDE_HEADERS,
    CLAUDE_KEYS,
    CLAUDE_MODEL,
    CLAUDE_SMALL_MODEL,
)
from misjudge_server.setup.changes import Setting, Wish
from misjudge_server.variables import MODEL_VARIABLES
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.addresses import normalise_base_url
from misjudge_tools.gateway.settings import DEFAULT_BASE_URL, DEFAULT_KEY_VARIABLE

PROVIDER: Final = "taotoken"
"""What the provider is called in Codex."""
_SENT: Final = ("http_headers", "env_http_headers", "query_params", "experimental_bearer_token", "auth")
"""What Codex sends to the address of a provider, beside the key of `env_key`."""


class Gateway(NamedTuple):
    """A gateway. `base_url` ends in its version, as in https://taotoken.net/api/v1."""

    base_url: str
    model: str
    small_model: str

    @property
    def root(self) -> str:
        """The address for Claude Code, which appends /v1/messages itself."""
        return self.base_url.removesuffix("/v1")


def gateway_of(
    environment: Mapping[str, str], base_url: str | None, model: str | None, small_model: str | None
) -> Gateway:
    """The gateway from what was asked for, else from the environment. Raises InvalidInput, which shows no address."""
    found = model or next((environment[name] for name in MODEL_VARIABLES if environment.get(name)), None)
    if not found:
        raise InvalidInput(f"--with-gateway needs the model to use: give --model NAME, or set {MODEL_VARIABLES[0]}.")
    for name in (found, small_model or found):
        if not name.isprintable() or name != name.strip():
            raise InvalidInput("The name of a model is printable and has no spaces around it.")
    url = base_url or environment.get("TAOTOKEN_BASE_URL") or DEFAULT_BASE_URL
    return Gateway(normalise_base_url(url), found, small_model or found)


def claude_gateway(current: Mapping[str, Any], gateway: Gateway, environment: Mapping[str, str], windows: bool) -> Wish:
    """`settings.json` of Claude Code. The key is read by a command when it is needed, so that no file holds it.

    Raises InvalidInput where keys for another address would be sent to this one.
    """
    settings = [
        Setting(("env", CLAUDE_BASE_URL), gateway.root),
        Setting(("env", CLAUDE_MODEL), gateway.model),
        Setting(("env", CLAUDE_SMALL_MODEL), gateway.small_model),
    ]
    notes = [f"{CLAUDE_BASE_URL} is written without /v1, since Claude Code appends /v1/messages."]
    helper = f"echo %{DEFAULT_KEY_VARIABLE}%" if windows else f"printenv {DEFAULT_KEY_VARIABLE}"
    literal = next((name for name in CLAUDE_KEYS if value_at(current, "env", name)), None)
    own = value_at(current, "apiKeyHelper")
    foreign = [name for name in (*CLAUDE_KEYS, CLAUDE_HEADERS) if value_at(current, "env", name)]
    foreign += ["apiKeyHelper"] if own not in (None, helper) else []
    stated = value_at(current, "env", CLAUDE_BASE_URL)
    if stated:
        _refuse_foreign(stated, gateway.root, foreign, "Claude Code's settings.json")
    if CLAUDE_HEADERS in foreign:
        notes.append(f"{CLAUDE_HEADERS} in this file is sent to the gateway, too: take out what is not meant for it.")
    if literal is not None:
        notes.append(
            f"{literal} already stands in this file and stays in use. To have no key in it, take it out, set "
            f"{DEFAULT_KEY_VARIABLE} and run this again."
        )
    elif own not in (None, helper):
        notes.append("Your own apiKeyHelper stays; it must print the gateway's key.")
    else:
        settings.append(Setting(("apiKeyHelper",), helper))
        notes.append(
            "Guides write the key itself into this file as ANTHROPIC_AUTH_TOKEN. Here apiKeyHelper reads it from "
            f"{DEFAULT_KEY_VARIABLE} when it is needed, so that no file holds it."
        )
        notes += [
            f"{name} is set in this shell and wins over apiKeyHelper: unset it." for name in CLAUDE_KEYS
            if environment.get(name)
        ]  # fmt: skip
    return Wish(tuple(settings), tuple(notes))


def codex_gateway(current: Mapping[str, Any], gateway: Gateway) -> Wish:
    """The provider block of Codex's `config.toml`, with the key by the name of its variable.

    Raises InvalidInput where keys for another address would be sent to this one.
    """
    base = ("model_providers", PROVIDER)
    wanted: dict[str, Any] = {
        "base_url": gateway.base_url,
        "env_key": DEFAULT_KEY_VARIABLE,
        "wire_api": "responses",
    }
    own = value_at(current, *base)
    settings = [Setting(("model",), gateway.model), Setting(("model_provider",), PROVIDER)]
    if own is None:
        settings.append(Setting(base, {"name": "TaoToken", **wanted}))
    else:
        foreign = [name for name in _SENT if value_at(own, name)]
        where = f"[{'.'.join(base)}] of Codex's config.toml"
        _refuse_foreign(value_at(own, "base_url"), gateway.base_url, foreign, where)
        settings += [Setting((*base, name), value) for name, value in wanted.items()]
        if value_at(current, *base, "requires_openai_auth"):
            settings.append(Setting((*base, "requires_openai_auth"), False))
    return Wish(
        tuple(settings),
        (
            'Guides write wire_api = "chat", with which Codex does not start any more. It is "responses" here: Codex '
            "asks BASE_URL/responses, which the gateway must offer.",
            f"Guides put the key into auth.json. Here env_key names {DEFAULT_KEY_VARIABLE}, so that no file holds it. "
            "ANTHROPIC_* variables mean nothing to Codex, and none is written.",
        ),
    )


def _refuse_foreign(stated: Any, address: str, foreign: Sequence[str], where: str) -> None:
    """Raises InvalidInput, which shows no value, where what was meant for another host would be sent to this one."""
    if foreign and _host(stated) != _host(address):
        raise InvalidInput(
            f"{where} has {', '.join(foreign)} for another address, and the gateway would be sent it. Take it out "
            "there and run this again."
        )


def _host(address: Any) -> str | None:
    try:
        return urlsplit(str(address)).hostname
    except ValueError:
        return None
