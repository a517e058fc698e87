"""Who may ask the label page for anything: a browser of this machine that was given its address, no other page in it.

- Other users and programs of the machine: every address holds a random token, compared in constant time.
- A page of somebody else that has this machine's name turned to it (DNS rebinding): the Host header must be loopback.
- A page of somebody else that sends a form here: an answer must come from the page itself, by the Origin header.
- Hostile text in a transcript: a policy under which nothing runs or loads but the page's own script and style.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
NO_SUCH_PAGE: Final = "There is no page here. Open the address that `misjudge label` printed; each start has a new one."
_NOT_HERE: Final = "This page answers only under the address that `misjudge label` printed."
_NOT_FROM_HERE: Final = "An answer is only taken from the label page itself. Open it and answer there."
_FAILED: Final = "Internal error. What was saved stays; the terminal says where it happened. Please report it."
_LEFT: Final = "The request was not whole."
_log = logging.getLogger(__name__)

_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    # Not `no-referrer`: under that, browsers send forms with the origin `null`. Nobody else is ever asked for anything.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "misjudge",
}


def guard(token: str) -> Middleware:
    """Refuses what must not come in, before any of it is looked at."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _is_loopback(request):
            raise web.HTTPForbidden(text=_NOT_HERE)
        if not compare_digest(_first_part(request.path), token.encode()):
            raise web.HTTPNotFound(text=NO_SUCH_PAGE)
        if request.method not in {"GET", "HEAD"} and not _is_own(request):
            raise web.HTTPForbidden(text=_NOT_FROM_HERE)
        try:
            return await handler(request)
        except web.HTTPNotFound:
            raise web.HTTPNotFound(text=NO_SUCH_PAGE) from None
        except web.HTTPException:
            raise
        except ConnectionError:  # whoever asked has left, so nobody reads this
            raise web.HTTPBadRequest(text=_LEFT) from None
        except Exception as error:
            # Without the error's own text, which may quote a transcript.
            place = "".join(traceback.format_tb(error.__traceback__))
            _log.error("a request of the label page failed: %s\n%s", type(error).__name__, place)
            raise web.HTTPInternalServerError(text=_FAILED) from None

    return guarded


def headers(policy: str) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Puts the headers on every answer, refusals too."""

    async def put(_: web.Request, response: web.StreamResponse) -> None:
        response.headers.update({**_HEADERS, "Content-Security-Policy": policy})

    return put


def _is_loopback(request: web.Request) -> bool:
    name, _, port = (request.headers.get("Host") or "").partition(":")
    at = request.get_extra_info("sockname")
    return name in {"127.0.0.1", "localhost"} and port == str(at[1] if at else None)


def _is_own(request: web.Request) -> bool:
    came_from = request.headers.get("Sec-Fetch-Site", "same-origin")
    return came_from == "same-origin" and request.headers.get("Origin") == f"http://{request.headers['Host']}"


def _first_part(path: str) -> bytes:
    return path.removeprefix("/").partition("/")[0].encode("utf-8", "replace")
