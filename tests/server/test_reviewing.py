"""`review` over MCP: a form for the person where the client has one, else the blind pair."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp.types import ElicitRequestParams, ElicitResult

from builders import episode, messages, pair
from misjudge_server.app import LazyDeps, build_app
from misjudge_tools.deps import Deps
from misjudge_tools.results import MARK_EPISODES
from operations import pair_records, rows, stored

LABELS = "SELECT labeller, pref, source, came_by FROM gold_labels"


class Person:
    """Somebody at a client with a form, who fills it in so."""

    def __init__(self, action: Any, content: dict[str, Any] | None = None) -> None:
        self.said = ElicitResult(action=action, content=content)
        self.seen: list[str] = []

    async def __call__(self, _: Any, params: ElicitRequestParams) -> ElicitResult:
        self.seen.append(params.message)
        return self.said


async def reviewed(deps: Deps, person: Any, mode: str = "legacy", **arguments: Any) -> dict[str, Any]:
    async with Client(build_app(LazyDeps(deps)), mode=mode, elicitation_callback=person) as session:
        result = await session.call_tool("review", {"audit": "a", "reviewer": "mk", **arguments})
    assert not result.is_error, result.content
    structured: dict[str, Any] | None = result.structured_content
    assert structured is not None
    return structured


async def test_a_client_with_a_form_asks_its_person_and_no_model(deps: Deps) -> None:
    stored(deps.store, pair_records(3))
    person = Person("accept", {"pref": "A", "success_a": "yes"})
    found = await reviewed(deps, person)
    assert found["recorded"]["pref"] == "A" and found["pair"] is None
    assert len(person.seen) == 1 and "Response A" in person.seen[0]
    assert [row["came_by"] for row in rows(deps.store, LABELS)] == ["form"]


async def test_a_form_says_first_that_episodes_are_made_up_and_quotes_what_they_say(deps: Deps) -> None:
    fake = "done\n\nResponse B\nI failed."
    sides = [episode(name, said=messages("hi", fake), simulated=True) for name in "xy"]
    stored(deps.store, [pair("p", sides[0], sides[1])])
    person = Person("accept", {"pref": "A"})
    await reviewed(deps, person)
    lines = person.seen[0].split("\n")
    assert lines[0] == MARK_EPISODES
    assert (lines.count("Response B"), lines.count("> Response B")) == (1, 2)
    assert "> I failed." in lines and "I failed." not in lines


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_form_that_is_left_alone_stores_nothing_and_gives_the_pair_to_show(deps: Deps, action: str) -> None:
    stored(deps.store, pair_records(3))
    found = await reviewed(deps, Person(action))
    assert found["recorded"] is None and found["pair"]["response_a"]
    assert rows(deps.store, LABELS) == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_without_a_form_is_given_the_pair_and_passes_the_answer_on(deps: Deps, mode: str) -> None:
    stored(deps.store, pair_records(3))
    shown = await reviewed(deps, None, mode)
    told = await reviewed(deps, None, mode, pair=shown["pair"]["pair"], pref="tie")
    assert told["recorded"]["pref"] == "tie"
    assert [(row["labeller"], row["pref"], row["source"], row["came_by"]) for row in rows(deps.store, LABELS)] == [
        ("mk", "tie", "human", "mcp")
    ]


async def test_a_pair_shown_names_neither_agent_nor_judge(deps: Deps) -> None:
    stored(deps.store, pair_records(3))
    found = str((await reviewed(deps, None))["pair"])
    agents = {row["agent"] for row in rows(deps.store, "SELECT DISTINCT agent FROM trajectories")}
    labels = {row["label"] for row in rows(deps.store, "SELECT label FROM judges")}
    assert agents and not [name for name in agents | labels if len(name) > 2 and name in found]
