"""`ping`: the smallest request to the model of each role, to see that it answers, what it takes and what it costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import get_args

from misjudge_storage.errors import CallTimeout, InvalidInput, MisjudgeError
from misjudge_storage.types import Value
from misjudge_tools.gateway.calls import Call, ChatTurn, Exchange, Gateway
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.settings import Endpoint, Price, RoleName
from misjudge_tools.profiles import ModelSettings, Profile

ROLES: tuple[RoleName, ...] = get_args(RoleName)
MARK_REPLIES = "SIMULATED: a simulated gateway made up its replies, no real model was asked there"
FREE = Price(input=0, output=0, source="simulated")
EMPTY = "EmptyReply"
"""The kind of error of a reply without text, which no exception stands for."""
TOKENS = 256
"""Enough for a model that thinks before it says OK."""
_NO_TEXT = "The gateway answered, but the model wrote no text. Try again, or name a model for chat completions."
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
)


class RolePing(Value):
    """How the model of some roles answered. Latency in milliseconds, of the plain request; tokens and USD of both.

    `reply_format` is the form of JSON that it takes (json_schema, json_object, none), `obeyed` whether its reply fits
    the schema; of a simulated gateway, which writes judgements and nothing else, they are `simulated` and None.
    `left_out` are parameters that it refuses. `problem` says why there is no answer, `error` which kind of error it is,
    `EmptyReply` without a text.
    """

    roles: tuple[RoleName, ...]
    model: str | None
    base_url: str
    simulated: bool = False
    ok: bool
    problem: str | None = None
    error: str | None = None
    latency_ms: float | None = None
    attempts: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    price_source: str | None = None
    reply_format: str | None = None
    obeyed: bool | None = None
    left_out: tuple[str, ...] = ()


class PingReport(Value):
    """One entry for each model that a role uses. `marked` where a simulated gateway answers for any."""

    marked: str | None = None
    models: tuple[RolePing, ...]


def chosen_roles(names: Sequence[str] | None) -> tuple[RoleName, ...]:
    """The roles of these names, all without any. Raises InvalidInput."""
    unknown = sorted(set(names or ()) - set(ROLES))
    if unknown:
        raise InvalidInput(f"There is no role {unknown[0][:80]!r}. Roles are: {', '.join(ROLES)}.")
    return tuple(role for role in ROLES if not names or role in names)


async def ping(
    models: ModelSettings, gateways: Gateways, roles: Sequence[RoleName], *, margin_s: float | None = None
) -> PingReport:
    """Ask the model of each role once plainly and once for JSON; roles of one model share its two requests.

    With `margin_s`, all that is asked of one model ends that long after the time limit of a call.

    Raises InvalidInput where none of the roles has a model.
    """
    groups: dict[tuple[str, Endpoint], list[RoleName]] = {}
    for role in roles:
        profile = models.role(role)
        if profile.model is not None:
            groups.setdefault((profile.model, profile.endpoint), []).append(role)
    if not groups:
        raise InvalidInput(
            f"No model is configured for {' and '.join(roles)}. Set TAOTOKEN_MODEL, or see `misjudge config`."
        )
    pinged = tuple([await _ping(tuple(group), models, gateways, margin_s) for group in groups.values()])
    return PingReport(marked=MARK_REPLIES if any(one.simulated for one in pinged) else None, models=pinged)


async def _ping(
    roles: tuple[RoleName, ...], models: ModelSettings, gateways: Gateways, margin_s: float | None
) -> RolePing:
    profile = models.role(roles[0])
    endpoint = profile.endpoint
    silent = RolePing(
        roles=roles, model=profile.model, base_url=endpoint.base_url, simulated=endpoint.simulated, ok=False
    )
    try:
        gateway = gateways.at(endpoint)
    except MisjudgeError as error:
        return silent.model_copy(update={"problem": str(error), "error": type(error).__name__})
    exchanges: list[Exchange] = []
    within_s = None if margin_s is None else endpoint.deadline_s + margin_s
    try:
        async with asyncio.timeout(within_s):
            found = await _asked(profile, roles[0], gateway, exchanges)
    except TimeoutError:
        said = f"The gateway did not answer whole within {within_s:g} s. Try again later, or allow more time."
        # One was under way, too.
        attempts = 1 + sum(len(exchange.attempts) for exchange in exchanges)
        found = {"problem": said, "error": CallTimeout.__name__, "attempts": attempts}
    return silent.model_copy(update=found)


async def _asked(profile: Profile, role: RoleName, gateway: Gateway, done: list[Exchange]) -> dict[str, object]:
    """What the model answers; each exchange is added to `done` when it ends."""
    plain = await gateway.ask(_call(profile, role, "Reply with the word OK.", None))
    done.append(plain)
    if plain.error is not None:
        return {"problem": str(plain.error), "error": type(plain.error).__name__, "attempts": len(plain.attempts)}
    if _says_nothing(plain):
        return {"problem": _NO_TEXT, "error": EMPTY, "attempts": len(plain.attempts)}
    asked = await gateway.ask(_call(profile, role, 'Reply with the JSON object {"ok": true}.', SCHEMA))
    findings = await asyncio.to_thread(_findings, profile, plain, asked)
    return {"ok": True, "latency_ms": plain.attempts[-1].latency_ms, **findings}


def _says_nothing(plain: Exchange) -> bool:
    """Whether it ended of itself without a word; a reply that is cut off may have been thought."""
    return not (plain.refused or plain.truncated or (plain.text or "").strip())


def _call(profile: Profile, role: RoleName, text: str, schema: str | None) -> Call:
    return Call(
        model=profile.model or "",
        role=role,
        messages=(ChatTurn(role="user", content=text),),
        temperature=profile.temperature or 0.0,
        max_tokens=TOKENS,
        json_schema=schema,
    )


def _findings(profile: Profile, plain: Exchange, asked: Exchange) -> dict[str, object]:
    """What the two exchanges say of the model."""
    simulated = profile.endpoint.simulated
    attempts = (*plain.attempts, *asked.attempts)
    replies = [attempt for attempt in attempts if attempt.error is None]
    spoken = [(reply.input_tokens, reply.output_tokens) for reply in replies]
    stated = not any(None in counts for counts in spoken)
    pricing = Pricing(profile.model or "", FREE if simulated else profile.price)
    costs = [pricing.of(*counts) for counts in spoken]
    effective = json.loads(asked.attempts[-1].params)
    taken = "simulated" if simulated else effective.get("response_format", "none")
    return {
        "attempts": len(attempts),
        "input_tokens": sum(given or 0 for given, _ in spoken) if stated else None,
        "output_tokens": sum(made or 0 for _, made in spoken) if stated else None,
        "cost": sum(cost.usd or 0.0 for cost in costs) if all(cost.usd is not None for cost in costs) else None,
        "price_source": costs[0].source if costs else None,
        "reply_format": "none" if asked.error else taken,
        "obeyed": None if simulated else _obeys(asked.text),
        "left_out": tuple(name for name in ("temperature", "max_tokens") if name not in effective),
    }


def _obeys(text: str | None) -> bool:
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.keys() == {"ok"} and isinstance(value["ok"], bool)
