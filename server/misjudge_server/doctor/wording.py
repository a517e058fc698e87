"""Commands that fix, and how names and values are told without showing what may be a key. Pure."""

from __future__ import annotations

from typing import Final

from misjudge_server.setup.masking import masked
from misjudge_server.terminal import plain

MOST_CHARACTERS: Final = 60
ENVIRONMENT: Final = "environment"


def named(name: str) -> str:
    """A name of a file, short and without what could be a key or a control character."""
    return masked(plain(name).replace("\n", " "))[:MOST_CHARACTERS]


def unset(name: str, *, windows: bool) -> str:
    """The command that takes a variable out of this shell."""
    return f"Remove-Item Env:{name}" if windows else f"unset {name}"


def set_to(name: str, value: str, *, windows: bool) -> str:
    """The command that sets a variable to a value that is no secret."""
    return f'$env:{name} = "{value}"' if windows else f"export {name}={value}"


def set_secretly(name: str, *, windows: bool) -> str:
    """The command that asks for a key and sets it, so that it is in no history."""
    if windows:
        return f'$env:{name} = Read-Host "Key" -MaskInput'
    return f"read -rs {name} && export {name}"


def is_one_of_ours(where: str) -> bool:
    """Whether it stands where misjudge itself reads: the environment or `.env`."""
    return where in {ENVIRONMENT, ".env"}


def size_of(value: str) -> str:
    """`set, 51 characters`."""
    return f"set, {len(value)} character{'' if len(value) == 1 else 's'}"
