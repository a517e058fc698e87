"""Which days can be booked, and what room is left on them."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

from misjudge_tools.episodes.world import ToolRefused
from misjudge_tools.suites.support_desk.rows import read_day, today


def last_day(start_on: str, nights: int) -> str:
    """The day of departure from a cabin."""
    return (read_day(start_on) + timedelta(days=nights)).isoformat()


def places_left(world: sqlite3.Connection, departure_id: str, except_booking: str = "") -> int:
    """Places of a day trip that no confirmed booking holds."""
    query = (
        "SELECT capacity - COALESCE((SELECT SUM(people) FROM bookings b WHERE b.departure_id = d.departure_id"
        " AND status = 'confirmed' AND booking_id <> ?2), 0) FROM departures d WHERE departure_id = ?1"
    )
    return int(world.execute(query, (departure_id, except_booking)).fetchone()[0])


def cabin_is_free(
    world: sqlite3.Connection, cabin_id: str, start_on: str, nights: int, except_booking: str = ""
) -> bool:
    """Whether no confirmed booking holds one of these nights."""
    query = (
        "SELECT COUNT(*) FROM bookings WHERE cabin_id = ? AND status = 'confirmed' AND booking_id <> ?"
        " AND start_on < ? AND end_on > ?"
    )
    values = (cabin_id, except_booking, last_day(start_on, nights), start_on)
    return not world.execute(query, values).fetchone()[0]


def require_future(world: sqlite3.Connection, day: str) -> None:
    """Raises ToolRefused for today and earlier days."""
    if read_day(day).isoformat() <= today(world):
        raise ToolRefused(f"{day} is not in the future: today is {today(world)}.")
