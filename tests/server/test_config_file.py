"""`misjudge.toml` as people, editors and hostile repositories write it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from misjudge_server.config_file import Connection, load_config, parse_config
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.judging.verdicts import ReplyForm

CANARY = "sk-canary-4711"
ROOT = Path(__file__).parents[2]


def written(folder: Path, content: str | bytes) -> Path:
    file = folder / "misjudge.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def complaint(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_config(text, "misjudge.toml")
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        [gateway]
        base_url = "https://gateway.example/api"
        key_env = "MY_KEY"
        timeout_s = 90
        trust_env = false
        [roles]
        judge = "strong"
        [profiles.strong]
        model = "m"
        temperature = 0.5
        price_in = 2
        price_out = 0.25
        prompt = "prompts/own.md"
        reply_form = { kind = "regex", pattern = "(甲|乙)", labels = { "甲" = "A", "乙" = "B" } }
        [profiles.terse]
        reply_form = "letter"
        [prices."vendor/model-1.5"]
        in = 2.5
        out = 10
        """,
    )
    tmp_path.joinpath("prompts").mkdir()
    tmp_path.joinpath("prompts", "own.md").write_text("Which is better?", encoding="utf-8")
    loaded = load_config(file, trusted=True)
    tables = loaded.tables
    assert (loaded.name, loaded.trusted) == ("misjudge.toml", True)
    assert (tables.gateway.base_url, tables.gateway.key_env) == ("https://gateway.example/api", "MY_KEY")
    assert (tables.gateway.timeout_s, tables.gateway.trust_env, tables.gateway.model) == (90, False, None)
    assert tables.roles.judge == "strong"
    assert tables.profiles["strong"].reply_form == ReplyForm(
        kind="regex", pattern="(甲|乙)", labels=(("甲", "A"), ("乙", "B"))
    )
    assert tables.profiles["terse"].reply_form == ReplyForm(kind="letter")
    assert (tables.prices["vendor/model-1.5"].input, tables.prices["vendor/model-1.5"].output) == (2.5, 10)
    assert {name: (prompt.name, prompt.text) for name, prompt in loaded.prompts.items()} == {
        "strong": ("own", "Which is better?")
    }


def test_the_example_can_be_read() -> None:
    example = ROOT / "misjudge.toml.example"
    tables = parse_config(example.read_text(encoding="utf-8"), example.name)
    assert tables.roles.judge in tables.profiles


BOUNDARIES = (-1, 0, 0.5, 1, 20, 21, 2000, 2001, 3600, 3600.5, 36_000, 36_001)
BOUNDED = sorted((Connection.model_fields.keys() & Endpoint.model_fields.keys()) - {"base_url", "trust_env"})


@pytest.mark.parametrize("field", BOUNDED)
@pytest.mark.parametrize("value", BOUNDARIES)
def test_the_bounds_are_those_of_the_endpoint(field: str, value: float) -> None:
    assert accepts(Connection, field, value) == accepts(Endpoint, field, value)


def accepts(model: type[BaseModel], field: str, value: float) -> bool:
    try:
        model.model_validate({field: value})
    except ValidationError:
        return False
    return True


SENTENCES = {
    "misspelt key": (
        '[gateway]\nmodle = "x"',
        "Unknown name modle in [gateway] of misjudge.toml. Did you mean 'model'?",
    ),
    "misspelt table": ("[gatway]", "Unknown name gatway of misjudge.toml. Did you mean 'gateway'? Allowed: gateway, "),
    "role of a guide": ('[roles]\nllm_judge = "x"', "Unknown name llm_judge in [roles] of misjudge.toml. Did you mean"),
    "temperature for all": ("[gateway]\ntemperature = 0", "Unknown name temperature in [gateway]"),
    "misspelt in a profile": ("[profiles.s]\nprice = 1", "Unknown name price in [profiles.s] of misjudge.toml."),
    "in a reply form": ("[profiles.s.reply_form]\nkid = 1", "Unknown name kid in [profiles.s.reply_form]"),
    "in a price": ("[prices.m]\nin = 1\nout = 2\ninput = 3", "Unknown name input in [prices.m]"),
    "text for a number": (f'[gateway]\ntimeout_s = "{CANARY}"', "timeout_s in [gateway] of misjudge.toml cannot be"),
    "yes for a number": (
        "[gateway]\ntimeout_s = true",
        "timeout_s in [gateway] of misjudge.toml cannot be used: Input",
    ),
    "infinite": ("[gateway]\ndeadline_s = inf", "should be a finite number"),
    "out of bounds": ("[profiles.s]\ntemperature = 3", "temperature in [profiles.s] of misjudge.toml cannot be used"),
    "one price": ("[profiles.s]\nprice_in = 1", "[profiles.s] of misjudge.toml cannot be used: give both price_in and"),
    "half a price": ("[prices.m]\nin = 1", "out in [prices.m] of misjudge.toml cannot be used: it is missing."),
    "negative price": (
        "[prices.m]\nin = -1\nout = 1",
        "in in [prices.m] of misjudge.toml cannot be used: Input should",
    ),
    "a number for a table": ("profiles = 3", "[profiles] of misjudge.toml cannot be used: it must be a table."),
    "a number for a profile": (
        "[profiles]\ns = 3",
        "[profiles.s] of misjudge.toml cannot be used: it must be a table.",
    ),
    "unknown form": (f'[profiles.s]\nreply_form = "{CANARY}"', "reply_form.kind in [profiles.s] of misjudge.toml"),
    "number as a form": ("[profiles.s]\nreply_form = 3", "reply_form in [profiles.s] of misjudge.toml cannot be used"),
    "broken pattern": (
        '[profiles.s]\nreply_form = {kind="regex", pattern="(x"}',
        "not a valid Python regular expression",
    ),
    "unknown label": ('[profiles.s.reply_form]\nkind="tag"\nlabels={x="Q"}', "reply_form.labels in [profiles.s]"),
    "unknown profile": (
        '[roles]\njudge = "strng"\n[profiles.strong]',
        "no profile. Did you mean 'strong'? Profiles: strong",
    ),
    "no profile yet": (
        f'[roles]\njudge = "{CANARY}"',
        "judge in [roles] of misjudge.toml names no profile. Profiles: none",
    ),
    "taken name": ("[profiles.local]", "the name of a profile is printable"),
    "control characters": (
        '[profiles."a\\u001b[2J"]',
        "[profiles.'a\\x1b[2J'] of misjudge.toml: the name of a profile",
    ),
    "twice": ("[gateway]\n[gateway]", "misjudge.toml is not valid TOML at line 2, column "),
    "unquoted": (f"[gateway]\nmodel = {CANARY}", "misjudge.toml is not valid TOML at line 2, column 9: Invalid value."),
    "cut off": ("[gateway", "misjudge.toml is not valid TOML at "),
    "deep": ("x = " + "[" * 50_000, "misjudge.toml is n"),
    "long number": ("x = 1" + "0" * 5000, "is nested too deeply, or holds a number that is too long"),
    "dots": ("a." * 40_000 + "a = 1", "misjudge.toml, line 1: more than 200 dots."),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_what_cannot_be_used_is_named_by_file_table_and_key(case: str) -> None:
    text, said = SENTENCES[case]
    assert said in complaint(text)


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
@pytest.mark.parametrize(("table", "key"), [("gateway", "model"), ("profiles.s", "model"), ("profiles.s", "family")])
def test_a_control_character_in_the_name_of_a_model_or_family_is_refused(table: str, key: str, code: int) -> None:
    said = complaint(f'[{table}]\n{key} = "{CANARY}\\u{code:04x}x"')
    assert said.startswith(f"{key} in [{table}] of misjudge.toml cannot be used: ") and CANARY not in said
    assert code == 0 or said.endswith("it must be a name without control characters.")


def test_spaces_around_names_do_not_count_and_families_are_small() -> None:
    (profile,) = parse_config('[profiles.s]\nmodel = " M x "\nfamily = " Qwen "', "misjudge.toml").profiles.values()
    assert (profile.model, profile.family) == ("M x", "qwen")
    assert "without control characters" in complaint('[profiles.s]\nfamily = " "')


def test_several_problems_are_named_up_to_five() -> None:
    said = complaint("[gateway]\n" + "\n".join(f"unknown_{number} = {number}" for number in range(9)))
    assert said.count("Unknown name") == 5


@pytest.mark.parametrize(
    "name", ["key", "api_key", "apiKey", "API-KEY", "token", "auth_token", "password", '"api key"']
)
@pytest.mark.parametrize(
    ("table", "owner"),
    [("[profiles.strong]", "Profile strong"), ("[gateway]", "[gateway]"), ("[roles]", "[roles]"), ("", "The file")],
)
def test_a_literal_key_is_refused_with_the_fix(name: str, table: str, owner: str) -> None:
    said = complaint(f'{table}\n{name} = "{CANARY}"')
    assert said.startswith(f"{owner} holds a key itself (")
    assert 'name its variable: key_env = "TAOTOKEN_API_KEY".' in said


def test_a_profile_may_be_called_key() -> None:
    assert list(parse_config('[profiles.key]\nmodel = "m"', "misjudge.toml").profiles) == ["key"]


@pytest.mark.parametrize("value", [CANARY, "sk_canary", "taotoken_api_key", "K", "K" * 70, "${TAOTOKEN_API_KEY}", ""])
@pytest.mark.parametrize("table", ["gateway", "profiles.strong"])
def test_a_key_in_place_of_its_variable_is_refused_with_the_fix(table: str, value: str) -> None:
    said = complaint(f'[{table}]\nkey_env = "{value}"')
    assert said.startswith(f"key_env in [{table}] of misjudge.toml cannot be used: it must be the NAME")
    assert value not in said or not value or value == "K"


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    file = written(tmp_path, b'\xef\xbb\xbf[gateway]\r\nmodel = "m"\r\n')
    assert load_config(file, trusted=False).tables.gateway.model == "m"


def test_an_empty_file_states_nothing(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, ""), trusted=False).tables.profiles == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('model = "schlüssel"'.encode("latin-1"), "The file misjudge.toml is not UTF-8 text. Save it as UTF-8."),
        ('model = "m"'.encode("utf-16"), "The file misjudge.toml is not UTF-8 text."),
        (b'model = "\0"', "The file misjudge.toml holds NUL bytes"),
        (bytes(range(256)), "The file misjudge.toml is not UTF-8 text."),
        (b"# long\n" * 20_000, "The file misjudge.toml is larger than 100 kB. Shorten it."),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_config(written(tmp_path, content), trusted=False)
    assert str(caught.value).startswith(said)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    tmp_path.joinpath("misjudge.toml").mkdir()
    with pytest.raises(InvalidInput, match=r"^misjudge\.toml is not a file"):
        load_config(tmp_path / "misjudge.toml", trusted=False)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "misjudge.toml")
    with pytest.raises(InvalidInput, match=r"^misjudge\.toml is not a file"):
        load_config(tmp_path / "misjudge.toml", trusted=False)


def prompt_complaint(folder: Path, stated: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        load_config(written(folder, f"[profiles.s]\nprompt = '{stated}'"), trusted=True)
    return str(caught.value)


def test_a_prompt_lies_under_the_folder_of_the_file(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = tmp_path / "outside.md"
    outside.write_text(CANARY, encoding="utf-8")
    for stated in ("../outside.md", str(outside), "x/../../outside.md"):
        said = prompt_complaint(inside, stated)
        assert (
            said
            == "prompt in [profiles.s] of misjudge.toml must name a file in the folder of misjudge.toml or below it."
        )


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a right of its own on Windows")
def test_a_prompt_is_not_read_through_a_link_that_leads_outside(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    tmp_path.joinpath("secret").write_text(CANARY, encoding="utf-8")
    inside.joinpath("link.md").symlink_to(tmp_path / "secret")
    assert "must name a file in the folder" in prompt_complaint(inside, "link.md")
    inside.joinpath("loop.md").symlink_to(inside / "loop.md")
    assert "prompt in [profiles.s] of misjudge.toml" in prompt_complaint(inside, "loop.md")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"x" * 100_001, "is larger than 100 kB"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        tmp_path.joinpath("own.md").write_bytes(content)
    found = prompt_complaint(tmp_path, "own.md")
    assert found.startswith("The file that prompt in [profiles.s] of misjudge.toml names")
    assert said in found


def test_a_prompt_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, '[profiles.s]\nprompt = "a\\u0000b"')
    with pytest.raises(InvalidInput, match=r"prompt in \[profiles\.s\] of misjudge\.toml"):
        load_config(file, trusted=False)
