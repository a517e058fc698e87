"""Reads a set-up whole: the clients' files, `.env`, `misjudge.toml`, the environment, the store. Writes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from misjudge_server.clients.places import places_of
from misjudge_server.doctor.checks_keys import keys
from misjudge_server.doctor.client_reading import read_files, read_switch
from misjudge_server.doctor.dotenv_lines import unread_lines
from misjudge_server.doctor.entries import entries_of
from misjudge_server.doctor.facts import PlaceSeen, SetupFacts
from misjudge_server.doctor.machine_reading import (
    is_file_if_named,
    is_there,
    misnamed_dotenv,
    missing_folders,
    proxies_in,
)
from misjudge_server.doctor.project_reading import find_leaks, is_exposed, repository_of
from misjudge_server.doctor.sealed import opened
from misjudge_server.settings import DEFAULT_STORE, Settings, dotenv_sets, dotenv_text, load_settings
from misjudge_server.variables import DOTENV, ENVIRONMENT, ROOTS_VARIABLE, STORE_VARIABLE, Variables
from misjudge_storage.errors import InvalidInput
from misjudge_storage.inspecting import StoreState, inspect_store

_CANNOT_OPEN = frozenset({"folder", "unwritable", "damaged", "not-a-store-url", "in-memory"})


def read_setup() -> SetupFacts:
    """The set-up of whoever runs this, in the working directory."""
    home, folder = Path.home(), Path.cwd()
    environment = dict(os.environ)
    places = places_of(environment, home, folder)
    files, switch = read_files(places, environment), read_switch(places)
    dotenv_says, of_dotenv = _dotenv()
    dotenv = dotenv_sets(dotenv_says)
    settings, refused = _settings()
    store = inspect_store(_store_of(settings, Variables(environment, dotenv)))
    repository = repository_of(folder)
    seen = (PlaceSeen(ENVIRONMENT, "read"), of_dotenv, *files.seen, switch.seen, _store_seen(store))
    facts = SetupFacts(
        home=home,
        folder=folder,
        windows=os.name == "nt",
        seen=seen,
        environment=_sealed(environment),
        dotenv=_sealed(dotenv),
        dotenv_unread=unread_lines(dotenv_says),
        documents=files.documents,
        names=files.names,
        entries=entries_of(files.documents, files.names, folder.as_posix(), is_there),
        switch=switch.providers,
        switch_name=switch.seen.name,
        settings=settings,
        refused=refused,
        leaks=(),
        dotenv_exposed=is_exposed(folder, repository, home),
        proxies=tuple(proxies_in(environment)),
        missing_roots=missing_folders(environment.get(ROOTS_VARIABLE, "")),
        certificates_missing=not is_file_if_named(environment.get("SSL_CERT_FILE")),
        misnamed_dotenv=misnamed_dotenv(folder),
        store=store,
    )
    return facts._replace(leaks=find_leaks(folder, repository, _keys(facts)))


def _dotenv() -> tuple[str, PlaceSeen]:
    virtual = os.path.isfile(os.path.join(DOTENV, "pyvenv.cfg"))
    if virtual or not os.path.lexists(DOTENV):
        return "", PlaceSeen(DOTENV, "absent")
    if not os.path.isfile(DOTENV):
        said = f"{DOTENV} is a folder, a pipe or a link to nothing, so nothing of it is read."
        return "", PlaceSeen(DOTENV, "unreadable", said)
    try:
        return dotenv_text(), PlaceSeen(DOTENV, "read")
    except InvalidInput as error:
        return "", PlaceSeen(DOTENV, "unreadable", str(error))


def _settings() -> tuple[Settings | None, str | None]:
    try:
        return load_settings(), None
    except InvalidInput as error:
        return None, str(error)


def _store_of(settings: Settings | None, variables: Variables) -> str:
    if settings is not None:
        return settings.store
    stated = variables.find(STORE_VARIABLE)
    return str(stated.value) if stated else DEFAULT_STORE


def _store_seen(store: StoreState) -> PlaceSeen:
    if store.problem in _CANNOT_OPEN:
        return PlaceSeen("store", "unreadable")
    return PlaceSeen("store", "read" if store.present else "absent")


def _sealed(values: Mapping[str, str]) -> dict[str, SecretStr]:
    return {name: SecretStr(value) for name, value in values.items()}


def _keys(facts: SetupFacts) -> frozenset[str]:
    """Every key that is set, and what is one by the name of its variable."""
    values = [place.value for place in keys(facts)]
    for variables in (facts.environment, facts.dotenv):
        named = (opened(value) for name, value in variables.items() if name.upper().endswith(("API_KEY", "AUTH_TOKEN")))
        values += [value for value in named if value]
    return frozenset(value.strip() for value in values)
