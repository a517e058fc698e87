"""Profiles: a model with everything that goes with it, and which of them each role uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from misjudge_storage.types import AskedForm, Name, Value
from misjudge_tools.gateway.settings import Endpoint, Price, RoleName
from misjudge_tools.judging.verdicts import ReplyForm


class PromptText(Value):
    """A person's own prompt file: its name without folder and suffix, and its text."""

    name: str
    text: str


class Profile(Value):
    """A model and how it is asked. `name` is None where no profile was named; `model` None where nothing names one.

    A `temperature` or `max_tokens` of None is left to the role; `context_tokens`, prompt and reply together, to what is
    listed of the model. `prompt` is the person's own one of a judge of pairs, or of a simulated user; `prompts` are a
    judge's by form, as `own_prompt` takes both together. `origins` says, by field, where a value that is not the
    built-in default came from, such as "JUDGE_MODEL (environment)" or "profile strong (misjudge.toml)".
    """

    name: Name | None = None
    model: Name | None = None
    endpoint: Endpoint = Endpoint()
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    context_tokens: Annotated[int, Field(ge=1)] | None = None
    price: Price | None = None
    family: str | None = None
    reply_form: ReplyForm = ReplyForm()
    prompt: PromptText | None = None
    prompts: Mapping[AskedForm, PromptText] = {}
    origins: Mapping[str, str] = {}

    def own_prompt(self, form: AskedForm) -> PromptText | None:
        """The person's own prompt of a judge of this form, None where it is the shipped one."""
        return self.prompts.get(form) or (self.prompt if form == "pairwise" else None)


class ModelSettings(Value):
    """All that is configured of models. `prices` are by model name; `leftovers` are variables of other tools
    (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`) that are set and have no say here.
    """

    roles: Mapping[RoleName, Profile] = {}
    profiles: Mapping[str, Profile] = {}
    prices: Mapping[str, Price] = {}
    leftovers: tuple[str, ...] = ()

    def role(self, role: RoleName) -> Profile:
        """The profile in force for a role."""
        return self.roles.get(role, Profile())

    def named(self, role: RoleName, name: str | None) -> Profile:
        """The profile of this name, else the role's own with this model; its price, family and context are then
        unknown.
        """
        if name is None or name == self.role(role).model:
            return self.role(role)
        if name in self.profiles:
            return self.profiles[name]
        own = dict.fromkeys(("name", "price", "family", "context_tokens"))
        origins = {key: origin for key, origin in self.role(role).origins.items() if key not in own}
        other = {**own, "model": name, "origins": {**origins, "model": "the call"}}
        return self.role(role).model_copy(update=other)
