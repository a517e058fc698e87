"""The rule for base URLs. No message repeats the URL: it is a value of the environment."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from misjudge_storage.errors import InvalidInput

_ADVICE = "Set TAOTOKEN_BASE_URL to the API address alone, as in https://taotoken.net/api."
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|messages|embeddings|models)$")
_VERSION = re.compile(r"/v\d+$")
_VERSION_TWICE = re.compile(r"/v\d+/v\d+$")


def normalise_base_url(url: str) -> str:
    """The address that `/chat/completions` is appended to: `/v1` is added unless the path ends in a version.

    Idempotent. Raises InvalidInput, with what to set instead, for a URL that cannot be a base URL.
    """
    text = url.strip()
    parts = _split(text)
    path = parts.path.rstrip("/")
    problem = _problem_with_parts(parts) or _problem_with_path(path)
    if problem:
        raise InvalidInput(f"{problem} {_ADVICE}")
    base = f"{parts.scheme}://{parts.netloc}{path}"
    return base if _VERSION.search(path) else f"{base}/v1"


def is_loopback(url: str) -> bool:
    """Whether the host is this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def other_form(base_url: str) -> str:
    """The same address with or without `/v1`: what to try once when the first answers 404."""
    return base_url.removesuffix("/v1") if base_url.endswith("/v1") else f"{base_url}/v1"


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise InvalidInput(f"The base URL is not a valid URL. {_ADVICE}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"[\s\\\x00-\x1f]", text):
        raise InvalidInput(f"The base URL must start with https:// or http://, then a host name. {_ADVICE}")
    return parts


def _problem_with_parts(parts: SplitResult) -> str | None:
    if parts.username is not None or parts.password is not None:
        return "The base URL holds a user name or password; a key belongs in TAOTOKEN_API_KEY."
    if "utm_" in parts.query:
        return "The base URL is a tracking link of a web page (utm_…), not an API address."
    if parts.query or parts.fragment:
        return "The base URL must end before any ? or #."
    return None


def _problem_with_path(path: str) -> str | None:
    if _VERSION_TWICE.search(path):
        return "The base URL ends in a version twice, as in /v1/v1; keep one."
    if _ENDPOINT.search(path):
        return "The base URL ends in an endpoint such as /chat/completions; leave that part out."
    return None
