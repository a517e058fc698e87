"""New stores as copies of one: making a schema anew for each of some thousand tests would take minutes.

What a test finds is the same; those of migrating, upgrading and opening make their stores without this.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine, create_engine

from misjudge_storage.migrations import Migration, all_migrations
from misjudge_storage.upgrading import upgrade


@cache
def template() -> bytes:
    """The file of a store that was just made."""
    with TemporaryDirectory(prefix="misjudge-template-") as folder:
        path = Path(folder) / "misjudge.db"
        engine = create_engine(f"sqlite:///{path}")
        upgrade(engine, str(path), all_migrations())
        engine.dispose()
        return path.read_bytes()


def copied(engine: Engine, location: str, migrations: tuple[Migration, ...]) -> None:
    """As `upgrade`, which it calls; an SQLite store that is not there yet is a copy of the template then."""
    if engine.dialect.name == "sqlite" and engine.url.database and not engine.url.query:
        path = Path(engine.url.database)
        if not path.exists() and path.parent.is_dir():
            path.write_bytes(template())
    upgrade(engine, location, migrations)
