"""The only reader of the environment and of `.env`.

A value of the environment wins over the same name in `.env` of the working directory. Empty values count as
unset. Values are never shown in messages: they may be keys.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.settings import GatewaySettings

DEFAULT_BASE_URL = "https://taotoken.net/api"
KEY_NAMES = ("TAOTOKEN_API_KEY",)
URL_NAMES = ("TAOTOKEN_BASE_URL",)
ROOTS_NAME = "MISJUDGE_ROOTS"
JUDGE_NAMES = ("TAOTOKEN_JUDGE_MODEL", "JUDGE_MODEL", "TAOTOKEN_MODEL")


def _named(*names: str, **more: Any) -> Any:
    return Field(validation_alias=AliasChoices(*names), **more)


class Settings(BaseSettings):
    """What is in force."""

    model_config = SettingsConfigDict(
        # Only the names below count, as written: an unrelated KEY or taotoken_api_key is no key of ours.
        env_file=".env",
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        extra="ignore",
        case_sensitive=True,
    )

    key: SecretStr | None = _named(*KEY_NAMES, default=None)
    base_url: str = _named(*URL_NAMES, default=DEFAULT_BASE_URL)
    judge_model: str | None = _named(*JUDGE_NAMES, default=None)
    store: str = _named("MISJUDGE_STORE", default=".misjudge/misjudge.db")
    root_list: str = _named(ROOTS_NAME, default="")
    timeout_s: float = _named("MISJUDGE_TIMEOUT_S", default=60.0, gt=0, le=3600)
    concurrency: int = _named("MISJUDGE_CONCURRENCY", default=32, ge=1, le=2000)
    trust_env: bool = _named("MISJUDGE_TRUST_ENV", default=True)

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders that the server may read files from: the working directory and those named."""
        return (Path.cwd(), *(Path(root).expanduser() for root in self.root_list.split(os.pathsep) if root))

    @property
    def gateway(self) -> GatewaySettings:
        """How models are reached."""
        return GatewaySettings(
            base_url=self.base_url,
            key=self.key,
            judge_model=self.judge_model,
            timeout_s=self.timeout_s,
            concurrency=self.concurrency,
            trust_env=self.trust_env,
        )


def load_settings() -> Settings:
    """The settings in force. Raises InvalidInput, naming the variable but never its value."""
    try:
        settings = Settings()
    except ValidationError as error:
        names = ", ".join(sorted({str(problem["loc"][0]) for problem in error.errors()}))
        problem = error.errors()[0]["msg"]
        raise InvalidInput(
            f"The setting {names} cannot be used: {problem}. Correct it in the environment or .env."
        ) from None
    except UnicodeDecodeError:
        raise InvalidInput("The file .env is not UTF-8 text. Save it as UTF-8.") from None
    except OSError as error:
        raise InvalidInput(f"The file .env cannot be read ({error.strerror}). Correct or remove it.") from None
    _refuse_redirected_key(settings)
    _refuse_widened_roots(settings)
    return settings


def _refuse_redirected_key(settings: Settings) -> None:
    """Raises InvalidInput where a `.env` would send the key of the environment to another address.

    Claude Code and Codex start servers in whatever repository is open; a `.env` in it must not be able to
    collect its reader's key.
    """
    key_outside = any(os.environ.get(name) for name in KEY_NAMES)
    url_outside = any(os.environ.get(name) for name in URL_NAMES)
    if key_outside and not url_outside and settings.base_url != DEFAULT_BASE_URL:
        raise InvalidInput(
            "TAOTOKEN_API_KEY comes from the environment but TAOTOKEN_BASE_URL from .env, which would send your key "
            "to an address that this folder chose. Set both in the environment, or both in .env."
        )


def _refuse_widened_roots(settings: Settings) -> None:
    """Raises InvalidInput where a `.env` would open other folders: it belongs to the folder that is confined."""
    if settings.root_list and not os.environ.get(ROOTS_NAME):
        raise InvalidInput(
            f"{ROOTS_NAME} comes from .env, by which this folder would open others to the server. "
            "Set it in the environment."
        )
