"""Completion of the arguments of prompts and addresses, in both protocol eras."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import Completion, PromptReference, ResourceTemplateReference

from builders import JUDGE, episode, pair, verdict
from misjudge_server.app import LazyDeps, build_app
from misjudge_tools.deps import Deps
from operations import pair_records, stored

MODES = ["auto", "legacy"]
PROFILES = '[profiles.strong]\nmodel = "m"\n\n[profiles.simple]\nmodel = "n"\n'


async def of_prompt(session: Client, prompt: str, argument: str, typed: str = "", **said: str) -> list[str]:
    ref = PromptReference(name=prompt)
    given = {"name": argument, "value": typed}
    return (await session.complete(ref, given, context_arguments=said or None)).completion.values


async def completion(session: Client, place: str, argument: str, typed: str = "", **said: str) -> Completion:
    ref = ResourceTemplateReference(uri=f"misjudge://{place}")
    given = {"name": argument, "value": typed}
    return (await session.complete(ref, given, context_arguments=said or None)).completion


async def of_address(session: Client, place: str, argument: str, typed: str = "", **said: str) -> list[str]:
    return (await completion(session, place, argument, typed, **said)).values


@pytest.mark.parametrize("mode", MODES)
async def test_audits_and_their_judges_are_completed_by_how_they_begin(deps: Deps, mode: str) -> None:
    for audit, labels in (("June 六月", ("strong", "Weak 弱")), ("july", ("other",)), ("Spring", ())):
        verdicts = [
            verdict("A", "AB", judge=JUDGE.model_copy(update={"label": label, "model": label})) for label in labels
        ]
        stored(deps.store, [pair("p", episode("one"), episode("two"), *verdicts)], audit)
    async with Client(build_app(LazyDeps(deps)), mode=mode) as session:
        assert session.server_capabilities.completions is not None
        assert set(await of_prompt(session, "audit_judge", "audit")) == {"Spring", "july", "June 六月"}
        assert set(await of_prompt(session, "release_gate", "baseline", "JU")) == {"july", "June 六月"}
        assert await of_prompt(session, "explain_misselection", "audit", "june 六") == ["June 六月"]
        assert await of_prompt(session, "release_gate", "judge", "", audit="June 六月") == ["Weak 弱", "strong"]
        assert await of_prompt(session, "release_gate", "judge", "w", audit="June 六月") == ["Weak 弱"]
        assert await of_prompt(session, "release_gate", "judge", "", audit="nope") == []
        assert set(await of_prompt(session, "explain_misselection", "judge")) == {"strong", "Weak 弱", "other"}
        assert await of_prompt(session, "audit_judge", "judge", "o", audit="july") == ["other"]
        assert await of_prompt(session, "audit_judge", "judge", "", audit="") == [
            *("simulated", "local"),
            *("Weak 弱", "other", "strong"),
        ]
        assert await of_address(session, "audits/{audit}/summary", "audit", "s") == ["Spring"]


@pytest.mark.parametrize("mode", MODES)
async def test_suites_kinds_and_ids_are_completed_too(deps: Deps, mode: str) -> None:
    stored(
        deps.store, [pair(f"p{n}", episode("one", task=f"t{n}"), episode("two", task=f"t{n}")) for n in range(4)], "a b"
    )
    async with Client(build_app(LazyDeps(deps)), mode=mode) as session:
        assert await of_prompt(session, "audit_judge", "data", "supp") == ["support_desk"]
        assert await of_address(session, "audits/{audit}/{kind}", "kind", "p") == ["pairs", "probes"]
        assert await of_address(session, "audits/{audit}/pairs/{pair}", "pair", "p", audit="a b") == [
            "p0",
            "p1",
            "p2",
            "p3",
        ]
        ids = await of_address(session, "audits/{audit}/{kind}/{id}", "id", "t2", audit="a b", kind="tasks")
        assert ids == ["t2"]
        assert await of_address(session, "audits/{audit}/{kind}/{id}", "id", "t", audit="a b", kind="nope") == []
        assert await of_address(session, "audits/{audit}/pairs/{pair}", "pair") == []
        assert await of_address(session, "audits/{audit}/pairs/{pair}", "pair", "%", audit="a b") == []
        assert await of_address(session, "audits/{audit}/pairs/{pair}", "pair", "P3", audit="a b") == ["p3"]
        assert await of_address(session, "reports/{path}", "path") == []
        assert await of_prompt(session, "label_session", "reviewer") == []


async def test_at_most_a_hundred_values_are_given(deps: Deps) -> None:
    for n in range(103):
        stored(deps.store, pair_records(1), f"audit {n}")
    async with Client(build_app(LazyDeps(deps))) as session:
        found = await completion(session, "audits/{audit}", "audit", "AUDIT")
        assert (len(found.values), found.has_more) == (100, True)
        assert found.values[0] in {"audit 102", "audit 0"}
        fewer = await completion(session, "audits/{audit}", "audit", "audit 10")
        assert (len(fewer.values), fewer.has_more) == (4, False)


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_not_there_to_complete_is_a_sentence(deps: Deps, mode: str) -> None:
    async with Client(build_app(LazyDeps(deps)), mode=mode) as session:
        with pytest.raises(MCPError, match=r"There is no prompt 'audit'. Did you mean audit_judge"):
            await of_prompt(session, "audit", "judge")
        with pytest.raises(MCPError, match=r"There is no argument 'jugde' here. Arguments are: audit, judge, data."):
            await of_prompt(session, "audit_judge", "jugde")
        with pytest.raises(MCPError, match=r"There is no such template. Templates are: misjudge://audits/"):
            await of_address(session, "nothing/{audit}", "audit")
        with pytest.raises(MCPError, match=r"Arguments are: audit, pair."):
            await of_address(session, "audits/{audit}/pairs/{pair}", "kind")


async def test_completing_makes_no_store_and_needs_none_for_what_is_configured(folder: Path) -> None:
    (folder / "misjudge.toml").write_text(PROFILES, encoding="utf-8")
    deps = LazyDeps()
    async with Client(build_app(deps)) as session:
        assert await of_prompt(session, "audit_judge", "audit") == []
        assert await of_prompt(session, "audit_judge", "judge", "s") == ["simulated", "simple", "strong"]
        assert await of_prompt(session, "release_gate", "judge") == []
        assert await of_address(session, "audits/{audit}/logs/{log}", "log", audit="a") == []
        assert [path.name for path in folder.iterdir()] == ["misjudge.toml"]
        await session.call_tool("runs", {})
        assert await of_prompt(session, "rubric_baseline", "judge", "st") == ["strong"]
    await deps.close()
