"""Reads the clients' files, each for itself: one that is broken is told, and the others are read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from misjudge_server.clients.documents import parse_json
from misjudge_server.clients.places import Places, short
from misjudge_server.config_file import FILE_NAME, parse_toml
from misjudge_server.doctor.facts import DocumentName, PlaceSeen, SwitchProvider
from misjudge_server.doctor.sealed import Document, opened, sealed
from misjudge_server.variables import CONFIG_VARIABLE
from misjudge_storage.errors import InvalidInput
from misjudge_storage.inspecting import read_only
from misjudge_tools.interchange.text_files import read_text

Parse = Callable[[str, str], Mapping[str, Any]]
_LIMIT_BYTES: Final = 100_000_000
_MOST_PROVIDERS: Final = 500
_LONGEST_SETTINGS: Final = 100_000
_PROVIDERS: Final = """\
SELECT app_type, substr(name, 1, 200) AS name, is_current, substr(settings_config, 1, ?) AS settings_config
FROM providers ORDER BY is_current DESC, app_type, name LIMIT ?"""
_STATE: Final = ("mcpServers", "oauthAccount", "primaryApiKey", "projects")
"""What is looked at in Claude Code's state, which holds the history of its use, too."""
_OF_PROJECT: Final = ("mcpServers", "disabledMcpServers", "disabledMcpjsonServers")


class ClientFiles(NamedTuple):
    """What the files hold, what people call them, and how each was found."""

    documents: Mapping[DocumentName, Document]
    names: Mapping[DocumentName, str]
    seen: tuple[PlaceSeen, ...]


class SwitchFile(NamedTuple):
    """The providers of CC Switch, and how its database was found."""

    providers: tuple[SwitchProvider, ...]
    seen: PlaceSeen


def read_files(places: Places, environment: Mapping[str, str]) -> ClientFiles:
    """The files of Claude Code and Codex, and misjudge.toml."""
    documents: dict[DocumentName, Document] = {}
    names: dict[DocumentName, str] = {}
    seen = []
    read = set[Path]()
    for name, path, parse in _files(places, environment):
        names[name] = called(path, places)
        if path in read:
            continue  # at home, the project's settings are the user's
        read.add(path)
        label = path.name if name == "misjudge" else names[name]  # as the settings call it in their sentence
        try:
            text = read_text(path, label, _LIMIT_BYTES) if os.path.lexists(path) else None
            if text is not None:
                documents[name] = sealed(parse(text, label))
            seen.append(PlaceSeen(names[name], "absent" if text is None else "read"))
        except InvalidInput as error:
            seen.append(PlaceSeen(names[name], "unreadable", str(error)))
    return ClientFiles(documents, names, tuple(seen))


def read_switch(places: Places) -> SwitchFile:
    """The providers in CC Switch's database, which is opened so that nothing of it changes."""
    path, name = places.ccswitch_database, called(places.ccswitch_database, places)
    if not os.path.lexists(path):
        return SwitchFile((), PlaceSeen(name, "absent"))
    try:
        if not path.is_file():  # to open a pipe would take for ever
            raise ValueError
        with closing(read_only(path)) as connection:
            connection.row_factory = sqlite3.Row
            rows = [dict(row) for row in connection.execute(_PROVIDERS, (_LONGEST_SETTINGS + 1, _MOST_PROVIDERS))]
    except (sqlite3.Error, OSError, ValueError):
        said = f"{name} is no database of CC Switch, or is being written just now. Close CC Switch and try again."
        return SwitchFile((), PlaceSeen(name, "unreadable", said))
    return SwitchFile(tuple(_provider(row) for row in rows), PlaceSeen(name, "read"))


def called(path: Path, places: Places) -> str:
    """What people call a file: from the project's folder on, or with `~` for the home."""
    inside = path.is_relative_to(places.folder) and places.folder != places.home
    return path.relative_to(places.folder).as_posix() if inside else short(path, places.home)


def _files(places: Places, environment: Mapping[str, str]) -> Iterator[tuple[DocumentName, Path, Parse]]:
    named = environment.get(CONFIG_VARIABLE)
    yield "claude_state", places.claude_state, lambda text, name: _state(parse_json(text, name), places.folder)
    yield "claude_user", places.claude_user_settings, parse_json
    yield "claude_project", places.claude_project_settings, parse_json
    yield "claude_local", places.claude_local_settings, parse_json
    yield "project_servers", places.project_servers, parse_json
    yield "codex", places.codex_config, parse_toml
    yield "codex_auth", places.codex_auth, parse_json
    yield "misjudge", Path(os.path.expanduser(named)) if named else places.folder / FILE_NAME, parse_toml


def _state(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    kept = {name: document[name] for name in _STATE if name in document}
    projects = kept.get("projects")
    own = projects.get(folder.as_posix()) if isinstance(projects, dict) else None
    own = {name: own[name] for name in _OF_PROJECT if name in own} if isinstance(own, dict) else {}
    return {**kept, "projects": {folder.as_posix(): own}}


def _provider(row: Mapping[str, Any]) -> SwitchProvider:
    app, name = str(row["app_type"]), str(row["name"])
    found = SwitchProvider(app, name, bool(row["is_current"]), {}, {})
    try:
        text = str(row["settings_config"] or "")
        if len(text) > _LONGEST_SETTINGS:
            raise InvalidInput(f"Its settings are longer than {_LONGEST_SETTINGS:,} characters. Correct them there.")
        settings = sealed(parse_json(text, "its settings"))
        config = opened(settings.get("config")) if app == "codex" else None
        return found._replace(settings=settings, config=sealed(parse_toml(config or "", "its config.toml")))
    except InvalidInput as error:
        return found._replace(problem=str(error))
