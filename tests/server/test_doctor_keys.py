"""Keys as the doctor sees them: placeholders, white space, leaks, and texts that are made to hold it up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor_homes import CODEX_ENTRY, KEY, USUAL, Case, build, codex_entry, read_made, servers, switch, toml, track
from misjudge_server.doctor import client_reading
from misjudge_server.doctor.check_setup import findings_of
from misjudge_server.doctor.facts import SetupFacts
from misjudge_server.doctor.findings import Finding
from misjudge_server.doctor.placeholders import is_placeholder
from misjudge_server.variables import NETWORK_VARIABLES

Check = Callable[[Case], dict[str, list[Finding]]]
Read = Callable[[Case], SetupFacts]
PLAIN = "strong canary 7Q2x9vT4m1".replace(" ", "-")
"""A key that does not look like one."""
GUIDES = (
    *("your_api_key_goes_here", "YOUR-API-KEY", "your api key", "my_token", "your__key", "<your key here>"),
    *("sk-your-api-key-goes-here-please", "sk-xxxxxxxxxxxxxxxxxxxxxxxx", "xxxxxxxx", "sk-...", "api_key_here"),
    *("replace-me", "CHANGE_ME", "你的密钥", "sk-your_key"),
)
VARIABLES = ("${TAOTOKEN_API_KEY}", "$TAOTOKEN_API_KEY", "%TAOTOKEN_API_KEY%", "TAOTOKEN_API_KEY")


@pytest.fixture
def read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Makes a set-up and reads it."""

    return lambda made: read_made(made, folder, monkeypatch)


@pytest.fixture
def check(read: Read) -> Check:
    """Makes a set-up, and gives its findings by their ids."""

    def run(made: Case) -> dict[str, list[Finding]]:
        by_id: dict[str, list[Finding]] = {}
        for found in findings_of(read(made)):
            by_id.setdefault(found.id, []).append(found)
        return by_id

    return run


@pytest.mark.parametrize("value", GUIDES)
def test_what_guides_write_in_place_of_a_key_is_a_placeholder(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize("value", [KEY, PLAIN, "my-litellm-master-key-83hf9a", "sk-or-v1-0a1b2c3d4e5f", "mykingdom"])
def test_a_key_is_no_placeholder(value: str) -> None:
    assert not is_placeholder(value)


def runs(program: str) -> None:
    """Runs a program that imports from here; what it printed last tells where it was held up."""
    start = f"import sys; sys.path[:] = {[path for path in sys.path if path]!r}\n"
    done = subprocess.run([sys.executable, "-u", "-c", start + program], check=False, timeout=60)
    assert done.returncode == 0


HELD_UP = {
    "a placeholder of underscores": 'is_placeholder("my" + "_" * 90)',
    "a placeholder of words": 'is_placeholder("your" + "_a" * 45)',
    "a placeholder of hyphens and spaces": 'is_placeholder("my" + " -_" * 30)',
    "a long value": '[is_placeholder(one * 1_000_000) for one in ("my_", "<", "x", "your-", "sk-your a", "api")]',
    "links without a key": 'holds_link("ccswitch://" * 2_000_000)',
    "links with a placeholder": 'holds_link("ccswitch://v1?apiKey=&" * 1_000_000)',
    "beginnings of keys": 'looks_like_key("sk-" * 5_000_000), looks_like_key("sk-a " * 2_000_000)',
    "a long name": '[named(one * 500_000) for one in ("a", "key", "a1", "://", "-.", "Bearer ", "?a=")]',
}


def test_a_text_that_is_made_to_hold_the_doctor_up_does_not() -> None:
    imports = (
        "from misjudge_server.doctor.placeholders import is_placeholder\n"
        "from misjudge_server.doctor.project_reading import holds_link, looks_like_key\n"
        "from misjudge_server.doctor.wording import named\n"
    )
    runs(imports + "".join(f"print({name!r})\n{calls}\n" for name, calls in HELD_UP.items()))


HOSTILE_FILES: tuple[dict[str, str], ...] = (
    {".claude/settings.json": json.dumps({"env": {"ANTHROPIC_AUTH_TOKEN": "my" + "_" * 36}})},
    {".env.txt": "\n" * 99_000},
)


@pytest.mark.parametrize("files", HOSTILE_FILES, ids=lambda files: [*files][-1])
def test_a_hostile_file_of_a_project_does_not_hold_the_doctor_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    build(Case("", files=files), folder / "home", folder / "work")
    monkeypatch.chdir(folder / "work")
    monkeypatch.setenv("HOME", str(folder / "home"))
    runs(
        "import asyncio\n"
        "from misjudge_server.doctor.check_setup import check_setup\n"
        "from misjudge_server.doctor.setup_request import CheckSetupRequest\n"
        "asyncio.run(check_setup(CheckSetupRequest()))\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (" ", "", "begins with white space"),
        ("\t\n", "", "begins with white space"),
        ("", " ", "ends in white space"),
        ("", "\r\n", "ends in white space"),
        (" ", "\n", "begins with and ends in white space"),
        ("\u00a0", "\u3000", "begins with and ends in white space"),
    ],
)
def test_white_space_around_a_key_is_told_by_its_end(check: Check, before: str, after: str, said: str) -> None:
    made = Case("", environment={**USUAL, "TAOTOKEN_API_KEY": f"{before}{KEY}{after}"})
    (found,) = check(made)["key-whitespace"]
    assert f", and {said}." in found.evidence and found.severity == "warning"


@pytest.mark.parametrize(("value", "found"), [(" ", "key-malformed"), (f" {KEY[:9]} {KEY[9:]}", "key-whitespace")])
def test_white_space_alone_or_within_a_key_is_an_error(check: Check, value: str, found: str) -> None:
    by_id = check(Case("", environment={**USUAL, "OPENAI_API_KEY": value}))
    assert [one.severity for one in by_id[found]] == ["error"]


@pytest.mark.parametrize("value", [value for value in GUIDES if len(value) >= 16])
def test_the_placeholder_of_a_guide_is_no_leaked_key(check: Check, value: str) -> None:
    line = f"TAOTOKEN_API_KEY={value}\n"
    link = f"ccswitch://v1/import?resource=provider&apiKey={value.replace(' ', '_')}&name=x\n"
    files = {".env": line, ".env.example": line, "README.md": link, ".gitignore": ".env\n"}
    by_id = check(Case("", files=files, environment={}, prepare=track(".env.example", "README.md")))
    assert set(by_id) & {"key-in-tracked-file", "key-in-link"} == set()
    assert "key-placeholder" in by_id


@pytest.mark.parametrize("value", ["sk-a1b2", "83hf9a&name=x", 'abcdef" class="x', "abc)", "%73k-abc"])
def test_a_key_in_a_link_is_told_wherever_the_link_ends(check: Check, value: str) -> None:
    by_id = check(Case("", files={"README.md": f"[add](CCSwitch://v1/import?app=claude&apikey={value})\n"}))
    assert [one.where for one in by_id["key-in-link"]] == ["README.md"]


@pytest.mark.parametrize(
    "value", ["", "&name=x", "<KEY>", '"', "YOUR_KEY&name=x", "${TAOTOKEN_API_KEY}", "%TAOTOKEN_API_KEY%", "{key}"]
)
def test_a_link_without_a_key_is_none(check: Check, value: str) -> None:
    assert check(Case("", files={"README.md": f"ccswitch://v1/import?app=claude&apiKey={value}\n"})) == {}


OF_A_PROFILE = {**USUAL, "STRONG": PLAIN, "MISJUDGE_CONFIG": "~/misjudge.toml"}
LEAKING: tuple[Case, ...] = (
    Case("a profile's own variable", environment=OF_A_PROFILE, files={
        "~/misjudge.toml": toml(key_env="STRONG")}),
    Case("a profile that no role uses", environment=OF_A_PROFILE, files={
        "~/misjudge.toml": '[profiles.other]\nmodel = "m"\nkey_env = "STRONG"\n'}),
    Case("a profile's own variable in .env", files={
        ".env": f"STRONG={PLAIN}\n", "misjudge.toml": toml(key_env="STRONG"), ".gitignore": ".env\n"}),
    Case("the variable of a provider of Codex", environment={**USUAL, "STRONG": PLAIN}, files={
        "~/.codex/config.toml": '[model_providers.mine]\nname = "Mine"\nbase_url = "https://gate.example/v1"\n'
        'env_key = "STRONG"\n'}),
    Case("a key in .env that the shell's hides", files={".env": f"TAOTOKEN_API_KEY={PLAIN}\n", ".gitignore": ".env\n"}),
    Case("a key by its name", environment={**USUAL, "SOME_API_KEY": PLAIN}),
    Case("a key in Claude Code's settings", files={
        "~/.claude/settings.json": json.dumps({"env": {"ANTHROPIC_AUTH_TOKEN": PLAIN}})}),
    Case("a key of Codex", files={"~/.codex/auth.json": json.dumps({"OPENAI_API_KEY": PLAIN})}),
    Case("a key of an entry", files={"~/.claude.json": servers(env={"TAOTOKEN_API_KEY": PLAIN})}),
    Case("a key of CC Switch", prepare=switch(("claude", "Mine", {"env": {"ANTHROPIC_AUTH_TOKEN": PLAIN}}, False))),
)  # fmt: skip


@pytest.mark.parametrize("made", LEAKING, ids=lambda made: made.name)
def test_a_key_is_found_in_a_file_that_git_has_wherever_it_is_set(check: Check, made: Case) -> None:
    def prepare(home: Path, folder: Path) -> None:
        track("notes.md")(home, folder)
        if made.prepare is not None:
            made.prepare(home, folder)

    by_id = check(made._replace(files={**made.files, "notes.md": f"the key is {PLAIN}\n"}, prepare=prepare))
    assert [one.where for one in by_id["key-in-tracked-file"]] == ["notes.md"]


@pytest.mark.parametrize(
    "value", ["${TAOTOKEN_API_KEY}", "$TAOTOKEN_API_KEY", "%TAOTOKEN_API_KEY%", "TAOTOKEN_API_KEY"]
)
def test_the_name_of_a_variable_in_place_of_a_key_is_no_leak(check: Check, value: str) -> None:
    files = {"~/.claude/settings.json": json.dumps({"env": {"ANTHROPIC_AUTH_TOKEN": value}}), "notes.md": f"{value}\n"}
    assert "key-in-tracked-file" not in check(Case("", files=files, prepare=track("notes.md")))


@pytest.mark.parametrize("name", [name for name in NETWORK_VARIABLES if name.upper() != "NO_PROXY"])
def test_each_variable_of_the_network_that_codex_keeps_back_is_told(check: Check, name: str) -> None:
    value = sys.executable if name == "SSL_CERT_FILE" else "http://proxy.example:3128"
    kept_back = Case(
        "", files={"~/.codex/config.toml": codex_entry("TAOTOKEN_API_KEY")}, environment={**USUAL, name: value}
    )
    (found,) = check(kept_back)["codex-proxy-kept-back"]
    assert name in found.evidence and found.fix == "misjudge setup codex"
    handed_on = kept_back._replace(files={"~/.codex/config.toml": codex_entry("TAOTOKEN_API_KEY", name)})
    assert check(handed_on) == {}


def test_the_exceptions_from_a_proxy_are_told_where_there_is_a_proxy(check: Check) -> None:
    made = Case("", files={"~/.codex/config.toml": CODEX_ENTRY}, environment={**USUAL, "NO_PROXY": "localhost"})
    assert check(made) == {}
    proxied = made._replace(environment={**made.environment, "HTTPS_PROXY": "http://proxy.example:3128"})
    (found,) = check(proxied)["codex-proxy-kept-back"]
    assert "NO_PROXY" in found.evidence and "HTTPS_PROXY" not in found.evidence


def test_one_spelling_of_a_proxy_that_is_handed_on_is_enough(check: Check) -> None:
    proxy = "http://proxy.example:3128"
    environment = {**USUAL, "https_proxy": proxy, "HTTPS_PROXY": proxy}
    assert check(Case("", files={"~/.codex/config.toml": CODEX_ENTRY}, environment=environment)) == {}


def test_a_proxy_in_dotenv_is_not_handed_on_by_it(check: Check) -> None:
    files = {"~/.codex/config.toml": codex_entry("TAOTOKEN_API_KEY"), ".env": "HTTPS_PROXY=http://proxy.example:3128\n"}
    environment = {**USUAL, "HTTPS_PROXY": "http://proxy.example:3128"}
    assert set(check(Case("", files=files, environment=environment))) == {"codex-proxy-kept-back"}


@pytest.mark.parametrize("folder_name", ["cl aude", ".mcp.json of mine", "work"])
def test_an_entry_knows_its_file_whatever_its_folder_is_called(read: Read, folder: Path, folder_name: str) -> None:
    made = Case(
        "",
        files={
            f"~/{folder_name}/.claude.json": servers(env={"TAOTOKEN_API_KEY": KEY}),
            ".claude/settings.local.json": json.dumps({"enableAllProjectMcpServers": True}),
            "~/.codex/config.toml": CODEX_ENTRY,
        },
        environment={**USUAL, "CLAUDE_CONFIG_DIR": str(folder / "home" / folder_name)},
    )
    facts = read(made)
    assert [(one.client, one.document) for one in facts.entries] == [
        ("Claude Code", "claude_state"), ("Codex", "codex"),
    ]  # fmt: skip
    assert {found.id for found in findings_of(facts)} == {"key-in-entry"}, "it is none of the project's servers"


def test_a_key_in_an_entry_is_told_once_where_git_has_its_file(check: Check) -> None:
    made = Case(
        "",
        files={".mcp.json": servers(env={"TAOTOKEN_API_KEY": PLAIN})},
        environment={**USUAL, "TAOTOKEN_API_KEY": PLAIN},
    )
    assert set(check(made)) == {"key-in-entry"}
    assert set(check(made._replace(prepare=track(".mcp.json")))) == {"key-in-tracked-file"}


def test_of_cc_switch_no_more_is_read_than_a_person_has(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_reading, "_MOST_PROVIDERS", 3)
    monkeypatch.setattr(client_reading, "_LONGEST_SETTINGS", 200)
    rows: list[tuple[str, str, Any, bool]] = [("claude", f"p{number}", {"env": {}}, False) for number in range(5)]
    large = ("claude", "large", {"env": {"NOTE": "x" * 500}}, True)
    facts = read(Case("", prepare=switch(*rows, large)))
    assert [(one.name, one.problem is None) for one in facts.switch] == [("large", False), ("p0", True), ("p1", True)]
    (found,) = [one for one in findings_of(facts) if one.id == "file-unreadable"]
    assert "longer than 200 characters" in found.evidence and "large" in found.where
