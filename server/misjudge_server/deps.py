"""The composition root: from settings to what operations are given."""

from __future__ import annotations

from misjudge_server.settings import Settings
from misjudge_storage.engine import open_store
from misjudge_tools.deps import Deps
from misjudge_tools.gateway.pool import Gateways
from misjudge_tools.runs.sessions import session_opener
from misjudge_tools.runs.worker import Worker


def build_deps(settings: Settings, *, confined: bool) -> Deps:
    """Open the store and wire it up. `confined`: files are read only under the working directory and named roots.

    Raises StoreError. Close with `close_deps`.
    """
    store = open_store(settings.store)
    models, gateways = settings.models, Gateways()
    roots = settings.roots if confined else None
    worker = Worker(store, session_opener(store, models, gateways, settings.episodes, roots))
    return Deps(store, models, settings.episodes, gateways, worker, roots)


async def close_deps(deps: Deps) -> None:
    """Let the calls in flight finish, commit, and let go of the store."""
    await deps.worker.aclose()
    await deps.gateways.aclose()
    deps.store.close()
