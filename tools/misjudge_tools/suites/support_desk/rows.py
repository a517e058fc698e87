"""What the tools of the desk share: rows, ids, days and amounts of the world."""

from __future__ import annotations

import sqlite3
from datetime import date
from typing import Any

from misjudge_tools.episodes.world import ToolRefused

Json = dict[str, Any]


def fetch(world: sqlite3.Connection, query: str, *values: str | int) -> list[Json]:
    """All rows of a query, by column."""
    cursor = world.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def find(world: sqlite3.Connection, table: str, key: str, value: str) -> Json:
    """The row whose primary key is `value`. Raises ToolRefused where there is none."""
    rows = fetch(world, f"SELECT * FROM {table} WHERE {key} = ?", value)
    if not rows:
        raise ToolRefused(f"There is no {key.removesuffix('_id')} {value}.")
    return rows[0]


def insert(world: sqlite3.Connection, table: str, row: Json) -> None:
    """Adds one row, its columns by name."""
    marks = ", ".join("?" * len(row))
    world.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def next_id(world: sqlite3.Connection, table: str, key: str) -> str:
    """The highest id of the table plus one, with its prefix: O-2030 is followed by O-2031."""
    (last,) = world.execute(f"SELECT {key} FROM {table} ORDER BY CAST(substr({key}, 3) AS INTEGER) DESC").fetchone()
    return f"{last[:2]}{int(last[2:]) + 1}"


def today(world: sqlite3.Connection) -> str:
    """The world's day."""
    return str(world.execute("SELECT today FROM clock").fetchone()[0])


def read_day(text: str) -> date:
    """A day that an agent wrote. Raises ToolRefused where it is none."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise ToolRefused("That is not a day. Write it as 2026-03-31.")
    return day


def dollars(cents: int) -> int | float:
    """An amount as tools show it: 129.5, 40."""
    return cents // 100 if cents % 100 == 0 else cents / 100


def read_cents(amount: float) -> int:
    """An amount in dollars that an agent wrote. Raises ToolRefused unless it is above 0 and in whole cents."""
    cents = round(amount * 100)
    if cents <= 0 or abs(amount * 100 - cents) > 1e-6:
        raise ToolRefused("The amount must be above 0 and have at most two decimals.")
    return cents


def shown(row: Json) -> Json:
    """A row as tools show it: amounts in dollars, columns without a value left out."""
    plain = {key: value for key, value in row.items() if value is not None}
    return {
        key.removesuffix("_cents"): dollars(value) if key.endswith("_cents") else value for key, value in plain.items()
    }


def paid_cents(world: sqlite3.Connection, column: str, value: str) -> int:
    """What was paid for an order or booking (`column` order_id or booking_id), less what was refunded."""
    query = (
        f"SELECT (SELECT COALESCE(SUM(amount_cents), 0) FROM payments WHERE {column} = ?1)"
        f" - (SELECT COALESCE(SUM(amount_cents), 0) FROM refunds WHERE {column} = ?1)"
    )
    return int(world.execute(query, (value,)).fetchone()[0])


def charge(world: sqlite3.Connection, column: str, value: str, cents: int, method: str) -> None:
    """Records a payment for an order or booking."""
    payment_id = next_id(world, "payments", "payment_id")
    row = {"payment_id": payment_id, column: value, "amount_cents": cents, "method": method}
    insert(world, "payments", {**row, "created_at": today(world)})


def change_credit(world: sqlite3.Connection, customer_id: str, cents: int) -> None:
    """Adds to a customer's store credit, or takes from it. Raises ToolRefused where there is not enough."""
    credit = find(world, "customers", "customer_id", customer_id)["store_credit_cents"]
    if credit + cents < 0:
        raise ToolRefused(f"The store credit of {dollars(credit)} dollars is not enough for {dollars(-cents)} dollars.")
    world.execute("UPDATE customers SET store_credit_cents = ? WHERE customer_id = ?", (credit + cents, customer_id))
