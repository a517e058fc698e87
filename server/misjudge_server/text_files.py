"""Files that a settings file names: where they are, and how messages show a name."""

from __future__ import annotations

import re
from pathlib import Path

from misjudge_storage.errors import InvalidInput
from misjudge_tools.interchange.text_files import prompt_in
from misjudge_tools.profiles import PromptText


def read_prompt(config: Path, what: str, stated: str) -> PromptText:
    """The prompt in a file that `config` names, in its folder or below it. Raises InvalidInput.

    `what` is the key in messages, as in "prompt in [profiles.strong] of misjudge.toml".
    """
    return prompt_in(beside(config, what, stated, anywhere=False), f"that {what} names")


def beside(config: Path, what: str, stated: str, *, anywhere: bool) -> Path:
    """The whole path of a file that `config` names, by its folder; outside of that only if `anywhere`.

    Raises InvalidInput.
    """
    folder = config.parent.resolve()
    try:
        path = (folder / stated).resolve()
    except (OSError, ValueError, RuntimeError):
        raise InvalidInput(f"{what} is no file name.") from None
    if not anywhere and not path.is_relative_to(folder):
        raise InvalidInput(f"{what} must name a file in the folder of {config.name} or below it.")
    return path


def shown(name: str) -> str:
    """A name of a file as a message shows it: short, and without control characters."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else repr(name[:60])
