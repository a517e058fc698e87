"""Judges of one model or family, and of that of the simulated user, are warned of wherever they are summed up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import episode, lone, pair, verdict
from live_parts import SHOP, request, shop
from loopback import VirtualClock
from misjudge_storage.asked_records import AskedJudge, AskedModels
from misjudge_storage.types import Judge, Log, Record
from misjudge_tools.gateway.ways import ModelChoice
from misjudge_tools.judge import judge
from misjudge_tools.judging.choice import JudgingSpec
from misjudge_tools.profiles import ModelSettings, Profile
from misjudge_tools.requests import JudgeRequest, SummarizeRequest
from misjudge_tools.run_pair import run_pair
from misjudge_tools.summarize_audit import summarize_audit
from misjudge_tools.summary.kinship import asked_now, shared_warnings, stated_families
from operations import PromptJudge, count, keyed, opened, pair_records, stored

ERR = "they may err together, so their agreement proves little."
FAVOUR = "a judge may favour words like its own."
OF_QWEN = f"the family qwen: {FAVOUR}"


def warned(judges: str, users: str = "", stated: dict[str, str] | None = None) -> tuple[str, ...]:
    """Of judges written `label=model` (satisfaction ones `label:=model`) and users' models."""
    asked = []
    for one in judges.split():
        label, _, model = one.partition("=")
        asked.append(AskedJudge(label.rstrip(":"), "satisfaction" if label.endswith(":") else "pairwise", model))
    return shared_warnings(AskedModels(tuple(asked), tuple(users.split())), stated or {})


@pytest.mark.parametrize(
    ("judges", "users", "said"),
    [
        ("a=qwen-max b=qwen2.5-7b c=QwQ-32B", "", f"Judges a, b and c share the family qwen: {ERR}"),
        ("a=gpt-4o b=GPT-4o", "", f"Judges a and b are one model, gpt-4o: {ERR}"),
        ("a=own-1 b=own-1", "", f"Judges a and b are one model, own-1: {ERR}"),
        ("a=gpt-4o b=gpt-4o c=o3-mini", "", f"Judges a, b and c share the family openai: {ERR}"),
        ("a=gpt-4o", "openai/gpt-5", f"The simulated user and judge a share the family openai: {FAVOUR}"),
        ("a=own-1", "own-1", f"The simulated user and judge a are one model, own-1: {FAVOUR}"),
        ("a=own-1 a:=own-1", "own-1", f"The simulated user and judge a are one model, own-1: {FAVOUR}"),
    ],
)
def test_what_is_shared_is_said_in_one_sentence(judges: str, users: str, said: str) -> None:
    assert warned(judges, users) == (said,)


@pytest.mark.parametrize(
    ("judges", "users"),
    [("a=gpt-4o b=claude-3", "qwen-max"), ("a=own-1 b=own-2", "own-3"), ("a=gpt-4o b:=gpt-4o", ""), ("", "gpt-4o")],
)
def test_what_is_not_shared_is_not_warned_of(judges: str, users: str) -> None:
    assert warned(judges, users) == ()


def test_a_stated_family_stands_above_the_one_that_the_name_says() -> None:
    stated = {"own-1": "ours", "own-2": "ours", "gpt-4o": "theirs"}
    assert warned("a=own-1 b=OWN-2", stated=stated) == (f"Judges a and b share the family ours: {ERR}",)
    assert warned("a=gpt-4o b=o3-mini", stated=stated) == ()


def test_few_sentences_say_it_of_many_judges() -> None:
    families = ("gpt-4", "claude-3", "qwen-max", "glm-4", "kimi-k2")
    many = " ".join(f"{model}-{n}={model}-{n}" for model in families for n in range(7))
    found = warned(many, "gpt-4-u")
    assert len(found) == 4
    assert found[0].startswith("Judges gpt-4-0, gpt-4-1, gpt-4-2, gpt-4-3, gpt-4-4 and 2 more share")
    assert found[3] == "3 more groups share a model or a family."
    four = warned(" ".join(f"{model}-{n}={model}-{n}" for model in families[:4] for n in range(2)))
    assert len(four) == 4 and four[3].startswith("Judges glm-4-0 and glm-4-1 share the family zhipu")


def test_families_are_those_that_profiles_state_of_their_models() -> None:
    models = ModelSettings(
        roles={"judge": Profile(model="Own-1", family="Ours"), "user_sim": Profile(family="nobody's")},
        profiles={"p": Profile(model="own-2", family="ours"), "q": Profile(model="own-3")},
    )
    assert stated_families(models) == {"own-1": "ours", "own-2": "ours"}


def test_of_a_run_only_real_models_are_asked() -> None:
    def spec(model: str, *, simulated: bool = False) -> JudgingSpec:
        return JudgingSpec(
            kind="gateway", model=model, profile=model, simulated=simulated, form="pairwise", language="en"
        )

    user = ModelChoice(kind="gateway", model="u", role="user_sim")
    expected = AskedModels((AskedJudge("a", "pairwise", "a"),), ("u",))
    assert asked_now((spec("a"), spec("b", simulated=True)), user) == expected
    assert asked_now((), user.model_copy(update={"simulated": True})) == AskedModels(()) == asked_now(())


def records(*judges: Judge, user: str = "") -> Sequence[Record]:
    logs = [Log(role="user_sim", model=user)] if user else []
    return [
        pair("p", None, None, *(verdict("A", judge=one) for one in judges)),
        lone(episode("x", task="t2", logs=logs), 2),
    ]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            None,
            [f"Judges a and b share the family qwen: {ERR}", f"The simulated user and judges a and b share {OF_QWEN}"],
        ),
        ("a", [f"The simulated user and judge a share {OF_QWEN}"]),
        ("c", []),
    ],
)
async def test_every_summary_warns_of_the_judges_that_it_is_about(
    tmp_path: Path, chosen: str | None, said: list[str]
) -> None:
    names = {"a": "qwen-a", "b": "qwen-b", "c": "gpt-4o"}
    judges = [Judge(label=label, form="pairwise", model=model) for label, model in names.items()]
    models = ModelSettings(profiles={"u": Profile(model="u-1", family="Qwen")})
    async with opened(tmp_path / "s.db", models) as deps:
        stored(deps.store, records(*judges, user="u-1"))
        summary = await summarize_audit(SummarizeRequest(audit="a", judge=chosen), deps)
    assert [one for one in summary.warnings if "share" in one] == said


async def test_a_judge_that_never_answered_is_not_warned_of(tmp_path: Path) -> None:
    other = Judge(label="b", form="pairwise", model="Judge-M")
    said = f"Judges b and judge-m are one model, Judge-M: {ERR}"
    down = True
    async with PromptJudge(down=lambda: down) as server:
        settings = keyed(server.base_url, max_attempts=1)
        async with opened(tmp_path / "s.db", settings, concurrency=1, clock=VirtualClock()) as deps:
            stored(deps.store, [*pair_records(1), pair("q", None, None, verdict("A", judge=other))])

            async def warned_after(**given: Any) -> bool:
                await judge(JudgeRequest.model_validate({"audit": "a", **given}), deps)
                return said in (await summarize_audit(SummarizeRequest(audit="a"), deps)).warnings

            assert not await warned_after(), "what it was asked got no reply"
            assert count(deps.store, "verdicts", "unscored_reason = 'provider_error'") > 0
            down = False
            assert await warned_after()


async def test_simulated_judges_are_not_warned_of(tmp_path: Path) -> None:
    judges = [Judge(label=label, form="pairwise", model="qwen", simulated=True) for label in ("a", "b")]
    async with opened(tmp_path / "s.db") as deps:
        stored(deps.store, records(*judges, user="qwen"))
        assert not any(
            "share" in said or "one model" in said
            for said in (await summarize_audit(SummarizeRequest(audit="a"), deps)).warnings
        )


async def test_a_judging_by_a_panel_of_one_family_says_so_before_it_asks(tmp_path: Path) -> None:
    async with PromptJudge() as server, opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
        stored(deps.store, pair_records(2))
        planned = JudgeRequest(audit="a", judge="qwen-max", panel=["qwen-plus"], dry_run=True)
        found = await judge(planned, deps)
        assert f"Judges qwen-max and qwen-plus share the family qwen: {ERR}" in found.warnings
        assert server.asked == []


async def test_a_comparison_whose_judge_is_like_its_simulated_user_says_so_before_it_asks(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db", episodes=SHOP) as deps:
        asked = request(suite=shop(tmp_path / "shop"), judge="qwen-max", user="qwen-plus", dry_run=True)
        found = await run_pair(asked, deps)
        assert f"The simulated user and judge qwen-max share the family qwen: {FAVOUR}" in found.warnings
        scripted = await run_pair(asked.model_copy(update={"user": "scripted"}), deps)
        assert not any("share" in said for said in scripted.warnings)
