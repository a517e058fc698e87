from __future__ import annotations

import pytest

from misjudge_storage.errors import InvalidInput
from misjudge_tools.gateway.addresses import is_loopback, normalise_base_url, other_form


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://taotoken.net/api", "https://taotoken.net/api/v1"),
        ("https://taotoken.net/api/", "https://taotoken.net/api/v1"),
        ("  https://taotoken.net/api\n", "https://taotoken.net/api/v1"),
        ("https://taotoken.net/api/v1", "https://taotoken.net/api/v1"),
        ("https://taotoken.net/api/v1/", "https://taotoken.net/api/v1"),
        ("https://gateway.example", "https://gateway.example/v1"),
        ("https://gateway.example/paas/v4", "https://gateway.example/paas/v4"),
        ("https://gateway.example/v1beta/openai", "https://gateway.example/v1beta/openai/v1"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_a_base_url_ends_in_exactly_one_version(given: str, base: str) -> None:
    assert normalise_base_url(given) == base
    assert normalise_base_url(base) == base


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("https://h.example/v1/v1", "version twice"),
        ("https://h.example/api/v1/v1/", "version twice"),
        ("https://h.example/api?tenant=canary", "before any ? or #"),
        ("https://h.example/api#canary", "before any ? or #"),
        ("https://h.example/?utm_source=canary", "tracking link"),
        ("https://canary:canary@h.example/api", "TAOTOKEN_API_KEY"),
        ("https://canary@h.example/api", "TAOTOKEN_API_KEY"),
        ("https://h.example/api/v1/chat/completions", "leave that part out"),
        ("https://h.example/api/v1/responses/", "leave that part out"),
        ("ftp://h.example/canary", "https:// or http://"),
        ("h.example/canary", "https:// or http://"),
        ("https://", "https:// or http://"),
        ("", "https:// or http://"),
        ("https://h.example/can ary", "https:// or http://"),
        ("https://h.example:canary/api", "not a valid URL"),
        ("https://[canary/api", "not a valid URL"),
    ],
)
def test_an_address_that_cannot_work_is_refused_with_the_fix_and_without_repeating_it(given: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        normalise_base_url(given)
    assert said in str(refusal.value)
    assert "Set TAOTOKEN_BASE_URL" in str(refusal.value)
    assert "canary" not in str(refusal.value)


def test_this_machine_is_told_from_others() -> None:
    ours = ("http://localhost:1/v1", "http://127.0.0.1/v1", "http://127.9.9.9/v1", "http://[::1]:8/v1")
    assert all(is_loopback(url) for url in ours)
    assert not any(is_loopback(url) for url in ("https://taotoken.net/api", "http://10.0.0.1/v1", "http:///v1"))


def test_the_other_form_of_an_address_is_with_or_without_v1() -> None:
    assert other_form("https://h.example/api/v1") == "https://h.example/api"
    assert other_form("https://h.example/api") == "https://h.example/api/v1"
    assert other_form("https://h.example/v4") == "https://h.example/v4/v1"
