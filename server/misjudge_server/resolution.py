"""From the environment, `.env` and `misjudge.toml` to the models in force, each value with its origin. Pure.

For a role the most specific statement wins: its own variable, then `[roles]`, then `TAOTOKEN_MODEL`, then the model
of `[gateway]`. A variable that holds a profile's name means that profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from misjudge_server.config_file import LoadedConfig, PlainName, PriceTable
from misjudge_server.connecting import Given, connect, gather, stated_by
from misjudge_server.variables import LEFTOVERS, MODEL_VARIABLES, ROLE_VARIABLES, Stated, Variables, unusable
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.settings import Price, RoleName
from misjudge_tools.profiles import ModelSettings, Profile

_OWN_FIELDS: Final = ("temperature", "max_tokens", "context_tokens", "family", "reply_form")
_NAME: Final[TypeAdapter[str]] = TypeAdapter(PlainName)


def resolve(variables: Variables, config: LoadedConfig | None) -> ModelSettings:
    """The models in force. Raises InvalidInput as `gather` and `connect` do."""
    given = gather(variables, config)
    profiles = {} if config is None else {name: _profile(given, config, name) for name in config.tables.profiles}
    return ModelSettings(
        roles={role: _role(given, role, profiles) for role in ROLE_VARIABLES},
        profiles=profiles,
        prices={} if config is None else {model: _price(table) for model, table in config.tables.prices.items()},
        leftovers=tuple(name for name in LEFTOVERS if variables.find(name)),
    )


def _role(given: Given, role: RoleName, profiles: Mapping[str, Profile]) -> Profile:
    chosen = given.variables.find(*ROLE_VARIABLES[role]) or _in_roles_table(given, role)
    chosen = chosen or given.variables.find(*MODEL_VARIABLES)
    if chosen is None:
        return _asked(given, f"the role {role}", {}, given.connection.get("model"))
    if chosen.value in profiles:
        profile = profiles[chosen.value]
        return profile.model_copy(update={"origins": {**profile.origins, "name": chosen.origin}})
    return _asked(given, f"the role {role}", {}, _model(chosen))


def _in_roles_table(given: Given, role: RoleName) -> Stated | None:
    if given.config is None:
        return None
    profile = getattr(given.config.tables.roles, role)
    return None if profile is None else Stated(profile, "[roles]", given.config.name)


def _profile(given: Given, config: LoadedConfig, name: str) -> Profile:
    own = stated_by(config.tables.profiles[name], f"profile {name}", config.name)
    profile = _asked(given, f"profile {name}", own, own.get("model") or _fallback_model(given, config))
    fields: dict[str, Any] = {field: own[field].value for field in _OWN_FIELDS if field in own}
    prompts = {"prompt": config.prompts.get(name), "prompts": config.prompts_by_form.get(name, {})}
    origins = {field: own[field].origin for field in (*fields, *prompts) if field in own}
    update = {**fields, **prompts, "name": name, "origins": {**profile.origins, **origins}}
    return profile.model_copy(update=update)


def _fallback_model(given: Given, config: LoadedConfig) -> Stated | None:
    """The model of a profile that states none."""
    general = given.variables.find(*MODEL_VARIABLES)
    if general is None or general.value in config.tables.profiles:
        return given.connection.get("model")
    return _model(general)


def _model(stated: Stated) -> Stated:
    try:
        return stated._replace(value=_NAME.validate_python(stated.value))
    except ValidationError as error:
        raise unusable(stated.by, error) from None


def _asked(given: Given, owner: str, own: Mapping[str, Stated], model: Stated | None) -> Profile:
    """A model with its connection and price."""
    connected = connect(given, owner, own)
    key = connected.endpoint.key
    if model is not None and key is not None and key.get_secret_value() == model.value:
        raise InvalidInput(f"{model.origin} holds the key in place of a model's name. Put the model there.")
    priced = _price_of(given, own, model)
    origins = dict(connected.origins)
    if model is not None:
        origins["model"] = model.origin
    if priced is not None:
        origins["price"] = priced.origin
    return Profile(
        model=model.value if model else None,
        endpoint=connected.endpoint,
        price=priced.value if priced else None,
        origins=origins,
    )


def _price_of(given: Given, own: Mapping[str, Stated], model: Stated | None) -> Stated | None:
    """The profile's own price, else the one listed for the model."""
    if "price_in" in own:
        return own["price_in"]._replace(value=Price(input=own["price_in"].value, output=own["price_out"].value))
    table = given.config.tables.prices.get(model.value) if given.config and model else None
    if table is None or given.config is None:
        return None
    return Stated(_price(table), "[prices]", given.config.name)


def _price(table: PriceTable) -> Price:
    return Price(input=table.input, output=table.output)
