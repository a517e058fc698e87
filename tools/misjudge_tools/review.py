"""`review`: the next blind pair for a person, and what the person said of one; in sheets, many at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from misjudge_storage import queries, review_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.label_records import CameBy
from misjudge_storage.review_records import Review
from misjudge_tools.deps import Deps
from misjudge_tools.exporting.keys import key_hider
from misjudge_tools.exporting.writing import new_file, target
from misjudge_tools.interchange.confinement import refuse_outside
from misjudge_tools.labelling.giving import (
    Session,
    blind_pairs,
    give_pairs,
    pairs_to_show,
    session,
    standing_of,
    why_nothing,
)
from misjudge_tools.labelling.question import QUOTE, quoted
from misjudge_tools.labelling.recording import UNKNOWN, given_to, record_answers
from misjudge_tools.labelling.review_requests import ReviewRequest, SheetInRequest, SheetOutRequest
from misjudge_tools.labelling.sheets import SUFFIXES, read_sheet, write_sheet
from misjudge_tools.labelling.strange_pairs import refuse_strange
from misjudge_tools.labelling.values import Became, GivenAnswer, ReviewPair
from misjudge_tools.read_record import page
from misjudge_tools.results import MARK_EPISODES, ReviewResult, SheetResult

_NOTES: Final[Mapping[Became, str | None]] = {
    "new": None,
    "correction": "This reviewer had labelled the pair before. Both labels stay stored, and this one counts.",
    "same": "This label stood there already, so nothing was added.",
}
_SHOW: Final = (
    "Show the person task and both responses word for word, as quoted, then call review with the same audit and "
    "reviewer, this pair, and the pref that the person said (A, B or tie). Never answer for them."
)
_CUT: Final = (
    "Some pairs were too long for the cells of a spreadsheet, and the middle of a response is left out: a .jsonl sheet "
    "or review shows them whole."
)
_MARKED: Final = "First show the mark. "
_GOES_ON: Final = "The responses go on: call review with the same audit and reviewer, this pair, and cursor"
_ALL: Final = 1 << 40
_AT_A_TIME: Final = 20
GOES_ON: Final = f"{QUOTE}… "
"""Before a text that goes on."""


async def review(
    request: ReviewRequest, deps: Deps, *, came_by: CameBy = "mcp", most_bytes: int | None = None
) -> ReviewResult:
    """The next pair for the reviewer, the same until it is answered; with `pref`, the answer is stored instead.

    Its texts are quoted. `most_bytes`: about how much of both responses is shown at once, from the request's cursor on;
    None is all.
    Raises InvalidInput for a reviewer who is no person, a token that was not given to them, and an answer that is not
    whole; NotFound for the audit.
    """
    if request.pref is None and (request.success_a or request.success_b):
        raise InvalidInput("An answer needs pref: which response the person found better, A, B or tie.")
    if request.pref is not None and request.pair is None:
        raise InvalidInput("An answer needs pair: the token of the pair that the person was shown.")
    return await asyncio.to_thread(_reviewed, request, deps, came_by, most_bytes)


def _reviewed(request: ReviewRequest, deps: Deps, came_by: CameBy, most_bytes: int | None) -> ReviewResult:
    store = deps.store
    of = session(store, request.audit, request.reviewer)
    if request.pref is None:
        return _shown(request, deps, of, most_bytes)
    given = GivenAnswer(request.pair or "", request.pref, request.success_a, request.success_b)
    (recorded,) = record_answers(store, of, [given], came_by)
    standing = standing_of(store, of)
    goes_on = standing.open or standing.left
    return ReviewResult(
        audit=of.audit.name,
        reviewer=of.reviewer,
        recorded=recorded,
        standing=standing,
        note=_NOTES[recorded.became],
        next="review with the same audit and reviewer gives the next pair." if goes_on else None,
    )


def _shown(request: ReviewRequest, deps: Deps, of: Session, most_bytes: int | None) -> ReviewResult:
    store = deps.store
    given = give_pairs(store, of, 1) if request.pair is None else [_given(store, of, request.pair)]
    pairs = blind_pairs(store, of, given, key_hider(deps.models))
    shown = part_of(quoted(pairs[0]), request.cursor, most_bytes) if pairs else None
    marked = _mark(store, of, given[0]) if given else None
    return ReviewResult(
        audit=of.audit.name,
        reviewer=of.reviewer,
        marked=marked,
        pair=shown,
        standing=standing_of(store, of),
        note=None if shown else why_nothing(store, of),
        next=None if shown is None else _what_next(shown, first=marked is not None and request.cursor == 0),
    )


def _what_next(shown: ReviewPair, *, first: bool) -> str:
    """`first`: a mark is to be shown before the pair."""
    then = _SHOW if shown.next_cursor is None else f"{_GOES_ON} {shown.next_cursor}."
    return f"{_MARKED}{then}" if first else then


def _given(store: Store, of: Session, token: str) -> Review:
    """The pair that the reviewer knows by this token. Raises InvalidInput."""
    with store.read() as connection:
        found = given_to(review_records.read_reviews(connection, of.audit.audit_id, [token]), of)
    if token not in found:
        raise InvalidInput(UNKNOWN)
    return found[token]


def _mark(store: Store, of: Session, given: Review) -> str | None:
    with store.read() as connection:
        made_up = queries.has_simulated_sides(connection, of.audit.audit_id, given.pair_id)
    return MARK_EPISODES if made_up else None


def part_of(pair: ReviewPair, cursor: int, most_bytes: int | None) -> ReviewPair:
    """The quoted pair with as much of its texts, from character `cursor` on, as `most_bytes` of JSON hold; None holds
    all. A text that goes on is quoted from its start, too.
    """
    whole = pair.model_dump(exclude={"next_cursor"})
    found = page("", whole, cursor, most_bytes or _ALL)
    goes_on = {
        name: f"{GOES_ON}{text}" for name, text in found.record.items() if cursor and text not in {"", whole[name]}
    }
    return ReviewPair(**{**found.record, **goes_on}, next_cursor=found.next_cursor)


async def sheet_out(request: SheetOutRequest, deps: Deps) -> SheetResult:
    """Write a sheet of pairs for the reviewer: those that they were given and did not label, then new ones.

    Raises InvalidInput for a reviewer who is no person, a file that cannot be written, and where nothing is left;
    NotFound for the audit.
    """
    return await asyncio.to_thread(_sheet_written, request, deps)


def _sheet_written(request: SheetOutRequest, deps: Deps) -> SheetResult:
    of = session(deps.store, request.audit, request.reviewer)
    path = target(request.path, SUFFIXES, deps.roots)
    with pairs_to_show(deps.store, of, request.pairs, request.only) as given:
        if not given:
            raise InvalidInput(why_nothing(deps.store, of, request.only))
        # Within, so that a disk that was full has room again when the pairs are taken back.
        with new_file(path, force=request.force, roots=deps.roots) as beside:
            written = write_sheet(beside, _blind_in_turn(deps, of, given), path.suffix.lower())
    return SheetResult(
        audit=of.audit.name,
        reviewer=of.reviewer,
        path=str(path),
        pairs=len(given),
        standing=standing_of(deps.store, of),
        note=_CUT if written.cut else None,
        next="Fill in pref (A, B or tie) and, where known, success_a and success_b (yes, no, unsure); then read it in.",
        **written._asdict(),
    )


def _blind_in_turn(deps: Deps, of: Session, given: Sequence[Review]) -> Iterator[ReviewPair]:
    """`blind_pairs`, few in memory at a time: a sheet may hold thousands."""
    hide = key_hider(deps.models)
    for start in range(0, len(given), _AT_A_TIME):
        yield from blind_pairs(deps.store, of, given[start : start + _AT_A_TIME], hide)


async def sheet_in(request: SheetInRequest, deps: Deps) -> SheetResult:
    """Store the answers of a sheet that was given to the reviewer: all, or none where anything is wrong with it.

    Raises InvalidInput with the lines that are; NotFound for the audit.
    """
    return await asyncio.to_thread(_sheet_read, request, deps)


def _sheet_read(request: SheetInRequest, deps: Deps) -> SheetResult:
    of = session(deps.store, request.audit, request.reviewer)
    path = Path(request.path)
    if deps.roots is not None:
        refuse_outside(path, deps.roots)
    filled = read_sheet(path)
    refuse_strange(deps.store, of, path, filled)
    answers = [row.answer for row in filled.rows]
    became = Counter(one.became for one in record_answers(deps.store, of, answers, "sheet"))
    return SheetResult(
        audit=of.audit.name,
        reviewer=of.reviewer,
        path=str(path),
        pairs=len(answers) + filled.empty,
        new=became["new"],
        corrections=became["correction"],
        same=became["same"],
        empty=filled.empty,
        standing=standing_of(deps.store, of),
        note=_NOTES["correction"] if became["correction"] else None,
    )
