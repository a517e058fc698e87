"""How sentences are said in English and Chinese: numbers stand in them with what they count. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from misjudge_tools.stats.rates import Rate

Language = Literal["en", "zh"]


NARROW = 0.04
"""Width of an interval below which its ends are told with a decimal."""


class Phrase(NamedTuple):
    """A sentence in both languages, with places for what it names."""

    en: str
    zh: str

    def say(self, language: Language, /, **named: object) -> str:
        """The sentence; every place must be filled."""
        return (self.zh if language == "zh" else self.en).format(**named)


_SHARE = Phrase(
    "{k} of {n} {what} ({rate}, 95 % {low}–{high})", "{n} {what}中的 {k} {unit}（{rate}，95 % 区间 {low}–{high}）"
)
_MEAN = Phrase("{rate} over {n} {what} (95 % {low}–{high})", "{n} {what}上的 {rate}（95 % 区间 {low}–{high}）")
_NONE = Phrase("none of no {what}", "没有{what}")


PLACES = {"first": Phrase("first", "先"), "second": Phrase("second", "后")}
"""Which of the sides was shown there."""


class Counted(NamedTuple):
    """What is counted, as both languages name it; in Chinese the measure word comes first."""

    en: str
    zh: str


ANSWERS = Counted("answers on decidable pairs", "次对可判定配对的判定")
PAIRS = Counted("pairs", "个配对")
DECIDABLE = Counted("decidable pairs", "个可判定配对")
SATISFIED = Counted("satisfied sessions", "个满意会话")
SESSIONS = Counted("sessions", "个会话")
REPLIES = Counted("replies", "个回复")


def share(rate: Rate, what: Counted, language: Language) -> str:
    """`11 of 37 pairs (29.7 %, 95 % 17–46 %)`: never a bare percentage."""
    named = what.zh if language == "zh" else what.en
    if rate.rate is None or rate.low is None or rate.high is None:
        return _NONE.say(language, what=named)
    fine = int(rate.high - rate.low < NARROW)
    # A mean of tasks, or of two orders that differ in number, is not k of n.
    plain = abs(rate.rate - rate.k / rate.n) < 1e-9
    return (_SHARE if plain else _MEAN).say(
        language,
        k=rate.k,
        n=rate.n,
        what=named,
        unit=what.zh[0],
        rate=percent(rate.rate, 1),
        low=percent(rate.low, fine).removesuffix(" %"),
        high=percent(rate.high, fine),
    )


def percent(value: float, decimals: int = 0) -> str:
    """`29.7 %`."""
    return f"{100 * value:.{decimals}f} %"


def listed(names: Sequence[str], language: Language) -> str:
    """`a, b and c`, `a、b和c`."""
    *most, last = names
    if not most:
        return last
    return f"{'、'.join(most)}和{last}" if language == "zh" else f"{', '.join(most)} and {last}"
