"""Plays a scripted model in a session: each request of the client is answered by its next step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from clients.dialects import Body, Dialect, Offer, Use
from clients.steps import Call, Mismatch, Own, Play, Say, Search, Step, Told


class Row(NamedTuple):
    """One case as it came out. `received`: bytes that the model was told; `seconds` from its call to its answer."""

    case: str
    client: str
    passed: bool
    received: int
    seconds: float
    why: str = ""


class Player:
    """The state of one session. Not for more than one thread at a time."""

    def __init__(self, play: Play, dialect: Dialect, client: str) -> None:
        self.rows: list[Row] = []
        self._play, self._dialect, self._client = play, dialect, client
        self._step: Step | None = None
        self._serial = 0
        self._searched = False
        self._last: Use | str = ""
        self._since = 0.0

    @property
    def ended(self) -> bool:
        """Whether the script was played to its end."""
        return isinstance(self._step, Say)

    def reply_to(self, body: Body) -> Iterator[Body]:
        """The events that answer a request."""
        if self._dialect.is_turn(body):
            self._last = self._next(body)
            reply = self._last
        else:
            reply = "ok"
        yield from self._dialect.events(reply, f"use_{self._serial:04d}", str(body.get("model", "")))

    def _next(self, body: Body) -> Use | str:
        if self._step is None:
            self._step = next(self._play)
        elif isinstance(self._step, Say):
            return self._step.text
        elif (told := self._dialect.told(body, f"use_{self._serial:04d}")) is None and not self._searched:
            return self._last  # the client asks the same again
        elif not self._searched and told is not None:
            self._note(self._step, told)
            self._step = self._advance(told)
        self._serial += 1
        return self._use(self._step, body)

    def _advance(self, told: Told) -> Step:
        try:
            return self._play.send(told)
        except StopIteration:
            return Say("The script is at its end.")
        except Mismatch as failed:
            self._row("the script goes on", False, 0, str(failed))
            return Say("The script cannot go on.")

    def _use(self, step: Step, body: Body) -> Use | str:
        if isinstance(step, Say):
            return step.text
        self._since = self._since if self._searched else time.monotonic()
        if isinstance(step, Search):
            return self._dialect.search(body, step.query) or self._not_offered(step, "a search of tools")
        if offer := _offered(step, self._dialect.offers(body)):
            self._searched = False
            return Use("call", offer, step.arguments, step.words)
        wanted = _name(step)
        if isinstance(step, Call) and (code := self._dialect.code(body, wanted, step.arguments)):
            return code._replace(words=step.words)
        if not self._searched and (search := self._dialect.search(body, wanted)):
            self._searched = True
            return search
        return self._not_offered(step, wanted)

    def _not_offered(self, step: Call | Own | Search, wanted: str) -> str:
        self._searched = False
        self._row(step.case or wanted, False, 0, f"{wanted} was not offered to the model")
        self._step = Say("The tool was not offered.")
        with suppress(StopIteration):
            self._play.close()
        return "The tool was not offered."

    def _note(self, step: Call | Own | Search, told: Told) -> None:
        failed = ""
        try:
            step.check(told)
        except Mismatch as mismatch:
            failed = str(mismatch)
        if step.case is not None or failed:
            self._row(step.case or _name(step), not failed, told.size, failed)

    def _row(self, case: str, passed: bool, received: int, why: str) -> None:
        self.rows.append(Row(case, self._client, passed, received, time.monotonic() - self._since, why))


def _name(step: Call | Own | Search) -> str:
    if isinstance(step, Search):
        return step.query
    return step.tool if isinstance(step, Call) else step.names[0]


def _offered(step: Call | Own, offers: list[Offer]) -> Offer | None:
    names = (step.tool,) if isinstance(step, Call) else step.names
    for offer in offers:
        plain = offer.name.rsplit("__", 1)[-1] if isinstance(step, Call) else offer.name
        if plain in names and (isinstance(step, Own) or "misjudge" in f"{offer.namespace}{offer.name}"):
            return offer
    return None
