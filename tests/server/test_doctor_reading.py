"""What the doctor reads: nothing is changed, keys stay sealed, and hostile files stop nothing."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from client_homes import snapshot
from doctor_homes import (
    CANARY,
    CLAUDE_GATEWAY,
    CODEX_ENTRY,
    KEY,
    PROVIDER,
    USUAL,
    Case,
    read_made,
    servers,
    switch,
    track,
)
from misjudge_server.clients.documents import value_at
from misjudge_server.doctor.check_setup import check_setup, findings_of
from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.findings import Finding
from misjudge_server.doctor.reading import read_setup
from misjudge_server.doctor.sealed import sealed, tables_in, text_at, texts_at
from misjudge_server.doctor.setup_request import CheckSetupRequest
from misjudge_server.fitting import fit, size_of
from misjudge_storage.inspecting import StoreState

Read = Callable[[Case], SetupFacts]
RICH = Case(
    "rich",
    files={
        ".env": f"TAOTOKEN_API_KEY={KEY}\n",
        ".mcp.json": servers(env={"TAOTOKEN_API_KEY": KEY}),
        "~/.claude/settings.json": json.dumps({"env": CLAUDE_GATEWAY}),
        "~/.claude.json": json.dumps({"primaryApiKey": KEY, "projects": {"/elsewhere": {"history": [KEY]}}}),
        "~/.codex/config.toml": f'{PROVIDER}experimental_bearer_token = "{KEY}"\n{CODEX_ENTRY}',
        "~/.codex/auth.json": json.dumps({"OPENAI_API_KEY": KEY}),
    },
    prepare=switch(("claude", "Mine", {"env": CLAUDE_GATEWAY}, True)),
)


@pytest.fixture
def read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Makes a set-up and reads it."""

    return lambda made: read_made(made, folder, monkeypatch)


def test_no_key_shows_in_what_was_read(read: Read) -> None:
    facts = read(RICH)
    assert CANARY not in repr(facts)
    assert CANARY not in str(facts)
    assert facts.variable("TAOTOKEN_API_KEY") == KEY, "it was read"


def test_of_claude_codes_state_only_this_folders_part_is_kept(read: Read) -> None:
    facts = read(RICH)
    assert set(value_at(facts.document("claude_state"), "projects")) == {facts.folder.as_posix()}


def test_nothing_is_changed_not_even_a_time(read: Read, folder: Path) -> None:
    read(RICH)
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (1_000_000_000, 1_000_000_000))
    before = snapshot(folder)
    asyncio.run(check_setup(CheckSetupRequest()))
    assert snapshot(folder) == before
    assert {path.stat().st_mtime for path in files} == {1_000_000_000}


async def test_others_are_answered_while_the_doctor_thinks(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    read(RICH)
    begun, others_answered = threading.Event(), threading.Event()

    def thinks(_: SetupFacts) -> Iterator[Finding]:
        begun.set()
        assert others_answered.wait(20)
        return iter(())

    monkeypatch.setattr("misjudge_server.doctor.check_setup._CHECKS", (thinks,))
    checking = asyncio.create_task(check_setup(CheckSetupRequest()))
    await asyncio.to_thread(begun.wait, 20)
    others_answered.set()
    assert (await checking).findings == ()


def test_at_home_the_settings_of_the_project_are_the_users(
    read: Read, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    read(RICH)
    monkeypatch.chdir(folder / "home")
    facts = read_setup()
    assert [place.name for place in facts.seen].count("~/.claude/settings.json") == 1
    assert "project-redirects" not in {found.id for found in findings_of(facts)}


def test_folders_that_the_environment_names_are_read_in_place_of_the_usual(read: Read) -> None:
    made = Case(
        "moved",
        files={"~/cx/config.toml": PROVIDER.replace("responses", "chat"), "~/cl/.claude.json": servers(command="/no")},
    )
    facts = read(made)
    assert findings_of(facts) == ()
    home = str(facts.home)
    facts = read(made._replace(environment={**USUAL, "CODEX_HOME": f"{home}/cx", "CLAUDE_CONFIG_DIR": f"{home}/cl"}))
    assert {found.id for found in findings_of(facts)} == {"codex-wire-api"}, "/no is no misjudge"


HOSTILE: tuple[tuple[str, str, str | bytes], ...] = (
    ("deep JSON", "~/.claude.json", "[" * 200_000),
    ("a list for an object", "~/.claude/settings.json", "[]"),
    ("NUL", ".mcp.json", b'{"a": "\x00"}'),
    ("not UTF-8", "~/.codex/config.toml", b"\xff\xfe"),
    ("deep TOML", "~/.codex/config.toml", "a = " + "[" * 5000),
    ("a long number", "~/.codex/auth.json", '{"a": ' + "9" * 5000 + "}"),
)


@pytest.mark.parametrize(("path", "content"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_hostile_file_is_one_finding_and_the_others_are_checked(read: Read, path: str, content: str | bytes) -> None:
    facts = read(Case("", files={path: content}, environment={**USUAL, "MISJUDGE_TIMEOUT_S": "5"}))
    found = [one for one in findings_of(facts) if one.id != "timeout-short"]
    assert [(one.id, one.where) for one in found] == [("file-unreadable", path)]
    assert len(findings_of(facts)) == 2


def test_values_of_another_kind_than_expected_stop_nothing(read: Read) -> None:
    odd: Any = {"env": 5, "mcpServers": ["x"], "projects": 7, "enableAllProjectMcpServers": "yes", "apiKeyHelper": []}
    files = {
        "~/.claude.json": json.dumps({**odd, "mcpServers": {"misjudge": 5, "other": {"command": ["misjudge"]}}}),
        "~/.claude/settings.json": json.dumps(odd),
        ".mcp.json": json.dumps({"mcpServers": {"a": {"command": 5, "args": "serve", "env": [1]}}}),
        "~/.codex/config.toml": 'model_providers = 5\nmodel_provider = 7\nmcp_servers = ["x"]\n',
        "~/.codex/auth.json": '{"OPENAI_API_KEY": 5, "tokens": 7}',
    }
    assert findings_of(read(Case("", files=files))) == ()


def test_a_name_that_is_a_key_or_has_control_characters_is_not_shown(read: Read) -> None:
    table = f'[model_providers."{KEY}"]\nwire_api = "chat"\n[model_providers."a\\u001b[31mb"]\nwire_api = "chat"\n'
    found = findings_of(read(Case("", files={"~/.codex/config.toml": table})))
    shown = "".join(one.model_dump_json() for one in found)
    assert {one.id for one in found} == {"codex-wire-api", "codex-provider-name"}
    assert CANARY not in shown and "\\u001b" not in shown and "\x1b" not in shown


def test_many_findings_are_cut_to_the_size_of_a_result_by_whole_rows_the_worst_stay(read: Read) -> None:
    table = "".join(f'[model_providers.p{number}]\nname = "x"\nwire_api = "chat"\n' for number in range(200))
    read(Case("", files={"~/.codex/config.toml": table}, environment={**USUAL, "MISJUDGE_TIMEOUT_S": "5"}))
    report = asyncio.run(check_setup(CheckSetupRequest()))
    whole = report.model_dump(mode="json")
    assert (report.errors, report.warnings) == (200, 1)
    fitted = fit("check_setup", whole)
    assert size_of(fitted) <= 9000
    assert fitted["findings"] == whole["findings"][: len(fitted["findings"])]
    assert fitted["left_out"] == {"findings": 201 - len(fitted["findings"])}
    assert fitted["places"] == whole["places"] and fitted["errors"] == 200


def test_a_worktree_has_its_index_elsewhere(read: Read, folder: Path) -> None:
    def make(home: Path, work: Path) -> None:
        store = folder / "main" / ".git"
        store.parent.mkdir()
        track("notes.md")(home, store.parent)
        (work / ".git").write_text(f"gitdir: {store}\n", encoding="utf-8")

    facts = read(Case("", files={"notes.md": f"key: {KEY}"}, prepare=make))
    assert [found.id for found in findings_of(facts)] == ["key-in-tracked-file"]


def test_what_a_disk_is_like_is_told(read: Read) -> None:
    facts = read(Case("", environment=USUAL))
    assert findings_of(facts) == ()
    found = findings_of(facts._replace(store=StoreState(True, network=True, little_space=True)))
    assert {one.id for one in found} == {"store-network-disk", "store-little-space"}
    assert all(one.fix for one in found)


def test_on_windows_the_commands_are_those_of_powershell(read: Read) -> None:
    values = {"TAOTOKEN_JUDGE_MODEL": "m", "TAOTOKEN_BASE_URL": "https://taotoken.net", "OPENAI_BASE_URL": "x"}
    facts = read(Case("", environment=values))
    windows, posix = (findings_of(facts._replace(windows=on)) for on in (True, False))
    assert [one.id for one in windows] == [one.id for one in posix]
    assert {one.fix for one in windows} >= {
        '$env:TAOTOKEN_BASE_URL = "https://taotoken.net/api"', "Remove-Item Env:OPENAI_BASE_URL",
    }  # fmt: skip
    assert {one.fix for one in posix} >= {
        "export TAOTOKEN_BASE_URL=https://taotoken.net/api", "unset OPENAI_BASE_URL",
    }  # fmt: skip
    missing = read(Case("", environment={"TAOTOKEN_BASE_URL": "https://gate.example"}))._replace(windows=True)
    assert [one.fix for one in findings_of(missing) if one.id == "key-missing"] == [
        '$env:TAOTOKEN_API_KEY = Read-Host "Key" -MaskInput'
    ]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_in_place_of_a_file_holds_nobody_up(read: Read) -> None:
    def make(home: Path, work: Path) -> None:
        (home / ".cc-switch").mkdir()
        (work / ".git").mkdir()
        for path in (".cc-switch/cc-switch.db", ".claude.json", ".mcp.json"):
            os.mkfifo((work if path == ".mcp.json" else home) / path)
        for path in (".git/index", "notes.md", ".env.txt"):
            os.mkfifo(work / path)

    facts = read(Case("", environment=USUAL, prepare=make))
    told = {one.where for one in findings_of(facts)}
    assert told == {"~/.cc-switch/cc-switch.db", "~/.claude.json", ".mcp.json"}


def test_a_sealed_document_gives_back_what_it_holds_and_shows_nothing() -> None:
    document = sealed({"a": {"b": KEY, "c": ["x", "", 5, None]}, "d": 1.5, "e": ""})
    assert CANARY not in repr(document)
    assert (text_at(document, "a", "b"), texts_at(document, "a", "c")) == (KEY, ("x",))
    assert (value_at(document, "d"), text_at(document, "d"), text_at(document, "e")) == (1.5, None, None)
    assert (text_at(document, "a", "b", "c"), texts_at(document, "d"), value_at(None, "a")) == (None, (), None)
    assert [name for name, _ in tables_in(document)] == ["a"]
