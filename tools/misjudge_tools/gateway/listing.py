"""GET /models of a gateway: which models it offers, and what its clock says. Costs nothing; no completion is asked."""

from __future__ import annotations

import asyncio
import json
import time
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from misjudge_tools.gateway.addresses import is_loopback, normalise_base_url
from misjudge_tools.gateway.settings import Endpoint

TIMEOUT_S: Final = 20.0
MOST_BYTES: Final = 4_000_000
_LONGEST_NAME: Final = 200


class Listing(NamedTuple):
    """`models` are the ids that are offered, None where the gateway lists none. `skew_s`: seconds that its clock is
    ahead of ours, to about a second; None where it did not say.
    """

    models: frozenset[str] | None = None
    skew_s: float | None = None


async def list_models(endpoint: Endpoint) -> Listing:
    """What the gateway lists; nothing where it does not answer, which a ping tells better.

    Raises InvalidInput for an address that cannot be used.
    """
    import httpx2

    base = normalise_base_url(endpoint.base_url)
    key = endpoint.key.get_secret_value().strip() if endpoint.key else ""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "misjudge"}
    try:
        # The client's own limit is for each read, and so without end for a gateway that answers byte by byte.
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx2.AsyncClient(
                trust_env=endpoint.trust_env and not is_loopback(base), timeout=TIMEOUT_S, follow_redirects=False
            ) as client,
        ):
            asked = time.time()
            async with client.stream("GET", f"{base}/models", headers=headers | _bearer(key)) as response:
                skew = _skew(response.headers.get("date", ""), (asked + time.time()) / 2)
                body = await _body(response)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, UnicodeError, ValueError):
        return Listing()
    return Listing(_models(body) if response.status_code == 200 else None, skew)


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


async def _body(response: Any) -> bytes:
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > MOST_BYTES:
            return b""
    return bytes(body)


def _models(body: bytes) -> frozenset[str] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    listed = found.get("data") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        return None
    ids = (one.get("id") for one in listed if isinstance(one, dict))
    return frozenset(name[:_LONGEST_NAME] for name in ids if isinstance(name, str)) or None


def _skew(date: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - now
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
