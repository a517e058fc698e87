"""What only shows when the models are asked: two small completions each, and the list of models, which is free."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.findings import Finding, ModelSeen, Severity, finding
from misjudge_server.doctor.wording import named
from misjudge_server.variables import ROLE_VARIABLES
from misjudge_tools.gateway.listing import Listing, list_models
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.settings import Endpoint, RoleName
from misjudge_tools.ping import EMPTY, ROLES, RolePing, ping
from misjudge_tools.profiles import ModelSettings, Profile

SKEW_S: Final = 60.0
"""Clocks further apart than this make signed requests fail, and times in logs of no use."""
SLOW_SHARE: Final = 1 / 3
"""Of the time limit of an attempt, for the smallest answer there is."""
DEADLINE_S: Final = 90.0
MARGIN_S: Final = 30.0
"""After the time limit of one call, for the second and for opening the connection."""
_OF_ERRORS: Final[Mapping[str, tuple[str, str]]] = {
    "AuthRefused": ("key-refused", "Copy the key again from the gateway's page, or make a new one: it may be revoked."),
    "WrongAddress": ("address-wrong", "misjudge config shows the address; set it to the API address alone."),
    "ModelNotOffered": ("model-not-offered", "Set the model to a name that the gateway lists."),
    "RequestRefused": ("request-refused", "Check the model's name; it must be one for chat completions."),
    "RateLimited": ("rate-limited", "Lower MISJUDGE_CONCURRENCY, and state MISJUDGE_REQUESTS_PER_MINUTE."),
    "CallTimeout": ("no-answer-in-time", "Raise MISJUDGE_TIMEOUT_S, or take a faster model."),
    "Unreachable": ("unreachable", "misjudge config shows the address; check network, proxy and certificates."),
    EMPTY: ("no-answer", "Set the model to one for chat completions; misjudge ping shows whether it answers."),
    "ProviderFailed": ("gateway-failed", "Try again later, or take another model."),
}
_TOLD_OFFLINE: Final = frozenset({"MissingKey", "InvalidInput"})


class OnlineLook(NamedTuple):
    """What the models answered; `requests` counts completions, each of which is paid unless it was refused."""

    findings: tuple[Finding, ...] = ()
    models: tuple[ModelSeen, ...] = ()
    requests: int = 0
    marked: str | None = None


def paid_requests(facts: SetupFacts) -> int:
    """How many completions a look online asks for at most, without what a model refuses unpaid."""
    roles = facts.settings.models.roles.values() if facts.settings else ()
    return 2 * len({(one.model, one.endpoint) for one in roles if _can_ask(one)})


async def look_online(facts: SetupFacts) -> OnlineLook:
    """Ask the model of each role that has a key. Each is asked once: what fails is not tried again."""
    if facts.settings is None or not paid_requests(facts):
        return OnlineLook()
    models = _once(facts.settings.models)
    gateways = Gateways()
    try:
        asking: list[RoleName] = [role for role in ROLES if _can_ask(models.role(role))]
        report = await ping(models, gateways, asking, margin_s=MARGIN_S)
    finally:
        await gateways.aclose()
    asked = [(found, models.role(found.roles[0])) for found in report.models]
    listings: dict[Endpoint, Listing] = {}
    for _, profile in asked:
        if profile.endpoint not in listings:
            listings[profile.endpoint] = await list_models(profile.endpoint)
    told = [(found, listings[profile.endpoint], profile) for found, profile in asked]
    return OnlineLook(
        findings=tuple(one for found, listing, profile in told for one in _findings(found, listing, profile)),
        models=tuple(_seen(found, listing) for found, listing, _ in told),
        requests=sum(found.attempts for found in report.models),
        marked=report.marked,
    )


def _can_ask(profile: Profile) -> bool:
    return profile.model is not None and profile.endpoint.key is not None


def _once(models: ModelSettings) -> ModelSettings:
    """The same models, asked once and not for longer than people wait."""

    def one(profile: Profile) -> Profile:
        limits = {"max_attempts": 1, "deadline_s": min(profile.endpoint.deadline_s, DEADLINE_S)}
        return profile.model_copy(update={"endpoint": profile.endpoint.model_copy(update=limits)})

    return models.model_copy(update={"roles": {role: one(profile) for role, profile in models.roles.items()}})


def _seen(found: RolePing, listing: Listing) -> ModelSeen:
    listed = None if listing.models is None else found.model in listing.models
    return ModelSeen(ping=found, listed=listed, skew_s=None if listing.skew_s is None else round(listing.skew_s, 1))


def _findings(found: RolePing, listing: Listing, profile: Profile) -> Iterator[Finding]:
    where = f"role {', '.join(found.roles)}"
    if listing.skew_s is not None and abs(listing.skew_s) > SKEW_S:
        ahead = "behind" if listing.skew_s > 0 else "ahead of"
        said = f"This machine's clock is {abs(listing.skew_s):.0f} s {ahead} the gateway's."
        yield finding("clock-skew", "warning", where, said, "Set the clock: let the system take it from the network.")
    if not found.ok:
        yield from _failed(found, listing, where)
        return
    if listing.models is not None and found.model not in listing.models and not found.simulated:
        said = f"It answers, but the gateway does not list this name: it may stand for another.{_near(found, listing)}"
        yield finding("model-not-listed", "note", where, said, _set_model(found))
    yield from _of_forms(found, where)
    if (found.latency_ms or 0) / 1000 > profile.endpoint.timeout_s * SLOW_SHARE:
        said = f"The smallest answer took {(found.latency_ms or 0) / 1000:.0f} s; long ones will meet the time limit."
        yield finding("slow-answers", "warning", where, said, "Raise MISJUDGE_TIMEOUT_S, or take a faster model.")
    if found.input_tokens is None:
        said = "The gateway does not say how many tokens it used, so no cost is known, and max_usd cannot hold."
        yield finding("usage-not-stated", "warning", where, said, "Limit runs by max_calls in place of max_usd.")


def _failed(found: RolePing, listing: Listing, where: str) -> Iterator[Finding]:
    kind = found.error or ""
    if kind in _TOLD_OFFLINE:
        return
    identity, fix = _OF_ERRORS.get(kind, ("no-answer", "misjudge ping tells more."))
    if "local proxy failed" in (found.problem or ""):
        identity, fix = "proxy-failed", "Start the proxy, unset the variable, or set MISJUDGE_TRUST_ENV=0."
    if kind == "ModelNotOffered":
        fix = f"{_set_model(found)}{_near(found, listing)}"
    yield finding(identity, "error", where, found.problem or "", fix)


def _of_forms(found: RolePing, where: str) -> Iterator[Finding]:
    if found.simulated:
        return
    judges = "judge" in found.roles
    if found.reply_format == "none" or found.obeyed is False:
        severity: Severity = "warning" if judges else "note"
        said = "It does not answer in JSON when asked to" + (
            ": response_format is refused." if found.reply_format == "none" else ": its reply did not fit the schema."
        )
        fix = 'Look at the share of unscored replies; reply_form = "letter" in its profile needs no JSON.'
        yield finding("json-not-supported", severity, where, said, fix)
    elif found.reply_format == "json_object" and judges:
        said = "It takes JSON, but no schema; replies are checked after they came."
        yield finding(
            "schema-not-supported", "note", where, said, "Nothing need be done; a model with json_schema errs less."
        )
    if "temperature" in found.left_out:
        said = "It refuses a temperature, so it is asked without: the same question may get another answer."
        fix = "Take repeats=3 to see how steady it is, or a model that takes temperature 0."
        yield finding("temperature-refused", "warning" if judges else "note", where, said, fix)


def _set_model(found: RolePing) -> str:
    return f"Set {ROLE_VARIABLES[found.roles[0]][0]}, or model in its profile, to a name that the gateway lists."


def _near(found: RolePing, listing: Listing) -> str:
    near = difflib.get_close_matches(found.model or "", sorted(listing.models or ()), n=1, cutoff=0.7)
    return f" The nearest is {named(near[0])!r}." if near else ""
