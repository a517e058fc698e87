"""The tables `[agents.NAME]` and `[allow]` of `misjudge.toml`: who can be put to the test, and what that may touch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from misjudge_server.text_files import beside, read_prompt, shown
from misjudge_server.variables import CONFIG_VARIABLE, VARIABLE_NAME
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Name, Value
from misjudge_tools.episodes.addresses import is_protected
from misjudge_tools.episodes.naming import is_scripted
from misjudge_tools.episodes.settings import (
    AgentSettings,
    Allowed,
    ChatAgent,
    CommandAgent,
    EpisodeSettings,
    HttpAgent,
    RecordedAgent,
)

_HOST: Final = re.compile(r"(?:\[[0-9a-f:.]+\]|[\w-]+(?:\.[\w-]+)*)(?::[0-9]{1,5})?")


def _is_an_agent_name(name: str) -> str:
    if not name.isprintable() or name != name.strip() or "," in name:
        raise ValueError("the name of an agent is printable, without commas and without spaces around it")
    if is_scripted(name):
        raise ValueError("the name is that of an agent that is shipped; choose another")
    return name


def _is_a_host(stated: str) -> str:
    host = stated.lower()
    if not _HOST.fullmatch(host):
        raise ValueError('it must be a host alone, as "tools.example.org" or "127.0.0.1:8080", without https:// or *')
    return host


def _is_a_module(stated: str) -> str:
    if stated.endswith(".py") or not all(part.isidentifier() for part in stated.split(".")):
        raise ValueError('it must be the name of a Python module, as "my_suite.tools", not a file')
    return stated


def _is_a_variable(stated: str) -> str:
    if not VARIABLE_NAME.fullmatch(stated):
        raise ValueError("it must be the NAME of an environment variable, never its value")
    return stated


def _is_an_address(stated: str) -> str:
    if not is_protected(stated):
        raise ValueError("it must begin with https://, or with http:// for a server on this machine")
    return stated


def _runs_something(argv: list[str]) -> list[str]:
    if not argv or not argv[0].strip():
        raise ValueError('it must name a program and its arguments, as ["python", "agent.py"]')
    if any("\0" in part for part in argv):
        raise ValueError("it holds a NUL character")
    return argv


AgentName = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_is_an_agent_name)]
Argv = Annotated[list[str], Field(max_length=200), AfterValidator(_runs_something)]
Seconds = Annotated[float, Field(gt=0, le=600)]
FileName = Annotated[str, Field(min_length=1, max_length=400)]


class ChatTable(Value, strict=True):
    """A model with the suite's tools. `system` names a file with its instructions."""

    kind: Literal["chat"]
    profile: Name | None = None
    system: FileName | None = None
    max_steps: Annotated[int, Field(ge=1, le=200)] = 30


class HttpTable(Value, strict=True):
    """An address that the conversation is posted to."""

    kind: Literal["http"]
    url: Annotated[str, Field(max_length=2000), AfterValidator(_is_an_address)]
    timeout_s: Seconds = 60


class CommandTable(Value, strict=True):
    """A program that reads the conversation and writes the answer."""

    kind: Literal["command"]
    argv: Argv
    env: list[Annotated[str, AfterValidator(_is_a_variable)]] = Field(default_factory=list)
    timeout_s: Seconds = 60


class RecordedTable(Value, strict=True):
    """Trajectories of a file."""

    kind: Literal["recorded"]
    file: FileName
    format: Literal["trajectories", "tau-bench"] = "trajectories"
    trial: Annotated[int, Field(ge=0)] | None = None
    agent: Name | None = None


AgentTable = Annotated[ChatTable | HttpTable | CommandTable | RecordedTable, Field(discriminator="kind")]
KINDS: Final[Mapping[str, type[Value]]] = {
    "chat": ChatTable,
    "http": HttpTable,
    "command": CommandTable,
    "recorded": RecordedTable,
}


class AllowTable(Value, strict=True):
    """The table `[allow]`: hosts that may be asked, modules and commands that may be run."""

    hosts: list[Annotated[str, AfterValidator(_is_a_host)]] = Field(default_factory=list)
    python: list[Annotated[str, AfterValidator(_is_a_module)]] = Field(default_factory=list)
    commands: Mapping[Name, Argv] = {}


def episode_settings(
    agents: Mapping[str, AgentTable], allow: AllowTable, config: Path, *, trusted: bool
) -> EpisodeSettings:
    """What the tables of the file `config` come to, with the files that they name. Raises InvalidInput.

    A file that only lies in the working directory allows nothing: whoever wrote the folder would run programs here.
    """
    if not trusted:
        _refuse_powers(agents, allow, config.name)
    allowed = Allowed(
        hosts=tuple(allow.hosts),
        python=tuple(allow.python),
        commands={name: tuple(argv) for name, argv in allow.commands.items()},
    )
    named = {
        name: _agent(table, f"[agents.{shown(name)}] of {config.name}", config, trusted)
        for name, table in agents.items()
    }
    _refuse_foreign_hosts(named, allowed, config.name)
    return EpisodeSettings(agents=named, allowed=allowed)


def _refuse_powers(agents: Mapping[str, AgentTable], allow: AllowTable, file: str) -> None:
    powers = [f"[agents.{shown(name)}] of kind {table.kind}" for name, table in agents.items() if _reaches_out(table)]
    if allow != AllowTable():
        powers.insert(0, "[allow]")
    if powers:
        raise InvalidInput(
            f"{file} of the working directory holds {powers[0]}, by which a folder could run programs on this machine "
            f"or send your data elsewhere. If you trust it, set {CONFIG_VARIABLE} in the environment to the whole path "
            "of the file; else take that out."
        )


def _reaches_out(table: AgentTable) -> bool:
    return isinstance(table, HttpTable | CommandTable)


def _agent(table: AgentTable, where: str, config: Path, trusted: bool) -> AgentSettings:
    match table:
        case ChatTable():
            system = read_prompt(config, f"system in {where}", table.system) if table.system is not None else None
            return ChatAgent(profile=table.profile, system=system, max_steps=table.max_steps)
        case HttpTable():
            return HttpAgent(kind="http", url=table.url, timeout_s=table.timeout_s)
        case CommandTable():
            return CommandAgent(kind="command", argv=tuple(table.argv), env=tuple(table.env), timeout_s=table.timeout_s)
        case RecordedTable():
            stated = table.model_dump(exclude={"file"})
            return RecordedAgent(file=beside(config, f"file in {where}", table.file, anywhere=trusted), **stated)


def _refuse_foreign_hosts(agents: Mapping[str, AgentSettings], allowed: Allowed, file: str) -> None:
    posted = {name: agent.url for name, agent in agents.items() if isinstance(agent, HttpAgent)}
    if not posted:
        return
    # Its client takes time to import, and few files have such an agent.
    from misjudge_tools.episodes.posting import host_allowed

    for name, url in posted.items():
        if not host_allowed(url, allowed.hosts):
            raise InvalidInput(
                f"url in [agents.{shown(name)}] of {file} names a host that is not in hosts of [allow]. Name it there."
            )
