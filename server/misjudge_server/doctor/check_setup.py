"""The operation `check_setup`, which is `misjudge doctor`: what is wrong with a set-up, and how to mend it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from misjudge_server.doctor.checks_addresses import address_findings
from misjudge_server.doctor.checks_claude import claude_findings
from misjudge_server.doctor.checks_codex import codex_findings
from misjudge_server.doctor.checks_conflicts import conflict_findings
from misjudge_server.doctor.checks_files import dotenv_findings, file_findings, machine_findings, store_findings
from misjudge_server.doctor.checks_keys import key_findings
from misjudge_server.doctor.checks_models import model_findings
from misjudge_server.doctor.checks_servers import server_findings
from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.findings import Finding, SetupReport, in_order
from misjudge_server.doctor.online import OnlineLook, look_online, paid_requests
from misjudge_server.doctor.reading import read_setup
from misjudge_server.doctor.setup_request import CheckSetupRequest
from misjudge_server.logs import announce

_CHECKS: Final[tuple[Callable[[SetupFacts], Iterator[Finding]], ...]] = (
    file_findings,
    model_findings,
    key_findings,
    address_findings,
    machine_findings,
    codex_findings,
    claude_findings,
    server_findings,
    conflict_findings,
    dotenv_findings,
    store_findings,
)


async def check_setup(request: CheckSetupRequest) -> SetupReport:
    """What is wrong. Changes nothing, and asks a gateway only where `online` says so."""
    facts = await asyncio.to_thread(read_setup)
    offline = await asyncio.to_thread(findings_of, facts)
    if not request.online:
        return _report(facts, offline, None)
    most = paid_requests(facts)
    if most:
        announce(f"asking the models of the roles: at most {most} small completions, which are paid")
    online = await look_online(facts)
    return _report(facts, (*offline, *online.findings), online)


def findings_of(facts: SetupFacts) -> tuple[Finding, ...]:
    """What can be seen without asking anybody."""
    return tuple(found for check in _CHECKS for found in check(facts))


def _report(facts: SetupFacts, findings: Iterable[Finding], online: OnlineLook | None) -> SetupReport:
    ordered = in_order(findings)
    counts = {severity: sum(one.severity == severity for one in ordered) for severity in ("error", "warning", "note")}
    absent = sum(place.state == "absent" for place in facts.seen)
    read = len(facts.seen) - absent
    return SetupReport(
        verdict=_verdict(counts["error"], counts["warning"], counts["note"]),
        marked=online.marked if online else None,
        findings=ordered,
        errors=counts["error"],
        warnings=counts["warning"],
        notes=counts["note"],
        looked_at=f"{read} {'place' if read == 1 else 'places'} read, {absent} absent",
        places={place.name: place.state for place in facts.seen},
        online=online.models if online else None,
        requests=online.requests if online else 0,
        next=None if online or counts["error"] else "misjudge doctor --online asks the model of each role (paid).",
    )


def _verdict(errors: int, warnings: int, notes: int) -> str:
    if errors:
        return f"{_counted(errors, 'error')} to mend first, {_counted(warnings, 'warning')}, {_counted(notes, 'note')}."
    if warnings or notes:
        return f"Nothing stops it: {_counted(warnings, 'warning')}, {_counted(notes, 'note')}."
    return "Nothing wrong was found."


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
