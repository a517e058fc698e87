"""Agents and permissions as the surface found them configured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from misjudge_storage.types import Name, Value
from misjudge_tools.profiles import PromptText


class ChatAgent(Value):
    """A model of the gateway with the suite's tools. `profile` is a profile or a model; None: the role agent's own.

    `system` takes the place of the suite's own instructions. `max_steps` bounds its model calls in one episode.
    """

    kind: Literal["chat"] = "chat"
    profile: Name | None = None
    system: PromptText | None = None
    max_steps: Annotated[int, Field(ge=1, le=200)] = 30


class HttpAgent(Value):
    """An address of an allowed host that the conversation is posted to."""

    kind: Literal["http"]
    url: str
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60


class CommandAgent(Value):
    """A program of the user's own that reads the conversation and writes the answer, once a turn.

    `env` names the variables that it is given beside PATH.
    """

    kind: Literal["command"]
    argv: Annotated[tuple[str, ...], Field(min_length=1)]
    env: tuple[str, ...] = ()
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60


class RecordedAgent(Value):
    """Trajectories of a file, in a format of `import`. `trial` takes one of its attempts, `agent` one of its agents."""

    kind: Literal["recorded"]
    file: Path
    format: Literal["trajectories", "tau-bench"] = "trajectories"
    trial: Annotated[int, Field(ge=0)] | None = None
    agent: Name | None = None


class ScriptedAgent(Value):
    """A shipped agent of known skill, which asks no model. `share` is the p of `flaky:p`."""

    kind: Literal["scripted"] = "scripted"
    policy: Literal["diligent", "hasty", "smooth_talker", "padder", "flaky", "refuser"]
    share: Annotated[float, Field(ge=0, le=1)] | None = None


AgentSettings = Annotated[ChatAgent | HttpAgent | CommandAgent | RecordedAgent, Field(discriminator="kind")]


class Allowed(Value):
    """What episodes may touch, by the user's own configuration: hosts, commands by name, modules of tools."""

    hosts: tuple[str, ...] = ()
    commands: Mapping[str, tuple[str, ...]] = {}
    python: tuple[str, ...] = ()


class EpisodeSettings(Value):
    """Agents by name, and what episodes may touch."""

    agents: Mapping[str, AgentSettings] = {}
    allowed: Allowed = Allowed()
