"""Bodies of answers: how much of one is read, how much is inflated, and which encodings are understood."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from loopback import LoopbackServer, VirtualClock, completion
from misjudge_storage import errors
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.replies import Answer
from misjudge_tools.gateway.transport import MOST_BYTES, Transport, open_transport

KEY = "sk-canary-key-0123456789"
CALL = Call(model="judge-1", messages=(ChatTurn(role="user", content="Which?"),))
TOO_LONG = "The gateway answered with more than 4 MB, which no verdict needs. Try again later, or another model."
BROKE = "The connection to the gateway broke before its answer was whole. Try again later."
PIECE = b" " * 2**16
SOCKETS = 16_000_000
"""Bytes that the buffers of two sockets may hold beyond what was read; more than any system gives them."""


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with LoopbackServer() as running:
        yield running


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    opened = open_transport(KEY, trust_env=False, connections=1)
    assert isinstance(opened, Transport)
    yield opened
    await opened.aclose()


def bare(data: bytes) -> bytes:
    """Deflate without a frame."""
    deflating = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return deflating.compress(data) + deflating.flush()


def said(length: int) -> bytes:
    """A chat completion of exactly this length."""
    body = json.dumps(completion()).encode()
    return body + b" " * (length - len(body))


async def ask(base_url: str, max_attempts: int = 1) -> Exchange:
    gateway = HttpGateway(base_url, KEY, max_attempts=max_attempts, clock=VirtualClock())
    exchange = await gateway.ask(CALL)
    await gateway.aclose()
    return exchange


async def test_an_uncompressed_answer_is_asked_for(server: LoopbackServer) -> None:
    server.enqueue()
    await ask(server.base_url)
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("identity", said(100_000)),
        ("gzip", gzip.compress(said(100_000))),
        ("X-GZIP", gzip.compress(said(100_000))),
        ("deflate", zlib.compress(said(100_000))),
        ("deflate", bare(said(100_000))),
    ],
    ids=["identity", "gzip", "x-gzip", "deflate", "bare deflate"],
)
async def test_an_answer_is_read_as_it_was_before_compression(
    server: LoopbackServer, encoding: str, body: bytes
) -> None:
    server.enqueue(body, headers={"Content-Encoding": encoding})
    exchange = await ask(server.base_url)
    assert (exchange.text, exchange.error) == ("OK", None)


async def test_an_empty_body_is_empty_whatever_its_encoding(server: LoopbackServer, transport: Transport) -> None:
    server.enqueue(b"", status=500, headers={"Content-Encoding": "gzip"})
    answer = await transport.send(f"{server.base_url}/chat/completions", b"{}")
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body) == (500, b"")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", said(500)),
        ("zstd", said(500)),
        ("gzip, gzip", gzip.compress(gzip.compress(said(500)))),
        ("gzip", said(500)),
        ("gzip", gzip.compress(said(500))[:-9]),
        ("deflate", bare(said(500))[:-1]),
    ],
    ids=["br", "zstd", "gzip twice", "no gzip", "cut gzip", "cut deflate"],
)
async def test_an_encoding_that_cannot_be_read_is_a_broken_answer(
    server: LoopbackServer, encoding: str, body: bytes
) -> None:
    server.enqueue(body, headers={"Content-Encoding": encoding})
    exchange = await ask(server.base_url)
    assert isinstance(exchange.error, errors.Unreachable)
    assert str(exchange.error) == BROKE


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [("identity", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress)],
    ids=["identity", "gzip", "deflate"],
)
async def test_an_answer_of_the_most_bytes_is_read_and_one_byte_more_is_not(
    server: LoopbackServer, encoding: str, compress: Callable[[bytes], bytes]
) -> None:
    for length in (MOST_BYTES, MOST_BYTES + 1):
        server.enqueue(compress(said(length)), headers={"Content-Encoding": encoding})
    most, more = await ask(server.base_url), await ask(server.base_url)
    assert (most.text, most.error) == ("OK", None)
    assert isinstance(more.error, errors.ProviderFailed)
    assert str(more.error) == TOO_LONG
    assert more.text is None


async def test_a_gzip_bomb_is_never_inflated_and_leaves_no_reply(server: LoopbackServer) -> None:
    bomb = gzip.compress(said(60_000_000))
    server.enqueue(bomb, headers={"Content-Encoding": "gzip"}, times=3)
    await ask(server.base_url)  # what is imported once is not measured
    tracemalloc.start()
    exchange = await ask(server.base_url, max_attempts=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(attempt.error, attempt.raw_output) for attempt in exchange.attempts] == [("ProviderFailed", None)] * 2
    assert str(exchange.error) == TOO_LONG
    assert peak < 3 * MOST_BYTES


@pytest.mark.parametrize("status", [200, 500])
async def test_a_body_without_an_end_is_read_no_further_than_the_limit(status: int) -> None:
    written = 0
    ended = asyncio.Event()

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %d Said\r\nTransfer-Encoding: chunked\r\n\r\n" % status)
        with suppress(ConnectionError):
            while True:
                writer.write(b"%x\r\n%b\r\n" % (len(PIECE), PIECE))
                await writer.drain()
                written += len(PIECE)
        writer.close()
        ended.set()

    async with await asyncio.start_server(pour, "127.0.0.1", 0) as pouring:
        exchange = await ask(f"http://127.0.0.1:{pouring.sockets[0].getsockname()[1]}")
        async with asyncio.timeout(30):
            await ended.wait()
    assert isinstance(exchange.error, errors.ProviderFailed)
    assert str(exchange.error) == TOO_LONG
    assert MOST_BYTES - len(PIECE) < written < MOST_BYTES + SOCKETS


async def test_after_an_answer_that_was_too_long_the_next_is_read(server: LoopbackServer, transport: Transport) -> None:
    server.enqueue(said(3 * MOST_BYTES))
    server.enqueue()
    url = f"{server.base_url}/chat/completions"
    first, second = await transport.send(url, b"{}"), await transport.send(url, b"{}")
    assert isinstance(first, errors.ProviderFailed)
    assert isinstance(second, Answer)
    assert json.loads(second.body) == completion()
