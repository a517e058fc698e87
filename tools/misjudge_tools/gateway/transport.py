"""Sends one request through openai's client on aiohttp. Imported by the first call: openai is slow to import."""

from __future__ import annotations

import logging
import zlib
from contextlib import aclosing

import aiohttp
import httpx2
import openai

from misjudge_storage.errors import GatewayError, ProviderFailed, Unreachable
from misjudge_tools.gateway.replies import PROXY_FAILED, Answer

MOST_BYTES = 4_000_000
"""Longest body of an answer that is read, and longest that it may be when inflated."""

_TELLTALE = "httpx2"
"""The logger that repeats the address, a value of the environment."""
_NO_CONNECTION = "No connection to the gateway. Check the network and its address, which `misjudge config` shows."
_NOT_SECURE = (
    "No secure connection to the gateway: its certificate is not trusted, or it does not speak https. "
    "Check its address, which `misjudge config` shows, or name your company's certificates in SSL_CERT_FILE."
)
_BROKEN = "The connection to the gateway broke before its answer was whole. Try again later."
_TOO_LONG = (
    f"The gateway answered with more than {MOST_BYTES // 1_000_000} MB, which no verdict needs. "
    "Try again later, or another model."
)
_NOT_ENCODED = {"", "identity"}
_ENCODINGS = {"gzip", "x-gzip", "deflate"}
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_BARE_DEFLATE = -zlib.MAX_WBITS


class Transport:
    """One pool of connections. Belongs to the event loop of its first request."""

    def __init__(self, key: str, *, trust_env: bool, connections: int) -> None:
        self._http = openai.DefaultAioHttpClient(
            follow_redirects=False,
            trust_env=trust_env,
            timeout=None,
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        )
        # AsyncOpenAI above it would add headers from OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS,
        # which may hold other keys, and take as much CPU again as the request.
        self._headers = httpx2.Headers(
            {
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "Authorization": f"Bearer {key}",
                "Content-Type": "application/json",
                "User-Agent": "misjudge",
            }
        )
        self._urls: dict[str, httpx2.URL] = {}

    async def send(self, url: str, body: bytes) -> Answer | GatewayError:
        """POSTs JSON. The answer of any status, or why there is none; time limits are the caller's."""
        try:
            response = await self._http.send(self._request(url, body), stream=True)
            said = await _body(response)
        except (aiohttp.ClientError, httpx2.HTTPError) as error:
            return _unreachable(error)
        except (httpx2.InvalidURL, UnicodeError):
            # A host name that no resolver takes, such as one with an empty or overlong part.
            return Unreachable(_NO_CONNECTION)
        except ValueError:
            # The login of the proxy holds a colon, which none can.
            return Unreachable(PROXY_FAILED)
        return said if isinstance(said, GatewayError) else Answer(response.status_code, response.headers, said)

    async def aclose(self) -> None:
        await self._http.aclose()

    def _request(self, url: str, body: bytes) -> httpx2.Request:
        if url not in self._urls:
            self._urls[url] = httpx2.URL(url)
        request = httpx2.Request("POST", self._urls[url], headers=self._headers, content=body)
        request.headers.encoding = "ascii"  # else found out for each request anew, by decoding every header
        return request


def open_transport(key: str, *, trust_env: bool, connections: int) -> Transport | Unreachable:
    """A transport, or the reason why the proxy settings of the environment cannot be used."""
    logging.getLogger(_TELLTALE).addFilter(_no_record)
    try:
        return Transport(key, trust_env=trust_env, connections=connections)
    except (ValueError, httpx2.InvalidURL):
        return Unreachable(PROXY_FAILED)


async def _body(response: httpx2.Response) -> bytes | GatewayError:
    """The body as it was before any compression; the rest of one that is too long is never read."""
    parts: list[bytes] = []
    left = MOST_BYTES
    async with aclosing(response.aiter_raw()) as chunks:
        async for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                return ProviderFailed(_TOO_LONG)
            parts.append(chunk)
    body = b"".join(parts)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if not body or encoding in _NOT_ENCODED:
        return body
    return _inflated(body) if encoding in _ENCODINGS else Unreachable(_BROKEN)


def _inflated(body: bytes) -> bytes | GatewayError:
    # Some servers send deflate without the frame of zlib that the standard asks for.
    for window in (_GZIP_OR_ZLIB, _BARE_DEFLATE):
        inflater = zlib.decompressobj(window)
        try:
            text = inflater.decompress(body, MOST_BYTES + 1)
        except zlib.error:
            continue
        if len(text) > MOST_BYTES:
            return ProviderFailed(_TOO_LONG)
        return text if inflater.eof else Unreachable(_BROKEN)
    return Unreachable(_BROKEN)


def _no_record(_: logging.LogRecord) -> bool:
    return False


def _unreachable(error: BaseException) -> Unreachable:
    """openai reports every broken connection as a time-out; the cause below tells them apart."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, aiohttp.ClientError):
        cause = cause.__cause__
    match cause:
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return Unreachable(PROXY_FAILED)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return Unreachable(_NOT_SECURE)
        case aiohttp.ClientConnectorError():
            return Unreachable(_NO_CONNECTION)
        case _:
            return Unreachable(_BROKEN)
