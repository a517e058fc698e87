"""What a gateway lists, and its clock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from email.utils import formatdate
from typing import Any

import pytest
from pydantic import SecretStr

from loopback import LoopbackServer
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway import listing
from misjudge_tools.gateway.listing import Listing, list_models
from misjudge_tools.gateway.settings import Endpoint

KEY = "sk-canary7Q2x9vT4m1Lw8Zr5"


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with LoopbackServer() as made:
        yield made


def there(server: LoopbackServer, **values: Any) -> Endpoint:
    return Endpoint(base_url=server.base_url, key=SecretStr(KEY), **values)


async def test_the_models_are_listed_and_asked_for_with_the_key(server: LoopbackServer) -> None:
    server.enqueue({"data": [{"id": "a"}, {"id": "b"}, {"id": 7}, "c"]})
    found = await list_models(there(server))
    assert found.models == frozenset({"a", "b"})
    assert found.skew_s is not None and abs(found.skew_s) < 60
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/models", f"Bearer {KEY}")


async def test_without_a_key_none_is_sent(server: LoopbackServer) -> None:
    server.enqueue({"data": []})
    assert (await list_models(Endpoint(base_url=server.base_url))).models is None
    assert "authorization" not in server.requests[0].headers


async def test_the_clock_of_the_gateway_is_told(server: LoopbackServer) -> None:
    server.enqueue({"data": []}, headers={"Date": formatdate(4_000_000_000, usegmt=True)})
    found = await list_models(there(server))
    assert found.skew_s is not None and found.skew_s > 10**8


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Nov 2026 99:99:99 GMT"])
async def test_a_date_that_is_none_is_not_known(server: LoopbackServer, date: str) -> None:
    server.enqueue({"data": []}, headers={"Date": date})
    assert (await list_models(there(server))).skew_s is None


@pytest.mark.parametrize("body", ["no json", "[" * 100_000, json.dumps(["x"]), json.dumps({"data": {"id": "a"}})])
async def test_an_answer_that_lists_nothing_is_no_list(server: LoopbackServer, body: str) -> None:
    server.enqueue(body)
    assert (await list_models(there(server))).models is None


async def test_another_status_is_no_list_and_a_redirect_is_not_followed(server: LoopbackServer) -> None:
    for status in (404, 401, 302):
        server.enqueue({"data": [{"id": "a"}]}, status=status, headers={"Location": f"{server.base_url}/elsewhere"})
        assert (await list_models(there(server))).models is None
    assert len(server.requests) == 3


async def test_a_list_without_end_is_left(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_BYTES", 1000)
    server.enqueue({"data": [{"id": "a" * 2000}]})
    assert (await list_models(there(server))).models is None


async def test_a_list_that_comes_byte_by_byte_for_ever_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    monkeypatch.setattr(listing, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(listing, "MOST_BYTES", 10**12)
    async with await asyncio.start_server(drip, "127.0.0.1") as dripping, asyncio.timeout(30):
        port = dripping.sockets[0].getsockname()[1]
        assert await list_models(Endpoint(base_url=f"http://127.0.0.1:{port}/v1")) == Listing()


async def test_a_broken_connection_and_an_address_of_no_host_list_nothing(server: LoopbackServer) -> None:
    server.enqueue({"data": []}, cut="reset")
    assert await list_models(there(server)) == Listing()
    assert await list_models(Endpoint(base_url="http://a..b/v1")) == Listing()
    with pytest.raises(InvalidInput, match="base URL"):
        await list_models(Endpoint(base_url="nowhere"))
