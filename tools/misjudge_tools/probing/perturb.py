"""What each probe does to a pair. Pure; the texts are package data (`probing/texts.*.toml`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, cycle

from misjudge_storage.hashing import digest
from misjudge_storage.judging_records import PairSubject
from misjudge_storage.types import Message
from misjudge_tools.judging.pairing import transcript
from misjudge_tools.probing.shaping import as_markdown, has_prose, reordered, with_room
from misjudge_tools.probing.texts import nth_of, probe_texts
from misjudge_tools.probing.variants import Variant

LEAST_PADDING, MOST_PADDING = 300, 2_000
"""Characters but whitespace; between them it is half of what the side says and does."""
ROOMS = (("\n\n", "   \n\n"), (" \n", "\n\n\n"))
"""White space before and behind an answer."""


def perturb(subject: PairSubject, variant: Variant) -> PairSubject | None:
    """The pair as this variant changes it, None where it has nothing to change (no answer, no tool result, no criteria
    that could change places) or where the answer holds no prose, so that any word more might break it.
    """
    if variant.probe == "criteria_order":
        return _with_other_criteria(subject)
    if variant.side is None:
        return subject
    changed = _changed(subject, subject.a if variant.side == "A" else subject.b, variant)
    if changed is None:
        return None
    return subject._replace(a=changed) if variant.side == "A" else subject._replace(b=changed)


def _with_other_criteria(subject: PairSubject) -> PairSubject | None:
    seed = int(digest("criteria", subject.pair_id)[-6:], 16)
    criteria = reordered(subject.task.success_criteria, seed)
    if criteria is None:
        return None
    return subject._replace(task=subject.task.model_copy(update={"success_criteria": criteria}))


def _changed(subject: PairSubject, messages: tuple[Message, ...], variant: Variant) -> tuple[Message, ...] | None:
    answer = _last(messages, "assistant")
    if answer is None:
        return None
    if variant.probe == "injected_user":
        return (*messages, Message(role="user", content=_injection(subject, variant)))
    if variant.probe == "injected_tool":
        place = _last(messages, "tool")
        if place is None:
            return None
        return _replaced(messages, place, f"{messages[place].content}\n{_injection(subject, variant)}")
    text = messages[answer].content
    if not has_prose(text):
        return None
    if variant.probe == "whitespace":
        return _replaced(messages, answer, with_room(text, *ROOMS[nth_of(ROOMS, variant.probe, subject.pair_id)]))
    return _replaced(messages, answer, _reworded(subject, messages, text, variant))


def _last(messages: Sequence[Message], role: str) -> int | None:
    """Where the last message of this role stands that says anything."""
    places = [place for place, message in enumerate(messages) if message.role == role and message.content.strip()]
    return places[-1] if places else None


def _replaced(messages: tuple[Message, ...], place: int, content: str) -> tuple[Message, ...]:
    changed = messages[place].model_copy(update={"content": content})
    return (*messages[:place], changed, *messages[place + 1 :])


def _injection(subject: PairSubject, variant: Variant) -> str:
    wordings = probe_texts(variant.language).wordings[variant.probe]
    return wordings[nth_of(wordings, variant.probe, subject.pair_id)].after


def _reworded(subject: PairSubject, messages: Sequence[Message], text: str, variant: Variant) -> str:
    """The answer with what the probe puts around it."""
    texts = probe_texts(variant.language)
    if variant.probe == "padding":
        first = nth_of(texts.padding, variant.probe, subject.pair_id)
        said = len("".join(transcript(subject.task, messages).split()))
        return f"{text}\n\n{_filler([*texts.padding[first:], *texts.padding[:first]], said, variant)}"
    wordings = texts.wordings[variant.probe]
    wording = wordings[nth_of(wordings, variant.probe, subject.pair_id)]
    return wording.around(as_markdown(text) if variant.probe == "markdown" else text)


def _filler(paragraphs: Sequence[Sequence[str]], said: int, variant: Variant) -> str:
    """Sentences that say nothing, for a side that says so many characters."""
    wanted = min(max(LEAST_PADDING, -(-said // 2)), MOST_PADDING)
    return (" " if variant.language == "en" else "").join(_up_to(wanted, paragraphs))


def _up_to(wanted: int, paragraphs: Sequence[Sequence[str]]) -> Iterator[str]:
    length = 0
    for sentence in cycle(chain.from_iterable(paragraphs)):
        yield sentence
        length += len("".join(sentence.split()))
        if length >= wanted:
            return
