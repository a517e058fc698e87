from __future__ import annotations

import base64
import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import command
from client_homes import KEY, PLAIN_KEY, WEAK_KEY, rich_home, snapshot
from command import Misjudge
from misjudge_server.setup import files

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")

EVERY = [
    ("codex",),
    ("codex", "--with-gateway", "--model", "big"),
    ("claude",),
    ("claude", "--scope", "user", "--with-gateway", "--model", "big", "--small-model", "small"),
    ("claude", "--scope", "project"),
    ("claude", "--scope", "project", "--with-gateway", "--model", "big"),
]


@pytest.fixture(params=["empty", "rich"])
def either_home(request: pytest.FixtureRequest, project: Path, home: Path) -> Path:
    if request.param == "rich":
        rich_home(home, project)
    return home


def codex_config(home: Path) -> dict[str, Any]:
    return tomllib.loads((home / ".codex" / "config.toml").read_text(encoding="utf-8"))


def read_json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("arguments", EVERY)
def test_undo_restores_every_file_byte_for_byte_and_leaves_none_behind(
    misjudge: Misjudge, either_home: Path, project: Path, arguments: tuple[str, ...]
) -> None:
    before = snapshot(either_home, project)
    assert misjudge("setup", *arguments).code == 0
    written = snapshot(either_home, project)
    assert written != before
    again = misjudge("setup", *arguments)
    assert "nothing to change" in again.out and "To take it back" not in again.out
    assert snapshot(either_home, project) == written
    undone = misjudge("setup", arguments[0], "--undo")
    assert undone.code == 0
    assert snapshot(either_home, project) == before
    assert "nothing here that could be undone" in misjudge("setup", arguments[0], "--undo").out
    assert snapshot(either_home, project) == before


def test_one_undo_takes_back_several_set_ups(misjudge: Misjudge, either_home: Path, project: Path) -> None:
    before = snapshot(either_home, project)
    for arguments in EVERY:
        assert misjudge("setup", *arguments).code == 0
    assert misjudge("setup", "claude", "--undo").code == 0
    assert misjudge("setup", "codex", "--undo").code == 0
    assert snapshot(either_home, project) == before


def test_undo_of_one_scope_leaves_the_other(misjudge: Misjudge, home: Path, project: Path) -> None:
    misjudge("setup", "claude")
    assert "asks once" in misjudge("setup", "claude", "--scope", "project").out
    assert ".mcp.json: removed" in misjudge("setup", "claude", "--scope", "project", "--undo").out
    assert not (project / ".mcp.json").exists()
    assert "misjudge" in read_json(home / ".claude.json")["mcpServers"]


def test_the_entry_of_codex_holds_the_whole_command_and_variables_by_name_only(
    misjudge: Misjudge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", KEY)
    misjudge("setup", "codex", "--env", "STRONG_API_KEY")
    entry = codex_config(home)["mcp_servers"]["misjudge"]
    assert Path(entry["command"]).is_absolute() and entry["args"][-1] == "serve"
    assert {"TAOTOKEN_API_KEY", "TAOTOKEN_JUDGE_MODEL", "MISJUDGE_STORE", "STRONG_API_KEY"} <= set(entry["env_vars"])
    network = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    assert {*network, *map(str.lower, network), "SSL_CERT_FILE"} <= set(entry["env_vars"])
    assert entry["required"] is True and entry["startup_timeout_sec"] >= 30 and entry["tool_timeout_sec"] >= 60
    assert {"summarize_audit", "read_record"} <= entry["tools"].keys() and "judge" not in entry["tools"]


def test_the_gateway_of_codex_has_the_form_that_works_today(misjudge: Misjudge, either_home: Path) -> None:
    said = misjudge("setup", "codex", "--with-gateway", "--model", "big").out
    config = codex_config(either_home)
    assert (config["model"], config["model_provider"]) == ("big", "taotoken")
    provider = config["model_providers"]["taotoken"]
    assert provider["base_url"] == "https://taotoken.net/api/v1"
    assert (provider["wire_api"], provider["env_key"]) == ("responses", "TAOTOKEN_API_KEY")
    assert "ANTHROPIC" not in (either_home / ".codex" / "config.toml").read_text(encoding="utf-8")
    assert 'wire_api = "chat"' in said and "auth.json" in said


def test_the_gateway_of_claude_reads_the_key_when_it_is_needed(
    misjudge: Misjudge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAOTOKEN_BASE_URL", "https://other.example/v1")
    monkeypatch.setenv("TAOTOKEN_MODEL", "big")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    said = misjudge("setup", "claude", "--with-gateway").out
    settings = read_json(home / ".claude" / "settings.json")
    assert settings["env"] == {
        "ANTHROPIC_BASE_URL": "https://other.example",
        "ANTHROPIC_MODEL": "big",
        "ANTHROPIC_SMALL_FAST_MODEL": "big",
    }
    assert "TAOTOKEN_API_KEY" in str(settings["apiKeyHelper"])
    assert "ANTHROPIC_AUTH_TOKEN is set in this shell" in said and KEY not in said


def test_a_key_that_stands_in_the_settings_stays_and_is_named(misjudge: Misjudge, home: Path, project: Path) -> None:
    rich_home(home, project)
    said = misjudge("setup", "claude", "--with-gateway", "--model", "big").out
    settings = read_json(home / ".claude" / "settings.json")
    assert settings["env"]["ANTHROPIC_AUTH_TOKEN"] == KEY and "apiKeyHelper" not in settings
    assert "ANTHROPIC_AUTH_TOKEN already stands in this file" in said and KEY not in said


@pytest.mark.parametrize("arguments", EVERY)
def test_a_dry_run_shows_the_difference_changes_nothing_and_shows_no_key(
    misjudge: Misjudge, home: Path, project: Path, arguments: tuple[str, ...]
) -> None:
    rich_home(home, project)
    before = snapshot(home, project)
    shown = misjudge("setup", *arguments, "--dry-run")
    assert shown.code == 0 and "+++ " in shown.out and "serve" in shown.out
    assert all(key not in shown.out for key in (KEY, PLAIN_KEY, WEAK_KEY))
    assert snapshot(home, project) == before


@pytest.mark.parametrize("arguments", EVERY)
def test_no_key_is_said_or_copied_to_another_file(
    misjudge: Misjudge, home: Path, project: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rich_home(home, project)
    holders = {path for path, entry in snapshot(home, project).items() if KEY.encode() in (entry.data or b"")}
    monkeypatch.setenv("TAOTOKEN_API_KEY", KEY)
    said = misjudge("setup", *arguments)
    assert KEY not in said.out + said.err
    now = snapshot(home, project)
    assert {path for path, entry in now.items() if KEY.encode() in (entry.data or b"")} == holders
    kept = [entry for path, entry in now.items() if path.is_relative_to(home / ".misjudge") and entry.data]
    assert kept and all(PLAIN_KEY.encode() not in (entry.data or b"") for entry in kept)


@posix
def test_files_keep_their_mode_and_new_ones_and_the_way_back_are_private(
    misjudge: Misjudge, home: Path, project: Path
) -> None:
    misjudge("setup", "codex")
    misjudge("setup", "claude", "--scope", "project")
    modes = {path.name: entry.mode for path, entry in snapshot(home, project).items() if entry.data is not None}
    assert modes.pop("config.toml") == 0o600 and modes.pop(".mcp.json") == 0o644
    assert set(modes.values()) == {0o600} and len(modes) == 2


@posix
def test_a_linked_dotfile_stays_a_link(misjudge: Misjudge, home: Path, project: Path) -> None:
    dotfiles = home / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "codex.toml").write_text("# mine\n", encoding="utf-8")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").symlink_to("../dotfiles/codex.toml")
    before = snapshot(home)
    misjudge("setup", "codex")
    assert (home / ".codex" / "config.toml").is_symlink()
    assert "misjudge" in (dotfiles / "codex.toml").read_text(encoding="utf-8")
    misjudge("setup", "codex", "--undo")
    assert snapshot(home) == before


@posix
def test_a_read_only_file_is_refused_and_what_was_written_before_it_is_taken_back(
    misjudge: Misjudge, home: Path, project: Path
) -> None:
    rich_home(home, project)
    (home / ".claude" / "settings.json").chmod(0o444)
    before = snapshot(home, project)
    failed = misjudge("setup", "claude", "--with-gateway", "--model", "big")
    assert failed.code == 2 and "read-only" in failed.err
    assert snapshot(home, project) == before


@pytest.mark.parametrize(
    ("name", "content", "client", "said"),
    [
        (".codex/config.toml", b"model = \n", "codex", "not valid TOML"),
        (".codex/config.toml", b"mcp_servers = 3\n", "codex", "is no table"),
        (".codex/config.toml", b"[[mcp_servers]]\na = 1\n", "codex", "is no table"),
        (".codex/config.toml", b'[mcp_servers.misjudge]\ncommand = "other"\n', "codex", "starts another program"),
        (".codex/config.toml", b'[mcp_servers.misjudge]\nurl = "https://x"\n', "codex", "starts another program"),
        (".codex/config.toml", "model = 'é'\n".encode("utf-16"), "codex", "not UTF-8"),
        (".claude.json", b'{"a": 1,}', "claude", "not valid JSON"),
        (".claude.json", b"[]", "claude", "no JSON object"),
        (".claude.json", b'{"a": NaN}', "claude", "NaN"),
        (".claude.json", b"[" * 100_000, "claude", "nested too deeply"),
        (".claude.json", b'{"mcpServers": []}', "claude", "is no table"),
        (".claude.json", b'{"mcpServers": {"misjudge": {"command": "x"}}}', "claude", "starts another program"),
        (".claude.json", b'{"mcpServers": {"misjudge": "x"}}', "claude", "starts another program"),
        (".misjudge/setup/x", b"", "claude", ""),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_refused_and_stays_as_it_is(
    misjudge: Misjudge, home: Path, name: str, content: bytes, client: str, said: str
) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_bytes(content)
    failed = misjudge("setup", client)
    assert (failed.code, said in failed.err) == ((2, True) if said else (0, True))
    assert (home / name).read_bytes() == content
    assert not said or not (home / ".misjudge").exists()


def test_a_folder_in_the_place_of_a_file_is_refused(misjudge: Misjudge, home: Path) -> None:
    (home / ".claude.json").mkdir()
    assert "is not a file" in misjudge("setup", "claude").err


def test_what_others_changed_since_is_kept_and_only_our_part_taken_out(
    misjudge: Misjudge, either_home: Path, project: Path
) -> None:
    state, config = either_home / ".claude.json", either_home / ".codex" / "config.toml"
    held = json.loads(state.read_bytes()) if state.exists() else {}
    misjudge("setup", "claude")
    misjudge("setup", "codex", "--with-gateway", "--model", "big")
    rewritten = {**json.loads(state.read_bytes()), "numStartups": 13}
    rewritten["mcpServers"]["misjudge"]["alwaysLoad"] = True
    state.write_text(json.dumps(rewritten), encoding="utf-8")
    config.write_text(
        config.read_text(encoding="utf-8") + '\n[projects."/x"]\ntrust_level = "trusted"\n', encoding="utf-8"
    )
    assert "changed by others since: only" in misjudge("setup", "claude", "--undo").out
    assert json.loads(state.read_bytes()) == {**held, "numStartups": 13}
    assert misjudge("setup", "codex", "--undo").code == 0
    left = codex_config(either_home)
    assert left["projects"]["/x"] == {"trust_level": "trusted"}
    assert "misjudge" not in left.get("mcp_servers", {}) and "model_provider" not in left
    assert left.get("model") == ("gpt-5.5" if held else None)
    assert not (either_home / ".misjudge").exists()


def test_a_value_that_another_changed_since_is_left_and_named(misjudge: Misjudge, home: Path, project: Path) -> None:
    rich_home(home, project)
    config = home / ".codex" / "config.toml"
    misjudge("setup", "codex", "--with-gateway", "--model", "big")
    config.write_text(config.read_text(encoding="utf-8").replace('"big"', '"mine"'), encoding="utf-8")
    said = misjudge("setup", "codex", "--undo").out
    assert "Left there, since others changed it: model." in said
    assert codex_config(home)["model"] == "mine"


def test_an_entry_of_ours_keeps_what_a_person_set_and_gets_this_command(misjudge: Misjudge, home: Path) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        '[mcp_servers]\nmisjudge = { command = "misjudge", args = ["serve"], required = false, enabled = false, '
        'env_vars = ["MINE", { name = "JUDGE_MODEL" }], env = { TAOTOKEN_API_KEY = "' + KEY + '" } } # by hand\n'
        '[mcp_servers.audit]\ncommand = "uvx"\nargs = ["misjudge", "serve"]\n'
        '[model_providers.old]\nname = "o"\nwire_api = "chat"\n',
        encoding="utf-8",
    )
    before = config.read_bytes()
    said = misjudge("setup", "codex")
    entry = codex_config(home)["mcp_servers"]["misjudge"]
    assert Path(entry["command"]).is_absolute() and entry["required"] is False
    assert entry["env_vars"][:2] == ["MINE", {"name": "JUDGE_MODEL"}] and "JUDGE_MODEL" not in entry["env_vars"]
    assert entry["env"] == {"TAOTOKEN_API_KEY": KEY} and "# by hand" in config.read_text(encoding="utf-8")
    assert "[mcp_servers.audit] starts misjudge, too" in said.out and "switched off" in said.out
    assert "[model_providers.old]" in said.out
    assert all(KEY not in path.read_text(encoding="utf-8") for path in (home / ".misjudge" / "setup").iterdir())
    misjudge("setup", "codex", "--undo")
    assert config.read_bytes() == before


def test_an_older_provider_block_is_brought_to_the_form_that_works(misjudge: Misjudge, home: Path) -> None:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        '[model_providers.taotoken]\nname = "T"\nbase_url = "https://taotoken.net/api"\nwire_api = "chat"\n'
        "requires_openai_auth = true\n[mcp_servers.misjudge]\ncommand = 'misjudge'\nargs = ['serve']\n"
        "required = false\n",
        encoding="utf-8",
    )
    said = misjudge("setup", "codex", "--with-gateway", "--model", "big").out
    provider = codex_config(home)["model_providers"]["taotoken"]
    assert provider["wire_api"] == "responses" and provider["requires_openai_auth"] is False
    assert provider["name"] == "T" and "required = false" in said


def test_two_set_ups_at_once_both_arrive_and_can_be_undone(project: Path, home: Path) -> None:
    rich_home(home, project)
    before = snapshot(home, project)
    env = command.environment(HOME=str(home), USERPROFILE=str(home))
    both = [
        subprocess.Popen(command.command("setup", *arguments), cwd=project, env=env, stdout=subprocess.DEVNULL)
        for arguments in (EVERY[0], EVERY[1], EVERY[0])
    ]
    assert [one.wait(timeout=command.TIMEOUT_S) for one in both] == [0, 0, 0]
    config = codex_config(home)
    assert config["model"] == "big" and "misjudge" in config["mcp_servers"]
    assert command.run("setup", "codex", "--undo", cwd=project, env=env).returncode == 0
    assert snapshot(home, project) == before


def test_a_set_up_waits_for_another_one_and_says_so_in_the_end(
    misjudge: Misjudge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.05)
    with files.locked(home / ".misjudge" / "setup" / "lock"):
        failed = misjudge("setup", "codex")
    assert failed.code == 2 and "Another `misjudge setup` is at work" in failed.err
    assert not (home / ".codex").exists()
    assert misjudge("setup", "codex").code == 0


def test_a_way_back_that_cannot_be_read_is_refused(misjudge: Misjudge, home: Path) -> None:
    misjudge("setup", "codex")
    (kept,) = (home / ".misjudge" / "setup").iterdir()
    kept.write_text("{}", encoding="utf-8")
    failed = misjudge("setup", "codex", "--undo")
    assert failed.code == 2 and "the way back" in failed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("claud",), "Did you mean 'claude'?"),
        (("CC Switch",), "Did you mean 'ccswitch'?"),
        (("cline",), "Known: claude, codex, ccswitch"),
        (("codex", "--scope", "project"), "codex has user"),
        (("claude", "--scope", "local"), "user and project"),
        (("ccswitch", "--scope", "user"), "CC Switch has none"),
        (("ccswitch", "--undo"), "writes nothing into CC Switch"),
        (("codex", "--model", "x"), "Give --with-gateway"),
        (("codex", "--with-gateway"), "--model NAME"),
        (("codex", "--with-gateway", "--model", " x"), "no spaces around"),
        (("codex", "--with-gateway", "--model", "x", "--base-url", "https://a.example/?utm_source=b"), "tracking link"),
        (("codex", "--out", "x.json"), "--out is for ccswitch"),
        (("codex", "--env", f"K={KEY}"), "NAME of a variable"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_is_allowed(
    misjudge: Misjudge, home: Path, arguments: tuple[str, ...], said: str
) -> None:
    failed = misjudge("setup", *arguments)
    assert failed.code == 2 and said in failed.err and KEY not in failed.err
    assert list(home.iterdir()) == []


def test_cc_switch_gets_its_json_without_a_key_and_a_link_without_a_key(
    misjudge: Misjudge, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", KEY)
    shown = misjudge("setup", "ccswitch", "--with-gateway", "--model", "big")
    document = json.loads(shown.out)
    assert document["mcp"]["misjudge"]["args"][-1] == "serve"
    assert document["claude"]["env"]["ANTHROPIC_AUTH_TOKEN"] == document["codex"]["auth"]["OPENAI_API_KEY"] == ""
    provider = tomllib.loads(document["codex"]["config"])
    assert provider["model_providers"]["taotoken"]["wire_api"] == "responses"
    link = next(line for line in shown.err.splitlines() if line.startswith("ccswitch://"))
    asked = parse_qs(urlsplit(link).query)
    assert asked["resource"] == ["mcp"] and not asked.keys() & {"apiKey"}
    assert json.loads(base64.b64decode(asked["config"][0]))["mcpServers"] == document["mcp"]
    assert KEY not in shown.out + shown.err
    assert misjudge("setup", "ccswitch", "--out", "cc.json").out == ""
    assert json.loads((project / "cc.json").read_text(encoding="utf-8")) == {"mcp": document["mcp"]}
    assert "exists already" in misjudge("setup", "ccswitch", "--out", "cc.json").err
    assert list(home.iterdir()) == []


def test_what_to_add_by_hand_can_be_printed(misjudge: Misjudge, home: Path) -> None:
    said = misjudge("setup", "codex", "--print").out
    assert said.startswith("# ~/.codex/config.toml\n") and "misjudge" in tomllib.loads(said)["mcp_servers"]
    assert '"mcpServers"' in misjudge("setup", "claude", "--print").out
    assert list(home.iterdir()) == []


def test_the_next_step_is_shown_for_the_shell_in_use(misjudge: Misjudge, home: Path) -> None:
    assert "$env:TAOTOKEN_API_KEY" in misjudge("setup", "codex", "--powershell").out


def test_the_clients_own_variables_say_where_their_files_are(
    misjudge: Misjudge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "cx"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "cc"))
    misjudge("setup", "codex")
    misjudge("setup", "claude", "--with-gateway", "--model", "big")
    written = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    assert {"cx/config.toml", "cc/.claude.json", "cc/settings.json"} <= written


def test_what_is_written_starts_this_misjudge(misjudge: Misjudge, home: Path) -> None:
    misjudge("setup", "codex")
    entry = codex_config(home)["mcp_servers"]["misjudge"]
    started = subprocess.run(
        [entry["command"], *entry["args"][:-1], "--version"],
        env=command.environment(PYTHONPATH=os.pathsep.join(command.ROOTS)),
        capture_output=True,
        encoding="utf-8",
        timeout=command.TIMEOUT_S,
    )
    assert started.stdout.startswith("misjudge ")
