from __future__ import annotations

import os
from pathlib import Path

import pytest

from misjudge_server.deps import build_deps, close_deps
from misjudge_server.settings import load_settings
from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.settings import Endpoint
from misjudge_tools.profiles import ModelSettings, Profile

SECRET = "sk-canary-4711"


def judge() -> Profile:
    return load_settings().models.role("judge")


def key() -> str | None:
    found = judge().endpoint.key
    return found.get_secret_value() if found else None


def dotenv(folder: Path, *lines: str) -> None:
    folder.joinpath(".env").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_without_any_setting_the_defaults_are_in_force(folder: Path) -> None:
    settings = load_settings()
    here = Profile(endpoint=Endpoint(base_url="https://taotoken.net/api/v1"))
    assert settings.models == ModelSettings(roles=dict.fromkeys(("agent", "user_sim", "judge"), here))
    assert (settings.store, settings.roots, settings.config) == (".misjudge/misjudge.db", (folder,), None)


def test_the_environment_wins_over_dotenv(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv(folder, "TAOTOKEN_API_KEY=from-file", "MISJUDGE_TIMEOUT_S=7")
    assert (key(), judge().endpoint.timeout_s) == ("from-file", 7.0)
    monkeypatch.setenv("TAOTOKEN_API_KEY", "from-environment")
    assert (key(), judge().endpoint.timeout_s) == ("from-environment", 7.0)


@pytest.mark.parametrize(
    "name", ["TAOTOKEN_API_KEY", "MISJUDGE_TIMEOUT_S", "MISJUDGE_STORE", "JUDGE_MODEL", "MISJUDGE_CONFIG"]
)
def test_an_empty_value_is_unset(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plain = load_settings()
    monkeypatch.setenv(name, "")
    dotenv(folder, f"{name}=")
    assert load_settings() == plain


def test_an_empty_value_of_the_environment_lets_dotenv_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", "")
    dotenv(folder, "TAOTOKEN_API_KEY=from-file", "TAOTOKEN_BASE_URL=https://gateway.example/api")
    assert key() == "from-file"


def test_the_judge_model_comes_from_the_first_name_that_is_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TAOTOKEN_MODEL", "JUDGE_MODEL", "TAOTOKEN_JUDGE_MODEL"):
        monkeypatch.setenv(name, f"of {name}")
        assert judge().model == f"of {name}"


@pytest.mark.parametrize(
    "other", ["KEY", "key", "taotoken_api_key", "Taotoken_Api_Key", "API_KEY", "OPENAI_API_KEY", "STORE", "BASE_URL"]
)
def test_a_variable_of_another_name_sets_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    plain = load_settings()
    if os.name != "nt" or other.upper() != "TAOTOKEN_API_KEY":  # Windows does not tell the cases apart
        monkeypatch.setenv(other, SECRET)
    dotenv(folder, f"{other}={SECRET}")
    assert load_settings() == plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MISJUDGE_TIMEOUT_S", SECRET),
        ("MISJUDGE_TIMEOUT_S", "-1"),
        ("MISJUDGE_CONCURRENCY", "0"),
        ("MISJUDGE_CONCURRENCY", SECRET),
        ("MISJUDGE_TRUST_ENV", SECRET),
    ],
)
def test_a_value_that_cannot_be_used_is_named_and_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=f"^The setting {name} cannot be used: Input should be") as caught:
        load_settings()
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_all_values_that_cannot_be_used_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISJUDGE_TIMEOUT_S", "x")
    monkeypatch.setenv("MISJUDGE_CONCURRENCY", "y")
    with pytest.raises(InvalidInput, match="MISJUDGE_CONCURRENCY, MISJUDGE_TIMEOUT_S"):
        load_settings()


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_a_dotenv_that_is_not_utf8_is_refused(folder: Path, encoding: str) -> None:
    folder.joinpath(".env").write_text("TAOTOKEN_API_KEY=schlüssel\n", encoding=encoding)
    with pytest.raises(InvalidInput, match=r"\.env is not UTF-8 text\. Save it as UTF-8"):
        load_settings()


def test_a_dotenv_as_windows_editors_save_it_is_read(folder: Path) -> None:
    folder.joinpath(".env").write_text("TAOTOKEN_API_KEY=k\r\nJUDGE_MODEL=m\r\n", encoding="utf-8-sig", newline="")
    assert (key(), judge().model) == ("k", "m")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that exists and cannot be read")
def test_a_dotenv_that_cannot_be_read_is_named(folder: Path) -> None:
    folder.joinpath(".env").symlink_to("/proc/self/mem")
    with pytest.raises(InvalidInput, match=r"^The file \.env cannot be read"):
        load_settings()


def test_a_key_of_the_environment_is_not_sent_where_dotenv_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", SECRET)
    dotenv(folder, "TAOTOKEN_BASE_URL=https://collect.example/api")
    with pytest.raises(InvalidInput, match=r"Set both in the environment, or put the key into \.env too") as caught:
        load_settings()
    assert SECRET not in str(caught.value)
    assert "collect.example" not in str(caught.value)
    dotenv(folder, "TAOTOKEN_BASE_URL=https://collect.example/api", "TAOTOKEN_API_KEY=of-the-folder")
    with pytest.raises(InvalidInput, match="to an address that this folder chose"):
        load_settings()


def test_key_and_address_from_one_place_are_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv(folder, "TAOTOKEN_BASE_URL=https://gateway.example/api", "TAOTOKEN_API_KEY=of-the-folder")
    assert (judge().endpoint.base_url, key()) == ("https://gateway.example/api/v1", "of-the-folder")
    monkeypatch.setenv("TAOTOKEN_API_KEY", SECRET)
    monkeypatch.setenv("TAOTOKEN_BASE_URL", "https://mine.example/api")
    assert (judge().endpoint.base_url, key()) == ("https://mine.example/api/v1", SECRET)


def test_a_key_that_dotenv_holds_too_is_the_folders_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", SECRET)
    dotenv(folder, "TAOTOKEN_BASE_URL=https://gateway.example/api", f"TAOTOKEN_API_KEY={SECRET}")
    assert (judge().endpoint.base_url, key()) == ("https://gateway.example/api/v1", SECRET)


@pytest.mark.parametrize("reference", ["${TAOTOKEN_API_KEY}", "${OTHER_SECRET}", '"${OTHER_SECRET}"', "${NO:-x}"])
def test_dotenv_cannot_borrow_a_secret_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    monkeypatch.setenv("OTHER_SECRET", SECRET)
    dotenv(folder, "TAOTOKEN_BASE_URL=https://collect.example/api", f"TAOTOKEN_API_KEY={reference}")
    assert key() == reference.strip('"')
    monkeypatch.setenv("TAOTOKEN_API_KEY", SECRET)
    with pytest.raises(InvalidInput, match="an address that this folder chose"):
        load_settings()


def write_toml(folder: Path, *lines: str, name: str = "misjudge.toml") -> Path:
    file = folder / name
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


ELSEWHERE = ("[roles]", 'judge = "x"', "[profiles.x]", 'model = "m"', 'base_url = "https://gateway.example/api"')


def test_a_key_of_the_environment_is_not_sent_where_the_folders_file_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_toml(folder, *ELSEWHERE)
    assert (judge().endpoint.base_url, key()) == ("https://gateway.example/api/v1", None)
    monkeypatch.setenv("TAOTOKEN_API_KEY", SECRET)
    with pytest.raises(
        InvalidInput, match=r"the base URL of profile x from misjudge\.toml.*set MISJUDGE_CONFIG"
    ) as caught:
        load_settings()
    assert SECRET not in str(caught.value)
    assert "gateway.example" not in str(caught.value)
    dotenv(folder, f"TAOTOKEN_API_KEY={SECRET}")
    assert key() == SECRET


def test_a_file_that_the_environment_names_is_trusted(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_toml(tmp_path_factory.mktemp("mine"), *ELSEWHERE, name="judges.toml")
    monkeypatch.setenv("TAOTOKEN_API_KEY", SECRET)
    monkeypatch.setenv("MISJUDGE_CONFIG", str(file))
    write_toml(folder, "this is not read")
    settings = load_settings()
    assert settings.config == "judges.toml"
    assert settings.models.role("judge").endpoint.base_url == "https://gateway.example/api/v1"
    assert settings.models.role("judge").origins["model"] == "profile x (judges.toml)"
    dotenv(folder, "TAOTOKEN_BASE_URL=https://collect.example/api")
    with pytest.raises(InvalidInput, match=r"TAOTOKEN_BASE_URL from \.env"):
        load_settings()


def test_the_folder_cannot_have_its_own_file_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_toml(folder, *ELSEWHERE)
    dotenv(folder, f"MISJUDGE_CONFIG={file}")
    with pytest.raises(InvalidInput, match=r"MISJUDGE_CONFIG comes from \.env"):
        load_settings()
    monkeypatch.setenv("MISJUDGE_CONFIG", str(file))
    assert load_settings().config == "misjudge.toml"


def test_a_relative_path_is_not_trusted_in_every_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_toml(folder, *ELSEWHERE)
    for relative in ("misjudge.toml", "~nobody-at-all/misjudge.toml"):
        monkeypatch.setenv("MISJUDGE_CONFIG", relative)
        with pytest.raises(InvalidInput, match="MISJUDGE_CONFIG must be a whole path"):
            load_settings()


def test_a_file_that_is_named_and_missing_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISJUDGE_CONFIG", str(folder / "gone.toml"))
    with pytest.raises(InvalidInput, match=r"^The file gone\.toml cannot be read"):
        load_settings()


def test_a_folder_called_dotenv_is_none_of_ours(folder: Path) -> None:
    folder.joinpath(".env").mkdir()
    assert load_settings().models.role("judge").model is None


def test_a_line_of_dotenv_that_cannot_be_read_is_not_logged(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    dotenv(folder, f"={SECRET}", f"'{SECRET}", "JUDGE_MODEL=m")
    assert judge().model == "m"
    assert SECRET not in caplog.text


def test_a_huge_dotenv_is_refused(folder: Path) -> None:
    folder.joinpath(".env").write_bytes(b"A=1\n" * 300_000)
    with pytest.raises(InvalidInput, match=r"The file \.env is larger than 1,000 kB"):
        load_settings()


def test_the_folder_cannot_open_other_folders_to_the_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv(folder, "MISJUDGE_ROOTS=/")
    with pytest.raises(InvalidInput, match=r"MISJUDGE_ROOTS comes from \.env"):
        load_settings()
    monkeypatch.setenv("MISJUDGE_ROOTS", "/data")
    assert load_settings().roots == (folder, Path("/data"))


def test_roots_are_the_working_directory_and_those_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISJUDGE_ROOTS", os.pathsep.join(["/data", "", "/more"]))
    assert load_settings().roots == (folder, Path("/data"), Path("/more"))


def test_the_key_shows_in_no_repr(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAOTOKEN_API_KEY", SECRET)
    settings = load_settings()
    assert SECRET not in f"{settings!r} {settings} {settings.model_dump_json()}"


@pytest.mark.parametrize("form", ["{}/sub/store.db", "sqlite:///{}/store.db"])
async def test_the_store_is_a_path_or_a_url(folder: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("MISJUDGE_STORE", form.format(folder.as_posix()))
    deps = build_deps(load_settings(), confined=True)
    try:
        assert list(folder.rglob("store.db"))
        assert deps.roots == (folder,)
    finally:
        await close_deps(deps)


async def test_the_default_store_lies_in_a_folder_that_git_ignores(folder: Path) -> None:
    deps = build_deps(load_settings(), confined=False)
    try:
        assert folder.joinpath(".misjudge", "misjudge.db").exists()
        assert folder.joinpath(".misjudge", ".gitignore").read_text(encoding="utf-8") == "*\n"
        assert deps.roots is None
    finally:
        await close_deps(deps)


def test_a_database_elsewhere_is_not_taken_from_dotenv(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = f"postgresql://user:{SECRET}@collect.example/db"
    dotenv(folder, f"MISJUDGE_STORE={elsewhere}")
    with pytest.raises(InvalidInput, match="a database elsewhere") as caught:
        load_settings()
    assert SECRET not in str(caught.value) and "collect" not in str(caught.value)
    monkeypatch.setenv("MISJUDGE_STORE", elsewhere)
    assert load_settings().store == elsewhere
    monkeypatch.delenv("MISJUDGE_STORE")
    for here in ("s.db", "sqlite:///s.db"):
        dotenv(folder, f"MISJUDGE_STORE={here}")
        assert load_settings().store == here
