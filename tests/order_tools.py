"""The one tool of the suites that tests write, as a Python module of their own."""

from __future__ import annotations

import sqlite3

from misjudge_tools.episodes.world import ToolRefused


def cancel_order(world: sqlite3.Connection, order_id: str = "O1") -> dict[str, str]:
    changed = world.execute("UPDATE orders SET status = 'cancelled' WHERE order_id = ?", [order_id])
    if changed.rowcount == 0:
        raise ToolRefused("There is no such order.")
    return {"order_id": order_id, "status": "cancelled"}
