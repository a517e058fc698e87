"""What clients start: the command of this installation, and how an entry of a client is recognised as ours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path, PureWindowsPath
from typing import Any, Final, NamedTuple

from misjudge_server.variables import (
    CONFIG_VARIABLE,
    CONNECTION_VARIABLES,
    MODEL_VARIABLES,
    ROLE_VARIABLES,
    ROOTS_VARIABLE,
    STORE_VARIABLE,
)
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE

SERVER_NAME: Final = "misjudge"
"""What set-up calls the server in every client."""
_MODULE: Final = "misjudge_server"
_RUNNERS: Final = frozenset({"uvx", "uv", "pipx"})
"""What starts a tool by its name; "serve" may have been forgotten behind it."""

ESSENTIAL: Final = (DEFAULT_KEY_VARIABLE, CONNECTION_VARIABLES["base_url"], *MODEL_VARIABLES)
"""Without which the server asks no gateway, or another one than the shell does."""
FORWARDED: Final = (
    DEFAULT_KEY_VARIABLE,
    *CONNECTION_VARIABLES.values(),
    *(name for names in ROLE_VARIABLES.values() for name in names),
    *MODEL_VARIABLES,
    STORE_VARIABLE,
    ROOTS_VARIABLE,
    CONFIG_VARIABLE,
    "MISJUDGE_LOG",
    "MISJUDGE_LOG_JSON",
)
"""The variables that a client passes on to the server, by name only."""


class ServerCommand(NamedTuple):
    """What starts the server: a whole path, and its arguments."""

    command: str
    args: tuple[str, ...]


def server_command(interpreter: Path, script: Path | None) -> ServerCommand:
    """The installed script `misjudge serve`, else the interpreter with this package; both are whole paths.

    `-P` keeps the folder that the client has open out of Python's import path.
    """
    if script is not None:
        return ServerCommand(str(script), ("serve",))
    return ServerCommand(str(interpreter), ("-P", "-m", _MODULE, "serve"))


def is_ours(command: Any, args: Any = ()) -> bool:
    """Whether an entry with this command (a text, or a list with its arguments) starts misjudge, however installed."""
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, Sequence):
        return False
    words = [word for word in (*words, *(args if isinstance(args, list | tuple) else ())) if isinstance(word, str)]
    # Anything else of our name among the arguments may be a folder, or what another program looks for.
    return (
        any(_names_us(word) for word in words[:1])
        or any(before == "-m" and word == _MODULE for before, word in pairwise(words))
        or any(word == "serve" and _names_us(before) for before, word in pairwise(words[1:]))
        or (words[-1:] == [SERVER_NAME] and _program(words[0]) in _RUNNERS)
    )


def is_fleeting(command: str) -> bool:
    """Whether the command lies in a cache of `uvx` or `pipx run`, which may be emptied any day."""
    parts = PureWindowsPath(command).parts
    return any(part in {"archive-v0", "environments-v2"} for part in parts) or (".cache" in parts and "pipx" in parts)


def _names_us(word: str) -> bool:
    # Windows reads both kinds of slash, so that paths of either system come apart.
    return word == _MODULE or _program(word) == SERVER_NAME


def _program(word: str) -> str:
    return PureWindowsPath(word).name.removesuffix(".exe")
