"""The call that a cut result names for its couples of labellers brings the rest of them."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

from mcp import Client

from builders import episode, label, pair
from misjudge_server.app import LazyDeps, build_app
from misjudge_server.fitting import LIMIT, size_of
from misjudge_tools.deps import Deps
from operations import stored

PEOPLE = [f"annotator number {n} of the panel" for n in range(12)]


async def test_every_couple_is_reached_by_the_calls_that_are_named(deps: Deps) -> None:
    sides = [[episode(f"{side}{n}", task=f"t{n}") for side in "xy"] for n in range(8)]
    said = [[label("A" if (n + who) % 3 else "B", name) for who, name in enumerate(PEOPLE)] for n in range(8)]
    stored(deps.store, [pair(f"p{n}", a, b, gold=said[n], line=n + 1) for n, (a, b) in enumerate(sides)])
    seen: list[frozenset[str]] = []
    asked: dict[str, Any] = {"audit": "a", "sections": ["agreement"]}
    async with Client(build_app(LazyDeps(deps))) as session:
        while asked:
            result = await session.call_tool("summarize_audit", asked)
            found = result.structured_content
            assert found is not None and size_of(found) <= LIMIT
            seen += [frozenset((row["first"], row["second"])) for row in found["agreement"]["rows"]]
            call = re.search(r"sections=\['(agreement\.rows\.\d+)'\]", found.get("left_out_next", ""))
            asked = {"audit": "a", "sections": [call[1]]} if call else {}
    assert len(seen) == 66 and set(seen) == {frozenset(couple) for couple in combinations(PEOPLE, 2)}
