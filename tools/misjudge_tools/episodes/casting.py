"""Who takes part in rollouts: agents and the simulated user, resolved from their names, each with its fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import canonical, digest, template_hash
from misjudge_tools.episodes.naming import canonical_name, choose_agent
from misjudge_tools.episodes.scripted import policy_named, skill
from misjudge_tools.episodes.settings import (
    ChatAgent,
    CommandAgent,
    EpisodeSettings,
    HttpAgent,
    RecordedAgent,
    ScriptedAgent,
)
from misjudge_tools.episodes.user_sim import user_template
from misjudge_tools.gateway.ways import ModelChoice, choose_model, profile_of
from misjudge_tools.judging.prompts import PromptTemplate
from misjudge_tools.profiles import ModelSettings
from misjudge_tools.suites.loading import Suite, tasks_in
from misjudge_tools.suites.model import Language

SCRIPTED_USER = "scripted"
AGENT_TOKENS = 1024
USER_TOKENS = 256
LOCAL_TOKENS = 64
"""The local model is slow, and talks until it is cut off."""
USER_TEMPERATURE = 0.7

LiveAgent = ChatAgent | HttpAgent | CommandAgent | ScriptedAgent


class Asking(NamedTuple):
    """A model and the parameters that it is asked with."""

    choice: ModelChoice
    temperature: float
    max_tokens: int


class CastUser(NamedTuple):
    """A simulated user: a model with its prompt, or the scripted one where `asking` is None."""

    name: str
    asking: Asking | None
    template: PromptTemplate | None

    @property
    def simulated(self) -> bool:
        """Whether a simulated gateway makes up what it says."""
        return self.asking is not None and self.asking.choice.simulated


class CastAgent(NamedTuple):
    """An agent under its canonical name. `setup` is JSON of all that a trajectory of it depends on.

    `skill` is the share of tasks that it gets right, where that is known beforehand; `asking` a chat agent's model.
    """

    name: str
    settings: LiveAgent
    asking: Asking | None
    setup: str
    skill: float | None
    simulated: bool

    @property
    def fingerprint(self) -> str:
        """Two trajectories come from one agent only when these are equal."""
        return digest("agt", self.setup)


class Stage(NamedTuple):
    """Where a cast plays: a suite in one language, with the seed of the run."""

    suite: Suite
    language: Language
    seed: int


def cast_user(name: str | None, language: Language, models: ModelSettings, *, to_ask: bool = True) -> CastUser:
    """The simulated user that `name` means; None: the configured one. Raises MissingKey or InvalidInput."""
    if name == SCRIPTED_USER:
        return CastUser(SCRIPTED_USER, None, None)
    asking = _asking(choose_model("user_sim", name, models, to_ask=to_ask), models, USER_TEMPERATURE, USER_TOKENS)
    own = None if asking.choice.kind == "local" else profile_of(asking.choice, models).prompt
    return CastUser(asking.choice.profile or asking.choice.model, asking, user_template(language, own))


def cast_agents(
    names: Sequence[str],
    stage: Stage,
    user: CastUser,
    episodes: EpisodeSettings,
    models: ModelSettings,
    *,
    to_ask: bool = True,
) -> tuple[CastAgent, ...]:
    """The live agents that the names mean, in this order. Raises MissingKey or InvalidInput."""
    return tuple(_cast(name, stage, user, episodes, models, to_ask) for name in names)


def _cast(
    name: str, stage: Stage, user: CastUser, episodes: EpisodeSettings, models: ModelSettings, to_ask: bool
) -> CastAgent:
    settings = choose_agent(name, episodes, models)
    if isinstance(settings, RecordedAgent):
        raise InvalidInput(f"Agent {name!r} is recorded: its trajectories are read from a file, not made.")
    if isinstance(settings, ScriptedAgent):
        _refuse_unsolved(name, stage)
    asking = None
    if isinstance(settings, ChatAgent):
        asking = _asking(choose_model("agent", settings.profile, models, to_ask=to_ask), models, 0.0, AGENT_TOKENS)
    able = _skill(settings, asking, stage)
    setup = canonical(
        {
            "suite": stage.suite.digest,
            "language": stage.language,
            "seed": stage.seed,
            "agent": _facts(settings, asking),
            "user": _user_facts(user),
            **({} if able is None else {"skill": able}),
        }
    )
    made_up = isinstance(settings, ScriptedAgent) or (asking is not None and asking.choice.simulated)
    return CastAgent(canonical_name(name), settings, asking, setup, able, made_up or user.simulated)


def _refuse_unsolved(name: str, stage: Stage) -> None:
    """Raises InvalidInput where a scripted agent has nothing to follow."""
    suite = stage.suite
    missing = [task.task_id for task in tasks_in(suite, stage.language) if task.task_id not in suite.solutions]
    if missing:
        raise InvalidInput(
            f"Agent {name!r} is scripted and follows solutions.jsonl, which in the suite {suite.name} has none of the "
            f"task {missing[0][:100]!r}. Add it, or take other agents."
        )


def _asking(choice: ModelChoice, models: ModelSettings, temperature: float, max_tokens: int) -> Asking:
    if choice.kind == "local":
        return Asking(choice, temperature, LOCAL_TOKENS)
    profile = profile_of(choice, models)
    stated = temperature if profile.temperature is None else profile.temperature
    return Asking(choice, stated, profile.max_tokens or max_tokens)


def _skill(settings: LiveAgent, asking: Asking | None, stage: Stage) -> float | None:
    """What a script says of itself; a model of a simulated gateway may be named after one."""
    simulated = asking is not None and asking.choice.simulated
    script = policy_named(asking.choice.model) if asking is not None and simulated else settings
    if not isinstance(script, ScriptedAgent):
        return None
    return skill(script, tasks_in(stage.suite, stage.language), stage.suite.solutions)


def _facts(settings: LiveAgent, asking: Asking | None) -> dict[str, Any]:
    """What makes an agent what it is; the command and address of an own one by their hash only."""
    if isinstance(settings, ScriptedAgent):
        return settings.model_dump(exclude_none=True)
    if isinstance(settings, ChatAgent):
        assert asking is not None
        system = None if settings.system is None else template_hash(settings.system.text)
        return {"kind": "chat", **_asked(asking), "system": system, "max_steps": settings.max_steps}
    return {"kind": settings.kind, "hash": digest("own", settings.model_dump(exclude={"timeout_s"}))}


def _user_facts(user: CastUser) -> dict[str, Any]:
    if user.asking is None or user.template is None:
        return {"kind": SCRIPTED_USER}
    return {"kind": "model", **_asked(user.asking), "prompt_hash": user.template.hash}


def _asked(asking: Asking) -> dict[str, Any]:
    return {"model": asking.choice.model, "temperature": asking.temperature, "max_tokens": asking.max_tokens}
