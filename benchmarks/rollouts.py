"""What an episode costs beside its model calls: rollouts of scripted agents against their tool calls alone.

    python benchmarks/rollouts.py [trials]

The scripted agent `diligent` does the shipped tasks, so no model is asked: what is left is ours. The floor makes the
same tool calls on copies of the same world and keeps nothing. Machines are noisy: read the ratios of one run.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

from misjudge_server.deps import build_deps, close_deps
from misjudge_server.settings import load_settings
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.world import ToolRefused, World
from misjudge_tools.requests import RunPairRequest
from misjudge_tools.runs import planning
from misjudge_tools.runs.live_plan import live_plan
from misjudge_tools.runs.plan import ROLLOUT
from misjudge_tools.runs.report import carry_out
from misjudge_tools.suites.loading import Suite, load_suite, tasks_in

SUITE = "support_desk"
AGENTS = ("diligent", "flaky:1")
"""Two names of one script, since a comparison has two agents."""


def floor(suite: Suite, trials: int) -> float:
    """CPU seconds of the tool calls alone, each episode on its own copy of the world."""
    assert suite.image is not None and suite.tools.python is not None
    module = import_module(suite.tools.python)
    start = process_time()
    for _ in range(trials * len(AGENTS)):
        for task in tasks_in(suite, "en"):
            with World.from_image(suite.image) as world:
                for step in suite.solutions[task.task_id].steps:
                    if step.call is not None:
                        called(getattr(module, step.call), world, step.args)
    return process_time() - start


def called(tool: Callable[..., Any], world: World, arguments: dict[str, Any]) -> None:
    """A tool call as an agent makes it: a refusal is an answer."""
    try:
        tool(world.connection, **arguments)
    except ToolRefused:
        return


async def ours(trials: int) -> float:
    """CPU seconds of a run of these episodes, with checks and store, and without the judging that would follow."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings().model_copy(update={"store": str(Path(folder) / "store.db")})
        deps = build_deps(settings, confined=False)
        try:
            request = RunPairRequest(audit="b", agents=[*AGENTS], trials=trials, judge="simulated")
            start = process_time()
            plan = live_plan(request, deps).plan
            episodes = plan._replace(cells=[cell for cell in plan.cells if cell.kind == ROLLOUT])
            run = planning.store_plan(deps, "run_pair", request, episodes)
            report = await carry_out(deps, run.run_id, 600.0)
            assert (report.state, report.done) == ("done", len(episodes.cells))
            return process_time() - start
        finally:
            await close_deps(deps)


def main(trials: int) -> None:
    suite = load_suite(SUITE, Allowed(), None)
    rollouts = trials * len(AGENTS) * len(tasks_in(suite, "en"))
    floor_s, ours_s = floor(suite, trials), asyncio.run(ours(trials))
    print(f"| {rollouts} episodes | CPU ms an episode | against the floor |\n|---|---:|---:|")
    for name, seconds in (("tool calls alone (floor)", floor_s), ("misjudge run, checked and stored", ours_s)):
        print(f"| {name} | {1000 * seconds / rollouts:.2f} | {seconds / floor_s:.1f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
