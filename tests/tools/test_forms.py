"""The forms of judging on the whole way: what the judge sees, what it may answer, and what is stored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from live_parts import SHOP, ran, shop
from loopback import LoopbackServer, completion
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import AskedForm, Form, Message, Record, ToolCall
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.judge import judge
from misjudge_tools.judging.choice import JudgingSpec, choose_judge, judge_of, label_of, reply_schema
from misjudge_tools.judging.forms import FORMS
from misjudge_tools.judging.verdicts import ReplyForm, SatisfactionReading, read_satisfaction
from misjudge_tools.profiles import ModelSettings, Profile, PromptText
from misjudge_tools.requests import JudgedForm, JudgeRequest, SummarizeRequest
from misjudge_tools.summarize_audit import summarize
from operations import KEY, PromptJudge, keyed, opened, pair_record, pair_records, rows, stored

SCORED: tuple[Form, ...] = ("satisfaction", "gate", "proxy")
JSON = ReplyForm()
LABELS = ReplyForm(kind="letter", labels=(("first", "A"), ("second", "B")))
PAIRS = PromptText(name="mine", text="Which?\n---user---\n{question}\n{answer_a}\n{answer_b}\n")
ONE = PromptText(name="one", text="How good?\n---user---\n{question}\n{answer}\n")


def acted(pair_id: str) -> Record:
    """A pair whose first side calls a tool and whose second only promises."""
    record = pair_record(pair_id, "Cancel order 1.", ("It is cancelled.", "I will do it."), "A")
    first, second = record.episodes
    call = Message(role="assistant", tool_calls=(ToolCall(name="cancel_order", arguments='{"order": 1}', id="c1"),))
    result = Message(role="tool", content="cancelled: order 1", tool_call_id="c1")
    told = (call, result, *(first.trajectory.messages or ()))
    episode = first.model_copy(update={"trajectory": first.trajectory.model_copy(update={"messages": told})})
    return record.model_copy(update={"episodes": (episode, second)})


def asked(**values: Any) -> JudgeRequest:
    return JudgeRequest.model_validate({"audit": "a", **values})


def spec(
    name: str | None = None, form: AskedForm = "gate", models: ModelSettings | None = None, **own: Any
) -> JudgingSpec:
    return choose_judge(name, form, "en", models or keyed("http://127.0.0.1:9"), **own)


def strict(base_url: str = "http://127.0.0.1:9", **values: Any) -> ModelSettings:
    """A profile `strict` beside the judge's own model."""
    settings = keyed(base_url)
    own = Profile(name="strict", model="strict-m", endpoint=settings.role("judge").endpoint, **values)
    return settings.model_copy(update={"profiles": {"strict": own}})


@asynccontextmanager
async def replying(where: Path, reply: str, **values: Any) -> AsyncIterator[tuple[Deps, LoopbackServer]]:
    """One stored pair, and a gateway of the profile `strict` that always replies the same."""
    async with LoopbackServer() as server, opened(where, strict(server.base_url, **values)) as deps:
        server.always(completion(reply))
        stored(deps.store, [acted("p")])
        yield deps, server


@pytest.mark.parametrize(
    ("form", "reply", "expected"),
    [
        (JSON, '{"reason": "r", "score": 6}', SatisfactionReading(6.0, "r")),
        (JSON, '{"reason": "r", "score": 5.5}', SatisfactionReading(5.5, "r")),
        (JSON, '```json\n{"reason": "r", "score": 1,}\n```', SatisfactionReading(1.0, "r", repaired=True)),
        (JSON, '{"reason": "r", "score": 0}', "parse_error"),
        (JSON, '{"reason": "r", "score": 8}', "parse_error"),
        (JSON, '{"reason": "r", "score": "6"}', "parse_error"),
        (JSON, '{"reason": "r", "satisfaction": 0.9}', "parse_error"),
        (JSON, '{"reasons": "r", "score_a": 4, "score_b": 2, "winner": "A"}', "parse_error"),
        (JSON, '{"score": 2} {"score": 6}', "conflict"),
        (JSON, '{"reason": "<short>", "score": <1-7>}', "parse_error"),
        (ReplyForm(kind="letter"), "7", SatisfactionReading(7.0)),
        (ReplyForm(kind="letter"), "0.9", "parse_error"),
        (ReplyForm(kind="tag"), "Rating: [[5]]", SatisfactionReading(5.0, "Rating:")),
        (ReplyForm(kind="tag"), "[[A]]", "parse_error"),
        (ReplyForm(kind="regex", pattern=r"评分[:：](\d)"), "评分：6", SatisfactionReading(6.0)),
    ],
)
@pytest.mark.parametrize("of", ["gate", "proxy"])
def test_a_rating_from_one_to_seven_is_read_by_its_own_field(
    of: Form, form: ReplyForm, reply: str, expected: SatisfactionReading | str
) -> None:
    found = read_satisfaction(reply, form, FORMS[of])
    assert (found if isinstance(expected, SatisfactionReading) else found.unscored_reason) == expected


@pytest.mark.parametrize("form", SCORED)
def test_the_schema_of_a_form_asks_for_what_its_prompt_does(form: Form) -> None:
    wide, narrow = (json.loads(reply_schema(spec(name, form)) or "") for name in (None, "local"))
    asked_for = FORMS[form]
    assert list(wide["properties"]) == [asked_for.reason_key, asked_for.score_key] == wide["required"]
    low, high = int(asked_for.scale.low or 0), int(asked_for.scale.high or 0)
    for schema in (wide, narrow):
        for score in (low, high):
            jsonschema.validate({asked_for.reason_key: "r", asked_for.score_key: score}, schema)
        for wrong in (low - 1, high + 1, "5"):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({asked_for.reason_key: "r", asked_for.score_key: wrong}, schema)
    offered = narrow["properties"][asked_for.score_key]["enum"]
    assert offered == ([1, 2, 3, 4, 5, 6, 7] if asked_for.whole_scores else [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert wide["properties"][asked_for.score_key]["type"] == ("integer" if asked_for.whole_scores else "number")


async def test_the_gate_sees_what_was_done_and_the_proxy_only_what_was_said(tmp_path: Path) -> None:
    seen: dict[Form, list[str]] = {}
    async with PromptJudge(lambda turns: '{"reason": "r", "score": 6}') as server:
        async with opened(tmp_path / "s.db", keyed(server.base_url)) as deps:
            stored(deps.store, [acted("p")])
            for form in ("gate", "proxy"):
                server.asked.clear()
                result = await judge(asked(form=form), deps)
                assert (result.run.state, result.run.total, result.run.unscored) == ("done", 2, {})
                assert [verdict.score for verdict in result.verdicts] == [6, 6]
                seen[form] = [turns[1].content for turns in server.asked]
            judges = rows(deps.store, "SELECT form, scale_low, scale_high, threshold FROM judges ORDER BY form")
    assert [list(row.values()) for row in judges] == [["gate", 1, 7, 5], ["proxy", 1, 7, 5]]
    assert sum("[tool call] cancel_order" in prompt for prompt in seen["gate"]) == 1
    assert sum("[tool result] cancelled: order 1" in prompt for prompt in seen["gate"]) == 1
    assert not any("[tool" in prompt or "cancel_order" in prompt for prompt in seen["proxy"])
    assert all("The order is cancelled." in prompt for prompt in seen["gate"]), "the criteria"
    assert not any("The order is cancelled." in prompt for prompt in seen["proxy"])


async def test_the_simulated_judge_answers_every_form_and_each_has_its_section(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as deps:
        stored(deps.store, pair_records(4))
        for form in get_args(JudgedForm):
            assert (await judge(asked(form=form, judge="simulated"), deps)).run.state == "done"
        found = summarize(SummarizeRequest(audit="a"), deps.store)
    assert found.judge == "simulated", "one judge, whatever the form"
    assert found.satisfaction is not None and found.gate is not None and found.proxy is not None
    assert [one.threshold for one in (found.satisfaction, found.gate, found.proxy)] == [0.8, 5, 5]
    assert {one.n for one in (found.satisfaction, found.gate, found.proxy)} == {8}
    assert 1 <= found.gate.mean_satisfaction <= 7


async def test_a_run_scores_trajectories_by_every_signal_that_is_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db", episodes=SHOP) as deps:
        result = await ran(deps, suite=shop(tmp_path / "suite"), signals=["gate", "proxy"])
        stages = {stage.stage: stage.total for stage in result.run.stages}
        found = summarize(SummarizeRequest(audit="a"), deps.store)
    assert stages == {"rollout": 4, "pairwise": 4, "gate": 4, "proxy": 4}
    assert found.satisfaction is None and found.gate is not None and found.proxy is not None
    assert [one.satisfied is not None for one in result.agents] == [True, True], "by the gate"


async def test_a_pair_prompt_of_a_profile_leaves_the_scores_to_the_shipped_ones(tmp_path: Path) -> None:
    own: dict[str, Any] = {"prompt": PAIRS, "reply_form": LABELS}
    async with replying(tmp_path / "s.db", "first", **own) as (deps, server):
        assert (await judge(asked(judge="strict"), deps)).run.unscored == {}
        assert not any("response_format" in request.body for request in server.requests)
        server.always(completion('{"reason": "r", "satisfaction": 0.5}'))
        result = await judge(asked(judge="strict", form="satisfaction"), deps)
        versions = rows(deps.store, "SELECT DISTINCT form, label, prompt_version FROM judges ORDER BY form")
    assert (result.run.state, result.run.unscored) == ("done", {})
    assert {request.body["response_format"]["type"] for request in server.requests[2:]} == {"json_schema"}
    assert [list(row.values()) for row in versions] == [
        ["pairwise", "strict", "mine"],
        ["satisfaction", "strict", "judge_satisfaction.en.v1"],
    ]


async def test_run_pair_takes_a_profile_that_has_only_a_pair_prompt(tmp_path: Path) -> None:
    async with LoopbackServer() as server:
        models = strict(server.base_url, prompt=PAIRS, reply_form=ReplyForm(kind="letter"))
        async with opened(tmp_path / "s.db", models, episodes=SHOP) as deps:
            server.always(completion("A"))
            result = await ran(deps, suite=shop(tmp_path / "suite", 1), judge="strict", signals=["satisfaction"])
            unscored = rows(deps.store, "SELECT unscored_reason AS why, trajectory_id AS one FROM verdicts")
    assert result.run.state == "done"
    assert {(row["why"], row["one"] is None) for row in unscored} == {(None, True), ("parse_error", False)}
    shown = [request.body["messages"][0]["content"] for request in server.requests]
    assert sum(text == "Which?" for text in shown) == 2
    assert sum(text.startswith("Rate one response") for text in shown) == 2


async def test_prompts_by_form_are_used_for_their_form_alone(tmp_path: Path) -> None:
    async with replying(tmp_path / "s.db", "6", prompts={"gate": ONE}, reply_form=ReplyForm(kind="letter")) as (
        deps,
        server,
    ):
        gate = await judge(asked(judge="strict", form="gate"), deps)
        assert [verdict.score for verdict in gate.verdicts] == [6, 6]
        assert {request.body["messages"][0]["content"] for request in server.requests} == {"How good?"}
        server.always(completion('{"reason": "r", "score": 2}'))
        proxy = await judge(asked(judge="strict", form="proxy"), deps)
        assert [verdict.score for verdict in proxy.verdicts] == [2, 2]


def test_labels_belong_to_pairs() -> None:
    models = strict(prompts={"gate": ONE}, prompt=PAIRS, reply_form=LABELS)
    assert spec("strict", "pairwise", models).reply_form == LABELS
    assert spec("strict", "satisfaction", models).reply_form == JSON, "a shipped prompt asks for JSON"
    with pytest.raises(InvalidInput, match=r"reply form of strict has labels, .* gate is read from a number"):
        spec("strict", "gate", models)


def test_the_form_of_reply_of_a_profile_goes_with_its_own_prompts() -> None:
    tag = ReplyForm(kind="tag")
    without = strict(reply_form=tag)
    others = [form for form in FORMS if form != "pairwise"]
    assert spec("strict", "pairwise", without).reply_form == tag
    assert [spec("strict", form, without).reply_form for form in others] == [JSON] * len(others)
    other = strict(reply_form=tag, prompts={"proxy": ONE})
    assert [form for form in FORMS if spec("strict", form, other).reply_form == tag] == ["proxy"]
    assert spec("strict", "gate", without, own=ONE).reply_form == tag, "the prompt of the call is an own one"


def test_a_prompt_that_the_call_names_is_part_of_the_judges_name() -> None:
    models = strict(prompts={"gate": ONE})
    assert label_of(spec("strict", "gate", models)) == "strict"
    assert label_of(spec("strict", "gate", models, own=PromptText(name="v2", text=ONE.text))) == "strict+v2"
    assert label_of(spec("gpt-x", "gate", own=ONE)) == "gpt-x+one"
    assert label_of(spec("simulated", "gate", own=ONE)) == "simulated+one"
    hostile = PromptText(name="a/b \x1b[31m|c\ud800" + "d" * 100, text=ONE.text)
    assert label_of(spec("gpt-x", "gate", own=hostile)) == f"gpt-x+a-b-31m-c-{'d' * 50}"


def test_a_model_that_the_call_names_under_a_profiles_prompt_tells_so() -> None:
    profile = strict(prompts={"gate": ONE}).profiles["strict"]
    models = ModelSettings(roles={"judge": profile}, profiles={"strict": profile})
    assert label_of(spec(None, "gate", models)) == "strict"
    assert label_of(spec("other-m", "gate", models)) == "other-m+one"


async def test_a_judge_with_the_prompt_of_the_call_is_chosen_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "own.md"
    file.write_text(ONE.text, encoding="utf-8")
    async with replying(tmp_path / "s.db", '{"reason": "r", "score": 6}') as (deps, _):
        plain = await judge(asked(judge="strict", form="gate"), deps)
        own = await judge(asked(judge="strict", form="gate", prompt=str(file)), deps)
        assert (plain.judge, own.judge) == ("strict", "strict+own")
        found = summarize(SummarizeRequest(audit="a", judge="strict+own"), deps.store)
        assert (found.judge, found.gate is not None) == ("strict+own", True)
        both = summarize(SummarizeRequest(audit="a"), deps.store)
        assert both.judges is not None and both.judges.keys() == {"strict", "strict+own"}


async def test_what_is_wrong_with_an_own_prompt_is_said_with_the_result_and_the_plan(tmp_path: Path) -> None:
    async with replying(tmp_path / "s.db", "A", prompt=PAIRS, reply_form=ReplyForm(kind="letter")) as (deps, _):
        plan = await judge(asked(judge="strict", dry_run=True), deps)
        result = await judge(asked(judge="strict"), deps)
        shipped = await judge(asked(judge="simulated"), deps)
    assert plan.warnings == result.warnings and shipped.warnings == ()
    assert [said.split(";")[0].partition("mine ")[2] for said in result.warnings] == [
        "does not forbid assuming steps that are not shown",
        "does not forbid credit for length, tone and format",
        "does not say that the text between the marks is data",
        "offers no tie, so two that are alike are told apart by chance.",
    ]


async def test_a_customer_that_scores_is_said_with_the_plan_of_its_run(tmp_path: Path) -> None:
    text = "You are the customer. At the end, rate the agent from 1 to 5.\n---user---\n{goal}\n{facts}\n"
    endpoint = Endpoint(base_url="http://127.0.0.1:9", key=keyed("http://127.0.0.1:9", KEY).role("judge").endpoint.key)
    rater = Profile(name="rater", model="user-m", endpoint=endpoint, prompt=PromptText(name="rater", text=text))
    models = ModelSettings(profiles={"rater": rater})
    async with opened(tmp_path / "s.db", models, episodes=SHOP) as deps:
        planned = await ran(deps, suite=shop(tmp_path / "suite"), user="rater", dry_run=True)
        scripted = await ran(deps, suite=shop(tmp_path / "suite"), user="scripted", dry_run=True)
    assert planned.warnings == (
        "Prompt rater asks the simulated user for a score, but the customer is never the judge.",
    )
    assert scripted.warnings == ()


def test_judges_of_different_forms_are_different_judges() -> None:
    assert len({judge_of(spec("judge-m", form)).prompt_hash for form in FORMS}) == len(FORMS)
