"""The gateway as a client's model provider, in the form that works today, and how that differs from guides. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from misjudge_server.setup.changes import Setting, Wish, value_at
from misjudge_server.variables import MODEL_VARIABLES
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.addresses import normalise_base_url
from misjudge_tools.gateway.settings import DEFAULT_BASE_URL, DEFAULT_KEY_VARIABLE

PROVIDER: Final = "taotoken"
"""What the provider is called in Codex."""
_CLAUDE_KEYS: Final = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")


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
    """`settings.json` of Claude Code. The key is read by a command when it is needed, so that no file holds it."""
    settings = [
        Setting(("env", "ANTHROPIC_BASE_URL"), gateway.root),
        Setting(("env", "ANTHROPIC_MODEL"), gateway.model),
        Setting(("env", "ANTHROPIC_SMALL_FAST_MODEL"), gateway.small_model),
    ]
    notes = ["ANTHROPIC_BASE_URL is written without /v1, since Claude Code appends /v1/messages."]
    helper = f"echo %{DEFAULT_KEY_VARIABLE}%" if windows else f"printenv {DEFAULT_KEY_VARIABLE}"
    literal = next((name for name in _CLAUDE_KEYS if value_at(current, ("env", name))), None)
    own = value_at(current, ("apiKeyHelper",))
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
            f"{name} is set in this shell and wins over apiKeyHelper: unset it." for name in _CLAUDE_KEYS
            if environment.get(name)
        ]  # fmt: skip
    return Wish(tuple(settings), tuple(notes))


def codex_gateway(current: Mapping[str, Any], gateway: Gateway) -> Wish:
    """The provider block of Codex's `config.toml`, with the key by the name of its variable."""
    base = ("model_providers", PROVIDER)
    wanted: dict[str, Any] = {
        "base_url": gateway.base_url,
        "env_key": DEFAULT_KEY_VARIABLE,
        "wire_api": "responses",
    }
    own = value_at(current, base)
    settings = [Setting(("model",), gateway.model), Setting(("model_provider",), PROVIDER)]
    if own is None:
        settings.append(Setting(base, {"name": "TaoToken", **wanted}))
    else:
        settings += [Setting((*base, name), value) for name, value in wanted.items()]
        if value_at(current, (*base, "requires_openai_auth")):
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
