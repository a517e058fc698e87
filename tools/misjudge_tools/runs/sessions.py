"""Who does a stored run: what `Worker` opens before it works on cells, in whatever process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from misjudge_storage import judging_records
from misjudge_storage.engine import Store
from misjudge_storage.errors import InvalidInput
from misjudge_storage.judging_records import AuditRow
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.run_records import RunRow
from misjudge_tools.episodes.casting import Stage, cast_agents, cast_user
from misjudge_tools.episodes.settings import EpisodeSettings
from misjudge_tools.gateway.clock import Clock, SystemClock
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.ways import Ways
from misjudge_tools.judging.choice import judge_of
from misjudge_tools.judging.session import JudgingSession
from misjudge_tools.profiles import ModelSettings
from misjudge_tools.runs.rollout_plan import Cast, checker_of
from misjudge_tools.runs.rollout_session import RolloutSession, Stagehands
from misjudge_tools.runs.rubric_session import RubricSession
from misjudge_tools.runs.run_session import RunSession
from misjudge_tools.runs.spec import RolloutSpec, RunSpec, read_spec
from misjudge_tools.runs.worker import OpenSession
from misjudge_tools.suites.loading import load_suite


def session_opener(
    store: Store,
    models: ModelSettings,
    gateways: Gateways,
    episodes: EpisodeSettings | None = None,
    roots: Sequence[Path] | None = None,
    clock: Clock | None = None,
) -> OpenSession:
    """Opens a run's models and agents from the specification stored with it, so that any process can resume it.

    Suites are read under `roots` only, where they are given.
    """
    backstage = _Backstage(store, models, episodes or EpisodeSettings(), roots, clock or SystemClock())

    @asynccontextmanager
    async def open_session(run: RunRow) -> AsyncIterator[RunSession]:
        spec = read_spec(run.request_json, run.run_id)
        with store.read() as connection:
            audit = judging_records.read_audit(connection, run.audit)
        async with Ways(models, gateways) as ways:
            judges = [JudgingSession(store, audit, run.run_id, judge, await ways.open(judge)) for judge in spec.judges]
            rollouts = await backstage.rollouts(run, audit, spec, ways)
            yield RunSession(judges, rollouts, await backstage.rubrics(run, audit, spec, ways))

    return open_session


class _Backstage:
    """What rollouts and rubrics of a stored run are opened with."""

    def __init__(
        self,
        store: Store,
        models: ModelSettings,
        episodes: EpisodeSettings,
        roots: Sequence[Path] | None,
        clock: Clock,
    ) -> None:
        self._store = store
        self._models = models
        self._episodes = episodes
        self._roots = roots
        self._clock = clock

    async def rollouts(self, run: RunRow, audit: AuditRow, spec: RunSpec, ways: Ways) -> RolloutSession | None:
        if spec.rollouts is None:
            return None
        cast = recast(spec.rollouts, self._episodes, self._models, self._roots)
        checker = checker_of(cast, spec.judges)
        asked = [cast.user.asking, *(agent.asking for agent in cast.agents), checker]
        opened = {asking.choice: await ways.open(asking.choice) for asking in asked if asking is not None}
        hands = Stagehands(opened, checker, self._episodes.allowed, self._clock)
        return RolloutSession(self._store, audit, run.run_id, cast, hands)

    async def rubrics(self, run: RunRow, audit: AuditRow, spec: RunSpec, ways: Ways) -> RubricSession | None:
        if spec.rubrics is None:
            return None
        asked = (*spec.rubrics.writers, *spec.rubrics.matchers)
        opened = {judge_fingerprint(judge_of(one)): await ways.open(one) for one in asked}
        return RubricSession(self._store, audit, run.run_id, spec.rubrics, opened)


def recast(spec: RolloutSpec, episodes: EpisodeSettings, models: ModelSettings, roots: Sequence[Path] | None) -> Cast:
    """The cast of a stored run. Raises InvalidInput where the suite, an agent or the user is another one by now."""
    suite = load_suite(spec.suite, episodes.allowed, roots)
    if suite.digest != spec.digest:
        raise InvalidInput(
            f"The suite {suite.name} has changed since this run was planned. Put it back, or begin another audit."
        )
    stage = Stage(suite, spec.language, spec.seed)
    user = cast_user(spec.user, spec.language, models)
    agents = cast_agents([agent.name for agent in spec.agents], stage, user, episodes, models)
    for agent, planned in zip(agents, spec.agents, strict=True):
        if agent.fingerprint != planned.fingerprint:
            raise InvalidInput(
                f"Agent {agent.name!r} or the simulated user is set up otherwise than when this run was planned. "
                "Put its model, prompt and parameters back, or begin another audit."
            )
    by_id = {task.task_id: task for task in suite.tasks}
    if not set(spec.tasks) <= by_id.keys():
        raise InvalidInput(f"The run names tasks that the suite {suite.name} does not have. Begin it anew.")
    return Cast(stage, tuple(by_id[task_id] for task_id in spec.tasks), agents, user, spec.trials)
