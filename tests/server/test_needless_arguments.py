"""An argument that would do nothing is refused, at the command line and over MCP; verdicts shown name their judge."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from command import Misjudge
from misjudge_server.app import LazyDeps, build_app
from misjudge_storage.engine import open_store
from misjudge_tools.deps import Deps
from operations import dump, pair_records, stored

MARGIN = "margin says which leads a cascade takes for close, and no cascade is asked for."
ORDERS = "orders says in which order two responses are shown, and {} is judged of single trajectories; leave it out."
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"margin": 2}, MARGIN),
    ({"margin": 1}, MARGIN),
    ({"margin": 0, "panel": ["local"]}, MARGIN),
    ({"margin": 2, "form": "gate"}, MARGIN),
    *(({"orders": orders, "form": "gate"}, ORDERS.format("gate")) for orders in ("random", "fixed")),
    *(({"orders": "random", "form": form}, ORDERS.format(form)) for form in ("satisfaction", "proxy")),
]
"""Arguments of `judge`, and how the sentence begins."""
TAKEN: list[dict[str, Any]] = [
    {"margin": 2, "panel": ["simulated:noise=0.2"], "cascade": True},
    {"orders": "both", "form": "gate"},
    {"orders": "random"},
    {},
]


def options(given: dict[str, Any]) -> list[str]:
    """As they are written at the command line."""
    written: list[str] = []
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        written += [f"--{name}"] if value is True else [part for one in values for part in (f"--{name}", str(one))]
    return written


async def called(deps: Deps, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether a call over MCP was refused, and the sentence or the result."""
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await session.call_tool(tool, arguments)
    (content,) = found.content
    assert isinstance(content, TextContent)
    return bool(found.is_error), content.text if found.is_error else found.structured_content


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_the_command_refuses_what_would_do_nothing(
    misjudge: Misjudge, folder: Path, given: dict[str, Any], said: str
) -> None:
    with closing(open_store(folder / ".misjudge" / "misjudge.db")) as store:
        stored(store, pair_records(1))
        before = dump(store)
    refused = misjudge("judge", "a", "--judge", "simulated", *options(given))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"misjudge: {said}")
    with closing(open_store(folder / ".misjudge" / "misjudge.db")) as store:
        assert dump(store) == before


@pytest.mark.parametrize(("given", "said"), REFUSED)
async def test_the_tool_refuses_what_would_do_nothing(deps: Deps, given: dict[str, Any], said: str) -> None:
    stored(deps.store, pair_records(1))
    refused, sentence = await called(deps, "judge", audit="a", judge="simulated", **given)
    assert refused and said in sentence


@pytest.mark.parametrize("given", TAKEN)
async def test_what_does_something_is_taken(deps: Deps, given: dict[str, Any]) -> None:
    stored(deps.store, pair_records(1))
    refused, found = await called(deps, "judge", audit="a", judge="simulated", **given)
    assert not refused and found["run"]["state"] == "done"


def test_a_comparison_refuses_a_margin_without_a_cascade(misjudge: Misjudge, folder: Path) -> None:
    folder.joinpath("run.toml").write_text('audit = "a"\nagents = ["diligent", "hasty"]\nmargin = 2', encoding="utf-8")
    agents = ("--agents", "diligent,hasty", "--audit", "a", "--margin", "2")
    for given in (agents, ("run.toml",)):
        refused = misjudge("run", *given, "--judge", "simulated")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith(f"misjudge: {MARGIN}")


async def test_a_recorded_comparison_refuses_a_margin_without_a_cascade(deps: Deps) -> None:
    given = {"task_id": "t", "task_prompt": "Do it.", "agent_a": "x", "agent_b": "y", "trajectory_a": "Done."}
    refused, said = await called(deps, "run_pair", audit="a", judge="simulated", **given, trajectory_b="No.", margin=1)
    assert refused and MARGIN in said


async def test_the_verdicts_of_a_panel_can_be_told_apart(deps: Deps) -> None:
    stored(deps.store, pair_records(2))
    _, found = await called(deps, "judge", audit="a", judge="simulated", panel=["simulated:noise=0.2"])
    shown = [(verdict["judge"], verdict["pair_id"], verdict["order"]) for verdict in found["verdicts"]]
    judges = ("simulated", "simulated:noise=0.2")
    assert sorted(shown) == [
        (label, pair, order) for label in judges for pair in ("p0", "p1") for order in ("AB", "BA")
    ]


@pytest.mark.parametrize(("form", "scores"), [("satisfaction", {0.9, 0.2}), ("gate", {6, 2}), ("proxy", {6, 2})])
async def test_a_score_is_called_a_score_whatever_its_form(deps: Deps, form: str, scores: set[float]) -> None:
    stored(deps.store, pair_records(3))
    _, found = await called(deps, "judge", audit="a", judge="simulated:lenience=0", form=form)
    assert {verdict["score"] for verdict in found["verdicts"]} == scores
    assert all("satisfaction" not in verdict and verdict["judge"] == found["judge"] for verdict in found["verdicts"])
