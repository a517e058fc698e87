"""How models are reached, as the surface found it configured."""

from __future__ import annotations

from pydantic import SecretStr

from misjudge_storage.types import Value


class GatewaySettings(Value):
    """`judge_model` None: a call must name its judge. Times in seconds."""

    base_url: str
    key: SecretStr | None = None
    judge_model: str | None = None
    timeout_s: float = 60
    concurrency: int = 32
    trust_env: bool = True
