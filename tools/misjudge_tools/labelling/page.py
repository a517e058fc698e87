"""The label page: a server on loopback that shows a person one blind pair after another and stores what they say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from aiohttp import web

from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput, MisjudgeError, NotFound
from misjudge_tools.deps import Deps
from misjudge_tools.exporting.keys import Hide, key_hider
from misjudge_tools.labelling.giving import NO_PAIRS, Session, session, standing_of, why_nothing
from misjudge_tools.labelling.page_guard import Handler, guard, headers
from misjudge_tools.labelling.page_requests import LabelPageRequest, LabelPageResult
from misjudge_tools.labelling.page_state import last_token, next_token, pair_page
from misjudge_tools.labelling.page_view import done_html, pair_html, policy, problem_html
from misjudge_tools.labelling.page_words import CHOOSE, CHOOSE_DONE, CORRECTED, NOT_OURS, NOT_READ, SAVED, STOOD
from misjudge_tools.labelling.question import is_preference, read_form
from misjudge_tools.labelling.recording import record_answers
from misjudge_tools.labelling.values import Became, ReviewStanding
from misjudge_tools.summary.deciding.phrases import Language

LINGER_S: Final = 60.0
"""Seconds for which the page can still be used when nothing is left."""
_MOST_BYTES: Final = 10_000
_MOST_FIELDS: Final = 10
_NOTES: Final[Mapping[str, str]] = {"new": SAVED, "correction": CORRECTED, "same": STOOD}


class Opened(NamedTuple):
    """A label page. `result` says where it can be opened; `over` is set when nothing is left to label."""

    of: Session
    result: LabelPageResult
    over: asyncio.Event


@dataclass
class _Site:
    """What the pages are made from. `ending` is the wait for the end, where nothing is left."""

    store: Store
    of: Session
    language: Language
    linger_s: float
    hide: Hide
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ending: asyncio.TimerHandle | None = None


_SITE: Final = web.AppKey("site", _Site)


@asynccontextmanager
async def label_page(request: LabelPageRequest, deps: Deps, *, linger_s: float = LINGER_S) -> AsyncIterator[Opened]:
    """Serve the page on 127.0.0.1 while the context is open; nothing is served where nothing is left to label.

    Raises InvalidInput for a reviewer who is no person, a port that cannot be had, and an audit without transcripts;
    NotFound for the audit.
    """
    store = deps.store
    of = await asyncio.to_thread(session, store, request.audit, request.reviewer)
    standing = await asyncio.to_thread(standing_of, store, of)  # a pair is given to whoever opens the page, not before
    site = _Site(store, of, request.language, linger_s, key_hider(deps.models))
    if not standing.open + standing.left:
        yield Opened(of, await asyncio.to_thread(_result, site, standing, None), site.over)
        return
    token = token_urlsafe(32)
    runner = web.AppRunner(_app(site, token), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await _listen(runner, request.port)
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/{token}/"
        yield Opened(of, await asyncio.to_thread(_result, site, standing, address), site.over)
    finally:
        _stay(site)
        await runner.cleanup()


def _result(site: _Site, standing: ReviewStanding, address: str | None) -> LabelPageResult:
    note = None if address else why_nothing(site.store, site.of)
    if note == NO_PAIRS:
        raise InvalidInput(NO_PAIRS)
    return LabelPageResult(
        audit=site.of.audit.name, reviewer=site.of.reviewer, address=address, standing=standing, note=note
    )


def _app(site: _Site, token: str) -> web.Application:
    app = web.Application(middlewares=[guard(token), _explained], client_max_size=_MOST_BYTES)
    app[_SITE] = site
    app.on_response_prepare.append(headers(policy()))
    app.router.add_get("/{door}/", _open)
    app.router.add_get("/{door}/pair/", _done)
    app.router.add_get("/{door}/pair/{review}", _show)
    app.router.add_post("/{door}/pair/{review}", _take)
    return app


async def _listen(runner: web.AppRunner, port: int) -> None:
    """On loopback alone. Raises InvalidInput."""
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError:
        raise InvalidInput(f"Port {port} cannot be had. Name another one, or none to take a free one.") from None


@web.middleware
async def _explained(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tells the person what went wrong, on a page that leads on."""
    site = request.app[_SITE]
    try:
        return await handler(request)
    except InvalidInput as error:
        problem, status = str(error), 404 if isinstance(error, NotFound) else 400
    except MisjudgeError:
        problem, status = NOT_READ, 503
    return _html(problem_html(problem, site.of.reviewer, site.language), status)


async def _open(request: web.Request) -> web.StreamResponse:
    site = request.app[_SITE]
    return _to(request, await asyncio.to_thread(next_token, site.store, site.of))


async def _show(request: web.Request) -> web.StreamResponse:
    return await _pair(request, 200, _NOTES.get(request.query.get("saved", "")))


async def _take(request: web.Request) -> web.StreamResponse:
    """Store the answer and go on to the next pair."""
    site = request.app[_SITE]
    _stay(site)
    try:
        fields = _fields(await request.text())
    except ValueError:
        return await _pair(request, 400, NOT_OURS)
    try:
        answer = read_form(request.match_info["review"], fields)
    except InvalidInput:
        return await _pair(request, 400, CHOOSE_DONE if is_preference(fields.get("pref")) else CHOOSE)
    (recorded,) = await asyncio.to_thread(record_answers, site.store, site.of, [answer], "page")
    return _to(request, await asyncio.to_thread(next_token, site.store, site.of), recorded.became)


async def _pair(request: web.Request, status: int, note: str | None) -> web.Response:
    site = request.app[_SITE]
    _stay(site)
    page = await asyncio.to_thread(pair_page, site.store, site.of, request.match_info["review"], site.hide)
    return _html(await asyncio.to_thread(pair_html, page, site.of.reviewer, site.language, note), status)


async def _done(request: web.Request) -> web.StreamResponse:
    """Nothing is left; unless there is something again, since it was given back by others."""
    site = request.app[_SITE]
    following = await asyncio.to_thread(next_token, site.store, site.of)
    if following is not None:
        return _to(request, following)
    _stay(site)
    page = await asyncio.to_thread(_nothing_left, site)
    site.ending = asyncio.get_running_loop().call_later(site.linger_s, site.over.set)
    return _html(page)


def _nothing_left(site: _Site) -> str:
    store, of = site.store, site.of
    why, before = why_nothing(store, of), last_token(store, of)
    return done_html(standing_of(store, of), why, before, of.reviewer, site.language)


def _stay(site: _Site) -> None:
    """Somebody is at work, so it is not over."""
    if site.ending is not None:
        site.ending.cancel()


def _fields(body: str) -> dict[str, str]:
    """What a form says. Raises ValueError where it is none of ours: ours say nothing twice."""
    said = parse_qsl(body, max_num_fields=_MOST_FIELDS)
    fields = dict(said)
    if len(fields) < len(said):
        raise ValueError
    return fields


def _to(request: web.Request, token: str | None, became: Became | None = None) -> web.Response:
    """Go on to the page of this pair, or to the last one."""
    saved = f"?saved={became}" if became and token else ""
    return web.Response(status=303, headers={"Location": f"/{request.match_info['door']}/pair/{token or ''}{saved}"})


def _html(page: str, status: int = 200) -> web.Response:
    return web.Response(text=page, status=status, content_type="text/html")
