"""What a call costs, by hand, and which names the list of prices is trusted for."""

from __future__ import annotations

import socket
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
from genai_prices import Usage, __version__, calc_price
from genai_prices.data import providers
from hypothesis import given
from hypothesis import strategies as st

from misjudge_tools.gateway.pricing import Priced, Pricing
from misjudge_tools.gateway.settings import Price

TOKENS = st.integers(0, 10**9)
RATES = st.decimals(0, 10_000, places=4).map(float)
PRICES = st.builds(Price, input=RATES, output=RATES)
GPT_4O = f"genai-prices {__version__}: openai gpt-4o list price"


@pytest.mark.parametrize(
    ("price_in", "price_out", "input_tokens", "output_tokens", "usd"),
    [
        (2.5, 10, 1_000_000, 1_000_000, 12.5),
        (2.5, 10, 1200, 300, 0.006),
        (0.15, 0.6, 1, 1, 0.00000075),
        (0.1, 0.2, 3, 0, 0.0000003),
        (3, 15, 0, 0, 0.0),
        (0, 15, 10_000, 2, 0.00003),
        (0, 0, 10_000, 2, 0.0),
    ],
)
def test_the_cost_is_tokens_times_price_per_million(
    price_in: float, price_out: float, input_tokens: int, output_tokens: int, usd: float
) -> None:
    priced = Pricing("judge", Price(input=price_in, output=price_out)).of(input_tokens, output_tokens)
    assert priced == Priced(usd, "misjudge.toml")


@given(PRICES, TOKENS, TOKENS)
def test_the_cost_is_the_float_next_to_the_exact_one(price: Price, input_tokens: int, output_tokens: int) -> None:
    exact = Fraction(str(price.input)) * input_tokens + Fraction(str(price.output)) * output_tokens
    assert Pricing("judge", price).of(input_tokens, output_tokens).usd == float(exact / 10**6)


@given(PRICES, TOKENS, TOKENS, TOKENS, TOKENS)
def test_two_requests_cost_what_their_tokens_cost_together(price: Price, a: int, b: int, c: int, d: int) -> None:
    pricing = Pricing("judge", price)
    apart = _usd(pricing, a, b) + _usd(pricing, c, d)
    assert apart == pytest.approx(_usd(pricing, a + c, b + d), rel=1e-12, abs=0)


@given(st.sampled_from(["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "gpt-4o-mini"]), TOKENS, TOKENS, TOKENS)
def test_more_tokens_never_cost_less(model: str, a: int, b: int, more: int) -> None:
    pricing = Pricing(model)
    assert 0 <= _usd(pricing, a, b) <= _usd(pricing, a + more, b) <= _usd(pricing, a + more, b + more)


@pytest.mark.parametrize("tokens", [(None, 5), (5, None), (None, None)])
def test_a_token_count_that_was_not_stated_leaves_the_cost_unknown(tokens: tuple[int | None, int | None]) -> None:
    assert Pricing("judge", Price(input=1, output=2, source="prices.toml")).of(*tokens) == Priced(None, "prices.toml")
    assert Pricing("gpt-4o").of(*tokens) == Priced(None, GPT_4O)
    assert Pricing("nobody-knows-me").of(*tokens) == Priced(None, None)


def test_a_model_without_a_price_costs_an_unknown_sum_and_not_0() -> None:
    pricing = Pricing("nobody-knows-me")
    assert not pricing.known
    assert pricing.of(1000, 10) == Priced(None, None)


def test_a_configured_price_wins_over_the_list() -> None:
    pricing = Pricing("gpt-4o", Price(input=1, output=1))
    assert pricing.known
    assert pricing.of(1_000_000, 0) == Priced(1.0, "misjudge.toml")


def test_the_list_price_says_that_it_is_one() -> None:
    pricing = Pricing("gpt-4o")
    assert pricing.known
    assert pricing.of(1_000_000, 1_000_000) == Priced(12.5, GPT_4O)


@pytest.mark.parametrize(
    ("model", "placed"),
    [
        ("GPT-4o", "openai gpt-4o"),
        ("gpt-4o-2024-08-06", "openai gpt-4o"),
        ("openai/gpt-4o", "openai gpt-4o"),
        ("OpenAI/gpt-4o", "openai gpt-4o"),
        ("gpt-4-1106-preview", "openai gpt-4-turbo"),
        ("claude-3-5-sonnet-latest", "anthropic claude-3-5-sonnet"),
        ("anthropic/claude-sonnet-4.5", "anthropic claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "anthropic claude-sonnet-4-5"),
        ("google/gemini-2.5-pro", "google gemini-2.5-pro"),
        ("openrouter/openai/gpt-4o", "openrouter openai/gpt-4o"),
    ],
)
def test_a_name_in_its_usual_spellings_is_placed(model: str, placed: str) -> None:
    assert Pricing(model).of(1, 1).source == f"genai-prices {__version__}: {placed} list price"


@pytest.mark.parametrize(
    "model",
    [
        "",
        "/",
        "/gpt-4o",
        "openai/",
        "gpt-4o-super",
        "my-gpt-4o",
        "gemini-2.5-pro-my-finetune",
        "ft:gpt-4o-mini:org",
        "our-openai-proxy/gpt-4o",
        "a/b/c/gpt-4o",
        "gpt-4o\n",
        "\x1b[31mgpt-4o",
        "gpt\u20114o",
        "\N{KELVIN SIGN}imi-k2",
        "gpt-4o" + "x" * 10_000,
        "openai/" * 2000 + "gpt-4o",
        "claude" + "-2024" * 2000,
        "local",
        "simulated",
    ],
)
def test_a_name_that_is_not_exactly_a_listed_one_has_no_price(model: str) -> None:
    assert Pricing(model).of(1, 1) == Priced(None, None)


def test_a_model_that_is_listed_without_one_of_the_two_rates_has_no_price() -> None:
    assert calc_price(Usage(input_tokens=9, output_tokens=9), "gpt-4o", provider_id="github-copilot").total_price == 0
    assert not Pricing("github-copilot/gpt-4o").known
    assert not Pricing("mistral-nemo:free").known
    assert not Pricing("moderation").known


def test_a_price_by_tiers_goes_by_the_tokens_of_each_request() -> None:
    pricing = Pricing("gemini-2.5-pro")
    assert _usd(pricing, 200_000, 0) == 0.25
    assert _usd(pricing, 200_001, 0) == 0.5000025


def test_no_model_is_priced_other_than_the_library_would() -> None:
    names = [(model.id, provider.id) for provider in providers for model in provider.models]
    priced = [(name, provider, pricing) for name, provider in names if (pricing := Pricing(f"{provider}/{name}")).known]
    assert len(priced) > 1000
    for name, provider, pricing in priced:
        for tokens in ((0, 0), (1234, 56), (10**6, 10**4)):
            usage = Usage(input_tokens=tokens[0], output_tokens=tokens[1])
            assert _usd(pricing, *tokens) == float(calc_price(usage, name, provider_id=provider).total_price)


def test_no_price_is_looked_up_over_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Pricing("o3").of(1_000_000, 0).usd == 2.0
    assert Pricing("nobody-knows-me").of(1, 1).usd is None


NO_IMPORT = """
import sys, threading
from misjudge_tools.gateway.pricing import Pricing
from misjudge_tools.gateway.settings import Price
Pricing("gpt-4o", Price(input=1, output=1)).of(1, 1)
Pricing("x" * 10_000).of(1, 1)
made = Pricing("gpt-4o")
assert "genai_prices" not in sys.modules
assert made.known and "genai_prices" in sys.modules
assert threading.active_count() == 1
"""


def test_the_list_is_imported_only_when_it_is_needed_and_starts_no_thread() -> None:
    roots = repr([path for path in sys.path if path])
    code = f"import sys; sys.path[:] = {roots}\n{NO_IMPORT}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def _usd(pricing: Pricing, input_tokens: int, output_tokens: int) -> float:
    usd = pricing.of(input_tokens, output_tokens).usd
    assert usd is not None
    return usd
