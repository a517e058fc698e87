"""Reads what the project's folder gives away: keys in its files, and whether git has them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from misjudge_server.doctor.facts import Leak
from misjudge_server.doctor.git_index import ignored, tracked_paths
from misjudge_server.doctor.placeholders import stands_in
from misjudge_server.variables import DOTENV
from misjudge_storage.errors import InvalidInput
from misjudge_tools.interchange.text_files import read_text

_MOST_FILES: Final = 200
_LIMIT_BYTES: Final = 1_000_000
_INDEX_BYTES: Final = 100_000_000
_SHORTEST_KEY: Final = 16
_LINK: Final = re.compile(r"ccswitch://[^\s\"'<>]*", re.IGNORECASE)
_IN_LINK: Final = re.compile(r"apiKey=([^&#]+)", re.IGNORECASE)
_KEY: Final = re.compile(r"\bsk-[A-Za-z0-9_-]{20,}")
_FEWEST_CHARACTERS: Final = 9
"""Different ones: a key has more of them than `sk-xxxxxxxxxxxxxxxx`."""
_NESTED: Final = (".claude/settings.json", ".claude/settings.local.json")


class Repository(NamedTuple):
    """The git repository around a folder; the folder's path in it, empty or ending in a slash; the paths it has."""

    root: Path
    git: Path
    inside: str
    tracked: frozenset[str]


def repository_of(folder: Path) -> Repository | None:
    """The repository that the folder is in, None where it is in none."""
    root = next((one for one in (folder, *folder.parents) if os.path.exists(one / ".git")), None)
    if root is None:
        return None
    inside = folder.relative_to(root).as_posix()
    git = _git_folder(root / ".git")
    return Repository(root, git, "" if inside == "." else f"{inside}/", _tracked(git / "index"))


def find_leaks(folder: Path, repository: Repository | None, keys: Collection[str]) -> tuple[Leak, ...]:
    """The files at the top of the folder, and Claude Code's, that hold one of these keys, or what looks like one.

    misjudge.toml is not among them: a key in it is refused by the settings themselves.
    """
    long = [key for key in keys if len(key) >= _SHORTEST_KEY and not stands_in(key)]
    return tuple(_leaks(folder, repository, long))


def is_exposed(folder: Path, repository: Repository | None, home: Path) -> bool:
    """Whether git would take the folder's `.env`, which it does not have yet."""
    if repository is None or not os.path.isfile(folder / DOTENV):
        return False
    path = f"{repository.inside}{DOTENV}"
    if path in repository.tracked:
        return False
    sources = [repository.git / "info" / "exclude", home / ".config" / "git" / "ignore", home / ".gitignore_global"]
    if any(ignored(path, _lines(source)) for source in sources):
        return False
    between = [one for one in (folder, *folder.parents) if one.is_relative_to(repository.root)]
    return not any(
        ignored((folder / DOTENV).relative_to(one).as_posix(), _lines(one / ".gitignore")) for one in between
    )


def holds_link(text: str) -> bool:
    """Whether a ccswitch:// link with a key in it stands in a text."""
    found = (one[1] for link in _LINK.finditer(text) for one in _IN_LINK.finditer(link[0]))
    return any(not stands_in(value) for value in found)


def looks_like_key(text: str) -> bool:
    """Whether something that looks like a key stands in a text, and not like what guides write in its place."""
    found = (one[0] for one in _KEY.finditer(text))
    return any(len(set(one)) >= _FEWEST_CHARACTERS and not stands_in(one) for one in found)


def _leaks(folder: Path, repository: Repository | None, keys: Collection[str]) -> Iterator[Leak]:
    for name in _candidates(folder):
        text = _text(folder / name)
        link = holds_link(text)
        has = repository is not None and f"{repository.inside}{name}" in repository.tracked
        if link or (has and (looks_like_key(text) or any(key in text for key in keys))):
            yield Leak(name, link, has)


def _candidates(folder: Path) -> list[str]:
    try:
        top = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return []
    kept = [name for name in top if name != "misjudge.toml"]
    return [*kept[:_MOST_FILES], *(name for name in _NESTED if (folder / name).is_file())]


def _tracked(index: Path) -> frozenset[str]:
    try:
        if index.is_file():  # to open a pipe would take for ever
            with index.open("rb") as file:
                return tracked_paths(file.read(_INDEX_BYTES))
    except OSError:
        pass
    return frozenset()


def _git_folder(path: Path) -> Path:
    """Where git keeps its index: of a worktree or submodule a file says it."""
    said = _text(path) if os.path.isfile(path) else ""
    found = re.match(r"gitdir: (.+)", said)
    return (path.parent / found[1].strip()) if found else path


def _lines(path: Path) -> list[str]:
    return _text(path).splitlines()


def _text(path: Path) -> str:
    """The text of a small file, empty for any other."""
    try:
        return read_text(path, path.name, _LIMIT_BYTES)
    except InvalidInput:
        return ""
