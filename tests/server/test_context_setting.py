"""What a judge's model takes: stated in its profile, else listed; `misjudge config` says which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Misjudge
from misjudge_server.config_file import LoadedConfig, parse_config
from misjudge_server.guide_profiles import convert
from misjudge_server.resolution import resolve
from misjudge_server.variables import Variables
from misjudge_storage.errors import InvalidInput

FILE = """
[roles]
judge = "strong"
user_sim = "listed"
[profiles.strong]
model = "judge-model-1"
context_tokens = 32000
[profiles.listed]
model = "gpt-4o-mini"
[profiles.both]
model = "gpt-4o-mini"
context_tokens = 9000
"""


def test_a_profile_states_it_and_another_model_of_the_role_does_not_inherit_it() -> None:
    models = resolve(Variables({}, {}), LoadedConfig("misjudge.toml", parse_config(FILE, "misjudge.toml"), {}, False))
    found = models.role("judge")
    assert (found.context_tokens, found.origins["context_tokens"]) == (32_000, "profile strong (misjudge.toml)")
    other = models.named("judge", "judge-model-2")
    assert other.context_tokens is None and "context_tokens" not in other.origins
    assert models.named("judge", "both").context_tokens == 9_000


@pytest.mark.parametrize("stated", ["0", "-5", "1.5", '"32k"'])
def test_it_is_a_whole_number_of_tokens(stated: str) -> None:
    with pytest.raises(InvalidInput, match=r"^context_tokens in \[profiles\.strong\] of f\.toml cannot be used: "):
        parse_config(f"[profiles.strong]\ncontext_tokens = {stated}", "f.toml")


def test_it_is_printed_with_where_it_comes_from(
    folder: Path, misjudge: Misjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.joinpath("misjudge.toml").write_text(FILE, encoding="utf-8")
    monkeypatch.setenv("CANDIDATE_MODEL", "agent-model")
    lines = [line for line in misjudge("config").out.splitlines() if "│ context " in line]
    assert len(lines) == 2, lines
    assert "128,000 tokens" in lines[0] and "genai-prices" in lines[0]
    assert "32,000 tokens" in lines[1] and "profile strong" in lines[1]
    report = json.loads(misjudge("config", "--json").out)
    found = {name: one["context_tokens"] for name, one in (report["roles"] | report["profiles"]).items()}
    assert found == {
        "agent": None, "user_sim": 128_000, "judge": 32_000, "strong": 32_000, "listed": 128_000, "both": 9_000,
    }  # fmt: skip
    assert report["profiles"]["both"]["origins"]["context_tokens"] == "profile both (misjudge.toml)"
    assert report["profiles"]["listed"]["origins"]["context_tokens"].endswith(": openai gpt-4o-mini")


def test_profiles_of_other_guides_may_state_it() -> None:
    raw = {"profiles": {"one": {"model": "m", "contextTokens": 8000}, "two": {"model": "m", "context_window": 9000}}}
    converted = convert(json.dumps(raw), "guide.json")
    assert "context_tokens = 8000" in converted.toml and "context_tokens = 9000" in converted.toml
    assert converted.left_out == ()
