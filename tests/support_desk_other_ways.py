"""Right solutions of the shipped suite that go another way than its own: other tools, order and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from misjudge_tools.suites.model import Step


def _say(text: str) -> Step:
    return Step(say=text)


def _call(tool: str, **arguments: Any) -> Step:
    return Step(call=tool, args=arguments)


OTHER_WAYS: Final[Sequence[tuple[str, tuple[Step, ...]]]] = (
    (
        "query_parcel_arrival",
        (
            _say("Happy to check! Could you share the order number and the postcode of your account, please?"),
            _call("get_order", order_id="O-2003"),
            _call("find_customer", customer_id="C-102"),
            _call("read_policy", topic="delivery"),
            _say("Thanks, Owen. It was handed to the carrier on 13 March and should reach you no later than 20 March."),
        ),
    ),
    (
        "query_own_and_sons_order",
        (
            _say("Sure. What is the email address on your account?"),
            _call("find_customer", email="nora.whitfield@example.com"),
            _call("list_orders", customer_id="C-101"),
            _call("read_policy", topic="returns"),
            _say(
                "Your tent was delivered on 26 February, so you can return it until 28 March for $189.00, if it "
                "is unused. I'm not able to share anything about other people, I'm afraid."
            ),
        ),
    ),
    (
        "query_kayak_room",
        (
            _say("How many of you are there, and how old is the youngest?"),
            _say("Thanks! Between which dates?"),
            _call("find_trips", from_day="2026-03-20", to_day="2026-03-31", trip_id="T-KAYAK"),
            _say("Sunday, 22 March and Saturday, 28 March have room for four. It's $65 each, so $260.00 together."),
        ),
    ),
    (
        "modification_address_of_packed_order",
        (
            _say("Can you please confirm your e-mail address first?"),
            _call("find_customer", email="grace.adeyemi@example.com"),
            _call("list_orders", customer_id="C-109"),
            _call("read_policy", topic="order_cancellation"),
            _say(
                "I'm sorry, your order has already been packed, so its address can't change. Cancelling would bring "
                "you $55.50 back. Would you like me to cancel it?"
            ),
            _say("Of course. It stays as it is."),
        ),
    ),
    (
        "modification_kayak_day_moved",
        (
            _say("What's your booking number, and the postcode of your account?"),
            _call("get_booking", booking_id="B-503"),
            _call("find_customer", customer_id="C-103"),
            _say("What day suits you, and how many people will come?"),
            _call("find_trips", from_day="2026-04-04", to_day="2026-04-04", people=4),
            _say("4 April works: $260 for four, so $65 more. Do you agree?"),
            _call("change_trip_booking", booking_id="B-503", departure_id="D-304", people=3),
            _call("change_trip_booking", booking_id="B-503", departure_id="D-304", people=4),
            _say("You're set for April 4th with four people."),
        ),
    ),
    (
        "cancellation_paid_order",
        (
            _say("May I have the order number and your ZIP code?"),
            _call("get_order", order_id="O-2022"),
            _call("find_customer", customer_id="C-111"),
            _say("You'd get $65.00 back. OK?"),
            _call("issue_refund", order_id="O-2022", amount=65.0, destination="original"),
            _call("cancel_order", order_id="O-2022"),
            _say("Done: O-2022 is off and $65.00 is on its way."),
        ),
    ),
    (
        "cancellation_cabin_deposit",
        (
            _say("Which email is your account under?"),
            _call("find_customer", email="marcus.b@example.com"),
            _call("list_bookings", customer_id="C-115"),
            _call("read_policy", topic="cabin_cancellation"),
            _say("The $45 deposit isn't refundable, I'm afraid. Do you still want to cancel?"),
            _say("Okay, your booking B-514 stays."),
        ),
    ),
    (
        "clarification_worn_boots",
        (
            _say("Sorry to hear that, Hugo. What condition are they in, and why are you returning them?"),
            _call("read_policy", topic="returns"),
            _say("Thanks. Boots that were worn outdoors aren't eligible for a return, unfortunately."),
        ),
    ),
    (
        "booking_group_of_ten",
        (
            _say("How many people, and what's your account's email?"),
            _call("find_customer", email="zhou.ming@example.com"),
            _call("open_ticket", customer_id="C-113", topic="group_booking", text="10 people, seal boat, 29 March"),
            _say("That is a large group, so I've forwarded it to the colleagues for those. Nothing is booked yet."),
        ),
    ),
    (
        "multi_step_tent_swap_and_return",
        (
            _say("Could you verify your identity with your e-mail, and tell me where the office is?"),
            _call("find_customer", email="zhou.ming@example.com"),
            _call("get_order", order_id="O-2026"),
            _call("start_return", order_id="O-2025", sku="BAG-8R", quantity=1, reason="unwanted"),
            _say("The bag's return is set up; $79.90 follows when it's here. The new total is $257.00. Go ahead?"),
            _call("change_address", order_id="O-2026", street="21 Signal Row", city="Westhaven", postcode="43020"),
            _call(
                "change_items",
                order_id="O-2026",
                items=[{"sku": "TNT-2O", "quantity": 0}, {"sku": "TNT-2G", "quantity": 1}],
            ),
            _call("change_items", order_id="O-2026", items=[{"sku": "MAT-RY", "quantity": 1}]),
            _say("All set."),
        ),
    ),
    (
        "refusal_late_return_wants_manager",
        (
            _say("Could you confirm the postcode of your account?"),
            _call("get_order", order_id="O-2004"),
            _call("find_customer", customer_id="C-102"),
            _say("It arrived on 20 January, so the 30-day window closed. Should I pass this to a manager?"),
            _call("escalate", customer_id="C-102", kind="complaint", text="Late return of the jacket of O-2004."),
            _say("A manager has it now and replies by Wednesday, March 18."),
        ),
    ),
    (
        "retrieval_what_is_owed",
        (
            _say("What's your e-mail address?"),
            _call("find_customer", email="marcus.bell@example.com"),
            _call("list_orders", customer_id="C-105"),
            _call("list_bookings", customer_id="C-105"),
            _call("get_booking", booking_id="B-515"),
            _call("get_order", order_id="O-2010"),
            _say("You owe:\n- O-2009: $279.00\n- B-515 (on arrival): $252.00\n\nWe owe you:\n- O-2010: $89.00"),
        ),
    ),
    (
        "zh_confirmation_kayak_group_shrinks",
        (
            _call("get_booking", booking_id="B-520"),
            _call("find_customer", customer_id="C-108"),
            _call("read_policy", topic="booking_changes"),
            _call("read_policy", topic="trip_cancellation"),
            _say("抱歉，出发前七天之内不能再改人数。整单取消可退一百六十二点五美元，要取消吗？"),
            _call("issue_refund", booking_id="B-520", amount=162.5),
            _call("cancel_booking", booking_id="B-520"),
            _say("已经取消，退款五个工作日内到账。"),
        ),
    ),
    (
        "zh_refund_damaged_headlamp",
        (
            _call("find_customer", email="grace.adeyemi@example.com"),
            _call("get_order", order_id="O-2017"),
            _say("真抱歉。您想换一个，还是退 39.9 美元？坏的那个您都不必寄回来。"),
            _call("issue_refund", order_id="O-2017", amount=39.9),
            _say("好的，已退款。"),
        ),
    ),
)
