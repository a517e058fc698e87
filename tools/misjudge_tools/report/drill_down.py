"""What is behind a conflict, cut to what a page holds: both sides, what was checked, what the judge replied. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from misjudge_storage.hashing import digest
from misjudge_storage.report_calls import Excerpt, RawCall, Replies, Reply
from misjudge_storage.report_rows import Check, ReportEpisode, ReportPair, TaskText
from misjudge_storage.types import Message
from misjudge_tools.report.plain_text import Cut, cut, visible

MOST_TURN: Final = 1_500
MOST_SIDE: Final = 6_000
MOST_TURNS: Final = 60
MOST_REASONS: Final = 1_200
MOST_RAW: Final = 1_500
MOST_TASK: Final = 1_500
MOST_EVIDENCE: Final = 600
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Turn(NamedTuple):
    """One message: who said it, what, and the names of the tools that it calls."""

    role: str
    said: Cut


class Proof(NamedTuple):
    """One check, its evidence cut."""

    check: Check
    evidence: Cut


class Side(NamedTuple):
    """One episode. `turns_left_out` of its messages are not shown; `turns` None: no transcript is stored."""

    letter: str
    agent: str
    trial: int | None
    success: bool | None
    proofs: tuple[Proof, ...]
    proofs_left_out: int
    turns: tuple[Turn, ...] | None
    turns_left_out: int


class Raw(NamedTuple):
    """What came back from one call, cut; `text` None where nothing did."""

    call: RawCall
    text: Cut | None


class Spoken(NamedTuple):
    """One reply of a judge, cut."""

    reply: Reply
    reasons: Cut
    raw: Raw | None


class Kind(NamedTuple):
    """What a judge did: `strict`, `unsupported`, `missed`, `satisfied_failed`."""

    judge: str
    kind: str


class Behind(NamedTuple):
    """What stands behind a conflict on a pair, or (`pair` None) on the one episode: its texts as they were read."""

    kinds: Sequence[Kind]
    task_id: str
    task: TaskText
    episodes: Sequence[ReportEpisode]
    replies: Replies
    others: Sequence[RawCall]
    pair: ReportPair | None = None


class Detail(NamedTuple):
    """A conflict with everything that a reader needs to decide who is right."""

    anchor: str
    kinds: tuple[Kind, ...]
    task_id: str
    pair: ReportPair | None
    prompt: Cut
    criteria: Cut
    constraints: Cut
    sides: tuple[Side, ...]
    replies: tuple[Spoken, ...]
    replies_left_out: int
    others: tuple[Raw, ...]

    @property
    def size(self) -> int:
        """About how many characters it takes on a page."""
        texts = [self.prompt, self.criteria, self.constraints]
        for side in self.sides:
            texts += [turn.said for turn in side.turns or ()]
            texts += [proof.evidence for proof in side.proofs]
        texts += [spoken.reasons for spoken in self.replies]
        raw = [*(spoken.raw for spoken in self.replies if spoken.raw is not None), *self.others]
        texts += [one.text for one in raw if one.text is not None]
        return sum(_width(visible(one.text)) for one in texts) + 140 * len(texts) + 1_500


def anchor(kind: str, identity: str) -> str:
    """The fragment of a thing on the page: its id where that is plain, else a digest of it."""
    plain = identity if _PLAIN.fullmatch(identity) else digest("id", identity).removeprefix("id_")
    return f"{kind}-{plain}"


def detail(behind: Behind) -> Detail:
    """A conflict as a page shows it. Nothing of it holds a text that is longer than what is shown."""
    pair, task, replies = behind.pair, behind.task, behind.replies
    named = anchor("session", behind.episodes[0].trajectory_id) if pair is None else anchor("pair", pair.pair_id)
    letters = ("",) if pair is None else ("A", "B")
    return Detail(
        anchor=named,
        kinds=tuple(behind.kinds),
        task_id=behind.task_id,
        pair=pair,
        prompt=_start(task.prompt, MOST_TASK),
        criteria=_start(task.success_criteria, MOST_TASK),
        constraints=_start(task.hard_constraints, MOST_TASK),
        sides=tuple(_side(letter, episode) for letter, episode in zip(letters, behind.episodes, strict=True)),
        replies=tuple(_spoken(reply) for reply in replies.rows),
        replies_left_out=replies.in_all - len(replies.rows),
        others=tuple(_raw(call) for call in behind.others),
    )


def _side(letter: str, episode: ReportEpisode) -> Side:
    proofs = tuple(Proof(check, _start(check.evidence, MOST_EVIDENCE)) for check in episode.checks)
    turns = None if episode.messages is None else tuple(_turns(episode.messages))
    shown = 0 if turns is None else len(turns)
    return Side(
        letter=letter,
        agent=episode.agent,
        trial=episode.trial,
        success=episode.success,
        proofs=proofs,
        proofs_left_out=episode.checks_in_all - len(proofs),
        turns=turns,
        turns_left_out=len(episode.messages or ()) - shown,
    )


def _turns(messages: Sequence[Message]) -> Iterator[Turn]:
    room = MOST_SIDE
    for message in messages[:MOST_TURNS]:
        if room <= 0:
            return
        said = cut(_said(message), min(MOST_TURN, room))
        room -= len(said.text)
        yield Turn(message.role, said)


def _said(message: Message) -> str:
    calls = [f"→ {call.name}({call.arguments})" for call in message.tool_calls]
    return "\n".join(part for part in (message.content, *calls) if part)


def _spoken(reply: Reply) -> Spoken:
    return Spoken(reply, _start(reply.reasons, MOST_REASONS), None if reply.call is None else _raw(reply.call))


def _raw(call: RawCall) -> Raw:
    return Raw(call, None if call.raw_output is None else _start(call.raw_output, MOST_RAW))


def _start(excerpt: Excerpt, most: int) -> Cut:
    shown = excerpt.text[:most]
    return Cut(shown, len(excerpt.text) - len(shown) + excerpt.unread)


def _width(text: str) -> int:
    """Bytes of a text on the page: signs that HTML escapes take five."""
    return len(text.encode("utf-8", "replace")) + 4 * sum(text.count(sign) for sign in "<>&\"'")
