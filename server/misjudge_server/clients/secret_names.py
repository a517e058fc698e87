"""Which names of settings, variables, headers and options stand for a secret. Pure."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PASSWORD: Final = re.compile(r".*(?:password|passwd|passphrase|passcode).*|.*(?:pass|pwd)")
_SECRET: Final = re.compile(
    rf"{_PASSWORD.pattern}|.*(?:secret|credential|authorization).*|.*(?:keys?|tokens?|cookies?)|bearer|jwt"
)
_ORDINARY: Final = frozenset(
    {"taotoken", "monkey", "turkey", "donkey", "hockey", "jockey", "hotkey", "hotkeys"}
    | {"bypass", "compass", "trespass", "overpass", "surpass", "encompass"}
)
_FOLDERS: Final = frozenset({"PWD", "OLDPWD"})
_LONGEST: Final = 200


def is_secret(name: str) -> bool:
    """Whether what stands under this name is a secret: one of its words says so, as in `apiKeyHelper` or `PGPASS`."""
    return any(_matches(_SECRET, word) for word in _words(name))


def holds_secrets(name: str) -> bool:
    """Whether a table of this name holds secrets: its last word says so, as in `api_keys`, but not in `token-tool`."""
    return any(_matches(_SECRET, word) for word in _words(name)[-1:])


def is_password(name: str) -> bool:
    """Whether it stands for a password, which may be a number."""
    return any(_matches(_PASSWORD, word) for word in _words(name))


def _words(name: str) -> list[str]:
    return [] if name in _FOLDERS else [word.lower() for word in _WORD.findall(name[-_LONGEST:])]


def _matches(pattern: re.Pattern[str], word: str) -> bool:
    return word not in _ORDINARY and pattern.fullmatch(word) is not None
