"""`misjudge.toml`, read strictly. Errors name file, table and key, never a value, which may be a key pasted there."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from misjudge_server.config_agents import KINDS, AgentName, AgentTable, AllowTable, episode_settings
from misjudge_server.text_files import read_prompt, shown
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import AskedForm, Craft, Form, Name, Value
from misjudge_tools.episodes.settings import EpisodeSettings
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE
from misjudge_tools.interchange.text_files import read_text
from misjudge_tools.judging.verdicts import ReplyForm
from misjudge_tools.profiles import PromptText

FILE_NAME: Final = "misjudge.toml"
LIMIT_BYTES: Final = 100_000
DOTS_A_LINE: Final = 200
"""tomllib takes memory that grows with the square of the parts of a dotted key."""
MOST: Final = 5
JUDGES_OF_THEIR_OWN: Final = frozenset({"local", "simulated"})

_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]{1,60}")
_LITERAL_KEYS: Final = frozenset({"key", "apikey", "token", "authtoken", "accesstoken", "secret", "password"})
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_HARMLESS: Final = re.compile(r"[A-Za-z'=/ -]+")
"""What tomllib says without quoting the file."""
_REWORDED: Final = {
    "model_type": "it must be a table",
    "dict_type": "it must be a table",
    "missing": "it is missing",
    "union_tag_not_found": f"kind is missing; it is {', '.join(KINDS)}",
    "union_tag_invalid": f"its kind must be one of {', '.join(KINDS)}",
    "model_attributes_type": "it must be a table",
}


def _is_variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError(
            "it must be the NAME of an environment variable in capitals, as "
            f"{DEFAULT_KEY_VARIABLE}, never the key itself; put the key into the environment or .env"
        )
    return name


def _is_plain(name: str) -> str:
    if _CONTROL.search(name) or not name.strip():
        raise ValueError("it must be a name without control characters")
    return name.strip()


def _is_a_profile_name(name: str) -> str:
    if not name.isprintable() or name != name.strip() or name in JUDGES_OF_THEIR_OWN:
        raise ValueError(
            "the name of a profile is printable, without spaces around it, and not local or simulated, "
            "which are judges of their own"
        )
    return name


def _reply_form(stated: Any) -> Any:
    """`"letter"` is short for `{kind = "letter"}`, and a table of labels is easier to write than pairs."""
    if isinstance(stated, str):
        return {"kind": stated}
    if isinstance(stated, dict) and isinstance(stated.get("labels"), dict):
        return {**stated, "labels": tuple(stated["labels"].items())}
    return stated


PlainName = Annotated[Name, AfterValidator(_is_plain)]
ProfileName = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_is_a_profile_name)]


class _Table(Value):
    model_config = ConfigDict(strict=True)


class Connection(_Table):
    """How a model is reached; the bounds are those of `Endpoint`. None: not stated here."""

    base_url: str | None = None
    key_env: Annotated[str, AfterValidator(_is_variable)] | None = None
    model: PlainName | None = None
    timeout_s: Annotated[float, Field(gt=0, le=3600)] | None = None
    deadline_s: Annotated[float, Field(gt=0, le=36_000)] | None = None
    max_attempts: Annotated[int, Field(ge=1, le=20)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=2000)] | None = None
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[float, Field(gt=0)] | None = None
    trust_env: bool | None = None


PromptFile = Annotated[str, Field(min_length=1, max_length=400)]


class PromptsTable(_Table):
    """The table `prompts` of a profile: own prompt files of a judge by form, and of who writes or matches rubrics."""

    pairwise: PromptFile | None = None
    satisfaction: PromptFile | None = None
    gate: PromptFile | None = None
    proxy: PromptFile | None = None
    rubric: PromptFile | None = None
    rubric_generate: PromptFile | None = None
    rubric_match: PromptFile | None = None
    rubric_match_batch: PromptFile | None = None


class ProfileTable(Connection):
    """A table `[profiles.NAME]`. Prices in USD per million tokens."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    context_tokens: Annotated[int, Field(ge=1)] | None = None
    price_in: Annotated[float, Field(ge=0)] | None = None
    price_out: Annotated[float, Field(ge=0)] | None = None
    family: Annotated[PlainName, AfterValidator(str.lower)] | None = None
    prompt: PromptFile | None = None
    prompts: PromptsTable | None = None
    reply_form: Annotated[ReplyForm, BeforeValidator(_reply_form)] | None = None

    @model_validator(mode="after")
    def _prices_come_in_twos(self) -> Self:
        if (self.price_in is None) != (self.price_out is None):
            raise ValueError("give both price_in and price_out, or neither")
        return self

    @model_validator(mode="after")
    def _pairs_have_one_prompt(self) -> Self:
        if self.prompt is not None and self.prompts is not None and self.prompts.pairwise is not None:
            raise ValueError("prompt is that of pairs, as pairwise in prompts is: give one of them")
        return self


class RolesTable(_Table):
    """The table `[roles]`: the name of a profile for each role."""

    agent: str | None = None
    user_sim: str | None = None
    judge: str | None = None


class PriceTable(_Table):
    """A table `[prices."MODEL"]` in USD per million tokens."""

    input: Annotated[float, Field(ge=0, alias="in")]
    output: Annotated[float, Field(ge=0, alias="out")]


class ConfigFile(_Table):
    """The whole file."""

    gateway: Connection = Connection()
    roles: RolesTable = RolesTable()
    profiles: Mapping[ProfileName, ProfileTable] = {}
    prices: Mapping[Name, PriceTable] = {}
    agents: Mapping[AgentName, AgentTable] = {}
    allow: AllowTable = AllowTable()


class LoadedConfig(NamedTuple):
    """The file with its prompts by profile, and by profile and form. `trusted`: a person named it outside of the
    folder's own files.
    """

    name: str
    tables: ConfigFile
    prompts: Mapping[str, PromptText]
    trusted: bool
    episodes: EpisodeSettings = EpisodeSettings()
    prompts_by_form: Mapping[str, Mapping[AskedForm, PromptText]] = {}


def load_config(path: Path, *, trusted: bool) -> LoadedConfig:
    """Read the file and the prompts that it names. Raises InvalidInput."""
    tables = parse_config(read_text(path, path.name, LIMIT_BYTES), path.name)
    prompts = {
        name: read_prompt(path, f"prompt in [profiles.{name}] of {path.name}", profile.prompt)
        for name, profile in tables.profiles.items()
        if profile.prompt is not None
    }
    by_form = {name: _prompts_by_form(path, name, profile) for name, profile in tables.profiles.items()}
    episodes = episode_settings(tables.agents, tables.allow, path, trusted=trusted)
    return LoadedConfig(path.name, tables, prompts, trusted, episodes, by_form)


def _prompts_by_form(path: Path, name: str, profile: ProfileTable) -> dict[AskedForm, PromptText]:
    stated = {} if profile.prompts is None else profile.prompts.model_dump(exclude_none=True)
    forms: tuple[AskedForm, ...] = (*get_args(Form), *get_args(Craft))
    return {
        form: read_prompt(path, f"{form} of prompts in [profiles.{name}] of {path.name}", stated[form])
        for form in forms
        if form in stated
    }


def parse_config(text: str, name: str) -> ConfigFile:
    """The tables of a file's text; errors call the file `name`. Raises InvalidInput."""
    raw = parse_toml(text, name)
    for place, table in _tables_of(raw):
        _refuse_literal_key(place, table, name)
    try:
        tables = ConfigFile.model_validate(raw)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        seen = dict.fromkeys(_sentence(problem, name) for problem in problems)
        raise InvalidInput(" ".join(list(seen)[:MOST])) from None
    _refuse_unknown_profiles(tables, name)
    return tables


def parse_toml(text: str, name: str, then: str = "Correct it.") -> dict[str, Any]:
    """The tables of a file's text. Raises InvalidInput, without values; it ends in `then`, what to do."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > DOTS_A_LINE:
            raise InvalidInput(f"{name}, line {number}: more than {DOTS_A_LINE} dots. Break the line.")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said, _, place = str(error).rpartition(" (")
        what = f": {said}" if _HARMLESS.fullmatch(said) else ""
        raise InvalidInput(f"{name} is not valid TOML {place.rstrip(')')}{what}. {then}") from None
    except (RecursionError, ValueError):
        raise InvalidInput(f"{name} is nested too deeply, or holds a number that is too long. {then}") from None


def _tables_of(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables that hold settings, each with what it is called in a message."""
    yield "", raw
    for name in ("gateway", "roles", "allow"):
        if isinstance(raw.get(name), dict):
            yield f"[{name}]", raw[name]
    for group, called in (("profiles", "Profile"), ("agents", "Agent")):
        tables = raw.get(group)
        for name, table in tables.items() if isinstance(tables, dict) else ():
            if isinstance(table, dict):
                yield f"{called} {shown(name)}", table


def _refuse_literal_key(place: str, table: Mapping[str, Any], name: str) -> None:
    for key, value in table.items():
        if is_key_itself(key) and not isinstance(value, dict):
            raise InvalidInput(
                f"{place or 'The file'} holds a key itself ({shown(key)}, in {name}). Take it out, put it into the "
                f'environment or .env, and name its variable: key_env = "{DEFAULT_KEY_VARIABLE}".'
            )


def is_key_itself(name: str) -> bool:
    """Whether a setting of this name would hold a key and not the name of its variable."""
    return re.sub(r"[-_ ]", "", name).lower() in _LITERAL_KEYS


def nearest(name: str, allowed: Mapping[str, Any]) -> str:
    """` Did you mean 'x'?`, or nothing."""
    near = difflib.get_close_matches(name[:100], list(allowed), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _sentence(problem: Any, name: str) -> str:
    parts = [str(part) for part in problem["loc"]]
    depth = 2 if parts[:1] in (["profiles"], ["prices"], ["agents"]) else 1
    table, inner = parts[:depth], parts[depth:]
    if table[:1] == ["agents"]:
        inner = inner[1:] if inner[:1] != ["[key]"] else inner  # behind the kind
    where = f"[{'.'.join(shown(part) for part in table)}] of {name}" if parts else name
    if problem["type"] == "extra_forbidden":
        return _unknown(parts, name)
    said = _REWORDED.get(problem["type"]) or problem["msg"].removeprefix("Value error, ").rstrip(".")
    if "[key]" in inner:
        return f"{where}: {said}."
    key = ".".join(shown(part) for part in inner if not part.isdecimal())
    return f"{key} in {where} cannot be used: {said}." if key else f"{where} cannot be used: {said}."


def _unknown(parts: list[str], name: str) -> str:
    """The sentence for a key, or a table, that does not exist."""
    *table, key = parts
    allowed = _allowed(table)
    table = table[:2] if table[:1] == ["agents"] else table
    place = f" in [{'.'.join(shown(part) for part in table)}]" if table else ""
    choice = f"{nearest(key, allowed)} Allowed: {', '.join(allowed)}."
    return f"Unknown name {shown(key)}{place} of {name}.{choice}"


def _allowed(table: list[str]) -> dict[str, Any]:
    match table:
        case ["gateway"]:
            fields = Connection.model_fields
        case ["roles"]:
            fields = RolesTable.model_fields
        case ["profiles", _]:
            fields = ProfileTable.model_fields
        case ["profiles", _, "prompts", *_]:
            fields = PromptsTable.model_fields
        case ["profiles", _, *_]:
            fields = ReplyForm.model_fields
        case ["prices", _]:
            fields = PriceTable.model_fields
        case ["agents", _, kind]:
            fields = KINDS[kind].model_fields
        case ["allow"]:
            fields = AllowTable.model_fields
        case _:
            fields = ConfigFile.model_fields
    return {field.alias or name: field for name, field in fields.items()}


def _refuse_unknown_profiles(tables: ConfigFile, name: str) -> None:
    for role, profile in tables.roles.model_dump(exclude_none=True).items():
        if profile not in tables.profiles:
            known = ", ".join(shown(one) for one in tables.profiles) or "none yet; add a table [profiles.NAME]"
            raise InvalidInput(
                f"{role} in [roles] of {name} names no profile.{nearest(profile, tables.profiles)} Profiles: {known}."
            )
