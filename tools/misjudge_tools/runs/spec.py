"""What a run does, as stored with it: enough to go on in another process. Holds no key, no address and no command."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Name, Value
from misjudge_tools.judging.choice import JudgingSpec, label_of
from misjudge_tools.requests import Orders, Stop
from misjudge_tools.results import MARK, MARK_EPISODES, marks


class AgentSpec(Value):
    """An agent by the name under which it is configured, and the fingerprint of what that meant when it was planned.

    `simulated`: what it does is made up, by a script or a simulated gateway.
    """

    name: Name
    fingerprint: str
    simulated: bool = False


class RolloutSpec(Value):
    """Which agents do which tasks of a suite. `digest` is that of the suite's content when it was planned.

    `user` is `scripted`, `local`, a profile or a model; None: the configured simulated user.
    """

    suite: str
    digest: str
    language: Literal["en", "zh"]
    tasks: tuple[Name, ...]
    agents: tuple[AgentSpec, ...]
    trials: Annotated[int, Field(ge=1, le=100)]
    seed: int
    user: str | None = None


class Cascade(Value):
    """The run's first pairwise judge decides alone; its others are asked about a pair only where `runs.cascade` says.

    `margin` is on the scale of the first one's scores: a lead below it is close.
    """

    margin: Annotated[float, Field(ge=0)]


class RubricWork(Value):
    """Who writes a rubric for each task of a run, and who matches it with the gold rules: one, or one who checks it."""

    writers: tuple[JudgingSpec, ...] = ()
    matchers: tuple[JudgingSpec, ...] = ()


class RunSpec(Value):
    """The judges that a run asks, in which `orders` of a pair, and the rollouts that it makes before, or the rubrics
    that are written and matched in it. `stop` says when enough is known, None: not before its end.
    """

    judges: tuple[JudgingSpec, ...] = ()
    rollouts: RolloutSpec | None = None
    cascade: Cascade | None = None
    orders: Orders = "both"
    rubrics: RubricWork | None = None
    stop: Stop | None = None

    @property
    def asked(self) -> tuple[JudgingSpec, ...]:
        """All who are asked about single things: its judges, and who writes or matches rubrics."""
        return self.judges if self.rubrics is None else (*self.judges, *self.rubrics.writers, *self.rubrics.matchers)


def run_marks(spec: RunSpec) -> str | None:
    """What of a run's results is made up, None where nothing is."""
    judged = any(judge.simulated for judge in spec.asked)
    made = spec.rollouts is not None and any(agent.simulated for agent in spec.rollouts.agents)
    return marks(MARK if judged else None, MARK_EPISODES if made else None)


def read_spec(stored: str, run_id: str) -> RunSpec:
    """What a run does, from what is stored with it. Raises InvalidInput where that cannot be read."""
    try:
        return RunSpec.model_validate_json(stored)
    except ValidationError:
        raise InvalidInput(
            f"What run {run_id} was to do cannot be read: it was changed, or another version wrote it. Begin it anew."
        ) from None


def orders_in(stored: str) -> Orders | None:
    """The orders of a stored run, None where they cannot be read."""
    try:
        return RunSpec.model_validate_json(stored).orders
    except ValidationError:
        return None


def judges_named(spec: RunSpec) -> str:
    """What people call the judges of a run."""
    return ", ".join(dict.fromkeys(label_of(judge) for judge in spec.judges or spec.asked))
