"""Which judge a call means, and the way there: the gateway, the local model or the simulated gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

from misjudge_storage.errors import InvalidInput, MissingKey
from misjudge_storage.hashing import canonical, digest
from misjudge_storage.types import Form, Judge, Scale, Value
from misjudge_tools.gateway.addresses import normalise_base_url
from misjudge_tools.gateway.calls import Gateway, no_key
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.settings import Price
from misjudge_tools.judging.prompts import Language, PromptName, PromptTemplate, load_prompt, own_prompt
from misjudge_tools.judging.verdicts import ReplyForm, pair_schema, satisfaction_schema
from misjudge_tools.profiles import ModelSettings, Profile, PromptText

SCALES: Mapping[Form, Scale] = {
    "pairwise": Scale(low=0, high=5),
    "satisfaction": Scale(low=0, high=1, threshold=0.8),
}
PROMPTS: Mapping[Form, PromptName] = {"pairwise": "judge_pair", "satisfaction": "judge_satisfaction"}
LOCAL_TOKENS = 160
"""The local model is slow, and its short strings fit."""
PLANTED = {"position": 0.2, "politeness": 0.4, "noise": 0.05, "lenience": 0.6, "seed": 7}
"""The faults of `judge=simulated`, as shares of calls."""
LOCAL_REASON_CHARS = 100


class JudgingSpec(Value):
    """The judge of a run as stored with it: enough to go on in another process. Holds no key and no address.

    `profile` names the profile that says where the model is; None: the judge role's own. `reuse`: replies that
    other audits hold to the same question are taken instead of asking it.
    """

    kind: Literal["gateway", "local", "simulated"]
    model: str
    form: Form
    language: Language
    profile: str | None = None
    temperature: float = 0.0
    max_tokens: int = 1024
    prompt: PromptText | None = None
    reply_form: ReplyForm = ReplyForm()
    reuse: bool = False


class OpenGateway(NamedTuple):
    """A way to a model. `tell_truth`, only where it is simulated, says who did the job, by transcript hash.

    `address` tells apart gateways that offer a model under the same name; it is a digest.
    """

    gateway: Gateway
    pricing: Pricing
    concurrency: int
    address: str
    tell_truth: Callable[[Mapping[str, bool]], None] | None = None


def choose_judge(
    name: str | None,
    form: Form,
    language: Language,
    models: ModelSettings,
    *,
    to_ask: bool = True,
    reuse: bool = False,
) -> JudgingSpec:
    """The judge that `name` means: a profile or a model; only `to_ask` it is a key needed.

    Raises MissingKey or InvalidInput.
    """
    if name == "simulated":
        return JudgingSpec(kind="simulated", model="simulated-judge", form=form, language=language, reuse=reuse)
    if name == "local":
        model = "SmolLM2-135M-Instruct"
        return JudgingSpec(
            kind="local", model=model, form=form, language=language, max_tokens=LOCAL_TOKENS, reuse=reuse
        )
    profile = models.named("judge", name)
    if profile.endpoint.key is None and to_ask:
        raise MissingKey(no_key(profile.endpoint.key_variable))
    key = profile.endpoint.key
    if key is not None and key.get_secret_value() == profile.model:
        raise InvalidInput("The model is named by the key itself. Give judge=MODEL, and keep the key where it is.")
    if profile.model is None:
        raise InvalidInput(
            "No judge model is named. Give judge=MODEL, or set TAOTOKEN_JUDGE_MODEL; "
            "judge=local and judge=simulated need no gateway."
        )
    spec = JudgingSpec(
        kind="gateway",
        model=profile.model,
        form=form,
        language=language,
        profile=profile.name,
        temperature=profile.temperature or 0.0,
        max_tokens=profile.max_tokens or 1024,
        prompt=profile.prompt,
        reply_form=profile.reply_form,
        reuse=reuse,
    )
    template_of(spec)
    return spec


def profile_of(spec: JudgingSpec, models: ModelSettings) -> Profile:
    """The profile that a stored judge is asked through. Raises InvalidInput where it is configured no more."""
    if spec.profile is not None and spec.profile not in models.profiles:
        raise InvalidInput(
            f"This judge was chosen by the profile {spec.profile!r}, which misjudge.toml does not hold. "
            "Put it back, or judge anew with another one."
        )
    return models.named("judge", spec.profile or spec.model)


def asked_at(spec: JudgingSpec, models: ModelSettings) -> str:
    """Which model is asked where, and where either was configured, for people."""
    if spec.kind == "simulated":
        return "a simulated judge on this machine"
    if spec.kind == "local":
        return f"{spec.model} on this machine"
    profile = profile_of(spec, models)
    model, url = (profile.origins.get(name, "the default") for name in ("model", "base_url"))
    return f"{spec.model}, from {model}, at {profile.endpoint.base_url}, from {url}"


def pricing_of(spec: JudgingSpec, models: ModelSettings) -> Pricing:
    """What its calls cost: nothing where no gateway is asked."""
    if spec.kind != "gateway":
        return Pricing(spec.model, Price(input=0, output=0, source=spec.kind))
    return Pricing(spec.model, profile_of(spec, models).price or models.prices.get(spec.model))


def template_of(spec: JudgingSpec) -> PromptTemplate:
    """The prompt of this judge. Raises InvalidInput for an own one that lacks a variable of the form."""
    if spec.prompt is not None:
        return own_prompt(PROMPTS[spec.form], spec.language, spec.prompt)
    return load_prompt(PROMPTS[spec.form], spec.language)


def judge_of(spec: JudgingSpec) -> Judge:
    """The judge as a value: its label is the name a person calls it by."""
    template = template_of(spec)
    params: dict[str, object] = {
        # One temperature, one fingerprint: 0.0 is 0.
        "temperature": int(spec.temperature) if spec.temperature.is_integer() else spec.temperature,
        "max_tokens": spec.max_tokens,
        "reply_form": "json" if spec.reply_form == ReplyForm() else spec.reply_form.model_dump(exclude_defaults=True),
    }
    if spec.kind == "simulated":
        params["planted"] = PLANTED
    return Judge(
        label=(spec.profile or spec.model) if spec.kind == "gateway" else spec.kind,
        form=spec.form,
        model=spec.model,
        params=canonical(params),
        prompt_version=template.version,
        prompt_hash=template.hash,
        scale=SCALES[spec.form],
        simulated=spec.kind == "simulated",
    )


def reply_schema(spec: JudgingSpec) -> str | None:
    """JSON text of the schema that a reply must fit; None where another form than JSON is declared."""
    if spec.reply_form.kind != "json":
        return None
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
async def open_gateway(spec: JudgingSpec, models: ModelSettings, gateways: Gateways) -> AsyncIterator[OpenGateway]:
    """The way to the judge's model, for as long as it is needed. Raises MissingKey or InvalidInput."""
    from misjudge_tools.gateway.client import HttpGateway

    pricing = pricing_of(spec, models)
    if spec.kind == "gateway":
        endpoint = profile_of(spec, models).endpoint
        gateway = gateways.at(endpoint)
        # In a thread: the table of list prices takes half a second to load.
        await asyncio.to_thread(lambda: pricing.known)
        yield OpenGateway(gateway, pricing, endpoint.concurrency, digest("url", normalise_base_url(endpoint.base_url)))
    elif spec.kind == "local":
        from misjudge_tools.gateway.local import SLOTS, LocalJudge

        async with LocalJudge() as local:
            gateway = HttpGateway(local.base_url, "local", concurrency=SLOTS, timeout_s=120)
            try:
                yield OpenGateway(gateway, pricing, SLOTS, spec.kind)
            finally:
                await gateway.aclose()
    else:
        from misjudge_tools.gateway.simulated import SimulatedServer
        from misjudge_tools.gateway.simulated_judge import SimulatedBias

        concurrency = models.role("judge").endpoint.concurrency
        async with SimulatedServer(SimulatedBias.model_validate(PLANTED)) as server:
            gateway = HttpGateway(server.base_url, "simulated", concurrency=concurrency, simulated=True)
            try:
                yield OpenGateway(gateway, pricing, concurrency, spec.kind, server.learn)
            finally:
                await gateway.aclose()
