"""What a call costs: by the configured price, else by a list price of `genai-prices`, else unknown; and what else is
listed of a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from misjudge_tools.gateway.settings import Price

if TYPE_CHECKING:
    from genai_prices.types import MatchLogic, ModelInfo

MILLION = 1_000_000

_PLACEABLE = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@._:/-]{0,199}")
_DATED = re.compile(r"(-latest|[-@](\d{8}|\d{4}-\d{2}-\d{2}|\d{4}|\d{2}-\d{2}))$")


class Priced(NamedTuple):
    """`usd` None: not known, which is not 0. `source` says whose price it is by; None where no price is known."""

    usd: float | None
    source: str | None


class Pricing:
    """The price of one model. The first question without a configured price takes half a second (an import)."""

    def __init__(self, model: str, price: Price | None = None) -> None:
        self.model = model
        self._price = price

    @property
    def known(self) -> bool:
        """Whether the model has a price."""
        return self._tariff is not None

    def of(self, input_tokens: int | None, output_tokens: int | None) -> Priced:
        """The cost of one request, in/1e6 · price_in + out/1e6 · price_out; a token count of None was not stated."""
        tariff = self._tariff
        if tariff is None:
            return Priced(None, None)
        if input_tokens is None or output_tokens is None:
            return Priced(None, tariff.source)
        return Priced(float(tariff.usd(input_tokens, output_tokens)), tariff.source)

    @cached_property
    def _tariff(self) -> _Tariff | None:
        if self._price is None:
            return _listed(self.model)
        rate_in, rate_out = Decimal(str(self._price.input)), Decimal(str(self._price.output))
        return _Tariff(self._price.source, partial(_flat, rate_in, rate_out))


class _Tariff(NamedTuple):
    """Whose price it is, and USD by input and output tokens."""

    source: str
    usd: Callable[[int, int], Decimal]


def _flat(rate_in: Decimal, rate_out: Decimal, input_tokens: int, output_tokens: int) -> Decimal:
    return (rate_in * input_tokens + rate_out * output_tokens) / MILLION


class Listed(NamedTuple):
    """What a model takes, in tokens, and where that is listed."""

    tokens: int
    source: str


def listed_context(model: str) -> Listed | None:
    """The context of a model that the library places exactly. The first call takes half a second (an import)."""
    for found in _placed(model):
        if found.info.context_window is not None:
            return Listed(found.info.context_window, found.source)
    return None


def _listed(model: str) -> _Tariff | None:
    """The list price of a model that the library places exactly."""
    for found in _placed(model):
        if _has_both_rates(found.info):
            usd = _fixed_rates(found.info) or partial(_stepped, found.name, found.provider)
            return _Tariff(f"{found.source} list price", usd)
    return None


class _Placed(NamedTuple):
    """A model of the library with the name and provider under which it finds it."""

    info: ModelInfo
    name: str
    provider: str | None
    source: str


def _placed(model: str) -> Iterator[_Placed]:
    """The models of the library that bear exactly this name."""
    if _PLACEABLE.fullmatch(model) is None:
        return
    # Here, because it takes half a second; its tables come with it, and only its updater, never started, asks for more.
    from genai_prices import Usage, __version__, calc_price

    for name, provider in _placings(model):
        try:
            found = calc_price(Usage(input_tokens=0, output_tokens=0), name, provider_id=provider)
        except LookupError:
            continue
        if provider in {None, found.provider.id} and _is_named(found.model, name):
            source = f"genai-prices {__version__}: {found.provider.id} {found.model.id}"
            yield _Placed(found.model, name, provider, source)


def _stepped(name: str, provider: str | None, input_tokens: int, output_tokens: int) -> Decimal:
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    return calc_price(usage, name, provider_id=provider).total_price


def _placings(model: str) -> Iterator[tuple[str, str | None]]:
    """A model's name as it stands, and read as `provider/name`."""
    yield model, None
    provider, slash, name = model.partition("/")
    if slash and name:
        yield name, provider.lower()


def _is_named(model: ModelInfo, name: str) -> bool:
    """Whether the name is this model's, and not one that only begins like it, as that of a fine-tuned copy does."""
    return _undated(name) == _undated(model.id) or _lists(model.match, name)


def _undated(name: str) -> str:
    return _DATED.sub("", name.lower().replace(".", "-"))


def _lists(match: MatchLogic, name: str) -> bool:
    from genai_prices.types import ClauseEquals, ClauseOr

    if isinstance(match, ClauseOr):
        return any(_lists(clause, name) for clause in match.or_)
    return isinstance(match, ClauseEquals) and match.is_match(name)


def _has_both_rates(model: ModelInfo) -> bool:
    """The library takes a rate that is not stated for 0."""
    prices = [one.prices for one in model.prices] if isinstance(model.prices, list) else [model.prices]
    return all(price.input_mtok is not None and price.output_mtok is not None for price in prices)


def _fixed_rates(model: ModelInfo) -> Callable[[int, int], Decimal] | None:
    """The cost where it hangs on the tokens alone, not on their number, the time or the request."""
    prices = model.prices
    if isinstance(prices, list) or prices.requests_kcount is not None:
        return None
    rate_in, rate_out = prices.input_mtok, prices.output_mtok
    if isinstance(rate_in, Decimal) and isinstance(rate_out, Decimal):
        return partial(_flat, rate_in, rate_out)
    return None
