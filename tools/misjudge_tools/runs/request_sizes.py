"""How large the requests of a plan are, and what they cost: at most, and about. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from misjudge_storage.types import Rule
from misjudge_tools.gateway.pricing import Pricing

BYTES_A_TOKEN = 4
"""Of a usual text. For estimates only, as all that follows."""
USUAL_TOKENS = 150
"""Tokens of a usual message, tool result or verdict."""
USUAL_RULES = 6
"""Rules of a usual generated rubric, where it is not stored yet."""
USUAL_RULE_TOKENS = 30
"""Of a reply, for each rule that is written, matched or applied."""
USUAL_RUBRIC = tuple(Rule(text=f"{number}".ljust(80, "x")) for number in range(USUAL_RULES))
"""As long as a usual one."""

OF_REPLIES = "replies of usual length"
OF_EPISODES = "episodes of usual length"
OF_RUBRICS = f"with rubrics of about {USUAL_RULES} rules"
OF_PANEL = "the panel asked about every pair"
"""What an estimate takes for given, as people are told."""


class Size(NamedTuple):
    """The bytes that a request sends, and the tokens of its reply: at most, and of a usual one."""

    bytes_in: int
    most_out: int
    usual_out: int


class Costs(NamedTuple):
    """USD, None where it is not known."""

    most: float | None = None
    about: float | None = None


def costs_of(pricing: Pricing, sizes: Sequence[Size], *, certain: bool) -> Costs:
    """What these requests cost, without second tries; there is no `most` where they are not `certain`."""
    if not pricing.known:
        return Costs()
    about = sum(_usd(pricing, -(-one.bytes_in // BYTES_A_TOKEN), min(one.usual_out, one.most_out)) for one in sizes)
    # A tokenizer never makes more tokens than bytes.
    most = sum(_usd(pricing, one.bytes_in, one.most_out) for one in sizes) if certain else None
    return Costs(most, about)


def _usd(pricing: Pricing, tokens_in: int, tokens_out: int) -> float:
    return pricing.of(tokens_in, tokens_out).usd or 0.0
