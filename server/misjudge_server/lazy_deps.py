"""What the operations are given, built by the first call that needs it: a client drops a server that starts slowly."""

from __future__ import annotations

import asyncio
from pathlib import Path

from misjudge_tools.deps import Deps


class LazyDeps:
    """The dependencies of the operations, built by the first call. `given` ones are the caller's to close."""

    def __init__(self, given: Deps | None = None) -> None:
        self._given = given
        self._built: Deps | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> Deps:
        """Raises StoreError or InvalidInput; the next call tries again."""
        if self._given is not None:
            return self._given
        async with self._lock:
            if self._built is None:
                from misjudge_server.deps import build_deps
                from misjudge_server.settings import load_settings

                self._built = await asyncio.to_thread(lambda: build_deps(load_settings(), confined=True))
            return self._built

    async def existing(self) -> Deps | None:
        """As `get`, but None where there is no store yet: looking at lists must not make one."""
        if self._given is None and self._built is None and not await asyncio.to_thread(_is_there):
            return None
        return await self.get()

    async def close(self) -> None:
        """Drain and close what was built here."""
        if self._built is not None:
            from misjudge_server.deps import close_deps

            await close_deps(self._built)


def _is_there() -> bool:
    from misjudge_server.settings import load_settings

    place = load_settings().store
    if "://" not in place:  # told without the slow imports that a look inside takes
        return Path(place).expanduser().is_file()
    from misjudge_storage.inspecting import inspect_store

    return inspect_store(place).present
