"""Tools of the desk for money back, tickets and what goes to a manager."""

from __future__ import annotations

import sqlite3

from misjudge_tools.episodes.world import ToolRefused
from misjudge_tools.suites.support_desk.rows import (
    Json,
    change_credit,
    dollars,
    fetch,
    find,
    insert,
    next_id,
    paid_cents,
    read_cents,
    today,
)


def issue_refund(
    world: sqlite3.Connection,
    amount: float,
    order_id: str = "",
    booking_id: str = "",
    destination: str = "original",
    reason: str = "",
) -> Json:
    column, value = _subject(order_id, booking_id)
    owner = find(world, column.replace("_id", "s"), column, value)
    cents = read_cents(amount)
    left = paid_cents(world, column, value)
    if cents > left:
        raise ToolRefused(f"{dollars(left)} dollars can be refunded for {value}, not {dollars(cents)}.")
    refund_id = next_id(world, "refunds", "refund_id")
    row = {"refund_id": refund_id, column: value, "amount_cents": cents, "destination": destination, "reason": reason}
    insert(world, "refunds", {**row, "created_at": today(world)})
    if destination == "store_credit" or _paid_by_credit(world, column, value):
        change_credit(world, owner["customer_id"], cents)
    return {"refund_id": refund_id, "amount": dollars(cents), "destination": destination}


def give_credit(world: sqlite3.Connection, customer_id: str, amount: float) -> Json:
    find(world, "customers", "customer_id", customer_id)
    cents = read_cents(amount)
    change_credit(world, customer_id, cents)
    return {"customer_id": customer_id, "given": dollars(cents)}


def open_ticket(
    world: sqlite3.Connection, customer_id: str, topic: str, text: str, order_id: str = "", booking_id: str = ""
) -> Json:
    return _write_ticket(world, customer_id, topic, text, order_id, booking_id, escalated=False)


def escalate(
    world: sqlite3.Connection, customer_id: str, kind: str, text: str, order_id: str = "", booking_id: str = ""
) -> Json:
    return _write_ticket(world, customer_id, kind, text, order_id, booking_id, escalated=True)


def _write_ticket(
    world: sqlite3.Connection,
    customer_id: str,
    topic: str,
    text: str,
    order_id: str,
    booking_id: str,
    *,
    escalated: bool,
) -> Json:
    find(world, "customers", "customer_id", customer_id)
    for table, column, value in (("orders", "order_id", order_id), ("bookings", "booking_id", booking_id)):
        if value and find(world, table, column, value)["customer_id"] != customer_id:
            raise ToolRefused(f"{value} does not belong to customer {customer_id}.")
    ticket_id = next_id(world, "tickets", "ticket_id")
    about = {"customer_id": customer_id, "order_id": order_id or None, "booking_id": booking_id or None}
    state = {"topic": topic, "text": text, "status": "open", "escalated": int(escalated), "created_at": today(world)}
    insert(world, "tickets", {"ticket_id": ticket_id, **about, **state})
    return {"ticket_id": ticket_id, "topic": topic, "status": "open", "escalated": escalated}


def _subject(order_id: str, booking_id: str) -> tuple[str, str]:
    if bool(order_id) == bool(booking_id):
        raise ToolRefused("Give either an order_id or a booking_id.")
    return ("order_id", order_id) if order_id else ("booking_id", booking_id)


def _paid_by_credit(world: sqlite3.Connection, column: str, value: str) -> bool:
    return bool(fetch(world, f"SELECT 1 FROM payments WHERE {column} = ? AND method = 'store_credit'", value))
