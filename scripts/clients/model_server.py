"""The scripted model on loopback, and a stand-in for the gateway that the judge under audit is asked of."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from clients.dialects import Body, Dialect
from clients.player import Player

VERDICT = '{"reasons": "stand-in of the test", "score_a": 4, "score_b": 1, "winner": "A"}'
HELD_S = 60.0
"""How long the stand-in waits for its gate at most: a script that forgot to open it must end, too."""


class Exchange(NamedTuple):
    """A request as it came. `key` is what it was authorised with."""

    path: str
    key: str
    body: Body


class Gateway:
    """The stand-in answers each judgement with the same verdict, once its gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked = 0
        self.gate.set()

    def completion(self) -> Body:
        """The next chat completion; waits for the gate."""
        self.asked += 1
        self.gate.wait(HELD_S)
        message = {"role": "assistant", "content": VERDICT}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}


class ModelServer(NamedTuple):
    """Where it listens, and all that it was sent."""

    address: str
    exchanges: list[Exchange]


@contextmanager
def serving(player: Player, dialect: Dialect, gateway: Gateway) -> Iterator[ModelServer]:
    """Serve on a free port of 127.0.0.1 until the block ends."""
    exchanges: list[Exchange] = []
    lock = threading.Lock()

    def answer(path: str, key: str, body: Body) -> Body | list[Body] | None:
        if path.endswith("/chat/completions"):
            return gateway.completion()
        with lock:
            exchanges.append(Exchange(path, key, body))
            if path.endswith("/count_tokens"):
                return {"input_tokens": len(json.dumps(body)) // 4}
            return list(player.reply_to(body)) if path.endswith(dialect.path) else None

    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(answer))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield ModelServer(f"http://127.0.0.1:{server.server_address[1]}", exchanges)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(answer: Callable[[str, str, Body], Body | list[Body] | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._send(404, "application/json", json.dumps({"error": {"message": "not found"}}))

        do_HEAD = do_GET

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            reply = answer(self.path.partition("?")[0], _key_of(self.headers), body)
            if reply is None:
                self.do_GET()
            elif isinstance(reply, Mapping):
                self._send(200, "application/json", json.dumps(reply))
            else:
                text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in reply)
                self._send(200, "text/event-stream", text)

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode() if self.command != "HEAD" else b""
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _key_of(headers: Message) -> str:
    return headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")
