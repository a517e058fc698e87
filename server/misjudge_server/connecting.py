"""Which address a profile or role is asked at, with which key, and that this key may go there. Pure.

A profile's own statement comes first, then the environment, `.env`, `[gateway]` and the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import SecretStr, ValidationError

from misjudge_server.config_file import Connection, LoadedConfig
from misjudge_server.variables import CONNECTION_VARIABLES, DOTENV, ENVIRONMENT, Stated, Variables, unusable
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.addresses import normalise_base_url
from misjudge_tools.gateway.settings import DEFAULT_BASE_URL, DEFAULT_KEY_VARIABLE, Endpoint

_DEFAULT: Final = normalise_base_url(DEFAULT_BASE_URL)


class Given(NamedTuple):
    """All that is stated: the variables, the file, and by field what the two say of every connection."""

    variables: Variables
    config: LoadedConfig | None
    connection: Mapping[str, Stated]


class Connected(NamedTuple):
    """The way to a model, and by field where it was stated."""

    endpoint: Endpoint
    origins: Mapping[str, str]


def gather(variables: Variables, config: LoadedConfig | None) -> Given:
    """Raises InvalidInput for a variable that cannot be used, naming it without its value."""
    table = config.tables.gateway if config else Connection()
    stated = stated_by(table, "[gateway]", config.name if config else "")
    return Given(variables, config, {**stated, **_of_variables(variables)})


def stated_by(table: Connection, by: str, place: str) -> dict[str, Stated]:
    """What a table of the file states, by field."""
    values = {field: getattr(table, field) for field in type(table).model_fields}
    return {field: Stated(value, by, place) for field, value in values.items() if value is not None}


def connect(given: Given, owner: str, own: Mapping[str, Stated]) -> Connected:
    """The connection of `owner`, which itself states `own`.

    Raises InvalidInput for an address that cannot be used, and where a key would go to an address that it must
    not reach.
    """
    stated = {**given.connection, **own}
    fields = {field: stated[field] for field in CONNECTION_VARIABLES if field in stated}
    base_url = _address(fields.get("base_url"))
    named = stated.get("key_env")
    variable = named.value if named else DEFAULT_KEY_VARIABLE
    key = given.variables.find(variable)
    if key is not None:
        _refuse_other_secrets(given, owner, key)
        _refuse_redirected_key(given, owner, key, fields.get("base_url"), base_url)
    origins = {field: one.origin for field, one in fields.items()}
    origins |= {"key_variable": named.origin} if named else {}
    origins |= {"key": key.origin} if key else {}
    values = {field: one.value for field, one in fields.items()}
    secret = SecretStr(key.value) if key else None
    return Connected(Endpoint(**{**values, "base_url": base_url, "key": secret, "key_variable": variable}), origins)


def _of_variables(variables: Variables) -> dict[str, Stated]:
    found = {field: variables.find(name) for field, name in CONNECTION_VARIABLES.items()}
    stated = {field: one for field, one in found.items() if one is not None}
    try:
        # Not strict: a variable is text, also where it means a number.
        read = Connection.model_validate({field: one.value for field, one in stated.items()}, strict=False)
    except ValidationError as error:
        names = {CONNECTION_VARIABLES[str(problem["loc"][0])] for problem in error.errors(include_input=False)}
        raise unusable(", ".join(sorted(names)), error) from None
    return {field: one._replace(value=getattr(read, field)) for field, one in stated.items()}


def _address(stated: Stated | None) -> str:
    if stated is None:
        return _DEFAULT
    try:
        return normalise_base_url(stated.value)
    except InvalidInput as error:
        raise InvalidInput(f"{stated.origin}: {error}") from None


def _refuse_other_secrets(given: Given, owner: str, key: Stated) -> None:
    """Raises InvalidInput where a file of the working directory takes a variable for a key that is none of a model."""
    trusted = given.config is None or given.config.trusted
    if trusted or key.place != ENVIRONMENT or key.by.endswith("API_KEY"):
        return
    raise InvalidInput(
        f"The key of {owner} is the variable {key.by} of the environment. A file of this folder may name only those "
        "that end in API_KEY; rename it, or set MISJUDGE_CONFIG to the file's path in the environment."
    )


def _refuse_redirected_key(given: Given, owner: str, key: Stated, address: Stated | None, base_url: str) -> None:
    """Raises InvalidInput where a file of the working directory would send a key of the environment to an address.

    Clients start servers in whatever repository is open; a `.env` or `misjudge.toml` in it must not be able to
    collect its reader's key. A key that `.env` itself holds is the folder's own.
    """
    if key.place != ENVIRONMENT or address is None or address.place == ENVIRONMENT or base_url == _DEFAULT:
        return
    if given.variables.dotenv.get(key.by) == key.value:
        return
    if address.place == DOTENV:
        raise InvalidInput(
            f"{key.by} comes from the environment but {address.by} from .env, which would send your key "
            "to an address that this folder chose. Set both in the environment, or put the key into .env too."
        )
    if given.config is not None and not given.config.trusted:
        raise InvalidInput(
            f"{key.by} comes from the environment but the base URL of {owner} from {address.place}, which would send "
            "your key to an address that this folder chose. Put the key into .env too, or set MISJUDGE_CONFIG to the "
            "file's path in the environment."
        )
