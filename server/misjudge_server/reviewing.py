"""The tool `review`: a client that can ask its person does so; another one gets the pair to show."""

from __future__ import annotations

from typing import Final

from misjudge_tools.deps import Deps
from misjudge_tools.labelling.question import question, read_form
from misjudge_tools.labelling.review_requests import ReviewRequest
from misjudge_tools.results import ReviewResult
from misjudge_tools.review import review

MOST_BYTES: Final = 6_000
"""Of both responses in one result, whose limit is 9 kB."""
MOST_ASKED: Final = 20_000
"""Characters of a question: a longer one is no longer read in a form."""


async def review_call(request: ReviewRequest, deps: Deps) -> ReviewResult:
    """As `review`. Where the client has a form for its person, the answer comes from there and goes by no model."""
    if request.pref is None and deps.ask_person is not None:
        asked = await _asked(request, deps)
        if asked is not None:
            return asked
    return await review(request, deps, came_by="mcp", most_bytes=MOST_BYTES)


async def _asked(request: ReviewRequest, deps: Deps) -> ReviewResult | None:
    """The answer that the person gave to the form; None where none was shown, or it was left alone."""
    shown = await review(request, deps, came_by="mcp")
    if shown.pair is None or deps.ask_person is None:
        return None
    asked = question(shown.pair, shown.marked)
    if len(asked.message) > MOST_ASKED:
        return None
    filled_in = await deps.ask_person(asked.message, asked.schema)
    if filled_in is None:
        return None
    answer = read_form(shown.pair.pair, filled_in)._asdict()
    return await review(request.model_copy(update=answer), deps, came_by="form")
