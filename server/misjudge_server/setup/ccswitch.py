"""What CC Switch imports: our server, and the gateway as a provider with the key left for its own field. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from misjudge_server.clients.names import CLAUDE_BASE_URL, CLAUDE_KEYS, CLAUDE_MODEL, CLAUDE_SMALL_MODEL
from misjudge_server.clients.server_entry import SERVER_NAME
from misjudge_server.setup.changes import Setting
from misjudge_server.setup.codex import codex_entry
from misjudge_server.setup.gateway import PROVIDER, Gateway
from misjudge_server.setup.plans import Asked
from misjudge_server.setup.toml_text import with_settings
from misjudge_storage.errors import InvalidInput
from misjudge_tools.interchange.written_names import refuse_name


def import_json(server: Mapping[str, Any], gateway: Gateway | None) -> dict[str, Any]:
    """`mcp`: for its page of MCP servers; `claude` and `codex`: for the JSON field of a new provider of that app."""
    document: dict[str, Any] = {"mcp": {SERVER_NAME: dict(server)}}
    return document if gateway is None else {**document, **_providers(gateway)}


def refuse_out(path: Path, folder: Path) -> None:
    """Raises InvalidInput for a name that no JSON of ours may have. A hidden folder around `folder` is no matter."""
    if path.suffix.lower() != ".json":
        raise InvalidInput("--out writes JSON: give the name of a new file that ends in .json.")
    refuse_name(path, (folder, Path(folder.anchor)))


def server_entry(asked: Asked) -> dict[str, Any]:
    """The server for Claude Code and Codex alike. CC Switch hands on to Codex what Claude Code does not know, and
    fills in no `${NAME}`: the variables are named, with no value.
    """
    codex = codex_entry(asked.command, asked.variables, ())
    return {"type": "stdio", **{name: value for name, value in codex.items() if name != "tools"}}


def server_link(server: Mapping[str, Any]) -> str:
    """A link by which CC Switch imports the server for Claude Code and Codex; it holds no key."""
    config = json.dumps({"mcpServers": {SERVER_NAME: dict(server)}}).encode()
    asked = {"resource": "mcp", "apps": "claude,codex", "config": base64.b64encode(config).decode()}
    return f"ccswitch://v1/import?{urlencode(asked, quote_via=quote)}"


def _providers(gateway: Gateway) -> dict[str, Any]:
    config = with_settings(
        "",
        [
            Setting(("model_provider",), PROVIDER),
            Setting(("model",), gateway.model),
            Setting(
                ("model_providers", PROVIDER),
                {
                    "name": "TaoToken",
                    "base_url": gateway.base_url,
                    "wire_api": "responses",
                    "requires_openai_auth": True,
                },
            ),
        ],
        "the provider",
    )
    return {
        "claude": {
            "env": {
                CLAUDE_KEYS[0]: "",
                CLAUDE_BASE_URL: gateway.root,
                CLAUDE_MODEL: gateway.model,
                CLAUDE_SMALL_MODEL: gateway.small_model,
            }
        },
        "codex": {"auth": {"OPENAI_API_KEY": ""}, "config": config},
    }
