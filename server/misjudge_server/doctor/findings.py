"""What the doctor says: findings, and which places it looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from misjudge_storage.types import Value
from misjudge_tools.ping import RolePing

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[Mapping[Severity, int]] = {"error": 0, "warning": 1, "note": 2}
"""Each with its place in the order: what stops work comes first."""
PlaceState = Literal["read", "absent", "unreadable"]


class Finding(Value):
    """One thing that is wrong. `where` is a file with the table in it, or the environment; `evidence` says what was
    seen there without any value; `fix` is a command or an edit.
    """

    id: str
    severity: Severity
    where: str
    evidence: str
    fix: str


def finding(identity: str, severity: Severity, where: str, evidence: str, fix: str) -> Finding:
    """A finding, written on one line."""
    return Finding(id=identity, severity=severity, where=where, evidence=evidence, fix=fix)


class ModelSeen(Value):
    """What a model answered: `ping` with its tokens and cost; `listed`: whether the gateway lists it, None where it
    lists none; `skew_s`: seconds that the gateway's clock is ahead of this machine's.
    """

    ping: RolePing
    listed: bool | None = None
    skew_s: float | None = None


class SetupReport(Value):
    """What is wrong, worst first; `places` is by name. `requests`: completions that were asked for, each of them paid,
    and `marked` says where a simulated gateway answered them.
    """

    verdict: str
    marked: str | None = None
    findings: tuple[Finding, ...]
    errors: int
    warnings: int
    notes: int
    looked_at: str
    places: Mapping[str, PlaceState]
    online: tuple[ModelSeen, ...] | None = None
    requests: int = 0
    next: str | None = None


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, the worst first, those of equal weight as they came."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda found: SEVERITIES[found.severity]))
