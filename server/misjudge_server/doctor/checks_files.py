"""Files that cannot be read, proxies, certificates and the store. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.findings import Finding, Severity, finding
from misjudge_server.doctor.wording import named, unset
from misjudge_server.variables import DOTENV, ENVIRONMENT, ROOTS_VARIABLE, STORE_VARIABLE
from misjudge_storage.inspecting import StoreProblem

_MOST_LINES: Final = 10
_HOW_TO_NAME: Final = f"Name a file in {STORE_VARIABLE}, such as .misjudge/misjudge.db."
_STORE: Final[Mapping[StoreProblem, str]] = {
    "not-a-store-url": f"{STORE_VARIABLE} is neither a path nor a URL of SQLite or Postgres.",
    "in-memory": "The store would be in memory, and lost at the end of each command.",
    "no-driver": "The store is a Postgres database, and the driver for it is not installed.",
    "old-sqlite": "This Python comes with an SQLite older than 3.35.",
    "folder": "The store is a folder, device or pipe in place of a file.",
    "unwritable": "The store's file or folder cannot be written.",
    "damaged": "The store's file is damaged, or no SQLite database.",
    "other-program": "The store is a database of another program.",
    "too-new": "A newer misjudge wrote the store.",
}
_STORE_FIXES: Final[Mapping[StoreProblem, str]] = {
    "no-driver": "pip install 'misjudge[postgres]'",
    "old-sqlite": "Run misjudge with another Python, such as one of python.org or uv.",
    "unwritable": f"Make it writable, or name another place in {STORE_VARIABLE}.",
    "damaged": f"Put a copy back (as FILE.vN.bak beside it, if there is one), or name a new file in {STORE_VARIABLE}.",
    "too-new": "pip install --upgrade misjudge",
}


def file_findings(facts: SetupFacts) -> Iterator[Finding]:
    """Each file that is there and cannot be read."""
    for place in facts.seen:
        if place.state == "unreadable" and place.problem is not None:
            fix = "Correct the file as it says, or move it away; the other places were looked at."
            yield finding("file-unreadable", "error", place.name, place.problem, fix)
    for provider in facts.switch:
        if provider.problem is not None:
            where = f"{facts.switch_name} ({named(provider.app)}, {named(provider.name)})"
            fix = "Open the provider in CC Switch, correct it there and save it."
            yield finding("file-unreadable", "error", where, provider.problem, fix)


def machine_findings(facts: SetupFacts) -> Iterator[Finding]:
    """Proxies that cannot work, certificates and folders that are not there."""
    ignored = facts.settings is not None and not any(
        profile.endpoint.trust_env for profile in facts.settings.models.roles.values()
    )
    for proxy in facts.proxies if not ignored else ():
        dead = proxy.problem == "dead"
        said = (
            f"{proxy.variable} names a proxy on this machine, and nothing answers there: the local proxy failed."
            if dead
            else f"{proxy.variable} is no address of an http:// or https:// proxy, which is all that misjudge takes."
        )
        fix = f"{unset(proxy.variable, windows=facts.windows)}{' (or start the proxy)' if dead else ''}"
        yield finding("proxy-dead" if dead else "proxy-invalid", "error", ENVIRONMENT, said, fix)
    if facts.certificates_missing:
        fix = f"{unset('SSL_CERT_FILE', windows=facts.windows)} (or name the file that your company gave you)"
        said = "SSL_CERT_FILE names a file that is not there, so no secure connection can be made."
        yield finding("certificates-missing", "error", ENVIRONMENT, said, fix)
    if facts.missing_roots:
        said = f"{ROOTS_VARIABLE} names {facts.missing_roots} folder(s) that are not there."
        yield finding("roots-missing", "warning", ENVIRONMENT, said, f"Correct {ROOTS_VARIABLE}: misjudge config")


def store_findings(facts: SetupFacts) -> Iterator[Finding]:
    """What is wrong with the store."""
    store, where = facts.store, "store"
    if store.problem is not None:
        evidence = _STORE[store.problem]
        yield finding(f"store-{store.problem}", "error", where, evidence, _STORE_FIXES.get(store.problem, _HOW_TO_NAME))
    if store.network:
        said = "The store is on a network disk: slower, and unsafe where the disk does not lock."
        yield finding("store-network-disk", "warning", where, said, f"Name a file on this machine in {STORE_VARIABLE}.")
    if store.little_space:
        said = "Less than 100 MB are free on the store's disk."
        yield finding("store-little-space", "warning", where, said, "Make room, or name a file on another disk.")
    if store.lost_runs:
        first = named(store.lost_runs[0])
        said = (
            f"{len(store.lost_runs)} run(s) ended without finishing, as of a killed process. What was stored is there."
        )
        yield finding("store-lost-runs", "note", where, said, f"misjudge runs resume {first}")


def dotenv_findings(facts: SetupFacts) -> Iterator[Finding]:
    """A `.env` that an editor saved under another name, and lines of it that set nothing."""
    yield from _unread_lines(facts)
    if facts.misnamed_dotenv is not None:
        said = f"{facts.misnamed_dotenv} is there, and .env is not: only .env is read."
        fix = f"Rename-Item {facts.misnamed_dotenv} .env" if facts.windows else f"mv {facts.misnamed_dotenv} .env"
        yield finding("dotenv-misnamed", "warning", DOTENV, said, fix)


def _unread_lines(facts: SetupFacts) -> Iterator[Finding]:
    weights: tuple[tuple[bool, Severity], ...] = ((True, "error"), (False, "warning"))
    for ours, severity in weights:
        numbers = [line.number for line in facts.dotenv_unread if line.ours is ours]
        if not numbers:
            continue
        one = len(numbers) == 1
        listed = ", ".join(str(number) for number in numbers[:_MOST_LINES])
        more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
        said = f"Line{'' if one else 's'} {listed}{more} set{'s' if one else ''} nothing: no NAME=value is read there."
        fix = "Write each as NAME=value: no colon, command or JSON, and quotes on both sides or none."
        yield finding("dotenv-line-unread", severity, DOTENV, said, fix)
