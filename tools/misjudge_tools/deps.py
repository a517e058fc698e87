"""What an operation is given: the open store, the way to the models, the worker of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from misjudge_storage.types import Value

if TYPE_CHECKING:
    from misjudge_storage.engine import Store
    from misjudge_tools.runs.worker import Worker


class GatewaySettings(Value):
    """How models are reached. `judge_model` None: a call must name its judge."""

    base_url: str
    key: SecretStr | None = None
    judge_model: str | None = None
    timeout_s: float = 60
    concurrency: int = 32
    trust_env: bool = True


@dataclass(frozen=True)
class Deps:
    """Made once per process by the surface (`misjudge_server.deps`).

    `roots` are the folders that files may be read from; None where the caller is a person's own shell.
    """

    store: Store
    gateway: GatewaySettings
    worker: Worker
    roots: tuple[Path, ...] | None
