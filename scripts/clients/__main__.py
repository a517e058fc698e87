"""`scripts/test-clients`: drives the real Claude Code and Codex, and says what reached their models."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from clients.homes import Home, SetupFailed, misjudge, new_home
from clients.installing import programs_for
from clients.player import Row
from clients.printing import markdown, table
from clients.runs import Finished, Programs, carry_out, runs_of
from clients.session import PROMPT
from clients.starting import ClientName
from clients.transcript import transcript

CLIENTS: tuple[ClientName, ...] = get_args(ClientName)


def main(arguments: Sequence[str]) -> int:
    """0: every case passed; 1: one did not; 2: they could not be run."""
    asked = _parser().parse_args(arguments)
    if asked.keep and asked.keep.exists():
        print(f"test-clients: {asked.keep} exists already. Name a new folder.", file=sys.stderr)
        return 2
    chosen: tuple[ClientName, ...] = (asked.client,) if asked.client else CLIENTS
    with tempfile.TemporaryDirectory(prefix="test-clients-", ignore_cleanup_errors=True) as scratch:
        work = (asked.keep or Path(scratch)).absolute()
        try:
            programs = programs_for(chosen, Path(scratch) / "npm")
            rows = list(_rows(asked, chosen, programs, work))
        except SetupFailed as failed:
            print(f"test-clients: {failed}", file=sys.stderr)
            return 2
    print(table(rows))
    if asked.report:
        asked.report.write_text(markdown(rows), encoding="utf-8")
    return 0 if rows and all(row.passed for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/test-clients", description=__doc__)
    parser.add_argument("--client", choices=CLIENTS, help="only this one")
    parser.add_argument("--only", metavar="SESSION", help="only sessions of this name, as direct or session")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="keep homes, requests and output in a new folder")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write the table as Markdown")
    parser.add_argument("--transcript", metavar="FILE", type=Path, help="write Claude Code's session as Markdown")
    return parser


def _rows(asked: argparse.Namespace, chosen: Sequence[ClientName], programs: Programs, work: Path) -> Iterator[Row]:
    demo = _demo(programs, work)
    for run in (run for client in chosen for run in runs_of(client) if asked.only in {None, run.name}):
        folder = work / f"{run.client}-{run.name.replace(' ', '-')}"
        print(f"test-clients: {run.client}, {run.name}", file=sys.stderr, flush=True)
        rows, finished = carry_out(run, programs, folder, demo)
        _keep(finished, folder)
        if asked.transcript and (run.client, run.name) == ("claude", "session"):
            asked.transcript.write_text(transcript(PROMPT, finished.ended.out), encoding="utf-8")
        yield from rows


def _demo(programs: Programs, work: Path) -> Home:
    """A project that holds the demo's audit; every session gets a copy of its store."""
    home = new_home(work / "demo", "")
    misjudge(programs.misjudge, home, "demo", "--no-local")
    return home


def _keep(finished: Finished, folder: Path) -> None:
    (folder / "client.out").write_text(finished.ended.out, encoding="utf-8")
    (folder / "client.err").write_text(finished.ended.err, encoding="utf-8")
    with (folder / "requests.jsonl").open("w", encoding="utf-8") as file:
        for exchange in finished.exchanges:
            file.write(json.dumps({"path": exchange.path, "body": exchange.body}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
