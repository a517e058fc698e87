"""The back end of the support desk: each name here is a tool of `tools.json`.

A tool takes the world and its arguments by name and returns what JSON can hold; amounts are dollars. It enforces what
a back end can know (what exists, stock, room, states, what was paid) and raises ToolRefused for the rest. What the
policies say is for the agent to keep.
"""

from __future__ import annotations

from misjudge_tools.suites.support_desk.bookings import (
    book_cabin,
    book_trip,
    cancel_booking,
    change_cabin_booking,
    change_trip_booking,
)
from misjudge_tools.suites.support_desk.cases import escalate, give_credit, issue_refund, open_ticket
from misjudge_tools.suites.support_desk.lookups import (
    find_cabins,
    find_customer,
    find_trips,
    get_booking,
    get_order,
    list_bookings,
    list_orders,
    read_policy,
    search_products,
)
from misjudge_tools.suites.support_desk.orders import (
    cancel_order,
    change_address,
    change_items,
    place_order,
    start_return,
)

__all__ = [
    "book_cabin",
    "book_trip",
    "cancel_booking",
    "cancel_order",
    "change_address",
    "change_cabin_booking",
    "change_items",
    "change_trip_booking",
    "escalate",
    "find_cabins",
    "find_customer",
    "find_trips",
    "get_booking",
    "get_order",
    "give_credit",
    "issue_refund",
    "list_bookings",
    "list_orders",
    "open_ticket",
    "place_order",
    "read_policy",
    "search_products",
    "start_return",
]
