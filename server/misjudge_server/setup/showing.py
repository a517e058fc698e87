"""What set-up says: the difference that it makes, with keys masked, and what to do next. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Final

from misjudge_server.clients.masking import masked
from misjudge_server.clients.places import short
from misjudge_server.clients.shells import set_secretly
from misjudge_server.setup.applying import Prepared, Undone
from misjudge_server.setup.changes import FileFormat
from misjudge_tools.gateway.settings import DEFAULT_KEY_VARIABLE

_CONTEXT: Final = 2
_LONG_LINE: Final = 300


def difference(one: Prepared, home: Path) -> str:
    """A unified diff of what a plan does to its file. Keys are masked; a file on one line is shown on many."""
    name = short(one.plan.file, home)
    # Masked whole: of a list or table a difference may show a line without the name that it stands under.
    before, after = (masked(_text(text, one.plan.format)).splitlines() for text in (one.before_text, one.after_text))
    origin = "/dev/null" if one.before is None else name
    return "\n".join(unified_diff(before, after, origin, name, n=_CONTEXT, lineterm=""))


def done_lines(prepared: tuple[Prepared, ...], home: Path, *, dry_run: bool) -> Iterator[str]:
    """What was written, or would be."""
    for one in prepared:
        name = short(one.plan.file, home)
        if not one.changes:
            yield f"{name}: nothing to change."
        elif dry_run:
            yield difference(one, home)
        else:
            yield f"{name}: {'written' if one.before is None else 'changed'}."
    for one in prepared:
        yield from one.notes


def undone_lines(undone: tuple[Undone, ...], home: Path) -> Iterator[str]:
    """What was taken back, and what was not."""
    for one in undone:
        name = short(one.file, home)
        if not one.found:
            yield f"{name} was not there any more."
        elif one.whole:
            yield f"{name}: {'removed' if one.removed else 'as it was before, byte for byte'}."
        else:
            what = "removed" if one.removed else "only what set-up wrote was taken out"
            yield f"{name} was changed by others since: {what}."
        if one.left:
            yield f"Left there, since others changed it: {', '.join(one.left)}."
        if one.lost:
            yield f"Added or changed since, and taken out with the entry: {', '.join(one.lost)}."


def next_steps(client: str, environment: Mapping[str, str], *, powershell: bool) -> Iterator[str]:
    """How the key gets into the client's environment, and how to undo."""
    if not environment.get(DEFAULT_KEY_VARIABLE):
        yield f"Next: set your key in the shell that starts {client}. Without one, only judge=simulated works."
        yield from _key_lines(powershell)
    yield f"Start {client} anew. To take it back: misjudge setup {client} --undo"


def _key_lines(powershell: bool) -> Iterator[str]:
    yield f"  {set_secretly(DEFAULT_KEY_VARIABLE, windows=powershell)}"
    if powershell:
        yield "  (Windows PowerShell 5 has no -MaskInput: leave it out.)"
        yield "  For good, so that new windows have it, too:"
        yield f'  [Environment]::SetEnvironmentVariable("{DEFAULT_KEY_VARIABLE}", $env:{DEFAULT_KEY_VARIABLE}, "User")'


def _text(text: str, kind: FileFormat) -> str:
    if kind == "json" and any(len(line) > _LONG_LINE for line in text.splitlines()):
        return json.dumps(json.loads(text.removeprefix("\ufeff")), ensure_ascii=False, indent=2)
    return text
