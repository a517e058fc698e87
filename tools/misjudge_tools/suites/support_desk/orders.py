"""Tools of the desk that place and change orders."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from misjudge_tools.episodes.world import ToolRefused
from misjudge_tools.suites.support_desk.rows import (
    Json,
    change_credit,
    charge,
    dollars,
    fetch,
    find,
    insert,
    next_id,
    paid_cents,
    today,
)

EXPRESS_CENTS, STANDARD_CENTS, FREE_FROM_CENTS = 1400, 600, 7500


def place_order(
    world: sqlite3.Connection,
    customer_id: str,
    items: Sequence[Json],
    delivery: str = "standard",
    payment: str = "card",
) -> Json:
    customer = find(world, "customers", "customer_id", customer_id)
    order_id = next_id(world, "orders", "order_id")
    order = {"order_id": order_id, "customer_id": customer_id, "status": "paid", "placed_on": today(world)}
    address = {key: customer[key] for key in ("street", "city", "postcode")}
    insert(world, "orders", {**order, **address, "delivery": delivery, "shipping_cents": 0, "total_cents": 0})
    _set_quantities(world, order_id, items)
    shipping = _shipping_cents(delivery, _goods_cents(world, order_id))
    total = _write_total(world, order_id, shipping)
    charge(world, "order_id", order_id, total, payment)
    if payment == "store_credit":
        change_credit(world, customer_id, -total)
    return {"order_id": order_id, "status": "paid", "shipping": dollars(shipping), "total": dollars(total)}


def change_items(world: sqlite3.Connection, order_id: str, items: Sequence[Json]) -> Json:
    order = find(world, "orders", "order_id", order_id)
    _require_status(order, ("placed", "paid"), "its items cannot be changed")
    _set_quantities(world, order_id, items)
    if not _goods_cents(world, order_id):
        raise ToolRefused("Nothing would be left in the order. Cancel it instead.")
    total = _write_total(world, order_id, order["shipping_cents"])
    return {"order_id": order_id, "total": dollars(total), **_settle(world, order, total)}


def change_address(world: sqlite3.Connection, order_id: str, street: str, city: str, postcode: str) -> Json:
    order = find(world, "orders", "order_id", order_id)
    _require_status(order, ("placed", "paid", "packed"), "its address cannot be changed")
    world.execute(
        "UPDATE orders SET street = ?, city = ?, postcode = ? WHERE order_id = ?", (street, city, postcode, order_id)
    )
    return {"order_id": order_id, "street": street, "city": city, "postcode": postcode}


def cancel_order(world: sqlite3.Connection, order_id: str) -> Json:
    order = find(world, "orders", "order_id", order_id)
    _require_status(order, ("placed", "paid", "packed"), "it cannot be cancelled")
    for item in fetch(world, "SELECT sku, quantity FROM order_items WHERE order_id = ?", order_id):
        world.execute("UPDATE inventory SET stock = stock + ? WHERE sku = ?", (item["quantity"], item["sku"]))
    world.execute("UPDATE orders SET status = 'cancelled' WHERE order_id = ?", (order_id,))
    return {"order_id": order_id, "status": "cancelled", "refundable": dollars(paid_cents(world, "order_id", order_id))}


def start_return(world: sqlite3.Connection, order_id: str, sku: str, quantity: int, reason: str) -> Json:
    order = find(world, "orders", "order_id", order_id)
    _require_status(order, ("delivered",), "nothing of it can be sent back")
    left = _ordered(world, order_id, sku) - _returning(world, order_id, sku)
    if quantity > left:
        raise ToolRefused(f"{left} of {sku} of order {order_id} can be sent back, not {quantity}.")
    return_id = next_id(world, "returns", "return_id")
    row = {"return_id": return_id, "order_id": order_id, "sku": sku, "quantity": quantity, "reason": reason}
    insert(world, "returns", {**row, "status": "label_sent", "created_at": today(world)})
    return {"return_id": return_id, "status": "label_sent", "label": "sent by e-mail"}


def _require_status(order: Json, allowed: tuple[str, ...], otherwise: str) -> None:
    if order["status"] not in allowed:
        raise ToolRefused(f"Order {order['order_id']} is {order['status']}: {otherwise}.")


def _set_quantities(world: sqlite3.Connection, order_id: str, items: Sequence[Json]) -> None:
    if len({item["sku"] for item in items}) < len(items):
        raise ToolRefused("A product is named twice. Name each once, with its whole quantity.")
    for item in items:
        _set_quantity(world, order_id, item["sku"], item["quantity"])


def _set_quantity(world: sqlite3.Connection, order_id: str, sku: str, quantity: int) -> None:
    """Makes an order hold `quantity` of a product in all; the stock gives and takes the difference."""
    product = find(world, "products", "sku", sku)
    now = _ordered(world, order_id, sku)
    stock = find(world, "inventory", "sku", sku)["stock"]
    if quantity - now > stock:
        raise ToolRefused(f"{stock} of {sku} are in stock, {quantity - now} more are needed.")
    world.execute("UPDATE inventory SET stock = ? WHERE sku = ?", (stock + now - quantity, sku))
    if not quantity:
        world.execute("DELETE FROM order_items WHERE order_id = ? AND sku = ?", (order_id, sku))
    elif now:
        world.execute("UPDATE order_items SET quantity = ? WHERE order_id = ? AND sku = ?", (quantity, order_id, sku))
    else:
        row = {"order_id": order_id, "sku": sku, "quantity": quantity, "unit_cents": product["price_cents"]}
        insert(world, "order_items", row)


def _ordered(world: sqlite3.Connection, order_id: str, sku: str) -> int:
    query = "SELECT COALESCE(SUM(quantity), 0) FROM order_items WHERE order_id = ? AND sku = ?"
    return int(world.execute(query, (order_id, sku)).fetchone()[0])


def _returning(world: sqlite3.Connection, order_id: str, sku: str) -> int:
    query = "SELECT COALESCE(SUM(quantity), 0) FROM returns WHERE order_id = ? AND sku = ?"
    return int(world.execute(query, (order_id, sku)).fetchone()[0])


def _goods_cents(world: sqlite3.Connection, order_id: str) -> int:
    query = "SELECT COALESCE(SUM(quantity * unit_cents), 0) FROM order_items WHERE order_id = ?"
    return int(world.execute(query, (order_id,)).fetchone()[0])


def _shipping_cents(delivery: str, goods_cents: int) -> int:
    if delivery == "express":
        return EXPRESS_CENTS
    return 0 if goods_cents >= FREE_FROM_CENTS else STANDARD_CENTS


def _write_total(world: sqlite3.Connection, order_id: str, shipping_cents: int) -> int:
    total = _goods_cents(world, order_id) + shipping_cents
    world.execute(
        "UPDATE orders SET shipping_cents = ?, total_cents = ? WHERE order_id = ?", (shipping_cents, total, order_id)
    )
    return total


def _settle(world: sqlite3.Connection, order: Json, total: int) -> Json:
    """Charges what a paid order costs more now; what it costs less is left to a refund."""
    order_id = order["order_id"]
    difference = total - paid_cents(world, "order_id", order_id)
    if order["status"] == "placed":
        return {"charged": 0, "overpaid": 0}
    if difference > 0:
        charge(world, "order_id", order_id, difference, "card")
    return {"charged": dollars(max(difference, 0)), "overpaid": dollars(max(-difference, 0))}
