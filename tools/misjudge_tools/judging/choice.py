"""Which judge a call means, and what is asked of it."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_storage.hashing import canonical, digest
from misjudge_storage.types import AskedForm, Judge, Name, Scale, Value
from misjudge_tools.gateway.local_server import CONTEXT_PER_SLOT
from misjudge_tools.gateway.pricing import listed_context
from misjudge_tools.gateway.simulated_bias import SimulatedBias
from misjudge_tools.gateway.ways import ModelChoice, choose_model, profile_of
from misjudge_tools.judging.forms import FORMS, FormSpec, asked_form
from misjudge_tools.judging.prompts import Language, PromptTemplate, load_prompt, own_prompt
from misjudge_tools.judging.rule_verdicts import RULES_KEY
from misjudge_tools.judging.verdicts import ReplyForm, pair_schema, satisfaction_schema
from misjudge_tools.profiles import ModelSettings, Profile, PromptText

PROTOCOL = "2"
"""How judging is made blind. 2: names of agents, models and vendors are masked in what a judge sees."""
LOCAL_TOKENS = 160
"""The local model is slow, and its short strings fit."""
SIMULATED = "simulated"
FAULTLESS = "faultless"
PLANTED = SimulatedBias(position=0.2, politeness=0.4, noise=0.05, near=0.25, lenience=0.6, seed=7)
"""The faults of `judge=simulated`, as shares of calls."""
LOCAL_REASON_CHARS = 100
LOCAL_RULE_CHARS = 60
"""What the local model may give as the reason for one rule, so that a rule fits `ruling.RULE_TOKENS`."""
PROMPT_NAME_CHARS = 60
MOST_REPEATED = 40
"""Characters of a name or value that an error repeats."""


class RubricSource(Value):
    """Whose rules a judge applies: those that `writer_id` wrote for each task (`self`), the gold ones of each task
    (`human`), or one set for all (`library`, `rubric_id`). `name` is what people call it.
    """

    kind: Literal["self", "human", "library"]
    name: Name
    writer_id: str | None = None
    rubric_id: str | None = None


class JudgingSpec(ModelChoice):
    """The judge of a run as stored with it, or who writes or matches rubrics.

    `reuse`: replies that other audits hold to the same question are taken instead of asking it. `named_prompt`: the
    call names the prompt, not the profile. `context_tokens` is what the model takes, prompt and reply together, None
    where that is not known; what does not fit is unscored, or with `truncate` cut in the middle. `rubrics` are the
    rules that it is to apply; `forced`: it must name one of two, and no tie.
    """

    form: AskedForm
    language: Language
    temperature: float = 0.0
    max_tokens: int = 1024
    prompt: PromptText | None = None
    named_prompt: bool = False
    reply_form: ReplyForm = ReplyForm()
    reuse: bool = False
    context_tokens: int | None = None
    truncate: Literal["middle"] | None = None
    rubrics: RubricSource | None = None
    forced: bool = False

    @property
    def asked(self) -> ModelChoice:
        """Which model the judge is, without what is asked of it."""
        return ModelChoice(**{name: getattr(self, name) for name in ModelChoice.model_fields})


def choose_judge(
    name: str | None,
    form: AskedForm,
    language: Language,
    models: ModelSettings,
    *,
    to_ask: bool = True,
    reuse: bool = False,
    own: PromptText | None = None,
    truncate: Literal["middle"] | None = None,
    rubrics: RubricSource | None = None,
    forced: bool = False,
) -> JudgingSpec:
    """The judge that `name` means: a profile or a model; only `to_ask` it is a key needed.

    `own` is a prompt in place of the shipped one and of the profile's. Where the profile has prompts of its own, its
    form of reply goes with them; a shipped prompt asks for JSON. A profile's prompt of pairs shows no rules: with
    `rubrics` the shipped one that does takes its place. Raises MissingKey or InvalidInput.
    """
    asked: dict[str, Any] = {
        **{"form": form, "language": language, "reuse": reuse, "truncate": truncate},
        **{"rubrics": rubrics, "forced": forced},
        **({} if own is None else {"prompt": own, "named_prompt": True}),
    }
    if name is not None and name.partition(":")[0] == SIMULATED and name not in models.profiles:
        asked |= {"kind": "simulated", "model": "simulated-judge", "planted": _planted(name), "simulated": True}
        asked["truncate"] = None  # it takes any length
        return _checked(JudgingSpec(**asked))
    choice = choose_model("judge", name, models, to_ask=to_ask)
    if choice.kind == "local":
        asked |= {"max_tokens": LOCAL_TOKENS, "context_tokens": CONTEXT_PER_SLOT}
    else:
        profile = profile_of(choice, models)
        of_profile = None if rubrics is not None and FORMS[form].compares else profile.own_prompt(form)
        asked = {
            "temperature": profile.temperature or 0.0,
            "max_tokens": profile.max_tokens or 1024,
            "context_tokens": _context_of(choice, profile),
            "prompt": of_profile,
            "reply_form": _reply_form(profile, form, own or of_profile),
            **asked,
        }
    return _checked(JudgingSpec(**choice.model_dump(), **asked))


def _reply_form(profile: Profile, form: AskedForm, own: PromptText | None) -> ReplyForm:
    """That of the profile with an own prompt, and of a judge of pairs without any: some write [[A]] whatever they are
    asked for.
    """
    without_any = profile.prompt is None and not profile.prompts and FORMS[form].compares
    return profile.reply_form if own is not None or without_any else ReplyForm()


def _context_of(choice: ModelChoice, profile: Profile) -> int | None:
    """As its profile states it, else as it is listed."""
    if profile.context_tokens is not None or choice.simulated:
        return profile.context_tokens
    found = listed_context(choice.model)
    return None if found is None else found.tokens


def _checked(spec: JudgingSpec) -> JudgingSpec:
    """Raises InvalidInput for a prompt, a form of reply or a cut that does not fit what is asked."""
    template_of(spec)
    if spec.truncate is not None and spec.context_tokens is None:
        raise InvalidInput(
            f"truncate={spec.truncate} cuts transcripts to the model's context, and that of {spec.model} is not known. "
            "State context_tokens in its profile in misjudge.toml, or leave truncate out."
        )
    if spec.reply_form.labels and not form_of(spec).compares:
        raise InvalidInput(
            f"The reply form of {label_of(spec)} has labels, which name the better of two; {spec.form} is read from a "
            "number. Use a profile whose reply_form has none."
        )
    return spec


def _planted(name: str) -> SimulatedBias:
    """The faults that `simulated:near=0.3,noise=0.01` names, and no others: none at all of `simulated:faultless`, and
    those of PLANTED where it says nothing. Raises InvalidInput.
    """
    _, _, stated = name.partition(":")
    if not stated or stated == FAULTLESS:
        return SimulatedBias() if stated else PLANTED
    parts = [part.strip().partition("=") for part in stated.split(",")]
    for fault, _, share in parts:
        _refuse_unplantable(fault.strip(), share.strip())
    given = {fault.strip(): share.strip() for fault, _, share in parts}
    try:
        return SimulatedBias.model_validate_strings(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InvalidInput(_unplantable(str(problem["loc"][0]), str(problem["input"]))) from None


def _refuse_unplantable(fault: str, share: str) -> None:
    """Raises InvalidInput for a fault that there is not, and for one without its value."""
    if fault not in SimulatedBias.model_fields:
        raise InvalidInput(
            f"There is no fault {fault[:MOST_REPEATED]!r}; there are {', '.join(SimulatedBias.model_fields)}, as "
            "judge=simulated:near=0.3,noise=0.01."
        )
    if not share:
        example = {"family": "qwen", "seed": "7"}.get(fault, "0.1")
        raise InvalidInput(f"{fault} needs a value, as {fault}={example}.")


def _unplantable(fault: str, share: str) -> str:
    """Why this value of a fault cannot be planted."""
    if fault == "family" and not share:
        return "self_preference needs the judge's family, as self_preference=0.4,family=qwen."
    if fault == "family":
        return f"family={share[:MOST_REPEATED]} is no family of models: write it small and in one word, as family=qwen."
    kind = "whole number" if fault == "seed" else "share from 0 to 1"
    return f"{fault}={share[:MOST_REPEATED]} is no {kind}."


def label_of(spec: JudgingSpec) -> str:
    """The name that a person calls the judge by: its profile or model, `+NAME` of an own prompt that is not the
    profile's, `+truncated` where it sees what was cut to fit, `+forced`, `+batch` of a matcher that is asked about all
    rules at once, and whose rules it applies.
    """
    cut = "".join(
        (
            "" if spec.truncate is None else "+truncated",
            "+forced" if spec.forced else "",
            "+batch" if spec.form == "rubric_match_batch" else "",
            "" if spec.rubrics is None else f"+rules:{spec.rubrics.name}",
        )
    )
    if spec.prompt is None or (spec.profile is not None and not spec.named_prompt):
        return f"{_model_label(spec)}{cut}"
    # Whoever named the file may have put anything into its name.
    prompt = re.sub(r"[^\w.-]+", "-", spec.prompt.name)[:PROMPT_NAME_CHARS]
    return f"{_model_label(spec)}+{prompt}{cut}"


def _model_label(spec: JudgingSpec) -> str:
    if spec.kind == "gateway":
        return spec.profile or spec.model
    if spec.planted is None or spec.planted == PLANTED:
        return spec.kind
    stated = spec.planted.model_dump(exclude_defaults=True)
    return f"{spec.kind}:{','.join(f'{name}={_brief(value)}' for name, value in stated.items()) or FAULTLESS}"


def _brief(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def form_of(spec: JudgingSpec) -> FormSpec:
    """The form as this judge is asked it."""
    return asked_form(spec.form, ties=not spec.forced, rules=spec.rubrics is not None)


def template_of(spec: JudgingSpec) -> PromptTemplate:
    """The prompt of this judge. Raises InvalidInput for an own one that lacks a variable of the form."""
    if spec.prompt is not None:
        return own_prompt(form_of(spec).prompt, spec.language, spec.prompt)
    return load_prompt(form_of(spec).prompt, spec.language)


def judge_of(spec: JudgingSpec) -> Judge:
    """The judge as a value: its label is the name a person calls it by."""
    template = template_of(spec)
    params: dict[str, object] = {
        # One temperature, one fingerprint: 0.0 is 0.
        "temperature": int(spec.temperature) if spec.temperature.is_integer() else spec.temperature,
        "max_tokens": spec.max_tokens,
        "reply_form": "json" if spec.reply_form == ReplyForm() else spec.reply_form.model_dump(exclude_defaults=True),
    }
    if spec.truncate is not None:
        params |= {"truncate": spec.truncate, "context_tokens": spec.context_tokens}
    if spec.forced:
        params["forced"] = True
    if spec.rubrics is not None:
        params["rubrics"] = spec.rubrics.model_dump(exclude={"name"}, exclude_none=True)
    if spec.planted is not None:
        params["planted"] = spec.planted.model_dump(exclude_defaults=True)
    return Judge(
        label=label_of(spec),
        form=spec.form,
        model=spec.model,
        params=canonical(params),
        prompt_version=template.version,
        prompt_hash=template.hash,
        rubric_hash="" if spec.rubrics is None else digest("rules", spec.rubrics.model_dump(exclude={"name"})),
        protocol=PROTOCOL,
        scale=FORMS[spec.form].scale,
        simulated=spec.simulated,
    )


def reply_schema(spec: JudgingSpec, rules: int = 0) -> str | None:
    """JSON text of the schema that a reply must fit; None where another form than JSON is declared.

    `rules` is how many the judge is shown. Only the local model is held to that number, since it lists rules without
    end otherwise: not every gateway takes the length of a list.
    """
    if spec.reply_form.kind != "json":
        return None
    asked = form_of(spec)
    schema = (
        pair_schema(asked.scale, ties=asked.ties, rules=asked.rules) if asked.compares else satisfaction_schema(asked)
    )
    # In this order: models that are held to a schema write its fields in turn, and verdicts follow from their reasons.
    return json.dumps(
        _narrow(schema, asked.scale, rules) if spec.kind == "local" else schema,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def _narrow(schema: dict[str, Any], scale: Scale, rules: int) -> dict[str, Any]:
    """The schema with short strings and few scores, the whole ones or six in all: the local model writes endless digits
    and reasons otherwise.
    """
    low, high = scale.low or 0, scale.high or 1
    narrow = {
        "number": {"enum": [low + step * (high - low) / 5 for step in range(6)]},
        "integer": {"enum": list(range(int(low), int(high) + 1))},
        "string": {"type": "string", "maxLength": LOCAL_REASON_CHARS},
    }
    fields: dict[str, Any] = {
        name: field if "enum" in field else narrow.get(field["type"], field)
        for name, field in schema["properties"].items()
    }
    if RULES_KEY in fields:
        fields[RULES_KEY] = _narrow_rules(fields[RULES_KEY], rules)
    return {**schema, "properties": fields}


def _narrow_rules(schema: dict[str, Any], rules: int) -> dict[str, Any]:
    entry = schema["items"]
    short = {
        "rule": {"type": "integer", "enum": list(range(1, rules + 1))},
        "reason": {"type": "string", "maxLength": LOCAL_RULE_CHARS},
    }
    items = {**entry, "properties": {**entry["properties"], **(short if rules else {})}}
    return {**schema, "items": items, "minItems": rules, "maxItems": rules}
