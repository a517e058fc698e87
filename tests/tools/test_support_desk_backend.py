"""The back end of the shipped suite: what it does, what it refuses, and that a refused call leaves no trace."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from misjudge_storage.types import ToolCall
from misjudge_tools.episodes.settings import Allowed
from misjudge_tools.episodes.toolbox import open_toolbox
from misjudge_tools.episodes.world import World, build_image, differences, select
from misjudge_tools.suites.model import Tools
from misjudge_tools.suites.support_desk import backend

FOLDER = files("misjudge_tools.suites.support_desk")
TOOLS = Tools.model_validate_json(FOLDER.joinpath("tools.json").read_text(encoding="utf-8"))
IMAGE = build_image(FOLDER.joinpath("world.sql").read_text(encoding="utf-8"), None)

MAT = {"sku": "MAT-RY", "quantity": 1}
LABEL = {"quantity": 1, "reason": "unwanted"}
PUFFIN = {"cabin_id": "CAB-3", "nights": 2, "people": 2}

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("find_customer", {}, "Give an email"),
    ("get_order", {"order_id": "O-9999"}, "no order O-9999"),
    ("list_orders", {"customer_id": "C-999"}, "no customer C-999"),
    ("get_booking", {"booking_id": "B-999"}, "no booking B-999"),
    ("list_bookings", {"customer_id": "C-999"}, "no customer C-999"),
    ("find_trips", {"from_day": "2026-02-30", "to_day": "2026-03-31"}, "not a day"),
    ("find_trips", {"from_day": "2026-03-20", "to_day": "20260331"}, "not a day"),
    ("find_cabins", {"start_on": "next Friday", "nights": 2}, "not a day"),
    ("place_order", {"customer_id": "C-999", "items": [MAT]}, "no customer C-999"),
    ("place_order", {"customer_id": "C-101", "items": [{"sku": "NO-1", "quantity": 1}]}, "no sku NO-1"),
    ("place_order", {"customer_id": "C-101", "items": [MAT, {"sku": "BTS-43", "quantity": 1}]}, "0 of BTS-43"),
    ("place_order", {"customer_id": "C-101", "items": [{"sku": "TNT-4G", "quantity": 4}]}, "3 of TNT-4G"),
    ("place_order", {"customer_id": "C-101", "items": [MAT, MAT]}, "named twice"),
    ("place_order", {"customer_id": "C-106", "items": [MAT], "payment": "store_credit"}, "not enough"),
    ("change_items", {"order_id": "O-2005", "items": [MAT]}, "is packed"),
    ("change_items", {"order_id": "O-2003", "items": [MAT]}, "is shipped"),
    ("change_items", {"order_id": "O-2007", "items": [{"sku": "BTS-41", "quantity": 0}]}, "Cancel it instead"),
    ("change_items", {"order_id": "O-2007", "items": [{"sku": "BTS-43", "quantity": 1}]}, "0 of BTS-43"),
    ("change_items", {"order_id": "O-2007", "items": [{"sku": "BTS-41", "quantity": 5}]}, "3 of BTS-41"),
    ("change_address", {"order_id": "O-2003", "street": "1 A", "city": "B", "postcode": "1"}, "is shipped"),
    ("cancel_order", {"order_id": "O-2003"}, "is shipped"),
    ("cancel_order", {"order_id": "O-2001"}, "is delivered"),
    ("cancel_order", {"order_id": "O-2016"}, "is cancelled"),
    ("cancel_order", {"order_id": "O-2010"}, "is returned"),
    ("start_return", {"order_id": "O-2003", "sku": "BTS-42", **LABEL}, "is shipped"),
    ("start_return", {"order_id": "O-2001", "sku": "MAT-RY", **LABEL}, "0 of MAT-RY"),
    ("start_return", {"order_id": "O-2001", "sku": "TNT-2G", **LABEL, "quantity": 2}, "1 of TNT-2G"),
    ("book_trip", {"customer_id": "C-999", "departure_id": "D-304", "people": 1}, "no customer C-999"),
    ("book_trip", {"customer_id": "C-101", "departure_id": "D-999", "people": 1}, "no departure D-999"),
    ("book_trip", {"customer_id": "C-101", "departure_id": "D-301", "people": 3}, "2 places left"),
    ("book_trip", {"customer_id": "C-101", "departure_id": "D-313", "people": 1}, "not in the future"),
    ("book_cabin", {"customer_id": "C-101", **PUFFIN, "cabin_id": "CAB-9", "start_on": "2026-05-01"}, "no cabin"),
    ("book_cabin", {"customer_id": "C-101", **PUFFIN, "people": 5, "start_on": "2026-05-01"}, "sleeps 4"),
    ("book_cabin", {"customer_id": "C-101", **PUFFIN, "start_on": "2026-04-11"}, "not free"),
    ("book_cabin", {"customer_id": "C-101", **PUFFIN, "start_on": "2026-04-09"}, "not free"),
    ("book_cabin", {"customer_id": "C-101", **PUFFIN, "start_on": "2026-03-16"}, "not in the future"),
    ("book_cabin", {"customer_id": "C-101", **PUFFIN, "start_on": "2026-04-31"}, "not a day"),
    ("change_trip_booking", {"booking_id": "B-501", "departure_id": "D-301", "people": 5}, "4 places left"),
    ("change_trip_booking", {"booking_id": "B-512", "departure_id": "D-304", "people": 2}, "is completed"),
    ("change_trip_booking", {"booking_id": "B-502", "departure_id": "D-304", "people": 2}, "change_cabin_booking"),
    ("change_cabin_booking", {"booking_id": "B-501", **PUFFIN, "start_on": "2026-05-01"}, "change_trip_booking"),
    ("change_cabin_booking", {"booking_id": "B-517", **PUFFIN, "start_on": "2026-05-01"}, "is cancelled"),
    ("change_cabin_booking", {"booking_id": "B-502", **PUFFIN, "start_on": "2026-04-10"}, "not free"),
    ("cancel_booking", {"booking_id": "B-512"}, "is completed"),
    ("cancel_booking", {"booking_id": "B-517"}, "is cancelled"),
    ("issue_refund", {"amount": 10}, "either an order_id or a booking_id"),
    ("issue_refund", {"amount": 10, "order_id": "O-2001", "booking_id": "B-501"}, "either"),
    ("issue_refund", {"amount": 10, "order_id": "O-9999"}, "no order O-9999"),
    ("issue_refund", {"amount": 189.01, "order_id": "O-2001"}, "189 dollars can be refunded"),
    ("issue_refund", {"amount": 54.01, "order_id": "O-2030"}, "54 dollars can be refunded"),
    ("issue_refund", {"amount": 1, "order_id": "O-2009"}, "0 dollars can be refunded"),
    ("issue_refund", {"amount": 45.01, "booking_id": "B-514"}, "45 dollars can be refunded"),
    ("issue_refund", {"amount": 1.005, "order_id": "O-2001"}, "two decimals"),
    ("give_credit", {"customer_id": "C-999", "amount": 10}, "no customer C-999"),
    ("give_credit", {"customer_id": "C-101", "amount": 0.001}, "two decimals"),
    ("open_ticket", {"customer_id": "C-999", "topic": "other", "text": "x"}, "no customer C-999"),
    ("open_ticket", {"customer_id": "C-101", "topic": "other", "text": "x", "order_id": "O-2003"}, "does not belong"),
    ("open_ticket", {"customer_id": "C-101", "topic": "other", "text": "x", "order_id": "O-9999"}, "no order"),
    ("escalate", {"customer_id": "C-101", "kind": "safety", "text": "x", "booking_id": "B-502"}, "does not belong"),
]
FORBIDDEN_ONLY_BY_POLICY: list[tuple[str, dict[str, Any]]] = [
    ("change_address", {"order_id": "O-2018", "street": "4 Mill Steps", "city": "Tarn Hill", "postcode": "44101"}),
    ("issue_refund", {"order_id": "O-2013", "amount": 279}),
    ("issue_refund", {"booking_id": "B-514", "amount": 45}),
    ("start_return", {"order_id": "O-2004", "sku": "JKT-MN", "quantity": 1, "reason": "unwanted"}),
    ("change_trip_booking", {"booking_id": "B-513", "departure_id": "D-303", "people": 2}),
    ("book_trip", {"customer_id": "C-113", "departure_id": "D-310", "people": 10}),
    ("book_trip", {"customer_id": "C-114", "departure_id": "D-304", "people": 1}),
    ("book_cabin", {"customer_id": "C-101", "cabin_id": "CAB-1", "start_on": "2026-05-01", "nights": 1, "people": 2}),
    ("place_order", {"customer_id": "C-101", "items": [{"sku": "FUL-230", "quantity": 1}], "delivery": "express"}),
]


@pytest.fixture
def world() -> Iterator[World]:
    with World.from_image(IMAGE) as opened:
        yield opened


async def call(world: World, tool: str, **arguments: object) -> dict[str, Any]:
    box = open_toolbox(TOOLS, world, (), Allowed(), "session")
    result = await box.call(ToolCall(name=tool, arguments=json.dumps(arguments)))
    read: dict[str, Any] = json.loads(result)
    return read


def changed(world: World) -> dict[str, list[dict[str, Any]]]:
    """By table: what the changed and added rows hold now, what removed ones held."""
    found: dict[str, list[dict[str, Any]]] = {}
    for difference in differences(IMAGE, world.image()):
        found.setdefault(difference.table, []).append(dict(difference.after or difference.before or {}))
    return found


def cell(world: World, query: str) -> object:
    return select(world.image(), query)[0][0]


@pytest.mark.parametrize(("tool", "arguments", "said"), REFUSED)
async def test_what_a_back_end_cannot_do_is_refused_and_changes_nothing(
    world: World, tool: str, arguments: dict[str, Any], said: str
) -> None:
    result = await call(world, tool, **arguments)
    assert list(result) == ["error"]
    assert said in result["error"]
    assert differences(IMAGE, world.image()) == ()


@pytest.mark.parametrize(("tool", "arguments"), FORBIDDEN_ONLY_BY_POLICY)
async def test_what_only_a_policy_forbids_is_left_to_the_agent(
    world: World, tool: str, arguments: dict[str, Any]
) -> None:
    assert "error" not in await call(world, tool, **arguments)
    assert changed(world)


@pytest.mark.parametrize("tool", TOOLS.tools, ids=lambda tool: str(tool.name))
def test_a_tool_takes_what_its_schema_says(tool: Any) -> None:
    parameters = list(inspect.signature(getattr(backend, tool.name)).parameters.values())[1:]
    assert [parameter.name for parameter in parameters] == list(tool.parameters["properties"])
    assert [p.name for p in parameters if p.default is inspect.Parameter.empty] == tool.parameters["required"]
    assert tool.parameters["additionalProperties"] is False
    assert tool.description
    assert all(value["description"] for value in tool.parameters["properties"].values())


def test_the_tools_are_the_names_of_the_back_end() -> None:
    assert sorted(tool.name for tool in TOOLS.tools) == backend.__all__


@pytest.mark.parametrize(
    ("name", "argument", "query"),
    [
        ("read_policy", "topic", "SELECT topic FROM policies"),
        ("search_products", "category", "SELECT DISTINCT category FROM products"),
        ("find_trips", "trip_id", "SELECT trip_id FROM trips"),
    ],
)
def test_what_a_tool_offers_is_what_there_is(name: str, argument: str, query: str) -> None:
    [tool] = [tool for tool in TOOLS.tools if tool.name == name]
    assert set(tool.parameters["properties"][argument]["enum"]) == {offered for (offered,) in select(IMAGE, query)}


def test_tickets_of_the_world_have_topics_that_a_tool_could_give_them() -> None:
    [tool] = [tool for tool in TOOLS.tools if tool.name == "open_ticket"]
    topics = {topic for (topic,) in select(IMAGE, "SELECT topic FROM tickets")}
    assert topics <= set(tool.parameters["properties"]["topic"]["enum"])


async def test_products_of_every_category_can_be_found(world: World) -> None:
    [tool] = [tool for tool in TOOLS.tools if tool.name == "search_products"]
    found = [
        await call(world, "search_products", category=c) for c in tool.parameters["properties"]["category"]["enum"]
    ]
    assert sum(len(result["products"]) for result in found) == cell(world, "SELECT COUNT(*) FROM products")


async def test_every_policy_can_be_read(world: World) -> None:
    for (topic,) in select(IMAGE, "SELECT topic FROM policies"):
        assert len((await call(world, "read_policy", topic=topic))["text"]) > 50


@pytest.mark.parametrize(
    "query",
    [
        "SELECT order_id FROM orders o WHERE total_cents <> shipping_cents"
        " + (SELECT SUM(quantity * unit_cents) FROM order_items i WHERE i.order_id = o.order_id)",
        "SELECT order_id FROM orders o WHERE status <> 'placed' AND total_cents IS NOT"
        " (SELECT SUM(amount_cents) FROM payments p WHERE p.order_id = o.order_id)",
        "SELECT order_id FROM payments GROUP BY order_id HAVING SUM(amount_cents)"
        " < (SELECT SUM(amount_cents) FROM refunds r WHERE r.order_id = payments.order_id)",
        "SELECT booking_id FROM bookings JOIN departures USING (departure_id) JOIN trips USING (trip_id)"
        " WHERE total_cents <> people * price_cents OR start_on <> day OR end_on <> day",
        "SELECT booking_id FROM bookings JOIN cabins USING (cabin_id) WHERE people > sleeps OR deposit_cents * 10"
        " <> total_cents * 3 OR total_cents <> night_cents * (julianday(end_on) - julianday(start_on))",
        "SELECT departure_id FROM departures d WHERE capacity < (SELECT SUM(people) FROM bookings b"
        " WHERE b.departure_id = d.departure_id AND status = 'confirmed')",
        "SELECT email FROM customers WHERE email NOT LIKE '%@example.com'",
    ],
)
def test_the_world_adds_up(query: str) -> None:
    assert select(IMAGE, query) == []


def test_every_row_refers_to_one_that_exists(world: World) -> None:
    assert world.connection.execute("PRAGMA foreign_key_check").fetchall() == []


async def test_the_same_calls_give_the_same_ids_and_the_same_world() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("place_order", {"customer_id": "C-101", "items": [MAT]}),
        ("place_order", {"customer_id": "C-101", "items": [MAT]}),
        ("book_trip", {"customer_id": "C-101", "departure_id": "D-304", "people": 1}),
        ("issue_refund", {"order_id": "O-2031", "amount": 5}),
        ("start_return", {"order_id": "O-2001", "sku": "TNT-2G", **LABEL}),
        ("escalate", {"customer_id": "C-101", "kind": "complaint", "text": "x"}),
    ]
    ids: list[list[str]] = []
    worlds: list[bytes] = []
    for _ in range(2):
        with World.from_image(IMAGE) as world:
            results = [await call(world, tool, **arguments) for tool, arguments in calls]
            ids.append([next(iter(result.values())) for result in results])
            worlds.append(world.image())
    assert ids[0] == ids[1] == ["O-2031", "O-2032", "B-521", "R-603", "X-804", "K-704"]
    assert differences(worlds[0], worlds[1]) == ()


async def test_ids_grow_beyond_their_number_of_digits(world: World) -> None:
    world.connection.execute("UPDATE bookings SET booking_id = 'B-999' WHERE booking_id = 'B-517'")
    for expected in ("B-1000", "B-1001"):
        result = await call(world, "book_trip", customer_id="C-101", departure_id="D-304", people=1)
        assert result["booking_id"] == expected


@pytest.mark.parametrize(
    ("items", "delivery", "shipping", "total"),
    [
        ([("DRY-20", 1)], "standard", 6, 25.5),
        ([("MAT-RY", 1)], "standard", 6, 74),
        ([("DRY-20", 2), ("BTS-41", 1)], "standard", 0, 193),
        ([("BAG-8R", 1)], "express", 14, 93.9),
    ],
)
async def test_an_order_charges_goods_and_delivery(
    world: World, items: list[tuple[str, int]], delivery: str, shipping: float, total: float
) -> None:
    named = [{"sku": sku, "quantity": quantity} for sku, quantity in items]
    result = await call(world, "place_order", customer_id="C-101", items=named, delivery=delivery)
    assert result == {"order_id": "O-2031", "status": "paid", "shipping": shipping, "total": total}
    assert changed(world)["payments"][0]["amount_cents"] == round(total * 100)
    shown = await call(world, "get_order", order_id="O-2031")
    assert [(item["sku"], item["quantity"]) for item in shown["items"]] == items
    assert shown["street"] == "12 Gull Lane"


async def test_an_order_takes_its_items_from_the_stock_and_gives_them_back_when_cancelled(world: World) -> None:
    await call(world, "place_order", customer_id="C-101", items=[{"sku": "TNT-4G", "quantity": 3}])
    assert cell(world, "SELECT stock FROM inventory WHERE sku = 'TNT-4G'") == 0
    result = await call(world, "cancel_order", order_id="O-2031")
    assert result == {"order_id": "O-2031", "status": "cancelled", "refundable": 837}
    assert cell(world, "SELECT stock FROM inventory WHERE sku = 'TNT-4G'") == 3
    assert "refunds" not in changed(world)


async def test_an_order_paid_by_store_credit_takes_from_it_and_its_refund_goes_back_there(world: World) -> None:
    items = [{"sku": "DRY-20", "quantity": 1}]
    await call(world, "place_order", customer_id="C-110", items=items, payment="store_credit")
    assert changed(world)["customers"] == [{"store_credit_cents": 450}]
    await call(world, "issue_refund", order_id="O-2031", amount=25.5)
    assert "customers" not in changed(world)


async def test_a_dearer_change_of_items_is_charged_and_a_cheaper_one_is_not_refunded(world: World) -> None:
    dearer = await call(world, "change_items", order_id="O-2012", items=[{"sku": "DRY-20", "quantity": 3}])
    assert dearer == {"order_id": "O-2012", "total": 123, "charged": 39, "overpaid": 0}
    cheaper = await call(world, "change_items", order_id="O-2012", items=[{"sku": "TRP-3G", "quantity": 0}])
    assert cheaper == {"order_id": "O-2012", "total": 58.5, "charged": 0, "overpaid": 64.5}
    assert [row["amount_cents"] for row in changed(world)["payments"]] == [3900]
    assert "refunds" not in changed(world)


async def test_an_order_that_is_not_paid_yet_charges_nothing_when_it_changes(world: World) -> None:
    result = await call(world, "change_items", order_id="O-2009", items=[MAT])
    assert result == {"order_id": "O-2009", "total": 347, "charged": 0, "overpaid": 0}
    assert "payments" not in changed(world)


async def test_what_is_on_its_way_back_cannot_be_sent_back_again(world: World) -> None:
    arguments = {"order_id": "O-2017", "sku": "LMP-1B", "reason": "damaged"}
    assert (await call(world, "start_return", **arguments, quantity=1))["return_id"] == "X-804"
    assert "1 of LMP-1B" in (await call(world, "start_return", **arguments, quantity=2))["error"]
    assert [item["return_id"] for item in (await call(world, "get_order", order_id="O-2017"))["returns"]] == ["X-804"]


async def test_a_refund_to_store_credit_raises_the_credit_and_lowers_what_can_be_refunded(world: World) -> None:
    await call(world, "issue_refund", order_id="O-2011", amount=78.9, destination="store_credit")
    assert changed(world)["customers"] == [{"store_credit_cents": 8890}]
    assert (await call(world, "get_order", order_id="O-2011"))["refundable"] == 0.1


async def test_credit_as_an_apology_is_no_refund(world: World) -> None:
    assert await call(world, "give_credit", customer_id="C-107", amount=10) == {"customer_id": "C-107", "given": 10}
    assert changed(world) == {"customers": [{"store_credit_cents": 1000}]}


async def test_a_trip_is_paid_in_full_and_its_places_are_taken_until_it_is_cancelled(world: World) -> None:
    days = {"from_day": "2026-03-21", "to_day": "2026-03-21"}
    before = await call(world, "find_trips", **days, people=2)
    assert [(row["departure_id"], row["places_left"]) for row in before["departures"]] == [("D-301", 2)]
    booked = await call(world, "book_trip", customer_id="C-101", departure_id="D-301", people=2)
    assert booked == {"booking_id": "B-521", "day": "2026-03-21", "people": 2, "total": 130, "charged": 130}
    assert (await call(world, "find_trips", **days, people=2))["departures"] == []
    assert (await call(world, "cancel_booking", booking_id="B-521"))["refundable"] == 130
    assert await call(world, "find_trips", **days, people=2) == before


async def test_trips_of_the_past_are_not_offered(world: World) -> None:
    found = await call(world, "find_trips", from_day="2026-03-01", to_day="2026-03-20", trip_id="T-SEAL")
    assert [row["departure_id"] for row in found["departures"]] == ["D-308"]


async def test_a_trip_may_be_enlarged_by_the_places_that_it_holds_itself(world: World) -> None:
    result = await call(world, "change_trip_booking", booking_id="B-501", departure_id="D-301", people=4)
    assert result == {"booking_id": "B-501", "day": "2026-03-21", "total": 260, "charged": 130, "overpaid": 0}
    result = await call(world, "change_trip_booking", booking_id="B-501", departure_id="D-310", people=2)
    assert (result["total"], result["charged"], result["overpaid"]) == (96, 0, 164)


async def test_a_cabin_is_free_from_the_day_on_which_others_leave_and_charges_the_deposit(world: World) -> None:
    assert "Puffin" not in str(await call(world, "find_cabins", start_on="2026-04-11", nights=1))
    found = await call(world, "find_cabins", start_on="2026-04-12", nights=2, people=4)
    assert [(cabin["name"], cabin["total"]) for cabin in found["cabins"]] == [
        ("Otter", 270),
        ("Puffin", 240),
        ("Lighthouse", 420),
    ]
    booked = await call(world, "book_cabin", customer_id="C-101", **PUFFIN, start_on="2026-04-12")
    days = {"start_on": "2026-04-12", "end_on": "2026-04-14"}
    assert booked == {"booking_id": "B-521", **days, "total": 240, "charged": 72}


async def test_a_moved_cabin_keeps_its_deposit_and_charges_nothing(world: World) -> None:
    move = {"booking_id": "B-502", "cabin_id": "CAB-4", "start_on": "2026-04-04", "nights": 3, "people": 5}
    result = await call(world, "change_cabin_booking", **move)
    assert result["total"] == 630
    assert result["due_on_arrival"] == 508.5
    assert list(changed(world)) == ["bookings"]
    assert "deposit_cents" not in changed(world)["bookings"][0]


async def test_a_customer_is_found_by_address_in_any_case_and_two_of_one_name_are_both_shown(world: World) -> None:
    found = await call(world, "find_customer", email=" Lin.Xiaoyu@Example.com ")
    assert [row["name"] for row in found["customers"]] == ["林晓雨"]
    found = await call(world, "find_customer", name="marcus bell")
    assert [row["customer_id"] for row in found["customers"]] == ["C-105", "C-115"]
    assert await call(world, "find_customer", name="Marcus Bell", email="nobody@example.com") == {"customers": []}


async def test_lists_and_searches_show_what_was_asked_for(world: World) -> None:
    orders = await call(world, "list_orders", customer_id="C-104", status="delivered")
    assert [(row["order_id"], row["items"]) for row in orders["orders"]] == [("O-2008", "1 x STV-1S, 2 x FUL-230")]
    bookings = await call(world, "list_bookings", customer_id="C-106")
    assert [(row["booking_id"], row["status"]) for row in bookings["bookings"]] == [
        ("B-506", "confirmed"),
        ("B-517", "cancelled"),
    ]
    products = await call(world, "search_products", category="sleeping", max_price=79.9, in_stock=True)
    assert [row["sku"] for row in products["products"]] == ["BAG-8R", "MAT-RY"]
    assert (await call(world, "search_products", name="reef boots", in_stock=True))["products"][0]["price"] == 154


async def test_an_order_shows_its_tickets_and_a_booking_its_trip_or_cabin(world: World) -> None:
    order = await call(world, "get_order", order_id="O-2030")
    assert [row["ticket_id"] for row in order["tickets"]] == ["K-703"]
    assert order["refundable"] == 54
    assert (await call(world, "get_booking", booking_id="B-501"))["trip"] == "Harbour kayak day"
    assert (await call(world, "get_booking", booking_id="B-504"))["cabin"] == "Heron"


@pytest.mark.parametrize(("tool", "name", "escalated"), [("open_ticket", "topic", 0), ("escalate", "kind", 1)])
async def test_a_ticket_holds_what_it_is_about(world: World, tool: str, name: str, escalated: int) -> None:
    about = {"open_ticket": "other", "escalate": "safety"}[tool]
    case = {"customer_id": "C-107", "text": "The stove leaks.", "order_id": "O-2013"}
    await call(world, tool, **case, **{name: about})
    [ticket] = changed(world)["tickets"]
    assert ticket == {
        **case,
        "ticket_id": "K-704",
        "booking_id": None,
        "topic": about,
        "status": "open",
        "escalated": escalated,
        "created_at": "2026-03-16",
    }
