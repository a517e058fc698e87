"""How long to wait before the next attempt. All times in seconds."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

FIRST_S = 0.5
LONGEST_S = 30.0


def backoff(failures: int, salt: bytes) -> float:
    """Exponential wait after the n-th failure, between half and the whole of 0.5, 1, 2, … 30 s.

    The jitter derives from `salt` (the request), so that calls spread and a rerun waits the same.
    """
    whole = min(LONGEST_S, FIRST_S * 2.0 ** (failures - 1))
    draw = hashlib.sha256(salt + failures.to_bytes(4, "big")).digest()
    return whole * (0.5 + int.from_bytes(draw[:8], "big") / 2**65)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """What a Retry-After header asks for, in seconds or as an HTTP date; None without a usable one.

    A date is read against the answer's own Date header, so that a wrong local clock does no harm.
    """
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None:
        return seconds
    at = _date(value)
    if at is None:
        return None
    since = _date(headers.get("date", ""))
    return max(0.0, at - (now if since is None else since))


def _number(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _date(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
