from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostile_start import INITIALIZE, INITIALIZED, LIST_TOOLS, SHADOWED, StartFailed, exchange, hostile_cwd, hostile_env

SERVER = """
import json, sys
print('ready', file=sys.stderr)
for line in sys.stdin:
    asked = json.loads(line)
    if 'id' in asked:
        print(json.dumps({'jsonrpc': '2.0', 'method': 'notifications/message', 'params': {}}), flush=True)
        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': {'asked': asked['method']}}), flush=True)
print(json.dumps({'jsonrpc': '2.0', 'method': 'notifications/end'}))
"""


def run(code: str, cwd: Path, timeout: float = 30) -> list[dict[str, object]]:
    messages = [INITIALIZE, INITIALIZED, LIST_TOOLS]
    return exchange([sys.executable, "-c", code], cwd, dict(os.environ), messages, timeout=timeout)


def test_an_exchange_returns_all_that_came_over_stdout_in_order(tmp_path: Path) -> None:
    received = run(SERVER, tmp_path)
    assert [message.get("id", message.get("method")) for message in received] == [
        "notifications/message",
        1,
        "notifications/message",
        2,
        "notifications/end",
    ]
    assert received[3]["result"] == {"asked": "tools/list"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('starting up')", "not JSON in UTF-8: b'starting up"),
        ("import sys; sys.stdout.buffer.write(b'\"\\x82\\xa0\"\\n')", "not JSON in UTF-8"),
        ("print('[1]')", "not JSON-RPC"),
        ("print('{\"id\": 1}')", "not JSON-RPC"),
        (
            "import sys; print('broken install', file=sys.stderr)",
            "ended before its reply to initialize.*broken install",
        ),
        (SERVER + "print('bye')", "not JSON in UTF-8: b'bye"),
    ],
)
def test_output_that_is_not_the_protocol_fails_with_what_was_seen(tmp_path: Path, code: str, said: str) -> None:
    with pytest.raises(StartFailed, match=f"(?s){said}"):
        run(code, tmp_path)


@pytest.mark.parametrize(
    ("code", "timeout", "awaited"),
    [
        ("import sys; sys.stdin.read()", 0.5, "the reply to initialize"),
        (SERVER + "import threading; threading.Event().wait()", 5, "the server's end after stdin was closed"),
    ],
)
def test_a_server_that_hangs_is_killed_and_what_it_owed_is_named(
    tmp_path: Path, code: str, timeout: float, awaited: str
) -> None:
    with pytest.raises(StartFailed, match=awaited):
        run(code, tmp_path, timeout)


@pytest.mark.parametrize("name", SHADOWED)
def test_a_hostile_folder_breaks_a_program_that_imports_from_it(tmp_path: Path, name: str) -> None:
    hostile_cwd(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.remove(''); import {name}"],
        cwd=tmp_path,
        env=hostile_env(),
        capture_output=True,
        encoding="cp932",
        timeout=60,
    )
    assert done.returncode == 1
    assert f"the working folder shadows {name}" in done.stderr
