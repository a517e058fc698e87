"""Keys made unreadable in what is shown of a client's file. Pure."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "•••"

_SECRET_NAME: Final = r"[\w.\-]*(?:key|token|secret|password|passwd|authorization|cookie|credential)[\w.\-]*"
_NAMED: Final = re.compile(
    rf"""(?P<before>["']?{_SECRET_NAME}["']?\s*[:=]\s*)(?P<value>"(?:\\.|[^"\\])*"|'[^']*'|[^\s,"'\[{{}}\]]+)""",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(r"""["']?(?:\$\{\w+(?::-)?\}|[A-Z]+(?:_[A-Z]+)+|printenv \w+|true|false|\d{1,6})?["']?""")
"""A reference, the name of a variable, a number or switch: what may stand beside a name such as `env_key`."""
_KNOWN: Final = re.compile(r"\b(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[a-z]|AKIA|AIza|ya29|eyJ)[\w\-.]{4,}", re.ASCII)
_BEARER: Final = re.compile(r"\b(Bearer|Basic)\s+[\w\-.+/=]+", re.IGNORECASE)
_IN_ADDRESS: Final = re.compile(r"(://)[^/\s\"'@]+(@)|([?&][\w.\-]+=)[^&\s\"']+")
_WORD: Final = re.compile(r"(?<![\w/\\.\-])[A-Za-z0-9_\-+=]{24,}(?![\w/\\])")


def masked(text: str) -> str:
    """The text with everything masked that is a key by its name, its form or its place."""
    text = _NAMED.sub(_named, text)
    text = _BEARER.sub(rf"\1 {MASK}", _KNOWN.sub(MASK, text))
    text = _IN_ADDRESS.sub(lambda found: f"{found[1] or found[3]}{MASK}{found[2] or ''}", text)
    return _WORD.sub(lambda found: MASK if _looks_random(found[0]) else found[0], text)


def _named(found: re.Match[str]) -> str:
    value = found["value"]
    if _HARMLESS.fullmatch(value):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['before']}{quote}{MASK}{quote}"


def _looks_random(word: str) -> bool:
    """Letters and digits mixed, as no name of a setting or variable has them."""
    changes = len(re.findall(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])", word))
    return changes >= 3
