"""`probe_judge`: what a judge can be fooled by, as changes of stored pairs that must not matter."""

from __future__ import annotations

from misjudge_storage.errors import InvalidInput
from misjudge_tools.deps import Deps
from misjudge_tools.requests import ProbeRequest
from misjudge_tools.results import ProbeResult


async def probe_judge(request: ProbeRequest, deps: Deps) -> ProbeResult:
    """Ask the judge about pairs as they are, twice, and changed; how often its verdict moves beyond its own repeats."""
    raise InvalidInput("No pair can be probed yet.")
