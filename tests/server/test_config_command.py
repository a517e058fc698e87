"""`misjudge config`: what is in force for each role, where it comes from, and never a key."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from command import Misjudge
from misjudge_server.config_command import config_report
from misjudge_server.settings import Settings
from misjudge_tools.gateway.settings import SIMULATED_KEY, Endpoint
from misjudge_tools.profiles import ModelSettings, Profile

CANARY = "sk-canary-4711"
SIMULATED = Endpoint(base_url="http://127.0.0.1:8787/v1", key=SecretStr(SIMULATED_KEY))
FILE = """
[gateway]
timeout_s = 90
requests_per_minute = 60
trust_env = false
[roles]
judge = "strong"
user_sim = "customer"
[profiles.strong]
model = "judge-model-1"
max_tokens = 700
family = "judge"
price_in = 2.5
price_out = 10
prompt = "own.md"
reply_form = "letter"
[profiles.customer]
model = "small-model-2"
temperature = 0.9
key_env = "OTHER_KEY"
[profiles.spare]
"""


@pytest.fixture
def configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a `misjudge.toml`, and a key in the environment."""
    folder.joinpath("misjudge.toml").write_text(FILE, encoding="utf-8")
    folder.joinpath("own.md").write_text("Which is better?", encoding="utf-8")
    monkeypatch.setenv("TAOTOKEN_API_KEY", CANARY)
    return folder


def rows(out: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]


def test_each_role_is_shown_with_where_its_values_come_from(
    configured: Path, misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDIDATE_MODEL", "agent-model")
    shown = misjudge("config")
    assert (shown.code, shown.err) == (0, "")
    cells = rows(shown.out)
    for row in (
        ["agent", "model", "agent-model", "CANDIDATE_MODEL (environment)"],
        ["", "temperature", "the model's own", "–"],
        ["", "price", "unknown", "–"],
        ["user_sim", "profile", "customer", "[roles] (misjudge.toml)"],
        ["", "key", "OTHER_KEY, not set", "profile customer (misjudge.toml)"],
        ["", "temperature", "0.9", "profile customer (misjudge.toml)"],
        ["judge", "profile", "strong", "[roles] (misjudge.toml)"],
        ["", "model", "judge-model-1", "profile strong (misjudge.toml)"],
        ["", "base URL", "https://taotoken.net/api/v1", "default"],
        ["", "key", "TAOTOKEN_API_KEY, set", "TAOTOKEN_API_KEY (environment)"],
        ["", "temperature", "0", "default of the role"],
        ["", "max_tokens", "700", "profile strong (misjudge.toml)"],
        ["", "price", "2.5 in, 10 out (USD per million tokens)", "profile strong (misjudge.toml)"],
        ["", "family", "judge", "profile strong (misjudge.toml)"],
        ["", "prompt", "own", "profile strong (misjudge.toml)"],
        ["", "reply form", "letter", "profile strong (misjudge.toml)"],
    ):
        assert row in cells
    assert "Read: environment, .env, misjudge.toml." in shown.out
    assert "60 requests/min" in shown.out
    assert "ignored" in shown.out
    assert CANARY not in shown.out


def test_the_json_holds_the_same(configured: Path, misjudge: Misjudge) -> None:
    shown = misjudge("config", "--json")
    report = json.loads(shown.out)
    assert (shown.code, shown.err, report["schema"], report["config_file"]) == (0, "", 1, "misjudge.toml")
    judge = report["roles"]["judge"]
    assert (judge["profile"], judge["model"], judge["temperature"]) == ("strong", "judge-model-1", 0)
    assert (judge["key_variable"], judge["key_is_set"]) == ("TAOTOKEN_API_KEY", True)
    assert judge["price"] == {"input": 2.5, "output": 10, "source": "misjudge.toml"}
    assert judge["limits"] == {
        "timeout_s": 90,
        "deadline_s": 180,
        "max_attempts": 4,
        "concurrency": 32,
        "requests_per_minute": 60,
        "tokens_per_minute": None,
        "trust_env": False,
    }
    assert report["roles"]["agent"]["temperature"] is None
    assert list(report["profiles"]) == ["strong", "customer", "spare"]
    assert CANARY not in shown.out


def test_without_any_setting_the_defaults_are_shown(folder: Path, misjudge: Misjudge) -> None:
    shown = misjudge("config")
    assert (shown.code, shown.err) == (0, "")
    cells = rows(shown.out)
    assert ["agent", "model", "none named", "–"] in cells
    assert ["", "temperature", "0.7", "default of the role"] in cells
    assert ["", "limits", "60 s an attempt, 180 s a call, 4 attempts, 32 at once", "default"] in cells
    assert "Profiles" not in shown.out


def test_a_model_with_a_list_price_says_whose_price_it_is(
    folder: Path, misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_MODEL", "gpt-4o")
    price = json.loads(misjudge("config", "--json").out)["roles"]["judge"]["price"]
    assert price["source"].startswith("genai-prices ")
    assert price["input"] > 0


def test_leftovers_of_other_tools_are_named_as_having_no_say(
    folder: Path, misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://{CANARY}.example")
    folder.joinpath(".env").write_text("ANTHROPIC_BASE_URL=x\n", encoding="utf-8")
    shown = misjudge("config")
    assert "OPENAI_BASE_URL is set but has no say here" in shown.out
    assert "ANTHROPIC_BASE_URL is set but has no say here" in shown.out
    assert CANARY not in shown.out


def warnings(judge: Profile, user_sim: Profile) -> tuple[str, ...]:
    return config_report(Settings(models=ModelSettings(roles={"judge": judge, "user_sim": user_sim}))).warnings


@pytest.mark.parametrize(
    ("judge", "user_sim", "said"),
    [
        (Profile(model="Model-A"), Profile(model="model-a"), "are the same model"),
        (Profile(model="alpha-1"), Profile(model="vendor/alpha-2-mini"), "look like one family"),
        (Profile(model="x", family="Same"), Profile(model="y", family="same"), "look like one family"),
        (Profile(model="alpha-1", family="x"), Profile(model="alpha-2", family="y"), None),
        (Profile(model="alpha-1"), Profile(model="beta-1"), None),
        (Profile(model="1"), Profile(model="2"), None),
        (Profile(), Profile(), None),
        (Profile(model="alpha"), Profile(), None),
        (Profile(model="m", endpoint=SIMULATED), Profile(model="m", endpoint=SIMULATED), None),
        (Profile(model="m", endpoint=SIMULATED), Profile(model="m"), None),
        (Profile(model="alpha-1"), Profile(model="alpha-2", endpoint=SIMULATED), None),
    ],
)
def test_a_judge_of_the_simulated_users_family_is_warned_of(
    judge: Profile, user_sim: Profile, said: str | None
) -> None:
    found = warnings(judge, user_sim)
    assert found == () if said is None else said in found[0]


def test_the_warning_is_printed(folder: Path, misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAOTOKEN_MODEL", "one-for-all")
    assert "Warning: judge and user_sim are the same model" in misjudge("config").out


def test_a_hostile_model_name_cannot_drive_the_terminal(folder: Path, misjudge: Misjudge) -> None:
    hostile = 'model = "m\\u202e[bold]"'
    toml = f'[roles]\njudge = "p"\n[profiles.p]\n{hostile}\nfamily = "\\u202ex"'
    folder.joinpath("misjudge.toml").write_text(toml, encoding="utf-8")
    for arguments in (("config",), ("config", "--json")):
        shown = misjudge(*arguments)
        assert shown.code == 0
        assert "\u202e" not in shown.out
        assert "[bold]" in shown.out


def test_a_file_that_cannot_be_used_is_said_in_one_sentence(folder: Path, misjudge: Misjudge) -> None:
    folder.joinpath("misjudge.toml").write_text(f'[gateway]\napi_key = "{CANARY}"\n', encoding="utf-8")
    shown = misjudge("config")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith("misjudge: [gateway] holds a key itself (api_key, in misjudge.toml).")
    assert CANARY not in shown.err
    assert shown.err.count("\n") == 1


GUIDE = {"profiles": [{"name": "strong", "model": "m", "role": "llm_judge", "api_key_env": "MY_KEY", "vendor": "x"}]}


def test_an_import_is_printed(folder: Path, misjudge: Misjudge) -> None:
    folder.joinpath("guide.json").write_text(json.dumps(GUIDE), encoding="utf-8")
    shown = misjudge("config", "import", "guide.json")
    assert (shown.code, shown.err) == (0, "Left out: strong: vendor\n")
    assert tomllib.loads(shown.out) == {
        "roles": {"judge": "strong"},
        "profiles": {"strong": {"model": "m", "key_env": "MY_KEY"}},
    }
    assert not folder.joinpath("misjudge.toml").exists()


def test_an_import_is_written_once_and_then_in_force(folder: Path, misjudge: Misjudge) -> None:
    folder.joinpath("guide.json").write_text(json.dumps(GUIDE), encoding="utf-8")
    written = misjudge("config", "import", "guide.json", "--out", "misjudge.toml")
    assert (written.code, written.out) == (0, "Written to misjudge.toml. Look at it, then: misjudge config\n")
    assert ["", "model", "m", "profile strong (misjudge.toml)"] in rows(misjudge("config").out)
    again = misjudge("config", "import", "guide.json", "--out", "misjudge.toml")
    assert (again.code, again.out) == (2, "")
    assert "misjudge.toml exists already" in again.err


def test_an_import_never_shows_a_key(folder: Path, misjudge: Misjudge) -> None:
    folder.joinpath("guide.json").write_text(json.dumps({"apiKey": CANARY, "judgeModel": "m"}), encoding="utf-8")
    shown = misjudge("config", "import", "guide.json", "--out", "misjudge.toml")
    assert (shown.code, shown.out) == (2, "")
    assert "holds a key itself (apiKey)" in shown.err
    assert CANARY not in shown.err
    assert not folder.joinpath("misjudge.toml").exists()
