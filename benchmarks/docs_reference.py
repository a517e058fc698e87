"""Make docs/reference.md from the code: commands, exit codes, variables, tools, prompts and addresses.

Run from the repository: python benchmarks/docs_reference.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
for room in ("server", "tools", "storage"):
    sys.path.insert(0, str(HERE / room))

import typer  # noqa: E402

from misjudge_server.cli import app  # noqa: E402
from misjudge_server.clients.server_entry import FORWARDED  # noqa: E402
from misjudge_server.listing import UNLISTED  # noqa: E402
from misjudge_server.prompts import PROMPTS  # noqa: E402
from misjudge_server.resources import TEMPLATES  # noqa: E402
from misjudge_server.tool_table import TOOLS, ToolEntry  # noqa: E402
from misjudge_storage.errors import MisjudgeError  # noqa: E402
from misjudge_tools.results import SCHEME  # noqa: E402
from misjudge_tools.stats.gates import EXIT_CODES  # noqa: E402

PAGE = HERE / "docs" / "reference.md"
HEAD = """\
<!-- Made by `python benchmarks/docs_reference.py`: change the code, not this page. -->
# Reference

What there is, by name; the [pages by subject](../README.md#pages) say what it is for. `misjudge COMMAND --help` and
the list of tools that a client gets say the same.
"""
GATE = {
    "pass": "a gate passes",
    "fail": "a gate fails",
    "inconclusive": "a gate cannot be told: too few pairs",
    "coverage": "a gate fails by coverage: the judge decides too little",
}
TYPES = {"string": "text", "integer": "whole number", "boolean": "yes/no"}
PLACEHOLDERS = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "path": "PLACE"}
MEANINGS: Mapping[str, str] = {
    "audit": "Name of the audit.",
    "format": "Format of the records.",
    "judge": "Model, profile, `local` or `simulated`.",
    "language": "Of the prompt.",
    "max_usd": "Most USD.",
    "max_tokens": "Most tokens, in and out.",
    "max_usd_per_task": "Most USD for one task.",
    "deadline_s": "Begin no more calls after so many seconds.",
    "stop": "Stop where enough is known: `width` of the interval, `threshold` of the rate.",
    "response_a": "One response, text or chat messages.",
    "response_b": "The other one.",
    "trajectory_a": "Recorded: one side, text or chat messages.",
    "trajectory_b": "Recorded: the other side.",
    "pair_ids": "Only these stored pairs.",
    "task_id": "The task.",
    "success_b": "The same of B.",
    "success_criteria": "Recorded: what counts as done.",
    "hard_constraints": "Recorded: what must not be broken.",
    "category": "Recorded: the task's category.",
}
"""Of arguments that say nothing of themselves, since their names do to a model."""


def page() -> str:
    """The whole page."""
    parts = (HEAD, *commands(), exit_codes(), variables(), *tools(), prompts(), addresses())
    return "\n".join(parts)


def commands() -> Iterator[str]:
    """A section a command, with a row an argument and option."""
    yield "## Commands\n"
    yield from _commands_of(typer.main.get_command(app), ("misjudge",))


def _commands_of(command: Any, names: tuple[str, ...]) -> Iterator[str]:
    below: Mapping[str, Any] = getattr(command, "commands", {})
    if len(names) > 1:
        yield f"### `{' '.join(names)}`\n\n{_plain(command.help)}\n"
        rows = [_option(one, command) for one in command.params if one.name != "help"]
        if rows:
            yield _table(("option", "default", "is"), rows)
    for name, one in below.items():
        yield from _commands_of(one, (*names, name))


def _option(option: Any, command: Any) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if not option.opts[0].startswith("-"):
        many = "…" if option.nargs != 1 else ""
        return f"`{option.name.upper()}{many}`", "needed" if option.required else _default(option.default), option.help
    return names + _placeholder(option, command), "needed" if option.required else _default(option.default), option.help


def _placeholder(option: Any, command: Any) -> str:
    """What stands behind an option, as in `--items NUMBER`; nothing behind one that is given or not."""
    if getattr(option, "is_flag", False):
        return ""
    kind = option.display_type(typer.Context(command)).strip("<>").removeprefix("list[").rstrip("]")
    return f" {PLACEHOLDERS[kind]}"


def exit_codes() -> str:
    """The one rule of exit codes, and the gate's own."""
    of_gate = {code: GATE[outcome] for outcome, code in EXIT_CODES.items()}
    said = {
        0: f"done, or yes: {of_gate[0]}, a set-up has no error",
        1: f"looked into, and the answer is no: {of_gate[1]}, a run is not at its end, a suite has problems, a model "
        "does not answer, a set-up has errors",
        2: "no answer: wrong usage, what is not there, or an error",
        **{code: text for code, text in of_gate.items() if code > 2},
        130: "stopped by Ctrl-C",
        143: "stopped by SIGTERM",
    }
    return "## Exit codes\n\n" + _table(("code", "means"), [(str(code), text) for code, text in sorted(said.items())])


def variables() -> str:
    """The variables that there are, by name; docs/configuration.md says what each sets."""
    names = ", ".join(f"`{name}`" for name in FORWARDED)
    return f"## Variables\n\n{names}: [configuration.md](configuration.md#where-settings-come-from) has each.\n"


def tools() -> Iterator[str]:
    """A section a tool, with a row an argument."""
    yield "## Tools\n\nAll arguments of each, also those that `tools/list` leaves out to stay small (*unlisted*).\n"
    for name, entry in TOOLS.items():
        yield f"### `{name}`\n\n{_about(entry)}\n"
        rows = _arguments(entry.request.model_json_schema(), UNLISTED.get(name, frozenset()))
        yield _table(("argument", "type", "default", "is"), rows)


def _about(entry: ToolEntry) -> str:
    said = ["only reads"] if entry.reads_only else []
    said += ["asks models"] if entry.asks_models else []
    said += ["may replace files, with `force`"] if entry.destroys else []
    first = entry.description.split("\n\n")[0]
    return f"{_plain(first)}\n\n*{', '.join(said).capitalize()}.*" if said else _plain(first)


def _arguments(schema: Mapping[str, Any], unlisted: frozenset[str]) -> list[tuple[str, ...]]:
    needed, rows = schema.get("required", ()), list[tuple[str, ...]]()
    definitions = schema.get("$defs", {})
    for name, field in sorted(
        schema["properties"].items(), key=lambda item: (item[0] not in needed, item[0] in unlisted)
    ):
        meaning = field.get("description") or MEANINGS.get(name, "")
        if not meaning:
            raise MisjudgeError(f"The argument {name} says nothing of itself: add it to MEANINGS.")
        default = "needed" if name in needed else _default(field.get("default"))
        mark = " *unlisted*" if name in unlisted else ""
        rows.append((f"`{name}`{mark}", _kind(field, definitions), default, meaning))
    return rows


def _kind(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The type of an argument in words: its values where these are few, else text, number, yes/no, list of these."""
    if "$ref" in field:
        return _kind(definitions[field["$ref"].rsplit("/", 1)[-1]], definitions)
    if "anyOf" in field:
        kinds = [_kind(option, definitions) for option in field["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}), definitions)}"
    said = str(field.get("type", "any"))
    return TYPES.get(said, said)


def prompts() -> str:
    """A row a prompt."""
    rows = [
        (f"`{name}`", _prompt_arguments(entry.request.model_fields), entry.description)
        for name, entry in PROMPTS.items()
    ]
    return "## Prompts\n\n" + _table(("prompt", "arguments", "is"), rows)


def _prompt_arguments(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`{_if_left_out(field)}" for name, field in fields.items())


def _if_left_out(field: Any) -> str:
    if field.is_required():
        return ""
    return f" ({_default(field.default) or 'optional'})"


def addresses() -> str:
    """A row an address of what is stored."""
    rows = [(f"`{SCHEME}{place}`", said) for place, said in TEMPLATES.items()]
    return "## Addresses\n\nFor `misjudge read`, the tool `read_record`, and as MCP resources.\n\n" + _table(
        ("address", "holds"), [(f"`{SCHEME}audits`", "Every audit."), *rows]
    )


def _default(value: Any) -> str:
    if value is None or value is False or value in ("", []):
        return ""
    return "yes" if value is True else f"`{value}`"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in (head, *rows)]
    return "\n".join((lines[0], "|---" * len(head) + "|", *lines[1:])) + "\n"


def _cell(text: str) -> str:
    """A cell of a table: a bar would end it, and angle brackets would be markup."""
    return _plain(text).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(HERE)}.")
