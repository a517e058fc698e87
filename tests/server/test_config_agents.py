"""`[agents.NAME]` and `[allow]` of `misjudge.toml`: what they mean, and what a stranger's folder may not."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from command import Misjudge
from misjudge_server.config_file import load_config
from misjudge_server.settings import load_settings
from misjudge_storage.errors import InvalidInput
from misjudge_tools.episodes.settings import (
    AgentSettings,
    Allowed,
    ChatAgent,
    CommandAgent,
    EpisodeSettings,
    HttpAgent,
    RecordedAgent,
)
from misjudge_tools.profiles import PromptText

CANARY = "sk-canary-4711"
FILE = """
[agents.mine]
kind = "chat"
profile = "strong"
system = "prompts/desk.md"
max_steps = 12
[agents.plain]
kind = "chat"
[agents.service]
kind = "http"
url = "http://127.0.0.1:8080/reply?key=sk-canary-4711"
timeout_s = 30
[agents.script]
kind = "command"
argv = ["python", "agent.py", "sk-canary-4711"]
env = ["MY_TOKEN"]
[agents.old]
kind = "recorded"
file = "runs/old.json"
format = "tau-bench"
trial = 2
[allow]
hosts = ["127.0.0.1:8080", "Tools.Example.org"]
python = ["my_suite.tools"]
[allow.commands]
pytest = ["python", "-m", "pytest", "-q"]
lint = ["lint"]
"""


def episodes(folder: Path, text: str, *, trusted: bool = True) -> EpisodeSettings:
    file = folder / "misjudge.toml"
    file.write_text(text, encoding="utf-8")
    return load_config(file, trusted=trusted).episodes


def complaint(folder: Path, text: str, *, trusted: bool = True) -> str:
    with pytest.raises(InvalidInput) as caught:
        episodes(folder, text, trusted=trusted)
    assert CANARY not in str(caught.value)
    return str(caught.value)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    tmp_path.joinpath("prompts").mkdir()
    tmp_path.joinpath("prompts", "desk.md").write_text("You sell tents.", encoding="utf-8")
    agents: dict[str, AgentSettings] = {
        "mine": ChatAgent(profile="strong", system=PromptText(name="desk", text="You sell tents."), max_steps=12),
        "plain": ChatAgent(),
        "service": HttpAgent(kind="http", url=f"http://127.0.0.1:8080/reply?key={CANARY}", timeout_s=30),
        "script": CommandAgent(kind="command", argv=("python", "agent.py", CANARY), env=("MY_TOKEN",)),
        "old": RecordedAgent(
            kind="recorded", file=tmp_path.resolve() / "runs" / "old.json", format="tau-bench", trial=2
        ),
    }
    allowed = Allowed(
        hosts=("127.0.0.1:8080", "tools.example.org"),
        python=("my_suite.tools",),
        commands={"pytest": ("python", "-m", "pytest", "-q"), "lint": ("lint",)},
    )
    assert episodes(tmp_path, FILE) == EpisodeSettings(agents=agents, allowed=allowed)


def test_without_the_tables_nothing_is_allowed(tmp_path: Path) -> None:
    assert episodes(tmp_path, "[allow]\n", trusted=False) == EpisodeSettings()


KINDS = "chat, http, command, recorded"
SENTENCES = {
    "no kind": (
        "[agents.a]\nprofile = 'x'",
        f"[agents.a] of misjudge.toml cannot be used: kind is missing; it is {KINDS}",
    ),
    "unknown kind": (f"[agents.a]\nkind = '{CANARY}'", "[agents.a] of misjudge.toml cannot be used: its kind must be"),
    "kind is a number": ("[agents.a]\nkind = 3", "[agents.a] of misjudge.toml cannot be used: its kind must be one of"),
    "misspelt key": (
        "[agents.a]\nkind = 'chat'\nmax_step = 3",
        "Unknown name max_step in [agents.a] of misjudge.toml. Did you mean 'max_steps'? Allowed: kind, profile",
    ),
    "key of another kind": (
        "[agents.a]\nkind = 'chat'\nargv = ['x']",
        "Unknown name argv in [agents.a] of misjudge.toml. Allowed: kind, profile, system, max_steps.",
    ),
    "misspelt table": ("[agent.a]\nkind = 'chat'", "Unknown name agent of misjudge.toml. Did you mean 'agents'?"),
    "text for a number": (
        f"[agents.a]\nkind = 'chat'\nmax_steps = '{CANARY}'",
        "max_steps in [agents.a] of misjudge.toml cannot be used: Input should be a valid integer.",
    ),
    "too many steps": ("[agents.a]\nkind = 'chat'\nmax_steps = 201", "max_steps in [agents.a] of misjudge.toml cannot"),
    "a number for an agent": ("[agents]\na = 3", "[agents.a] of misjudge.toml cannot be used: it must be a table."),
    "a number for agents": ("agents = 3", "[agents] of misjudge.toml cannot be used: it must be a table."),
    "no address": ("[agents.a]\nkind = 'http'", "url in [agents.a] of misjudge.toml cannot be used: it is missing."),
    "no program": (
        "[agents.a]\nkind = 'command'\nargv = []",
        "argv in [agents.a] of misjudge.toml cannot be used: it must",
    ),
    "a blank program": ("[agents.a]\nkind = 'command'\nargv = [' ']", "it must name a program and its arguments"),
    "a program as text": (
        f"[agents.a]\nkind = 'command'\nargv = '{CANARY}'",
        "argv in [agents.a] of misjudge.toml cannot be used: Input should be a valid list.",
    ),
    "NUL in a program": ('[agents.a]\nkind = "command"\nargv = ["a", "b\\u0000"]', "it holds a NUL character."),
    "a value as a variable": (
        f"[agents.a]\nkind = 'command'\nargv = ['x']\nenv = ['A={CANARY}']",
        "env in [agents.a] of misjudge.toml cannot be used: it must be the NAME of an environment variable",
    ),
    "no file": ("[agents.a]\nkind = 'recorded'", "file in [agents.a] of misjudge.toml cannot be used: it is missing."),
    "unknown format": (
        f"[agents.a]\nkind = 'recorded'\nfile = 'x'\nformat = '{CANARY}'",
        "format in [agents.a] of misjudge.toml cannot be used: Input should be 'trajectories' or 'tau-bench'.",
    ),
    "negative trial": ("[agents.a]\nkind = 'recorded'\nfile = 'x'\ntrial = -1", "trial in [agents.a] of misjudge.toml"),
    "a literal key": (f"[agents.a]\nkind = 'chat'\napi_key = '{CANARY}'", "Agent a holds a key itself (api_key, in"),
    "a literal key in allow": (f"[allow]\ntoken = '{CANARY}'", "[allow] holds a key itself (token, in misjudge.toml)"),
    "misspelt in allow": (
        "[allow]\nhost = ['x']",
        "Unknown name host in [allow] of misjudge.toml. Did you mean 'hosts'?",
    ),
    "hosts as text": (f"[allow]\nhosts = '{CANARY}'", "hosts in [allow] of misjudge.toml cannot be used: Input should"),
    "a command as text": (
        f"[allow.commands]\npytest = '{CANARY}'",
        "commands.pytest in [allow] of misjudge.toml cannot be used: Input should be a valid list.",
    ),
    "an empty command": (
        "[allow.commands]\npytest = []",
        "commands.pytest in [allow] of misjudge.toml cannot be used: it",
    ),
    "a foreign host": (
        "[agents.a]\nkind = 'http'\nurl = 'https://a.example/x'\n[allow]\nhosts = ['b.example', 'a.example:8443']",
        "url in [agents.a] of misjudge.toml names a host that is not in hosts of [allow]. Name it there.",
    ),
    "a host as user": (
        "[agents.a]\nkind = 'http'\nurl = 'https://b.example@a.example/x'\n[allow]\nhosts = ['b.example']",
        "names a host that is not in hosts of [allow].",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_what_cannot_be_used_is_named_by_file_table_and_key(tmp_path: Path, case: str) -> None:
    text, said = SENTENCES[case]
    assert said in complaint(tmp_path, text)


@pytest.mark.parametrize(
    "name",
    [
        "diligent",
        "hasty",
        "smooth_talker",
        "padder",
        "refuser",
        "flaky",
        "flaky:0.5",
        "flaky:x",
        "a,b",
        " a",
        "a\\u001b",
    ],
)
def test_a_name_that_is_taken_or_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    said = complaint(tmp_path, f'[agents."{name}"]\nkind = "chat"')
    assert "of misjudge.toml: the name" in said
    assert said.isprintable()


@pytest.mark.parametrize(
    "host",
    ["https://a.example", "a.example/", "*.example", "*", "", "a b", "a@b", "a:x", ":80", "a..b", "a:123456", "[x]"],
)
def test_a_host_is_a_host_alone(tmp_path: Path, host: str) -> None:
    said = complaint(tmp_path, f"[allow]\nhosts = ['{host}']")
    assert said.startswith("hosts in [allow] of misjudge.toml cannot be used: it must be a host alone, as ")


@pytest.mark.parametrize(
    "host", ["localhost", "a.example", "a-b.example:443", "127.0.0.1:8080", "[::1]:80", "例.example"]
)
def test_a_host_may_have_a_port(tmp_path: Path, host: str) -> None:
    assert episodes(tmp_path, f"[allow]\nhosts = ['{host}']").allowed.hosts == (host,)


@pytest.mark.parametrize("module", ["tools.py", "my-tools", "/x/tools", "", "a..b", "a b"])
def test_a_module_is_named_not_a_file(tmp_path: Path, module: str) -> None:
    said = complaint(tmp_path, f"[allow]\npython = ['{module}']")
    assert "it must be the name of a Python module" in said


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/",
        "ftp://a.example",
        "a.example",
        "http://127.0.0.1.a.example/",
        "javascript:1",
        "http://[x",
        "",
    ],
)
def test_an_agent_is_asked_over_https_or_on_this_machine(tmp_path: Path, url: str) -> None:
    said = complaint(tmp_path, f"[agents.a]\nkind = 'http'\nurl = '{url}'\n[allow]\nhosts = ['a.example']")
    assert said.startswith("url in [agents.a] of misjudge.toml cannot be used: it must begin with https://")


POWERS = {
    "[allow]": ("[allow]\nhosts = ['a.example']", "[allow]"),
    "python": ("[allow]\npython = ['a']", "[allow]"),
    "commands": ("[allow.commands]\na = ['b']", "[allow]"),
    "command": ("[agents.a]\nkind = 'command'\nargv = ['x']", "[agents.a] of kind command"),
    "http": ("[agents.a]\nkind = 'http'\nurl = 'https://a.example'", "[agents.a] of kind http"),
}


@pytest.mark.parametrize("case", POWERS)
def test_a_file_that_only_lies_in_the_folder_allows_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    text, power = POWERS[case]
    folder.joinpath("misjudge.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        load_settings()
    assert str(caught.value).startswith(
        f"misjudge.toml of the working directory holds {power}, by which a folder could"
    )
    assert "set MISJUDGE_CONFIG in the environment to the whole path" in str(caught.value)
    if case != "http":
        monkeypatch.setenv("MISJUDGE_CONFIG", str(folder / "misjudge.toml"))
        assert load_settings().episodes != EpisodeSettings()


def test_a_folder_may_name_models_and_its_own_recordings(folder: Path) -> None:
    text = "[agents.a]\nkind = 'chat'\n[agents.b]\nkind = 'recorded'\nfile = 'x/y.jsonl'"
    assert list(episodes(folder, text, trusted=False).agents) == ["a", "b"]
    assert load_settings().episodes.agents["b"] == RecordedAgent(
        kind="recorded", file=folder.resolve() / "x" / "y.jsonl"
    )


def test_a_recording_elsewhere_needs_a_trusted_file(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    for stated in ("../x.json", (tmp_path / "x.json").as_posix(), "a/../../x.json"):
        text = f"[agents.a]\nkind = 'recorded'\nfile = '{stated}'"
        said = complaint(inside, text, trusted=False)
        assert (
            said == "file in [agents.a] of misjudge.toml must name a file in the folder of misjudge.toml or below it."
        )
        agent = episodes(inside, text).agents["a"]
        assert isinstance(agent, RecordedAgent)
        assert agent.file == tmp_path.resolve() / "x.json"
    said = complaint(inside, '[agents.a]\nkind = "recorded"\nfile = "a\\u0000b"')
    assert said == "file in [agents.a] of misjudge.toml is no file name."


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a right of its own on Windows")
def test_a_recording_is_not_reached_through_a_link_that_leads_outside(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    inside.joinpath("link.json").symlink_to(tmp_path / "secret.json")
    said = complaint(inside, "[agents.a]\nkind = 'recorded'\nfile = 'link.json'", trusted=False)
    assert "must name a file in the folder" in said


def test_instructions_lie_under_the_folder_of_the_file(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    tmp_path.joinpath("secret.md").write_text(CANARY, encoding="utf-8")
    for stated, said in (
        ("../secret.md", "system in [agents.a] of misjudge.toml must name a file in the folder"),
        ("none.md", "The file that system in [agents.a] of misjudge.toml names cannot be read"),
    ):
        assert said in complaint(inside, f"[agents.a]\nkind = 'chat'\nsystem = '{stated}'")


def test_agents_and_permissions_are_shown_without_what_may_be_a_key(
    folder: Path, misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.joinpath("misjudge.toml").write_text(FILE, encoding="utf-8")
    folder.joinpath("prompts").mkdir()
    folder.joinpath("prompts", "desk.md").write_text("You sell tents.", encoding="utf-8")
    monkeypatch.setenv("MISJUDGE_CONFIG", os.fspath(folder / "misjudge.toml"))
    shown, machine = misjudge("config"), misjudge("config", "--json")
    for outcome in (shown, machine):
        assert (outcome.code, outcome.err) == (0, "")
        assert CANARY not in outcome.out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.out.splitlines() if "│" in line]
    for row in (
        ["mine", "chat", "strong"],
        ["plain", "chat", "the model of the role agent"],
        ["service", "http", "http://127.0.0.1:8080/reply"],
        ["script", "command", "python (and 2 more)"],
    ):
        assert row in rows
    for line in (
        "Hosts that may be asked: 127.0.0.1:8080, tools.example.org",
        "Python modules that may be run as tools: my_suite.tools",
        "Commands that may be run: pytest = python (and 3 more), lint = lint",
    ):
        assert line in shown.out.splitlines()
    report = json.loads(machine.out)
    assert report["agents"]["old"] == {"kind": "recorded", "asks": str(folder.resolve() / "runs" / "old.json")}
    assert report["allowed"]["hosts"] == ["127.0.0.1:8080", "tools.example.org"]
