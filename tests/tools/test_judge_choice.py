"""Which judge a call means, what makes two judges one, and the way to each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from misjudge_storage.errors import InvalidInput, MissingKey
from misjudge_storage.rows import judge_fingerprint
from misjudge_storage.types import Form
from misjudge_tools.gateway.local import local_available
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.gateway.ways import ModelChoice, Ways, pricing_of
from misjudge_tools.judge import judge
from misjudge_tools.judging.choice import JudgingSpec, choose_judge, judge_of, label_of, reply_schema, template_of
from misjudge_tools.judging.prompts import Language
from misjudge_tools.judging.verdicts import ReplyForm, read_pair
from misjudge_tools.profiles import Profile, PromptText
from misjudge_tools.requests import AskingRequest, JudgeRequest, ProbeRequest, RunPairRequest
from operations import KEY, NOWHERE, keyed, opened, pair_records, rows, stored, with_judge

KEYED = keyed("http://127.0.0.1:9")


def spec(name: str | None = None, form: Form = "pairwise", language: Language = "en") -> JudgingSpec:
    return choose_judge(name, form, language, KEYED)


def test_a_judge_is_named_by_the_call_or_by_the_settings() -> None:
    assert (spec().kind, spec().model) == ("gateway", "judge-m")
    assert (spec("other").kind, spec("other").model) == ("gateway", "other")
    assert spec("local").kind == "local" and spec("simulated").kind == "simulated"
    for name in ("local", "simulated"):
        assert choose_judge(name, "pairwise", "en", NOWHERE).kind == name, "neither needs a key"


def test_a_judge_of_the_gateway_needs_a_key_and_a_model() -> None:
    with pytest.raises(MissingKey, match="TAOTOKEN_API_KEY"):
        choose_judge("some-model", "pairwise", "en", NOWHERE)
    with pytest.raises(InvalidInput, match="judge=MODEL"):
        choose_judge(None, "pairwise", "en", with_judge(KEYED, model=None))


def test_the_key_is_no_name_of_a_model() -> None:
    with pytest.raises(InvalidInput, match="named by the key itself") as caught:
        choose_judge(KEY, "pairwise", "en", KEYED)
    assert KEY not in str(caught.value)


def test_judges_are_one_exactly_where_their_verdicts_compare() -> None:
    specs = [
        *(spec(name) for name in (None, "other", "local", "simulated")),
        spec(form="satisfaction"),
        spec(language="zh"),
        spec(form="satisfaction", language="zh"),
    ]
    assert len({judge_fingerprint(judge_of(one)) for one in specs}) == len(specs)
    assert judge_fingerprint(judge_of(spec("judge-m"))) == judge_fingerprint(judge_of(spec()))
    other_key = keyed("http://127.0.0.1:8", "sk-other")
    assert judge_of(choose_judge(None, "pairwise", "en", other_key)) == judge_of(spec())


def test_a_judge_says_what_it_is() -> None:
    made = judge_of(spec("simulated"))
    assert (made.label, made.simulated) == ("simulated", True)
    assert json.loads(made.params)["planted"]["position"] == 0.2
    real = judge_of(spec("some/model"))
    assert (real.label, real.model, real.simulated) == ("some/model", "some/model", False)
    assert real.prompt_hash == template_of(spec("some/model")).hash
    assert "planted" not in json.loads(real.params)
    assert (judge_of(spec(form="satisfaction")).scale.threshold, real.scale.high) == (0.8, 5)


def test_faults_are_planted_by_name() -> None:
    name = "simulated:obedience=0.5,length=0.3,self_preference=0.4,family=qwen,seed=7"
    chosen = spec(name)
    planted = SimulatedBias(obedience=0.5, length=0.3, self_preference=0.4, family="qwen", seed=7)
    assert chosen.planted == planted and JudgingSpec.model_validate_json(chosen.model_dump_json()) == chosen
    assert spec(label_of(chosen)) == chosen, "its name plants the same again"
    assert judge_fingerprint(judge_of(chosen)) != judge_fingerprint(judge_of(spec(name.replace("qwen", "openai"))))


@pytest.mark.parametrize("faults", ["faultless", "seed=0", "noise=0", "hits=1,rule_following=1"])
def test_a_judge_without_any_fault_is_called_so_and_is_not_the_one_with_the_usual_faults(faults: str) -> None:
    chosen = spec(f"simulated:{faults}")
    assert (chosen.planted, label_of(chosen)) == (SimulatedBias(), "simulated:faultless")
    assert judge_fingerprint(judge_of(chosen)) != judge_fingerprint(judge_of(spec("simulated")))
    assert judge_fingerprint(judge_of(chosen)) == judge_fingerprint(judge_of(spec(label_of(chosen))))


def test_a_simulated_judge_that_names_nothing_is_the_one_with_the_usual_faults() -> None:
    assert spec("simulated:") == spec("simulated") and label_of(spec("simulated:")) == "simulated"


NONE_SUCH = (
    "There is no fault {!r}; there are position, obedience, length, politeness, self_preference, family, noise, "
)


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ("noise=2", "noise=2 is no share from 0 to 1."),
        ("noise=0.1,near=-1", "near=-1 is no share from 0 to 1."),
        ("lenience=much", "lenience=much is no share from 0 to 1."),
        ("position=nan", "position=nan is no share from 0 to 1."),
        ("seed=1.5", "seed=1.5 is no whole number."),
        (f"noise={'9' * 60}", f"noise={'9' * 40} is no share from 0 to 1."),
        ("politness=0.1", NONE_SUCH.format("politness")),
        ("noise=0.1,", NONE_SUCH.format("")),
        ("x" * 60, NONE_SUCH.format("x" * 40)),
        ("obedience", "obedience needs a value, as obedience=0.1."),
        ("noise=0.1, near = ", "near needs a value, as near=0.1."),
        ("family", "family needs a value, as family=qwen."),
        ("seed=", "seed needs a value, as seed=7."),
        ("self_preference=0.4", "self_preference needs the judge's family, as self_preference=0.4,family=qwen."),
        (
            "family=Two Words",
            "family=Two Words is no family of models: write it small and in one word, as family=qwen.",
        ),
    ],
)
def test_a_fault_that_cannot_be_planted_is_refused_with_what_is_wrong_with_it(faults: str, said: str) -> None:
    with pytest.raises(InvalidInput) as no:
        spec(f"simulated:{faults}")
    assert str(no.value).startswith(said)


def test_a_judge_that_sees_cut_transcripts_says_so_in_its_name() -> None:
    settings = with_judge(KEYED, context_tokens=2048)
    own = PromptText(name="strict", text="Which?\n---user---\n{task}{response_a}{response_b}")

    def named(prompt: PromptText | None = None, cut: Literal["middle"] | None = "middle", name: str = "judge-m") -> str:
        return label_of(choose_judge(name, "pairwise", "en", settings, own=prompt, truncate=cut))

    assert (named(), named(own)) == ("judge-m+truncated", "judge-m+strict+truncated")
    assert (named(cut=None), named(own, None), named(name="local")) == ("judge-m", "judge-m+strict", "local+truncated")
    assert named(name="simulated") == "simulated", "it takes any length"


def test_a_stored_specification_holds_no_key_and_no_address() -> None:
    written = spec().model_dump_json()
    assert JudgingSpec.model_validate_json(written) == spec()
    assert "sk-" not in written and "127.0.0.1" not in written


@pytest.mark.parametrize("form", ["pairwise", "satisfaction"])
def test_the_schema_of_the_local_judge_is_a_narrower_one_of_the_same_fields(form: Form) -> None:
    wide, narrow = (json.loads(reply_schema(spec(name, form)) or "") for name in (None, "local"))
    assert list(narrow["properties"]) == list(wide["properties"]) and narrow["required"] == wide["required"]
    scores = [field["enum"] for name, field in narrow["properties"].items() if "sc" in name or "sat" in name]
    highest = judge_of(spec("local", form)).scale.high
    assert scores and all(len(values) == 6 and (values[0], values[-1]) == (0, highest) for values in scores)
    assert all("maxLength" in field for name, field in narrow["properties"].items() if name.startswith("reason"))
    if form == "pairwise":
        assert narrow["properties"]["winner"]["enum"] == ["A", "B", "tie"]
        reply: dict[str, Any] = {"reasons": "", "score_a": scores[0][1], "score_b": 0, "winner": "A"}
        assert read_pair(json.dumps(reply), ReplyForm(), scale=judge_of(spec("local")).scale).winner == "A"


async def test_the_way_to_the_gateway_needs_a_key_and_a_usable_address() -> None:
    with pytest.raises(MissingKey):
        async with Ways(NOWHERE, Gateways()) as ways:
            await ways.open(spec())
    with pytest.raises(InvalidInput, match="base URL"):
        async with Ways(keyed("example"), Gateways()) as ways:
            await ways.open(spec())


@pytest.mark.parametrize(
    ("kind", "simulated", "source"),
    [("gateway", True, "simulated"), ("simulated", True, "simulated"), ("local", False, "local")],
)
def test_what_costs_nothing_says_why(
    kind: Literal["gateway", "local", "simulated"], simulated: bool, source: str
) -> None:
    choice = ModelChoice(kind=kind, model="gpt-4o", simulated=simulated)
    assert pricing_of(choice, KEYED).of(10, 10) == (0.0, source)


async def test_only_the_simulated_gateway_is_told_the_truth() -> None:
    async with Ways(KEYED, Gateways()) as ways:
        way = await ways.open(spec())
        assert (way.tell_truth, way.gateway.simulated) == (None, False)
    async with Ways(NOWHERE, Gateways()) as ways:
        way = await ways.open(spec("simulated"))
        assert way.tell_truth is not None and way.gateway.simulated
        assert await ways.open(spec("simulated", form="satisfaction")) == way, "both forms share one server"


async def test_a_local_judge_that_is_not_installed_fails_the_run_with_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A name that is None in sys.modules cannot be found: as if the package were not there.
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    async with opened(tmp_path / "s.db") as deps:
        stored(deps.store, pair_records(1))
        result = await judge(JudgeRequest(audit="a", judge="local"), deps)
    assert result.run.state == "failed"
    assert result.run.reason is not None and "pip install xllamacpp" in result.run.reason


@pytest.mark.localmodel
@pytest.mark.skipif(local_available() is not None, reason="the local judge's packages are not installed")
async def test_the_local_judge_judges_a_pair_without_a_key(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as deps:
        stored(deps.store, pair_records(1))
        result = await judge(JudgeRequest(audit="a", judge="local"), deps)
        logs = rows(deps.store, "SELECT model, simulated, est_cost, price_source FROM judge_logs")
    assert (result.run.state, result.run.done, result.judge, result.simulated) == ("done", 2, "local", False)
    assert {tuple(log.values()) for log in logs} == {("SmolLM2-135M-Instruct", 0, 0.0, "local")}


CONTROLS = [chr(code) for code in (*range(1, 0x20), *range(0x7F, 0xA0))]
"""NUL is replaced in all that a request holds."""


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("place", ["{}x", "x{}", "x{}x", "{}"])
def test_a_control_character_in_the_name_of_a_judge_or_model_is_refused(control: str, place: str) -> None:
    name = place.format(control)
    requests: list[tuple[type[AskingRequest], dict[str, Any]]] = [
        *((kind, {"judge": name}) for kind in (JudgeRequest, ProbeRequest, RunPairRequest)),
        *((kind, {"panel": ["y", name]}) for kind in (JudgeRequest, RunPairRequest)),
        (RunPairRequest, {"agents": ["diligent", name]}),
        (RunPairRequest, {"user": name}),
    ]
    for request, given in requests:
        with pytest.raises(ValidationError):
            request.model_validate({"audit": "a", **given})


def test_names_of_any_script_are_names_of_judges() -> None:
    for name in ("通义千问", "models/x@2:latest", "a b", "\u202ex"):
        assert JudgeRequest(audit="a", judge=name, panel=[name]).judge == name


TWINS = {name: Profile(name=name, model="m", endpoint=KEYED.role("judge").endpoint) for name in ("z", "w")}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ["z", "w"],
            "Judges 'z' and 'w' are the same model with the same prompt and parameters; a panel needs",
        ),
        (["x", "z", "w"], "Judges 'z' and 'w' are the same model"),
        (["z", "m"], "Judges 'z' and 'm' are the same model"),
        (["z", "x", "z"], "Judge 'z' is named twice, and no judge is a panel of its own. Name each one once."),
        (["simulated", "simulated"], "Judge 'simulated' is named twice"),
    ],
)
async def test_a_judge_that_is_twice_in_a_panel_is_refused_with_the_names_it_has(
    tmp_path: Path, names: list[str], said: str
) -> None:
    async with opened(tmp_path / "s.db", KEYED.model_copy(update={"profiles": TWINS})) as deps:
        stored(deps.store, pair_records(1))
        first, *panel = names
        with pytest.raises(InvalidInput) as caught:
            await judge(JudgeRequest(audit="a", judge=first, panel=panel), deps)
        assert str(caught.value).startswith(said)
