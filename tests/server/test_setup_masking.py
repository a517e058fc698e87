from __future__ import annotations

import pytest

from misjudge_server.setup.masking import MASK, masked

SECRET = "sk-canary7Q2x9vT4m1Lw8Zr5"
RANDOM = "c4n4ry7q2x9vt4m1lw8zr5b3"


@pytest.mark.parametrize(
    "line",
    [
        f'+    "ANTHROPIC_AUTH_TOKEN": "{SECRET}"',
        f'-env = {{ DOCS_TOKEN = "{RANDOM}", A = "b" }}',
        f"api_key='{RANDOM}'",
        f"password: {RANDOM}",
        f'"apiKeyHelper": "echo {RANDOM}"',
        f'args = ["--key", "{RANDOM}"]',
        f'args = ["{SECRET}"]',
        f'"headers": {{"Authorization": "Bearer {RANDOM}"}}',
        f'"header": "Basic {RANDOM}=="',
        f'"url": "https://me:{RANDOM}@host.example/mcp"',
        f'"url": "https://host.example/mcp?k={RANDOM}&x=1"',
        f'"x": "ghp_{RANDOM}"',
        'secret = "short"',
        f'"a": "{RANDOM}"',
        f"'a\\'s token' = '{RANDOM}'",
    ],
)
def test_what_is_a_key_by_its_name_form_or_place_is_masked(line: str) -> None:
    shown = masked(line)
    assert MASK in shown and "canary" not in shown and RANDOM not in shown and "short" not in shown


@pytest.mark.parametrize(
    "line",
    [
        '"TAOTOKEN_API_KEY": "${TAOTOKEN_API_KEY:-}"',
        'env_key = "TAOTOKEN_API_KEY"',
        'env_vars = ["TAOTOKEN_API_KEY", "MISJUDGE_REQUESTS_PER_MINUTE"]',
        '"apiKeyHelper": "printenv TAOTOKEN_API_KEY"',
        'command = "/home/u1/.local/share/uv/tools/misjudge2/bin/misjudge"',
        'command = "C:\\\\Users\\\\u1\\\\AppData\\\\Local\\\\misjudge\\\\misjudge.exe"',
        'base_url = "https://taotoken.net/api/v1"',
        "[mcp_servers.misjudge.tools.summarize_audit]",
        "requires_openai_auth = true",
        "max_tokens = 4096",
        '"ANTHROPIC_AUTH_TOKEN": ""',
    ],
)
def test_what_is_no_key_is_shown(line: str) -> None:
    assert masked(line) == line
