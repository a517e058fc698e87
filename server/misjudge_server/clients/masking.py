"""Keys made unreadable in what is shown of a client's file. Pure, and linear in the length of the text."""

from __future__ import annotations

import re
from typing import Final

from misjudge_server.clients.secret_names import holds_secrets, is_password, is_secret

MASK: Final = "•••"

_STRING: Final = r'''"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|(?<!\w)'[^'\n]*\''''
_TOKEN: Final = re.compile(
    rf"""(?P<string>{_STRING})|(?P<comment>(?<!\S)\#[^\n]*)|(?P<separator>[:=])|(?P<open>[\[{{])|(?P<close>[\]}}])
    |(?P<comma>,)|(?P<bare>[^\s"',\[\]{{}}:=]+)|(?P<other>\s+|.)""",
    re.VERBOSE | re.DOTALL,
)
_HEADER: Final = re.compile(r"\[\[?(?P<name>[^\[\]\n=,]+)\]\]?(?=[ \t]*(?:#|\r?$))", re.MULTILINE)
"""Of a TOML table."""
_ONE_STRING: Final = re.compile(_STRING)
_HASHES: Final = re.compile(r"((?<!\S)#+)")
_BARE_VALUE: Final = re.compile(r"""[^\s"',\[\]{}]+""")
_SEPARATOR_NEXT: Final = re.compile(r"[ \t]*[:=]")
_REFERENCE: Final = r"\$\{\w+(?::-)?\}|\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%|\$env:[A-Z_][A-Z0-9_]*"
_HARMLESS: Final = re.compile(
    rf"(?:(?:Bearer |Basic |echo )?(?:{_REFERENCE})|[A-Z]+(?:_[A-Z]+)+|printenv [A-Z_][A-Z0-9_]*|true|false|null)?"
)
"""A reference, the name of a variable or a switch: what may stand beside a name such as `env_key`."""
_NUMBER: Final = re.compile(r"\d{1,6}")
_HEADER_LINE: Final = re.compile(r"""(?P<before>(?:^|["'])(?P<name>[A-Za-z][\w\-]{0,60}):\s*)(?P<value>[^"'\n\\]+)""")
_ASSIGNED: Final = re.compile(
    r"""(?P<before>(?<![\w.\-])(?P<name>[\w.\-]{1,100})(?:\\?["']\s*[:=]\s*\\?["']|=\\?["']?))(?P<value>[^\s"'\\&;,}]+)"""
)
_FLAGGED: Final = re.compile(r"""(?P<before>(?<!\S)(?P<name>--?[\w.\-]{1,100})\s+)(?P<value>[^\s"'\\]+)""")
_KNOWN: Final = re.compile(
    r"\b(?:(?:sk|pk|rk)[-_](?=[\w\-.]{0,80}[0-9A-Z])|gh[opsu]_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza|ya29\.|eyJ)"
    r"[\w\-.]{4,}",
    re.ASCII,
)
_BEARER: Final = re.compile(r"\b(Bearer|Basic)\s+[\w\-.+/=]+", re.IGNORECASE)
_USER_OF_ADDRESS: Final = re.compile(
    r"""(://)(?:[^\s/@:"']{0,200}:(?!\d{1,5}(?:/|$))[^\s"']{0,500}|[^\s/@:"']{1,500})(@)"""
)
"""`user:password@` up to the last @, since passwords hold slashes; but no port, behind which a path may hold one."""
_QUERY: Final = re.compile(r"""([?&][\w.\-]{1,100}=)[^&\s"']+""")
_WORD: Final = re.compile(r"(?<![\w/\\.\-])[A-Za-z0-9_\-+=]{24,}(?![\w/\\])")


def masked(text: str) -> str:
    """The text with everything masked that is a key by its name, its form or its place; it has as many lines."""
    text = _by_name(text)
    text = _BEARER.sub(rf"\1 {MASK}", _KNOWN.sub(MASK, text))
    text = _QUERY.sub(rf"\1{MASK}", _USER_OF_ADDRESS.sub(rf"\1{MASK}\2", text))
    return _WORD.sub(lambda found: MASK if _looks_random(found[0]) else found[0], text)


class _Reading:
    """Where the reader of a text is: what the next value stands under, and how deep it is in lists and tables."""

    def __init__(self, table: str) -> None:
        self.name = ""
        self.due = ""
        self.flag = ""
        self.table = table
        self.within = ""
        self.within_level = 0
        self.level = 0

    @property
    def secret(self) -> str:
        """The secret name that the next value stands under, empty for none."""
        return self.due or self.within or self.flag or self.table

    def opened(self, bracket: str) -> None:
        self.level += 1
        if self.due and not self.within and (bracket == "[" or holds_secrets(self.due)):
            self.within, self.within_level = self.due, self.level
        self.due = self.flag = ""

    def closed(self) -> None:
        if self.level == self.within_level:
            self.within, self.within_level = "", 0
        self.level = max(0, self.level - 1)
        self.due = self.flag = ""


def _by_name(text: str, table: str = "") -> str:
    """The text without the values under secret names: in strings, lists, tables, comments, behind options.

    `table` is a secret name that all of it stands under.
    """
    reading, pieces, place = _Reading(table), [], 0
    while place < len(text):
        if not reading.level and (header := _header_at(text, place)):
            reading.table = header["name"] if holds_secrets(header["name"]) else ""
            pieces.append(header[0])
            place = header.end()
            continue
        found = _TOKEN.match(text, place)
        assert found is not None
        kind, piece = found.lastgroup, found[0]
        if kind == "bare" and reading.due and (value := _BARE_VALUE.match(text, place)):
            piece = value[0]
        place += len(piece)
        if kind in {"string", "bare"}:
            piece = _word(reading, piece, is_name=_is_name(text, place))
        elif kind == "comment":
            piece = _comment(piece, reading.within or reading.table)
        else:
            _pass_mark(reading, kind, piece)
        pieces.append(piece)
    return "".join(pieces)


def _comment(comment: str, table: str) -> str:
    """A comment, in which lines that were commented out stand like any other."""
    if not table:
        return "".join(part if part.startswith("#") else _by_name(part) for part in _HASHES.split(comment))
    return _ONE_STRING.sub(
        lambda found: _word(_Reading(table), found[0], is_name=_is_name(comment, found.end())), comment
    )


def _is_name(text: str, end: int) -> bool:
    """Whether the string or word that ends there is a name: a separator follows."""
    return _SEPARATOR_NEXT.match(text, end) is not None


def _header_at(text: str, place: int) -> re.Match[str] | None:
    """The header of a TOML table, where one stands: alone on its line."""
    found = _HEADER.match(text, place)
    alone = found is not None and not text[text.rfind("\n", 0, place) + 1 : place].strip(" \t+-")
    return found if alone else None


def _pass_mark(reading: _Reading, kind: str | None, piece: str) -> None:
    if kind == "separator":
        reading.due = reading.name if is_secret(reading.name) else ""
        reading.name = ""
    elif kind == "open":
        reading.opened(piece)
    elif kind == "close":
        reading.closed()
    elif kind == "comma":
        reading.due = ""
    elif "\n" in piece and reading.due and not reading.level:
        reading.due = ""


def _word(reading: _Reading, piece: str, *, is_name: bool) -> str:
    """A string or bare word as it may be shown."""
    quote = re.match(r"\"\"\"|'''|\"|'|", piece)
    marks = quote[0] if quote else ""
    content = piece[len(marks) : len(piece) - len(marks)]
    secret, reading.due = reading.secret, ""
    if is_name:
        reading.name, reading.flag = content, ""
        return piece
    reading.name, reading.flag = "", ""
    if secret:
        lines = "\n" * content.count("\n")
        return piece if _is_harmless(content, secret) else f"{marks}{MASK}{lines}{marks}"
    reading.flag = content if content.startswith("-") and "=" not in content and is_secret(content) else ""
    return f"{marks}{_inside(content)}{marks}"


def _inside(content: str) -> str:
    """A text that no secret name stands before: header lines, assignments and options within it."""
    for pattern in (_HEADER_LINE, _ASSIGNED, _FLAGGED):
        content = pattern.sub(_named, content)
    return content


def _named(found: re.Match[str]) -> str:
    hidden = is_secret(found["name"]) and not _is_harmless(found["value"], found["name"])
    return f"{found['before']}{MASK}" if hidden else found[0]


def _is_harmless(value: str, name: str) -> bool:
    if _NUMBER.fullmatch(value):
        return not is_password(name)
    return value == MASK or _HARMLESS.fullmatch(value) is not None


def _looks_random(word: str) -> bool:
    """Letters and digits mixed, as no name of a setting or variable has them."""
    changes = len(re.findall(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])", word))
    return changes >= 3
