"""Tools of the desk that only look things up."""

from __future__ import annotations

import sqlite3

from misjudge_tools.episodes.world import ToolRefused
from misjudge_tools.suites.support_desk.room import cabin_is_free, places_left
from misjudge_tools.suites.support_desk.rows import Json, dollars, fetch, find, paid_cents, read_day, shown, today


def find_customer(world: sqlite3.Connection, email: str = "", name: str = "", customer_id: str = "") -> Json:
    if not (email or name or customer_id):
        raise ToolRefused("Give an email, a name or a customer_id.")
    rows = fetch(
        world,
        "SELECT * FROM customers WHERE (?1 = '' OR lower(email) = lower(?1)) AND (?2 = '' OR lower(name) = lower(?2))"
        " AND (?3 = '' OR customer_id = ?3) ORDER BY customer_id",
        email.strip(),
        name.strip(),
        customer_id.strip(),
    )
    return {"customers": [shown(row) for row in rows]}


def get_order(world: sqlite3.Connection, order_id: str) -> Json:
    order = find(world, "orders", "order_id", order_id)
    items = fetch(
        world,
        "SELECT sku, name, colour, size, quantity, unit_cents FROM order_items JOIN products USING (sku)"
        " WHERE order_id = ? ORDER BY item_id",
        order_id,
    )
    returns = fetch(world, "SELECT * FROM returns WHERE order_id = ? ORDER BY return_id", order_id)
    parts = {"items": [shown(row) for row in items], "returns": [shown(row) for row in returns]}
    return shown(order) | parts | _history(world, "order_id", order_id)


def list_orders(world: sqlite3.Connection, customer_id: str, status: str = "") -> Json:
    find(world, "customers", "customer_id", customer_id)
    rows = fetch(
        world,
        "SELECT order_id, status, placed_on, delivered_on, total_cents,"
        " (SELECT group_concat(quantity || ' x ' || sku, ', ') FROM order_items i WHERE i.order_id = o.order_id) items"
        " FROM orders o WHERE customer_id = ?1 AND (?2 = '' OR status = ?2) ORDER BY order_id",
        customer_id,
        status,
    )
    return {"orders": [shown(row) for row in rows]}


def get_booking(world: sqlite3.Connection, booking_id: str) -> Json:
    booking = find(world, "bookings", "booking_id", booking_id)
    if booking["departure_id"] is not None:
        query = (
            "SELECT name trip, starts_at, minimum_age FROM departures JOIN trips USING (trip_id) WHERE departure_id = ?"
        )
        place = fetch(world, query, booking["departure_id"])
    else:
        place = fetch(
            world, "SELECT name cabin, sleeps, night_cents FROM cabins WHERE cabin_id = ?", booking["cabin_id"]
        )
    return shown(booking) | shown(place[0]) | _history(world, "booking_id", booking_id)


def list_bookings(world: sqlite3.Connection, customer_id: str) -> Json:
    find(world, "customers", "customer_id", customer_id)
    rows = fetch(
        world,
        "SELECT booking_id, departure_id, cabin_id, start_on, end_on, people, status, total_cents"
        " FROM bookings WHERE customer_id = ? ORDER BY booking_id",
        customer_id,
    )
    return {"bookings": [shown(row) for row in rows]}


def search_products(
    world: sqlite3.Connection, category: str = "", name: str = "", max_price: float = 0, in_stock: bool = False
) -> Json:
    rows = fetch(
        world,
        "SELECT * FROM products JOIN inventory USING (sku) WHERE (?1 = '' OR category = ?1)"
        " AND instr(lower(name), lower(?2)) AND (?3 = 0 OR price_cents <= ?3) AND (NOT ?4 OR stock > 0) ORDER BY sku",
        category,
        name.strip(),
        round(max_price * 100),
        int(in_stock),
    )
    return {"products": [shown(row) for row in rows]}


def find_trips(world: sqlite3.Connection, from_day: str, to_day: str, people: int = 1, trip_id: str = "") -> Json:
    for day in (from_day, to_day):
        read_day(day)
    rows = fetch(
        world,
        "SELECT departure_id, trip_id, name, day, starts_at, hours, price_cents, minimum_age"
        " FROM departures JOIN trips USING (trip_id)"
        " WHERE day BETWEEN max(?1, ?2) AND ?3 AND (?4 = '' OR trip_id = ?4) ORDER BY day, starts_at, departure_id",
        from_day,
        today(world),
        to_day,
        trip_id,
    )
    found = [{**shown(row), "places_left": places_left(world, row["departure_id"])} for row in rows]
    return {"departures": [row for row in found if row["places_left"] >= people]}


def find_cabins(world: sqlite3.Connection, start_on: str, nights: int, people: int = 1) -> Json:
    rows = fetch(world, "SELECT * FROM cabins WHERE sleeps >= ? ORDER BY cabin_id", people)
    free = [row for row in rows if cabin_is_free(world, row["cabin_id"], start_on, nights)]
    return {"cabins": [{**shown(row), "total": dollars(row["night_cents"] * nights)} for row in free]}


def read_policy(world: sqlite3.Connection, topic: str) -> Json:
    return {"topic": topic, "text": find(world, "policies", "topic", topic)["text"]}


def _history(world: sqlite3.Connection, column: str, value: str) -> Json:
    paid = fetch(world, f"SELECT * FROM payments WHERE {column} = ? ORDER BY payment_id", value)
    back = fetch(world, f"SELECT * FROM refunds WHERE {column} = ? ORDER BY refund_id", value)
    tickets = fetch(world, f"SELECT * FROM tickets WHERE {column} = ? ORDER BY ticket_id", value)
    return {
        "payments": [shown(row) for row in paid],
        "refunds": [shown(row) for row in back],
        "tickets": [shown(row) for row in tickets],
        "refundable": dollars(paid_cents(world, column, value)),
    }
