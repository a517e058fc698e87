"""The gateways of a process: one for each endpoint. All that use one address and key share the limits of the two."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import SecretStr

from misjudge_storage.errors import InvalidInput, MissingKey
from misjudge_tools.gateway.addresses import is_loopback, normalise_base_url
from misjudge_tools.gateway.calls import no_key
from misjudge_tools.gateway.client import HttpGateway
from misjudge_tools.gateway.clock import Clock, SystemClock
from misjudge_tools.gateway.limits import Limiter
from misjudge_tools.gateway.settings import Endpoint

NOT_HERE = (
    "The key in {variable} is that of a simulated gateway, which runs on this machine only. "
    "Give the address that `misjudge simulate` prints, or a key of your own."
)


class Gateways:
    """Opens a gateway when its endpoint is first asked for. Use one within one event loop, and close it there."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock
        self._open: dict[Endpoint, HttpGateway] = {}
        self._limiters: dict[_Shared, Limiter] = {}

    def at(self, endpoint: Endpoint) -> HttpGateway:
        """The endpoint's gateway, which belongs to all who ask for it: never close it alone.

        Raises MissingKey without a key, and InvalidInput for an address or key that cannot be used.
        """
        if endpoint not in self._open:
            self._open[endpoint] = self._gateway(endpoint)
        return self._open[endpoint]

    async def aclose(self) -> None:
        """Closes every gateway."""
        while self._open:
            _, gateway = self._open.popitem()
            await gateway.aclose()

    def _gateway(self, endpoint: Endpoint) -> HttpGateway:
        if endpoint.key is None:
            raise MissingKey(no_key(endpoint.key_variable))
        if endpoint.simulated and not is_loopback(normalise_base_url(endpoint.base_url)):
            raise InvalidInput(NOT_HERE.format(variable=endpoint.key_variable))
        return HttpGateway(
            endpoint.base_url,
            endpoint.key.get_secret_value(),
            timeout_s=endpoint.timeout_s,
            deadline_s=endpoint.deadline_s,
            max_attempts=endpoint.max_attempts,
            concurrency=endpoint.concurrency,
            key_variable=endpoint.key_variable,
            trust_env=endpoint.trust_env,
            simulated=endpoint.simulated,
            clock=self._clock,
            limiter=self._limiter(endpoint),
        )

    def _limiter(self, endpoint: Endpoint) -> Limiter:
        limits = (endpoint.concurrency, endpoint.requests_per_minute, endpoint.tokens_per_minute)
        shared = _Shared(normalise_base_url(endpoint.base_url), endpoint.key, *limits)
        if shared not in self._limiters:
            self._limiters[shared] = Limiter(
                self._clock or SystemClock(),
                concurrency=endpoint.concurrency,
                requests_per_minute=endpoint.requests_per_minute,
                tokens_per_minute=endpoint.tokens_per_minute,
            )
        return self._limiters[shared]


class _Shared(NamedTuple):
    """What makes two endpoints one to their provider, and the limits that are kept."""

    base_url: str
    key: SecretStr | None
    concurrency: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
