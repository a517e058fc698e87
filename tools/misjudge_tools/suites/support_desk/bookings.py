"""Tools of the desk that book day trips and cabins, and change and cancel bookings."""

from __future__ import annotations

import sqlite3

from misjudge_tools.episodes.world import ToolRefused
from misjudge_tools.suites.support_desk.room import cabin_is_free, last_day, places_left, require_future
from misjudge_tools.suites.support_desk.rows import Json, charge, dollars, find, insert, next_id, paid_cents, today

DEPOSIT_PERCENT = 30


def book_trip(world: sqlite3.Connection, customer_id: str, departure_id: str, people: int) -> Json:
    find(world, "customers", "customer_id", customer_id)
    place = _trip_place(world, departure_id, people)
    booking_id = next_id(world, "bookings", "booking_id")
    row = {"booking_id": booking_id, "customer_id": customer_id, "status": "confirmed", "deposit_cents": 0}
    insert(world, "bookings", row | place)
    charge(world, "booking_id", booking_id, place["total_cents"], "card")
    total = dollars(place["total_cents"])
    return {"booking_id": booking_id, "day": place["start_on"], "people": people, "total": total, "charged": total}


def book_cabin(
    world: sqlite3.Connection, customer_id: str, cabin_id: str, start_on: str, nights: int, people: int
) -> Json:
    find(world, "customers", "customer_id", customer_id)
    place = _cabin_place(world, cabin_id, start_on, nights, people)
    booking_id = next_id(world, "bookings", "booking_id")
    deposit = place["total_cents"] * DEPOSIT_PERCENT // 100
    row = {"booking_id": booking_id, "customer_id": customer_id, "status": "confirmed", "deposit_cents": deposit}
    insert(world, "bookings", row | place)
    charge(world, "booking_id", booking_id, deposit, "card")
    days = {"start_on": place["start_on"], "end_on": place["end_on"]}
    return {"booking_id": booking_id, **days, "total": dollars(place["total_cents"]), "charged": dollars(deposit)}


def change_trip_booking(world: sqlite3.Connection, booking_id: str, departure_id: str, people: int) -> Json:
    booking = _live_booking(world, booking_id)
    if booking["departure_id"] is None:
        raise ToolRefused(f"Booking {booking_id} is a cabin. Use change_cabin_booking.")
    place = _trip_place(world, departure_id, people, booking_id)
    _move(world, booking_id, place)
    difference = place["total_cents"] - paid_cents(world, "booking_id", booking_id)
    if difference > 0:
        charge(world, "booking_id", booking_id, difference, "card")
    settled = {"charged": dollars(max(difference, 0)), "overpaid": dollars(max(-difference, 0))}
    return {"booking_id": booking_id, "day": place["start_on"], "total": dollars(place["total_cents"]), **settled}


def change_cabin_booking(
    world: sqlite3.Connection, booking_id: str, cabin_id: str, start_on: str, nights: int, people: int
) -> Json:
    booking = _live_booking(world, booking_id)
    if booking["cabin_id"] is None:
        raise ToolRefused(f"Booking {booking_id} is a day trip. Use change_trip_booking.")
    place = _cabin_place(world, cabin_id, start_on, nights, people, booking_id)
    _move(world, booking_id, place)
    days = {"start_on": place["start_on"], "end_on": place["end_on"]}
    rest = place["total_cents"] - paid_cents(world, "booking_id", booking_id)
    return {
        "booking_id": booking_id,
        **days,
        "total": dollars(place["total_cents"]),
        "due_on_arrival": dollars(max(rest, 0)),
    }


def cancel_booking(world: sqlite3.Connection, booking_id: str) -> Json:
    _live_booking(world, booking_id)
    world.execute("UPDATE bookings SET status = 'cancelled' WHERE booking_id = ?", (booking_id,))
    left = paid_cents(world, "booking_id", booking_id)
    return {"booking_id": booking_id, "status": "cancelled", "refundable": dollars(left)}


def _live_booking(world: sqlite3.Connection, booking_id: str) -> Json:
    booking = find(world, "bookings", "booking_id", booking_id)
    if booking["status"] != "confirmed" or booking["start_on"] <= today(world):
        raise ToolRefused(f"Booking {booking_id} is {booking['status']} and cannot be changed any more.")
    return booking


def _trip_place(world: sqlite3.Connection, departure_id: str, people: int, except_booking: str = "") -> Json:
    """The columns of a booking for this departure. Raises ToolRefused where it cannot be had."""
    departure = find(world, "departures", "departure_id", departure_id)
    require_future(world, departure["day"])
    left = places_left(world, departure_id, except_booking)
    if people > left:
        raise ToolRefused(f"Departure {departure_id} has {left} places left, not {people}.")
    price = find(world, "trips", "trip_id", departure["trip_id"])["price_cents"]
    days = {"start_on": departure["day"], "end_on": departure["day"]}
    return {"departure_id": departure_id, **days, "people": people, "total_cents": price * people}


def _cabin_place(
    world: sqlite3.Connection, cabin_id: str, start_on: str, nights: int, people: int, except_booking: str = ""
) -> Json:
    """The columns of a booking of this cabin. Raises ToolRefused where it cannot be had."""
    cabin = find(world, "cabins", "cabin_id", cabin_id)
    require_future(world, start_on)
    if people > cabin["sleeps"]:
        raise ToolRefused(f"{cabin['name']} sleeps {cabin['sleeps']}, not {people}.")
    if not cabin_is_free(world, cabin_id, start_on, nights, except_booking):
        raise ToolRefused(f"{cabin['name']} is not free for {nights} nights from {start_on}.")
    days = {"start_on": start_on, "end_on": last_day(start_on, nights)}
    return {"cabin_id": cabin_id, **days, "people": people, "total_cents": cabin["night_cents"] * nights}


def _move(world: sqlite3.Connection, booking_id: str, place: Json) -> None:
    columns = ", ".join(f"{column} = ?" for column in place)
    world.execute(f"UPDATE bookings SET {columns} WHERE booking_id = ?", (*place.values(), booking_id))
