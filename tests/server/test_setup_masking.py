from __future__ import annotations

import os
import subprocess
import sys

import pytest

import command
from misjudge_server.clients.masking import MASK, masked
from misjudge_server.clients.server_entry import FORWARDED

SECRET = "sk-canary7Q2x9vT4m1Lw8Zr5"
RANDOM = "c4n4ry7q2x9vt4m1lw8zr5b3"
WORD = "hunter-two"
"""Nothing but its name or place gives it away."""

BY_FORM = [
    f'args = ["{SECRET}"]',
    f'"x": "ghp_{RANDOM}"',
    f'"a": "{RANDOM}"',
    f'"header": "Basic {RANDOM}=="',
    f'"url": "https://host.example/mcp?k={RANDOM}&x=1"',
    f'# args = ["{SECRET}"]',
    f"'a\\'s token' = '{RANDOM}'",
]
BY_NAME = [
    f'+    "ANTHROPIC_AUTH_TOKEN": "{WORD}"',
    f'-env = {{ DOCS_TOKEN = "{WORD}", A = "b" }}',
    f"api_key='{WORD}'",
    f"password: {WORD}",
    f"password:{WORD}:{WORD}",
    f'"apiKeyHelper": "echo {WORD}"',
    f'secret = "{WORD}"',
    *(f'"{name}": "{WORD}"' for name in ("PGPASS", "MYSQL_PWD", "dbPassword", "accessToken", "APIKEY", "x-api-key")),
    *(f'"{name}": "{WORD}"' for name in ("Cookie", "AWS_SECRET_ACCESS_KEY", "credentials", "client.secret")),
    '"password": "123456"',
    "password = 123456",
    f'experimental_bearer_token = """{WORD} def\n{WORD} ghi"""',
    f"experimental_bearer_token = '''{WORD} def ghi'''",
    f'api_keys = ["{WORD}"]',
    f'"password": ["a", "{WORD}"]',
    f'api_keys = [\n  "a", # don\'t\n  ["{WORD}"],\n  [\n    "{WORD}"\n  ]\n]',
    f'"password": {{"value": "{WORD}", "more": {{"of": ["{WORD}"]}}}}',
    f'password = {{ value = "{WORD}" }}',
    f'[docs.credentials]\nuser = "{WORD}"\n\n  # note\nother = ["{WORD}"]',
    f'api_keys = [\n  # "{WORD}", # why\n]',
    f'[docs.credentials] # see\n# user = "{WORD}" # or "{WORD}"',
    f'[docs.credentials]\n# "user" = "{WORD}"',
    f'### don\'t # api_key = "{WORD}#{WORD}" # why',
    f'[[docs.api_keys]] # mine\nvalue = "{WORD}"',
    f'# don\'t: api_key = "{WORD}"',
]
BY_PLACE = [
    *(f'"args": ["{flag}", "{WORD}"]' for flag in ("--api-key", "--key", "--auth-token", "--password", "-token")),
    f'"args": ["--api-key={WORD}", "x"]',
    f"args = [\n  '--api-key',\n  '{WORD}',\n]",
    f'"command": "docs --api-key {WORD} --verbose"',
    f'args = ["-e", "API_KEY={WORD}"]',
    f'args = ["-H", "X-Api-Key: {WORD} {WORD}"]',
    f'"headers": {{"Authorization": "Bearer {WORD}"}}',
    f'"headers": ["Authorization: Token {WORD}"]',
    f'"sh": "curl -H \'Cookie: {WORD}\' x"',
    f'"json": "{{\\"token\\": \\"{WORD}\\"}}"',
    f'"url": "https://me:{WORD}@host.example/mcp"',
    f'"url": "https://{WORD}@host.example/mcp"',
    f'"url": "postgres://u:p/{WORD}@h"',
    f'"url": "postgres://u:p@{WORD}@h/db"',
    f'"url": "redis://:{WORD}@h:6379/0"',
    f"docs --api-key {WORD}",
]


@pytest.mark.parametrize("text", [*BY_FORM, *BY_NAME, *BY_PLACE])
def test_what_is_a_key_by_its_name_form_or_place_is_masked(text: str) -> None:
    shown = masked(text)
    assert MASK in shown and "canary" not in shown and RANDOM not in shown and WORD not in shown
    assert "123456" not in shown and shown.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", [*BY_NAME, *BY_PLACE])
def test_what_stands_behind_a_key_is_shown_and_what_is_masked_stays_masked(text: str) -> None:
    behind = '\n[after]\ncommand = "npx"\n'
    assert masked(text + behind) == masked(text) + behind
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize(
    "line",
    [
        '"TAOTOKEN_API_KEY": "${TAOTOKEN_API_KEY:-}"',
        'env_key = "TAOTOKEN_API_KEY"',
        'env_vars = ["TAOTOKEN_API_KEY", "MISJUDGE_REQUESTS_PER_MINUTE"]',
        '"apiKeyHelper": "printenv TAOTOKEN_API_KEY"',
        '"apiKeyHelper": "echo %TAOTOKEN_API_KEY%"',
        '"Authorization": "Bearer ${DOCS_TOKEN}"',
        'args = ["--api-key", "${DOCS_TOKEN}", "--port", "80"]',
        'command = "/home/u1/.local/share/uv/tools/misjudge2/bin/misjudge"',
        'command = "C:\\\\Users\\\\u1\\\\AppData\\\\Local\\\\misjudge\\\\misjudge.exe"',
        'base_url = "https://taotoken.net/api/v1"',
        "[mcp_servers.misjudge.tools.summarize_audit]",
        "requires_openai_auth = true",
        "[docs.credentials] # these are mine\n# and these are not",
        "max_tokens = 4096",
        '"MAX_THINKING_TOKENS": "31999"',
        '"ANTHROPIC_AUTH_TOKEN": ""',
        '"TAOTOKEN_BASE_URL": "https://taotoken.net/api/v1", "TAOTOKEN_MODEL": "big"',
        '[model_providers.taotoken]\nname = "TaoToken"',
        '"PWD": "/home/me"',
        '"tokenizer": "plain", "keyboard": "us", "hotkey": "ctrl-k", "allowBypass": "never", "passive": "voice"',
        '"mcpServers": {"token-counter": {"command": "npx", "args": ["count"]}}',
        '[mcp_servers.key-finder]\ncommand = "npx"',
        '"args": ["-y", "@scope/docs", "https://unpkg.com/@scope/docs", "http://host:8080/@scope/docs"]',
        '"note": "the key is not here", "more": "it\'s a token"',
        'matrix = [\n  ["token"],\n  ["plain"]\n]',
        *(f'model = "{name}"' for name in ("skywork", "skylark-pro", "sk-learn", "pk-server", "eyJ", "akia")),
        *(f'command = "{name}"' for name in ("ghost-mcp", "pkg-server", "skills", "rkhunter", "xoxo", "ghp", "glpat")),
        *(f"profile {name} of misjudge.toml" for name in ("skylark-pro", "ghost-mcp", "keyring")),
        *(f'"{name}" is not set' for name in FORWARDED),
    ],
)
def test_what_is_no_key_is_shown(line: str) -> None:
    assert masked(line) == line


@pytest.mark.parametrize(
    "text",
    ['"# " * 200_000', '"#" * 200_000',
     '"token" * 200_000', '"sk-" * 200_000', '"token: [" * 200_000', "'\"' * 200_001", '"://a:" * 200_000',
     '"[a]" * 200_000', "'{\"key\":' * 200_000", '"a=" * 200_000', '"?a" * 200_000', '"Bearer " * 200_000',
     "\"'''\" * 200_001", '"[a\\\\n" * 200_000', '" " * 200_000 + "x"', '"--token " * 200_000'],
)  # fmt: skip
def test_no_text_holds_the_reader_for_long(text: str) -> None:
    program = f"from misjudge_server.clients.masking import masked; masked({text})"
    env = command.environment(PYTHONPATH=os.pathsep.join(command.ROOTS))
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=command.TIMEOUT_S)
