"""The judge's verdict in a row of an audit_pairs file."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from misjudge_storage.types import (
    Order,
    Preference,
    RecordError,
    Scale,
    UnscoredReason,
    Verdict,
    VerdictStatus,
)
from misjudge_tools.interchange.evidence import contradicts_scores, pairwise_judge
from misjudge_tools.interchange.fields import Fields, choice, flag, number, text
from misjudge_tools.interchange.scales import bounds

PREFERENCES: dict[str, Preference] = {"A": "A", "B": "B", "tie": "tie"}
UNSCORED_REASONS: dict[str, UnscoredReason] = {reason: reason for reason in get_args(UnscoredReason)}
ORDERS: dict[str, Order] = {"A=left": "AB", "A=right": "BA"}

_ANY = Scale()
_Status = Literal["decided", "weak", "tie", "inconsistent", "unscored"]
_STATUSES: dict[str, _Status] = {
    "decided": "decided",
    "weak": "weak",
    "tie": "tie",
    "inconsistent": "inconsistent",
    "unscored": "unscored",
}
_BLIND_ORDERS: dict[str, Order | Literal["both"]] = {**ORDERS, "both": "both"}


class Scores(NamedTuple):
    """What the judge gave each side."""

    a: float | None
    b: float | None


class _Outcome(NamedTuple):
    status: VerdictStatus
    winner: Preference | None


def judge_label(fields: Fields) -> str:
    """What the row calls its judge."""
    return text(fields, "judge") or text(fields, "judge_model") or "judge"


def pair_verdict(fields: Fields, scale: Scale, *, simulated: bool = False) -> Verdict | None:
    """The verdict, None for a pair that our view shows without a judge. Scores must lie on `scale`. `simulated`: its
    judge is.
    """
    status = choice(fields, "judge_status", _STATUSES)
    pref = choice(fields, "judge_pref", PREFERENCES)
    if status is None and pref is None and is_unjudged(fields):
        return None
    order = choice(fields, "blind_order", _BLIND_ORDERS)
    flip = flag(fields, "judge_flip")
    reduced = _is_reduced(fields, status, order, flip)
    outcome = _outcome(status, pref, flip if reduced else None)
    scores = judge_scores(fields, scale)
    return Verdict(
        judge=pairwise_judge(judge_label(fields), simulated=simulated),
        order=None if reduced or order == "both" else order,
        status=outcome.status,
        winner=outcome.winner,
        score_a=scores.a,
        score_b=scores.b,
        contradicts_scores=contradicts_scores(outcome.winner, scores.a, scores.b),
        unscored_reason=_reason(fields) if outcome.status == "unscored" else None,
        reduced=reduced,
        flip=flip,
    )


def judge_scores(fields: Fields, scale: Scale = _ANY) -> Scores:
    """The judge's scores: judge_score_a and _b, or else rewards of which the row says that the judge gave them."""
    low, high = bounds(scale)
    scores = Scores(number(fields, "judge_score_a", low, high), number(fields, "judge_score_b", low, high))
    if scores == (None, None) and rewards_are_scores(fields):
        return Scores(number(fields, "reward_a", low, high), number(fields, "reward_b", low, high))
    return scores


def rewards_are_scores(fields: Fields) -> bool:
    """Whether the row names the judge as the source of its rewards."""
    return (text(fields, "reward_source") or "").lower() == "judge"


def is_unjudged(fields: Fields) -> bool:
    """Whether the row is of our view and names no judge."""
    return "judge_status" in fields and "judge" in fields and text(fields, "judge") is None


def _is_reduced(fields: Fields, status: _Status | None, order: str | None, flip: bool | None) -> bool:
    if order == "both" or status in {"weak", "inconsistent"}:
        return True
    says_both = status is not None and "blind_order" in fields
    return flip is not None and not says_both


def _outcome(status: _Status | None, pref: Preference | None, flip: bool | None) -> _Outcome:
    if status is None and flip:
        return _Outcome("inconsistent", None)
    if status is None:
        return _Outcome("unscored", None) if pref is None else _Outcome("scored", pref)
    if flip is not None and status != "unscored" and flip != (status == "inconsistent") and status != "weak":
        raise RecordError(f"judge_flip contradicts judge_status {status}")
    winner = "tie" if status == "tie" and pref is None else pref
    if winner not in _WINNERS[status]:
        raise RecordError(f"judge_pref must be {_SHOWN[status]} where judge_status is {status}")
    return _Outcome(_VERDICT_STATUSES[status], winner)


_WINNERS: dict[_Status, tuple[Preference | None, ...]] = {
    "decided": ("A", "B"),
    "weak": ("A", "B"),
    "tie": ("tie",),
    "inconsistent": (None,),
    "unscored": (None,),
}
_SHOWN: dict[_Status, str] = {
    "decided": "A or B",
    "weak": "A or B",
    "tie": "tie or empty",
    "inconsistent": "empty",
    "unscored": "empty",
}
_VERDICT_STATUSES: dict[_Status, VerdictStatus] = {
    "decided": "scored",
    "weak": "weak",
    "tie": "scored",
    "inconsistent": "inconsistent",
    "unscored": "unscored",
}


def _reason(fields: Fields) -> UnscoredReason:
    return choice(fields, "unscored_reason", UNSCORED_REASONS) or "parse_error"
