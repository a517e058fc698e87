"""Keys: missing, misspelt, pasted with spaces, in files where they do not belong. Pure; no key is shown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from misjudge_server.clients.names import CLAUDE_KEYS
from misjudge_server.clients.server_entry import FORWARDED
from misjudge_server.clients.shells import set_secretly
from misjudge_server.doctor.facts import CLAUDE_SETTINGS, SetupFacts
from misjudge_server.doctor.findings import Finding, Severity, finding
from misjudge_server.doctor.placeholders import is_placeholder, names_variable
from misjudge_server.doctor.sealed import opened, tables_in, text_at
from misjudge_server.doctor.wording import misjudge_reads, named, size_of
from misjudge_server.variables import DOTENV, ENVIRONMENT
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE

_OTHERS: Final = (*CLAUDE_KEYS, "OPENAI_API_KEY")
_CHARACTERS: Final = re.compile(r"[\x21\x23-\x26\x28-\x7e]+")
_LIKE: Final = 0.8
_NO_KEYS: Final = (
    (re.compile(r"^[a-z]+://", re.IGNORECASE), "and an address in place of a key"),
    (re.compile(r"^(?=\w*_)[A-Za-z]\w*=[^=]"), "with the name of a variable and = before the key"),
    (re.compile(r"[,;]"), "with a comma or semicolon in it, as between two keys"),
)


class KeyPlace(NamedTuple):
    """A key, the name that it stands under, and where."""

    where: str
    name: str
    value: str


def key_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong with keys as they are written, and where they stand."""
    for place in keys(facts):
        wrong = _wrong(place)
        if wrong is not None:
            yield wrong.model_copy(update={"fix": _fix(place, facts)})
    yield from _misspelt(facts)
    yield from _exposed(facts)
    yield from _in_entries(facts)


def keys(facts: SetupFacts) -> Iterator[KeyPlace]:
    """Every key that is set."""
    variables = dict.fromkeys((*key_variables(facts), *_OTHERS))
    for where, values in ((ENVIRONMENT, facts.environment), (DOTENV, facts.dotenv)):
        for name in variables:
            if value := opened(values.get(name)):
                yield KeyPlace(where, name, value)
    for document in CLAUDE_SETTINGS:
        for name in CLAUDE_KEYS:
            if value := text_at(facts.document(document), "env", name):
                yield KeyPlace(f"{facts.names[document]} (env)", name, value)
    if value := text_at(facts.document("codex_auth"), "OPENAI_API_KEY"):
        yield KeyPlace(facts.names["codex_auth"], "OPENAI_API_KEY", value)
    yield from _of_entries_and_switch(facts)


def key_variables(facts: SetupFacts) -> tuple[str, ...]:
    """The variables that are read as keys: misjudge's own, and the one of each provider of Codex."""
    used = [DEFAULT_KEY_VARIABLE]
    if facts.settings is not None:
        models = facts.settings.models
        used += [one.endpoint.key_variable for one in (*models.roles.values(), *models.profiles.values())]
    named_there = (text_at(table, "env_key") for _, table in tables_in(facts.document("codex"), "model_providers"))
    used += [name for name in named_there if name and re.fullmatch(r"[A-Z][A-Z0-9_]*", name)]
    return tuple(dict.fromkeys(used))


def _of_entries_and_switch(facts: SetupFacts) -> Iterator[KeyPlace]:
    for entry in facts.entries:
        value = text_at(entry.table, "env", DEFAULT_KEY_VARIABLE) if entry.ours else None
        if value and "${" not in value:
            yield KeyPlace(entry.where, DEFAULT_KEY_VARIABLE, value)
    for provider in facts.switch:
        where = f"{facts.switch_name} ({named(provider.app)}, {named(provider.name)})"
        for path in (("env", CLAUDE_KEYS[0]), ("env", CLAUDE_KEYS[1]), ("auth", "OPENAI_API_KEY")):
            if value := text_at(provider.settings, *path):
                yield KeyPlace(where, path[1], value)


def _wrong(place: KeyPlace) -> Finding | None:
    value = place.value.strip()
    if is_placeholder(value):
        return _of(place, "key-placeholder", "error", "is still the placeholder of a guide.")
    if names_variable(value):
        return _of(place, "key-placeholder", "error", "is the name of a variable, in place of what that holds.")
    if re.search(r"\s", value):
        return _of(place, "key-whitespace", "error", f"is {size_of(place.value)}, with white space in it.")
    if not _CHARACTERS.fullmatch(value):
        said = "with quotes or letters that no key has" if value else "white space alone"
        return _of(place, "key-malformed", "error", f"is {size_of(place.value)}, {said}.")
    other = next((said for form, said in _NO_KEYS if form.search(value)), None)
    if other is not None:
        return _of(place, "key-malformed", "error", f"is {size_of(place.value)}, {other}.")
    return _wrong_ends(place) if value != place.value else None


def _wrong_ends(place: KeyPlace) -> Finding:
    ends = (("begins with", place.value[0]), ("ends in", place.value[-1]))
    said = f"is {size_of(place.value)}, and {' and '.join(end for end, one in ends if one.isspace())} white space."
    if misjudge_reads(place.where):
        return _of(place, "key-whitespace", "warning", f"{said} misjudge takes it off, other programs do not.")
    return _of(place, "key-whitespace", "error", f"{said} The gateway answers 401 to it.")


def _of(place: KeyPlace, identity: str, severity: Severity, said: str) -> Finding:
    return finding(identity, severity, place.where, f"{place.name} {said}", "")


def _fix(place: KeyPlace, facts: SetupFacts) -> str:
    if place.where == ENVIRONMENT:
        return set_secretly(place.name, windows=facts.windows)
    return f"Copy the whole key again, without spaces or quotes, to {place.name} in {place.where}."


def _misspelt(facts: SetupFacts) -> Iterator[Finding]:
    """Names that look like one of ours, and that nobody reads, where the right one is not set."""
    known = dict.fromkeys((*FORWARDED, *key_variables(facts)))
    for where, values in ((ENVIRONMENT, facts.environment), (DOTENV, facts.dotenv)):
        for name in values:
            if name in known or not name.upper().startswith(("TAOTOKEN_", "MISJUDGE_", "TAO_TOKEN")):
                continue
            near = difflib.get_close_matches(name.upper(), list(known), n=1, cutoff=_LIKE)
            if near and facts.stated(near[0]) is None:
                yield finding(
                    "variable-misspelt",
                    "error" if near[0] == DEFAULT_KEY_VARIABLE else "warning",
                    where,
                    f"{named(name)} is set, which nothing reads; {near[0]} is not.",
                    f"Rename it to {near[0]} where it is set.",
                )


def _exposed(facts: SetupFacts) -> Iterator[Finding]:
    for leak in facts.leaks:
        if leak.link:
            yield finding(
                "key-in-link",
                "error",
                named(leak.file),
                "A ccswitch:// link in it holds a key (apiKey=…): links end up in histories and chats.",
                "Take the link out, revoke the key at the gateway and make a new one. Import the provider without "
                "a key: misjudge setup ccswitch --with-gateway --model MODEL",
            )
        else:
            yield finding(
                "key-in-tracked-file",
                "error",
                named(leak.file),
                "git has this file, and a key stands in it.",
                "Write ${" + DEFAULT_KEY_VARIABLE + "} there in its place, revoke the key at the gateway and make "
                "a new one: git keeps the old one.",
            )
    if facts.dotenv_exposed and any(place.where == DOTENV for place in keys(facts)):
        posix = "echo .env >> .gitignore && git rm --cached --ignore-unmatch .env"
        windows = "Add-Content .gitignore .env; git rm --cached --ignore-unmatch .env"
        said = "A key stands in it, and no line of .gitignore keeps git from taking it."
        yield finding("dotenv-not-ignored", "warning", DOTENV, said, windows if facts.windows else posix)


def _in_entries(facts: SetupFacts) -> Iterator[Finding]:
    tracked = {leak.file for leak in facts.leaks if leak.tracked}
    for entry in facts.entries:
        value = text_at(entry.table, "env", DEFAULT_KEY_VARIABLE) if entry.ours else None
        if value and "${" not in value and facts.names[entry.document] not in tracked:
            client = "codex" if entry.client == "Codex" else "claude"
            yield finding(
                "key-in-entry",
                "warning",
                entry.where,
                f"{DEFAULT_KEY_VARIABLE} stands there as a value: one more copy of the key.",
                f"Take the line out, then: misjudge setup {client}",
            )
