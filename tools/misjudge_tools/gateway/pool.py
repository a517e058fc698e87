"""The gateways of a process: one for each endpoint, so that all runs and roles share its limits."""

from __future__ import annotations

from misjudge_storage.errors import MissingKey
from misjudge_tools.gateway.calls import no_key
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.clock import Clock
from misjudge_tools.gateway.settings import Endpoint


class Gateways:
    """Opens a gateway when its endpoint is first asked for. Use one within one event loop, and close it there."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock
        self._open: dict[Endpoint, HttpGateway] = {}

    def at(self, endpoint: Endpoint) -> HttpGateway:
        """The endpoint's gateway, which belongs to all who ask for it: never close it alone.

        Raises MissingKey without a key, and InvalidInput for an address or key that cannot be used.
        """
        if endpoint not in self._open:
            self._open[endpoint] = _gateway(endpoint, self._clock)
        return self._open[endpoint]

    async def aclose(self) -> None:
        """Closes every gateway."""
        while self._open:
            _, gateway = self._open.popitem()
            await gateway.aclose()


def _gateway(endpoint: Endpoint, clock: Clock | None) -> HttpGateway:
    if endpoint.key is None:
        raise MissingKey(no_key(endpoint.key_variable))
    return HttpGateway(
        endpoint.base_url,
        endpoint.key.get_secret_value(),
        timeout_s=endpoint.timeout_s,
        deadline_s=endpoint.deadline_s,
        max_attempts=endpoint.max_attempts,
        concurrency=endpoint.concurrency,
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
        key_variable=endpoint.key_variable,
        trust_env=endpoint.trust_env,
        clock=clock,
    )
