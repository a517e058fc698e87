"""Every number of a summary once: its name, its value and interval, and the text in which people see it.

The name is the JSON pointer (RFC 6901) of the number in `summary.json`, so that page, Markdown, CSV and JSON show one
value. The text is the same in every language: `40.9 % [34.6–47.6] 131/320` is a share with its 95 % interval and its
counts, `Δ +5.0 [−1.2, +11.0] n=320` a difference in points, `0.67 [0.52, 0.79] n=40` a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from misjudge_tools.stats.agreement import Coefficient
from misjudge_tools.stats.associations import OddsRatio
from misjudge_tools.stats.misselection import Misselection
from misjudge_tools.stats.paired import PairedDifference
from misjudge_tools.stats.probes import Effect
from misjudge_tools.stats.ranking import Disagreement
from misjudge_tools.stats.rates import Rate
from misjudge_tools.stats.rubrics import Estimate
from misjudge_tools.stats.trials import PassHat
from misjudge_tools.summary.values import AuditSummary

NONE: Final = "–"
"""Stands where nothing was counted."""
_WHOLE: Final = frozenset({"rate", "value", "difference", "k", "n", "low", "high"})
"""Fields that a measure says in one text."""
_SHARES: Final = frozenset(
    {
        *("coverage", "bound", "limit", "level", "at_best", "at_worst", "share", "all_pairs_rate", "half_width"),
        *("shown_under", "shown_over", "success_rate", "p_fail_given_satisfied", "satisfied_failed_share_of_all"),
        *("base_fail", "ceiling", "judge_share", "precision", "recall_at_least", "recall_at_most", "first_recall"),
        *("second_recall", "expected", "smallest_seen", "far_rate", "flip_rate", "soft_flip_rate", "letter_a_share"),
        *("accuracy", "agreement", "vote_accuracy", "ppi_weight", "mean_satisfaction"),
    }
)
_OF_KNOWN_GOLD: Final = ("decidable", "gold_tie")
_P_VALUES: Final = frozenset({"p", "p_adjusted", "p_value", "mcnemar_p"})


_BESIDE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("satisfaction", "gate", "proxy", "rubric"), "n"),
    "ranking": "agents",
}
"""Section → what stands in it for the number of things that its bare measures are over."""
_OVER_ALL: Final = frozenset({"mean_satisfaction", "relative_risk", "auc", "spearman"})


class Figure(NamedTuple):
    """A number by its name, `k` of `n` where it is a share of things counted, with the `text` that people see."""

    name: str
    value: float | None
    k: float | None
    n: float | None
    low: float | None
    high: float | None
    text: str


class _Counts(NamedTuple):
    k: float | None = None
    n: float | None = None


class _Said(NamedTuple):
    """A measure: its parts as in `Figure`."""

    value: float | None
    k: float | None
    n: float | None
    low: float | None
    high: float | None
    text: str


def figures(summary: AuditSummary) -> dict[str, Figure]:
    """Name → figure, in the order of `summary.json`; a number that is not known is not there."""
    return with_counts({figure.name: figure for figure in _found(summary, "")})


def _found(value: Any, at: str) -> Iterator[Figure]:
    if isinstance(value, BaseModel):
        yield from _of_model(value, at)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _found(inner, f"{at}/{escaped(str(name))}")
    elif isinstance(value, tuple | list):
        for number, inner in enumerate(value):
            yield from _found(inner, f"{at}/{number}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Figure(at, value, None, None, None, None, plain(at, value))


def _of_model(model: BaseModel, at: str) -> Iterator[Figure]:
    said = measure(model)
    if said is not None:
        yield Figure(at, *said)
    for name, field in type(model).model_fields.items():
        if said is None or name not in _WHOLE:
            yield from _found(getattr(model, name), f"{at}/{escaped(field.alias or name)}")


def with_counts(found: Mapping[str, Figure]) -> dict[str, Figure]:
    """The figures; a bare share or measure whose counts stand elsewhere in the summary has them, too."""
    return {name: _counted(figure, _counts(found, figure)) for name, figure in found.items()}


def _counted(figure: Figure, counts: _Counts) -> Figure:
    k, n = counts
    if figure.n is not None or figure.value is None or n is None:
        return figure
    if k is None:
        return figure._replace(n=n, text=f"{figure.text} n={n:.0f}")
    if not n or abs(k / n - figure.value) > 1e-9:
        return figure
    return figure._replace(k=k, n=n, text=f"{figure.text} {k:.0f}/{n:.0f}")


def _counts(found: Mapping[str, Figure], figure: Figure) -> _Counts:
    at, _, field = figure.name.rpartition("/")
    if field == "coverage":
        decided = found.get(at) or found.get(f"{at}/misselection")
        return _Counts(None if decided is None else decided.n, _decidable(found, at)) if decided else _Counts()
    if field == "all_pairs_rate":
        known = [_value(found, f"{at.removesuffix('/misselection')}/pairs/{name}") for name in _OF_KNOWN_GOLD]
        return _Counts(found[f"{at}/decided"].k, None if None in known else sum(filter(None, known)))
    if field in {"at_best", "at_worst"}:
        n = _value(found, f"{at}/n")
        return _Counts(None if n is None else round((figure.value or 0) * n), n)
    beside = _BESIDE.get(at.rpartition("/")[2]) if field in _OVER_ALL else None
    return _Counts(n=_value(found, f"{at}/{beside}")) if beside else _Counts()


def _decidable(found: Mapping[str, Figure], at: str) -> float | None:
    """The decidable pairs of the nearest part of the summary around `at` that states them."""
    while True:
        for name in (f"{at}/decidable", f"{at}/pairs/decidable"):
            if name in found:
                return found[name].value
        if not at:
            return None
        at = at.rpartition("/")[0]


def _value(found: Mapping[str, Figure], name: str) -> float | None:
    return found[name].value if name in found else None


def escaped(name: str) -> str:
    """A name as a part of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


@singledispatch
def measure(model: BaseModel) -> _Said | None:
    """What a value says as one number; None where it is no measure."""
    return None


@measure.register
def _(found: Rate) -> _Said:
    if found.rate is None:
        return _Said(None, found.k, found.n, None, None, NONE)
    # A mean of tasks, or of two orders that differ in number, is not k of n.
    of = f"{found.k}/{found.n}" if abs(found.rate - found.k / found.n) < 1e-9 else f"n={found.n}"
    anytime = " anytime" if isinstance(found, Misselection) and found.interval == "anytime" else ""
    text = f"{percent(found.rate)}{_between(found.low, found.high)} {of}{anytime}"
    return _Said(found.rate, found.k, found.n, found.low, found.high, text)


@measure.register
def _(found: Disagreement) -> _Said:
    if found.rate is None:
        return _Said(None, found.k, found.n, None, None, NONE)
    text = f"{percent(found.rate)}{_between(found.low, found.high)} {found.k}/{found.n}"
    return _Said(found.rate, found.k, found.n, found.low, found.high, text)


@measure.register
def _(found: PassHat) -> _Said:
    text = f"{percent(found.rate)}{_between(found.low, found.high)} n={found.tasks}"
    return _Said(found.rate, None, found.tasks, found.low, found.high, text)


@measure.register
def _(found: Estimate) -> _Said:
    if found.value is None:
        return _Said(None, None, found.n, None, None, NONE)
    text = f"{percent(found.value)}{_between(found.low, found.high)} n={found.n}"
    return _Said(found.value, None, found.n, found.low, found.high, text)


@measure.register(Coefficient)
@measure.register(OddsRatio)
def _(found: Coefficient | OddsRatio) -> _Said:
    if found.value is None:
        return _Said(None, None, found.n, None, None, NONE)
    interval = "" if found.low is None or found.high is None else f" [{_number(found.low)}, {_number(found.high)}]"
    return _Said(found.value, None, found.n, found.low, found.high, f"{_number(found.value)}{interval} n={found.n}")


@measure.register
def _(found: Effect) -> _Said:
    return _difference(found.value, found.low, found.high, found.n)


@measure.register
def _(found: PairedDifference) -> _Said:
    return _difference(found.difference, found.low, found.high, found.n)


def _difference(value: float | None, low: float | None, high: float | None, n: int) -> _Said:
    if value is None:
        return _Said(None, None, n, None, None, NONE)
    interval = "" if low is None or high is None else f" [{points(low)}, {points(high)}]"
    return _Said(value, None, n, low, high, f"Δ {points(value)}{interval} n={n}")


def plain(name: str, value: float) -> str:
    """A bare number, by what its name says it is."""
    field = name.rsplit("/", 1)[-1]
    in_usd = {"billed", "estimated", "difference"} if "/reconciliation/" in name else {"billed", "estimated"}
    if "cost" in field or "/cost/by_role/" in name or field in in_usd:
        return usd(value)
    if isinstance(value, int):
        return f"{value:,}"
    if field in _P_VALUES:
        return p_value(value)
    if field == "half_width":
        return f"± {100 * value:.1f}"
    return percent(value) if field in _SHARES or "/pass_hat_k" in name else _number(value)


def percent(share: float) -> str:
    """`40.9 %`."""
    # 0.6625 and 0.6625000000000001 are one share.
    return f"{round(100 * share, 9):.1f} %"


def points(share: float) -> str:
    """A difference of shares in points: `+12.5`, `−3.0`; nothing has no sign."""
    rounded = round(100 * share, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def usd(cost: float) -> str:
    """Four places, or four digits of what is smaller."""
    number = f"{cost:.4f}" if abs(cost) >= 0.01 else f"{cost:.4g}"
    return f"{number.replace('-', '−')} USD"


def p_value(p: float) -> str:
    """`0.0123`; next to none is `< 0.0001`."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{100 * low:.1f}–{100 * high:.1f}]"


def _number(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 100 else 2}f}".replace("-", "−")
