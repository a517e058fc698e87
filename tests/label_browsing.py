"""A person at the label page: reads it, and sends its form, as a browser without script does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any, NamedTuple

from aiohttp import ClientSession

from label_parts import answered
from misjudge_tools.deps import Deps
from misjudge_tools.labelling.page import Opened, label_page
from misjudge_tools.labelling.page_requests import LabelPageRequest
from misjudge_tools.labelling.values import GivenAnswer, ReviewPair

_NO_END = {"meta", "link", "input", "wbr"}


class Element(NamedTuple):
    """An element of a page, and what it stands in, the innermost last."""

    name: str
    facts: dict[str, str | None]
    inside: tuple[str, ...]


class Page(HTMLParser):
    """What stands on a page. `seen` is its text by the elements that it stands in, each with its id or class."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.seen: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, "an element of the page is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        named = facts.get("aria-labelledby") or facts.get("id") or facts.get("class")
        if tag not in _NO_END:
            self._open.append(f"{tag} {named}" if named else tag)
        self.elements.append(Element(tag, facts, tuple(self._open)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().partition(" ")[0] == tag

    def handle_data(self, data: str) -> None:
        self.seen.append((tuple(self._open), data))

    def text(self, part: str) -> str:
        """The words in the elements of this name."""
        return "".join(text for inside, text in self.seen if part in inside).strip()

    def texts(self, part: str) -> str:
        """As `text`, of records only."""
        return "".join(text for inside, text in self.seen if part in inside and "div text" in inside)

    @property
    def pair(self) -> ReviewPair:
        """What is shown, as far as a person answers by it."""
        (form,) = [one for one in self.elements if one.facts.get("method") == "post"]
        a, b = self.texts("section response-a"), self.texts("section response-b")
        task = self.texts("section task")
        return ReviewPair(
            pair=form.facts["action"] or "", task=task, criteria="", constraints="", response_a=a, response_b=b
        )

    @property
    def filled_in(self) -> dict[str, str | None]:
        """What is chosen in the form."""
        return {
            one.facts["name"] or "": one.facts["value"]
            for one in self.elements
            if "checked" in one.facts and "name" in one.facts
        }

    @property
    def before(self) -> str | None:
        """Where the way back leads."""
        return next((one.facts["href"] for one in self.elements if one.facts.get("id") == "back"), None)


class Got(NamedTuple):
    """An answer of the server, at the address that it led to."""

    status: int
    text: str
    address: str
    headers: dict[str, str]

    @property
    def page(self) -> Page:
        return Page(self.text)


class Person:
    """A person with a browser."""

    def __init__(self, opened: Opened, session: ClientSession) -> None:
        assert opened.result.address is not None
        self.opened = opened
        self.address = opened.result.address
        self.origin = self.address.rpartition("/")[0].rpartition("/")[0]
        self._session = session

    async def get(self, path: str = "") -> Got:
        """A page below the address."""
        return await self.ask("GET", self.address + path)

    async def say(self, answer: GivenAnswer | dict[str, Any]) -> Got:
        """Send the form of a pair; what it leads to."""
        given = answer if isinstance(answer, dict) else answer._asdict()
        form = {name: value for name, value in given.items() if value is not None and name != "pair"}
        return await self.ask("POST", f"{self.address}pair/{given['pair']}", {"Origin": self.origin}, form)

    async def ask(
        self, method: str, address: str, headers: dict[str, str] | None = None, form: dict[str, Any] | str | None = None
    ) -> Got:
        """Any request."""
        async with self._session.request(method, address, headers=headers, data=form) as answer:
            told = {name.lower(): value for name, value in answer.headers.items()}
            return Got(answer.status, await answer.text(), str(answer.url), told)

    async def label(self, number: int = 1) -> Got:
        """Label so many pairs, one after another; where that leads."""
        at = await self.get()
        for _ in range(number):
            at = await self.say(answered(at.page.pair))
        return at


@asynccontextmanager
async def at_the_page(
    deps: Deps, reviewer: str = "ann", *, linger_s: float = 60, **values: Any
) -> AsyncIterator[Person]:
    """The page of a reviewer, open in a browser."""
    request = LabelPageRequest(audit="a", reviewer=reviewer, **values)
    async with label_page(request, deps, linger_s=linger_s) as opened, ClientSession() as session:
        yield Person(opened, session)
