"""`misjudge doctor` on broken and healthy set-ups: exactly what is wrong, and never a key."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from client_homes import snapshot
from command import Outcome
from doctor_homes import (
    CANARY,
    CLAUDE_GATEWAY,
    CODEX_ENTRY,
    GATEWAY,
    KEY,
    MODELS,
    PROVIDER,
    USUAL,
    Case,
    build,
    database,
    of_switch_codex,
    servers,
    settings,
    switch,
    toml,
    track,
)
from misjudge_server import cli
from misjudge_server.app import LazyDeps, answer
from misjudge_server.doctor.findings import SetupReport
from misjudge_server.doctor_printing import print_setup

KEPT = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COVERAGE_PROCESS_START", "PYTEST_CURRENT_TEST")
Run = Callable[..., Outcome]


def case(name: str, *found: str, **parts: object) -> Case:
    return Case(name, frozenset(found))._replace(**parts)  # type: ignore[arg-type]


def env(**values: str) -> dict[str, str]:
    return {**USUAL, **values}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in USUAL.items() if name not in names}


def codex(text: str, **parts: object) -> dict[str, object]:
    return {"files": {"~/.codex/config.toml": text}, **parts}


KEYED = without("TAOTOKEN_JUDGE_MODEL")
CLAUDE = {"~/.claude/settings.json": settings(env=CLAUDE_GATEWAY)}


CACHED = "{home}/.cache/uv/archive-v0/x/bin/misjudge"


def of_this_folder(home: Path, folder: Path) -> None:
    """An entry as `claude mcp add` makes it."""
    entry = {"command": "/no/such/misjudge", "args": ["serve"]}
    state = {"projects": {folder.as_posix(): {"mcpServers": {"misjudge": entry}}}}
    (home / ".claude.json").write_text(json.dumps(state), encoding="utf-8")


def claude(*leave_out: str, **values: str) -> dict[str, str]:
    kept = {name: value for name, value in CLAUDE_GATEWAY.items() if name not in leave_out}
    return {"~/.claude/settings.json": settings(env={**kept, **values})}


OF_GATEWAYS = (
    case("utm link", "base-url-tracking-link", environment=env(TAOTOKEN_BASE_URL=f"{GATEWAY}?utm_source=guide")),
    case("utm link in .env", "base-url-tracking-link", files={".env": f"TAOTOKEN_BASE_URL={GATEWAY}?utm_medium=x\n"}),
    case("website", "base-url-website", environment=env(TAOTOKEN_BASE_URL="https://taotoken.net")),
    case("page of a website", "base-url-website", environment=env(TAOTOKEN_BASE_URL="https://gate.example/console")),
    case("version twice", "base-url-version-twice", environment=env(TAOTOKEN_BASE_URL=f"{GATEWAY}/v1/v1")),
    case("endpoint", "base-url-endpoint", environment=env(TAOTOKEN_BASE_URL=f"{GATEWAY}/v1/chat/completions")),
    case("address for Claude Code", "base-url-endpoint", environment=env(TAOTOKEN_BASE_URL=f"{GATEWAY}/anthropic")),
    case("no scheme", "base-url-invalid", environment=env(TAOTOKEN_BASE_URL="gate.example/api")),
    case("a key in the address", "base-url-invalid", environment=env(TAOTOKEN_BASE_URL=f"https://u:{KEY}@gate.example")),
    case("no valid address", "base-url-invalid", environment=env(TAOTOKEN_BASE_URL="https://[gate/api")),
    case("unencrypted", "base-url-plain-http", environment=env(TAOTOKEN_BASE_URL="http://gate.example/api")),
    case(
        "utm link in misjudge.toml", "base-url-tracking-link",
        files={"misjudge.toml": toml(base_url=f"{GATEWAY}?utm_source=x")}, environment=KEYED,
    ),
    case("no key", "key-missing", environment=MODELS),
    case("key with a space within", "key-whitespace", environment=env(TAOTOKEN_API_KEY=f"{KEY[:12]} {KEY[12:]}")),
    case("key that ends in a line break", "key-whitespace", environment=env(TAOTOKEN_API_KEY=f"{KEY}\n")),
    case("key in quotes", "key-malformed", environment=env(TAOTOKEN_API_KEY=f'"{KEY}"')),
    case("placeholder", "key-placeholder", environment=env(TAOTOKEN_API_KEY="sk-xxxxxxxxxxxxxxxx")),
    *(
        case(f"key that is {name}", found, environment=env(TAOTOKEN_API_KEY=value))
        for name, found, value in (
            ("an address", "key-malformed", "https://taotoken.net/api"),
            ("a whole line of .env", "key-malformed", f"TAOTOKEN_API_KEY={KEY}"),
            ("two keys", "key-malformed", f"{KEY},{KEY}"),
            ("the name of its variable", "key-placeholder", "TAOTOKEN_API_KEY"),
            ("a reference", "key-placeholder", "$TAOTOKEN_API_KEY"),
            ("a reference in braces", "key-placeholder", "${TAOTOKEN_API_KEY}"),
            ("a reference of Windows", "key-placeholder", "%TAOTOKEN_API_KEY%"),
        )
    ),
    case("placeholder in words", "key-placeholder", environment=env(TAOTOKEN_API_KEY="your_api_key_here")),
    case(
        "misspelt variable", "variable-misspelt", "key-missing",
        environment={**MODELS, "TAOTOKEN_APIKEY": KEY},
    ),
    case("no model", "model-missing", environment={"TAOTOKEN_API_KEY": KEY}),
    case("no judge", "model-missing", environment=without("TAOTOKEN_JUDGE_MODEL")),
    case("nothing at all", "not-configured", environment={}),
    case("key in place of a model", "settings-refused", environment=env(TAOTOKEN_JUDGE_MODEL=KEY)),
    case("simulated key elsewhere", "simulated-elsewhere", environment=env(TAOTOKEN_API_KEY="simulated")),
    case("one model", "same-model", environment={"TAOTOKEN_API_KEY": KEY, "TAOTOKEN_MODEL": "one-m"}),
    case("one family", "same-family", environment=env(TAOTOKEN_JUDGE_MODEL="qwen-max")),
    case("shell and .env differ", "conflicting-values", files={".env": f"TAOTOKEN_API_KEY={KEY}b\n"}),
    case(
        "leftovers", "leftover-variable",
        environment=env(OPENAI_BASE_URL="https://api.openai.com/v1", ANTHROPIC_BASE_URL="https://api.anthropic.com"),
    ),
    case("proxy of no scheme that works", "proxy-invalid", environment=env(ALL_PROXY="socks5://127.0.0.1:1080")),
    *(
        case(f"{name} that is no address", "proxy-invalid", environment=env(**{name: "socks5h://proxy.example"}))
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "all_proxy")
    ),
    case("certificates that are not there", "certificates-missing", environment=env(SSL_CERT_FILE="/no/such.pem")),
    case("roots that are not there", "roots-missing", environment=env(MISJUDGE_ROOTS="/no/such/folder")),
    case("short timeout", "timeout-short", environment=env(MISJUDGE_TIMEOUT_S="5")),
    case("deadline below the timeout", "deadline-short", environment=env(MISJUDGE_DEADLINE_S="30")),
    case("no second try", "retries-off", environment=env(MISJUDGE_MAX_ATTEMPTS="1")),
    case("endless tries", "retries-many", environment=env(MISJUDGE_MAX_ATTEMPTS="20")),
    case("too many at once", "concurrency-high", environment=env(MISJUDGE_CONCURRENCY="500")),
)  # fmt: skip
OF_FILES = (
    case("misjudge.toml broken", "file-unreadable", files={"misjudge.toml": "[roles\n"}),
    case("misjudge.toml with a name that is not", "settings-refused", files={"misjudge.toml": toml(modle="x")},
         environment=KEYED),
    case("a key in misjudge.toml", "settings-refused", files={"misjudge.toml": toml(api_key=KEY)}, environment=KEYED),
    case("config that is not there", "settings-refused", environment=env(MISJUDGE_CONFIG="misjudge.toml")),
    case(".env that is no text", "file-unreadable", files={".env": b"TAOTOKEN_API_KEY=\xff\xfe\n"}),
    case(".env that is a folder", "file-unreadable", files={".env/notes": "x"}),
    *(
        case(f".env with {name}", "dotenv-line-unread", "key-missing", environment=MODELS, files={".env": line})
        for name, line in (
            ("an unclosed quote", f'TAOTOKEN_API_KEY="{KEY}\n'),
            ("a colon", f"TAOTOKEN_API_KEY: {KEY}\n"),
            ("setx", f"setx TAOTOKEN_API_KEY {KEY}\n"),
            ("a command of PowerShell", f'$env:TAOTOKEN_API_KEY="{KEY}"\n'),
            ("JSON", json.dumps({"TAOTOKEN_API_KEY": KEY})),
            ("a name alone", "TAOTOKEN_API_KEY\n"),
        )
    ),
    case(".env.txt", "dotenv-misnamed", "key-missing",
         environment=MODELS, files={".env.txt": f"TAOTOKEN_API_KEY={KEY}\n"}),
    case("a profile that a variable puts out of use", "profile-not-used", files={"misjudge.toml": toml()}),
    case("the store's folder is a file", "store-unwritable",
         files={"notes": "x"}, environment=env(MISJUDGE_STORE="notes/misjudge.db")),
    case("a hot judge", "judge-temperature", files={"misjudge.toml": toml(temperature=0.7)}, environment=KEYED),
    case("few tokens", "max-tokens-small", files={"misjudge.toml": toml(max_tokens=50)}, environment=KEYED),
    case("small context", "context-small", files={"misjudge.toml": toml(context_tokens=1000)}, environment=KEYED),
    case(
        "a prompt that the lint complains of", "prompt-lint", environment=KEYED,
        files={
            "misjudge.toml": toml(prompt="judge.md"),
            "judge.md": "Which is better? {task} {response_a} {response_b} Answer A, B or tie. "
            "Never assume that undisclosed steps happened. Give no credit for length, tone or format.",
        },
    ),
    case("settings.json broken", "file-unreadable", files={"~/.claude/settings.json": '{"env": {'}),
    case("state of Claude Code broken", "file-unreadable", files={"~/.claude.json": "[1, 2]"}),
    case("config.toml broken", "file-unreadable", files={"~/.codex/config.toml": f'key = "{KEY}\n'}),
    case("CC Switch no database", "file-unreadable", files={"~/.cc-switch/cc-switch.db": b"nothing" * 99}),
    case("CC Switch with a broken provider", "file-unreadable", prepare=switch(("claude", "x", '{"env"', False))),
    case("key in a tracked file", "key-in-tracked-file", files={"notes.md": f"key {KEY}\n"}, prepare=track("notes.md")),
    case("key in a tracked .env", "key-in-tracked-file",
         files={".env": f"TAOTOKEN_API_KEY={KEY}\n"}, prepare=track(".env")),
    case("key in a tracked .mcp.json", "key-in-tracked-file",
         files={".mcp.json": servers(env={"TAOTOKEN_API_KEY": KEY})}, prepare=track(".mcp.json")),
    case("key in a link", "key-in-link",
         files={"how.md": f"ccswitch://v1/import?resource=provider&app=claude&name=x&endpoint=y&apiKey={KEY}\n"}),
    case(".env that git would take", "dotenv-not-ignored",
         files={".env": f"TAOTOKEN_API_KEY={KEY}\n"}, prepare=track()),
    case("store is a folder", "store-folder", files={".misjudge/misjudge.db/x": ""}),
    case("store is damaged", "store-damaged", files={".misjudge/misjudge.db": "not a database"}),
    case("store of another program", "store-other-program", prepare=database("CREATE TABLE notes (text)")),
    case("store is too new", "store-too-new", prepare=database(
        "CREATE TABLE schema_version (number, program)", "CREATE TABLE audits (audit_id)",
        "INSERT INTO schema_version VALUES (9999, '99.0')",
    )),
    case("store with a lost run", "store-lost-runs", prepare=database(
        "CREATE TABLE schema_version (number, program)", "CREATE TABLE audits (audit_id)",
        "CREATE TABLE runs (run_id, state, owner_host, owner_pid, lease_until)",
        "INSERT INTO schema_version VALUES (1, '0.1')",
        "INSERT INTO runs VALUES ('r1', 'running', 'there', 1, '2020-01-01 00:00:00.000000')",
    )),
    case("store in memory", "store-in-memory", environment=env(MISJUDGE_STORE="sqlite:///:memory:")),
    case("store of no kind", "store-not-a-store-url", environment=env(MISJUDGE_STORE=f"mysql://u:{KEY}@host/db")),
)  # fmt: skip
OF_CODEX = (
    case("wire_api chat", "codex-wire-api", **codex(PROVIDER.replace("responses", "chat"))),
    case("provider without a name", "codex-provider-name", **codex(PROVIDER.replace('name = "Mine"', ""))),
    case("provider that is not there", "codex-provider-missing", **codex('model_provider = "mine"')),
    case("no version in base_url", "base-url-needs-version", **codex(PROVIDER.replace("/api/v1", "/api"))),
    case("utm in base_url", "base-url-tracking-link", **codex(PROVIDER.replace("/api/v1", "/v1?utm_source=x"))),
    case("env_key not set", "codex-env-key-unset", **codex(PROVIDER.replace("TAOTOKEN_API_KEY", "MINE_KEY"))),
    case("env_key is the key", "codex-env-key", **codex(PROVIDER.replace("TAOTOKEN_API_KEY", KEY))),
    case("no key named", "codex-provider-without-key", **codex(PROVIDER.replace("env_key", "# env_key"))),
    case("ANTHROPIC_ in Codex", "codex-anthropic-variables",
         **codex(PROVIDER + f'[shell_environment_policy.set]\nANTHROPIC_AUTH_TOKEN = "{KEY}"\n')),
    case("OAuth for a gateway", "codex-oauth-with-gateway", files={
        "~/.codex/config.toml": PROVIDER.replace('env_key = "TAOTOKEN_API_KEY"', "requires_openai_auth = true"),
        "~/.codex/auth.json": json.dumps({"OPENAI_API_KEY": None, "tokens": {"access_token": KEY}}),
    }),
    case("auth.json without a key", "codex-provider-without-key", files={
        "~/.codex/config.toml": PROVIDER.replace('env_key = "TAOTOKEN_API_KEY"', "requires_openai_auth = true"),
        "~/.codex/auth.json": "{}",
    }),
    case("key with a space in auth.json", "key-whitespace",
         files={"~/.codex/auth.json": json.dumps({"OPENAI_API_KEY": f"{KEY} "})}),
    case("optional server", "codex-optional-server", **codex(CODEX_ENTRY.replace("required = true", ""))),
    case("short start", "codex-startup-short", **codex(CODEX_ENTRY.replace("_sec = 30", "_sec = 3"))),
    case("short calls", "codex-tool-timeout-short", **codex(f"{CODEX_ENTRY}tool_timeout_sec = 20\n")),
    case("switched off", "server-disabled", **codex(f"{CODEX_ENTRY}enabled = false\n")),
    case("key kept back", "codex-variable-kept-back", **codex(CODEX_ENTRY.replace('"TAOTOKEN_API_KEY", ', ""))),
    case("proxy kept back", "codex-proxy-kept-back", environment=env(HTTPS_PROXY="http://proxy.example:3128"),
         files={"~/.codex/config.toml": CODEX_ENTRY.replace(', "HTTPS_PROXY"', "")}),
    case("any proxy kept back", "codex-proxy-kept-back", environment=env(all_proxy="http://proxy.example:3128"),
         **codex(CODEX_ENTRY)),
    case("certificates kept back", "codex-proxy-kept-back", environment=env(SSL_CERT_FILE=__file__),
         **codex(CODEX_ENTRY)),
    case("program gone", "server-command-missing", **codex(CODEX_ENTRY.replace("/bin/", "/gone/"))),
    case("no serve", "server-args", **codex(CODEX_ENTRY.replace('"serve"', ""))),
    case("twice", "server-twice", **codex(CODEX_ENTRY + CODEX_ENTRY.replace("servers.misjudge", "servers.again"))),
    case("wire_api chat in CC Switch", "codex-wire-api",
         prepare=switch(("codex", "Mine", of_switch_codex(PROVIDER.replace("responses", "chat")), True))),
)  # fmt: skip
OF_CLAUDE = (
    case("version in ANTHROPIC_BASE_URL", "base-url-has-version", files=claude(ANTHROPIC_BASE_URL=f"{GATEWAY}/v1")),
    case("no key for the gateway", "claude-gateway-without-key", files=claude("ANTHROPIC_AUTH_TOKEN")),
    case("OAuth where a key is meant", "claude-oauth-with-gateway", files={
        **claude("ANTHROPIC_AUTH_TOKEN"),
        "~/.claude.json": json.dumps({"oauthAccount": {"emailAddress": "a@b.example"}}),
    }),
    case("two keys", "claude-two-keys", files=claude(ANTHROPIC_API_KEY=KEY)),
    case("no small model", "claude-model-unset", files=claude("ANTHROPIC_SMALL_FAST_MODEL")),
    case("key with a space in settings.json", "key-whitespace", files=claude(ANTHROPIC_AUTH_TOKEN=f" {KEY}")),
    case("shell against settings.json", "conflicting-values", files=CLAUDE,
         environment=env(ANTHROPIC_MODEL="another")),
    case("CC Switch against settings.json", "conflicting-values", files=CLAUDE, prepare=switch(
        ("claude", "Other", {"env": {**CLAUDE_GATEWAY, "ANTHROPIC_MODEL": "other"}}, True))),
    case("website in CC Switch", "base-url-website", prepare=switch(
        ("claude", "Other", {"env": {"ANTHROPIC_BASE_URL": "https://taotoken.net"}}, False))),
    case("the project redirects", "project-redirects",
         files={".claude/settings.json": settings(env={**CLAUDE_GATEWAY, "ANTHROPIC_AUTH_TOKEN": ""}), **CLAUDE}),
    case("servers unasked", "servers-unasked", files={
        ".mcp.json": servers(), "~/.claude/settings.json": settings(enableAllProjectMcpServers=True)}),
    case("the project approves itself", "servers-unasked", files={
        ".mcp.json": servers(), ".claude/settings.json": settings(enabledMcpjsonServers=["misjudge"])}),
    case("rejected", "server-disabled", files={
        ".mcp.json": servers(), ".claude/settings.local.json": settings(disabledMcpjsonServers=["misjudge"])}),
    case("reference without a value", "server-reference-unset",
         files={".mcp.json": servers(env={"TAOTOKEN_BASE_URL": "${TAOTOKEN_BASE_URL}"})}),
    case("program gone from Claude Code", "server-command-missing",
         files={"~/.claude.json": servers(command="/no/misjudge")}),
    case("program in a cache", "server-command-fleeting",
         files={"~/.claude.json": servers(command=CACHED), f"~/{CACHED[7:]}": "#!/bin/sh\n"},
         prepare=lambda home, _: (home / CACHED[7:]).chmod(0o755)),
    case("a server of this folder alone", "server-command-missing", prepare=of_this_folder),
    case("an entry against the shell", "conflicting-values", files={
        "~/.codex/config.toml": CODEX_ENTRY + '[mcp_servers.misjudge.env]\nTAOTOKEN_JUDGE_MODEL = "another"\n'}),
    case("website in an entry", "base-url-website", files={
        ".mcp.json": servers(env={"TAOTOKEN_BASE_URL": "https://taotoken.net/pricing"})}),
    case("a space around a client's address", "base-url-invalid", files=claude(ANTHROPIC_BASE_URL=f"{GATEWAY} ")),
    case("key in the entry", "key-in-entry", files={"~/.claude.json": servers(env={"TAOTOKEN_API_KEY": KEY})}),
)  # fmt: skip
HEALTHY = (
    case("variables alone"),
    case(".env alone", environment={}, files={
        ".env": "".join(f"{name}={value}\n" for name, value in USUAL.items()),
        ".gitignore": ".env\n"}, prepare=track()),
    case(".env of every form that sets", environment={}, files={
        ".env": "\ufeff# all\r\n\r\n" + "".join(f"export {name} = '{value}' # x\r\n" for name, value in USUAL.items())
        + 'EMPTY=\nother.name=1\nCERT="one\ntwo: three\n"\n'}),
    case("virtual environment of the name .env", files={".env/pyvenv.cfg": "home = /usr/bin\n"}),
    case("key that ends as base64 does", environment=env(TAOTOKEN_API_KEY="eyJh_bGci.x7Q2x9vT4m1_3=")),
    case("Claude Code at an address of its own form",
         files=claude(ANTHROPIC_BASE_URL=f"{GATEWAY}/anthropic")),
    case("user and project of Claude Code", files={"~/.claude.json": servers(), ".mcp.json": servers()}),
    case("both clients", files={"~/.claude.json": servers(), "~/.codex/config.toml": PROVIDER + CODEX_ENTRY}),
    case("gateway in every client", files={
        **CLAUDE, ".mcp.json": servers(), "~/.codex/config.toml": PROVIDER + CODEX_ENTRY,
        "~/.codex/auth.json": json.dumps({"OPENAI_API_KEY": None, "tokens": {"access_token": KEY}})},
         prepare=switch(("claude", "Mine", {"env": CLAUDE_GATEWAY}, True),
                        ("codex", "Mine", of_switch_codex(PROVIDER), True))),
    case("Claude Code hands its settings on", files=CLAUDE, environment=env(**CLAUDE_GATEWAY)),
    case("Anthropic's own address needs no key", files={
        "~/.claude/settings.json": settings(env={"ANTHROPIC_BASE_URL": "https://api.anthropic.com"})}),
    case("a profile of its own", files={"misjudge.toml": toml(temperature=0, max_tokens=1000)}, environment=KEYED),
    case("another gateway of the environment", environment=env(TAOTOKEN_BASE_URL=GATEWAY)),
)  # fmt: skip
FIXED_BY_A_COMMAND = (
    *("utm link", "website", "version twice", "endpoint", "no scheme", "shell against settings.json"),
    *("certificates that are not there", "shell and .env differ", "proxy of no scheme that works"),
    *(
        "provider that is not there",
        "key kept back",
        "proxy kept back",
        "any proxy kept back",
        "certificates kept back",
        "program gone",
        "no serve",
    ),
    *("no key for the gateway", "OAuth where a key is meant", "no small model", "program gone from Claude Code"),
)
BROKEN = (*OF_GATEWAYS, *OF_FILES, *OF_CODEX, *OF_CLAUDE)


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quiet_again: None
) -> Run:
    """Makes a set-up, and runs `misjudge doctor` in it."""

    def run(made: Case, *arguments: str) -> Outcome:
        home, folder = tmp_path / "home", tmp_path / "work"
        if not home.exists():
            build(made, home, folder)
        for name in [name for name in os.environ if name not in KEPT]:
            monkeypatch.delenv(name)
        for name, value in {"HOME": str(home), "USERPROFILE": str(home), **made.environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.argv", ["misjudge", "doctor", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.run()
        said = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), said.out, said.err)

    return run


def test_the_table_is_as_large_as_it_is_meant_to_be() -> None:
    assert len(BROKEN) >= 40 and len(HEALTHY) >= 5
    assert len({one.name for one in (*BROKEN, *HEALTHY)}) == len(BROKEN) + len(HEALTHY)
    assert len({identity for one in BROKEN for identity in one.found}) >= 60


@pytest.mark.parametrize("made", BROKEN, ids=lambda made: made.name)
def test_a_broken_set_up_has_exactly_its_findings_and_shows_no_key(
    made: Case, doctor: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = doctor(made, "--json")
    before = snapshot(tmp_path)
    report = json.loads(said.out)
    findings = report["findings"]
    assert {found["id"] for found in findings} == made.found
    weights = [["error", "warning", "note"].index(found["severity"]) for found in findings]
    assert weights == sorted(weights)
    assert said.code == (1 if report["errors"] else 0)
    assert report["errors"] == weights.count(0) and report["warnings"] == weights.count(1)
    del report["schema"]
    print_setup(SetupReport.model_validate(report))
    shown = capsys.readouterr()
    for found in findings:
        assert found["id"] in shown.out and found["fix"] and found["where"] and found["evidence"].endswith(".")
    told = asyncio.run(answer(LazyDeps(), "check_setup", {}))
    assert told.structured_content is not None and told.structured_content["findings"] == findings
    assert CANARY not in said.out + said.err + shown.out + shown.err + told.model_dump_json()
    assert snapshot(tmp_path) == before, "nothing is written"


@pytest.mark.parametrize("made", HEALTHY, ids=lambda made: made.name)
def test_a_healthy_set_up_has_none(made: Case, doctor: Run) -> None:
    said = doctor(made, "--json")
    report = json.loads(said.out)
    assert (report["findings"], report["verdict"], said.code) == ([], "Nothing wrong was found.", 0)
    shown = doctor(made)
    assert "Nothing wrong was found." in shown.out and report["looked_at"][1:] in shown.out
    assert CANARY not in said.out + said.err + shown.out + shown.err


def test_a_proxy_on_this_machine_that_does_not_answer_is_found(doctor: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        alive = doctor(case("alive", environment=env(HTTP_PROXY=f"http://127.0.0.1:{port}")), "--json")
        assert json.loads(alive.out)["findings"] == []
    dead = doctor(case("dead", environment=env(HTTP_PROXY=f"127.0.0.1:{port}")), "--json")
    assert [found["id"] for found in json.loads(dead.out)["findings"]] == ["proxy-dead"]
    ignored = doctor(case("ignored", environment=env(HTTP_PROXY=f"127.0.0.1:{port}", MISJUDGE_TRUST_ENV="0")), "--json")
    assert json.loads(ignored.out)["findings"] == []


@pytest.mark.parametrize(
    "made",
    [one for one in (*OF_GATEWAYS, *OF_CODEX, *OF_CLAUDE) if one.name in FIXED_BY_A_COMMAND],
    ids=lambda made: made.name,
)
def test_the_command_that_a_finding_gives_mends_it(made: Case, doctor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = json.loads(doctor(made, "--json").out)["findings"]
    program, *arguments = shlex.split(finding["fix"].partition(" (")[0].replace("--model MODEL", "--model some-m"))
    environment = dict(made.environment)
    if program == "export":
        name, _, value = arguments[0].partition("=")
        environment[name] = value
    elif program == "unset":
        del environment[arguments[0]]
    else:
        assert program == "misjudge"
        monkeypatch.setattr("sys.argv", [program, *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.run()
        assert not ended.value.code
    again = json.loads(doctor(made._replace(environment=environment), "--json").out)
    assert finding["id"] not in {found["id"] for found in again["findings"]}
    assert again["errors"] == 0
