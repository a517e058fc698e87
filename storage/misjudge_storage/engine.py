"""Opening the store: a path or URL, brought to this version's schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from misjudge_storage.connections import on_network_disk, postgres_engine, reading, sqlite_engine, write_transaction
from misjudge_storage.errors import StoreError, StoreUnwritable
from misjudge_storage.migrations import all_migrations
from misjudge_storage.troubles import translated
from misjudge_storage.upgrading import upgrade
from misjudge_storage.writer import Writer

DEFAULT_STORE = ".misjudge/misjudge.db"


@dataclass(frozen=True)
class Store:
    """An open store. Reads take a connection of their own; results go through `writer`.

    `location` is what a person would recognise: the path, or the URL without its password.
    """

    engine: Engine
    writer: Writer
    location: str

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading: all that is read over it is of one moment. Raises StoreError."""
        with translated(self.location), reading(self.engine) as connection:
            yield connection

    def write(self) -> AbstractContextManager[Connection]:
        """One transaction that holds the write lock: all of it is stored, or nothing. Raises StoreError, also where
        the store's file was removed, replaced or cut since it was opened.
        """
        return _stored(self.engine, self.location)

    def close(self) -> None:
        """Commit what is queued and let go of every connection."""
        self.writer.close()
        self.engine.dispose()


@contextmanager
def _stored(engine: Engine, location: str) -> Iterator[Connection]:
    with translated(location), write_transaction(engine) as connection:
        yield connection


def open_store(where: str | Path = DEFAULT_STORE) -> Store:
    """Open (or make) the store at a path or SQLAlchemy URL and bring it to this version's schema.

    Raises StoreTooNew when a newer version wrote it, StoreUnwritable when it is locked, read-only or full,
    StoreError when it cannot be opened.
    """
    place = str(where)
    engine, location = _url_engine(place) if "://" in place else _file_engine(Path(place).expanduser())
    try:
        with translated(location):
            upgrade(engine, location, all_migrations())
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, Writer(lambda: _stored(engine, location)), location)


def _file_engine(path: Path) -> tuple[Engine, str]:
    folder = path.absolute().parent
    try:
        if path.is_dir():
            raise StoreError(
                f"The store {path} is a folder. Name a file in MISJUDGE_STORE, such as {path / 'misjudge.db'}."
            )
        if path.exists() and not path.is_file():
            raise StoreError(f"The store {path} is a device or pipe. Name a file in MISJUDGE_STORE.")
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if made and folder.name == ".misjudge":
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnwritable(
            f"The store's folder {folder} cannot be used ({error.strerror}). Name another place in MISJUDGE_STORE."
        ) from error
    url = URL.create("sqlite", database=str(path.absolute()))
    return sqlite_engine(url, str(path), network=on_network_disk(folder)), str(path)


def _url_engine(place: str) -> tuple[Engine, str]:
    try:
        url = make_url(place)
        location = url.render_as_string(hide_password=True)
        if url.get_backend_name() == "sqlite":
            return _sqlite_url_engine(url, location)
        if url.get_backend_name() == "postgresql":
            return postgres_engine(url), location
    except (ArgumentError, ImportError, ValueError) as error:
        raise _not_a_store_url() from error
    raise _not_a_store_url()


def _sqlite_url_engine(url: URL, location: str) -> tuple[Engine, str]:
    if url.database in {None, "", ":memory:"} or url.query.get("mode") == "memory":
        raise StoreError("A store in memory would lose its results. Name a file in MISJUDGE_STORE.")
    if url.query:  # such as sqlite:///file:misjudge.db?mode=ro&uri=true
        return sqlite_engine(url, location, network=False), location
    return _file_engine(Path(url.database or ""))


def _not_a_store_url() -> StoreError:
    return StoreError(
        "MISJUDGE_STORE must be a path or an SQLAlchemy URL such as postgresql://user@host/database; "
        "for Postgres install misjudge[postgres]."
    )
