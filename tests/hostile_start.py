"""Starts an MCP server over stdio from a folder and an environment made to break it.

    python tests/hostile_start.py COMMAND [ARGUMENT…]

ends with 0 when every line the command writes to stdout is JSON-RPC and `tools/list` names at least one tool.
Only the standard library is used, so that it also runs beside an installed wheel.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

Message = dict[str, Any]

SHADOWED = ("server", "tools", "storage", "mcp", "openai", "sqlmodel", "pydantic")
TIMEOUT = 60.0  # seconds for one reply; a first start on a slow disk compiles every module

INITIALIZE: Message = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "hostile-start", "version": "1"},
    },
}
INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST_TOOLS: Message = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}


class StartFailed(Exception):
    """The server did not answer, or wrote something else than JSON-RPC to stdout."""


def hostile_cwd(folder: Path) -> None:
    """Fill `folder` with packages that fail on import and are named like misjudge's rooms and what it needs."""
    for name in SHADOWED:
        package = folder / name
        package.mkdir(parents=True)
        text = f"raise ImportError('the working folder shadows {name}')\n"
        (package / "__init__.py").write_text(text, encoding="utf-8")


def hostile_env() -> dict[str, str]:
    """Return this process's environment with the working folder on the module path and stdio not in UTF-8."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONUTF8", "PYTHONSAFEPATH"}}
    return {**kept, "PYTHONPATH": ".", "PYTHONIOENCODING": "cp932"}


def exchange(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    messages: Sequence[Message],
    timeout: float = TIMEOUT,
) -> list[Message]:
    """Send `messages`, each request only after the one before was answered, then close stdin.

    Returns everything that came over stdout, in order. Raises StartFailed for a line that is not JSON-RPC, for a
    reply or an end that takes longer than `timeout` seconds, and for an end before the last reply.
    """
    received: list[Message] = []
    with tempfile.TemporaryFile() as errors, _running(command, cwd, env, errors) as process:
        lines = _lines_of(process)
        try:
            for message in messages:
                _send(process, message)
                if "id" in message and "method" in message:
                    received += _until_reply(lines, message, timeout)
            _close(process)
            received += _rest(lines, timeout)
        except StartFailed as failure:
            raise StartFailed(f"{failure}\n{_tail(errors)}") from None
    return received


@contextmanager
def _running(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], errors: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=errors) as process:
        try:
            yield process
        finally:
            process.kill()
            _close(process)


def _lines_of(process: subprocess.Popen[bytes]) -> queue.Queue[bytes | None]:
    lines: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _send(process: subprocess.Popen[bytes], message: Message) -> None:
    assert process.stdin is not None
    with suppress(OSError):  # a server that is gone shows as the end of its stdout
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()


def _until_reply(lines: queue.Queue[bytes | None], request: Message, timeout: float) -> Iterator[Message]:
    while True:
        message = _next(lines, timeout, f"the reply to {request['method']}")
        if message is None:
            raise StartFailed(f"The server ended before its reply to {request['method']}.")
        yield message
        if message.get("id") == request["id"] and "method" not in message:
            return


def _rest(lines: queue.Queue[bytes | None], timeout: float) -> Iterator[Message]:
    while (message := _next(lines, timeout, "the server's end after stdin was closed")) is not None:
        yield message


def _next(lines: queue.Queue[bytes | None], timeout: float, awaited: str) -> Message | None:
    try:
        line = lines.get(timeout=timeout)
    except queue.Empty:
        raise StartFailed(f"Nothing came within {timeout:g} s while waiting for {awaited}.") from None
    return None if line is None else _read(line)


def _read(line: bytes) -> Message:
    try:
        message = json.loads(line.decode("utf-8"))
    except ValueError:
        raise StartFailed(f"stdout holds a line that is not JSON in UTF-8: {line[:200]!r}") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise StartFailed(f"stdout holds a line that is not JSON-RPC: {line[:200]!r}")
    return message


def _tail(errors: IO[bytes]) -> str:
    errors.seek(0)
    return "stderr ended with:\n" + errors.read().decode("utf-8", errors="replace")[-2000:]


def main(command: Sequence[str]) -> int:
    """Start `command` in a hostile folder, print what came of it in one line, and return the exit code."""
    program = str(Path(command[0]).absolute()) if os.path.dirname(command[0]) else command[0]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        hostile_cwd(Path(folder))
        try:
            received = exchange(
                [program, *command[1:]], Path(folder), hostile_env(), [INITIALIZE, INITIALIZED, LIST_TOOLS]
            )
        except StartFailed as failure:
            print(f"hostile start failed: {failure}", file=sys.stderr)
            return 1
    listing = next(message for message in received if message.get("id") == LIST_TOOLS["id"])
    names = [tool["name"] for tool in listing.get("result", {}).get("tools", [])]
    print(f"hostile start: {len(received)} JSON-RPC lines, {len(names)} tools: {', '.join(names)}")
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else "usage: python tests/hostile_start.py COMMAND [ARGUMENT…]")
