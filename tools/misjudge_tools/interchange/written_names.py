"""What a file or folder that is written here may be called: no name that other programs load by themselves, none that
some systems do not take, and none that hides. An agent's own words decide it, and what is in the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from misjudge_storage.errors import InvalidInput

LOADED: Final = frozenset(
    (
        # instructions that clients give their agents
        "agent.md agents.md agents.override.md claude.md claude.local.md codex.md copilot-instructions.md crush.md "
        "gemini.md qwen.md skill.md warp.md "
        # settings of clients and tools
        "composer.json crush.json deno.json devcontainer.json gemini-extension.json jsconfig.json mcp.json "
        "opencode.json package.json package-lock.json pyrightconfig.json tsconfig.json "
        # what is built or installed from
        "cmakelists.txt constraints.txt requirements.txt dockerfile gnumakefile justfile makefile node_modules procfile"
    ).split()
)
"""Names that programs load by themselves, in small letters; those that end as nothing of ours does are not needed."""
DEVICES: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Names that Windows keeps for devices."""
_CHOOSE: Final = "Choose another name or place."
_BROKEN: Final = "\ufffd"
"""What a request holds in place of NUL and of characters that are none."""
_ENDING: Final = re.compile(r"\.\w*[^\W\d]\w*$")
"""The ending of a file; numbers, as in `report-1.2`, are none."""


def refuse_name(path: Path, roots: Sequence[Path] | None) -> None:
    """Raises InvalidInput where nothing of ours may be called so; with `roots`, also in a hidden folder below them."""
    name = path.name
    if _BROKEN in str(path):
        raise InvalidInput("A path holds a NUL or broken character. Correct it.")
    if not name.isprintable() or name != name.strip(" ").rstrip(".") or DEVICES.fullmatch(name):
        raise InvalidInput(
            "Not every system takes that name: it holds a character that cannot be seen, ends in a dot or space, or is "
            "that of a device. Choose another one."
        )
    if name.startswith(".") or (roots is not None and _lies_hidden(path, roots)):
        raise InvalidInput(f"{path} begins with a dot or lies in a folder that does; such are for settings. {_CHOOSE}")
    if unicodedata.normalize("NFKC", name).casefold().partition(":")[0].rstrip(". ") in LOADED:
        raise InvalidInput(f"Other programs load {name} by themselves, so it is never written. {_CHOOSE}")


def has_ending(name: str) -> bool:
    """Whether it ends as a file does."""
    return _ENDING.search(name) is not None


def _lies_hidden(path: Path, roots: Sequence[Path]) -> bool:
    """By no root is it to be reached without a hidden folder. Links are followed first."""
    whole, above = path.resolve(), [root.resolve() for root in roots]
    ways = [whole.relative_to(root).parts for root in above if whole.is_relative_to(root)]
    return all(any(part.startswith(".") for part in way) for way in ways)
