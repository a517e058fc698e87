"""How models are reached, as the surface found it configured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from misjudge_storage.types import Value

DEFAULT_BASE_URL = "https://taotoken.net/api"
DEFAULT_KEY_VARIABLE = "TAOTOKEN_API_KEY"
SIMULATED_KEY = "simulated"
"""The key that `misjudge simulate` takes, and no other."""

RoleName = Literal["agent", "user_sim", "judge"]
"""The roles that are configured apart."""


class Price(Value):
    """USD per million tokens, and where that is written."""

    input: Annotated[float, Field(ge=0, le=1e6)]
    output: Annotated[float, Field(ge=0, le=1e6)]
    source: str = "misjudge.toml"


class Endpoint(Value):
    """An address with its key, and how hard the two may be asked. Times in seconds.

    `key` None: the environment does not hold `key_variable`. `timeout_s` bounds an attempt, `deadline_s` a call
    with the waits between its attempts. Limits per minute are those of one model with this key; None: not stated.
    """

    base_url: str = DEFAULT_BASE_URL
    key: SecretStr | None = None
    key_variable: str = DEFAULT_KEY_VARIABLE
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60
    deadline_s: Annotated[float, Field(gt=0, le=36_000)] = 180
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 4
    concurrency: Annotated[int, Field(ge=1, le=2000)] = 32
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[float, Field(gt=0)] | None = None
    trust_env: bool = True

    @property
    def simulated(self) -> bool:
        """Whether the key is that of a simulated gateway: all that it says is made up."""
        return self.key is not None and self.key.get_secret_value().strip() == SIMULATED_KEY
