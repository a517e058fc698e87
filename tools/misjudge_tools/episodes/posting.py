"""Posts JSON to an address that the user's configuration allows. Nothing of the environment goes along."""

from __future__ import annotations

import json
from collections.abc import Sequence

import aiohttp
from yarl import URL

MOST_BYTES = 1_000_000
"""Longest answer that is read."""


class PostFailed(Exception):
    """No usable answer; the message is one sentence without its text and without the address.

    `away`: nobody answered, or a server that says that it cannot; so it says nothing of what was to answer.
    """

    def __init__(self, said: str, *, away: bool = False) -> None:
        super().__init__(said)
        self.away = away


def host_allowed(url: str, hosts: Sequence[str]) -> bool:
    """Whether `url` is http(s) and of one of `hosts` (`name`, or `name:port` for that port alone)."""
    try:
        # The parser of the client that sends: a second one might see another host in the same text.
        parsed = URL(url)
        if parsed.scheme not in {"http", "https"} or parsed.user is not None or parsed.password is not None:
            return False
        host, port = (parsed.host or "").lower(), parsed.port
    except ValueError:
        return False
    allowed = {entry.strip().lower() for entry in hosts}
    return host != "" and not allowed.isdisjoint({host, f"[{host}]", f"{host}:{port}", f"[{host}]:{port}"})


async def post_json(url: str, body: bytes, *, hosts: Sequence[str], timeout_s: float) -> object:
    """Posts JSON; what a 2xx answer within `timeout_s` seconds holds. Redirects are not followed. Raises PostFailed."""
    if not host_allowed(url, hosts):
        raise PostFailed("Its host is not among the allowed hosts of the configuration.", away=True)
    try:
        status, answer = await _post(url, body, timeout_s)
    except TimeoutError:
        raise PostFailed(f"It did not answer within {timeout_s:g} s.") from None
    except (aiohttp.ClientError, OSError, ValueError):
        raise PostFailed("It could not be reached, or the connection broke.", away=True) from None
    if not 200 <= status < 300:
        raise PostFailed(f"It answered with HTTP status {status}.", away=True)
    if len(answer) > MOST_BYTES:
        raise PostFailed(f"Its answer is longer than {MOST_BYTES // 1_000_000} MB.")
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        raise PostFailed("Its answer is not JSON.") from None


async def _post(url: str, body: bytes, timeout_s: float) -> tuple[int, bytes]:
    """Status and body, the latter cut one byte after the longest that is allowed."""
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "misjudge"}
    async with (
        # Uncompressed only, so that a small answer cannot become a large one.
        aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(total=timeout_s)) as session,
        session.post(url, data=body, headers=headers, allow_redirects=False) as response,
    ):
        parts = bytearray()
        async for chunk in response.content.iter_any():
            parts += chunk
            if len(parts) > MOST_BYTES:
                break
        return response.status, bytes(parts[: MOST_BYTES + 1])
