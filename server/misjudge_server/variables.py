"""The variables that misjudge knows, and where each is set: in the environment, else in `.env`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.settings import RoleName

ENVIRONMENT: Final = "environment"
DOTENV: Final = ".env"

ROLE_VARIABLES: Final[Mapping[RoleName, tuple[str, ...]]] = {
    "agent": ("CANDIDATE_MODEL",),
    "user_sim": ("SIM_USER_MODEL",),
    "judge": ("TAOTOKEN_JUDGE_MODEL", "JUDGE_MODEL"),
}
MODEL_VARIABLES: Final = ("TAOTOKEN_MODEL", "TAOTOKEN_MODEL_ID")
CONNECTION_VARIABLES: Final[Mapping[str, str]] = {
    "base_url": "TAOTOKEN_BASE_URL",
    "timeout_s": "MISJUDGE_TIMEOUT_S",
    "deadline_s": "MISJUDGE_DEADLINE_S",
    "max_attempts": "MISJUDGE_MAX_ATTEMPTS",
    "concurrency": "MISJUDGE_CONCURRENCY",
    "requests_per_minute": "MISJUDGE_REQUESTS_PER_MINUTE",
    "tokens_per_minute": "MISJUDGE_TOKENS_PER_MINUTE",
    "trust_env": "MISJUDGE_TRUST_ENV",
}
"""By field of `Endpoint`."""
STORE_VARIABLE: Final = "MISJUDGE_STORE"
ROOTS_VARIABLE: Final = "MISJUDGE_ROOTS"
CONFIG_VARIABLE: Final = "MISJUDGE_CONFIG"
PROXY_VARIABLES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
"""In capitals; each counts in small letters, too."""
NETWORK_VARIABLES: Final = (
    *(spelling for name in (*PROXY_VARIABLES, "NO_PROXY") for spelling in (name, name.lower())),
    "SSL_CERT_FILE",
)
"""What a client that hands no environment on must name, too, where a proxy or a company's certificate is needed."""
VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
LEFTOVERS: Final = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")
"""Variables of other tools that people expect to count here."""


class Stated(NamedTuple):
    """A value, the variable or table that states it, and where that stands: the environment, `.env` or a file."""

    value: Any
    by: str
    place: str

    @property
    def origin(self) -> str:
        """As in `JUDGE_MODEL (environment)`."""
        return f"{self.by} ({self.place})"


class Variables(NamedTuple):
    """The environment and `.env`. An empty value counts as unset."""

    environment: Mapping[str, str]
    dotenv: Mapping[str, str]

    def find(self, *names: str) -> Stated | None:
        """The first of these names that is set in the environment, else in `.env`."""
        for place, values in ((ENVIRONMENT, self.environment), (DOTENV, self.dotenv)):
            for name in names:
                if values.get(name):
                    return Stated(values[name], name, place)
        return None


def unusable(variables: str, error: ValidationError) -> InvalidInput:
    """The error for variables whose value cannot be used; it does not show the value."""
    said = error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")
    return InvalidInput(f"The setting {variables} cannot be used: {said}. Correct it in the environment or .env.")
