"""Looks at this machine: whether programs, folders and local proxies that are named are there."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from misjudge_server.doctor.facts import ProxySeen
from misjudge_server.variables import DOTENV, PROXY_VARIABLES
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.addresses import is_loopback
from misjudge_tools.interchange.text_files import read_text

_SCHEMES: Final = {"http": 80, "https": 443}
_KNOCK_S: Final = 0.5
_MISNAMED: Final = (".env.txt", "env.txt", "env", "_env", ".env.local")
_SETS_US: Final = re.compile(r"^[ \t]*(?:export[ \t]+)?(?:TAOTOKEN|MISJUDGE)_[A-Z_]+[ \t]*=[ \t]*\S", re.MULTILINE)
_LIMIT_BYTES: Final = 100_000


def is_there(command: str) -> bool:
    """Whether a command can be run from here: a whole path, or a name on the PATH."""
    return bool(command) and shutil.which(os.path.expanduser(command)) is not None


def missing_folders(listed: str) -> int:
    """How many of the folders of a list, as in PATH, are not there."""
    return sum(not os.path.isdir(os.path.expanduser(one)) for one in listed.split(os.pathsep) if one)


def is_file_if_named(path: str | None) -> bool:
    """Whether nothing is named, or a file that is there."""
    return not path or os.path.isfile(path)


def misnamed_dotenv(folder: Path) -> str | None:
    """A file that was meant to be `.env`, by its name and what it sets; None where `.env` is there."""
    if os.path.lexists(folder / DOTENV):
        return None
    return next((name for name in _MISNAMED if _SETS_US.search(_text(folder / name))), None)


def proxies_in(environment: Mapping[str, str]) -> Iterator[ProxySeen]:
    """The proxy variables that cannot work. Only a proxy on this machine is knocked at; nothing is sent to it."""
    for name in PROXY_VARIABLES:
        for variable in dict.fromkeys((name, name.lower())):
            address = environment.get(variable)
            problem = _problem(address) if address else None
            if problem is not None:
                yield ProxySeen(variable, problem)


def _text(path: Path) -> str:
    try:
        return read_text(path, path.name, _LIMIT_BYTES) if os.path.isfile(path) else ""
    except InvalidInput:
        return ""


def _problem(address: str) -> Literal["invalid", "dead"] | None:
    address = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(address)
        port = parts.port or _SCHEMES.get(parts.scheme)
    except ValueError:
        return "invalid"
    if parts.hostname is None or port is None or parts.scheme not in _SCHEMES:
        return "invalid"
    return "dead" if is_loopback(address) and not _answers(parts.hostname, port) else None


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_KNOCK_S):
            return True
    except OSError:
        return False
