"""Judges by a profile: an own prompt, another form of the reply, own parameters, and a name."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from loopback import LoopbackServer, completion
from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import template_hash
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.types import Form
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Endpoint, Price
from misjudge_tools.judge import judge
from misjudge_tools.judging.choice import choose_judge, judge_of
from misjudge_tools.judging.verdicts import ReplyForm
from misjudge_tools.manage_runs import manage_runs
from misjudge_tools.profiles import ModelSettings, Profile, PromptText
from misjudge_tools.requests import JudgeRequest, RunPairRequest, RunsRequest
from misjudge_tools.results import RunReport
from misjudge_tools.run_pair import run_pair
from misjudge_tools.runs.report import run_report
from operations import KEY, count, dump, opened, pair_record, rows, stored, verdict_text, verdicts

OWN = "Say which is better.\n---user---\nTask: {task}\n\nFirst:\n{response_a}\n\nSecond:\n{response_b}\n"
ONE = "Say how good it is.\n---user---\nTask: {task}\n\nThis:\n{response}\n"
LETTER = ReplyForm(kind="letter")
GONE = "The judge was chosen by the profile 'strict', which misjudge.toml does not hold. Put it back"


def prompt(text: str = OWN, name: str = "own") -> PromptText:
    return PromptText(name=name, text=text)


def strict(server: LoopbackServer | None = None, **values: Any) -> ModelSettings:
    """A profile called `strict` beside the judge's own model."""
    there = Endpoint(base_url=server.base_url if server else "http://127.0.0.1:9", key=SecretStr(KEY), concurrency=1)
    own = Profile(name="strict", model="strict-m", endpoint=there, **values)
    return ModelSettings(roles={"judge": Profile(model="judge-m", endpoint=there)}, profiles={"strict": own})


@asynccontextmanager
async def asking(where: Path, reply: str, **values: Any) -> AsyncIterator[tuple[Deps, LoopbackServer]]:
    """One stored pair, and a gateway of the profile `strict` that always replies the same."""
    async with LoopbackServer() as server, opened(where, strict(server, **values), concurrency=1) as deps:
        server.always(completion(reply))
        stored(deps.store, [pair_record("p", "Cancel order 1.", ("It is cancelled.", "I could not."))])
        yield deps, server


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", "judge": "strict", **values})


async def resumed(deps: Deps, run: str, **limits: Any) -> RunReport:
    (report,) = (await manage_runs(RunsRequest.model_validate({"action": "resume", "run": run, **limits}), deps)).runs
    return report


def fingerprint(form: Form = "pairwise", name: str = "strict", **values: Any) -> str:
    return judge_fingerprint(judge_of(choose_judge(name, form, "en", strict(**values))))


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        (LETTER, "A"),
        (ReplyForm(kind="tag"), "The first kept its word: [[A]]"),
        (ReplyForm(kind="regex", pattern=r"Verdict: (\w+)"), "Well.\nVerdict: A"),
        (ReplyForm(kind="letter", labels=(("first", "A"), ("second", "B"), ("both", "tie"))), "First"),
    ],
    ids=["letter", "tag", "regex", "labels"],
)
async def test_a_profile_judges_with_its_own_prompt_and_form_of_reply(
    tmp_path: Path, form: ReplyForm, reply: str
) -> None:
    async with asking(tmp_path / "s.db", reply, prompt=prompt(), reply_form=form) as (deps, server):
        result = await judge(asked(), deps)
        logs = rows(deps.store, "SELECT DISTINCT model, prompt_version, prompt_hash, params FROM judge_logs")
    assert (result.run.state, result.run.unscored) == ("done", {})
    assert {verdict.order: verdict.winner for verdict in result.verdicts} == {"AB": "A", "BA": "B"}
    (log,) = logs
    assert (log["model"], log["prompt_version"], log["prompt_hash"]) == ("strict-m", "own", template_hash(OWN))
    assert json.loads(log["params"]) == {"model": "strict-m", "temperature": 0.0, "max_tokens": 1024}
    for request in server.requests:
        assert "response_format" not in request.body
        system, user = request.body["messages"]
        assert system == {"role": "system", "content": "Say which is better."}
        assert user["content"].startswith("Task: Cancel order 1.\n\nFirst:\n=== BEGIN RESPONSE A ")
        assert "The order is cancelled." not in user["content"], "the criteria, which this prompt does not use"
    shown = [request.body["messages"][1]["content"] for request in server.requests]
    assert [text.index("It is cancelled.") < text.index("I could not.") for text in shown] == [True, False]


async def test_an_own_prompt_for_satisfaction_reads_a_number(tmp_path: Path) -> None:
    own = {"satisfaction": prompt(ONE)}
    async with asking(tmp_path / "s.db", "0.9", prompts=own, reply_form=LETTER) as (deps, server):
        result = await judge(asked(form="satisfaction"), deps)
    assert [verdict.score for verdict in result.verdicts] == [0.9, 0.9]
    assert all("This:\n=== BEGIN RESPONSE " in request.body["messages"][1]["content"] for request in server.requests)


async def test_an_own_prompt_with_the_usual_form_of_reply_asks_for_json(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", verdict_text("A", 4, 1), prompt=prompt()) as (deps, server):
        result = await judge(asked(), deps)
    assert {verdict.order: verdict.score_a for verdict in result.verdicts} == {"AB": 4, "BA": 1}
    assert {request.body["response_format"]["type"] for request in server.requests} == {"json_schema"}


async def test_a_reply_in_another_form_than_the_one_declared_is_unscored(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", verdict_text("A"), prompt=prompt(), reply_form=LETTER) as (deps, _):
        result = await judge(asked(), deps)
    assert (result.run.state, result.run.unscored) == ("done", {"parse_error": 2})


async def test_a_given_pair_is_judged_with_the_profile_too(tmp_path: Path) -> None:
    given = {"audit": "a", "task_id": "t", "task_prompt": "Do it.", "agent_a": "x", "agent_b": "y", "judge": "strict"}
    request = RunPairRequest.model_validate({**given, "trajectory_a": "Done.", "trajectory_b": "No."})
    async with asking(tmp_path / "s.db", "A", prompt=prompt(), reply_form=LETTER) as (deps, server):
        result = await run_pair(request, deps)
        refused = request.model_copy(update={"judge": "strict", "task_id": "u"})
    assert result.pair is not None and result.pair.row is not None and result.pair.row["judge"] == "strict"
    assert result.asked_at == {"judge": f"strict-m, from the default, at {server.base_url}, from the default"}
    async with asking(tmp_path / "s.db", "A", prompt=prompt("Only this.\n---user---\n{task}")) as (deps, _):
        before = dump(deps.store)
        with pytest.raises(InvalidInput, match=r"Prompt own lacks \{response_a\}, \{response_b\}"):
            await run_pair(refused, deps)
        assert dump(deps.store) == before


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        ("Hm.\n---user---\n{task}\n{response_b}", "pairwise", r"Prompt own lacks \{response_a\}\. Add it"),
        ("Hm.\n---user---\n{response_a}\n{response_b}", "pairwise", r"Prompt own lacks \{task\}\."),
        (OWN + "{agent}", "pairwise", r"unknown variable \{agent\}\. Allowed are \{constraints\} \(also "),
        (OWN.replace("---user---", ""), "pairwise", "has 0 lines '---user---' and needs exactly one"),
        ("{task}" + OWN, "pairwise", r"uses \{task\} in its system message"),
        (
            OWN,
            "satisfaction",
            r"Prompt own is for pairs: form satisfaction knows .*it has no \{response_a\}, \{response_b\}",
        ),
        (ONE, "pairwise", r"Prompt own is for single responses: form pairwise knows .*it has no \{response\}"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_prompt_that_cannot_be_used_is_refused_before_anything_is_stored(
    tmp_path: Path, text: str, form: str, said: str, dry_run: bool
) -> None:
    async with asking(tmp_path / "s.db", "A", prompts={form: prompt(text)}, reply_form=LETTER) as (deps, server):
        before = dump(deps.store)
        with pytest.raises(InvalidInput, match=said):
            await judge(asked(form=form, dry_run=dry_run), deps)
        assert dump(deps.store) == before
        assert server.requests == []


def test_every_value_of_a_profile_that_bears_on_a_verdict_makes_another_judge() -> None:
    different: list[dict[str, Any]] = [
        {},
        {"prompt": prompt()},
        {"prompt": prompt(OWN + "Be brief.")},
        {"prompt": prompt(), "reply_form": LETTER},
        {"prompts": {"pairwise": prompt(ONE.replace("{response}", "{answer_1}{answer_2}"))}},
        {"reply_form": LETTER},
        {"reply_form": ReplyForm(kind="tag")},
        {"reply_form": ReplyForm(kind="letter", labels=(("x", "A"), ("y", "B")))},
        {"reply_form": ReplyForm(kind="letter", labels=(("x", "B"), ("y", "A")))},
        {"reply_form": ReplyForm(kind="regex", pattern="(A|B)$")},
        {"reply_form": ReplyForm(kind="regex", pattern="(A|B)")},
        {"temperature": 0.5},
        {"max_tokens": 100},
    ]
    assert len({fingerprint(**values) for values in different}) == len(different)


def test_values_that_bear_on_no_verdict_leave_the_judge_the_same() -> None:
    same: list[dict[str, Any]] = [
        {"temperature": 0.0},
        {"max_tokens": 1024},
        {"price": Price(input=1, output=2)},
        {"family": "some"},
        {"origins": {"model": "profile strict (misjudge.toml)"}},
        {"reply_form": ReplyForm(kind="json")},
        {"prompts": {"gate": prompt(ONE)}},
    ]
    assert {fingerprint(**values) for values in same} == {fingerprint(), fingerprint(name="strict-m")}
    windows = prompt("\ufeff" + OWN.replace("\n", "\r\n"))
    assert fingerprint(prompt=windows) == fingerprint(prompt=prompt())


async def test_temperature_and_longest_reply_of_a_profile_are_sent_and_stored_with_the_judge(tmp_path: Path) -> None:
    values = {"temperature": 0.7, "max_tokens": 300}
    async with asking(tmp_path / "s.db", verdict_text("A"), **values) as (deps, server):
        await judge(asked(), deps)
        (found,) = rows(deps.store, "SELECT params FROM judges")
    assert {(request.body["temperature"], request.body["max_tokens"]) for request in server.requests} == {(0.7, 300)}
    assert json.loads(found["params"]) == {**values, "reply_form": "json"}


async def test_a_judge_chosen_by_its_profile_has_the_profiles_name_as_its_label(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", verdict_text("A"), temperature=0.5) as (deps, server):
        result = await judge(asked(), deps)
        assert result.judge == "strict"
        assert rows(deps.store, "SELECT label, model FROM judges") == [{"label": "strict", "model": "strict-m"}]
        assert {request.body["model"] for request in server.requests} == {"strict-m"}
        other = await judge(asked(judge="strict-m"), deps)
        assert (other.judge, other.run.total) == ("strict-m", 2), "its own temperature makes it another judge"


async def test_a_profile_and_its_model_that_ask_the_same_are_one_judge(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", verdict_text("A")) as (deps, server):
        await judge(asked(), deps)
        again = await judge(asked(judge="strict-m"), deps)
        assert (again.judge, again.already_stored, again.run.total) == ("strict", 2, 0)
        assert len(server.requests) == 2


async def test_a_run_goes_on_with_the_prompt_that_it_began_with(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", "A", prompt=prompt(), reply_form=LETTER) as (deps, server):
        run = (await judge(asked(max_calls=1), deps)).run
        assert (run.state, run.done) == ("cancelled", 1)
        changed = strict(server, prompt=prompt("Now in other words.\n---user---\n{task}{response_a}{response_b}"))
        async with opened(tmp_path / "s.db", changed) as later:
            report = await resumed(later, run.run, max_calls=10)
        assert (report.state, report.done, report.unscored) == ("done", 2, {})
        assert {request.body["messages"][0]["content"] for request in server.requests} == {"Say which is better."}
        assert len(rows(deps.store, "SELECT DISTINCT prompt_hash, judge_id FROM judge_logs")) == 1
        assert [verdict["status"] for verdict in verdicts(deps.store)] == ["scored"] * 2


async def test_a_prompt_that_was_changed_begins_another_judge(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", "A", prompt=prompt(), reply_form=LETTER) as (deps, server):
        await judge(asked(), deps)
        changed = strict(server, prompt=prompt(OWN.replace("First", "One")), reply_form=LETTER)
        async with opened(tmp_path / "s.db", changed) as later:
            result = await judge(asked(), later)
        assert (result.run.total, result.already_stored, count(deps.store, "judges")) == (2, 0, 2)
        assert result.judge.startswith("strict") and result.judge != "strict", "the label was taken"


async def test_a_profile_that_is_gone_when_its_run_goes_on_is_named_and_nothing_is_asked(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", verdict_text("A")) as (deps, server):
        run = (await judge(asked(max_calls=1), deps)).run.run
        without = strict(server).model_copy(update={"profiles": {}})
        async with opened(tmp_path / "s.db", without) as later:
            for limits in ({}, {"max_calls": 10}):
                with pytest.raises(InvalidInput, match=GONE):
                    await resumed(later, run, **limits)
            await later.worker.start(run)  # as by a process that attaches to it
            await later.worker.wait(run, 30)
            report = run_report(later.store, run)
            assert (report.state, report.done) == ("failed", 1)
            assert report.reason is not None and report.reason.startswith(GONE)
        assert len(server.requests) == 1
        assert (await resumed(deps, run, max_calls=10)).state == "done"


async def test_a_profile_that_moved_is_asked_at_its_new_address(tmp_path: Path) -> None:
    async with asking(tmp_path / "s.db", verdict_text("A")) as (deps, server), LoopbackServer() as elsewhere:
        elsewhere.always(completion(verdict_text("B")))
        run = (await judge(asked(max_calls=1), deps)).run.run
        async with opened(tmp_path / "s.db", strict(elsewhere)) as later:
            assert (await resumed(later, run, max_calls=10)).state == "done"
        assert (len(server.requests), len(elsewhere.requests)) == (1, 1)
