"""What an operation is given: the open store, the way to the models, the worker of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from misjudge_tools.gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from misjudge_storage.engine import Store
    from misjudge_tools.runs.worker import Worker


@dataclass(frozen=True)
class Deps:
    """Made once per process by the surface (`misjudge_server.deps`).

    `roots` are the folders that files may be read from; None where the caller is a person's own shell.
    """

    store: Store
    gateway: GatewaySettings
    worker: Worker
    roots: tuple[Path, ...] | None
