"""People's labels. They are only ever added: who says something else of a pair later has a second row, which counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from sqlalchemy import Connection, select

from misjudge_storage import rows, tables
from misjudge_storage.columns import utc_now
from misjudge_storage.ingest import insert_new
from misjudge_storage.review_records import Review, some_of
from misjudge_storage.rows import Row
from misjudge_storage.types import Check, Done, GoldLabel, Preference

TRAJECTORIES = tables.table(tables.Trajectory)
PAIRS = tables.table(tables.Pair)
CHECKS = tables.table(tables.Check)
LABELS = tables.table(tables.GoldLabel)

CameBy = Literal["page", "sheet", "form", "mcp"]
"""How a label came: `form` is what a person filled in at an MCP client, `mcp` what an agent says that they said."""
Outcome = Literal["new", "correction", "same"]
"""What became of an answer: the reviewer's first label of the pair, another one, or the one that counts already."""
_PASSED: Final[Mapping[Done, bool | None]] = {"yes": True, "no": False, "unsure": None}
_DONE: Final[Mapping[bool | None, Done]] = {passed: done for done, passed in _PASSED.items()}
_TICK: Final = timedelta(microseconds=1)


class Answer(NamedTuple):
    """What a reviewer says of a pair, in terms of its sides; of success None where that was not said.

    `unsure` takes back a yes or no that the reviewer said before.
    """

    review: Review
    pref: Preference
    success_a: Done | None = None
    success_b: Done | None = None


class _Episodes(NamedTuple):
    """The two episodes of a pair."""

    a: str
    b: str


class _Said(NamedTuple):
    """What a reviewer said of a pair: `times` in reviews; the last of it, that too where it was imported, and when."""

    times: int = 0
    pref: Preference | None = None
    reviewed: bool = False
    at: datetime | None = None


def add_answers(
    connection: Connection, audit_id: str, reviewer: str, answers: Sequence[Answer], came_by: CameBy
) -> list[Outcome]:
    """Store what a reviewer says of these pairs, that were given to them; what became of it, in the same order.

    An answer that says what counts already adds nothing. Episodes are in the random stream by the first of their pairs
    alone (by id): drawn by any of them, those in many pairs would be drawn more often.
    """
    pair_ids = [answer.review.pair_id for answer in answers]
    labels, checks = _labels_so_far(connection, audit_id, reviewer, pair_ids), _Checks(connection, audit_id, answers)
    outcomes, new = list[Outcome](), list[Row]()
    for answer in answers:
        pair_id = answer.review.pair_id
        said = labels.get(pair_id, _Said())
        stands = said.reviewed and said.pref == answer.pref
        if not stands:
            row = _label_row(audit_id, answer, came_by, said)
            labels[pair_id] = _Said(said.times + 1, answer.pref, True, row["created_at"])
            new.append(row)
        checked = checks.add(answer)
        outcomes.append("same" if stands and not checked else "correction" if said.pref else "new")
    insert_new(connection, tables.GoldLabel, new)
    insert_new(connection, tables.Check, checks.new)
    return outcomes


def answer_to(connection: Connection, audit_id: str, review: Review) -> Answer | None:
    """What counts of what the reviewer said of this pair; None where they did not label it."""
    pair_id = review.pair_id
    said = _labels_so_far(connection, audit_id, review.reviewer, [pair_id]).get(pair_id, _Said())
    if said.pref is None or not said.reviewed:
        return None
    episodes = _episodes_of(connection, audit_id, [pair_id])[pair_id]
    checks = _checks_so_far(connection, review.reviewer, episodes)
    done: list[Done | None] = [checks.get(episode, _Checked()).by_review.get(review.token) for episode in episodes]
    return Answer(review, said.pref, *done)


def _label_row(audit_id: str, answer: Answer, came_by: CameBy, said: _Said) -> Row:
    review = answer.review
    label = GoldLabel(labeller=review.reviewer, pref=answer.pref, source="human")
    return {
        **rows.gold_row(audit_id, review.pair_id, label, said.times + 1),
        "stream": review.stream,
        "weight": review.weight,
        "order_shown": review.order_shown,
        "came_by": came_by,
        "created_at": _after(said.at),
    }


def _after(earlier: datetime | None) -> datetime:
    """Now, and later than what is corrected, whatever the clock says."""
    now = utc_now()
    return now if earlier is None or earlier < now else earlier + _TICK


class _Checks:
    """The checks that answers of one reviewer add, each of an episode that may be in several pairs."""

    def __init__(self, connection: Connection, audit_id: str, answers: Sequence[Answer]) -> None:
        self.new: list[Row] = []
        self._audit_id = audit_id
        self._episodes = _episodes_of(connection, audit_id, [answer.review.pair_id for answer in answers])
        ids = sorted({one for two in self._episodes.values() for one in two})
        self._first = _first_pairs(connection, audit_id, ids)
        self._said = _checks_so_far(connection, answers[0].review.reviewer if answers else "", ids)
        self._last_word = {
            episode: answer.review.token for answer in answers for episode, done in self._of(answer) if done
        }

    def add(self, answer: Answer) -> bool:
        """Whether the answer adds any."""
        before = len(self.new)
        for episode, done in self._of(answer):
            if done is not None and not self._stands(answer.review, episode, done):
                self._add(answer.review, episode, done)
        return len(self.new) > before

    def _of(self, answer: Answer) -> Iterator[tuple[str, Done | None]]:
        return zip(self._episodes[answer.review.pair_id], (answer.success_a, answer.success_b), strict=True)

    def _stands(self, review: Review, episode: str, done: Done) -> bool:
        """Whether that was said in this review, and counts: where pairs share an episode, what was said last counts, so
        that a sheet which is read again adds nothing, though it says one thing here and another one there.
        """
        said = self._said.get(episode, _Checked())
        if done == "unsure" and said.last in {None, "unsure"}:
            return True
        return said.by_review.get(review.token) == done and (
            said.last == done or self._last_word[episode] != review.token
        )

    def _add(self, review: Review, episode: str, done: Done) -> None:
        said = self._said.setdefault(episode, _Checked())
        drawn = review.stream == "random" and self._first[episode] == review.pair_id
        check = Check(verifier=review.reviewer, source="human", passed=_PASSED[done])
        said.times, said.at, said.last = said.times + 1, _after(said.at), done
        said.by_review[review.token] = done
        row = {
            **rows.check_row(self._audit_id, episode, check, said.times),
            "stream": "random" if drawn else "chosen",
            "weight": review.weight if drawn else None,
            "review": review.token,
            "created_at": said.at,
        }
        self.new.append(row)


@dataclass
class _Checked:
    """What was said of an episode: `times` by the reviewer in reviews, the last of it `by_review`, the `last` by the
    reviewer, that too where it was imported, and when anybody said anything.
    """

    times: int = 0
    by_review: dict[str, Done] = field(default_factory=dict)
    last: Done | None = None
    at: datetime | None = None


def _episodes_of(connection: Connection, audit_id: str, pair_ids: Sequence[str]) -> dict[str, _Episodes]:
    query = select(PAIRS.c.pair_id, PAIRS.c.trajectory_a, PAIRS.c.trajectory_b).where(PAIRS.c.audit_id == audit_id)
    return {
        pair_id: _Episodes(a, b)
        for some in some_of(pair_ids)
        for pair_id, a, b in connection.execute(query.where(PAIRS.c.pair_id.in_(some)))
    }


def _first_pairs(connection: Connection, audit_id: str, episodes: Sequence[str]) -> dict[str, str]:
    """Episode → the first pair by id that it is in and that can be reviewed."""
    a, b = TRAJECTORIES.alias("a"), TRAJECTORIES.alias("b")
    found: dict[str, str] = {}
    for side in (PAIRS.c.trajectory_a, PAIRS.c.trajectory_b):
        query = (
            select(side, PAIRS.c.pair_id)
            .join(a, a.c.trajectory_id == PAIRS.c.trajectory_a)
            .join(b, b.c.trajectory_id == PAIRS.c.trajectory_b)
            .where(a.c.audit_id == audit_id, a.c.messages_json.is_not(None), b.c.messages_json.is_not(None))
        )
        for some in some_of(episodes):
            for episode, pair_id in connection.execute(query.where(side.in_(some))):
                found[episode] = min(pair_id, found.get(episode, pair_id))
    return found


def _labels_so_far(connection: Connection, audit_id: str, reviewer: str, pair_ids: Sequence[str]) -> dict[str, _Said]:
    """Pair → what the reviewer said of it, imported labels among it."""
    query = (
        select(LABELS.c.pair_id, LABELS.c.pref, LABELS.c.came_by, LABELS.c.created_at)
        .where(LABELS.c.audit_id == audit_id, LABELS.c.source == "human", LABELS.c.labeller == reviewer)
        .order_by(LABELS.c.created_at, LABELS.c.label_id.desc())
    )
    found: dict[str, _Said] = {}
    for some in some_of(pair_ids):
        for pair_id, pref, came_by, at in connection.execute(query.where(LABELS.c.pair_id.in_(some))):
            reviewed = came_by is not None
            found[pair_id] = _Said(found.get(pair_id, _Said()).times + reviewed, pref, reviewed, at)
    return found


def _checks_so_far(connection: Connection, reviewer: str, episodes: Sequence[str]) -> dict[str, _Checked]:
    query = (
        select(CHECKS.c.trajectory_id, CHECKS.c.verifier, CHECKS.c.passed, CHECKS.c.review, CHECKS.c.created_at)
        .where(CHECKS.c.source == "human", CHECKS.c.scope == "outcome")
        .where(CHECKS.c.passed.is_not(None) | CHECKS.c.review.is_not(None))
        .order_by(CHECKS.c.created_at, CHECKS.c.check_id.desc())
    )
    found: dict[str, _Checked] = {}
    for some in some_of(episodes):
        for episode, verifier, passed, review, at in connection.execute(query.where(CHECKS.c.trajectory_id.in_(some))):
            said = found.setdefault(episode, _Checked())
            said.at = at
            if verifier != reviewer:
                continue
            said.last = _DONE[passed]
            if review is not None:
                said.times += 1
                said.by_review[review] = said.last
    return found
