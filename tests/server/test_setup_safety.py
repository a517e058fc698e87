"""What set-up refuses, keeps and names, so that no key and no value of a person's goes where they did not send it."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from client_homes import KEY
from command import Misjudge

CODEX = ("setup", "codex", "--with-gateway", "--model", "big", "--base-url", "https://taotoken.net/api")
CLAUDE = ("setup", "claude", *CODEX[2:])
PROVIDER = '[model_providers.taotoken]\nname = "T"\n'
ELSEWHERE = 'base_url = "https://other.example/v1"\n'
SAME_HOST = 'base_url = "https://TAOTOKEN.net/api"\n'


def written(home: Path, name: str, text: str) -> Path:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_bytes(text.encode())
    return home / name


def claude_settings(home: Path, address: str, **more: object) -> Path:
    env = {"ANTHROPIC_BASE_URL": address, **{name: more.pop(name) for name in list(more) if name.isupper()}}
    return written(home, ".claude/settings.json", json.dumps({"env": env, **more}))


@pytest.mark.parametrize(
    "sent",
    [
        f'http_headers = {{ Authorization = "Bearer {KEY}" }}\n',
        'env_http_headers = { X-Key = "OTHER_KEY" }\n',
        f'query_params = {{ k = "{KEY}" }}\n',
        f'experimental_bearer_token = "{KEY}"\n',
        'auth = { command = "print-key" }\n',
    ],
)
@pytest.mark.parametrize("address", [ELSEWHERE, "", 'base_url = "https://[broken"\n'])
def test_what_a_provider_sends_to_another_address_is_not_turned_to_the_gateway(
    misjudge: Misjudge, home: Path, sent: str, address: str
) -> None:
    config = written(home, ".codex/config.toml", PROVIDER + address + sent)
    before = config.read_bytes()
    failed = misjudge(*CODEX)
    assert failed.code == 2 and sent.split()[0] in failed.err and "run this again" in failed.err
    assert KEY not in failed.err and config.read_bytes() == before
    config.write_text(PROVIDER + SAME_HOST + sent, encoding="utf-8")
    assert misjudge(*CODEX).code == 0
    config.write_text(PROVIDER + address, encoding="utf-8")
    assert misjudge(*CODEX).code == 0


@pytest.mark.parametrize(
    "sent",
    [
        {"ANTHROPIC_CUSTOM_HEADERS": f"x-api-key: {KEY}"},
        {"ANTHROPIC_AUTH_TOKEN": KEY},
        {"ANTHROPIC_API_KEY": KEY},
        {"apiKeyHelper": f"print-key {KEY}"},
    ],
)
def test_what_claude_code_sends_to_another_address_is_not_turned_to_the_gateway(
    misjudge: Misjudge, home: Path, sent: dict[str, str]
) -> None:
    settings = claude_settings(home, "https://other.example", **sent)
    before = settings.read_bytes()
    failed = misjudge(*CLAUDE)
    assert failed.code == 2 and next(iter(sent)) in failed.err and KEY not in failed.err
    assert settings.read_bytes() == before and not (home / ".claude.json").exists()
    claude_settings(home, "https://taotoken.net", **sent)
    done = misjudge(*CLAUDE)
    assert done.code == 0 and next(iter(sent)) in done.out and KEY not in done.out
    claude_settings(home, "https://other.example")
    assert misjudge(*CLAUDE).code == 0


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("space", ["", " \n", "\r\n\t"])
def test_a_file_of_nothing_but_space_is_an_empty_one(misjudge: Misjudge, home: Path, space: str, mark: str) -> None:
    state = written(home, ".claude.json", mark + space)
    assert misjudge("setup", "claude").code == 0
    assert "misjudge" in json.loads(state.read_text(encoding="utf-8-sig"))["mcpServers"]
    assert misjudge("setup", "claude", "--undo").code == 0
    assert state.read_bytes() == (mark + space).encode()


def test_undo_names_what_a_person_added_to_our_entry_or_changed_in_it(misjudge: Misjudge, home: Path) -> None:
    state = written(home, ".claude.json", '{"a": 1}')
    misjudge("setup", "claude")
    document = json.loads(state.read_bytes())
    document["mcpServers"]["misjudge"]["env"]["MY_VAR"] = KEY
    document["mcpServers"]["misjudge"]["timeout"] = 9
    state.write_text(json.dumps(document), encoding="utf-8")
    said = misjudge("setup", "claude", "--undo").out
    names = "mcpServers.misjudge.env.MY_VAR, mcpServers.misjudge.timeout."
    assert f"Added or changed since, and taken out with the entry: {names}" in said and KEY not in said
    assert json.loads(state.read_bytes()) == {"a": 1}


def test_undo_names_what_a_person_changed_in_a_file_that_it_removes(misjudge: Misjudge, home: Path) -> None:
    misjudge("setup", "codex")
    config = home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8").replace("startup_timeout_sec = 30", "startup_timeout_sec = 77")
    config.write_text(text, encoding="utf-8")
    said = misjudge("setup", "codex", "--undo").out
    assert "taken out with the entry: mcp_servers.misjudge.startup_timeout_sec." in said and not config.exists()


def test_undo_names_nothing_where_only_others_parts_changed(misjudge: Misjudge, home: Path) -> None:
    state = written(home, ".claude.json", '{"a": 1}')
    misjudge("setup", "claude")
    state.write_text(state.read_text(encoding="utf-8").replace('"a": 1', '"a": 2'), encoding="utf-8")
    assert "Added or changed" not in misjudge("setup", "claude", "--undo").out


@pytest.mark.parametrize("value", ["~/x", "sub/folder", *([] if os.name == "nt" else ["C:\\x"])])
@pytest.mark.parametrize(("client", "name"), [("codex", "CODEX_HOME"), ("claude", "CLAUDE_CONFIG_DIR"), ("codex", "")])
def test_a_home_that_is_no_whole_path_is_refused(
    misjudge: Misjudge, home: Path, monkeypatch: pytest.MonkeyPatch, client: str, name: str, value: str
) -> None:
    name = name or ("USERPROFILE" if os.name == "nt" else "HOME")
    monkeypatch.setenv(name, value)
    for flags in ((), ("--dry-run",), ("--undo",)):
        failed = misjudge("setup", client, *flags)
        assert failed.code == 2 and f"{name} must be a whole path" in failed.err
    assert list(home.iterdir()) == list(Path.cwd().iterdir()) == []


def test_an_empty_home_is_refused_and_the_variable_of_another_client_is_no_matter(
    misjudge: Misjudge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "~/x")
    monkeypatch.setenv("CODEX_HOME", "")
    assert misjudge("setup", "codex").code == 0
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", "")
    assert misjudge("setup", "codex").code == 2


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\nmisjudge.command = "misjudge"\n',
        '[mcp_servers]\nmisjudge.command = "misjudge" # mine\nmisjudge.args = ["serve"]\ndocs.command = "x"\n',
        'mcp_servers.misjudge.command = "misjudge"\n',
        '[mcp_servers.misjudge.tools.x]\napproval_mode = "approve"\n',
        '[mcp_servers.misjudge.tools.summarize_audit]\napproval_mode = "never"\n[z]\nb = 2\n',
        '[mcp_servers]\nmisjudge.tools.x.approval_mode = "approve"\n',
        '[mcp_servers.misjudge]\ncommand = "misjudge"\ntools.x.approval_mode = "approve"\n',
        "# a\n[mcp_servers.misjudge]\n# c\n\n[z]\na = 1\n",
        "[mcp_servers]\nmisjudge = {}\n",
        "[mcp_servers.misjudge]\nenabled = true\n",
    ],
)
def test_an_entry_that_is_written_with_dots_or_starts_nothing_yet_is_completed(
    misjudge: Misjudge, home: Path, text: str
) -> None:
    config = written(home, ".codex/config.toml", text)
    assert misjudge("setup", "codex").code == 0
    entry = tomllib.loads(config.read_text(encoding="utf-8"))["mcp_servers"]["misjudge"]
    assert Path(entry["command"]).is_absolute() and entry["args"][-1] == "serve"
    assert entry["tools"]["read_record"] == {"approval_mode": "approve"}
    assert "nothing to change" in misjudge("setup", "codex").out
    done = config.read_bytes()
    assert misjudge("setup", "codex", "--undo").code == 0 and config.read_bytes() == text.encode()
    config.write_bytes(done + b"\n[added]\nq = 1\n")
    assert misjudge("setup", "codex").code == 0


@pytest.mark.parametrize("text", ["[mcp_servers.misjudge]\n", '[mcp_servers.misjudge.tools.x]\napproval_mode = "a"\n'])
def test_undo_takes_out_what_completed_an_entry_also_after_others_changed_the_file(
    misjudge: Misjudge, home: Path, text: str
) -> None:
    config = written(home, ".codex/config.toml", text)
    misjudge("setup", "codex")
    config.write_bytes(config.read_bytes() + b"\n[added]\nq = 1\n")
    assert misjudge("setup", "codex", "--undo").code == 0
    assert tomllib.loads(config.read_text(encoding="utf-8")) == {**tomllib.loads(text), "added": {"q": 1}}


def test_a_key_that_set_up_replaces_is_named_without_being_shown(misjudge: Misjudge, home: Path) -> None:
    written(home, ".codex/config.toml", PROVIDER + SAME_HOST + f'env_key = "{KEY}"\n')
    for flags in (("--dry-run",), ()):
        said = misjudge(*CODEX, *flags)
        assert "model_providers.taotoken.env_key may be a key: a copy is kept" in said.out and KEY not in said.out
    assert "may be a key" not in misjudge(*CODEX).out
    misjudge("setup", "codex", "--undo")
    assert not (home / ".misjudge").exists()


def test_a_provider_that_set_up_corrects_is_not_complained_about(misjudge: Misjudge, home: Path) -> None:
    written(home, ".codex/config.toml", PROVIDER + SAME_HOST + 'wire_api = "chat"\n')
    complaint = '[model_providers.taotoken] says wire_api = "chat"'
    assert complaint in misjudge("setup", "codex", "--dry-run").out
    said = misjudge(*CODEX)
    assert said.code == 0 and complaint not in said.out


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (".env", "ends in .json"),
        ("CLAUDE.md", "ends in .json"),
        ("misjudge.toml", "ends in .json"),
        (".mcp.json", "begins with a dot"),
        ("mcp.json", "by themselves"),
        ("package.json", "by themselves"),
        (".vscode/x.json", "a folder that does"),
    ],
)
def test_the_json_for_cc_switch_gets_no_name_that_other_programs_load(
    misjudge: Misjudge, home: Path, out: str, said: str
) -> None:
    (Path.cwd() / ".vscode").mkdir()
    failed = misjudge("setup", "ccswitch", "--out", out)
    assert failed.code == 2 and said in failed.err
    assert [path.name for path in Path.cwd().rglob("*")] == [".vscode"]


def test_the_json_for_cc_switch_may_lie_outside_the_folder_or_below_a_hidden_one(
    misjudge: Misjudge, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert misjudge("setup", "ccswitch", "--out", str(home / "a.json")).code == 0
    (home / ".work").mkdir()
    monkeypatch.chdir(home / ".work")
    assert misjudge("setup", "ccswitch", "--out", "a.json").code == 0
