"""Questions about rules and what their replies state: the objects that can be read, or why nothing is.

As with verdicts nothing is guessed: the last object of a reply must be readable, and a broken one is mended only where
all that it says is written whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from misjudge_storage.types import Role, UnscoredReason
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange
from misjudge_tools.judging.choice import JudgingSpec, template_of
from misjudge_tools.judging.prompts import render
from misjudge_tools.judging.reply_text import Fields, claims_in, is_whole, repaired, without_reasoning

QUOTE: Final = "[\"'“”‘’＂]"
_FENCE: Final = "```"
_OF_FENCE: Final = re.compile(r"\A\w*\s*")


class Stated(NamedTuple):
    """The readable objects of a reply, in order; the last one binds. `repaired`: it was not written as asked."""

    objects: tuple[Fields, ...]
    repaired: bool


class _Text(NamedTuple):
    """A reply as it is read; `bare`: it was only the list that the deciding key should hold."""

    text: str
    bare: bool


Written = Callable[[str, Fields], bool]
"""Whether the text of a broken object says, whole, all that was found in it."""


def question(spec: JudgingSpec, role: Role, values: Mapping[str, str], schema: dict[str, Any], max_tokens: int) -> Call:
    """The call with the prompt of this writer or matcher."""
    prompt = render(template_of(spec), values)
    return Call(
        model=spec.model,
        role=role,
        messages=(ChatTurn(role="system", content=prompt.system), ChatTurn(role="user", content=prompt.user)),
        temperature=spec.temperature,
        max_tokens=max_tokens,
        # Not canonical: where a reply is held to the schema, its keys come in this order, and the reason first.
        json_schema=json.dumps(schema),
    )


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """JSON schema of an object with just these keys, in this order."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def stated(exchange: Exchange, keys: Sequence[str], written: Written) -> Stated | UnscoredReason:
    """What the reply states under `keys`, the deciding one last. Never raises.

    A bare JSON list stands for what the deciding key should hold. A truncated reply counts only if one object is all
    it says, and is never mended.
    """
    if exchange.error is not None:
        return exchange.error.unscored
    if exchange.refused:
        return "refused"
    reply = _as_read(exchange.text or "", keys)
    claims = claims_in(reply.text, keys)
    if not claims or (exchange.truncated and not is_whole(reply.text, claims[0])):
        return unscored(exchange, "parse_error")
    mended = claims[-1].fields is None and not exchange.truncated
    if mended:
        last = repaired(reply.text, claims[-1], keys[-1:])
        if last.fields is None or not written(reply.text[last.start : last.end], last.fields):
            return "parse_error"
        claims[-1] = last
    if claims[-1].fields is None:
        return "truncated"
    return Stated(tuple(claim.fields for claim in claims if claim.fields is not None), mended or reply.bare)


def unscored(exchange: Exchange, reason: UnscoredReason) -> UnscoredReason:
    """Why a reply that states no answer is unscored: if it was cut off, then for that."""
    return "truncated" if exchange.truncated else reason


def _as_read(reply: str, keys: Sequence[str]) -> _Text:
    """The reply, or where it states nothing and is a list, in a fence or not, an object with that list."""
    if claims_in(reply, keys):
        return _Text(reply, bare=False)
    body = without_reasoning(reply).strip()
    if not body.startswith("["):
        start, end = body.find(_FENCE), body.rfind(_FENCE)
        body = _OF_FENCE.sub("", body[start + len(_FENCE) : end]).strip() if start < end else ""
    if not (body.startswith("[") and body.endswith("]")):
        return _Text(reply, bare=False)
    wrapped = f'{{"{keys[-1]}": {body}}}'
    claims = claims_in(wrapped, keys)
    alone = len(claims) == 1 and is_whole(wrapped, claims[0]) and len(claims[0].fields or keys[-1:]) == 1
    return _Text(wrapped, bare=True) if alone else _Text(reply, bare=False)
