"""The ways to models: the gateway, the local model, the simulated gateway. All that ask one model share its way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple

from misjudge_storage.errors import InvalidInput, MissingKey
from misjudge_storage.hashing import digest
from misjudge_storage.types import Value
from misjudge_tools.gateway.addresses import normalise_base_url
from misjudge_tools.gateway.calls import Gateway, no_key
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.settings import Price, RoleName
from misjudge_tools.gateway.simulated_bias import SimulatedBias, Told
from misjudge_tools.profiles import ModelSettings, Profile

if TYPE_CHECKING:
    from misjudge_tools.gateway.client import HttpGateway

TellTruth = Callable[[Mapping[str, Told]], Awaitable[None]]
LOCAL_MODEL = "SmolLM2-135M-Instruct"


class ModelChoice(Value):
    """Which model is asked, as stored with a run: enough to go on in another process, without a key or an address.

    `profile` names the profile that says where the model is; None: the role's own. `planted` are the faults of a
    simulated judge. `simulated`: what it says is made up, also where a gateway does so.
    """

    kind: Literal["gateway", "local", "simulated"]
    model: str
    role: RoleName = "judge"
    profile: str | None = None
    planted: SimulatedBias | None = None
    simulated: bool = False


class OpenGateway(NamedTuple):
    """A way to a model. `tell_truth`, only where it is simulated, says who did the job, by transcript hash.

    `address` tells apart gateways that offer a model under the same name; it is a digest.
    """

    gateway: Gateway
    pricing: Pricing
    concurrency: int
    address: str
    tell_truth: TellTruth | None = None


_WAYS_ON: dict[RoleName, str] = {
    "judge": "Give judge=MODEL, or set TAOTOKEN_JUDGE_MODEL; judge=local and judge=simulated need no gateway.",
    "agent": "Name a model among the agents, or set CANDIDATE_MODEL; scripted agents such as diligent need no gateway.",
    "user_sim": "Give user=MODEL (--user MODEL), or set SIM_USER_MODEL; user=scripted needs no gateway.",
}
_NAMES: dict[RoleName, str] = {"judge": "judge", "agent": "agent", "user_sim": "simulated user"}


def choose_model(role: RoleName, name: str | None, models: ModelSettings, *, to_ask: bool = True) -> ModelChoice:
    """The model that `name` means for a role: `local`, a profile or a model; None: the role's own.

    Only `to_ask` it is a key needed. Raises MissingKey or InvalidInput.
    """
    if name == "local":
        return ModelChoice(kind="local", model=LOCAL_MODEL, role=role)
    profile = models.named(role, name)
    key = profile.endpoint.key
    if key is None and to_ask:
        raise MissingKey(no_key(profile.endpoint.key_variable, role))
    if key is not None and not profile.endpoint.simulated and key.get_secret_value() == profile.model:
        raise InvalidInput(f"The model is named by the key itself. {_WAYS_ON[role]} Keep the key where it is.")
    if profile.model is None:
        raise InvalidInput(f"No {_NAMES[role]} model is named. {_WAYS_ON[role]}")
    return ModelChoice(
        kind="gateway",
        model=profile.model,
        role=role,
        profile=profile.name,
        simulated=profile.endpoint.simulated,
    )


def profile_of(choice: ModelChoice, models: ModelSettings) -> Profile:
    """The profile that a stored choice is asked through. Raises InvalidInput where it is configured no more, and where
    it names another model by now.
    """
    if choice.profile is not None and choice.profile not in models.profiles:
        raise InvalidInput(
            f"The {choice.role} was chosen by the profile {choice.profile!r}, which misjudge.toml does not hold. "
            "Put it back, or begin anew with another one."
        )
    profile = models.named(choice.role, choice.profile or choice.model)
    if profile.model != choice.model:
        was = "nothing" if choice.profile is None else choice.model
        raise InvalidInput(
            f"Profile {profile.name} named {was} when this run was planned and names {profile.model or 'nothing'} now. "
            "Put it back, or begin another run."
        )
    return profile


def pricing_of(choice: ModelChoice, models: ModelSettings) -> Pricing:
    """What its calls cost: nothing where no paid gateway is asked."""
    if choice.kind != "gateway" or choice.simulated:
        source = "simulated" if choice.simulated else choice.kind
        return Pricing(choice.model, Price(input=0, output=0, source=source))
    return Pricing(choice.model, profile_of(choice, models).price or models.prices.get(choice.model))


def asked_at(choice: ModelChoice, models: ModelSettings) -> str:
    """Which model is asked where, and where either was configured, for people."""
    if choice.kind == "simulated":
        return "a simulated judge on this machine"
    if choice.kind == "local":
        return f"{choice.model} on this machine"
    profile = profile_of(choice, models)
    model, url = (profile.origins.get(name, "the default") for name in ("model", "base_url"))
    marked = "SIMULATED, " if choice.simulated else ""
    return f"{marked}{choice.model}, from {model}, at {profile.endpoint.base_url}, from {url}"


class Ways:
    """Opens the way to a model when it is first asked for; closes what it opened with its context.

    Gateways belong to the process and stay open.
    """

    def __init__(self, models: ModelSettings, gateways: Gateways) -> None:
        self._models = models
        self._gateways = gateways
        self._stack = AsyncExitStack()
        self._open: dict[str, OpenGateway] = {}

    async def __aenter__(self) -> Ways:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def open(self, choice: ModelChoice) -> OpenGateway:
        """The way to the model. Raises MissingKey, InvalidInput or Unreachable."""
        if choice.kind == "gateway":
            return await self._gateway(choice)
        shared = choice.kind if choice.planted is None else digest("planted", choice.planted.model_dump())
        if shared not in self._open:
            self._open[shared] = await (self._local(choice) if choice.kind == "local" else self._simulated(choice))
        return self._open[shared]

    async def _gateway(self, choice: ModelChoice) -> OpenGateway:
        endpoint = profile_of(choice, self._models).endpoint
        gateway = self._gateways.at(endpoint)
        if gateway.simulated is not choice.simulated:
            raise InvalidInput(
                f"The {choice.role} of this run was asked at {_called(choice.simulated)} gateway, and now a "
                f"{_called(gateway.simulated)} one is configured. Put the address and key back, or begin another audit."
            )
        pricing = pricing_of(choice, self._models)
        # In a thread: the table of list prices takes half a second to load.
        await asyncio.to_thread(lambda: pricing.known)
        told = gateway.tell_truth if gateway.simulated else None
        address = digest("url", normalise_base_url(endpoint.base_url))
        return OpenGateway(gateway, pricing, endpoint.concurrency, address, told)

    async def _local(self, choice: ModelChoice) -> OpenGateway:
        from misjudge_tools.gateway.local import SLOTS, LocalJudge

        local = await self._stack.enter_async_context(LocalJudge())
        gateway = self._own(local.base_url, concurrency=SLOTS, timeout_s=120, simulated=False)
        return OpenGateway(gateway, pricing_of(choice, self._models), SLOTS, choice.kind)

    async def _simulated(self, choice: ModelChoice) -> OpenGateway:
        from misjudge_tools.gateway.simulated import SimulatedServer

        server = await self._stack.enter_async_context(SimulatedServer(choice.planted))
        concurrency = self._models.role("judge").endpoint.concurrency
        gateway = self._own(server.base_url, concurrency=concurrency, timeout_s=60, simulated=True)
        return OpenGateway(gateway, pricing_of(choice, self._models), concurrency, choice.kind, gateway.tell_truth)

    def _own(self, base_url: str, *, concurrency: int, timeout_s: float, simulated: bool) -> HttpGateway:
        from misjudge_tools.gateway.client import HttpGateway

        key = "simulated" if simulated else "local"
        gateway = HttpGateway(base_url, key, concurrency=concurrency, timeout_s=timeout_s, simulated=simulated)
        self._stack.push_async_callback(gateway.aclose)
        return gateway


def _called(simulated: bool) -> str:
    return "simulated" if simulated else "real"
