from __future__ import annotations

import os
from pathlib import Path

import pytest

from misjudge_server.clients.places import places_of
from misjudge_server.clients.server_entry import is_fleeting, is_ours, server_command
from misjudge_server.setup import applying, files
from misjudge_server.setup.backups import history_path
from misjudge_server.setup.changes import FilePlan, Setting, Wish
from misjudge_server.setup.plans import client_of
from misjudge_storage.errors import Conflict, InvalidInput

PLAN = Wish((Setting(("a",), "b"),))


def plan(file: Path) -> FilePlan:
    return FilePlan(file, "json", lambda _: PLAN, 0o600)


def test_a_file_that_another_program_changed_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"theirs")
    with pytest.raises(Conflict, match="changed by another program"):
        files.replace(path, b"before", b"after")
    with pytest.raises(Conflict, match="changed by another program"):
        files.replace(path, b"before", None)
    assert path.read_bytes() == b"theirs" and list(tmp_path.iterdir()) == [path]


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"theirs")
    with pytest.raises(Conflict):
        files.replace(path, None, b"after")
    assert path.read_bytes() == b"theirs"


def test_a_client_that_writes_while_set_up_works_keeps_what_it_wrote(tmp_path: Path) -> None:
    file, kept = tmp_path / "state.json", tmp_path / "kept" / "setup"
    file.write_text("{}", encoding="utf-8")

    def interrupted(_: object) -> Wish:
        file.write_text('{"theirs": 1}', encoding="utf-8")
        return PLAN

    with pytest.raises(Conflict):
        applying.apply((FilePlan(file, "json", interrupted, 0o600),), kept)
    assert file.read_text(encoding="utf-8") == '{"theirs": 1}' and list(tmp_path.iterdir()) == [file]


def test_a_second_file_that_fails_takes_the_first_change_back(tmp_path: Path) -> None:
    first, second, kept = tmp_path / "new" / "a.json", tmp_path / "b.json", tmp_path / "kept" / "setup"

    def interrupted(_: object) -> Wish:
        second.write_text("{}", encoding="utf-8")
        return PLAN

    with pytest.raises(Conflict):
        applying.apply((plan(first), FilePlan(second, "json", interrupted, 0o600)), kept)
    assert list(tmp_path.iterdir()) == [second]


def test_a_file_that_holds_everything_already_gets_no_way_back(tmp_path: Path) -> None:
    file, kept = tmp_path / "a.json", tmp_path / "kept" / "setup"
    file.write_text('{"a": "b"}', encoding="utf-8")
    (found,) = applying.apply((plan(file),), kept)
    assert not found.changes and list(tmp_path.iterdir()) == [file]
    assert applying.undo((file,), kept) == ()


def test_a_way_back_without_its_change_as_a_crash_leaves_it_changes_nothing(tmp_path: Path) -> None:
    file, kept = tmp_path / "a.json", tmp_path / "kept" / "setup"
    file.write_text('{"x": 1}', encoding="utf-8")
    applying.apply((plan(file),), kept)
    file.write_text('{"x": 1}', encoding="utf-8")
    (undone,) = applying.undo((file,), kept)
    assert undone.left == () and file.read_text(encoding="utf-8") == '{"x": 1}'
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_cannot_be_made_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInput, match="cannot be made"):
        files.make_folders((tmp_path / "new", tmp_path / "file" / "sub"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(InvalidInput, match="cannot be written"), files.locked(tmp_path / "file" / "sub" / "lock"):
        pass


@pytest.mark.parametrize("history", [b"{", b"{}", b"\xff"])
def test_a_way_back_that_cannot_be_read_stops_a_change_before_anything_is_made(tmp_path: Path, history: bytes) -> None:
    file, kept = tmp_path / "new" / "deep" / "a.json", tmp_path / "kept" / "setup"
    kept.mkdir(parents=True)
    history_path(kept, file).write_bytes(history)
    with pytest.raises(InvalidInput, match="the way back"):
        applying.apply((plan(file),), kept)
    assert not (tmp_path / "new").exists() and list(kept.iterdir()) == [history_path(kept, file)]


@pytest.mark.skipif(os.name == "nt", reason="a folder can be opened on POSIX only")
def test_a_file_in_the_place_of_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInput, match="cannot be read"):
        files.read_bytes(tmp_path / "file" / "config.toml")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LIMIT_BYTES", 3)
    (tmp_path / "file").write_bytes(b"1234")
    with pytest.raises(InvalidInput, match="larger than"):
        files.read_bytes(tmp_path / "file")


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("misjudge", ["serve"]),
        ("/usr/local/bin/misjudge", ["serve"]),
        ("C:\\Tools\\misjudge.exe", ["serve"]),
        ("uvx", ["misjudge", "serve"]),
        ("/usr/bin/python3", ["-P", "-m", "misjudge_server", "serve"]),
        (["misjudge", "serve"], ()),
        ("misjudge", []),
        ("uvx", ["misjudge"]),
        ("uv", ["run", "--with", "x", "misjudge", "serve"]),
        ("python", ["-m", "misjudge_server"]),
        ("uvx", ["--from", "/src/misjudge", "misjudge", "serve", "--http"]),
        ("cmd", ["/c", "C:\\Tools\\misjudge.exe", "serve"]),
    ],
)
def test_an_entry_of_ours_is_recognised_however_it_was_installed(command: object, args: object) -> None:
    assert is_ours(command, args)


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("npx", ["-y", "docs"]),
        (None, None),
        (3, []),
        ("", []),
        ("misjudged", [1]),
        ({}, "misjudge"),
        ("npx", ["files", "/home/me/misjudge"]),
        ("npx", ["files", "misjudge"]),
        ("npx", ["serve", "/home/me/misjudge"]),
        ("npx", ["serve", "misjudge"]),
        ("serve", ["misjudge"]),
        ("python", ["-m", "http.server", "--directory", "misjudge"]),
        ("python", ["-m", "http.server", "misjudge_server"]),
        ("docs", ["--name", "misjudge", "--mode", "serve"]),
        (["npx", "serve", "misjudge_server"], ()),
    ],
)
def test_an_entry_of_others_is_not_ours(command: object, args: object) -> None:
    assert not is_ours(command, args)


def test_without_a_script_the_interpreter_starts_the_server_apart_from_the_open_folder() -> None:
    found = server_command(Path("/venv/bin/python"), None)
    assert found.args == ("-P", "-m", "misjudge_server", "serve") and Path(found.command) == Path("/venv/bin/python")
    assert server_command(Path("/venv/bin/python"), Path("/venv/bin/misjudge")).args == ("serve",)


def test_a_command_in_a_cache_is_noticed() -> None:
    assert is_fleeting("/home/me/.cache/uv/archive-v0/x/bin/misjudge")
    assert is_fleeting("/home/me/.cache/pipx/abc/bin/misjudge")
    assert not is_fleeting("/home/me/.local/share/uv/tools/misjudge/bin/misjudge")


def test_places_follow_the_clients_own_variables_and_an_empty_one_is_unset() -> None:
    home, folder = Path("/home/me"), Path("/src/project")
    usual = places_of({"CODEX_HOME": "", "CLAUDE_CONFIG_DIR": ""}, home, folder)
    assert usual.claude_state == home / ".claude.json" and usual.codex_auth == home / ".codex" / "auth.json"
    moved = places_of({"CODEX_HOME": "/cx", "CLAUDE_CONFIG_DIR": "/cc"}, home, folder)
    assert moved.claude_state == Path("/cc/.claude.json") and moved.codex_config == Path("/cx/config.toml")
    assert moved.claude_user_settings == Path("/cc/settings.json") and moved.project_servers == folder / ".mcp.json"


def test_a_client_is_known_by_its_name() -> None:
    assert client_of("codex") == "codex"
