"""Commands that fix, and how names and values are told without showing what may be a key. Pure."""

from __future__ import annotations

from typing import Final

from misjudge_server.clients.masking import masked
from misjudge_server.terminal import plain
from misjudge_server.variables import DOTENV, ENVIRONMENT

MOST_CHARACTERS: Final = 60
_MOST_MASKED: Final = 500
"""The time that masking takes grows with the square of a name's length."""


def named(name: str) -> str:
    """A name of a file, short and without what could be a key or a control character."""
    return masked(plain(name[:_MOST_MASKED]).replace("\n", " "))[:MOST_CHARACTERS]


def unset(name: str, *, windows: bool) -> str:
    """The command that takes a variable out of this shell."""
    return f"Remove-Item Env:{name}" if windows else f"unset {name}"


def set_to(name: str, value: str, *, windows: bool) -> str:
    """The command that sets a variable to a value that is no secret."""
    return f'$env:{name} = "{value}"' if windows else f"export {name}={value}"


def misjudge_reads(where: str) -> bool:
    """Whether misjudge itself reads what stands there: in the environment or in `.env`."""
    return where in {ENVIRONMENT, DOTENV}


def size_of(value: str) -> str:
    """`set, 51 characters`."""
    return f"set, {len(value)} character{'' if len(value) == 1 else 's'}"
