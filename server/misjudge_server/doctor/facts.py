"""All that the checks know of a set-up. Values that may be keys are sealed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import SecretStr

from misjudge_server.doctor.dotenv_lines import UnreadLine
from misjudge_server.doctor.findings import PlaceState
from misjudge_server.doctor.sealed import Document
from misjudge_server.settings import Settings
from misjudge_storage.inspecting import StoreState

ClientName = Literal["Claude Code", "Codex"]
DocumentName = Literal[
    "claude_state", "claude_user", "claude_project", "claude_local", "project_servers", "codex", "codex_auth",
    "misjudge",
]  # fmt: skip
CLAUDE_SETTINGS: Final[tuple[DocumentName, ...]] = ("claude_local", "claude_project", "claude_user")
"""Claude Code's settings files: of what several say, the first one's counts."""


class PlaceSeen(NamedTuple):
    """A place that was looked at, by the name that people know; `problem` says why it could not be read."""

    name: str
    state: PlaceState
    problem: str | None = None


class Entry(NamedTuple):
    """A server that a client starts: in which document and where in it, what it is called there, and its table.

    `ours`: it starts misjudge; `lost`: its program is not there.
    """

    client: ClientName
    document: DocumentName
    where: str
    name: str
    table: Document
    ours: bool
    lost: bool = False


class SwitchProvider(NamedTuple):
    """A provider of CC Switch: the app that it is for, its settings, and of Codex the tables of its config.toml.

    `problem` says why they could not be read.
    """

    app: str
    name: str
    current: bool
    settings: Document
    config: Document
    problem: str | None = None


class Leak(NamedTuple):
    """A file of the project that holds a key: `link` within a ccswitch:// link; `tracked`: git has it."""

    file: str
    link: bool
    tracked: bool


class ProxySeen(NamedTuple):
    """A proxy variable that cannot be used, or whose proxy on this machine does not answer."""

    variable: str
    problem: Literal["invalid", "dead"]


class SetupFacts(NamedTuple):
    """A set-up as it was found. `names` of documents are what people call them; `refused`: why the settings of
    misjudge cannot be used; `misnamed_dotenv`: a file that was meant to be `.env`.
    """

    home: Path
    folder: Path
    windows: bool
    seen: tuple[PlaceSeen, ...]
    environment: Mapping[str, SecretStr]
    dotenv: Mapping[str, SecretStr]
    dotenv_unread: tuple[UnreadLine, ...]
    documents: Mapping[DocumentName, Document]
    names: Mapping[DocumentName, str]
    entries: tuple[Entry, ...]
    switch: tuple[SwitchProvider, ...]
    switch_name: str
    settings: Settings | None
    refused: str | None
    leaks: tuple[Leak, ...]
    dotenv_exposed: bool
    proxies: tuple[ProxySeen, ...]
    missing_roots: int
    certificates_missing: bool
    misnamed_dotenv: str | None
    store: StoreState

    def document(self, name: DocumentName) -> Document:
        """The document, empty where it is absent or cannot be read."""
        return self.documents.get(name, {})

    def variable(self, name: str) -> str | None:
        """A variable of the environment, opened; None where it is unset or empty."""
        found = self.environment.get(name)
        return (found.get_secret_value() or None) if found else None

    def stated(self, name: str) -> str | None:
        """A variable of the environment, else of `.env`, opened."""
        found = self.dotenv.get(name)
        return self.variable(name) or (found.get_secret_value() or None if found else None)
