"""Values that are set twice and differ, and variables that people expect to count. Pure; no value is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from misjudge_server.clients.names import CLAUDE_BASE_URL, CLAUDE_KEYS, CLAUDE_MODEL, CLAUDE_SMALL_MODEL
from misjudge_server.clients.server_entry import ESSENTIAL
from misjudge_server.doctor.facts import CLAUDE_SETTINGS, SetupFacts
from misjudge_server.doctor.findings import Finding, finding
from misjudge_server.doctor.sealed import opened, table_at, text_at
from misjudge_server.doctor.wording import misjudge_reads, named, unset
from misjudge_server.variables import (
    DOTENV,
    ENVIRONMENT,
    LEFTOVERS,
    ROLE_VARIABLES,
)

_OURS: Final = (
    *ESSENTIAL,
    *(name for names in ROLE_VARIABLES.values() for name in names),
)
_CLAUDES: Final = (CLAUDE_BASE_URL, *CLAUDE_KEYS, CLAUDE_MODEL, CLAUDE_SMALL_MODEL)


def conflict_findings(facts: SetupFacts) -> Iterator[Finding]:
    """Conflicts among shell, `.env`, the clients' entries and CC Switch; and leftovers."""
    for name in _OURS:
        places = _of_ours(facts, name)
        if _differ(places):
            yield _conflict(name, places, _winner_of_ours(places), _fix_of_ours(name, places, facts))
    for name in _CLAUDES:
        places = _of_claude(facts, name)
        if _differ(places):
            said = "Which of them Claude Code uses depends on how it is started."
            yield _conflict(name, places, said, _fix_of_claude(name, places, facts))
    yield from _overridden(facts)
    yield from _redirected(facts)
    yield from _leftovers(facts)


def _of_ours(facts: SetupFacts, name: str) -> dict[str, str]:
    found = {ENVIRONMENT: facts.variable(name), DOTENV: opened(facts.dotenv.get(name))}
    for entry in facts.entries:
        value = text_at(entry.table, "env", name) if entry.ours else None
        found[entry.where] = None if value is None or "${" in value else value
    return {where: value.strip() for where, value in found.items() if value}


def _of_claude(facts: SetupFacts, name: str) -> dict[str, str]:
    found = {
        ENVIRONMENT: facts.variable(name),
        f"{facts.names['claude_user']} (env)": text_at(facts.document("claude_user"), "env", name),
    }
    for provider in facts.switch:
        if provider.app == "claude" and provider.current:
            found[f"{facts.switch_name} ({named(provider.name)}, in use)"] = text_at(provider.settings, "env", name)
    return {where: value.strip() for where, value in found.items() if value}


def _differ(places: Mapping[str, str]) -> bool:
    return len(set(places.values())) > 1


def _conflict(name: str, places: Mapping[str, str], which: str, fix: str) -> Finding:
    return finding(
        "conflicting-values",
        "warning",
        ", ".join(places),
        f"{name} has {len(set(places.values()))} different values there. {which}",
        fix,
    )


def _winner_of_ours(places: Mapping[str, str]) -> str:
    if _clients_own(places) is not None:
        return "The client's own counts for the server that it starts, not for a shell."
    return "That of the environment counts."


def _fix_of_ours(name: str, places: Mapping[str, str], facts: SetupFacts) -> str:
    entry = _clients_own(places)
    if entry is not None:
        return f"Take {name} out of {entry}, or make all the same."
    return f"{unset(name, windows=facts.windows)} (to use that of .env; else take the line out of .env)"


def _clients_own(places: Mapping[str, str]) -> str | None:
    """The first place that a client reads and misjudge does not."""
    return next((where for where in places if not misjudge_reads(where)), None)


def _fix_of_claude(name: str, places: Mapping[str, str], facts: SetupFacts) -> str:
    if ENVIRONMENT in places:
        return f"{unset(name, windows=facts.windows)} (and take it out of your shell's start file)"
    return "Choose the provider in CC Switch again, which writes settings.json anew."


def _overridden(facts: SetupFacts) -> Iterator[Finding]:
    """A profile in [roles] that a variable puts out of use, with its temperature, prompt and price."""
    file = facts.document("misjudge")
    for role, names in ROLE_VARIABLES.items():
        name = next((name for name in names if facts.stated(name)), None)
        if name is None or facts.stated(name) in table_at(file, "profiles") or not text_at(file, "roles", role):
            continue
        where = ENVIRONMENT if facts.variable(name) else DOTENV
        yield finding(
            "profile-not-used",
            "warning",
            where,
            f"{name} names a model, so the profile that [roles] of {facts.names['misjudge']} gives to {role} "
            "is not used: nor its temperature, prompt and price.",
            unset(name, windows=facts.windows) if where == ENVIRONMENT else f"Take {name} out of .env.",
        )


def _redirected(facts: SetupFacts) -> Iterator[Finding]:
    """A repository's own settings may send Claude Code, and a key with it, to an address of theirs."""
    if text_at(facts.document("claude_project"), "env", CLAUDE_BASE_URL):
        where = facts.names["claude_project"]
        yield finding(
            "project-redirects",
            "warning",
            f"{where} (env)",
            "ANTHROPIC_BASE_URL stands in the project's file: whoever opens this folder sends a key there.",
            f"Move it to ~/.claude/settings.json, and take it out of {where}.",
        )


def _leftovers(facts: SetupFacts) -> Iterator[Finding]:
    """Variables that have no say in misjudge; not where Claude Code hands on what its settings say."""
    for name in LEFTOVERS:
        for where, value in ((ENVIRONMENT, facts.variable(name)), (DOTENV, opened(facts.dotenv.get(name)))):
            if value is None or (name in _CLAUDES and _in_settings(facts, name)):
                continue
            yield finding(
                "leftover-variable",
                "note",
                where,
                f"{name} is set. misjudge does not read it; other programs of this shell do.",
                unset(name, windows=facts.windows) if where == ENVIRONMENT else f"Take {name} out of .env.",
            )


def _in_settings(facts: SetupFacts, name: str) -> bool:
    return any(text_at(facts.document(document), "env", name) for document in CLAUDE_SETTINGS)
