"""Profiles as guides write them, and files that only look like that."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_server.config_file import parse_config
from misjudge_server.guide_profiles import convert, convert_file, write_new
from misjudge_storage.errors import InvalidInput

CANARY = "sk-canary-4711"
URL = "https://gateway.example/api"


def tables(text: str) -> dict[str, Any]:
    return tomllib.loads(convert(text, "guide.json").toml)


def complaint(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        convert(text, "guide.json")
    assert CANARY not in str(caught.value)
    return str(caught.value)


STRONG = {"base_url": URL, "api_key_env": "TAOTOKEN_API_KEY", "model": "m", "role": "judge", "temperature": 0}
EXPECTED = {
    "roles": {"judge": "strong"},
    "profiles": {"strong": {"base_url": URL, "key_env": "TAOTOKEN_API_KEY", "model": "m", "temperature": 0}},
}


def test_a_json_list_of_profiles_is_converted() -> None:
    assert tables(json.dumps({"profiles": [{"name": "strong", **STRONG}]})) == EXPECTED


def test_json_profiles_by_name_are_converted() -> None:
    assert tables(json.dumps({"profiles": {"strong": STRONG}})) == EXPECTED


@pytest.mark.parametrize(
    "written",
    ["key_env", "keyEnv", "api-key-env", "apiKeyEnv", "api_key_variable", "keyVariable", "key variable", "api_key_var"],
)
def test_the_name_of_the_key_variable_is_understood_however_it_is_written(written: str) -> None:
    profile = {**STRONG, written: STRONG["api_key_env"]}
    del profile["api_key_env"]
    assert tables(json.dumps({"profiles": {"strong": profile}})) == EXPECTED


@pytest.mark.parametrize("field", ["api_key", "apiKey", "key", "token", "key_env"])
@pytest.mark.parametrize("reference", ["${TAOTOKEN_API_KEY}", "$TAOTOKEN_API_KEY"])
def test_a_reference_in_place_of_a_key_names_its_variable(field: str, reference: str) -> None:
    profile = {**STRONG, field: reference}
    del profile["api_key_env"]
    assert tables(json.dumps({"profiles": {"strong": profile}})) == EXPECTED


GUIDE = """
profiles:
  llm_judge:
    base_url: https://gateway.example/api
    api_key_env: JUDGE_KEY
    model: judge-model
    temperature: 0
  simulated_user:
    model: small
    temperature: 0.7
  engineering_assistant: {model: agent-model}
"""


def test_yaml_profiles_with_the_guides_role_names_are_converted() -> None:
    assert tables(GUIDE) == {
        "roles": {"judge": "llm_judge", "user_sim": "simulated_user", "agent": "engineering_assistant"},
        "profiles": {
            "llm_judge": {"base_url": URL, "key_env": "JUDGE_KEY", "model": "judge-model", "temperature": 0},
            "simulated_user": {"model": "small", "temperature": 0.7},
            "engineering_assistant": {"model": "agent-model"},
        },
    }


@pytest.mark.parametrize(
    ("written", "role"),
    [("llm_judge", "judge"), ("simulated_user", "user_sim"), ("engineering_assistant", "agent"), ("agent", "agent")],
)
def test_a_stated_role_wins_over_the_profiles_name(written: str, role: str) -> None:
    text = f"profiles:\n  - name: judge\n    role: {written}\n    model: m\n"
    assert tables(text)["roles"] == {role: "judge"}


FLAT = {
    "baseURL": URL,
    "apiKeyEnv": "TAOTOKEN_API_KEY",
    "judgeModel": "j",
    "candidateModel": "c",
    "temperature": 0.2,
    "maxRetries": 3,
    "timeoutMs": 45_000,
}


def test_the_flat_shape_is_converted_and_a_retry_is_one_attempt_more() -> None:
    assert tables(json.dumps(FLAT)) == {
        "gateway": {"base_url": URL, "key_env": "TAOTOKEN_API_KEY", "max_attempts": 4, "timeout_s": 45},
        "roles": {"judge": "judge", "agent": "agent"},
        "profiles": {"judge": {"model": "j", "temperature": 0.2}, "agent": {"model": "c", "temperature": 0.2}},
    }


def test_what_has_no_place_is_named_and_left_out() -> None:
    profiles = {
        "a": {**STRONG, "provider": CANARY, "headers": {"x": CANARY}, "notes": None},
        "b": {**STRONG, "model": "${JUDGE_MODEL}"},
        "c": {"model": "m", "role": "rubric_writer"},
    }
    converted = convert(json.dumps({"version": 1, "profiles": profiles}), "guide.json")
    assert converted.left_out == (
        "version",
        "a: provider",
        "a: headers",
        "b: model",
        "b: role judge, which the first profile with it keeps",
        "c: role",
    )
    assert CANARY not in converted.toml
    flat = convert(json.dumps({**FLAT, "candidateModel": "$CANDIDATE_MODEL", "retryDelay": 1}), "guide.json")
    assert flat.left_out == ("candidateModel", "retryDelay")


LITERAL = "name its variable instead"
REFUSED = {
    "literal key": (json.dumps({"profiles": {"p": {"api_key": CANARY}}}), "guide.json, profile p holds a key itself"),
    "literal key, flat": (json.dumps({**FLAT, "apiKey": CANARY}), "guide.json holds a key itself (apiKey)"),
    "literal key beside": (json.dumps({"apiKey": CANARY, "profiles": {"p": STRONG}}), "guide.json holds a key itself"),
    "default of a reference": (json.dumps({"profiles": {"p": {"key": f"${{K_1:-{CANARY}}}"}}}), "holds a key itself"),
    "key as its variable": (
        json.dumps({"profiles": {"p": {"apiKeyEnv": CANARY}}}),
        "key_env in [profiles.p] of guide.json",
    ),
    "key in a list": (json.dumps({"profiles": {"p": {"token": [CANARY]}}}), "holds a key itself (token)"),
    "key in the address": (
        json.dumps({"profiles": {"p": {"base_url": f"https://u:{CANARY}@x"}}}),
        "profile p: The base URL",
    ),
    "text for a number": (
        json.dumps({"profiles": {"p": {"temperature": CANARY}}}),
        "temperature in [profiles.p] of guide",
    ),
    "table for a model": (
        json.dumps({"profiles": {"p": {"model": {"x": CANARY}}}}),
        "profile p: model must be one line",
    ),
    "control characters": (
        json.dumps({"profiles": {"p": {"model": "a\u001b[2J"}}}),
        "profile p: model must be one line",
    ),
    "hostile name": (json.dumps({"profiles": {"a\u202eb": {"model": "m"}}}), "the name of a profile is printable"),
    "retries as text": (json.dumps({**FLAT, "maxRetries": CANARY}), "guide.json: maxRetries must be a number."),
    "too many retries": (json.dumps({**FLAT, "maxRetries": 10**400}), "guide.json: maxRetries must be a number."),
    "no retries": (json.dumps({**FLAT, "maxRetries": -1}), "max_attempts in [gateway] of guide.json cannot be used"),
    "timeout NaN": (json.dumps({**FLAT, "timeoutMs": float("nan")}), "guide.json: timeoutMs must be a number."),
    "two of a name": (
        json.dumps({"profiles": [{"name": "p"}, {"name": "p"}]}),
        "two profiles are called p. Rename one.",
    ),
    "no name": (json.dumps({"profiles": [{"model": "m"}]}), "guide.json: profile 1 has no name. Add one."),
    "profile of text": (json.dumps({"profiles": {"p": CANARY}}), "guide.json: profile p is not a table of settings."),
    "no profiles": ("{}", "guide.json holds no profiles. Known are JSON or YAML"),
    "empty profiles": ('{"profiles": []}', "guide.json holds no profiles."),
    "profiles of text": (f'{{"profiles": "{CANARY}"}}', "guide.json holds no profiles."),
    "a list": ("[1]", "guide.json holds no profiles."),
    "prose": (CANARY, "guide.json holds no profiles."),
    "empty": ("", "guide.json holds no profiles."),
    "broken JSON": ('{\n"profiles": ' + CANARY, "guide.json, line 2: not valid JSON. Correct it."),
    "broken YAML": (f"profiles:\n  a: [{CANARY}\n", "guide.json, line 3: not valid YAML. Correct it."),
    "control character in YAML": (f"profiles: \x01{CANARY}", "guide.json is not valid JSON or YAML"),
    "bad date": ("profiles: 2024-13-45", "guide.json is not valid JSON or YAML"),
    "deep JSON": ("[" * 100_000, "guide.json is not valid JSON or YAML, is nested too deeply"),
    "deep YAML": ("profiles: " + "[" * 20_000, "guide.json is not valid JSON or YAML, is nested too deeply"),
    "code": (f"profiles: !!python/object/apply:os.system ['{CANARY}']", "guide.json, line 1: not valid YAML."),
    "aliases": ("a: &a [x, x]\nprofiles: {p: *a}", "guide.json: YAML aliases (*name) are not read."),
    "merged": ("a: &a {model: m}\nprofiles: {p: {<<: *a}}", "guide.json: YAML aliases (*name) are not read."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_named_and_never_shown(case: str) -> None:
    text, said = REFUSED[case]
    found = complaint(text)
    assert said in found
    assert ("a key itself" in found) == (LITERAL in found)


NAMES = st.text(min_size=1, max_size=30).filter(lambda name: name.isprintable() and name == name.strip())


@given(name=NAMES, model=NAMES)
def test_any_printable_name_survives_the_conversion(name: str, model: str) -> None:
    toml = convert(json.dumps({"profiles": [{"name": f"p{name}", "model": f"m{model}"}]}), "guide.json").toml
    assert parse_config(toml, "misjudge.toml").profiles[f"p{name}"].model == f"m{model}"


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "guide.yaml"
    file.write_text(GUIDE, encoding="utf-8-sig", newline="\r\n")
    assert tomllib.loads(convert_file(file).toml)["roles"]["judge"] == "llm_judge"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe{", "The file guide.json is not UTF-8 text."),
        (b"\0\0", "The file guide.json holds NUL bytes"),
        (b" " * 1_000_001, "The file guide.json is larger than 1,000 kB."),
        (None, "The file guide.json cannot be read"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "guide.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        convert_file(file)
    assert str(caught.value).startswith(said)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a file"):
        convert_file(tmp_path)


def test_a_new_file_is_written_and_an_old_one_kept(tmp_path: Path) -> None:
    file = tmp_path / "misjudge.toml"
    write_new(file, "first\n")
    with pytest.raises(InvalidInput, match="exists already"):
        write_new(file, "second\n")
    assert file.read_bytes() == b"first\n"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_new(tmp_path / "gone" / "misjudge.toml", "x")


@pytest.mark.skipif(sys.platform == "win32" or os.name == "nt", reason="Windows links need a right of their own")
def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    tmp_path.joinpath("misjudge.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(InvalidInput, match="exists already"):
        write_new(tmp_path / "misjudge.toml", "x")
    assert not tmp_path.joinpath("elsewhere.toml").exists()
