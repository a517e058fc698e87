"""What `misjudge config` shows: the models in force, where each value comes from, and what looks wrong.

A key is shown as the name of its variable, and whether that is set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from misjudge_server.settings import Settings
from misjudge_storage.types import AskedForm, Value
from misjudge_tools.episodes.settings import (
    AgentSettings,
    Allowed,
    ChatAgent,
    CommandAgent,
    HttpAgent,
    RecordedAgent,
)
from misjudge_tools.gateway.families import family_of
from misjudge_tools.gateway.pricing import Listed, Pricing, listed_context
from misjudge_tools.gateway.settings import Price, RoleName
from misjudge_tools.judging.prompt_warnings import profile_warnings
from misjudge_tools.profiles import ModelSettings, Profile

TEMPERATURES: Final[Mapping[RoleName, float]] = {"judge": 0.0, "user_sim": 0.7}
"""Where a profile states none; an agent's is left to its model."""
TOKENS: Final = 1000
"""Small enough for the first step of a price in steps."""


class ModelReport(Value):
    """A role or profile. `price` in USD per million tokens; `origins` by field, for what is not the default."""

    profile: str | None
    model: str | None
    base_url: str
    key_variable: str
    key_is_set: bool
    temperature: float | None
    max_tokens: int | None
    context_tokens: int | None
    price: Price | None
    family: str | None
    prompt: str | None
    prompts: Mapping[AskedForm, str] = {}
    reply_form: str
    limits: Mapping[str, int | float | bool | None]
    origins: Mapping[str, str]


class AgentReport(Value):
    """A configured agent. `asks` is the profile, address, program or file behind it, without what may be secret."""

    kind: str
    asks: str


class PermissionReport(Value):
    """What episodes may touch: hosts, Python modules of tools, and the programs of commands by name."""

    hosts: tuple[str, ...]
    python: tuple[str, ...]
    commands: Mapping[str, str]


class ConfigReport(Value):
    """All of it. `config_file` None: there is none. `leftovers` are set variables that have no say."""

    config_file: str | None
    roles: Mapping[RoleName, ModelReport]
    profiles: Mapping[str, ModelReport]
    prices: Mapping[str, Price]
    agents: Mapping[str, AgentReport]
    allowed: PermissionReport
    leftovers: tuple[str, ...]
    warnings: tuple[str, ...]


def config_report(settings: Settings) -> ConfigReport:
    """What is in force."""
    models = settings.models
    return ConfigReport(
        config_file=settings.config,
        roles={role: _report(profile, TEMPERATURES.get(role)) for role, profile in models.roles.items()},
        profiles={name: _report(profile, None) for name, profile in models.profiles.items()},
        prices=models.prices,
        agents={name: _agent(agent) for name, agent in settings.episodes.agents.items()},
        allowed=_allowed(settings.episodes.allowed),
        leftovers=models.leftovers,
        warnings=(*shared_models(models), *_prompt_warnings(models)),
    )


def _report(profile: Profile, temperature: float | None) -> ModelReport:
    endpoint = profile.endpoint
    context = _context(profile)
    hidden = {"base_url", "key", "key_variable"}
    return ModelReport(
        profile=profile.name,
        model=profile.model,
        base_url=endpoint.base_url,
        key_variable=endpoint.key_variable,
        key_is_set=endpoint.key is not None,
        temperature=temperature if profile.temperature is None else profile.temperature,
        max_tokens=profile.max_tokens,
        context_tokens=context.tokens if context else None,
        price=_price(profile),
        family=profile.family,
        prompt=profile.prompt.name if profile.prompt else None,
        prompts={form: prompt.name for form, prompt in profile.prompts.items()},
        reply_form=profile.reply_form.kind,
        limits=endpoint.model_dump(exclude=hidden),
        origins={**profile.origins, **({"context_tokens": context.source} if context else {})},
    )


def _agent(agent: AgentSettings) -> AgentReport:
    match agent:
        case ChatAgent(profile=None):
            asks = "the model of the role agent"
        case ChatAgent():
            asks = agent.profile or ""
        case HttpAgent():
            asks = urlsplit(agent.url)._replace(query="", fragment="").geturl()
        case CommandAgent():
            asks = _program(agent.argv)
        case RecordedAgent():
            asks = str(agent.file)
    return AgentReport(kind=agent.kind, asks=asks)


def _allowed(allowed: Allowed) -> PermissionReport:
    commands = {name: _program(argv) for name, argv in allowed.commands.items()}
    return PermissionReport(hosts=allowed.hosts, python=allowed.python, commands=commands)


def _program(argv: Sequence[str]) -> str:
    """Arguments may hold a key, so they are only counted."""
    return argv[0] if len(argv) == 1 else f"{argv[0]} (and {len(argv) - 1} more)"


def _context(profile: Profile) -> Listed | None:
    """The configured context, else the one that is listed of the model, else None."""
    if profile.context_tokens is not None:
        return Listed(profile.context_tokens, profile.origins.get("context_tokens", "misjudge.toml"))
    return None if profile.model is None else listed_context(profile.model)


def _price(profile: Profile) -> Price | None:
    """The configured price, else a list price of the model, else None."""
    if profile.price is not None or profile.model is None:
        return profile.price
    pricing = Pricing(profile.model)
    rate_in, rate_out = pricing.of(TOKENS, 0), pricing.of(0, TOKENS)
    if rate_in.usd is None or rate_out.usd is None or rate_in.source is None:
        return None
    scale = 1_000_000 / TOKENS
    return Price(input=rate_in.usd * scale, output=rate_out.usd * scale, source=rate_in.source)


def _prompt_warnings(models: ModelSettings) -> Iterator[str]:
    for name, profile in models.profiles.items():
        for warning in profile_warnings(profile):
            yield f"profile {name}: {warning}"


def shared_models(models: ModelSettings) -> Iterator[str]:
    """What is wrong where judge and simulated user are one model, or of one family."""
    judge, user = models.role("judge"), models.role("user_sim")
    if judge.model is None or user.model is None or judge.endpoint.simulated or user.endpoint.simulated:
        return
    if judge.model.casefold() == user.model.casefold():
        yield "judge and user_sim are the same model, which may favour its own words. Give them different models."
    elif _family(judge) and _family(judge) == _family(user):
        yield (
            "judge and user_sim look like one family of models, which may favour its own words. Give them models of "
            "different families, or state `family` in their profiles."
        )


def _family(profile: Profile) -> str:
    """The family that is stated, else the one that the model's name says, else the first word of that name."""
    if profile.family is not None:
        return profile.family.casefold()
    model = profile.model or ""
    first = re.match(r"[^\W\d_]+", model.rpartition("/")[2])
    return family_of(model) or (first[0].casefold() if first else "")
