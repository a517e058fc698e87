"""The sessions that are run, and what must hold when one has ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from clients import plays, session
from clients.checks import expect
from clients.homes import KEY, Home, SetupFailed, contents, copy_store, files_with_key, misjudge, new_home
from clients.model_server import Exchange, Gateway, serving
from clients.player import Player, Row
from clients.starting import (
    CODE,
    DEFERRED,
    DIALECTS,
    DIRECT,
    SEARCHED,
    UP_FRONT,
    ClientName,
    Ended,
    Exposure,
    start,
)
from clients.steps import Mismatch, Play

GIVEN_UP_S = 4
"""After how many seconds the clients give a call up, where a run is to outlive it."""


class Finished(NamedTuple):
    """A session that has ended."""

    home: Home
    exchanges: list[Exchange]
    ended: Ended
    played: bool


class After(NamedTuple):
    """What must hold when a session has ended: a row of the table. `holds` raises Mismatch."""

    case: str
    holds: Callable[[Run, Finished], None]


class Run(NamedTuple):
    """A session to run, in a home of its own."""

    name: str
    client: ClientName
    exposure: Exposure
    play: Callable[[Gateway], Play]
    after: tuple[After, ...] = ()
    prompt: str = "Call the tools."
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    has_demo: bool = True
    undoes: bool = False
    """Whether both clients are set up, and set-up is undone at the end."""


class Programs(NamedTuple):
    """The commands that are started."""

    misjudge: Path
    clients: Mapping[ClientName, Path]


def _offers(run: Run, exchange: Exchange) -> set[str]:
    offers = DIALECTS[run.client].offers(exchange.body)
    ours = [offer.name for offer in offers if "misjudge" in f"{offer.namespace}{offer.name}"]
    return {name.rsplit("__", 1)[-1] for name in ours}


def _turns(run: Run, finished: Finished) -> list[Exchange]:
    dialect = DIALECTS[run.client]
    return [one for one in finished.exchanges if one.path.endswith(dialect.path) and dialect.is_turn(one.body)]


def _shown_first(run: Run, finished: Finished) -> None:
    """Tools stand before the model from its first request on, or not at all before it looks for them."""
    turns = _turns(run, finished)
    expect(bool(turns), "the model was never asked")
    offers = _offers(run, turns[0])
    wanted = set(plays.TOOL_CALLS) if run.exposure in (DIRECT, UP_FRONT) else set[str]()
    expect(offers == wanted, f"the first request offers {sorted(offers)}, and not {sorted(wanted)}")


def _purpose_said(run: Run, finished: Finished) -> None:
    """Clients cut the instructions, or show them only behind a search: their first sentence always comes."""
    turns = _turns(run, finished)
    said = json.dumps(turns[0].body, ensure_ascii=False) if turns else ""
    for words in ("audits LLM judges", "position bias"):
        expect(words in said, f"the first request does not say {words!r} of the server")


def _came_to_end(_: Run, finished: Finished) -> None:
    ended = finished.ended
    expect(ended.code == 0, f"the client ended with {ended.code}: {(ended.err or ended.out)[-400:]}")
    expect(finished.played, "the client did not come back to the model for all of the script")


def _key_from_environment(_: Run, finished: Finished) -> None:
    keys = {one.key for one in finished.exchanges}
    expect(keys == {KEY}, "the model was not asked with the key of the environment alone")
    found = files_with_key(finished.home.home, finished.home.project)
    expect(not found, f"files hold the key: {', '.join(found)}")


def _prompt_came(run: Run, finished: Finished) -> None:
    said = json.dumps([turn.body for turn in _turns(run, finished)], ensure_ascii=False)
    for text in ("Audit an LLM judge", f"summarize_audit(audit='{plays.DEMO}')"):
        expect(text in said, f"{text!r} is not in what the model was sent")


def _report_written(_: Run, finished: Finished) -> None:
    report = finished.home.project / "report.html"
    expect(report.is_file() and "SIMULATED" in report.read_text(encoding="utf-8"), "no report was written")


ALWAYS = (
    After("the session came to its end", _came_to_end),
    After("the key stays in the environment", _key_from_environment),
)
SHOWN = After("how the tools are shown", _shown_first)
PURPOSE = After("what the server is for", _purpose_said)
PROMPT = After("a prompt as slash command", _prompt_came)
REPORT = After("the report is there", _report_written)


def runs_of(client: ClientName) -> Iterator[Run]:
    """All sessions of a client."""
    if client == "codex":
        both = {**plays.FOUND_BY, **plays.FOUND_BY_CHINESE}
        yield Run("direct", client, DIRECT, lambda _: plays.every_tool_and_resource(), (SHOWN, PURPOSE))
        yield Run("searched", client, SEARCHED, lambda _: plays.every_tool_by_search(both), (SHOWN, PURPOSE))
        yield Run("code mode", client, CODE, lambda _: plays.every_tool(), (SHOWN, PURPOSE))
        given_up = (f"mcp_servers.misjudge.tool_timeout_sec={GIVEN_UP_S}",)
        yield Run("long", client, DIRECT, plays.outliving, options=given_up)
        yield _session(client, DIRECT)
    else:
        yield Run("deferred", client, DEFERRED, lambda _: plays.every_tool_by_search(plays.FOUND_BY), (SHOWN, PURPOSE))
        yield Run("up front", client, UP_FRONT, lambda _: plays.every_tool_and_resource(), (SHOWN, PURPOSE))
        waits = {"MCP_TOOL_TIMEOUT": f"{GIVEN_UP_S}000"}
        yield Run("long", client, DEFERRED, plays.outliving, environment=waits)
        command = f"/mcp__misjudge__audit_judge {plays.DEMO}"
        yield Run("slash command", client, DEFERRED, lambda _: plays.silent(), (PROMPT,), command)
        yield _session(client, DEFERRED)


def _session(client: ClientName, exposure: Exposure) -> Run:
    run = Run("session", client, exposure, lambda _: session.audit_session(), (REPORT,), session.PROMPT)
    return run._replace(has_demo=False, undoes=True)


def carry_out(run: Run, programs: Programs, work: Path, demo: Home) -> tuple[list[Row], Finished]:
    """Run a session in a home of its own under `work`; its rows, and what is left of it."""
    gateway = Gateway()
    label = f"{run.client}, {run.name}"
    dialect = DIALECTS[run.client]
    player = Player(run.play(gateway), dialect, label)
    with serving(player, dialect, gateway) as server:
        home = new_home(work, server.address)
        if run.has_demo:
            copy_store(demo, home)
        before = contents(home.home)
        for client in ("codex", "claude") if run.undoes else (run.client,):
            misjudge(programs.misjudge, home, "setup", client, "--with-gateway", "--model", run.exposure.model)
        exposure = run.exposure._replace(environment={**run.exposure.environment, **run.environment})
        ended = start(run.client, programs.clients[run.client], home, exposure, run.prompt, run.options)
    finished = Finished(home, server.exchanges, ended, player.ended)
    rows = [
        *player.rows,
        *(_tried(one.case, label, partial(one.holds, run, finished)) for one in (*ALWAYS, *run.after)),
    ]
    if run.undoes:
        rows.append(_tried("set-up undone", label, partial(_undone, programs, home, before)))
    return rows, finished


def _tried(case: str, label: str, check: Callable[[], None]) -> Row:
    try:
        check()
    except (Mismatch, SetupFailed) as failed:
        return Row(case, label, False, 0, 0.0, str(failed))
    return Row(case, label, True, 0, 0.0)


def _undone(programs: Programs, home: Home, before: Mapping[str, bytes]) -> None:
    """What set-up wrote is gone; what a client wrote of its own stays."""
    for client in ("codex", "claude"):
        misjudge(programs.misjudge, home, "setup", client, "--undo")
    after = contents(home.home)
    changed = [name for name, data in before.items() if after.get(name) != data]
    expect(not changed, f"undoing did not restore {', '.join(changed)}")
    written = (".codex/config.toml", ".claude/settings.json")
    expect(not any(name in after for name in written), "a file that set-up wrote is still there")
    state = json.loads(after.get(".claude.json", b"{}"))
    expect("misjudge" not in state.get("mcpServers", {}), "Claude Code's state still names the server")
    left = [name for name in after if name.startswith(".misjudge/setup")]
    expect(not left, f"set-up left {', '.join(left)}")
