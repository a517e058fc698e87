"""Which judge a call means, and the way there: the gateway, the local model or the simulated gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

from misjudge_storage.errors import InvalidInput, MissingKey
from misjudge_storage.hashing import canonical
from misjudge_storage.types import Form, Judge, Scale, Value
from misjudge_tools.gateway.calls import NO_KEY, Gateway
from misjudge_tools.gateway.settings import GatewaySettings
from misjudge_tools.judging.prompts import Language, PromptName, PromptTemplate, load_prompt
from misjudge_tools.judging.verdicts import pair_schema, satisfaction_schema

SCALES: Mapping[Form, Scale] = {
    "pairwise": Scale(low=0, high=5),
    "satisfaction": Scale(low=0, high=1, threshold=0.8),
}
PROMPTS: Mapping[Form, PromptName] = {"pairwise": "judge_pair", "satisfaction": "judge_satisfaction"}
MAX_TOKENS: Mapping[str, int] = {"gateway": 1024, "simulated": 1024, "local": 160}
PLANTED = {"position": 0.2, "politeness": 0.4, "noise": 0.05, "lenience": 0.6, "seed": 7}
"""The faults of `judge=simulated`, as shares of calls."""
LOCAL_REASON_CHARS = 100


class JudgingSpec(Value):
    """The judge of a run as stored with it: enough to go on in another process. Holds no key."""

    kind: Literal["gateway", "local", "simulated"]
    model: str
    form: Form
    language: Language


class OpenGateway(NamedTuple):
    """A way to a model. `tell_truth`, only where it is simulated, says who did the job, by transcript hash."""

    gateway: Gateway
    tell_truth: Callable[[Mapping[str, bool]], None] | None


def choose_judge(
    name: str | None, form: Form, language: Language, settings: GatewaySettings, *, to_ask: bool = True
) -> JudgingSpec:
    """The judge that `name` means; only `to_ask` it is a key needed. Raises MissingKey or InvalidInput."""
    if name == "simulated":
        return JudgingSpec(kind="simulated", model="simulated-judge", form=form, language=language)
    if name == "local":
        return JudgingSpec(kind="local", model="SmolLM2-135M-Instruct", form=form, language=language)
    if settings.key is None and to_ask:
        raise MissingKey(NO_KEY)
    model = name or settings.judge_model
    if model is None:
        raise InvalidInput(
            "No judge model is named. Give judge=MODEL, or set TAOTOKEN_JUDGE_MODEL; "
            "judge=local and judge=simulated need no gateway."
        )
    return JudgingSpec(kind="gateway", model=model, form=form, language=language)


def template_of(spec: JudgingSpec) -> PromptTemplate:
    """The prompt of this judge."""
    return load_prompt(PROMPTS[spec.form], spec.language)


def judge_of(spec: JudgingSpec) -> Judge:
    """The judge as a value: its label is the name a person calls it by."""
    template = template_of(spec)
    params: dict[str, object] = {"temperature": 0, "max_tokens": MAX_TOKENS[spec.kind], "reply_form": "json"}
    if spec.kind == "simulated":
        params["planted"] = PLANTED
    return Judge(
        label=spec.model if spec.kind == "gateway" else spec.kind,
        form=spec.form,
        model=spec.model,
        params=canonical(params),
        prompt_version=template.version,
        prompt_hash=template.hash,
        scale=SCALES[spec.form],
        simulated=spec.kind == "simulated",
    )


def reply_schema(spec: JudgingSpec) -> str:
    """JSON text of the schema that a reply must fit."""
    scale = SCALES[spec.form]
    schema = pair_schema(scale) if spec.form == "pairwise" else satisfaction_schema(scale)
    return canonical(_narrow(schema, scale) if spec.kind == "local" else schema)


def _narrow(schema: dict[str, Any], scale: Scale) -> dict[str, Any]:
    """The schema with short strings and six scores: the local model writes endless digits and reasons otherwise."""
    low, high = scale.low or 0, scale.high or 1
    scores = {"enum": [low + step * (high - low) / 5 for step in range(6)]}
    narrow = {"number": scores, "string": {"type": "string", "maxLength": LOCAL_REASON_CHARS}}
    fields = {
        name: field if "enum" in field else narrow.get(field["type"], field)
        for name, field in schema["properties"].items()
    }
    return {**schema, "properties": fields}


@asynccontextmanager
async def open_gateway(spec: JudgingSpec, settings: GatewaySettings) -> AsyncIterator[OpenGateway]:
    """The way to the judge's model, for as long as it is needed. Raises MissingKey or InvalidInput."""
    from misjudge_tools.gateway.client import HttpGateway

    if spec.kind == "gateway":
        if settings.key is None:
            raise MissingKey(NO_KEY)
        gateway = HttpGateway(
            settings.base_url,
            settings.key.get_secret_value(),
            timeout_s=settings.timeout_s,
            concurrency=settings.concurrency,
            trust_env=settings.trust_env,
        )
        try:
            yield OpenGateway(gateway, None)
        finally:
            await gateway.aclose()
    elif spec.kind == "local":
        from misjudge_tools.gateway.local import LocalJudge

        async with LocalJudge() as local:
            gateway = HttpGateway(local.base_url, "local", concurrency=2, timeout_s=120)
            try:
                yield OpenGateway(gateway, None)
            finally:
                await gateway.aclose()
    else:
        from misjudge_tools.gateway.simulated import SimulatedServer
        from misjudge_tools.gateway.simulated_judge import SimulatedBias

        async with SimulatedServer(SimulatedBias.model_validate(PLANTED)) as server:
            gateway = HttpGateway(server.base_url, "simulated", concurrency=settings.concurrency, simulated=True)
            try:
                yield OpenGateway(gateway, server.learn)
            finally:
                await gateway.aclose()
