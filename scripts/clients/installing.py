"""The real clients, from npm, at the versions that the cases were written for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from clients.homes import SetupFailed, run
from clients.runs import Programs
from clients.starting import ClientName

PACKAGES: Mapping[ClientName, str] = {"claude": "@anthropic-ai/claude-code@2.1.332", "codex": "@openai/codex@0.171.0"}
INSTALL_S = 600


def programs_for(clients: Collection[ClientName], scratch: Path) -> Programs:
    """The commands: from MISJUDGE, CLAUDE and CODEX where they are set, else the checkout's own and new ones from npm.

    Raises SetupFailed where one is missing.
    """
    given: dict[ClientName, str | None] = {client: os.environ.get(client.upper()) for client in clients}
    missing = [PACKAGES[client] for client, path in given.items() if not path]
    installed = install(missing, scratch) if missing else scratch
    paths: dict[ClientName, Path] = {
        client: _existing(Path(path) if path else installed / client) for client, path in given.items()
    }
    return Programs(own_misjudge(), paths)


def install(packages: Collection[str], scratch: Path) -> Path:
    """Install npm packages in a folder; the folder of their commands. Raises SetupFailed."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupFailed("npm is not on the PATH. Install Node 20 or newer, or name the programs: CLAUDE=… CODEX=…")
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "package.json").write_text("{}", encoding="utf-8")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", *packages]
    ended = run(command, scratch, INSTALL_S)
    if ended.returncode:
        raise SetupFailed(f"npm could not install {', '.join(packages)}: {ended.stderr[-400:]}")
    return scratch / "node_modules" / ".bin"


def own_misjudge() -> Path:
    """The command of this checkout, or the one that MISJUDGE names. Raises SetupFailed where there is none."""
    named = os.environ.get("MISJUDGE")
    own = Path(__file__).parents[2] / ".venv" / "bin" / "misjudge"
    found = named or (str(own) if own.exists() else shutil.which("misjudge"))
    if not found:
        raise SetupFailed("No misjudge is installed. Run make demo, or name its command: MISJUDGE=…")
    return _existing(Path(found))


def _existing(path: Path) -> Path:
    if not path.exists():
        raise SetupFailed(f"{path} does not exist.")
    return path.absolute()
