"""Sends one request through openai's client on aiohttp. Imported by the first call: openai is slow to import."""

from __future__ import annotations

import logging

import aiohttp
import httpx2
import openai

from misjudge_storage.errors import Unreachable
from misjudge_tools.gateway.replies import PROXY_FAILED, Answer

_TELLTALE = "httpx2"
"""The logger that repeats the address, a value of the environment."""
_NO_CONNECTION = "No connection to the gateway. Check the network and its address, which `misjudge config` shows."
_NOT_SECURE = (
    "No secure connection to the gateway: its certificate is not trusted, or it does not speak https. "
    "Check its address, which `misjudge config` shows, or name your company's certificates in SSL_CERT_FILE."
)
_BROKEN = "The connection to the gateway broke before its answer was whole. Try again later."


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
                "Accept-Encoding": "gzip, deflate",
                "Authorization": f"Bearer {key}",
                "Content-Type": "application/json",
                "User-Agent": "misjudge",
            }
        )
        self._urls: dict[str, httpx2.URL] = {}

    async def send(self, url: str, body: bytes) -> Answer | Unreachable:
        """POSTs JSON. The answer of any status, or why there is none; time limits are the caller's."""
        try:
            response = await self._http.send(self._request(url, body))
        except (aiohttp.ClientError, httpx2.HTTPError) as error:
            return _unreachable(error)
        except (httpx2.InvalidURL, UnicodeError):
            # A host name that no resolver takes, such as one with an empty or overlong part.
            return Unreachable(_NO_CONNECTION)
        except ValueError:
            # The login of the proxy holds a colon, which none can.
            return Unreachable(PROXY_FAILED)
        return Answer(response.status_code, response.headers, response.content)

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
