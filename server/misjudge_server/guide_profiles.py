"""Profiles as guides write them, turned into the text of a `misjudge.toml`. Import late: yaml and tomlkit are slow.

Read are JSON or YAML with `profiles`, a list or by name, and the flat JSON with `baseURL`, `judgeModel`,
`candidateModel`. A name may be written as in `base_url`, `baseURL` or `base-url`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import tomlkit
import yaml

from misjudge_server.config_file import Connection, ProfileTable, is_key_itself, parse_config
from misjudge_server.text_files import shown
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.addresses import normalise_base_url
from misjudge_tools.gateway.settings import RoleName
from misjudge_tools.interchange.text_files import read_text

LIMIT_BYTES: Final = 1_000_000

_ROLES: Final[Mapping[str, RoleName]] = {
    "agent": "agent",
    "candidate": "agent",
    "engineeringassistant": "agent",
    "usersim": "user_sim",
    "simuser": "user_sim",
    "simulateduser": "user_sim",
    "judge": "judge",
    "llmjudge": "judge",
}
_NAMES: Final[Mapping[str, str]] = {
    **{
        field.replace("_", ""): field
        for field in ProfileTable.model_fields.keys() - {"prompt", "prompts", "reply_form"}
    },
    "apikeyenv": "key_env",
    "apikeyvar": "key_env",
    "apikeyvariable": "key_env",
    "envkey": "key_env",
    "keyvar": "key_env",
    "keyvariable": "key_env",
    "apibase": "base_url",
    "modelid": "model",
    "modelname": "model",
    "contextwindow": "context_tokens",
    "contextlength": "context_tokens",
    "timeoutms": "timeout_ms",
    "maxretries": "max_retries",
}
_FLAT_MODELS: Final[Mapping[str, RoleName]] = {
    "judgemodel": "judge",
    "candidatemodel": "agent",
    "agentmodel": "agent",
    "simusermodel": "user_sim",
    "usersimmodel": "user_sim",
}
_PLACEHOLDER: Final = re.compile(r"\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*))")
_SHAPES: Final = (
    "Known are JSON or YAML with 'profiles' (a list, or tables by name), "
    "and JSON with baseURL, judgeModel and candidateModel."
)


class Converted(NamedTuple):
    """The text of a `misjudge.toml`, and what of the file has no place in it."""

    toml: str
    left_out: tuple[str, ...]


class _Entry(NamedTuple):
    """One profile: its table for `misjudge.toml`, its role, and the names of what was left out."""

    fields: dict[str, Any]
    role: RoleName | None
    left_out: tuple[str, ...]


def convert_file(path: Path) -> Converted:
    """The profiles of a file in one of the known shapes. Raises InvalidInput, which never shows a value."""
    return convert(read_text(path, path.name, LIMIT_BYTES), path.name)


def convert(text: str, label: str) -> Converted:
    """The profiles of a text; errors call it `label`."""
    raw = _parse(text, label)
    if not isinstance(raw, dict):
        raise InvalidInput(f"{label} holds no profiles. {_SHAPES}")
    folded = {_fold(str(name)): value for name, value in raw.items()}
    if folded.get("profiles"):
        tables, left_out = _of_profiles(raw, label)
    elif folded.keys() & _FLAT_MODELS.keys():
        tables, left_out = _of_flat(raw, label)
    else:
        raise InvalidInput(f"{label} holds no profiles. {_SHAPES}")
    toml = _written(tables)
    parse_config(toml, label)
    return Converted(toml, tuple(left_out))


def write_new(path: Path, toml: str) -> None:
    """Write a file that does not exist yet. Raises InvalidInput."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(toml)
    except FileExistsError:
        raise InvalidInput(f"{path} exists already. Move it away, or name another file with --out.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no file name"
        raise InvalidInput(f"{path} cannot be written ({reason}). Name another file with --out.") from None


class _PlainLoader(yaml.SafeLoader):
    """Refuses aliases: a few lines of them can stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise InvalidInput("YAML aliases (*name) are not read. Write the values out.")
        return super().compose_node(parent, index)


def _parse(text: str, label: str) -> Any:
    try:
        if text.lstrip().startswith(("{", "[")):
            return json.loads(text)
        return yaml.load(text, Loader=_PlainLoader)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{label}, line {error.lineno}: not valid JSON. Correct it.") from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InvalidInput(f"{label}{line}: not valid YAML. Correct it.") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        raise InvalidInput(
            f"{label} is not valid JSON or YAML, is nested too deeply or holds a number or date that nobody can use."
        ) from None
    except InvalidInput as error:
        raise InvalidInput(f"{label}: {error}") from None


def _fold(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


def _of_profiles(raw: Mapping[Any, Any], label: str) -> tuple[dict[str, Any], list[str]]:
    profiles: dict[str, Any] = {}
    roles: dict[str, str] = {}
    left_out: list[str] = []
    for key, value in raw.items():
        if _fold(str(key)) != "profiles":
            left_out.append(_checked_name(str(key), value, label))
            continue
        for name, table in _named(value, label):
            if name in profiles:
                raise InvalidInput(f"{label}: two profiles are called {shown(name)}. Rename one.")
            entry = _entry(name, table, f"{label}, profile {shown(name)}")
            profiles[name] = entry.fields
            left_out += [f"{shown(name)}: {one}" for one in entry.left_out]
            if entry.role in roles:
                left_out.append(f"{shown(name)}: role {entry.role}, which the first profile with it keeps")
            elif entry.role:
                roles[entry.role] = name
    return {"roles": roles, "profiles": profiles}, left_out


def _named(value: Any, label: str) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """The tables of `profiles` with their names."""
    if not isinstance(value, dict | list):
        raise InvalidInput(f"{label} holds no profiles. {_SHAPES}")
    for key, table in value.items() if isinstance(value, dict) else enumerate(value, 1):
        if not isinstance(table, dict):
            raise InvalidInput(f"{label}: profile {shown(str(key))} is not a table of settings. {_SHAPES}")
        name = table.get("name", None if isinstance(value, list) else str(key))
        if not isinstance(name, str):
            raise InvalidInput(f"{label}: profile {shown(str(key))} has no name. Add one.")
        yield name, table


def _entry(name: str, table: Mapping[Any, Any], where: str) -> _Entry:
    fields: dict[str, Any] = {}
    left_out: list[str] = []
    role = _ROLES.get(_fold(name))
    for key, value in table.items():
        known = _fold(str(key))
        if known == "role" and isinstance(value, str) and _fold(value) in _ROLES:
            role = _ROLES[_fold(value)]
        elif known != "name":
            taken = _setting(str(key), value, where)
            fields |= taken
            left_out += [] if taken or value is None else [shown(str(key))]
    return _Entry(fields, role, tuple(left_out))


def _of_flat(raw: Mapping[Any, Any], label: str) -> tuple[dict[str, Any], list[str]]:
    """The shape with one address and a model for each role."""
    stated: dict[str, Any] = {}
    models: dict[str, Any] = {}
    left_out: list[str] = []
    for key, value in raw.items():
        role = _FLAT_MODELS.get(_fold(str(key)))
        taken = _setting("model" if role else str(key), value, label)
        if role and taken:
            models[role] = taken
        stated |= {} if role else taken
        left_out += [] if taken or value is None else [shown(str(key))]
    gateway = {name: value for name, value in stated.items() if name in Connection.model_fields}
    # What only a profile can state, as the temperature, was meant for every call.
    shared = {name: value for name, value in stated.items() if name not in gateway}
    profiles = {role: {**taken, **shared} for role, taken in models.items()}
    return {"gateway": gateway, "roles": {role: role for role in models}, "profiles": profiles}, left_out


def _setting(key: str, value: Any, where: str) -> dict[str, Any]:
    """A setting under the name that `misjudge.toml` has for it; empty where it has none, or a variable holds it."""
    name = _NAMES.get(_fold(key))
    if is_key_itself(key) or (name == "key_env" and _is_placeholder(value)):
        return {"key_env": _variable_of(key, value, where)}
    if name is None or value is None or _is_placeholder(value):
        return {}
    if not isinstance(value, str | int | float) or (isinstance(value, str) and not value.isprintable()):
        raise InvalidInput(f"{where}: {shown(key)} must be one line of text or a number.")
    if name == "timeout_ms":
        return {"timeout_s": _number(key, value, where) / 1000}
    if name == "max_retries":
        return {"max_attempts": int(_number(key, value, where)) + 1}
    if name == "base_url":
        _refuse_bad_address(str(value), where)
    return {name: value}


def _is_placeholder(value: Any) -> bool:
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value) is not None


def _number(key: str, value: Any, where: str) -> float:
    if isinstance(value, str | bool) or not abs(value) < 1e12:
        raise InvalidInput(f"{where}: {shown(key)} must be a number.")
    return float(value)


def _refuse_bad_address(url: str, where: str) -> None:
    try:
        normalise_base_url(url)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None


def _variable_of(key: str, value: Any, where: str) -> str:
    """The variable that a placeholder such as `${TAOTOKEN_API_KEY}` names."""
    named = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if named is None:
        raise InvalidInput(
            f"{where} holds a key itself ({shown(key)}). Take it out, put it into the environment or .env, and name "
            'its variable instead: "api_key_env": "TAOTOKEN_API_KEY".'
        )
    return named[1] or named[2]


def _checked_name(key: str, value: Any, where: str) -> str:
    """The name of a setting beside `profiles`, which is left out; a key must not stand there either."""
    if is_key_itself(key):
        _variable_of(key, value, where)
    return shown(key)


def _written(tables: Mapping[str, Any]) -> str:
    document = tomlkit.document()
    document.add(tomlkit.comment("Written by `misjudge config import`."))
    for name in ("gateway", "roles"):
        if tables.get(name):
            document.add(name, tomlkit.item(tables[name]))
    profiles = tomlkit.table(is_super_table=True)
    for name, fields in tables["profiles"].items():
        profiles.add(name, tomlkit.item(fields))
    document.add("profiles", profiles)
    return tomlkit.dumps(document)
