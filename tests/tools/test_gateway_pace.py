"""The state machine behind the limits, told the time by the test."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misjudge_tools.gateway.pace import LOWEST, RECOVERY, Bucket, Pace, Signal

T0 = 1_800_000_000.0
LIMITED, REPLIED = Signal(limited=True), Signal(replied=True)
RATES = st.floats(min_value=0.5, max_value=100_000)


class Spent(NamedTuple):
    at: float
    cost: float


def _most_in_a_minute(spent: list[Spent]) -> float:
    return max(sum(one.cost for one in spent if first.at <= one.at < first.at + 60) for first in spent)


@given(RATES, st.lists(st.tuples(st.floats(0, 20), st.sampled_from([LIMITED, REPLIED, Signal()])), min_size=1))
def test_no_minute_starts_more_requests_than_the_rate_and_a_seconds_worth(
    rate: float, gaps: list[tuple[float, Signal]]
) -> None:
    pace = Pace(rate, None)
    now, starts = T0, []
    for gap, signal in gaps:
        now = max(now + gap, pace.ready_at(0))
        era = pace.era
        pace.start(0, now)
        starts.append(Spent(now, 1))
        pace.hear(era, 0, signal, now)
    assert _most_in_a_minute(starts) <= rate + max(1.0, rate / 60) + 1e-3
    assert 0 < (pace.requests.rate or 0) <= rate


@given(RATES, st.lists(st.tuples(st.floats(0, 20), st.floats(0, 20_000)), min_size=1))
def test_no_minute_takes_more_tokens_than_the_rate_a_seconds_worth_and_one_large_request(
    rate: float, requests: list[tuple[float, float]]
) -> None:
    bucket = Bucket(rate)
    now, spent = T0, []
    for gap, cost in requests:
        now = max(now + gap, bucket.ready_at(cost))
        bucket.take(cost, now)
        spent.append(Spent(now, cost))
    largest = max(cost for _, cost in requests)
    assert _most_in_a_minute(spent) <= rate + max(1.0, rate / 60) + largest + 1e-3


@given(RATES, st.integers(1, 30))
def test_a_rate_that_was_halved_is_the_configured_one_again_after_enough_replies(rate: float, halvings: int) -> None:
    pace = Pace(rate, rate)
    for _ in range(halvings):
        pace.hear(pace.era, 0, LIMITED, T0)
    assert 0 < (pace.requests.rate or 0) < rate
    replies = 0
    while (pace.requests.rate, pace.tokens.rate) != (rate, rate):
        pace.hear(pace.era, 0, REPLIED, T0)
        replies += 1
        assert replies <= max(rate / LOWEST, 8)


def test_a_429_halves_the_configured_rates_and_seven_replies_win_it_back() -> None:
    pace = Pace(600, 60_000)
    pace.hear(0, 0, LIMITED, T0)
    assert (pace.requests.rate, pace.tokens.rate) == (300, 30_000)
    rates: list[float | None] = []
    for _ in range(RECOVERY + 1):
        pace.hear(pace.era, 0, REPLIED, T0)
        rates.append(pace.requests.rate)
    assert rates == pytest.approx([300 + 300 * step / 7 for step in (1, 2, 3, 4, 5, 6, 7, 7)])
    assert pace.tokens.rate == 60_000


def test_a_burst_of_429_halves_once_and_the_next_burst_again() -> None:
    pace = Pace(800, None)
    for _ in range(30):
        pace.hear(0, 0, LIMITED, T0)
    assert pace.requests.rate == 400
    pace.hear(0, 0, REPLIED, T0)
    assert pace.requests.rate == 400
    pace.hear(pace.era, 0, LIMITED, T0)
    assert pace.requests.rate == 200


def test_without_a_configured_rate_a_429_halves_the_rate_of_late_until_replies_set_it_free() -> None:
    pace = Pace(None, None)
    for number in range(21):
        pace.start(0, T0 + number * 0.1)
    pace.hear(0, 0, LIMITED, T0 + 30)
    assert pace.requests.rate == 315
    assert pace.tokens.rate is None
    for _ in range(RECOVERY):
        assert pace.requests.rate is not None
        pace.hear(pace.era, 0, REPLIED, T0 + 31)
    assert pace.requests.rate is None
    assert pace.ready_at(10**9) <= T0


def test_only_the_last_ten_seconds_of_starts_count_as_of_late() -> None:
    pace = Pace(None, None)
    for second in (*range(100), 200, 205):
        pace.start(0, T0 + second)
    pace.hear(0, 0, LIMITED, T0 + 206)
    assert pace.requests.rate == 12


def test_a_second_429_of_an_unlimited_rate_keeps_the_first_goal() -> None:
    pace = Pace(None, None)
    for _ in range(20):
        pace.start(0, T0)
    for _ in range(2):
        pace.hear(pace.era, 0, LIMITED, T0)
    assert pace.requests.rate == 300
    replies = 0
    while pace.requests.rate is not None:
        pace.hear(pace.era, 0, REPLIED, T0)
        replies += 1
    assert replies == 21


@pytest.mark.parametrize(("configured", "lowest"), [(None, LOWEST), (6000, LOWEST), (8, 1)])
def test_however_many_429_come_some_requests_still_start(configured: float | None, lowest: float) -> None:
    pace = Pace(configured, None)
    for _ in range(100):
        pace.hear(pace.era, 0, LIMITED, T0)
    assert pace.requests.rate == lowest


def test_after_a_429_without_a_configured_rate_the_first_retry_need_not_wait_and_the_next_must() -> None:
    pace = Pace(None, None)
    pace.start(0, T0)
    pace.hear(0, 0, LIMITED, T0)
    assert pace.ready_at(0) <= T0
    pace.start(0, T0)
    assert pace.ready_at(0) - T0 == pytest.approx(2, abs=1e-5)


def test_after_many_starts_a_429_leaves_no_burst() -> None:
    pace = Pace(None, None)
    for _ in range(20):
        pace.start(0, T0)
    pace.hear(0, 0, LIMITED, T0)
    assert pace.requests.rate == 600
    pace.start(0, T0)
    assert pace.ready_at(0) - T0 == pytest.approx(0.1, abs=1e-5)


def test_time_before_a_change_of_rate_counts_at_the_rate_of_then() -> None:
    pace = Pace(60, None)
    pace.start(0, T0)
    pace.hear(0, 0, LIMITED, T0 + 0.5)
    assert pace.ready_at(0) - T0 == pytest.approx(1.5, abs=1e-5)
    pace.start(0, T0 + 1.5)
    pace.hear(pace.era, 0, REPLIED, T0 + 2.5)
    assert pace.requests.rate == 36
    assert pace.ready_at(0) - T0 == pytest.approx(2.5 + 0.5 * 60 / 36, abs=1e-5)


def test_a_wait_that_was_asked_for_holds_up_every_request_and_is_never_shortened() -> None:
    pace = Pace(None, None)
    pace.hear(0, 0, Signal(limited=True, pause_s=17), T0)
    pace.hear(0, 0, Signal(pause_s=3), T0 + 1)
    assert pace.ready_at(0) == T0 + 17


def test_a_request_above_the_tokens_a_minute_goes_alone_and_is_paid_off() -> None:
    pace = Pace(None, 6000)
    assert pace.ready_at(18_000) <= T0
    pace.start(18_000, T0)
    assert pace.ready_at(10) - T0 == pytest.approx(60 * (18_000 - 100 + 10) / 6000, abs=1e-5)


def test_usage_settles_what_was_reserved() -> None:
    pace = Pace(None, 6000)
    pace.start(1100, T0)
    assert pace.ready_at(100) - T0 == pytest.approx(11, abs=1e-5)
    pace.hear(0, 1100, Signal(replied=True, tokens=200), T0)
    assert pace.ready_at(100) - T0 == pytest.approx(2, abs=1e-5)
    pace.hear(0, 100, Signal(replied=True, tokens=400), T0)
    assert pace.ready_at(100) - T0 == pytest.approx(5, abs=1e-5)


def test_unknown_usage_leaves_the_estimate_in_force() -> None:
    pace = Pace(None, 6000)
    pace.start(1100, T0)
    pace.hear(0, 1100, REPLIED, T0)
    assert pace.ready_at(100) - T0 == pytest.approx(11, abs=1e-5)


def test_what_is_given_back_does_not_make_a_larger_burst() -> None:
    pace = Pace(60, 6000)
    for _ in range(5):
        pace.undo(5000, T0)
    pace.start(100, T0)
    assert pace.ready_at(0) - T0 == pytest.approx(1, abs=1e-5)
    assert pace.ready_at(50) - T0 == pytest.approx(1, abs=1e-5)
    assert pace.tokens.ready_at(50) - T0 == pytest.approx(0.5, abs=1e-5)
