"""Files with the rules of one rubric.

JSONL has one object a line, `{"rule": "Does it …?", "hard": false, "high_level": false}`, and keeps all that a rule
says; without `hard` it is not, and without `high_level` its words decide. A text file has a rule a line, as RubricBench
writes them in one text: `[hard]` and `[high]` may stand in front. There, and nowhere else, a line that begins with `#`
is a comment; `- # …` is a rule.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from misjudge_storage.errors import InvalidInput
from misjudge_storage.types import RecordError, Rule, is_one_line
from misjudge_tools.interchange.json_records import is_object, json_object
from misjudge_tools.interchange.text_files import read_text
from misjudge_tools.rubrics.rules import COMMENT, LONGEST, MOST_RULES, as_lines, is_high_level, one_line, rules_in

LIMIT_BYTES: Final = 13_000_000
"""More than the longest rubric takes, each character of it escaped."""
JSONL: Final = ".jsonl"
LINES: Final = ".txt"
_FIELDS: Final = frozenset({"rule", "hard", "high_level"})


def read_rubric_file(path: Path) -> list[Rule]:
    """The rules in a JSONL or text file, told apart by its first line. Raises InvalidInput with the line."""
    text = read_text(path, path.name, LIMIT_BYTES)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if path.suffix.lower() != JSONL and not (lines and is_object(lines[0][1])):
        return rules_in("\n".join(line for line in text.splitlines() if not line.lstrip().startswith(COMMENT)))
    if not 0 < len(lines) <= MOST_RULES:
        raise InvalidInput(f"{path.name} has {len(lines):,} rules, and a rubric has 1 to {MOST_RULES}.")
    return [_rule(line, f"{path.name}, line {number}") for number, line in lines]


def _rule(line: str, where: str) -> Rule:
    try:
        fields = json_object(line)
    except RecordError as error:
        raise InvalidInput(f'{where} {error}. Write {{"rule": "…", "hard": false}} a line.') from None
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise InvalidInput(f"{where} has a field {unknown[0][:40]!r}. There are {', '.join(sorted(_FIELDS))}.")
    written = fields.get("rule")
    text = "" if not isinstance(written, str) else written if is_one_line(written) else one_line(written)
    if not 0 < len(text) <= LONGEST:
        raise InvalidInput(f"{where}: rule must be text of 1 to {LONGEST:,} characters.")
    high = is_high_level(text) if fields.get("high_level") is None else _yes(fields, "high_level", where)
    return Rule(text=text, hard=fields.get("hard") is not None and _yes(fields, "hard", where), high_level=high)


def _yes(fields: dict[str, Any], name: str, where: str) -> bool:
    value = fields[name]
    if not isinstance(value, bool):
        raise InvalidInput(f"{where}: {name} must be true or false.")
    return value


def write_rubric_file(path: Path, rules: Sequence[Rule]) -> None:
    """Write the rules as JSONL, or as text where the name ends in `.txt`: all of the file at once, and a new one.

    Raises InvalidInput for another ending, for a file that is there, and for rules that a text cannot keep.
    """
    if path.suffix.lower() not in {JSONL, LINES}:
        raise InvalidInput(f"Rules are written to a file that ends in {JSONL} or {LINES}. Name such a one.")
    text = _as_jsonl(rules) if path.suffix.lower() == JSONL else as_lines(rules)
    if text is None:
        raise InvalidInput(
            "A text file cannot keep these rules as they are: a mark or the start of one would read otherwise. "
            f"Name a file that ends in {JSONL}."
        )
    try:
        _write_new(path, text)
    except FileExistsError:
        raise InvalidInput(f"{path} is there already, and is not overwritten. Name another file.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no file name"
        raise InvalidInput(f"{path} cannot be written ({reason}). Name another file.") from None


def _as_jsonl(rules: Sequence[Rule]) -> str:
    rows = ({"rule": rule.text, "hard": rule.hard, "high_level": rule.high_level} for rule in rules)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _write_new(path: Path, text: str) -> None:
    """The file is there whole or not at all, and no other one is lost. Raises OSError."""
    if os.path.lexists(path):
        raise FileExistsError
    beside = path.with_name(f".{token_hex(8)}{path.suffix}")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _name(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _name(beside: Path, path: Path) -> None:
    """Give a finished file its name. Raises FileExistsError where somebody took it meanwhile."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without links: the name is taken first
        path.open("xb").close()
        beside.replace(path)
