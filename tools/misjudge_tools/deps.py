"""What an operation is given: the open store, the way to the models, the worker of runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from misjudge_storage.engine import Store
    from misjudge_tools.episodes.settings import EpisodeSettings
    from misjudge_tools.gateway.pool import Gateways
    from misjudge_tools.profiles import ModelSettings
    from misjudge_tools.results import RunReport
    from misjudge_tools.runs.worker import Worker

Listener = Callable[["RunReport"], Awaitable[None]]
AskPerson = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Shows a person a message and a form, by its JSON schema; what was filled in, None where nothing was."""


@dataclass(frozen=True)
class Deps:
    """Made once per process by the surface (`misjudge_server.deps`).

    `roots` are the folders that files may be read from and written to; None where the caller is a person's own shell.
    `progress` is told how a run stands while an operation waits for it; `ask_person` is there where the caller has a
    form for its person.
    """

    store: Store
    models: ModelSettings
    episodes: EpisodeSettings
    gateways: Gateways
    worker: Worker
    roots: tuple[Path, ...] | None
    progress: Listener | None = None
    ask_person: AskPerson | None = None
