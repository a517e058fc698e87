"""What the name of an agent means: a shipped one of known skill, one of the configuration, or a model."""

from __future__ import annotations

import difflib
import re
from typing import Final

from pydantic import TypeAdapter, ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Name
from misjudge_tools.episodes.scripted import NEEDS_SHARE, POLICIES, policy_named
from misjudge_tools.episodes.settings import AgentSettings, ChatAgent, EpisodeSettings, ScriptedAgent
from misjudge_tools.profiles import ModelSettings

FLAKY: Final = "flaky"
SHOWN: Final = tuple(f"{FLAKY}:0.95" if policy == FLAKY else policy for policy in POLICIES)
"""The names as people may write them; the share of `flaky` is theirs."""

_CLOSE: Final = 0.8
_NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


def choose_agent(name: str, episodes: EpisodeSettings, models: ModelSettings) -> AgentSettings | ScriptedAgent:
    """The agent of this name; one that is neither shipped nor configured is a profile or a model of the gateway.

    Raises InvalidInput for a name that is nearly one of the shipped agents'.
    """
    scripted = policy_named(name)
    if scripted is not None:
        return scripted
    if name in episodes.agents:
        return episodes.agents[name]
    if name not in models.profiles:
        _refuse_near_miss(name)
    try:
        return ChatAgent(profile=_NAME.validate_python(name))
    except ValidationError:
        raise InvalidInput(
            f"The name of an agent has 1 to 400 characters that can be stored. Shipped: {', '.join(SHOWN)}. "
            "Or name one of [agents], a profile or a model."
        ) from None


def canonical_name(name: str) -> str:
    """The name under which an agent's episodes are kept: `flaky:.95` and `flaky:0.950` are `flaky:0.95`.

    Raises InvalidInput for a share that is none.
    """
    scripted = policy_named(name)
    if scripted is None or scripted.share is None:
        return name
    return f"{FLAKY}:{scripted.share:.6f}".rstrip("0").rstrip(".")


def is_scripted(name: str) -> bool:
    """Whether the name is one of the shipped agents', with whatever share."""
    return name in POLICIES or name.startswith(f"{FLAKY}:")


def _refuse_near_miss(name: str) -> None:
    plain = re.sub(r"[\W_]+", "_", name.casefold()).strip("_")
    if re.fullmatch(rf"{FLAKY}[_\d]*", plain):
        raise InvalidInput(NEEDS_SHARE)
    near = difflib.get_close_matches(
        plain[:100], [policy for policy in POLICIES if policy != FLAKY], n=1, cutoff=_CLOSE
    )
    if near:
        raise InvalidInput(
            f"There is no agent of that name. Did you mean {near[0]!r}? A model with a name like it needs a profile."
        )
