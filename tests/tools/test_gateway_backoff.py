from __future__ import annotations

import pytest

from misjudge_tools.gateway.backoff import LONGEST_S, backoff, retry_after

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


def test_waits_double_up_to_a_ceiling_and_keep_at_least_half() -> None:
    for failures, whole in ((1, 0.5), (2, 1.0), (3, 2.0), (6, 16.0), (7, LONGEST_S), (60, LONGEST_S)):
        for salt in range(50):
            assert whole / 2 <= backoff(failures, bytes([salt])) <= whole


def test_the_jitter_spreads_requests_and_repeats_for_the_same_one() -> None:
    waits = {backoff(1, bytes([salt])) for salt in range(50)}
    assert len(waits) == 50
    assert max(waits) - min(waits) > 0.2
    assert backoff(3, b"request") == backoff(3, b"request")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 0.25 ", 0.25),
        ("Fri, 15 Jan 2027 08:00:30 GMT", 30.0),
        ("Friday, 15-Jan-27 08:00:30 GMT", 30.0),
        ("Fri, 15 Jan 2027 08:00:30 -0000", 30.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("Fri, 99 Jan 2027 08:00:30 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


def test_a_retry_after_date_is_read_against_the_date_of_the_answer() -> None:
    headers = {"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT", "date": "Fri, 15 Jan 2027 08:00:10 GMT"}
    assert retry_after(headers, NOW + 10_000) == 20.0


def test_no_header_means_no_wish() -> None:
    assert retry_after({}, NOW) is None
