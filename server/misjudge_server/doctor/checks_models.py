"""misjudge's own settings: whether they can be used, the model and key of each role, prompts and limits. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from misjudge_server.clients.shells import set_secretly
from misjudge_server.config_command import shared_models
from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.findings import Finding, finding
from misjudge_server.doctor.wording import named, set_to
from misjudge_server.variables import MODEL_VARIABLES
from misjudge_tools.gateway.addresses import is_loopback
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.judging.prompt_warnings import profile_warnings
from misjudge_tools.profiles import ModelSettings, Profile

LEAST_TIMEOUT_S: Final = 60.0
MOST_ATTEMPTS: Final = 10
MOST_AT_ONCE: Final = 100
LEAST_TOKENS: Final = 200
"""Below that the JSON of a verdict with its reason is cut."""
LEAST_CONTEXT: Final = 4000
_CONFIG: Final = "misjudge config"
_ADDRESS_REFUSED: Final = re.compile(r"\): The base URL ")
"""Told by the checks of addresses, which have the same rules and more."""


def model_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong with the settings in force, or why there are none."""
    if facts.settings is None:
        yield from _refused(facts)
        return
    models = facts.settings.models
    yield from _roles(models, facts)
    yield from _alike(models, facts)
    yield from _judging(models.role("judge"))
    yield from _limits(models)
    for profile in models.profiles.values():
        for said in profile_warnings(profile):
            where = f"profile {named(profile.name or '')}"
            yield finding("prompt-lint", "warning", where, said, "Change that file as it says.")


def _refused(facts: SetupFacts) -> Iterator[Finding]:
    """The sentence of what stops the settings, unless it is told by a finding that is nearer to it."""
    said = facts.refused or ""
    told = any(place.problem == said for place in facts.seen)
    if not told and not _ADDRESS_REFUSED.search(said):
        fix = f"Do what the sentence says, then: {_CONFIG}"
        yield finding("settings-refused", "error", "misjudge's settings", said, fix)


def _roles(models: ModelSettings, facts: SetupFacts) -> Iterator[Finding]:
    asked = {role: profile for role, profile in models.roles.items() if profile.model is not None}
    keyless: dict[str, list[str]] = {}
    for role, profile in asked.items():
        if profile.endpoint.key is None:
            keyless.setdefault(profile.endpoint.key_variable, []).append(role)
        elif profile.endpoint.simulated and not is_loopback(profile.endpoint.base_url):
            said = "The key is that of a simulated gateway, and the address is not on this machine."
            fix = "misjudge simulate prints the address to use; or set a key of your own: " + set_secretly(
                profile.endpoint.key_variable, windows=facts.windows
            )
            yield finding("simulated-elsewhere", "error", f"role {role}", said, fix)
    for variable, roles in keyless.items():
        said = f"{variable} is not set, so the gateway answers 401, or is not asked at all."
        fix = set_secretly(variable, windows=facts.windows)
        yield finding("key-missing", "error", f"role {', '.join(roles)}", said, fix)
    if not asked or "judge" not in asked:
        yield _without_model(models, bool(asked), facts)


def _without_model(models: ModelSettings, some: bool, facts: SetupFacts) -> Finding:
    fix = set_to("TAOTOKEN_JUDGE_MODEL" if some else MODEL_VARIABLES[0], "MODEL", windows=facts.windows)
    if some or models.role("judge").endpoint.key is not None:
        said = "No model is named for it." if some else "A key is set, but no model is named for any role."
        return finding("model-missing", "warning", "role judge", said, fix)
    said = "No key and no model: judge=simulated works without a key, and so do imports and reports."
    return finding("not-configured", "note", "misjudge's settings", said, fix)


def _alike(models: ModelSettings, facts: SetupFacts) -> Iterator[Finding]:
    judge, user = models.role("judge").model, models.role("user_sim").model
    same = judge is not None and user is not None and judge.casefold() == user.casefold()
    for said in shared_models(models):
        command = set_to("SIM_USER_MODEL", "ANOTHER_MODEL", windows=facts.windows)
        fix = f"{command} (or another profile for user_sim in [roles] of misjudge.toml)"
        yield finding("same-model" if same else "same-family", "warning", "roles judge and user_sim", said, fix)


def _judging(profile: Profile) -> Iterator[Finding]:
    """What makes the judge's results differ from run to run, or unreadable."""
    where = "role judge" if profile.name is None else f"role judge, profile {named(profile.name)}"
    if profile.temperature:
        said = "Its temperature is not 0, so the same question may get another verdict tomorrow."
        yield finding("judge-temperature", "warning", where, said, "In its profile: temperature = 0")
    if profile.max_tokens is not None and profile.max_tokens < LEAST_TOKENS:
        said = f"max_tokens is below {LEAST_TOKENS}: the JSON of a verdict is cut off, and cannot be read."
        yield finding("max-tokens-small", "warning", where, said, "In its profile: max_tokens = 1000")
    if profile.context_tokens is not None and profile.context_tokens < LEAST_CONTEXT:
        said = f"context_tokens is below {LEAST_CONTEXT}: two longer transcripts do not fit, and are not judged."
        yield finding("context-small", "warning", where, said, "In its profile: context_tokens = what the model takes")


def _limits(models: ModelSettings) -> Iterator[Finding]:
    endpoints: dict[tuple[object, ...], tuple[Endpoint, list[str]]] = {}
    for role, profile in models.roles.items():
        one = profile.endpoint
        kept = (one.timeout_s, one.deadline_s, one.max_attempts, one.concurrency, one.requests_per_minute)
        endpoints.setdefault(kept, (one, []))[1].append(role)
    for endpoint, roles in endpoints.values():
        yield from _limits_of(endpoint, f"role {', '.join(roles)}")


def _limits_of(one: Endpoint, where: str) -> Iterator[Finding]:
    if one.timeout_s < LEAST_TIMEOUT_S:
        said = f"An attempt may take less than {LEAST_TIMEOUT_S:g} s; long prompts and slow models need more."
        yield finding("timeout-short", "warning", where, said, _setting("MISJUDGE_TIMEOUT_S", "timeout_s", 60))
    if one.deadline_s < one.timeout_s:
        said = "A whole call may take less time than one attempt, so it is never tried again."
        yield finding("deadline-short", "warning", where, said, _setting("MISJUDGE_DEADLINE_S", "deadline_s", 180))
    if one.max_attempts == 1:
        said = "A call is never tried again, so one 429 or broken connection leaves its pair without a verdict."
        yield finding("retries-off", "warning", where, said, _setting("MISJUDGE_MAX_ATTEMPTS", "max_attempts", 4))
    if one.max_attempts > MOST_ATTEMPTS:
        said = f"A call is tried more than {MOST_ATTEMPTS} times: some gateways bill what failed, too."
        yield finding("retries-many", "warning", where, said, _setting("MISJUDGE_MAX_ATTEMPTS", "max_attempts", 4))
    if one.concurrency > MOST_AT_ONCE and one.requests_per_minute is None:
        said = f"More than {MOST_AT_ONCE} calls at once and no requests per minute stated: gateways answer 429 to that."
        yield finding("concurrency-high", "warning", where, said, _setting("MISJUDGE_CONCURRENCY", "concurrency", 32))


def _setting(variable: str, key: str, value: int) -> str:
    return f"{variable}={value} where it is set, or {key} = {value} in misjudge.toml"
