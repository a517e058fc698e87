"""Which statement wins, and where each value is said to come from."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_server.config_file import LoadedConfig, parse_config
from misjudge_server.resolution import resolve
from misjudge_server.variables import MODEL_VARIABLES, ROLE_VARIABLES, Variables
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.settings import Endpoint, Price
from misjudge_tools.judging.verdicts import ReplyForm
from misjudge_tools.profiles import ModelSettings, Profile, PromptText

CANARY = "sk-canary-4711"
DEFAULT = "https://taotoken.net/api/v1"
FILE = """
[gateway]
model = "of-the-gateway"
[roles]
judge = "strong"
[profiles.strong]
model = "m-strong"
[profiles.cheap]
model = "m-cheap"
"""


def settled(
    toml: str | None = None,
    environment: Mapping[str, str] | None = None,
    dotenv: Mapping[str, str] | None = None,
    *,
    trusted: bool = False,
    prompts: Mapping[str, PromptText] | None = None,
) -> ModelSettings:
    name = "misjudge.toml"
    config = None if toml is None else LoadedConfig(name, parse_config(toml, name), prompts or {}, trusted)
    return resolve(Variables(environment or {}, dotenv or {}), config)


def judge(
    toml: str | None = None,
    environment: Mapping[str, str] | None = None,
    dotenv: Mapping[str, str] | None = None,
    *,
    trusted: bool = False,
) -> Profile:
    return settled(toml, environment, dotenv, trusted=trusted).role("judge")


def test_with_nothing_stated_every_role_has_the_defaults_and_no_origins() -> None:
    nothing = Profile(endpoint=Endpoint(base_url=DEFAULT))
    assert settled() == ModelSettings(roles={"agent": nothing, "user_sim": nothing, "judge": nothing})


LADDER = [
    ({"TAOTOKEN_JUDGE_MODEL": "a"}, {}, "a", "TAOTOKEN_JUDGE_MODEL (environment)"),
    ({"JUDGE_MODEL": "b"}, {"TAOTOKEN_JUDGE_MODEL": "x"}, "b", "JUDGE_MODEL (environment)"),
    ({"TAOTOKEN_MODEL": "y"}, {"TAOTOKEN_JUDGE_MODEL": "c"}, "c", "TAOTOKEN_JUDGE_MODEL (.env)"),
    ({"TAOTOKEN_MODEL": "y"}, {"JUDGE_MODEL": "d"}, "d", "JUDGE_MODEL (.env)"),
    ({"TAOTOKEN_MODEL": "y"}, {"TAOTOKEN_MODEL": "z"}, "m-strong", "profile strong (misjudge.toml)"),
]


@pytest.mark.parametrize(("environment", "dotenv", "model", "origin"), LADDER)
def test_a_roles_own_variable_wins_over_its_profile_and_that_over_the_model_of_all_roles(
    environment: dict[str, str], dotenv: dict[str, str], model: str, origin: str
) -> None:
    found = judge(FILE, environment, dotenv)
    assert (found.model, found.origins["model"]) == (model, origin)
    assert found.name == ("strong" if model == "m-strong" else None)


@pytest.mark.parametrize(
    ("environment", "dotenv", "model", "origin"),
    [
        (
            {"TAOTOKEN_MODEL": "a", "TAOTOKEN_MODEL_ID": "x"},
            {"TAOTOKEN_MODEL": "y"},
            "a",
            "TAOTOKEN_MODEL (environment)",
        ),
        ({"TAOTOKEN_MODEL_ID": "b"}, {"TAOTOKEN_MODEL": "y"}, "b", "TAOTOKEN_MODEL_ID (environment)"),
        ({}, {"TAOTOKEN_MODEL_ID": "c"}, "c", "TAOTOKEN_MODEL_ID (.env)"),
        ({}, {}, "of-the-gateway", "[gateway] (misjudge.toml)"),
    ],
)
def test_a_role_without_a_statement_has_the_model_of_all_roles_and_then_the_gateways(
    environment: dict[str, str], dotenv: dict[str, str], model: str, origin: str
) -> None:
    found = settled(FILE, environment, dotenv).role("agent")
    assert (found.name, found.model, found.origins) == (None, model, {"model": origin})


@pytest.mark.parametrize(("role", "variables"), ROLE_VARIABLES.items())
def test_each_role_has_its_own_variables(role: str, variables: tuple[str, ...]) -> None:
    for variable in variables:
        models = settled(environment={variable: "m"}).roles
        assert {name: profile.model for name, profile in models.items() if profile.model} == {role: "m"}


@pytest.mark.parametrize("variable", ["JUDGE_MODEL", "TAOTOKEN_JUDGE_MODEL", *MODEL_VARIABLES])
def test_a_variable_that_holds_a_profiles_name_means_the_profile(variable: str) -> None:
    toml = FILE.replace('judge = "strong"', "")
    found = judge(toml, {variable: "cheap"})
    assert (found.name, found.model) == ("cheap", "m-cheap")
    assert found.origins["name"] == f"{variable} (environment)"
    assert found.origins["model"] == "profile cheap (misjudge.toml)"


def test_a_role_says_that_the_roles_table_chose_its_profile() -> None:
    models = settled(FILE)
    assert models.role("judge").origins["name"] == "[roles] (misjudge.toml)"
    assert models.role("judge") == models.profiles["strong"].model_copy(
        update={"origins": {**models.profiles["strong"].origins, "name": "[roles] (misjudge.toml)"}}
    )
    assert "name" not in models.profiles["strong"].origins


@pytest.mark.parametrize(
    ("environment", "model"),
    [({"TAOTOKEN_MODEL": "x"}, "x"), ({"TAOTOKEN_MODEL": "other"}, "of-the-gateway"), ({}, "of-the-gateway")],
)
def test_a_profile_without_a_model_has_the_model_of_all_roles(environment: dict[str, str], model: str) -> None:
    toml = '[gateway]\nmodel = "of-the-gateway"\n[profiles.warm]\ntemperature = 1\n[profiles.other]\nmodel = "o"'
    assert settled(toml, environment).profiles["warm"].model == model


CONNECTION = """
[gateway]
timeout_s = 10
deadline_s = 11
[roles]
judge = "p"
[profiles.p]
timeout_s = 20
"""


def test_a_profiles_own_connection_stands_and_the_rest_comes_from_the_most_specific_place() -> None:
    found = judge(CONNECTION, {"MISJUDGE_TIMEOUT_S": "30", "MISJUDGE_CONCURRENCY": "4"}, {"MISJUDGE_DEADLINE_S": "40"})
    endpoint = found.endpoint
    assert (endpoint.timeout_s, endpoint.deadline_s, endpoint.concurrency, endpoint.max_attempts) == (20, 40, 4, 4)
    assert found.origins == {
        "name": "[roles] (misjudge.toml)",
        "timeout_s": "profile p (misjudge.toml)",
        "deadline_s": "MISJUDGE_DEADLINE_S (.env)",
        "concurrency": "MISJUDGE_CONCURRENCY (environment)",
    }
    plain = settled(CONNECTION, {}, {"MISJUDGE_TIMEOUT_S": "30"}).role("agent")
    assert (plain.endpoint.timeout_s, plain.endpoint.deadline_s) == (30, 11)
    assert plain.origins == {"timeout_s": "MISJUDGE_TIMEOUT_S (.env)", "deadline_s": "[gateway] (misjudge.toml)"}


def test_every_limit_has_a_variable() -> None:
    endpoint = judge(
        environment={
            "MISJUDGE_TIMEOUT_S": "1.5",
            "MISJUDGE_DEADLINE_S": "2",
            "MISJUDGE_MAX_ATTEMPTS": "3",
            "MISJUDGE_CONCURRENCY": "4",
            "MISJUDGE_REQUESTS_PER_MINUTE": "5",
            "MISJUDGE_TOKENS_PER_MINUTE": "6",
            "MISJUDGE_TRUST_ENV": "0",
            "TAOTOKEN_BASE_URL": "https://gateway.example/v1",
        }
    ).endpoint
    assert endpoint == Endpoint(
        base_url="https://gateway.example/v1",
        timeout_s=1.5,
        deadline_s=2,
        max_attempts=3,
        concurrency=4,
        requests_per_minute=5,
        tokens_per_minute=6,
        trust_env=False,
    )


def test_what_only_a_profile_states_is_the_profiles() -> None:
    toml = (
        '[roles]\njudge="p"\n[profiles.p]\ntemperature=0.3\nmax_tokens=9\nfamily="f"\nreply_form="tag"\nprompt="x.md"'
    )
    found = settled(toml, prompts={"p": PromptText(name="x", text="t")}).role("judge")
    assert (found.temperature, found.max_tokens, found.family) == (0.3, 9, "f")
    assert (found.reply_form, found.prompt) == (ReplyForm(kind="tag"), PromptText(name="x", text="t"))
    stated = ("temperature", "max_tokens", "family", "reply_form", "prompt")
    assert {name: found.origins[name] for name in stated} == dict.fromkeys(stated, "profile p (misjudge.toml)")


PRICED = """
[profiles.own]
model = "m"
price_in = 1
price_out = 2
[profiles.listed]
model = "m"
[profiles.unlisted]
model = "other"
[profiles.nameless]
[prices.m]
in = 3
out = 4
"""


def test_a_profiles_own_price_wins_over_the_list_and_none_stays_none() -> None:
    models = settled(PRICED, {"JUDGE_MODEL": "m", "CANDIDATE_MODEL": "free"})
    prices = {name: profile.price for name, profile in models.profiles.items()}
    assert prices == {
        "own": Price(input=1, output=2),
        "listed": Price(input=3, output=4),
        "unlisted": None,
        "nameless": None,
    }
    assert models.profiles["own"].origins["price"] == "profile own (misjudge.toml)"
    assert models.profiles["listed"].origins["price"] == "[prices] (misjudge.toml)"
    assert (models.role("judge").price, models.role("agent").price) == (Price(input=3, output=4), None)
    assert models.prices == {"m": Price(input=3, output=4, source="misjudge.toml")}


@pytest.mark.parametrize(
    ("environment", "dotenv", "origin"),
    [
        ({"SECOND_API_KEY": CANARY}, {"SECOND_API_KEY": "x"}, "SECOND_API_KEY (environment)"),
        ({}, {"SECOND_API_KEY": CANARY}, "SECOND_API_KEY (.env)"),
    ],
)
def test_the_key_is_that_of_the_variable_that_is_named(
    environment: dict[str, str], dotenv: dict[str, str], origin: str
) -> None:
    other = {"TAOTOKEN_API_KEY": "of-the-gateway"}
    models = settled('[profiles.p]\nkey_env = "SECOND_API_KEY"', {**environment, **other}, dotenv)
    profile, role = models.profiles["p"], models.role("judge")
    assert profile.endpoint.key is not None
    assert role.endpoint.key is not None
    assert profile.endpoint.key.get_secret_value() == CANARY
    assert (profile.endpoint.key_variable, profile.origins["key"]) == ("SECOND_API_KEY", origin)
    assert profile.origins["key_variable"] == "profile p (misjudge.toml)"
    assert (role.endpoint.key.get_secret_value(), role.origins["key"]) == (
        "of-the-gateway",
        "TAOTOKEN_API_KEY (environment)",
    )


def test_a_profile_whose_key_is_not_set_is_kept() -> None:
    endpoint = settled('[profiles.p]\nkey_env = "UNSET_KEY"').profiles["p"].endpoint
    assert (endpoint.key, endpoint.key_variable) == (None, "UNSET_KEY")


ELSEWHERE = '[profiles.p]\nmodel = "m"\nbase_url = "https://collect.example/api"'
GATEWAY = '[gateway]\nbase_url = "https://collect.example/api"'
DEFAULTS = '[gateway]\nbase_url = "https://taotoken.net/api/v1/"\n[profiles.p]\nbase_url = "https://taotoken.net/api"'
KEY = {"TAOTOKEN_API_KEY": CANARY}
URL = {"TAOTOKEN_BASE_URL": "https://mine.example/api"}
LEGAL = [
    (None, {**KEY, **URL}, {}, False),
    (None, {}, {**KEY, **URL}, False),
    (None, URL, KEY, False),
    (ELSEWHERE, {}, KEY, False),
    (GATEWAY, {}, KEY, False),
    (GATEWAY, {**KEY, **URL}, {}, False),
    (DEFAULTS, KEY, {}, False),
    (None, KEY, {"TAOTOKEN_BASE_URL": "https://taotoken.net/api/"}, False),
    (ELSEWHERE, KEY, {}, True),
    (GATEWAY, KEY, {}, True),
    (ELSEWHERE, KEY, KEY, False),
    (ELSEWHERE, {}, {}, False),
    (ELSEWHERE + '\nkey_env = "OF_FOLDER"', KEY, {"OF_FOLDER": "k"}, False),
]


@pytest.mark.parametrize(("toml", "environment", "dotenv", "trusted"), LEGAL)
def test_key_and_address_of_one_place_the_default_and_a_trusted_file_are_taken(
    toml: str | None, environment: dict[str, str], dotenv: dict[str, str], trusted: bool
) -> None:
    assert settled(toml, environment, dotenv, trusted=trusted).roles


BORROWED = '[profiles.p]\nbase_url = "https://collect.example"\nkey_env = "OPENAI_API_KEY"'
REFUSED = [
    (ELSEWHERE, KEY, {}, False, "the base URL of profile p from misjudge.toml"),
    (ELSEWHERE, {**KEY, **URL}, {}, False, "the base URL of profile p from misjudge.toml"),
    (ELSEWHERE, KEY, {"TAOTOKEN_API_KEY": "other"}, False, "the base URL of profile p from misjudge.toml"),
    (GATEWAY, KEY, {}, False, "the base URL of the role agent from misjudge.toml"),
    (GATEWAY + '\n[profiles.p]\nmodel = "m"', KEY, {}, False, "the base URL of profile p from misjudge.toml"),
    (BORROWED, {"OPENAI_API_KEY": CANARY}, {}, False, "OPENAI_API_KEY comes from the environment"),
    (None, KEY, URL, False, "TAOTOKEN_BASE_URL from .env"),
    (ELSEWHERE, KEY, URL, True, "TAOTOKEN_BASE_URL from .env"),
    (
        DEFAULTS.replace("taotoken.net", "taotoken.net.collect.example"),
        KEY,
        {},
        False,
        "an address that this folder chose",
    ),
    (DEFAULTS.replace("https", "http"), KEY, {}, False, "an address that this folder chose"),
]


@pytest.mark.parametrize(("toml", "environment", "dotenv", "trusted", "said"), REFUSED)
def test_a_key_of_the_environment_goes_to_no_address_that_only_the_folder_names(
    toml: str | None, environment: dict[str, str], dotenv: dict[str, str], trusted: bool, said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        settled(toml, environment, dotenv, trusted=trusted)
    assert said in str(caught.value)
    assert "ut the key into .env too" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert ".example" not in str(caught.value)


@pytest.mark.parametrize("toml", ['[profiles.p]\nkey_env = "GITHUB_TOKEN"', '[gateway]\nkey_env = "GITHUB_TOKEN"'])
def test_a_file_of_the_folder_takes_no_other_secret_of_the_environment_for_a_key(toml: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        settled(toml, {"GITHUB_TOKEN": CANARY})
    assert "GITHUB_TOKEN" in str(caught.value) and "end in API_KEY" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert settled(toml, {"GITHUB_TOKEN": CANARY}, trusted=True).roles
    assert settled(toml, {}, {"GITHUB_TOKEN": "of the folder"}).roles


@pytest.mark.parametrize("name", ["TAOTOKEN_JUDGE_MODEL", "TAOTOKEN_MODEL", "CANDIDATE_MODEL"])
def test_a_key_in_place_of_a_model_is_refused_without_showing_it(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} .environment. holds the key in place of a model") as caught:
        settled(None, {"TAOTOKEN_API_KEY": CANARY, name: CANARY})
    assert CANARY not in str(caught.value)


PLACES = st.sampled_from(["nowhere", "environment", ".env", "both"])


@given(key=PLACES, url=PLACES, gateway=st.booleans(), own=st.booleans(), own_key=PLACES)
def test_no_mixture_sends_a_key_of_the_environment_to_the_folders_address(
    key: str, url: str, gateway: bool, own: bool, own_key: str
) -> None:
    environment, dotenv = {}, {}
    for name, place, value in (
        ("TAOTOKEN_API_KEY", key, "secret-1"),
        ("OWN_API_KEY", own_key, "secret-2"),
        ("TAOTOKEN_BASE_URL", url, "https://{}.example"),
    ):
        if place in {"environment", "both"}:
            environment[name] = value.format("mine")
        if place in {".env", "both"}:
            dotenv[name] = value.format("folder") + ("-of-the-folder" if value.startswith("secret") else "")
    toml = '[gateway]\nbase_url = "https://folder.example"\n' if gateway else ""
    toml += '[profiles.p]\nkey_env = "OWN_API_KEY"\n' + ('base_url = "https://folder.example"' if own else "")
    try:
        models = settled(toml, environment, dotenv)
    except InvalidInput:
        return
    for profile in (*models.roles.values(), *models.profiles.values()):
        secret = profile.endpoint.key.get_secret_value() if profile.endpoint.key else ""
        assert "folder.example" not in profile.endpoint.base_url or secret in {"", *dotenv.values()}


@pytest.mark.parametrize(
    ("toml", "environment", "said"),
    [
        (
            '[profiles.p]\nbase_url = "https://x.example/v1/chat/completions"',
            {},
            "profile p (misjudge.toml): The base URL",
        ),
        (
            f'[profiles.p]\nbase_url = "https://u:{CANARY}@x.example"',
            {},
            "profile p (misjudge.toml): The base URL holds",
        ),
        ('[gateway]\nbase_url = "x"', {}, "[gateway] (misjudge.toml): The base URL must start with"),
        (
            None,
            {"TAOTOKEN_BASE_URL": f"https://x.example/?k={CANARY}"},
            "TAOTOKEN_BASE_URL (environment): The base URL",
        ),
    ],
)
def test_an_address_that_cannot_be_used_is_named_by_its_place(
    toml: str | None, environment: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        settled(toml, environment)
    assert str(caught.value).startswith(said)
    assert CANARY not in str(caught.value)
    assert "x.example" not in str(caught.value)


@pytest.mark.parametrize("variable", ["JUDGE_MODEL", "TAOTOKEN_MODEL"])
@pytest.mark.parametrize("value", [CANARY * 40, f"{CANARY}\udc80", f"{CANARY}\x1b[2J", " "])
def test_a_model_name_that_cannot_be_used_is_named_and_not_shown(variable: str, value: str) -> None:
    for toml in (None, "[profiles.p]"):
        with pytest.raises(InvalidInput, match=f"^The setting {variable} cannot be used: ") as caught:
            settled(toml, {variable: value})
        assert CANARY not in str(caught.value)


def test_leftovers_of_other_tools_are_named_without_their_values() -> None:
    assert settled(None, {"OPENAI_BASE_URL": CANARY}, {"ANTHROPIC_BASE_URL": CANARY}).leftovers == (
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
    )
    assert settled(None, {"OPENAI_BASE_URL": ""}).leftovers == ()


def test_no_repr_shows_a_key() -> None:
    models = settled(FILE, KEY)
    assert CANARY not in f"{models!r} {models} {models.model_dump_json()} {models.role('judge').origins}"
