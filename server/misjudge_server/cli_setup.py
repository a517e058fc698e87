"""The command `setup`: misjudge in the settings of Claude Code, Codex and CC Switch."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from misjudge_server.terminal import json_text, plain
from misjudge_storage.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from misjudge_server.clients.places import Places
    from misjudge_server.clients.server_entry import ServerCommand
    from misjudge_server.setup.gateway import Gateway
    from misjudge_server.setup.plans import Asked, Client, Scope


def setup(
    client: Annotated[str, typer.Argument(help="claude, codex or ccswitch.")],
    scope: Annotated[str | None, typer.Option(help="claude: user (default) or project, its .mcp.json.")] = None,
    with_gateway: Annotated[bool, typer.Option("--with-gateway", help="Also make the gateway its provider.")] = False,
    base_url: Annotated[str | None, typer.Option(help="--with-gateway: default TAOTOKEN_BASE_URL.")] = None,
    model: Annotated[str | None, typer.Option(help="--with-gateway: default TAOTOKEN_MODEL.")] = None,
    small_model: Annotated[str | None, typer.Option(help="--with-gateway: for small work of Claude Code.")] = None,
    env: Annotated[list[str] | None, typer.Option(help="Pass this variable on, too, by name; may be repeated.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the difference, with keys masked.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what set-up wrote for this client.")] = False,
    print_: Annotated[bool, typer.Option("--print", help="Print what to add by hand; no file is read.")] = False,
    out: Annotated[str | None, typer.Option(help="ccswitch: write the JSON to this new file.")] = None,
    powershell: Annotated[bool, typer.Option("--powershell", help="Show commands for PowerShell.")] = False,
) -> None:
    """Add misjudge to a coding agent's settings; what else stands there stays, and --undo takes it back."""
    from misjudge_server.clients.places import places_of, refuse_relative
    from misjudge_server.setup.plans import HOME_VARIABLES, client_of, scope_of

    known = client_of(client)
    chosen = scope_of(known, scope)
    if not with_gateway and (base_url or model or small_model):
        raise InvalidInput("--base-url, --model and --small-model say what the provider is to be. Give --with-gateway.")
    if out is not None and known != "ccswitch":
        raise InvalidInput("--out is for ccswitch; the other clients' own files are changed.")
    refuse_relative(os.environ, "USERPROFILE" if os.name == "nt" else "HOME", HOME_VARIABLES.get(known))
    places = places_of(os.environ, Path.home(), Path.cwd())
    if undo:
        _undo(known, chosen, places)
        return
    asked = _asked(env or [], _gateway(base_url, model, small_model) if with_gateway else None)
    if known == "ccswitch":
        _ccswitch(asked, out)
    elif print_:
        _print_block(known, chosen, places, asked)
    else:
        _change(known, chosen, places, asked, dry_run=dry_run, powershell=powershell or os.name == "nt")


def _gateway(base_url: str | None, model: str | None, small_model: str | None) -> Gateway:
    from misjudge_server.setup.gateway import gateway_of

    return gateway_of(os.environ, base_url, model, small_model)


def _asked(env: list[str], gateway: Gateway | None) -> Asked:
    from misjudge_server.setup.plans import Asked, variables_of
    from misjudge_server.tool_table import TOOLS

    read_only = tuple(name for name, entry in TOOLS.items() if entry.reads_only)
    return Asked(_command(), variables_of(env), read_only, gateway, os.environ, os.name == "nt")


def _command() -> ServerCommand:
    """What starts this installation: the script beside its interpreter, else the interpreter itself."""
    from misjudge_server.clients.server_entry import SERVER_NAME, is_fleeting, server_command

    interpreter = Path(os.path.abspath(sys.executable))
    script = shutil.which(SERVER_NAME, path=str(interpreter.parent))
    command = server_command(interpreter, Path(script) if script else None)
    if is_fleeting(command.command):
        _say(["This misjudge lies in a cache that may be emptied. Install it: uv tool install misjudge"], sys.stderr)
    return command


def _change(
    client: Client, scope: Scope | None, places: Places, asked: Asked, *, dry_run: bool, powershell: bool
) -> None:
    from misjudge_server.setup.applying import apply, prepare, undo_folder
    from misjudge_server.setup.plans import plans_of
    from misjudge_server.setup.showing import done_lines, next_steps

    plans = plans_of(client, scope, places, asked)
    made = tuple(prepare(plan) for plan in plans) if dry_run else apply(plans, undo_folder(places.home))
    _say(done_lines(made, places.home, dry_run=dry_run))
    if not dry_run and any(one.changes for one in made):
        _say(next_steps(client, os.environ, powershell=powershell))


def _undo(client: Client, scope: Scope | None, places: Places) -> None:
    from misjudge_server.setup.applying import undo, undo_folder
    from misjudge_server.setup.plans import files_of
    from misjudge_server.setup.showing import undone_lines

    if client == "ccswitch":
        raise InvalidInput("Set-up writes nothing into CC Switch. Delete the server and the provider there.")
    undone = undo(files_of(client, scope, places), undo_folder(places.home))
    _say(undone_lines(undone, places.home) if undone else ["Set-up has written nothing here that could be undone."])


def _print_block(client: Client, scope: Scope | None, places: Places, asked: Asked) -> None:
    """What set-up would write into empty files."""
    from misjudge_server.clients.places import short
    from misjudge_server.setup.formats import with_settings
    from misjudge_server.setup.plans import plans_of

    for plan in plans_of(client, scope, places, asked):
        text = with_settings("", plan.wish({}).settings, plan.format, str(plan.file))
        _say([f"# {short(plan.file, places.home)}", text.rstrip("\n")])


def _ccswitch(asked: Asked, out: str | None) -> None:
    from misjudge_server.guide_profiles import write_new
    from misjudge_server.setup.ccswitch import import_json, refuse_out, server_entry, server_link

    if out is not None:
        refuse_out(Path(out), Path.cwd())
    server = server_entry(asked)
    document = import_json(server, asked.gateway)
    if out is None:
        print(json_text(document))
    else:
        write_new(Path(out), json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    _say(
        [
            "CC Switch: paste `mcp` into its page of MCP servers, or open this link, which holds no key:",
            server_link(server),
            *(
                [
                    "Paste `claude` and `codex` into the JSON of a new provider of that app, and the key into its own "
                    "field there. Guides give a link for that; its URL would hold your key."
                ]
                if asked.gateway
                else []
            ),
        ],
        sys.stderr,
    )


def _say(lines: Iterable[str], stream: TextIO | None = None) -> None:
    for line in lines:
        print(plain(line), file=stream)
