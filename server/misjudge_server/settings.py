"""The only reader of the environment, of `.env` and of `misjudge.toml`.

A value of the environment wins over the same name in `.env` of the working directory. Empty values count as
unset. Values are never shown in messages: they may be keys.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

from misjudge_server.config_file import FILE_NAME, LoadedConfig, load_config
from misjudge_server.resolution import resolve
from misjudge_server.variables import CONFIG_VARIABLE, DOTENV, ROOTS_VARIABLE, STORE_VARIABLE, Variables
from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import Value
from misjudge_tools.episodes.settings import EpisodeSettings
from misjudge_tools.interchange.text_files import read_text
from misjudge_tools.profiles import ModelSettings

DOTENV_LIMIT_BYTES = 1_000_000
DEFAULT_STORE = ".misjudge/misjudge.db"


class Settings(Value):
    """What is in force. `config`: the file that was read, by name; None where there is none."""

    store: str = DEFAULT_STORE
    root_list: str = ""
    config: str | None = None
    models: ModelSettings = ModelSettings()
    episodes: EpisodeSettings = EpisodeSettings()

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders that the server may read files from: the working directory and those named."""
        return (Path.cwd(), *(Path(root).expanduser() for root in self.root_list.split(os.pathsep) if root))


def load_settings() -> Settings:
    """The settings in force. Raises InvalidInput, naming the variable or the key of the file, never a value."""
    variables = Variables(dict(os.environ), read_dotenv())
    _refuse_of_dotenv(variables)
    config = _read_config(variables.environment)
    store, roots = variables.find(STORE_VARIABLE), variables.find(ROOTS_VARIABLE)
    return Settings(
        store=store.value if store else DEFAULT_STORE,
        root_list=roots.value if roots else "",
        config=config.name if config else None,
        models=resolve(variables, config),
        episodes=config.episodes if config else EpisodeSettings(),
    )


def read_dotenv() -> dict[str, str]:
    """What `.env` of the working directory sets. Raises InvalidInput."""
    return dotenv_sets(dotenv_text())


def dotenv_text() -> str:
    """The text of `.env` of the working directory, empty where it is no file. Raises InvalidInput."""
    path = Path(DOTENV)
    # A virtual environment or a pipe of a password manager may have this name too.
    return read_text(path, DOTENV, DOTENV_LIMIT_BYTES) if path.is_file() else ""


def dotenv_sets(text: str) -> dict[str, str]:
    """What a `.env` of this text sets."""
    # Not interpolated: a ${NAME} in it would make any secret of the environment one of the folder's own.
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: value for name, value in values.items() if value}


def _read_config(environment: Mapping[str, str]) -> LoadedConfig | None:
    named = environment.get(CONFIG_VARIABLE)
    if named:
        path = Path(os.path.expanduser(named))
        if not path.is_absolute():
            raise InvalidInput(
                f"{CONFIG_VARIABLE} must be a whole path from the root on: a relative one would trust another file "
                "in each folder."
            )
        return load_config(path, trusted=True)
    path = Path(FILE_NAME)
    return load_config(path, trusted=False) if os.path.lexists(path) else None


def _refuse_of_dotenv(variables: Variables) -> None:
    """Raises InvalidInput where a `.env` would open other folders, or trust a file, for the folder that it is of."""
    for name, harm in (
        (ROOTS_VARIABLE, "this folder would open others to the server"),
        (CONFIG_VARIABLE, "this folder would have its own file trusted"),
    ):
        if variables.dotenv.get(name) and not variables.environment.get(name):
            raise InvalidInput(f"{name} comes from .env, by which {harm}. Set it in the environment.")
    store = variables.find(STORE_VARIABLE)
    if store is not None and store.place == DOTENV and "://" in store.value and not store.value.startswith("sqlite"):
        raise InvalidInput(
            f"{STORE_VARIABLE} comes from .env and is a database elsewhere, to which this folder would have your "
            "records sent. Set it in the environment, or name a file."
        )
